//! Base currency and exchange rates: lines of a form, as the setting `currencies`.

use std::collections::BTreeMap;

use poem::{Response, http::Method};
use serde_json::{Map, Value};
use svctrack_core::{
    resources::settings::{CURRENCIES, Currencies, SETTINGS, wrong_rate},
    value::{Day, Document, Json, Number},
};
use svctrack_web::pages::{
    Problem, RateLine, RatesView, SetRates, capitalized, document_of, field_of_line, rates_page,
};

use super::{
    currencies::known_currencies,
    respond::{html, rejected, see},
    save_record::{self, RejectedForm, StoredForm},
    submitted_form::{notice_of, sent},
    visit::Visit,
};
use crate::{error::Error, routes::query_pairs, routing::path_tree::RoutedRequest};

/// Address of the page.
pub(super) const PAGE: &str = "/app/settings/rates";
const PATH: &str = "/settings";
const NOTICES: &[(&str, &str)] = &[("saved", "The rates were saved.")];
/// Problem of a form that was filled from other rates than those that are stored now.
const CHANGED: &str = "The rates were changed since this page was opened. The stored rates are shown below yours; save again to replace them.";
/// Problem of rates without a currency that they convert into.
const NO_BASE: &str =
    "The rates need a base currency: the code of the one that they convert into, such as EUR.";

/// The setting as it is stored, as JSON; empty where it is not set.
fn stored(settings: &Map<String, Value>) -> String {
    settings
        .get(CURRENCIES.name)
        .filter(|set| !set.is_null())
        .map(Value::to_string)
        .unwrap_or_default()
}

/// `GET /app/settings/rates`
pub(super) async fn show(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let (settings, _) = visit.api.record(PATH).await?;
    let shown = stored(&settings);
    let SetRates { base, rates } = set_rates(&settings);
    let licensed = known_currencies(&visit).await;
    let view = RatesView { base, rates, shown, licensed, ..RatesView::default() };
    let mut shell = visit.shell;
    shell.notice = notice_of(&query_pairs(&request), NOTICES);
    Ok(html(rates_page(&shell, &view)))
}

/// The rates of the settings.
fn set_rates(settings: &Map<String, Value>) -> SetRates {
    let settings = document_of(settings);
    let rates = Currencies::from_settings(&settings);
    let rates = rates.iter().flat_map(Currencies::rates).map(|(currency, from, rate)| RateLine {
        currency: currency.to_owned(),
        from: from.map(|day| day.to_string()).unwrap_or_default(),
        rate: rate.to_string(),
    });
    SetRates { base: Currencies::base_of(&settings).unwrap_or_default(), rates: rates.collect() }
}

/// `POST /app/settings/rates`
pub(super) async fn save(visit: Visit, mut request: RoutedRequest<'_>) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(&mut request).await?;
    let (settings, version) = visit.api.record(PATH).await?;
    let base = sent(&pairs, "base").trim().to_owned();
    let (mut shown, rates) = (sent(&pairs, "shown").to_owned(), lines_of(&pairs));
    let mut stored_since = None;
    let before = set_rates(&settings);
    let mut checked = sent(&pairs, "checked").to_owned();
    let is_checked = before.base.is_empty() || [&before.base, &checked].contains(&&base);
    let stays = |line: &&RateLine| before.rates.iter().any(|known| is_same_rate(known, line));
    let carried = rates.iter().filter(|_| !is_checked).find(stays);
    let problems = match setting(&base, &rates) {
        Ok(_) if let Some(line) = carried => {
            checked = base.clone();
            vec![carried_over(line, &before.base, &base)]
        }
        Ok(_) if shown != stored(&settings) => {
            shown = stored(&settings);
            stored_since = Some(before);
            vec![of_all(CHANGED.to_owned())]
        }
        Ok(currencies) => {
            let pairs = vec![
                (CURRENCIES.name.to_owned(), currencies),
                ("version".to_owned(), version.clone()),
            ];
            let stored = StoredForm { def: &SETTINGS, record: &settings, version: &version };
            match save_record::save(&visit, (Method::PUT, PATH), pairs, &stored).await? {
                Ok(_) => return Ok(see("/app/settings/rates?done=saved")),
                Err(RejectedForm { problems, .. }) => {
                    problems.into_iter().map(|problem| of_all(problem.message)).collect()
                }
            }
        }
        Err(problems) => problems,
    };
    let licensed = known_currencies(&visit).await;
    let view = RatesView { base, rates, stored_since, shown, checked, licensed, problems };
    Ok(rejected(rates_page(&visit.shell, &view)))
}

/// Whether two lines have the same rate of a currency, whatever their days.
fn is_same_rate(known: &RateLine, line: &RateLine) -> bool {
    let number =
        |line: &RateLine| Number::parse(&line.rate).map(|rate| rate.as_decimal().normalize());
    known.currency == line.currency && number(known).is_some() && number(known) == number(line)
}

/// Problem of a rate that stays though the base currency changes.
fn carried_over(RateLine { currency, rate, .. }: &RateLine, before: &str, base: &str) -> Problem {
    let message = format!(
        "The rate of {currency}, {rate}, was in {before}: with {base} as base currency, it must be what 1 {currency} is worth in {base}. Check all rates, and save again."
    );
    Problem { field: "base".to_owned(), message }
}

/// A problem of no single field.
fn of_all(message: String) -> Problem {
    Problem { field: String::new(), message }
}

/// A problem of a field of a line of the form.
fn of_line(name: &str, at: usize, message: String) -> Problem {
    Problem { field: field_of_line(name, at), message }
}

/// The lines of the form in which something is written. One without a rate stays as long as the form is rejected.
fn lines_of(pairs: &[(String, String)]) -> Vec<RateLine> {
    let texts = |name: &'static str| {
        let named = pairs.iter().filter(move |(known, _)| known == name);
        named.map(|(_, text)| text.trim().to_owned())
    };
    let lines = texts("currency").zip(texts("from")).zip(texts("rate"));
    let lines = lines.map(|((currency, from), rate)| RateLine { currency, from, rate });
    lines.filter(|line| *line != RateLine::default()).collect()
}

/// The setting for these lines, as JSON; empty without a base currency and rates.
fn setting(base: &str, lines: &[RateLine]) -> Result<String, Vec<Problem>> {
    let with_rate = lines.iter().enumerate().filter(|(_, line)| !line.rate.is_empty());
    let mut problems = Vec::new();
    if base.is_empty() && with_rate.clone().next().is_some() {
        problems.push(Problem { field: "base".to_owned(), message: NO_BASE.to_owned() });
    }
    let mut by_currency: BTreeMap<&str, BTreeMap<&str, (usize, Json)>> = BTreeMap::new();
    for (at, RateLine { currency, from, rate }) in with_rate {
        let rates = by_currency.entry(currency).or_default();
        let undated = if from.is_empty() { Some(at) } else { rates.get("").map(|(at, _)| *at) };
        let number = Json::parse(rate.as_bytes()).unwrap_or_else(|_| Json::string(rate));
        let day = Some(from.as_str()).filter(|day| !day.is_empty());
        if currency.is_empty() {
            problems.push(of_line("currency", at, format!("The rate {rate} has no currency.")));
        } else if rates.contains_key(from.as_str()) {
            let message = match day {
                None => format!("Two rates of {currency} have no day."),
                Some(day) => format!("Two rates of {currency} have the same day, {day}."),
            };
            problems.push(of_line("from", at, message));
        } else if let Some(undated) = undated.filter(|_| !rates.is_empty()) {
            let message = format!("Each of several rates of {currency} needs a day.");
            let problem = of_line("from", undated, message);
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        } else if let Some(wrong) = wrong_rate(base, currency, day, number.as_ref()) {
            let is_day = day.is_none_or(|day| Day::parse(day).is_some());
            let name = if is_day { "rate" } else { "from" };
            problems.push(of_line(name, at, capitalized(&wrong.plain_message())));
        }
        rates.insert(from, (at, number));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    if base.is_empty() {
        return Ok(String::new());
    }
    let mut rates = Document::default();
    for (currency, mut dated) in by_currency {
        let rate = dated.remove("").map(|(_, rate)| rate).unwrap_or_else(|| {
            let mut days = Document::default();
            dated.into_iter().for_each(|(day, (_, rate))| days.set(day, rate));
            Json::object(&days)
        });
        rates.set(currency, rate);
    }
    let mut currencies = Document::default();
    currencies.set("base", Json::string(base));
    currencies.set("rates", Json::object(&rates));
    Ok(currencies.to_text())
}

//! Base currency and exchange rates: lines of a form, as the setting `currencies`.

use std::collections::BTreeMap;

use poem::{Request, Response, http::Method};
use serde_json::{Map, Value};
use svctrack_core::{
    resources::settings::{CURRENCIES, Currencies, SETTINGS},
    value::{Document, Json},
};
use svctrack_web::pages::{Problem, RateLine, RatesView, document_of, rates_page};

use super::{
    respond::{html, rejected, see},
    saving::{self, RejectedForm, StoredForm},
    submitted_form::sent,
    visit::Visit,
};
use crate::error::Error;

const PATH: &str = "/settings";
/// Problem of a form that was filled from other rates than those that are stored now.
const CHANGED: &str =
    "The rates were changed since this page was opened. Open it again to see them.";

/// The setting as it is stored, as JSON; empty where it is not set.
fn stored(settings: &Map<String, Value>) -> String {
    settings
        .get(CURRENCIES.name)
        .filter(|set| !set.is_null())
        .map(Value::to_string)
        .unwrap_or_default()
}

/// `GET /app/settings/rates`
pub(super) async fn show(visit: Visit, _: Request) -> Result<Response, Error> {
    let (settings, _) = visit.api.record(PATH).await?;
    let shown = stored(&settings);
    let settings = document_of(&settings);
    let rates = Currencies::from_settings(&settings);
    let base = Currencies::base_of(&settings).unwrap_or_default();
    let rates = rates.iter().flat_map(Currencies::rates).map(|(currency, from, rate)| RateLine {
        currency: currency.to_owned(),
        from: from.map(|day| day.to_string()).unwrap_or_default(),
        rate: rate.to_string(),
    });
    let rates = rates.collect();
    Ok(html(rates_page(&visit.shell, &RatesView { base, rates, shown, problems: Vec::new() })))
}

/// `POST /app/settings/rates`
pub(super) async fn save(visit: Visit, mut request: Request) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(&mut request).await?;
    let (settings, version) = visit.api.record(PATH).await?;
    let base = sent(&pairs, "base").trim().to_owned();
    let (shown, rates) = (sent(&pairs, "shown").to_owned(), lines_of(&pairs));
    let problems = match setting(&base, &rates) {
        Ok(_) if shown != stored(&settings) => vec![of_all(CHANGED.to_owned())],
        Ok(currencies) => {
            let pairs = vec![
                (CURRENCIES.name.to_owned(), currencies),
                ("version".to_owned(), version.clone()),
            ];
            let stored = StoredForm { def: &SETTINGS, record: &settings, version: &version };
            match saving::save(&visit, (Method::PUT, PATH), pairs, &stored).await? {
                Ok(_) => return Ok(see("/app/settings?done=saved")),
                Err(RejectedForm { problems, .. }) => {
                    problems.into_iter().map(|problem| of_all(problem.message)).collect()
                }
            }
        }
        Err(problems) => problems,
    };
    Ok(rejected(rates_page(&visit.shell, &RatesView { base, rates, shown, problems })))
}

/// A problem of no single field.
fn of_all(message: String) -> Problem {
    Problem { field: String::new(), message }
}

/// The lines of the form that have a rate.
fn lines_of(pairs: &[(String, String)]) -> Vec<RateLine> {
    let texts = |name: &'static str| {
        let named = pairs.iter().filter(move |(known, _)| known == name);
        named.map(|(_, text)| text.trim().to_owned())
    };
    let lines = texts("currency").zip(texts("from")).zip(texts("rate"));
    let lines = lines.map(|((currency, from), rate)| RateLine { currency, from, rate });
    lines.filter(|line| !line.rate.is_empty()).collect()
}

/// The setting for these lines, as JSON; empty without a base currency and rates.
fn setting(base: &str, lines: &[RateLine]) -> Result<String, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut problem = |message| problems.push(of_all(message));
    let mut by_currency: BTreeMap<&str, BTreeMap<&str, Json>> = BTreeMap::new();
    for RateLine { currency, from, rate } in lines {
        if currency.is_empty() {
            problem(format!("The rate {rate} has no currency."));
        }
        // What is no number is rejected as the setting it would be.
        let number = Json::parse(rate.as_bytes()).ok();
        let number = number.filter(|it| it.as_ref().as_number().is_some());
        let rate = number.unwrap_or_else(|| Json::string(rate));
        if by_currency.entry(currency).or_default().insert(from, rate).is_some() {
            problem(match from.is_empty() {
                true => format!("Two rates of {currency} have no day."),
                false => format!("Two rates of {currency} have the same day, {from}."),
            });
        }
    }
    let mut rates = Document::default();
    for (currency, mut dated) in by_currency {
        let always = dated.remove("");
        match always {
            Some(rate) if dated.is_empty() => rates.set(currency, rate),
            Some(_) => problem(format!("Each of several rates of {currency} needs a day.")),
            None => {
                let mut days = Document::default();
                dated.into_iter().for_each(|(day, rate)| days.set(day, rate));
                rates.set(currency, Json::object(&days));
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    if base.is_empty() && lines.is_empty() {
        return Ok(String::new());
    }
    let mut currencies = Document::default();
    currencies.set("base", Json::string(base));
    currencies.set("rates", Json::object(&rates));
    Ok(currencies.to_text())
}

//! Currencies of a tenant: the base currency, and the rates into it, by day (the setting `currencies`).

use std::collections::BTreeMap;

use rust_decimal::Decimal;

use crate::{
    schema::field::handles,
    value::{
        Day, Document, JsonRef, ValidationError,
        number::{RATE_RANGE, is_rate},
        quoted::quoted,
    },
};

handles! {
    CURRENCIES: Object = "currencies";
}

const BASE: &str = "base";
const RATES: &str = "rates";
/// Maximum number of currencies with a rate: as many as a report distinguishes.
const MAX_RATES: usize = 200;
/// Maximum number of days of a currency whose wrong rates are named, so that the response stays short.
const MAX_NAMED_DAYS: usize = 10;

/// The rates that turn amounts into the base currency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Currencies {
    base: String,
    rates: BTreeMap<String, Rate>,
}

/// Base currency of a tenant; empty where none is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseCurrency {
    /// Code of the currency.
    pub code: String,
    /// Whether amounts are converted into it: without rates, they keep their currency (R28).
    pub has_rates: bool,
}

impl BaseCurrency {
    /// Base currency of the settings.
    pub fn from_settings(settings: &Document) -> Self {
        Self {
            code: Currencies::base_of(settings).unwrap_or_default(),
            has_rates: Currencies::from_settings(settings).is_some(),
        }
    }

    /// Currency of totals of amounts in these currencies.
    pub fn of_total<'c>(&'c self, mut currencies: impl Iterator<Item = &'c str>) -> &'c str {
        match (currencies.next(), currencies.next()) {
            (Some(only), None) if !self.has_rates => only,
            _ => &self.code,
        }
    }
}

/// Worth of one unit of a currency.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Rate {
    Always(Decimal),
    /// By the day from which each applies, until the next one.
    Dated(BTreeMap<Day, Decimal>),
}

impl Currencies {
    /// The currencies that are set, if a base and a rate are.
    pub fn from_settings(settings: &Document) -> Option<Self> {
        let set = CURRENCIES.get(settings)?;
        let base = set.text(BASE)?.into_owned();
        let rates = set.value(RATES)?.to_document()?;
        let rates: BTreeMap<_, _> = rates
            .iter()
            .filter_map(|(name, rate)| Some((name.to_owned(), Rate::read(rate)?)))
            .collect();
        (!rates.is_empty()).then_some(Self { base, rates })
    }

    /// Base currency of the settings, also without rates: then amounts of several currencies are not added up.
    pub fn base_of(settings: &Document) -> Option<String> {
        CURRENCIES.get(settings)?.text(BASE).map(std::borrow::Cow::into_owned)
    }

    /// Base currency, in which reports return their totals.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Other currencies, each with the value of one unit in the base currency, and the day from which it applies; every
    /// day where none is set.
    pub fn rates(&self) -> impl Iterator<Item = (&str, Option<Day>, Decimal)> {
        self.rates.iter().flat_map(|(currency, rate)| {
            let dated = match rate {
                Rate::Always(rate) => vec![(None, *rate)],
                Rate::Dated(rates) => rates.iter().map(|(day, rate)| (Some(*day), *rate)).collect(),
            };
            dated.into_iter().map(|(day, rate)| (&**currency, day, rate))
        })
    }

    /// Value of one unit of `currency` in the base currency on a day, if it is known.
    pub fn rate(&self, currency: &str, day: Day) -> Option<Decimal> {
        if currency == self.base {
            return Some(Decimal::ONE);
        }
        match self.rates.get(currency)? {
            Rate::Always(rate) => Some(*rate),
            Rate::Dated(rates) => rates.range(..=day).next_back().map(|(_, rate)| *rate),
        }
    }
}

impl Rate {
    fn read(rate: JsonRef<'_>) -> Option<Self> {
        if let Some(number) = rate.as_number() {
            return Some(Self::Always(number.as_decimal()));
        }
        let dated = rate.to_document()?;
        let rates = dated.iter().map(|(day, rate)| {
            let rate = rate.as_number()?.as_decimal();
            Some((Day::parse(day)?, rate))
        });
        rates.collect::<Option<BTreeMap<_, _>>>().map(Self::Dated)
    }

    /// Whether there are rates, and all of them meet a condition.
    fn all(&self, is_such: impl Fn(Decimal) -> bool) -> bool {
        match self {
            Self::Always(rate) => is_such(*rate),
            Self::Dated(rates) => !rates.is_empty() && rates.values().all(|rate| is_such(*rate)),
        }
    }
}

/// What is wrong with a rate of a currency into the base currency, which is valid from a day on, or always; none for a
/// rate that can be set.
pub fn wrong_rate(
    base: &str,
    currency: &str,
    from: Option<&str>,
    rate: JsonRef<'_>,
) -> Option<ValidationError> {
    let quoted_currency = quoted(currency);
    let message = match from {
        _ if currency == base && is_rate_number(rate) => wrong_rate_of_base(currency, rate)?,
        Some(day) => wrong_rate_of_day(&quoted_currency, day, rate)?,
        None if is_rate_number(rate) => return None,
        None => {
            let found = quoted(rate.text());
            format!("the rate of {quoted_currency} must be {RATE_RANGE}; found {found}")
        }
    };
    Some(ValidationError::of_member(CURRENCIES.name, "invalid_value", message))
}

/// What is wrong with the setting.
pub(super) fn check(currencies: &Document, issues: &mut Vec<ValidationError>) {
    let mut reject = |message: String| {
        issues.push(ValidationError::of_member(CURRENCIES.name, "invalid_value", message));
    };
    if currencies.text(BASE).is_none_or(|base| base.trim().is_empty()) {
        reject("`currencies` must have a `base` such as `EUR`".to_owned());
    }
    for (name, _) in currencies.iter().filter(|(name, _)| ![BASE, RATES].contains(name)) {
        reject(format!("`currencies` must hold `base` and `rates`; found {}", quoted(name)));
    }
    let Some(rates) = currencies.value(RATES) else { return };
    let base = currencies.text(BASE).unwrap_or_default();
    let Some(rates) = rates.to_document() else {
        return reject(format!(
            "`rates` must be an object of currencies and numbers; found {}",
            quoted(rates.text())
        ));
    };
    if rates.iter().count() > MAX_RATES {
        reject(format!("`rates` must have at most {MAX_RATES} currencies"));
    }
    for (currency, rate) in rates.iter() {
        if currency.trim().is_empty() {
            reject(
                "`rates` must name the currency of each rate; found a rate without one".to_owned(),
            );
        }
        let known = Rate::read(rate);
        let of_base = if currency == base { wrong_rate_of_base(currency, rate) } else { None };
        if let Some(wrong) = of_base {
            reject(wrong);
        } else if !known.is_some_and(|rate| rate.all(is_rate)) {
            wrong_rates(currency, rate).into_iter().for_each(&mut reject);
        }
    }
}

/// What is wrong with the rate of a currency, or with those of its days.
fn wrong_rates(currency: &str, rate: JsonRef<'_>) -> Vec<String> {
    let currency = quoted(currency);
    let found = quoted(rate.text());
    match rate.to_document().filter(|dated| rate.is_object() && !dated.is_empty()) {
        None => vec![format!(
            "the rate of {currency} must be {RATE_RANGE}, or such numbers by days such as `2026-01-31`; found {found}"
        )],
        Some(dated) => dated
            .iter()
            .filter_map(|(day, rate)| wrong_rate_of_day(&currency, day, rate))
            .take(MAX_NAMED_DAYS)
            .collect(),
    }
}

/// What is wrong with the rate of the base currency, or with those of its days.
fn wrong_rate_of_base(base: &str, rate: JsonRef<'_>) -> Option<String> {
    let is_other = Rate::read(rate).is_some_and(|rate| !rate.all(|rate| rate == Decimal::ONE));
    is_other.then(|| {
        let (base, found) = (quoted(base), quoted(rate.text()));
        format!("the rate of {base}, the base currency, is 1; found {found}")
    })
}

/// Whether a value is a possible rate.
fn is_rate_number(rate: JsonRef<'_>) -> bool {
    rate.as_number().is_some_and(|rate| is_rate(rate.as_decimal()))
}

fn wrong_rate_of_day(currency: &str, day: &str, rate: JsonRef<'_>) -> Option<String> {
    let found = quoted(rate.text());
    if Day::parse(day).is_none() {
        let found = quoted(day);
        return Some(format!(
            "the rates of {currency} must be by days such as `2026-01-31`; found {found}"
        ));
    }
    (!is_rate_number(rate)).then(|| {
        format!("the rate of {currency} from {day} on must be {RATE_RANGE}; found {found}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        Document::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_total_is_in_the_base_currency_unless_without_rates_all_is_in_another() {
        let check = |settings: &str, currencies: &[&str], expect: &str| {
            let settings = Document::parse(settings.as_bytes()).unwrap();
            let base = BaseCurrency::from_settings(&settings);
            assert_eq!(base.of_total(currencies.iter().copied()), expect, "{settings:?}");
        };
        let rates = r#"{"currencies":{"base":"EUR","rates":{"USD":0.5}}}"#;
        check(rates, &["USD"], "EUR");
        check(rates, &[], "EUR");
        let plain = r#"{"currencies":{"base":"EUR"}}"#;
        check(plain, &["USD"], "USD");
        check(plain, &["CHF", "USD"], "EUR");
        check(plain, &[], "EUR");
        check("{}", &["USD"], "USD");
        check("{}", &[], "");
    }

    #[test]
    fn a_rate_is_what_one_unit_is_worth_in_the_base_currency() {
        let day = |text| Day::parse(text).unwrap();
        let set = document(
            r#"{"currencies":{"base":"EUR","rates":{"USD":0.9,"GBP":{"2024-01-01":1.15,"2024-06-01":1.17}}}}"#,
        );
        let currencies = Currencies::from_settings(&set).unwrap();
        assert_eq!(currencies.base(), "EUR");
        let all = currencies.rates().map(|(currency, from, rate)| {
            let from = from.map_or("always".to_owned(), |from| from.to_string());
            format!("{currency} {from} {rate}")
        });
        let expect = ["GBP 2024-01-01 1.15", "GBP 2024-06-01 1.17", "USD always 0.9"];
        assert_eq!(all.collect::<Vec<_>>(), expect);
        let rates = |on| ["EUR", "USD", "GBP", "SEK"].map(|name| currencies.rate(name, day(on)));
        let (one, usd) = (Some(Decimal::ONE), Some(Decimal::new(9, 1)));
        assert_eq!(rates("2023-12-31"), [one, usd, None, None]);
        assert_eq!(rates("2024-05-31"), [one, usd, Some(Decimal::new(115, 2)), None]);
        assert_eq!(rates("2026-01-01"), [one, usd, Some(Decimal::new(117, 2)), None]);
        for nothing in
            [r#"{"currencies":{"base":"EUR"}}"#, r#"{"currencies":{"base":"EUR","rates":{}}}"#]
        {
            assert_eq!(Currencies::from_settings(&document(nothing)), None);
        }
    }

    #[test]
    fn an_invalid_rate_is_named() {
        let issues = |rates: &str| {
            let mut issues = Vec::new();
            check(&document(&format!(r#"{{"base":"EUR","rates":{rates}}}"#)), &mut issues);
            issues.len()
        };
        for sound in [
            r#"{"USD":0.9}"#,
            r#"{"USD":{"2024-02-29":0.9}}"#,
            r#"{"USD":{"2024-02-29":1e-10,"2024-03-01":1000000000}}"#,
            "{}",
        ] {
            assert_eq!(issues(sound), 0, "{sound}");
        }
        for wrong in [
            r#"{"USD":0}"#,
            r#"{"USD":"0.9"}"#,
            r#"{"USD":{}}"#,
            r#"{"USD":{"2023-02-29":0.9}}"#,
            r#"{"USD":{"2024-02-29":-1}}"#,
            r#"{"USD":1000000001}"#,
            r#"{"USD":{"2024-02-29":9e-11}}"#,
            r#"{"USD":{"2024-02-29":0}}"#,
            r#"{"USD":{"2024-02-29":{}}}"#,
        ] {
            assert_eq!(issues(wrong), 1, "{wrong}");
        }
    }

    #[test]
    fn the_rate_of_the_base_currency_is_exactly_one() {
        let wrong = |from, rate| wrong_rate("EUR", "EUR", from, JsonRef::of_stored(rate)).is_some();
        for from in [None, Some("2024-02-29")] {
            assert!(!wrong(from, "1") && !wrong(from, "1.0"));
            assert!(wrong(from, "2") && wrong(from, "1.00000000000000000001"));
        }
        assert!(wrong(Some("2023-02-29"), "x") && wrong(None, "0"));
    }

    #[test]
    fn a_wrong_rate_of_a_line_is_named_with_its_day() {
        for (from, rate, says) in [
            (None, "0.9", None),
            (None, "1e-10", None),
            (Some("2024-02-29"), "0.9", None),
            (None, "0", Some("the rate of USD must be a number")),
            (None, "{\"2024-02-29\":1}", Some("the rate of USD must be a number")),
            (Some("2024-02-29"), "\"0,9\"", Some("from 2024-02-29 on must be a number")),
            (Some("2023-02-29"), "0.9", Some("by days such as")),
        ] {
            let wrong = wrong_rate("EUR", "USD", from, JsonRef::of_stored(rate));
            let message = wrong.map(|wrong| wrong.plain_message());
            let is_it = match (&message, says) {
                (Some(message), Some(says)) => message.contains(says),
                (message, says) => message.is_none() && says.is_none(),
            };
            assert!(is_it, "{from:?} {rate}: {message:?}");
        }
    }

    #[test]
    fn a_tenant_has_a_limited_number_of_rates() {
        let issues_of = |rates: &str| {
            let mut issues = Vec::new();
            check(&document(&format!(r#"{{"base":"EUR","rates":{{{rates}}}}}"#)), &mut issues);
            issues.len()
        };
        let rates = |count: usize, rate: &str| {
            let rates: Vec<String> = (0..count).map(|n| format!(r#""{n}":{rate}"#)).collect();
            issues_of(&rates.join(","))
        };
        assert_eq!([MAX_RATES, MAX_RATES + 1].map(|count| rates(count, "1")), [0, 1]);
        // Of each currency, some wrong days are named.
        let days: Vec<String> = (1..=28).map(|day| format!(r#""2026-01-{day:02}":0"#)).collect();
        let wrong = format!("{{{}}}", days.join(","));
        assert_eq!([1, 3].map(|count| rates(count, &wrong)), [MAX_NAMED_DAYS, 3 * MAX_NAMED_DAYS]);
    }
}

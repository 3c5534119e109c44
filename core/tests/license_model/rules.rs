//! Value of a license by the contract's rules, written down as plainly as possible: the module shares no code with
//! `core`. A license consists of the values that were set; everything else is computed from these each time.

use std::collections::{BTreeMap, BTreeSet};

use chrono_tz::Tz;

use super::{
    calendar::{self, YEAR_9999},
    fraction::Fraction,
};

/// A value of a property.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Is(bool),
    Number(Fraction),
    Text(String),
    Time(i64),
}

impl Value {
    /// Text of the value in JSON.
    pub fn text(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Is(is) => is.to_string(),
            Self::Number(number) => number.text(),
            Self::Text(text) => format!("\"{text}\""),
            Self::Time(time) => format!("\"{}\"", calendar::text(*time)),
        }
    }
}

pub type Values = BTreeMap<&'static str, Value>;

/// Monthly and yearly halves of one amount.
pub const PAIRS: [(&str, &str); 5] = [
    ("mrr", "arr"),
    ("renewalMrr", "renewalArr"),
    ("fcNewMrr", "fcNewArr"),
    ("fcNewMrrOptimistic", "fcNewArrOptimistic"),
    ("fcNewMrrPessimistic", "fcNewArrPessimistic"),
];

/// A product, by the values that it has set.
pub type Product = Values;

#[derive(Clone, Debug, Default)]
pub struct License {
    pub set: Values,
    /// Names of values in `set` that nobody has set: a price that stayed when the dates of its value changed.
    retained: BTreeSet<&'static str>,
    /// Last response of the license.
    pub shown: Values,
    /// Whether several products had the name of the license's product when it was created.
    ambiguous: bool,
}

/// Time and zone of the tenant.
#[derive(Clone, Copy)]
pub struct World<'w> {
    pub zone: Tz,
    pub now: i64,
    pub products: &'w [Product],
}

pub fn number(values: &Values, name: &str) -> Option<Fraction> {
    match values.get(name) {
        Some(Value::Number(number)) => Some(*number),
        _ => None,
    }
}

pub fn time(values: &Values, name: &str) -> Option<i64> {
    match values.get(name) {
        Some(Value::Time(time)) => Some(*time),
        _ => None,
    }
}

fn is(values: &Values, name: &str) -> bool {
    values.get(name) == Some(&Value::Is(true))
}

pub fn says(values: &Values, name: &str, text: &str) -> bool {
    matches!(values.get(name), Some(Value::Text(said)) if said == text)
}

/// An amount to six decimals; none beyond a thousand billions.
fn amount(exact: Fraction) -> Option<Fraction> {
    let rounded = exact.rounded(6);
    (rounded.abs() <= Fraction::whole(1_000_000_000_000_000)).then_some(rounded)
}

const YEAR: Fraction = Fraction::TWELVE;

impl License {
    /// A new license; `None` where it is rejected.
    pub fn create(body: &Values, world: World<'_>) -> Option<Self> {
        let mut license = Self::default();
        license.merge(body);
        license.is_sound(body, &Values::new())?;
        license.inherit(world.products);
        license.settle(false, world);
        Some(license)
    }

    /// The license after an update; `None` where that is rejected.
    pub fn update(&self, body: &Values, world: World<'_>) -> Option<Self> {
        let (mut next, mut body) = (self.clone(), body.clone());
        body.retain(|name, value| *value != Value::Null || !self.retained.contains(name));
        // A placeholder that is sent back unchanged was never set.
        let is_returned = |name: &str, value: &Value| {
            let is_set = self.set.contains_key(name) && !self.retained.contains(name);
            !is_set && value == self.shown.get(name).unwrap_or(&Value::Null)
        };
        let mut returned = body.clone();
        returned.retain(|name, value| is_returned(name, value) && *value != Value::Null);
        body.retain(|name, value| !is_returned(name, value));
        // Except for one whose group has a value that is cleared.
        for group in [&["mrr", "arr", "value"][..], &["length", "toDate"]]
            .into_iter()
            .map(<[&str]>::to_vec)
            .chain(PAIRS.map(|(monthly, yearly)| vec![monthly, yearly]))
        {
            let was_sent =
                |name: &str| self.has(name) || name == "value" && !self.retained.is_empty();
            if group.iter().any(|name| body.get(name) == Some(&Value::Null) && was_sent(name)) {
                let kept = returned.iter().filter(|(name, _)| group.contains(name));
                body.extend(kept.map(|(name, value)| (*name, value.clone())));
            }
        }
        next.follow(&mut body, &self.shown);
        let License { set, retained, .. } = &mut next;
        retained.retain(|name| set.contains_key(name) && !body.contains_key(name));
        next.merge(&body);
        next.is_sound(&body, &self.shown)?;
        let is_lost = |values: &Values| says(values, "renewalStatus", "lost");
        let lost_at = self.shown.get("toDate").filter(|_| is_lost(&self.shown));
        let is_endless = next.end_date(Tz::UTC).is_none_or(|end| end >= YEAR_9999);
        if let Some(end) = lost_at.filter(|_| is_lost(&body) && is_lost(&next.set) && is_endless) {
            next.merge(&Values::from([("toDate", end.clone())]));
        }
        next.settle(is_lost(&self.shown), world);
        Some(next)
    }

    /// Keeps the values that the request changes, and recomputes those that are derived from them.
    fn follow(&mut self, body: &mut Values, before: &Values) {
        let known = |name: &str| before.get(name).cloned().unwrap_or(Value::Null);
        let sent = body.clone();
        let is_cleared = sent.get("value") == Some(&Value::Null) && !self.retained.is_empty();
        if is_cleared {
            self.set.retain(|name, _| !self.retained.contains(name));
        }
        let given = self.set.clone();
        let sets = |name: &str| {
            sent.get(name).is_some_and(|value| *value != known(name) && *value != Value::Null)
        };
        let changes = |name: &str| {
            sets(name) || sent.get(name) == Some(&Value::Null) && given.contains_key(name)
        };
        self.ambiguous &= !changes("product");
        let price = sets("mrr") || sets("arr");
        let period = changes("fromDate") || changes("toDate") || changes("length");
        for (monthly, yearly) in PAIRS {
            match (sets(monthly), sets(yearly)) {
                (true, false) => self.forget(yearly, body),
                (false, true) => self.forget(monthly, body),
                _ => {}
            }
        }
        if sets("toDate") && !sets("length") {
            self.forget("length", body);
        }
        let after = |license: &Self, body: &Values, name: &str| {
            let merged = body.get(name).or_else(|| license.set.get(name)).cloned();
            merged.filter(|value| *value != Value::Null)
        };
        let fixed = after(self, body, "fixedPeriod") == Some(Value::Is(true));
        if fixed && sets("length") && !sets("toDate") {
            self.forget("toDate", body);
        }
        let endless =
            matches!(after(self, body, "toDate"), Some(Value::Time(end)) if end >= YEAR_9999);
        if endless {
            return;
        }
        let has_end = after(self, body, "toDate").is_some();
        let lasts = after(self, body, "length").is_some();
        let begins = after(self, body, "fromDate").is_some();
        let has_months = has_end && (begins || lasts) || fixed && lasts;
        if sets("value") && !price && has_months {
            self.forget("mrr", body);
            self.forget("arr", body);
        } else if fixed && (price || period) && !sets("value") && !is_cleared {
            let has_price = |license: &Self| {
                ["mrr", "arr"].iter().any(|name| after(license, body, name).is_some())
            };
            if !changes("mrr") && !changes("arr") && !has_price(self) {
                self.retain_price(before);
            }
            if has_price(self) {
                self.forget("value", body);
            }
        }
    }

    fn retain_price(&mut self, before: &Values) {
        for name in ["mrr", "arr"] {
            let known = before.get(name).filter(|value| **value != Value::Null);
            self.retained.extend(known.map(|_| name));
            self.set.extend(known.map(|value| (name, value.clone())));
        }
    }

    fn forget(&mut self, name: &str, body: &mut Values) {
        self.set.remove(name);
        body.remove(name);
    }

    fn merge(&mut self, body: &Values) {
        for (name, value) in body {
            match value {
                Value::Null => drop(self.set.remove(name)),
                value => drop(self.set.insert(name, value.clone())),
            }
        }
    }

    fn is_sound(&self, body: &Values, before: &Values) -> Option<()> {
        let positive = number(&self.set, "value").is_none_or(|value| value > Fraction::ZERO);
        let ends = (time(&self.set, "fromDate"), time(&self.set, "toDate"));
        let ordered = !matches!(ends, (Some(from), Some(to)) if to <= from);
        let lasts = number(body, "length") != Some(Fraction::ZERO)
            || number(before, "length") == Some(Fraction::ZERO);
        (positive && ordered && lasts).then_some(())
    }

    fn take(&mut self, name: &'static str, product: &Product, theirs: &str) {
        if let (false, Some(value)) = (self.set.contains_key(name), product.get(theirs)) {
            self.set.insert(name, value.clone());
        }
    }

    fn has(&self, name: &str) -> bool {
        self.set.contains_key(name)
    }

    fn inherit(&mut self, products: &[Product]) {
        let mut named =
            products.iter().filter(|product| product.get("name") == self.set.get("product"));
        let Some(product) = named.next() else { return };
        self.ambiguous = named.next().is_some();
        let priced = ["mrr", "arr", "value"].iter().any(|name| self.has(name));
        let currency = (self.set.get("_currency"), product.get("currency"));
        let foreign = matches!(currency, (Some(own), Some(theirs)) if own != theirs);
        self.take("_currency", product, "currency");
        if !priced && !foreign {
            if says(product, "type", "fee") {
                if number(product, "value").is_some_and(|value| value > Fraction::ZERO) {
                    self.take("value", product, "value");
                }
            } else {
                self.take("mrr", product, "mrr");
            }
            if !self.has("renewalArr") {
                self.take("renewalMrr", product, "renewalMrr");
            }
        }
        self.take("fixedPeriod", product, "fixedPeriod");
        self.take("autoRenews", product, "autoRenews");
        if !self.has("toDate") {
            self.take("length", product, "length");
        }
        if !self.has("renewalPeriod")
            && !self.has("renewalUnit")
            && product.contains_key("renewalPeriod")
        {
            self.take("renewalPeriod", product, "renewalPeriod");
            self.set.insert("renewalUnit", Value::Text("month".to_owned()));
        }
        let notice = product.contains_key("noticePeriod") && product.contains_key("noticeUnit");
        if is(&self.set, "autoRenews")
            && !self.has("noticePeriod")
            && !self.has("noticeUnit")
            && notice
        {
            self.take("noticePeriod", product, "noticePeriod");
            self.take("noticeUnit", product, "noticeUnit");
        }
    }

    /// Sets the values that depend on those known by now; then all that are derived.
    fn settle(&mut self, was_lost: bool, world: World<'_>) {
        if !is(&self.set, "autoRenews") {
            self.set.remove("noticePeriod");
            self.set.remove("noticeUnit");
        }
        if says(&self.set, "renewalStatus", "lost") && !was_lost {
            if time(&self.set, "toDate").is_some_and(|end| end >= YEAR_9999) {
                self.set.remove("toDate");
            }
            if self.end_date(Tz::UTC).is_none_or(|end| end >= YEAR_9999) {
                let earliest = time(&self.set, "fromDate").map_or(i64::MIN, |from| from + 1);
                self.set.insert("toDate", Value::Time(world.now.max(earliest)));
            }
        }
        self.shown = self.derive(world.zone);
    }

    /// End date as it was set, else by beginning and length.
    fn end_date(&self, zone: Tz) -> Option<i64> {
        let by_length = || {
            let from = time(&self.set, "fromDate").filter(|_| is(&self.set, "fixedPeriod"))?;
            calendar::after(from, number(&self.set, "length")?, zone)
        };
        time(&self.set, "toDate").or_else(by_length)
    }

    fn derive(&self, zone: Tz) -> Values {
        let mut found = self.set.clone();
        let end_date = self.end_date(zone);
        let end = end_date.filter(|end| *end < YEAR_9999);
        let fixed = is(&self.set, "fixedPeriod") && (end_date.is_none() || end.is_some());
        let period = time(&self.set, "fromDate").zip(end);
        let period = period.and_then(|(from, end)| calendar::period(from, end, zone));
        let length = number(&self.set, "length").or(period.map(|(months, _)| months));
        let spread = length.filter(|length| *length > Fraction::ZERO && (fixed || end.is_some()));
        let price = self.price(spread);
        let mut put = |name: &'static str, value: Option<Value>| {
            let value = value.unwrap_or(Value::Null);
            found.entry(name).or_insert(value);
        };
        let money = |exact: Option<Fraction>| exact.and_then(amount).map(Value::Number);
        put("toDate", end_date.map(Value::Time));
        put("length", period.map(|(months, _)| Value::Number(months)));
        put("mrr", money(price));
        put("arr", money(price.map(|price| price * YEAR)));
        let value = price.zip(length).filter(|_| fixed);
        put("value", money(value.map(|(price, length)| price * length)));
        put("renewalStatus", Some(Value::Text("ongoing".to_owned())));
        put("renewalPeriod", Some(Value::Number(Fraction::whole(1))));
        put("renewalUnit", Some(Value::Text("month".to_owned())));
        put("fixedPeriod", Some(Value::Is(false)));
        put("autoRenews", Some(Value::Is(false)));
        let over = period.map(|(_, over)| over).or(end);
        put("renewalDate", over.filter(|_| fixed).map(Value::Time));
        put("toDateIncluded", Some(Value::Is(end_date.is_some())));
        let renews = is(&self.set, "autoRenews");
        put("noticePeriod", renews.then_some(Value::Number(Fraction::ZERO)));
        put("noticeUnit", renews.then(|| Value::Text("month".to_owned())));
        put("invoiceCycle", Some(Value::Text(cycle(fixed, length).to_owned())));
        let custom = says(&found, "invoiceCycle", "custom");
        let interval = Fraction::whole(custom.into());
        found.entry("invoiceCycleInterval").or_insert(Value::Number(interval));
        if !self.has("renewalMrr") && !self.has("renewalArr") {
            let mrr = found["mrr"].clone();
            found.insert("renewalMrr", mrr);
        }
        for pair in PAIRS.into_iter().skip(1) {
            complete(&mut found, price, pair);
        }
        let issues = self.issues(&found, (fixed, price.is_some()), (length, spread), period, zone);
        found.insert("issues", Value::Text(issues));
        found
    }

    /// Monthly price of the license, unrounded.
    fn price(&self, spread: Option<Fraction>) -> Option<Fraction> {
        let by_year = number(&self.set, "arr").map(|arr| arr / YEAR);
        let by_value = number(&self.set, "value").zip(spread).map(|(value, months)| value / months);
        let Some(mrr) = number(&self.set, "mrr") else {
            return by_year.or(by_value);
        };
        let rounds_to_it = |price: &Fraction| amount(*price) == Some(mrr);
        by_year.filter(rounds_to_it).or(by_value.filter(rounds_to_it)).or(Some(mrr))
    }

    /// Codes and fields of the issues, in their order.
    fn issues(
        &self,
        found: &Values,
        (fixed, priced): (bool, bool),
        (length, spread): (Option<Fraction>, Option<Fraction>),
        period: Option<(Fraction, i64)>,
        zone: Tz,
    ) -> String {
        let lacks = |name: &str| matches!(found.get(name), None | Some(Value::Null));
        let cent = Fraction::new(1, 100);
        let differs = |name: &str, months: Option<Fraction>| {
            let known = (number(found, name), number(found, "mrr"), months);
            let (Some(amount), Some(mrr), Some(months)) = known else { return false };
            (amount - mrr * months).abs() > cent * months
        };
        let sent = number(&self.set, "length").filter(|length| *length > Fraction::ZERO);
        let lengths = number(&self.set, "length").zip(period);
        let length_differs = lengths.is_some_and(|(length, (months, _))| {
            let from = time(&self.set, "fromDate").unwrap();
            (length - months).abs() > cent
                && calendar::after(from, length, zone) != time(found, "toDate")
        });
        let too_short = length.is_some_and(|length| length == Fraction::ZERO);
        let lacks_term = lacks("toDate") && lacks("length");
        let mut issues = vec![
            (self.ambiguous, "product_ambiguous", "product"),
            (lacks("fromDate"), "from_date_missing", "fromDate"),
            (lacks("_currency"), "currency_missing", "_currency"),
            (fixed && lacks_term, "to_date_missing", "toDate"),
            (!priced && lacks("mrr") && lacks("value"), "price_missing", "value"),
            (
                !priced && lacks("mrr") && (!fixed || (lacks_term && !lacks("value"))),
                "mrr_missing",
                "mrr",
            ),
            (
                fixed && too_short && !says(found, "renewalStatus", "lost"),
                "period_too_short",
                "toDate",
            ),
            (differs("value", spread.or(sent)), "value_differs", "value"),
            (length_differs, "length_differs", "length"),
            (differs("arr", Some(YEAR)), "arr_differs", "arr"),
            (priced && lacks("mrr"), "amount_too_large", "mrr"),
            (priced && lacks("arr"), "amount_too_large", "arr"),
            (priced && fixed && length.is_some() && lacks("value"), "amount_too_large", "value"),
        ];
        for (monthly, yearly) in PAIRS.into_iter().skip(1) {
            issues.push((!lacks(monthly) && lacks(yearly), "amount_too_large", yearly));
        }
        let issues = issues.into_iter().filter(|(wrong, ..)| *wrong);
        issues.map(|(_, code, field)| format!("{code} {field}")).collect::<Vec<_>>().join(", ")
    }

    /// End of the license.
    /// The times at which the license begins and ends: a date at midnight UTC is that day in the zone.
    pub fn times(&self, zone: Tz) -> (Option<i64>, Option<i64>) {
        let dates = (time(&self.shown, "fromDate"), self.end(zone));
        let times = (
            dates.0.map(|date| calendar::time_of(zone, date)),
            dates.1.map(|date| calendar::time_of(zone, date)),
        );
        match times {
            (Some(from), Some(end)) if end <= from => dates,
            _ => times,
        }
    }

    pub fn end(&self, zone: Tz) -> Option<i64> {
        let end = time(&self.shown, "toDate").filter(|end| *end < YEAR_9999)?;
        let from = time(&self.shown, "fromDate");
        Some(from.and_then(|from| calendar::period(from, end, zone)).map_or(end, |(_, over)| over))
    }
}

/// The other half of a pair; where the monthly one is the price of the license, so is the yearly one.
fn complete(
    found: &mut Values,
    price: Option<Fraction>,
    (monthly, yearly): (&'static str, &'static str),
) {
    let (month, year) = (number(found, monthly), number(found, yearly));
    let money = |exact: Fraction| amount(exact).map_or(Value::Null, Value::Number);
    match (month, year) {
        (None, Some(year)) => drop(found.insert(monthly, money(year / YEAR))),
        (Some(month), None) => {
            let own = price.filter(|price| {
                number(found, "mrr") == Some(month) && amount(*price) == Some(month)
            });
            found.insert(yearly, money(own.unwrap_or(month) * YEAR));
        }
        _ => {}
    }
}

fn cycle(fixed: bool, length: Option<Fraction>) -> &'static str {
    let months = |length: Fraction| length.is_whole().then(|| length.floor());
    match length.and_then(months) {
        _ if !fixed => "monthly",
        Some(1) => "monthly",
        Some(3) => "quarterly",
        Some(6) => "semiAnnual",
        Some(months) if months > 0 && months % 12 == 0 => "yearly",
        _ => "once",
    }
}

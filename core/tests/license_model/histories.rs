//! Random histories of a company's licenses, in which rules meet: ends that are whole months in one zone or the other,
//! prices that are rounded quotients, values that are sent back.

use std::collections::BTreeMap;

use chrono_tz::Tz;

use super::{
    calendar::{self, DAY},
    company::{Known, Rates},
    fraction::Fraction,
    rules::{PAIRS, Product, Value, Values, World},
};

/// Time zones, east and west, with and without summer time.
const ZONES: [Tz; 6] = [
    Tz::UTC,
    Tz::Asia__Tokyo,
    Tz::America__New_York,
    Tz::Europe__Berlin,
    Tz::Pacific__Auckland,
    Tz::Asia__Kolkata,
];
const NAMES: [&str; 2] = ["Plan", "Seat"];

#[derive(Debug)]
pub enum Sent {
    Post(Values),
    BulkCreate(Values),
    Put(usize, Values),
    BulkUpdate(usize, Values),
    /// The response of a GET, with some of it changed.
    PutBack(usize, Values),
}

/// A step in the history of a tenant.
#[derive(Debug)]
pub struct History {
    random: u64,
    zone: Tz,
    rates: Option<Rates>,
    pub now: i64,
    pub products: Vec<Product>,
}

impl History {
    pub fn new(seed: u64) -> Self {
        let mut history =
            Self { random: seed, zone: Tz::UTC, rates: None, now: 0, products: Vec::new() };
        history.zone = history.one_of(&ZONES);
        history.now = history.day() + i64::try_from(history.below(86_400)).unwrap() * 1_000;
        history.rates = history.chance(2).then(|| {
            let rates = [("EUR", Fraction::whole(1)), ("USD", Fraction::new(9, 10))];
            BTreeMap::from(rates.map(|(name, rate)| (name.to_owned(), rate)))
        });
        for _ in 0..history.below(3) {
            let product = history.product();
            history.products.push(product);
        }
        history
    }

    pub fn steps(&mut self) -> u64 {
        2 + self.below(7)
    }

    pub fn world(&self) -> World<'_> {
        World { zone: self.zone, now: self.now, products: &self.products }
    }

    pub fn rates(&self) -> Option<&Rates> {
        self.rates.as_ref()
    }

    pub fn settings(&self) -> String {
        let zone = self.zone.name();
        match &self.rates {
            None => format!(r#"{{"timeZone":"{zone}"}}"#),
            Some(_) => format!(
                r#"{{"timeZone":"{zone}","currencies":{{"base":"EUR","rates":{{"USD":0.9}}}}}}"#
            ),
        }
    }

    pub fn step(&mut self, licenses: &[Known]) -> Sent {
        if self.chance(3) {
            self.now += i64::try_from(self.below(200)).unwrap() * DAY / 2;
        }
        if licenses.is_empty() || (licenses.len() < 4 && self.chance(4)) {
            let mut body = self.body(3, licenses);
            if self.chance(3) {
                body.extend(self.product_name());
            }
            return if self.chance(3) { Sent::BulkCreate(body) } else { Sent::Post(body) };
        }
        let at = usize::try_from(self.below(licenses.len() as u64)).unwrap();
        let body = self.body(8, licenses);
        match self.below(4) {
            0 => Sent::BulkUpdate(at, body),
            1 => Sent::PutBack(at, Values::new()),
            2 => Sent::PutBack(at, body),
            _ => Sent::Put(at, body),
        }
    }

    /// Properties of a license, each with a chance of one in `rarity`.
    fn body(&mut self, rarity: u64, licenses: &[Known]) -> Values {
        let mut body = Values::new();
        let from = self.time();
        for name in ["fromDate", "toDate", "length", "fixedPeriod", "value", "_currency"] {
            if self.chance(rarity) {
                let value = self.value(name, from);
                body.insert(name, value);
            }
        }
        let rare = ["autoRenews", "noticePeriod", "noticeUnit", "renewalStatus", "renewalPeriod"];
        let rarer = ["renewalUnit", "invoiceCycle", "product"];
        for name in rare.into_iter().chain(rarer) {
            if self.chance(2 * rarity) {
                let value = self.value(name, from);
                body.insert(name, value);
            }
        }
        for (at, (monthly, yearly)) in PAIRS.into_iter().enumerate() {
            let rarity = if at == 0 { rarity } else { 3 * rarity };
            for name in [monthly, yearly] {
                if self.chance(rarity) {
                    body.insert(name, self.money(name.contains("rr") && at > 0));
                }
            }
        }
        if self.chance(4 * rarity) && !licenses.is_empty() {
            let (id, _) = &licenses[usize::try_from(self.below(licenses.len() as u64)).unwrap()];
            let parent = if self.chance(4) { "any" } else { id };
            body.insert("parent", Value::Text(parent.to_owned()));
        }
        for name in body.keys().copied().collect::<Vec<_>>() {
            if self.chance(12) {
                body.insert(name, Value::Null);
            }
        }
        body
    }

    fn value(&mut self, name: &str, from: i64) -> Value {
        let text = |text: &str| Value::Text(text.to_owned());
        match name {
            "fromDate" => Value::Time(from),
            "toDate" => Value::Time(self.end(from)),
            "length" => Value::Number(self.length()),
            "fixedPeriod" | "autoRenews" => Value::Is(!self.chance(4)),
            "value" => self.money(false),
            "_currency" => text(self.one_of(&["EUR", "EUR", "USD", "SEK"])),
            "noticePeriod" | "renewalPeriod" => {
                Value::Number(Fraction::whole(self.below(5).into()))
            }
            "noticeUnit" | "renewalUnit" => text(self.one_of(&["day", "week", "month"])),
            "renewalStatus" => text(self.one_of(&["ongoing", "renewed", "renewed", "lost"])),
            "invoiceCycle" => text(self.one_of(&["once", "custom", "yearly"])),
            _ => text(self.one_of(&["Plan", "Seat", "Other"])),
        }
    }

    fn product_name(&mut self) -> Option<(&'static str, Value)> {
        let name = self.one_of(&NAMES);
        Some(("product", Value::Text(name.to_owned())))
    }

    fn product(&mut self) -> Product {
        let mut product = Product::new();
        product.insert("name", Value::Text(self.one_of(&NAMES).to_owned()));
        if self.chance(4) {
            product.insert("type", Value::Text("fee".to_owned()));
        }
        for name in ["mrr", "value", "renewalMrr"] {
            if self.chance(2) {
                product.insert(name, self.money(false));
            }
        }
        for name in ["fixedPeriod", "autoRenews", "noticePeriod", "noticeUnit", "renewalPeriod"] {
            if self.chance(2) {
                let value = self.value(name, 0);
                product.insert(name, value);
            }
        }
        if self.chance(3) {
            product.insert("currency", Value::Text(self.one_of(&["EUR", "USD"]).to_owned()));
        }
        if self.chance(2) {
            let length = self.length();
            product.insert("length", Value::Number(length));
        }
        product.retain(|name, value| *name != "length" || *value != Value::Number(Fraction::ZERO));
        product
    }

    fn money(&mut self, may_be_nothing: bool) -> Value {
        let round = ["10", "100", "33.33", "333.333333", "4000", "12000", "3999.999996", "0.01"];
        let (units, scale) = match self.below(8) {
            0..=4 => {
                let text = self.one_of(&round);
                let (whole, part) = text.split_once('.').unwrap_or((text, ""));
                let units: i128 = format!("{whole}{part}").parse().unwrap();
                (units, part.len())
            }
            5 => (i128::from(self.below(10_000_000_000)), 6),
            6 => (i128::from(self.below(1_000_000)), 2),
            _ if may_be_nothing => (0, 0),
            _ => (1_000_000_000_000_000, 0),
        };
        Value::Number(Fraction::new(units, 10_i128.pow(u32::try_from(scale).unwrap())))
    }

    fn length(&mut self) -> Fraction {
        match self.below(8) {
            0 => Fraction::new(i128::from(self.below(400_000)), 10_000),
            1 => Fraction::new(1 + i128::from(self.below(30)), 2),
            2 if self.chance(4) => Fraction::ZERO,
            _ => Fraction::whole(self.one_of(&[1, 3, 6, 12, 24, 36, 7])),
        }
    }

    /// Midnight of a day near a border of a month, in the tenant's zone or in UTC.
    fn day(&mut self) -> i64 {
        let (year, month) = (2024 + self.below(5), 1 + self.below(12));
        let first = calendar::days_before(year.cast_signed(), month.cast_signed());
        let day = self.one_of(&[0, 0, 0, 14, 27, 28, 29, 30]);
        let zone = if self.chance(2) { self.zone } else { Tz::UTC };
        calendar::at(zone, (first + day) * DAY)
    }

    fn time(&mut self) -> i64 {
        let hours = if self.chance(6) { self.below(24).cast_signed() } else { 0 };
        self.day() + hours * 3_600_000
    }

    /// End of a period: whole months later in one of the zones, or nearly; else any time; rarely in the year 9999.
    fn end(&mut self, from: i64) -> i64 {
        match self.below(8) {
            0 => self.time(),
            1 if self.chance(3) => calendar::YEAR_9999 + 364 * DAY,
            _ => {
                let zone = if self.chance(2) { self.zone } else { Tz::UTC };
                let months = self.one_of(&[1, 1, 2, 3, 12, 12, 18, 24, 36]);
                let end = calendar::later(calendar::clock(zone, from), months);
                calendar::at(zone, end) - self.one_of(&calendar::SHORT)
            }
        }
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[usize::try_from(self.below(values.len() as u64)).unwrap()]
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }

    /// A random number below `end` (SplitMix64).
    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

//! Properties of a company that are derived from its licenses, as plainly as possible.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    calendar::{self, DAY},
    fraction::Fraction,
    rules::{License, Value, Values, World, number, says, time},
};

/// A license and its id.
pub type Known = (String, License);
/// Value of one unit of each other currency in the base currency.
pub type Rates = BTreeMap<String, Fraction>;

/// Days around the end of a license in which its successor begins.
const GAP: i64 = 31 * DAY;

/// Properties of a license that are computed only when it is read.
pub fn read(license: &Known, all: &[Known], rates: Option<&Rates>, world: World<'_>) -> Values {
    let mut read = license.1.shown.clone();
    let mut issues = vec![];
    if let Some(Value::Text(stored)) = read.get("issues")
        && !stored.is_empty()
    {
        issues.push(stored.clone());
    }
    if is_alone(license, all, world) {
        issues.push("successor_missing renewalStatus".to_owned());
    }
    let currency = currency_of(&license.1).filter(|_| read.contains_key("_currency"));
    if currency.is_some_and(|currency| rates.is_some_and(|rates| !rates.contains_key(&currency))) {
        issues.push("rate_missing _currency".to_owned());
    }
    read.insert("issues", Value::Text(issues.join(", ")));
    let renewal = time(&read, "renewalDate");
    let days = renewal.map(|date| days_to(date, world));
    read.insert("renewalDaysFromNow", days.unwrap_or(Value::Null));
    let overdue = renewal.is_some_and(|date| calendar::time_of(world.zone, date) < world.now);
    let overdue = overdue && says(&read, "renewalStatus", "ongoing");
    read.insert("isOverdue", Value::Is(overdue));
    read
}

fn days_to(date: i64, world: World<'_>) -> Value {
    let date = calendar::time_of(world.zone, date);
    let days = calendar::day(world.zone, date) - calendar::day(world.zone, world.now);
    Value::Number(Fraction::whole(days.into()))
}

fn currency_of(license: &License) -> Option<String> {
    match license.shown.get("_currency") {
        Some(Value::Text(currency)) => Some(currency.clone()),
        _ => Some(String::new()),
    }
}

/// First license of the line; of a circle the one with the lowest id.
fn line<'k>((id, _): &'k Known, all: &'k [Known]) -> &'k str {
    let parent_of = |id: &str| {
        let (_, license) = all.iter().find(|(known, _)| known == id)?;
        match license.shown.get("parent") {
            Some(Value::Text(parent)) => Some(parent.as_str()),
            _ => None,
        }
    };
    let mut path = vec![id.as_str()];
    while let Some(parent) = parent_of(path[path.len() - 1]) {
        if let Some(at) = path.iter().position(|known| *known == parent) {
            return path[at..].iter().min().unwrap();
        }
        path.push(parent);
    }
    path[path.len() - 1]
}

/// Whether the license is renewed, and no other follows it.
fn is_alone(known: &Known, all: &[Known], world: World<'_>) -> bool {
    let (id, license) = known;
    let follows = |another: &Known| {
        let (other_id, other) = another;
        let begins = [&other.shown, &license.shown].map(|shown| time(shown, "fromDate"));
        if let [Some(begin), Some(from)] = begins
            && begin > from
            && line(another, all) == line(known, all)
        {
            return true;
        }
        let dates = (time(&license.shown, "fromDate"), license.end(world.zone));
        let (Some(from), Some(end)) = dates else { return false };
        let same = other.shown.get("product") == license.shown.get("product");
        let near = time(&other.shown, "fromDate")
            .is_some_and(|begin| begin > from && (begin - end).abs() <= GAP);
        other_id != id && same && near
    };
    says(&license.shown, "renewalStatus", "renewed") && !all.iter().any(follows)
}

/// Properties of the company that come from its licenses.
pub fn figures(all: &[Known], rates: Option<&Rates>, world: World<'_>) -> Values {
    let mut found = Values::new();
    let text = |text: &str| Value::Text(text.to_owned());
    found.insert("status", text(status(all, world)));
    let active: Vec<&Known> = all.iter().filter(|known| is_active(&known.1, world)).collect();
    found.insert("mrr", total(&active, rates, |license| number(&license.shown, "mrr")));
    found.insert(
        "arr",
        total(&active, rates, |license| {
            let twelve = number(&license.shown, "mrr").map(|mrr| mrr * Fraction::TWELVE);
            number(&license.shown, "arr").or(twelve)
        }),
    );
    let renewed = all.iter().filter(|known| says(&known.1.shown, "renewalStatus", "renewed"));
    let dates = renewed.filter_map(|known| time(&known.1.shown, "renewalDate"));
    let last = dates.filter(|date| calendar::time_of(world.zone, *date) <= world.now).max();
    found.insert("lastRenewal", last.map_or(Value::Null, Value::Time));
    nearest(all, rates, world, &mut found);
    let large = [("mrr", "amount_too_large mrr"), ("arr", "amount_too_large arr")];
    let large = large.into_iter().filter(|(name, _)| found[name] == too_large()).collect();
    found.insert("issues", Value::Text(issues(all, rates, large, world)));
    for value in found.values_mut().filter(|value| **value == too_large()) {
        *value = Value::Null;
    }
    found
}

fn nearest(all: &[Known], rates: Option<&Rates>, world: World<'_>, found: &mut Values) {
    let today = calendar::day(world.zone, world.now);
    let day_of = |known: &Known| {
        let date = time(&known.1.shown, "renewalDate")?;
        let ongoing = says(&known.1.shown, "renewalStatus", "ongoing");
        let date = calendar::time_of(world.zone, date);
        ongoing.then(|| calendar::day(world.zone, date) - today)
    };
    let mut days: Vec<i64> = all.iter().filter_map(day_of).collect();
    days.sort_by_key(|days| 2 * days.abs() + i64::from(*days < 0));
    let names = ["renewalMrr", "renewalArr", "renewalDaysFromNow"];
    found.extend(names.map(|name| (name, Value::Null)));
    let Some(first) = days.first() else { return };
    found.insert("renewalDaysFromNow", Value::Number(Fraction::whole((*first).into())));
    let renewing: Vec<&Known> = all.iter().filter(|known| day_of(known) == Some(*first)).collect();
    for name in ["renewalMrr", "renewalArr"] {
        found.insert(name, total(&renewing, rates, |license| number(&license.shown, name)));
    }
}

fn is_active(license: &License, world: World<'_>) -> bool {
    let (from, end) = license.times(world.zone);
    from.is_some_and(|from| from <= world.now) && end.is_none_or(|end| world.now < end)
}

fn total(
    licenses: &[&Known],
    rates: Option<&Rates>,
    amount: impl Fn(&License) -> Option<Fraction>,
) -> Value {
    let currencies: BTreeSet<_> =
        licenses.iter().filter_map(|known| currency_of(&known.1)).collect();
    let mut sum = Fraction::ZERO;
    for (_, license) in licenses {
        let rate = match rates {
            Some(rates) => currency_of(license).and_then(|currency| rates.get(&currency)).copied(),
            None => (currencies.len() == 1).then_some(Fraction::whole(1)),
        };
        let Some(rate) = rate else { return Value::Null };
        sum = sum + amount(license).unwrap_or(Fraction::ZERO) * rate;
    }
    let rounded = sum.rounded(6);
    let is_absurd = rounded.abs() > Fraction::whole(1_000_000_000_000_000);
    if is_absurd { too_large() } else { Value::Number(rounded) }
}

/// Stands for a sum that is too large, until it is null.
fn too_large() -> Value {
    Value::Text("too large".to_owned())
}

fn status(all: &[Known], world: World<'_>) -> &'static str {
    let dated = || all.iter().filter(|known| time(&known.1.shown, "fromDate").is_some());
    let times = |known: &Known| known.1.times(world.zone);
    let begun = |known: &Known| times(known).0.is_some_and(|from| from <= world.now);
    let ended = |known: &Known| times(known).1.is_some_and(|end| end <= world.now);
    let fixed = |known: &Known| {
        let never = time(&known.1.shown, "toDate").is_some_and(|end| end >= calendar::YEAR_9999);
        known.1.shown.get("fixedPeriod") == Some(&Value::Is(true)) && !never
    };
    let ongoing = |known: &Known| says(&known.1.shown, "renewalStatus", "ongoing");
    let held = |known: &&Known| {
        ongoing(known) && (begun(known) && !ended(known) || fixed(known) && ended(known))
    };
    let agreed = |known: &&Known| begun(known) && is_alone(known, all, world);
    let renewed = |known: &&Known| {
        says(&known.1.shown, "renewalStatus", "renewed") && begun(known) && !ended(known)
    };
    let will_begin = |known: &Known| {
        ongoing(known) || says(&known.1.shown, "renewalStatus", "renewed") && !ended(known)
    };
    let ahead = dated().any(|known| will_begin(known) && !begun(known));
    if dated().any(|known| held(&known) || agreed(&known) || ahead && renewed(&known)) {
        "customer"
    } else if ahead {
        "coming"
    } else if dated().any(|known| !ended(known)) {
        "canceled"
    } else if dated().next().is_some() {
        "lost"
    } else {
        "prospect"
    }
}

fn issues(
    all: &[Known],
    rates: Option<&Rates>,
    large: Vec<(&str, &'static str)>,
    world: World<'_>,
) -> String {
    let lasting = all.iter().filter(|known| {
        let ended = known.1.times(world.zone).1.is_some_and(|end| end <= world.now);
        time(&known.1.shown, "fromDate").is_some() && !ended
    });
    let currencies: BTreeSet<String> =
        lasting.map(|known| currency_of(&known.1).unwrap_or_default()).collect();
    let apart: Vec<&String> = match rates {
        Some(rates) => currencies.iter().filter(|name| !rates.contains_key(*name)).collect(),
        None if currencies.iter().filter(|name| !name.is_empty()).count() > 1 => {
            currencies.iter().collect()
        }
        None if currencies.len() > 1 => currencies.iter().filter(|name| name.is_empty()).collect(),
        None => Vec::new(),
    };
    let alone = all.iter().filter(|known| is_alone(known, all, world)).count();
    let code = |name: &&String| match name.is_empty() {
        true => "currency_missing mrr",
        false => "rate_missing mrr",
    };
    let mut issues: Vec<&str> = apart.iter().map(code).collect();
    issues.extend(large.iter().map(|(_, issue)| *issue));
    issues.extend(vec!["successor_missing status"; alone]);
    issues.join(", ")
}

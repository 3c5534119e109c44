//! Successor of a license that is renewed (R23): its terms, and which license of a company it is, so that none is
//! renewed twice.

use rust_decimal::Decimal;

use super::{
    license::{
        ARR, AUTO_RENEWS, COMPANY_ID, CURRENCY, CUSTOM, FIXED_PERIOD, FROM_DATE, ID, INVOICE_CYCLE,
        INVOICE_CYCLE_INTERVAL, INVOICE_MUTED, LENGTH, MRR, NOTICE_PERIOD, NOTICE_UNIT, PARENT,
        PRODUCT_NAME, RENEWAL_ARR, RENEWAL_MRR, RENEWAL_PERIOD, RENEWAL_STATUS, RENEWAL_UNIT,
        TO_DATE, VALUE,
    },
    license_issues::{begins_of_successors, first_of, lines_of, product_of, root_of},
    license_period::{end_of, is_fixed, length_of},
    license_terms::{LOST, RENEWED, is_lost, is_renewed},
};
use crate::value::{
    Document, Json, JsonRef, Timestamp, ValidationError, Zone, period, quoted::quoted,
};

/// Properties that a successor takes from the license before it, where they were set there.
const KEPT: &[&str] = &[
    PRODUCT_NAME.name,
    NOTICE_PERIOD.name,
    NOTICE_UNIT.name,
    RENEWAL_PERIOD.name,
    RENEWAL_UNIT.name,
    INVOICE_CYCLE.name,
    INVOICE_CYCLE_INTERVAL.name,
    INVOICE_MUTED.name,
    CUSTOM.name,
];
/// Properties of a successor that the renewal sets, and no caller.
const DECIDED: &[&str] = &[COMPANY_ID.name, PARENT.name, RENEWAL_STATUS.name];
/// Days of a week.
const WEEK: i64 = 7;

/// The body of the successor of a license: the license's own terms for the next period, replaced by the values that
/// were sent. `set` is the license without the placeholder values of absent properties.
///
/// # Errors
/// Properties that are missing, or not allowed.
pub(crate) fn successor_of(
    license: &Document,
    set: &Document,
    sent: &Document,
    zone: Zone,
) -> Result<Document, Vec<ValidationError>> {
    let mut issues: Vec<ValidationError> = DECIDED
        .iter()
        .filter(|name| sent.get(name).is_some())
        .map(|name| {
            let message = format!("`{name}` is taken from the renewed license and cannot be sent");
            ValidationError::of_member(name, "not_allowed", message)
        })
        .collect();
    let Some(end) = end_of(license, zone).filter(|_| is_fixed(license)) else {
        let message = match FIXED_PERIOD.get(license) {
            Some(true) => {
                "the license has no end before the year 9999, so it cannot be renewed: it needs `toDate`, or `fromDate` and `length`"
            }
            _ => {
                "the license has no fixed period, so it cannot be renewed: it needs `fixedPeriod` `true` and an end"
            }
        };
        issues.push(ValidationError::of_body("no_renewal", message));
        return Err(issues);
    };
    let terms = |sent: &Document| {
        let mut successor = kept(license, set, end);
        price(&mut successor, license, sent);
        next_period(&mut successor, license, set, sent, zone);
        successor
    };
    let mut successor = terms(sent);
    for (name, value) in sent.iter() {
        if value.is_null() {
            successor.remove(name);
        } else {
            successor.set(name, value.to_json());
        }
    }
    issues.extend(missing(&successor, sent, || terms(&Document::default())));
    issues.extend(too_early(license, &successor));
    if issues.is_empty() { Ok(successor) } else { Err(issues) }
}

/// Properties that a successor takes from the license, whatever is sent.
fn kept(license: &Document, set: &Document, end: Timestamp) -> Document {
    let mut successor = Document::default();
    for name in [COMPANY_ID.name, CURRENCY.name, AUTO_RENEWS.name] {
        copy(&mut successor, license, name, name);
    }
    for name in KEPT {
        copy(&mut successor, set, name, name);
    }
    successor.set(FROM_DATE.name, Json::string(&end.to_string()));
    successor.set(FIXED_PERIOD.name, Json::bool(true));
    if let Some(root) = root_of(license) {
        successor.set(PARENT.name, Json::string(&root));
    }
    successor
}

fn copy(into: &mut Document, from: &Document, name: &str, theirs: &str) {
    if let Some(value) = from.value(theirs) {
        into.set(name, value.to_json());
    }
}

/// Sets the expected price of the renewal, unless another price was sent.
fn price(successor: &mut Document, license: &Document, sent: &Document) {
    if [MRR.name, ARR.name, VALUE.name].iter().all(|name| sent.get(name).is_none()) {
        copy(successor, license, MRR.name, RENEWAL_MRR.name);
        copy(successor, license, ARR.name, RENEWAL_ARR.name);
    }
}

/// Sets `renewalPeriod`, else the length of the license, unless another period was sent.
fn next_period(
    successor: &mut Document,
    license: &Document,
    set: &Document,
    sent: &Document,
    zone: Zone,
) {
    if [TO_DATE.name, LENGTH.name].iter().any(|name| sent.get(name).is_some()) {
        return;
    }
    let wanted = |name: &str| sent.value(name).or_else(|| set.value(name));
    let from = FROM_DATE.get(sent).or_else(|| FROM_DATE.get(successor));
    let count = wanted(RENEWAL_PERIOD.name).and_then(|count| count.as_number_text()?.parse().ok());
    let unit = wanted(RENEWAL_UNIT.name).and_then(JsonRef::as_str);
    match (count.filter(|count: &i64| *count > 0), unit.as_deref()) {
        (Some(days), Some("day")) => end_after(successor, from, days, zone),
        (Some(weeks), Some("week")) => end_after(successor, from, weeks * WEEK, zone),
        (Some(months), _) => successor.set(LENGTH.name, Json::integer(months)),
        (None, _) => as_before(successor, license, from, zone),
    }
}

/// Gives the successor the length of the license: as many months, or as many days where these are not whole.
fn as_before(successor: &mut Document, license: &Document, from: Option<Timestamp>, zone: Zone) {
    let begin = FROM_DATE.get(license);
    match (length_of(license, zone), begin.zip(end_of(license, zone))) {
        (Some(months), _) if months > Decimal::ZERO && months.fract().is_zero() => {
            successor.set(LENGTH.name, Json::number(months.into()));
        }
        (_, Some((begin, end))) => {
            let days = zone.day(end) - zone.day(begin);
            end_after(successor, from, days.max(1), zone);
        }
        _ => {}
    }
}

fn end_after(successor: &mut Document, from: Option<Timestamp>, days: i64, zone: Zone) {
    if let Some(end) = from.and_then(|from| period::add_days(from, days, zone)) {
        successor.set(TO_DATE.name, Json::string(&end.to_string()));
    }
}

/// The issue of a successor that does not begin later than the license: nothing would recognise it as its successor.
fn too_early(license: &Document, successor: &Document) -> Option<ValidationError> {
    let (begin, next) = FROM_DATE.get(license).zip(FROM_DATE.get(successor))?;
    let message =
        || format!("`fromDate` must be after that of the renewed license, {begin}; found `{next}`");
    (next <= begin).then(|| ValidationError::of_member(FROM_DATE.name, "invalid_value", message()))
}

/// Issues of properties that a successor needs and has not: the license has none, or `null` was sent instead of those on
/// the terms of the license.
fn missing(
    successor: &Document,
    sent: &Document,
    on_own_terms: impl Fn() -> Document,
) -> Vec<ValidationError> {
    // Of each of these, one is needed.
    let needs: [&[&str]; 4] = [
        &[CURRENCY.name],
        &[MRR.name, ARR.name, VALUE.name],
        &[FROM_DATE.name],
        &[LENGTH.name, TO_DATE.name],
    ];
    let lacks = |document: &Document, names: &[&str]| {
        names.iter().all(|name| document.value(name).is_none())
    };
    let issue = |name: &str, message| ValidationError::of_member(name, "required", message);
    let mut issues = Vec::new();
    for names in needs.into_iter().filter(|names| lacks(successor, names)) {
        if lacks(&on_own_terms(), names) {
            let first = names.iter().take(1);
            issues
                .extend(first.map(|name| {
                    issue(name, format!("`{name}` is required: the license has none"))
                }));
            continue;
        }
        let is_null = |name: &&&str| sent.get(name).is_some_and(|value| value.is_null());
        let nulls: Vec<_> = names.iter().filter(is_null).collect();
        if nulls.is_empty() {
            // Nothing else leaves out what the license has.
            let message =
                "`toDate` or `length` is required: the period would end after the year 9999";
            issues.push(issue(TO_DATE.name, message.to_owned()));
        }
        issues.extend(nulls.into_iter().map(|name| {
            let message =
                format!("`{name}` must not be `null`: without it, the terms of the license apply");
            issue(name, message)
        }));
    }
    issues
}

/// A license that may be the successor of another, without a `parent`: of the same product, and with a beginning near
/// the end of the other.
pub(crate) fn likely_successor<'l>(
    license: &Document,
    licenses: &'l [Document],
    zone: Zone,
) -> Option<&'l Document> {
    let begins = begins_of_successors(license, zone)?;
    licenses.iter().find(|other| {
        other.text(PARENT.name).is_none()
            && FROM_DATE.get(*other).is_some_and(|begin| begins.contains(&begin))
            && product_of(other) == product_of(license)
    })
}

/// Why a license can be neither renewed nor lost: because it already was.
pub(crate) fn obstacle(
    license: &Document,
    licenses: &[Document],
    zone: Zone,
) -> Option<ValidationError> {
    let name = quoted(&license.text(ID.name).unwrap_or_default());
    let successor = successor_among(license, licenses, zone);
    let follows = successor.and_then(|successor| successor.text(ID.name)).map(|id| quoted(&id));
    let issue =
        |code, message| Some(ValidationError::of_member(RENEWAL_STATUS.name, code, message));
    match follows {
        _ if is_lost(license) => {
            issue("license_lost", format!("the license {name} is already `{LOST}`"))
        }
        Some(successor) => {
            let message =
                format!("the license {name} is already renewed: its successor is {successor}");
            issue("already_renewed", message)
        }
        None if is_renewed(license) => {
            let message =
                format!("the license {name} is already `{RENEWED}`, but has no successor");
            issue("already_renewed", message)
        }
        None => None,
    }
}

/// Successor of a license: the first of the same line, by `parent`; for a renewed license also one of the same product
/// that begins near its end.
fn successor_among<'l>(
    license: &Document,
    licenses: &'l [Document],
    zone: Zone,
) -> Option<&'l Document> {
    let from = FROM_DATE.get(license);
    let later = || licenses.iter().filter(|other| FROM_DATE.get(other) > from);
    let lines = lines_of(licenses.iter());
    let first = first_of(&lines, license);
    let in_line = later().filter(|other| first_of(&lines, other) == first);
    let begins = begins_of_successors(license, zone).filter(|_| is_renewed(license));
    let begins_then = |other: &&Document| {
        let begin = FROM_DATE.get(other);
        begins.as_ref().zip(begin).is_some_and(|(begins, begin)| begins.contains(&begin))
            && product_of(other) == product_of(license)
    };
    let first = in_line.min_by_key(|other| FROM_DATE.get(other));
    first.or_else(|| later().filter(begins_then).min_by_key(|other| FROM_DATE.get(other)))
}

#[cfg(test)]
mod tests {
    use super::{super::license_renewal_date::tests::year, *};

    #[test]
    fn the_likely_successor_is_of_the_same_product_and_begins_about_when_the_license_ends() {
        let license = year("{}");
        let other = |more: &str| {
            let mut other =
                year(r#"{"_id":"6553f1000102030405000002","fromDate":"2027-01-01","toDate":null}"#);
            other.merge(&Document::parse(more.as_bytes()).unwrap());
            other
        };
        for (more, expect) in [
            ("{}", true),
            (r#"{"fromDate":"2026-12-01"}"#, true),
            (r#"{"fromDate":"2027-02-01"}"#, true),
            (r#"{"fromDate":"2026-11-30"}"#, false),
            (r#"{"fromDate":"2027-02-02"}"#, false),
            (r#"{"fromDate":null}"#, false),
            (r#"{"product":"Other"}"#, false),
            (r#"{"product":null}"#, false),
            // A license of another line is no successor, and one of its own line is, as in `obstacle`.
            (r#"{"parent":"6553f1000102030405000001"}"#, false),
            (r#"{"parent":"6553f1000102030405000003"}"#, false),
        ] {
            let licenses = [license.clone(), other(more)];
            let found = likely_successor(&license, &licenses, Zone::UTC);
            assert_eq!(found, licenses.get(1).filter(|_| expect), "{more}");
        }
        let endless = year(r#"{"toDate":null}"#);
        assert_eq!(likely_successor(&endless, &[other("{}")], Zone::UTC), None);
    }
}

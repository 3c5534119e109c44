//! Missing and contradictory properties of a license (R24, R55). Issues that depend only on the license are stored with
//! it; those that depend on other records are added at read.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
};

use rust_decimal::Decimal;

use super::{
    company_status::SUCCESSOR_DAYS,
    license_line::LicenseLines,
    license_period::{end_by_length, end_of, is_fixed, length_of, period_of, spread_of},
    license_price::price_of,
    license_terms::{
        ARR, FROM_DATE, LENGTH, MRR, RENEWAL_ARR, RENEWAL_MRR, RENEWAL_STATUS, TO_DATE, VALUE,
        YEAR, is_lost, is_renewed,
    },
    settings::{self, Currencies},
};
use crate::{
    schema::{FieldDef, FieldKind, FillCtx, LookupError, ReadCtx, ResourceDef, field::handles},
    value::{Day, Document, Json, Timestamp, Zone, time::DAY_MS},
};

handles! {
    ID: Id = "_id";
    PRODUCT_NAME: Text = "product";
    CURRENCY: Text = "_currency";
    COMPANY_ID: Reference = "companyId";
    FC_NEW_MRR: Number = "fcNewMrr";
    FC_NEW_ARR: Number = "fcNewArr";
    FC_NEW_MRR_OPTIMISTIC: Number = "fcNewMrrOptimistic";
    FC_NEW_ARR_OPTIMISTIC: Number = "fcNewArrOptimistic";
    FC_NEW_MRR_PESSIMISTIC: Number = "fcNewMrrPessimistic";
    FC_NEW_ARR_PESSIMISTIC: Number = "fcNewArrPessimistic";
    PARENT: Reference = "parent";
    ISSUES: Values = "issues";
}

/// Maximum difference of `value` from `mrr` x `length`, and of `arr` from `mrr` x 12, for each month (R24).
const TOLERANCE_A_MONTH: Decimal = Decimal::from_parts(1, 0, 0, false, 2);
/// Maximum difference of `length` from the months between the dates: senders round it.
const LENGTH_TOLERANCE: Decimal = Decimal::from_parts(1, 0, 0, false, 2);
/// Maximum number of licenses of a company among which the successor of a license is looked for when the license is
/// read: more than companies have, and few enough that nothing waits for it. The company itself looks among all.
const MAX_LOOKED_AT: usize = 1_000;

/// Name of the issue that a creation adds and later writes keep (R22).
pub(super) const PRODUCT_AMBIGUOUS: &str = "product_ambiguous";

/// An issue: `code`, the property, and the message.
pub(super) type LicenseIssue<'f> = (&'static str, &'static str, &'f str);

/// The members of an issue.
pub(super) const MEMBERS: &[FieldDef] = &[
    FieldDef::new("code", FieldKind::Text, "What it is, stable.").required(),
    FieldDef::new("field", FieldKind::Text, "The property that it is about.").required(),
    FieldDef::new("message", FieldKind::Text, "What is wrong.").required(),
];

/// The issue in a response.
pub(super) fn issue_json((code, field, message): LicenseIssue<'_>) -> Json {
    let mut issue = Document::default();
    for (member, text) in MEMBERS.iter().zip([code, field, message]) {
        issue.set(member.name, Json::string(text));
    }
    Json::object(&issue)
}

/// Issues in a response: null where there are none.
pub(super) fn listed(issues: &[Json]) -> Json {
    if issues.is_empty() { Json::null() } else { Json::array(issues) }
}

/// Issues that depend only on the license.
pub(super) fn fill_issues(license: &Document, ctx: FillCtx) -> Option<Json> {
    let missing = missing(license, ctx.zone);
    let differing = differing(license, ctx.zone);
    let found = missing.into_iter().chain(differing).filter(|(wrong, _)| *wrong);
    let mut issues: Vec<Json> = found.map(|(_, issue)| issue_json(issue)).collect();
    issues.extend(
        too_large(license, ctx.zone)
            .into_iter()
            .map(|field| issue_json((AMOUNT_TOO_LARGE, field, &is_too_large(field)))),
    );
    Some(listed(&issues))
}

pub(super) fn is_too_large(field: &str) -> String {
    format!("`{field}` is too large to be derived")
}

pub(super) const AMOUNT_TOO_LARGE: &str = "amount_too_large";

fn missing(license: &Document, zone: Zone) -> [(bool, LicenseIssue<'static>); 7] {
    let has = |name: &str| license.value(name).is_some();
    let ambiguous = ISSUES.get(license).is_some_and(|issues| {
        issues.iter().any(|issue| issue.as_ref().text().contains(PRODUCT_AMBIGUOUS))
    });
    let message = "several products have this name; the oldest one is used";
    let ambiguous = (ambiguous, (PRODUCT_AMBIGUOUS, PRODUCT_NAME.name, message));
    let message = "`fromDate` is needed for the license to count";
    let from = (!has(FROM_DATE.name), ("from_date_missing", FROM_DATE.name, message));
    let message = "`_currency` is needed for amounts to be added to others";
    let has_currency = CURRENCY.get(license).is_some_and(|currency| !currency.is_empty());
    let currency = (!has_currency, (CURRENCY_MISSING, CURRENCY.name, message));
    let has_term = [TO_DATE.name, LENGTH.name].iter().any(|name| has(name));
    let message = "a fixed license needs `toDate` or `length`: without an end it cannot be renewed";
    let endless = is_fixed(license) && !has_term;
    let endless = (endless, ("to_date_missing", TO_DATE.name, message));
    let priceless = price_of(license, zone).is_none();
    let message = "`mrr` or `value` is needed";
    let price = (priceless && !has(VALUE.name), ("price_missing", VALUE.name, message));
    let length = length_of(license, zone);
    let message = match is_fixed(license) {
        true => "`mrr` is not derived from `value` without `toDate` or `length`",
        false => "an open-ended license needs `mrr`",
    };
    let is_open = !is_fixed(license) || (has(VALUE.name) && !has_term);
    let open = (priceless && is_open, ("mrr_missing", MRR.name, message));
    let no_months = length.is_some_and(|length| length.is_zero());
    let message = "the period is too short to be counted in months, so `mrr` and `value` are not derived from each other";
    let short = is_fixed(license) && no_months && !is_lost(license);
    let short = (short, ("period_too_short", TO_DATE.name, message));
    [ambiguous, from, currency, endless, price, open, short]
}

fn differing(license: &Document, zone: Zone) -> [(bool, LicenseIssue<'static>); 3] {
    let message = "`value` is not `mrr` times `length`";
    let sent = || LENGTH.get(license).filter(|length| *length > Decimal::ZERO);
    let months = spread_of(license, zone).or_else(sent);
    let value = differs(VALUE.get(license), MRR.get(license), months);
    let value = (value, ("value_differs", VALUE.name, message));
    let message = "`length` is not the time from `fromDate` to `toDate` in months";
    let length = (length_differs(license, zone), ("length_differs", LENGTH.name, message));
    let arr = differs(ARR.get(license), MRR.get(license), Some(YEAR));
    [value, length, (arr, ("arr_differs", ARR.name, "`arr` is not 12 times `mrr`"))]
}

/// Whether an amount differs from `mrr` times its months by more than the rounding of a monthly price explains.
fn differs(amount: Option<Decimal>, mrr: Option<Decimal>, months: Option<Decimal>) -> bool {
    let (Some(amount), Some(mrr), Some(months)) = (amount, mrr, months) else {
        return false;
    };
    let price = mrr.checked_mul(months);
    price.is_some_and(|price| (amount - price).abs() > TOLERANCE_A_MONTH * months)
}

fn length_differs(license: &Document, zone: Zone) -> bool {
    let (Some(length), Some(period)) = (LENGTH.get(license), period_of(license, zone)) else {
        return false;
    };
    (period.months - length).abs() > LENGTH_TOLERANCE
        && end_by_length(license, zone) != TO_DATE.get(license)
}

/// Amounts that are missing though the values that they are derived from are known.
fn too_large(license: &Document, zone: Zone) -> Vec<&'static str> {
    let has = |name: &str| license.value(name).is_some();
    let price = price_of(license, zone);
    let value = is_fixed(license) && price.is_some() && length_of(license, zone).is_some();
    let mut fields = Vec::new();
    fields.extend((price.is_some() && !has(MRR.name)).then_some(MRR.name));
    fields.extend((price.is_some() && !has(ARR.name)).then_some(ARR.name));
    fields.extend((value && !has(VALUE.name)).then_some(VALUE.name));
    for (monthly, yearly) in [
        (RENEWAL_MRR.name, RENEWAL_ARR.name),
        (FC_NEW_MRR.name, FC_NEW_ARR.name),
        (FC_NEW_MRR_OPTIMISTIC.name, FC_NEW_ARR_OPTIMISTIC.name),
        (FC_NEW_MRR_PESSIMISTIC.name, FC_NEW_ARR_PESSIMISTIC.name),
    ] {
        fields.extend((has(monthly) && !has(yearly)).then_some(yearly));
    }
    fields
}

/// Stored issues of a record of `licenses`, and those that depend on other records.
pub(super) fn at_read(
    license: &Document,
    licenses: &ResourceDef,
    ctx: &ReadCtx<'_>,
) -> Result<Option<Json>, LookupError> {
    let mut issues = ISSUES.get(license).unwrap_or_default();
    if is_renewed(license)
        && let Some(company) = COMPANY_ID.get(license)
    {
        let zone = settings::time_zone_at_read(ctx)?;
        let others = ctx.referring(licenses, COMPANY_ID.name, company, MAX_LOOKED_AT)?;
        // In the response to an update, what is stored of the license itself is the version before.
        let is_other = |other: &&Document| other.text(ID.name) != license.text(ID.name);
        let successors = others.map(|others| {
            Successors::from_licenses(others.iter().filter(is_other).chain([license]))
        });
        if successors.is_some_and(|successors| !successors.has(license, zone)) {
            let message = "the license is `renewed`, but has no successor";
            issues.push(issue_json((SUCCESSOR_MISSING, RENEWAL_STATUS.name, message)));
        }
    }
    let settings = settings::at_read(ctx)?;
    let today = || Day::at(ctx.now, settings::time_zone(&settings));
    if let Some(currency) = CURRENCY.get(license).filter(|currency| !currency.is_empty())
        && let Some(currencies) = Currencies::from_settings(&settings)
        && currencies.rate(&currency, today()).is_none()
    {
        issues.push(issue_json((RATE_MISSING, CURRENCY.name, &no_rate(&currency))));
    }
    Ok(Some(listed(&issues)))
}

/// Code of a renewed license without a successor.
pub(super) const SUCCESSOR_MISSING: &str = "successor_missing";
/// Code of a license without a currency.
pub(super) const CURRENCY_MISSING: &str = "currency_missing";
/// Code of a currency without a rate, where rates are set.
pub(super) const RATE_MISSING: &str = "rate_missing";

/// Message for a currency that has no rate.
pub(super) fn no_rate(currency: &str) -> String {
    let currency = crate::value::quoted::quoted(currency);
    format!("{currency} has no exchange rate in the settings")
}

/// The licenses of a company that may follow others of it: a license of the same product that begins within
/// [`SUCCESSOR_DAYS`] of the end of another and later than it began, or a later one of the same line.
#[derive(Debug, Default)]
pub(super) struct Successors {
    begins: BTreeSet<(Option<String>, Timestamp)>,
    lines: LicenseLines<String>,
    /// Beginning of the last license of each line, by its first license.
    last_begins: BTreeMap<String, Timestamp>,
}

impl Successors {
    /// Successors among the licenses of a company.
    pub(super) fn from_licenses<'l>(licenses: impl Iterator<Item = &'l Document> + Clone) -> Self {
        let mut successors = Self { lines: lines_of(licenses.clone()), ..Self::default() };
        for license in licenses {
            if let Some(from) = FROM_DATE.get(license) {
                successors.begins.insert((product_of(license), from));
                if let Some(first) = first_of(&successors.lines, license) {
                    let last = successors.last_begins.entry(first).or_insert(from);
                    *last = from.max(*last);
                }
            }
        }
        successors
    }

    /// Whether one of the successors follows a license, which is among the licenses of the company.
    pub(super) fn has(&self, license: &Document, zone: Zone) -> bool {
        let last = first_of(&self.lines, license).and_then(|first| self.last_begins.get(&first));
        let is_passed = last.zip(FROM_DATE.get(license)).is_some_and(|(last, from)| from < *last);
        is_passed
            || begins_of_successors(license, zone).is_some_and(|begins| {
                let product = product_of(license);
                let (first, last) = begins.into_inner();
                self.begins.range((product.clone(), first)..=(product, last)).next().is_some()
            })
    }
}

/// Lines of the licenses of a company.
pub(super) fn lines_of<'l>(licenses: impl Iterator<Item = &'l Document>) -> LicenseLines<String> {
    let text = |license: &Document, name: &str| license.text(name).map(Cow::into_owned);
    LicenseLines::from_parents(
        licenses.filter_map(|license| Some((text(license, ID.name)?, text(license, PARENT.name)))),
    )
}

/// First license of the line of a license.
pub(super) fn first_of(lines: &LicenseLines<String>, license: &Document) -> Option<String> {
    license.text(ID.name).map(|id| lines.first_of(id.into_owned()))
}

/// Ultimate parent of a license: that of its property, else the license itself.
pub(super) fn root_of(license: &Document) -> Option<Cow<'_, str>> {
    license.text(PARENT.name).or_else(|| license.text(ID.name))
}

pub(super) fn product_of(license: &Document) -> Option<String> {
    PRODUCT_NAME.get(license).map(Cow::into_owned)
}

/// When a successor may begin.
pub(super) fn begins_of_successors(
    license: &Document,
    zone: Zone,
) -> Option<RangeInclusive<Timestamp>> {
    let end = end_of(license, zone)?.as_ms();
    let from = FROM_DATE.get(license)?.as_ms();
    let first = (end - SUCCESSOR_DAYS * DAY_MS).max(from + 1);
    let last = end + SUCCESSOR_DAYS * DAY_MS;
    let at = Timestamp::from_ms_clamped;
    (first <= last).then(|| at(first)..=at(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{self, Ctx, memory::Memory},
        resources::{
            company::{self, COMPANY},
            license::LICENSE,
        },
        schema::{CheckedBody, Lookup as _},
        value::{IdSequence, ObjectId},
    };

    #[test]
    fn a_successor_is_looked_for_among_a_limited_number_of_licenses() {
        let mut store = Memory::default();
        let mut ctx = Ctx::new(Timestamp::MIN, IdSequence::new([0; 5]), None);
        let mut create = |store: &mut Memory, def, text: &str| {
            let sent = Document::parse(text.as_bytes()).unwrap();
            let planned = plan::create(def, CheckedBody::trusted(sent), &*store, &mut ctx).unwrap();
            store.apply(&planned.changes);
            planned.id
        };
        let company = create(&mut store, &COMPANY, r#"{"name":"Acme"}"#);
        let text = |status| {
            format!(
                r#"{{"companyId":"{company}","_currency":"EUR","mrr":1,"fromDate":"2026-01-01","renewalStatus":"{status}"}}"#
            )
        };
        let renewed = create(&mut store, &LICENSE, &text("renewed"));
        let says_missing = |store: &Memory, def, id: ObjectId| {
            let record = store.record(def, id).unwrap().unwrap();
            let response =
                plan::to_response(def, &record, &ReadCtx::new(Timestamp::MIN, store)).unwrap();
            response.to_text().contains(SUCCESSOR_MISSING)
        };
        for _ in 1..MAX_LOOKED_AT {
            create(&mut store, &LICENSE, &text("ongoing"));
        }
        assert!(says_missing(&store, &LICENSE, renewed));
        create(&mut store, &LICENSE, &text("ongoing"));
        assert!(!says_missing(&store, &LICENSE, renewed));
        assert!(says_missing(&store, &COMPANY, company), "{}", company::ISSUES.name);
    }
}

//! Renew: creates the successor of a license and marks the license as renewed, in one command (R23).

use super::{
    context::Ctx,
    create::create,
    planned::{Planned, Rejection},
    record_update::take_stand_ins,
    update::update_stored,
};
use crate::{
    resources::{
        license::{COMPANY_ID, ID, LICENSE, RENEWAL_STATUS},
        license_renewal_date::is_due,
        license_successor::{likely_successor, obstacle, successor_of},
    },
    schema::{CheckedBody, Lookup, LookupError, index},
    value::{Document, Json, ObjectId, ValidationError, quoted::quoted},
};

/// Plans the renewal of a license. The successor begins when the license ends. It lasts `renewalPeriod`, or as long as
/// the license where that is unset, costs `renewalMrr`, and has the license's ultimate `parent`. The properties in
/// `body`, which [`crate::schema::checked_body::check_update`] has checked, replace these terms. [`Planned`] names the
/// successor. The license becomes `renewed`, so that nothing renews it again.
///
/// # Errors
/// [`Rejection::NotFound`] when the license does not exist, [`Rejection::Conflict`] when it is lost, or already has a
/// successor, which the message names, [`Rejection::Invalid`] when it has no fixed period, its terms do not suffice, or
/// the successor would not begin after it does.
///
/// ```
/// use svctrack_core::{
///     plan::{self, Ctx, memory::Memory},
///     resources::{company::COMPANY, license::LICENSE},
///     schema::CheckedBody,
///     value::{Document, IdSequence, Timestamp},
/// };
/// let trusted = |text: &str| CheckedBody::trusted(Document::parse(text.as_bytes()).unwrap());
/// let mut store = Memory::default();
/// let mut ctx = Ctx::new(Timestamp::parse("2026-11-24").unwrap(), IdSequence::new([0; 5]), None);
/// let company = plan::create(&COMPANY, trusted(r#"{"name":"Acme"}"#), &store, &mut ctx).unwrap();
/// store.apply(&company.changes);
/// let license = trusted(&format!(
///     r#"{{"companyId":"{}","_currency":"EUR","fromDate":"2026-01-01","toDate":"2026-12-31","fixedPeriod":true,"mrr":100}}"#,
///     company.id
/// ));
/// let license = plan::create(&LICENSE, license, &store, &mut ctx).unwrap();
/// store.apply(&license.changes);
///
/// let renewal = plan::renew(license.id, trusted(r#"{"mrr":120}"#), &store, &mut ctx).unwrap();
/// assert_eq!(renewal.document.text("fromDate").unwrap(), "2027-01-01T00:00:00.000Z");
/// assert_eq!(renewal.document.text("parent").unwrap(), license.id.to_string());
/// store.apply(&renewal.changes);
/// assert!(plan::renew(license.id, trusted("{}"), &store, &mut ctx).is_err());
/// ```
pub fn renew(
    id: ObjectId,
    body: CheckedBody,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Planned, Rejection> {
    let license = undecided(id, lookup, ctx)?;
    renew_stored(id, license, body, lookup, ctx)
}

/// Plans the renewal of a license with `autoRenews`, if it is due by [`Ctx::settled`]: ongoing, and its last day of
/// notice past. `None` if it is not due, or a license of its line already follows it.
///
/// # Errors
/// The errors of [`renew`], and [`Rejection::Conflict`] if another license may be its successor: a renewal could then
/// count twice what the customer pays once.
pub fn renew_due(
    id: ObjectId,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Option<Planned>, Rejection> {
    let license = lookup.record(&LICENSE, id)?.ok_or(Rejection::NotFound)?;
    let zone = ctx.fill(&LICENSE, lookup)?.zone;
    if !is_due(&license, ctx.settled, zone) {
        return Ok(None);
    }
    let licenses = licenses_of_company(&license, lookup)?;
    if obstacle(&license, &licenses, zone).is_some() {
        return Ok(None);
    }
    if let Some(other) = likely_successor(&license, &licenses, zone) {
        let other = quoted(&other.text(ID.name).unwrap_or_default());
        let message = format!(
            "the license {other} of the same product starts around its end, and may be its successor: set `parent` of {other}, or set `renewalStatus` of this license to `renewed`"
        );
        let issue = ValidationError::of_member(RENEWAL_STATUS.name, "successor_unclear", message);
        return Err(Rejection::Conflict(vec![issue]));
    }
    renew_stored(id, license, CheckedBody::trusted(Document::default()), lookup, ctx).map(Some)
}

/// Plans the renewal of a license that is not decided.
fn renew_stored(
    id: ObjectId,
    license: Document,
    mut body: CheckedBody,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Planned, Rejection> {
    let zone = ctx.fill(&LICENSE, lookup)?.zone;
    let mut set = license.clone();
    take_stand_ins(&mut set);
    match successor_of(&license, &set, &body.patch, zone) {
        Ok(successor) => body.patch = successor,
        Err(issues) => {
            body.add_issues(issues);
            return Err(Rejection::Invalid(body.issues));
        }
    }
    let mut planned = create(&LICENSE, body, lookup, ctx)?;
    let mut renewed = Document::default();
    renewed.set(RENEWAL_STATUS.name, Json::string("renewed"));
    planned.changes.extend(
        update_stored(&LICENSE, id, license, CheckedBody::trusted(renewed), lookup, ctx)?.changes,
    );
    Ok(planned)
}

/// A license that is neither renewed nor lost.
pub(super) fn undecided(
    id: ObjectId,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Document, Rejection> {
    let license = lookup.record(&LICENSE, id)?.ok_or(Rejection::NotFound)?;
    let zone = ctx.fill(&LICENSE, lookup)?.zone;
    match obstacle(&license, &licenses_of_company(&license, lookup)?, zone) {
        Some(obstacle) => Err(Rejection::Conflict(vec![obstacle])),
        None => Ok(license),
    }
}

/// All licenses of a license's company: a successor that is not among them would be created again.
fn licenses_of_company(
    license: &Document,
    lookup: &dyn Lookup,
) -> Result<Vec<Document>, LookupError> {
    let company = license.text(COMPANY_ID.name);
    let Some((row, company)) = LICENSE.field(COMPANY_ID.name).zip(company) else {
        return Ok(Vec::new());
    };
    let ids = lookup.holders(&LICENSE, row.name, &index::key_of(row, &company), usize::MAX)?;
    let mut licenses = Vec::with_capacity(ids.len());
    for id in ids {
        licenses.extend(lookup.record(&LICENSE, id)?);
    }
    Ok(licenses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{memory::Memory, update},
        resources::{company::COMPANY, settings},
        schema::checked_body,
        value::{IdSequence, Timestamp},
    };

    fn body(text: &str) -> Document {
        Document::parse(text.as_bytes()).unwrap()
    }

    fn trusted(text: &str) -> CheckedBody {
        CheckedBody::trusted(body(text))
    }

    struct Store(Memory, Ctx, ObjectId);

    impl Store {
        fn new() -> Self {
            let now = Timestamp::parse("2026-11-24").unwrap();
            let mut ctx = Ctx::new(now, IdSequence::new([0; 5]), None);
            let mut store = Memory::default();
            let company =
                create(&COMPANY, trusted(r#"{"name":"Acme"}"#), &store, &mut ctx).unwrap();
            store.apply(&company.changes);
            Self(store, ctx, company.id)
        }

        fn license(&mut self, terms: &str) -> ObjectId {
            let text = format!(r#"{{"companyId":"{}",{terms}}}"#, self.2);
            let made = create(&LICENSE, trusted(&text), &self.0, &mut self.1).unwrap();
            self.0.apply(&made.changes);
            made.id
        }

        fn year(&mut self, more: &str) -> ObjectId {
            self.license(&format!(
                r#""_currency":"EUR","fixedPeriod":true,"fromDate":"2026-01-01","toDate":"2026-12-31","mrr":100{more}"#
            ))
        }

        fn renew(&mut self, id: ObjectId, sent: &str) -> Result<Document, (usize, String)> {
            let sent = checked_body::check_update(&LICENSE, &body(sent));
            match renew(id, sent, &self.0, &mut self.1) {
                Ok(planned) => {
                    self.0.apply(&planned.changes);
                    Ok(planned.document)
                }
                Err(Rejection::Invalid(issues)) => Err((422, format!("{issues:?}"))),
                Err(Rejection::Conflict(issues)) => Err((409, format!("{issues:?}"))),
                Err(other) => panic!("{other:?}"),
            }
        }

        fn status(&self, id: ObjectId) -> String {
            let license = self.0.record(&LICENSE, id).unwrap().unwrap();
            license.text(RENEWAL_STATUS.name).unwrap().into_owned()
        }
    }

    /// Renews a year's license with more terms, and compares properties of the successor.
    #[track_caller]
    fn check(more: &str, sent: &str, expected: &[(&str, &str)]) {
        let mut store = Store::new();
        let id = store.year(more);
        let successor = store.renew(id, sent).unwrap();
        for (name, value) in expected {
            assert_eq!(successor.get(name).map(|value| value.text()), Some(*value), "{name}");
        }
        assert_eq!(successor.text("parent").unwrap(), id.to_string());
        assert_eq!((store.status(id), store.status(id_of(&successor))), status("renewed"));
    }

    fn status(before: &str) -> (String, String) {
        (before.to_owned(), "ongoing".to_owned())
    }

    fn id_of(license: &Document) -> ObjectId {
        ObjectId::parse(&license.text("_id").unwrap()).unwrap()
    }

    #[test]
    fn a_license_renews_for_as_long_and_as_much_as_before() {
        check(
            "",
            "{}",
            &[
                ("fromDate", r#""2027-01-01T00:00:00.000Z""#),
                ("toDate", r#""2028-01-01T00:00:00.000Z""#),
                ("mrr", "100"),
                ("value", "1200"),
                ("autoRenews", "false"),
            ],
        );
    }

    #[test]
    fn the_terms_of_the_renewal_are_those_that_the_license_names() {
        let more = r#","product":"Suite","renewalMrr":110,"renewalPeriod":3,"renewalUnit":"month",
            "autoRenews":true,"noticePeriod":2,"externalId":"x","custom":{"a":1}"#;
        check(
            more,
            "{}",
            &[
                ("toDate", r#""2027-04-01T00:00:00.000Z""#),
                ("mrr", "110"),
                ("value", "330"),
                ("product", r#""Suite""#),
                ("autoRenews", "true"),
                ("noticePeriod", "2"),
                ("renewalPeriod", "3"),
                ("custom", r#"{"a":1}"#),
            ],
        );
        check(
            r#","renewalPeriod":2,"renewalUnit":"week""#,
            "{}",
            &[("toDate", r#""2027-01-15T00:00:00.000Z""#)],
        );
    }

    #[test]
    fn what_is_sent_overrides_a_term() {
        check(
            r#","renewalMrr":110"#,
            r#"{"value":500,"length":5,"fromDate":"2027-02-01"}"#,
            &[
                ("fromDate", r#""2027-02-01T00:00:00.000Z""#),
                ("toDate", r#""2027-07-01T00:00:00.000Z""#),
                ("mrr", "100"),
            ],
        );
        let days = r#"{"renewalPeriod":10,"renewalUnit":"day","fromDate":"2027-02-01"}"#;
        check("", days, &[("toDate", r#""2027-02-11T00:00:00.000Z""#)]);
    }

    #[test]
    fn a_year_that_is_no_multiple_of_its_months_costs_as_much_again() {
        let mut store = Store::new();
        let id = store.license(
            r#""_currency":"EUR","fixedPeriod":true,"fromDate":"2026-01-01","length":12,"arr":4000"#,
        );
        let successor = store.renew(id, "{}").unwrap();
        assert_eq!(successor.get("value").unwrap().text(), "4000");
    }

    #[test]
    fn a_period_of_no_whole_months_lasts_as_many_days_again() {
        let mut store = Store::new();
        let id = store.license(
            r#""_currency":"EUR","fixedPeriod":true,"fromDate":"2026-02-01","toDate":"2026-02-15","mrr":1"#,
        );
        let successor = store.renew(id, "{}").unwrap();
        assert_eq!(successor.text("toDate").unwrap(), "2026-03-01T00:00:00.000Z");
    }

    #[test]
    fn a_license_lasts_as_many_whole_months_again_or_else_as_many_days() {
        for (from, to, ends) in [
            // 366 days.
            ("2027-03-01", "2028-02-29", "2029-03-01T00:00:00.000Z"),
            // 44 days, 1.4643 months.
            ("2026-01-01", "2026-02-14", "2026-03-30T00:00:00.000Z"),
            ("2026-01-01", "2026-01-01T00:01:00Z", "2026-01-02T00:01:00.000Z"),
        ] {
            let mut store = Store::new();
            let license = store.license(&format!(
                r#""_currency":"EUR","fixedPeriod":true,"fromDate":"{from}","toDate":"{to}","mrr":1"#
            ));
            let successor = store.renew(license, "{}").unwrap();
            assert_eq!(successor.text("toDate").unwrap(), ends, "{from} {to}");
        }
        let none = r#","renewalPeriod":0,"renewalUnit":"week""#;
        check(none, "{}", &[("toDate", r#""2028-01-01T00:00:00.000Z""#)]);
    }

    #[test]
    fn a_license_of_its_line_that_begins_as_early_is_no_successor() {
        let mut store = Store::new();
        let first = store.year("");
        store.year(&format!(r#","parent":"{first}""#));
        assert!(store.renew(first, "{}").is_ok());
    }

    #[test]
    fn a_license_is_renewed_once_among_however_many() {
        let mut store = Store::new();
        let first = store.year("");
        for _ in 0..1_100 {
            store.year("");
        }
        store.renew(first, "{}").unwrap();
        let change = trusted(r#"{"renewalStatus":"ongoing"}"#);
        let changed = update(&LICENSE, first, change, &store.0, &mut store.1).unwrap();
        store.0.apply(&changed.changes);
        let (status, message) = store.renew(first, "{}").unwrap_err();
        assert!(status == 409 && message.contains("already_renewed"), "{message}");
    }

    #[test]
    fn a_license_is_renewed_once_and_its_successor_in_turn() {
        let mut store = Store::new();
        let first = store.year("");
        let second = id_of(&store.renew(first, "{}").unwrap());
        let third = store.renew(second, "{}").unwrap();
        assert_eq!(third.text("parent").unwrap(), first.to_string());
        for (license, successor) in [(first, second), (second, id_of(&third))] {
            for before in ["renewed", "ongoing"] {
                let change = trusted(&format!(r#"{{"renewalStatus":"{before}"}}"#));
                let changed = update(&LICENSE, license, change, &store.0, &mut store.1).unwrap();
                store.0.apply(&changed.changes);
                let (status, message) = store.renew(license, "{}").unwrap_err();
                assert_eq!(status, 409, "{message}");
                assert!(message.contains(&successor.to_string()), "{message}");
            }
        }
    }

    #[test]
    fn another_license_of_the_company_is_in_the_way_of_no_renewal() {
        let mut store = Store::new();
        let (first, _) = (store.year(r#","product":"Suite""#), store.year(r#","product":"Suite""#));
        store.license(r#""_currency":"EUR","product":"Suite","fromDate":"2027-01-01","mrr":1"#);
        assert!(store.renew(first, "{}").is_ok());
        let alone = store.year(r#","product":"Other","renewalStatus":"renewed""#);
        assert!(store.renew(alone, "{}").unwrap_err().1.contains("has no successor"));
    }

    #[test]
    fn what_cannot_be_renewed_is_left_alone() {
        let mut store = Store::new();
        let lost = store.year(r#","renewalStatus":"lost""#);
        let open = store.license(r#""_currency":"EUR","fromDate":"2026-01-01","mrr":1"#);
        let priceless = store.license(
            r#""_currency":"EUR","fixedPeriod":true,"fromDate":"2026-01-01","toDate":"2026-12-31""#,
        );
        let sound = store.year("");
        let rejections = [
            (lost, "{}", 409, "license_lost"),
            (open, "{}", 422, "no_renewal"),
            (priceless, "{}", 422, "/mrr"),
            (sound, r#"{"companyId":"extid-other"}"#, 422, "/companyId"),
            (sound, r#"{"mrr":null}"#, 422, "required"),
            (sound, r#"{"toDate":"2026-06-01"}"#, 422, "/toDate"),
            (sound, r#"{"fromDate":"2020-01-01"}"#, 422, "/fromDate"),
            (sound, r#"{"fromDate":"2026-01-01"}"#, 422, "/fromDate"),
        ];
        for (license, sent, status, says) in rejections {
            let before = store.status(license);
            let (found, message) = store.renew(license, sent).unwrap_err();
            assert_eq!(found, status, "{message}");
            assert!(message.contains(says), "{message}");
            assert_eq!(store.status(license), before);
        }
        assert!(store.renew(priceless, r#"{"mrr":5}"#).is_ok());
        assert!(store.renew(sound, r#"{"fromDate":"2026-01-02"}"#).is_ok());
    }

    #[test]
    fn days_are_those_of_the_tenants_calendar() {
        let mut store = Store::new();
        let changes = crate::plan::settings(&store.0, &mut store.1).unwrap();
        store.0.apply(&changes);
        let zone = trusted(r#"{"timeZone":"Europe/Berlin"}"#);
        let id = settings::SETTINGS_ID;
        let set = update(&settings::SETTINGS, id, zone, &store.0, &mut store.1).unwrap();
        store.0.apply(&set.changes);
        let license = store.license(
            r#""_currency":"EUR","fixedPeriod":true,"fromDate":"2026-02-28T23:00:00Z","toDate":"2026-03-14T23:00:00Z","mrr":1"#,
        );
        let successor = store.renew(license, "{}").unwrap();
        assert_eq!(successor.text("toDate").unwrap(), "2026-03-28T23:00:00.000Z");
        let successor = store.renew(id_of(&successor), "{}").unwrap();
        assert_eq!(successor.text("toDate").unwrap(), "2026-04-11T22:00:00.000Z");
    }
}

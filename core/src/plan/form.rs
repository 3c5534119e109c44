//! Checks of a record's form that need no store. The browser applies them while a user fills in the form, with the
//! messages of the API, which decides when the form is sent.

use super::patch::merge;
use crate::{
    schema::{
        BodyOrigin, CheckedBody, CompletionContext, Fill, Lookup, LookupError, ResourceDef,
        SentBody,
        checked_body::{check_create, check_update},
        form::read,
    },
    value::{Document, IdSequence, ObjectId, Timestamp, ValidationError},
};

/// Checks the properties that a form sends, for a new record, or for a change of `record` as the API returns it. Rules
/// that need a store or the names of time zones are not checked.
///
/// ```
/// use svctrack_core::{plan::check_form, resources::time_entry::TIME_ENTRY};
/// let sent = [("date", "2026-01-31"), ("hours", "25")].map(|(name, text)| (name.to_owned(), text.to_owned()));
/// let issues = check_form(&TIME_ENTRY, &sent, None);
/// assert_eq!(issues[0].message, "`hours` must be from 0.1 to 24; found `25`");
/// ```
pub fn check_form(
    def: &ResourceDef,
    sent: &[(String, String)],
    record: Option<&Document>,
) -> Vec<ValidationError> {
    let body = read(def, sent, record.unwrap_or(&Document::default()));
    let shaped = match record {
        None => check_create(def, &body.document),
        Some(_) => check_update(def, &body.document),
    };
    let mut issues = check_whole(def, shaped.clone(), record);
    if let Some(record) = record.filter(|_| !issues.is_empty()) {
        let otherwise = check_whole(def, shaped, Some(&without_computed(def, record)));
        issues.retain(|issue| otherwise.contains(issue));
    }
    body.all_issues(issues)
}

/// The record without values that the service may have computed, and then computes again: a response does not
/// distinguish these from values that were sent.
fn without_computed(def: &ResourceDef, record: &Document) -> Document {
    let mut sent = record.clone();
    for field in def.fields.iter().filter(|field| matches!(field.fill, Fill::IfAbsent(_))) {
        sent.remove(field.name);
    }
    sent
}

/// Problems of the body and of the whole record, up to the first rule that asks a store.
fn check_whole(
    def: &ResourceDef,
    mut body: CheckedBody,
    before: Option<&Document>,
) -> Vec<ValidationError> {
    let now = Timestamp::MIN;
    let mut base = before.cloned().unwrap_or_default();
    let mut patch = std::mem::take(&mut body.patch);
    let origin = BodyOrigin::Request;
    (def.prepare)(&mut SentBody {
        before,
        base: &mut base,
        patch: &mut patch,
        returned: &Document::default(),
        retained: &mut Vec::new(),
        now,
        actor: None,
        origin,
    });
    let mut issues = Vec::new();
    merge(def, &patch, &mut base, &mut issues);
    body.add_issues(issues);
    let mut issues = body.issues.clone();
    let completion = &mut CompletionContext {
        before,
        sent: &patch,
        origin,
        lookup: &NoStore,
        now,
        ids: &mut IdSequence::new([0; 5]),
        side_records: &mut Vec::new(),
        issues: &mut issues,
    };
    // An error comes from a rule that asks the store: there, the server decides.
    let _ = (def.complete)(&mut base, completion);
    body.add_issues(issues.split_off(body.issues.len()));
    body.issues
}

/// A store that cannot read anything.
struct NoStore;

impl NoStore {
    fn says<T>() -> Result<T, LookupError> {
        Err(LookupError("there is no store".into()))
    }
}

impl Lookup for NoStore {
    fn record(&self, _: &ResourceDef, _: ObjectId) -> Result<Option<Document>, LookupError> {
        Self::says()
    }

    fn holders(
        &self,
        _: &ResourceDef,
        _: &str,
        _: &str,
        _: usize,
    ) -> Result<Vec<ObjectId>, LookupError> {
        Self::says()
    }

    fn is_suppressed(&self, _: &str, _: &str) -> Result<bool, LookupError> {
        Self::says()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::{license::LICENSE, timesheet::TIMESHEET, user::USER};

    fn check(def: &ResourceDef, record: Option<&str>, sent: &[(&str, &str)], expect: &[&str]) {
        let record = record.map(|record| Document::parse(record.as_bytes()).unwrap());
        let sent: Vec<_> =
            sent.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let issues = check_form(def, &sent, record.as_ref());
        let messages: Vec<_> = issues.iter().map(|issue| issue.message.as_str()).collect();
        assert_eq!(messages, expect);
    }

    #[test]
    fn what_is_required_may_be_absent_from_a_change_alone() {
        check(&LICENSE, None, &[("companyId", "")], &["`companyId` is required"]);
        check(&LICENSE, Some("{}"), &[("companyId", "")], &[]);
        let record = r#"{"companyId":"6712a0b4c3d2e1f009876543"}"#;
        check(&LICENSE, Some(record), &[("companyId", "")], &["`companyId` cannot be cleared"]);
    }

    #[test]
    fn a_rule_over_two_fields_is_checked() {
        let days = [("dateFrom", "20460"), ("dateTo", "20454")];
        let message = "`dateTo` must not be before `dateFrom`, 20460; found `20454`";
        check(&TIMESHEET, None, &days, &[message]);
        check(&TIMESHEET, Some(r#"{"dateTo":20454}"#), &days[..1], &[message]);
    }

    #[test]
    fn a_text_that_is_no_value_hides_no_other_problem() {
        let number = "`value` must be a number with a decimal point and without thousands \
            separators, such as 1234.5; found `many`";
        let sent = [("value", "many"), ("product", "Basic"), ("fromDate", "31.1.2026")];
        let date = "`fromDate` must be an ISO 8601 date from 1970 to 9999; found `31.1.2026`";
        check(&LICENSE, None, &sent, &[number, date, "`companyId` is required"]);
        let days = [("dateFrom", "20460"), ("dateTo", "20454"), ("timeEntries", "[")];
        let order = "`dateTo` must not be before `dateFrom`, 20460; found `20454`";
        let list = "`timeEntries` must be items separated by `|`, or a JSON array; found `[`";
        check(&TIMESHEET, None, &days, &[list, order]);
    }

    #[test]
    fn what_may_have_been_computed_is_not_rejected() {
        // The end may be derived from the length: then it moves with the beginning.
        let record = r#"{"fromDate":"2026-01-01T00:00:00.000Z","toDate":"2027-01-01T00:00:00.000Z","fixedPeriod":true,"length":12}"#;
        check(&LICENSE, Some(record), &[("fromDate", "2027-06-01")], &[]);
        // The name may have been sent, or be derived from the e-mail.
        check(&USER, Some(r#"{"name":"Ada"}"#), &[("position", "Founder")], &[]);
    }

    #[test]
    fn a_rule_that_asks_the_store_is_left_to_the_server() {
        let sent = [("companyId", "extid-nobody"), ("product", "Basic"), ("value", "1")];
        check(&LICENSE, None, &sent, &[]);
    }
}

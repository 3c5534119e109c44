//! The report of possible integration issues (rule 5, R42): problems of bulk calls, parked events, tickets and
//! renewals, and the query of the report. Problems of single events are in `event_notes`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{
    bulk::MAX_COUNT,
    event_notes::cut,
    list_fields::ENTRY,
    pipeline::{Ignored, IgnoredReason, SDK_CALLS},
};
use crate::{
    plan::{Finding, Route},
    resources::{
        end_user::SUPPRESSED,
        ticket::{self, TICKET},
    },
    schema::{
        LogPage, ResourceDef,
        list::parse_time,
        parameter_reader::{ParameterReader, ReadQuery},
    },
    value::{Document, Json, ObjectId, Timestamp, ValidationError, email, quoted::quoted},
};

#[doc(inline)]
pub use super::list_fields::LIST;

/// Finding of a rejected row of a bulk call, or call of an array (R31).
#[must_use]
pub fn rejected(route: Route, index: usize, issue: &ValidationError, at: Timestamp) -> Finding {
    let mut sample = Document::default();
    sample.set("index", Json::integer(i64::try_from(index).unwrap_or(i64::MAX)));
    if !issue.pointer.is_empty() {
        sample.set("pointer", Json::string(&issue.pointer));
    }
    Finding {
        route,
        code: issue.code,
        cause: issue.pointer.clone(),
        message: format!("events were rejected: {}", without_words(&issue.message)),
        at,
        count: 1,
        sample,
        people: Vec::new(),
    }
}

/// Finding of rows with an invalid `count`, which counts as 1 (rule 7, R36).
#[must_use]
pub fn count_out_of_range(route: Route, rows: u64, at: Timestamp) -> Finding {
    Finding {
        route,
        code: "count_out_of_range",
        cause: String::new(),
        message: format!(
            "rows counted as 1, because their `count` is not a whole number from 0 to {MAX_COUNT}: send several rows for more"
        ),
        at,
        count: rows,
        sample: Document::default(),
        people: Vec::new(),
    }
}

/// Finding of a call that is ignored by rule 4: one cause for each type that SDKs have, and one for all others (R47).
#[must_use]
pub fn ignored(route: Route, ignored: &Ignored, at: Timestamp) -> Finding {
    let call = quoted(&ignored.call);
    let (code, message) = match (ignored.reason, ignored.call.as_str()) {
        (IgnoredReason::NoUser, _) => (
            "identity_missing",
            format!(
                "{call} calls with neither user id nor e-mail are ignored: call `identify` first, so that calls have a `userId`; an `anonymousId` does not identify a user"
            ),
        ),
        (IgnoredReason::Type, "page" | "screen") => (
            "ignored_type",
            format!("{call} calls are ignored: turn on `trackPages` to store them as activities"),
        ),
        (IgnoredReason::Type, "alias") => (
            "ignored_type",
            format!(
                "{call} calls are ignored, because users are never merged: send user id and e-mail in one `identify` call"
            ),
        ),
        (IgnoredReason::Type, _) => (
            "ignored_type",
            "calls of other types are ignored: expected `identify`, `track`, `group`, `page` or `screen`"
                .to_owned(),
        ),
    };
    let is_known = SDK_CALLS.contains(&ignored.call.as_str());
    let mut sample = Document::default();
    sample.set("type", Json::string(&ignored.call));
    Finding {
        route,
        code,
        cause: if is_known { ignored.call.clone() } else { String::new() },
        message,
        at,
        count: 1,
        sample,
        people: Vec::new(),
    }
}

/// Message without the value that was found: entries of many rows are folded, and the value may be personal.
fn without_words(message: &str) -> &str {
    message.split_once("; found").map_or(message, |(expected, _)| expected)
}

/// Finding of a ticket that a bulk call rejected, with its error: the response has only counts (R18).
#[must_use]
pub fn rejected_ticket(element: &Document, at: Timestamp) -> Finding {
    let text = |name| element.text(name).unwrap_or_default().into_owned();
    let mut sample = element.clone();
    sample.set("message", Json::string(without_words(&text("message"))));
    Finding {
        route: Route::Tickets,
        code: "ticket_refused",
        cause: format!("{} {}", text("code"), text("field")),
        message: format!("tickets were rejected: {}", without_words(&text("message"))),
        at,
        count: 1,
        sample,
        people: Vec::new(),
    }
}

/// Finding of a ticket that is stored without a company, since none was found (R26).
pub fn ticket_without_company(
    def: &ResourceDef,
    record: &Document,
    at: Timestamp,
) -> Option<Finding> {
    if *def != TICKET || record.value(ticket::COMPANY_ID.name).is_some() {
        return None;
    }
    let address = ticket::EMAIL.get(record).unwrap_or_default();
    let external_id = ticket::COMPANY_EXTERNAL_ID.get(record).map(Cow::into_owned);
    let domain = email::company_domain(&address);
    let mut sample = Document::default();
    for row in [ticket::SOURCE_ID.name, ticket::COMPANY_EXTERNAL_ID.name] {
        if let Some(value) = record.text(row) {
            sample.set(row, Json::string(&cut(&value)));
        }
    }
    Some(Finding {
        route: Route::Tickets,
        code: "ticket_without_company",
        cause: external_id.or(domain).unwrap_or_default(),
        message: "tickets are stored without a company: correct the sent company id, or add the domain of the e-mail to one company".to_owned(),
        at,
        count: 1,
        sample,
        people: Vec::new(),
    })
}

/// An event that waited too long.
#[must_use]
pub fn parked_dropped(route: Route, at: Timestamp) -> Finding {
    of_parked(
        route,
        "parked_dropped",
        "events that were parked for 30 days were dropped: fix the issues in the other entries",
        at,
    )
}

/// Finding of an event that cannot be parked, since the limit is reached.
#[must_use]
pub fn parked_rejected(route: Route, at: Timestamp) -> Finding {
    of_parked(
        route,
        "parked_refused",
        "events of unknown users or companies were rejected, because the limit of parked events is reached: fix the issues in the other entries, and send the events again",
        at,
    )
}

fn of_parked(route: Route, code: &'static str, message: &str, at: Timestamp) -> Finding {
    Finding {
        route,
        code,
        cause: String::new(),
        message: message.to_owned(),
        at,
        count: 1,
        sample: Document::default(),
        people: Vec::new(),
    }
}

/// The code of a license that could not be renewed automatically.
pub const AUTO_RENEWAL_FAILED: &str = "auto_renewal_failed";

/// A license that could not be renewed automatically, and why.
#[must_use]
pub fn not_renewed(license: ObjectId, issue: &ValidationError, at: Timestamp) -> Finding {
    let mut sample = Document::default();
    sample.set("licenseId", Json::string(&license.to_string()));
    sample.set("code", Json::string(issue.code));
    Finding {
        route: Route::Renewals,
        code: AUTO_RENEWAL_FAILED,
        cause: license.to_string(),
        message: format!(
            "the license {} was not renewed: {}",
            quoted(&license.to_string()),
            issue.message
        ),
        at,
        count: 1,
        sample,
        people: Vec::new(),
    }
}

/// Finding of events of erased persons: nothing of them is stored, and the finding does not identify them.
#[must_use]
pub fn suppressed(route: Route, at: Timestamp) -> Finding {
    Finding {
        route,
        code: SUPPRESSED,
        cause: String::new(),
        message: "events of erased people are not stored: stop sending them, or lift the suppression with `POST /endusers/unsuppress`".to_owned(),
        at,
        count: 1,
        sample: Document::default(),
        people: Vec::new(),
    }
}

/// Finding of event ids that could not be stored, since there are too many (R39).
#[must_use]
pub fn messages_full(route: Route, at: Timestamp) -> Finding {
    Finding {
        route,
        code: "message_ids_full",
        cause: String::new(),
        message: "more `messageId`s arrived within a week than can be remembered: duplicates may be stored twice".to_owned(),
        at,
        count: 1,
        sample: Document::default(),
        people: Vec::new(),
    }
}

/// Stored form of an entry of the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportEntry {
    /// Id of the entry, as `/integrationissues` shows it.
    pub id: ObjectId,
    /// The route by which it was received.
    pub route: Route,
    /// Code of the entry, stable, in snake_case.
    pub code: String,
    /// Problem, and how to fix it.
    pub message: String,
    /// Time at which the problem was last seen.
    pub at: Timestamp,
    /// Number of times that the problem was found.
    pub count: u64,
    /// Part of the call that was sent: the text of a JSON object.
    pub sample: String,
    /// Hashes of the keys by which the sample names a person.
    pub people: Vec<u64>,
    /// Cause of the entry, which identifies it among those of its code.
    pub cause: String,
}

impl ReportEntry {
    /// The entry that `finding` begins.
    pub fn from_finding(finding: &Finding, id: ObjectId, people: Vec<u64>) -> Self {
        Self {
            id,
            route: finding.route,
            code: finding.code.to_owned(),
            message: finding.message.clone(),
            at: finding.at,
            count: finding.count,
            sample: finding.sample.to_text(),
            people,
            cause: finding.cause.clone(),
        }
    }

    /// Folds a finding of the same cause into the entry, which shows the latest.
    pub fn fold(&mut self, finding: &Finding, people: Vec<u64>) {
        let count = self.count.saturating_add(finding.count);
        *self = Self {
            count,
            at: self.at.max(finding.at),
            ..Self::from_finding(finding, self.id, people)
        };
    }

    /// The entry as it is returned.
    pub fn to_response(&self) -> Document {
        let mut response = Document::default();
        let sample = Json::parse(self.sample.as_bytes()).unwrap_or_else(|_| Json::null());
        response.set("_id", Json::string(&self.id.to_string()));
        response.set("route", Json::string(self.route.name()));
        response.set("code", Json::string(&self.code));
        response.set("message", Json::string(&self.message));
        response.set("at", Json::string(&self.at.to_string()));
        response.set("count", Json::integer(i64::try_from(self.count).unwrap_or(i64::MAX)));
        response.set("sample", sample);
        response
    }
}

/// Query of the report of integration issues; newest entries first.
#[derive(Clone, Debug)]
pub struct IntegrationIssueQuery {
    /// Only entries that were last seen at this time or later.
    pub from: Option<Timestamp>,
    /// Page of the entries, and their properties.
    pub page: LogPage,
}

impl IntegrationIssueQuery {
    /// Reads the query of a request.
    ///
    /// # Errors
    /// Every parameter that cannot be read.
    pub fn parse(pairs: &[(String, String)]) -> Result<ReadQuery<Self>, Vec<ValidationError>> {
        let mut query = Self { from: None, page: LogPage::first(&ENTRY) };
        let mut reader = ParameterReader::default();
        for (name, value) in pairs {
            query.read(name, value, &mut reader);
        }
        reader.finish(query)
    }

    fn read(&mut self, name: &str, value: &str, reader: &mut ParameterReader) {
        match name {
            "from" => reader.set(name, &mut self.from, parse_time(name, value).map(Some)),
            _ => self.page.read(&["from"], name, value, reader),
        }
    }

    /// Whether an entry with a number of parked events matches the query.
    pub fn matches(&self, entry: &ReportEntry, parked: u64) -> bool {
        let response = || entry.to_response_with(parked);
        self.from.is_none_or(|from| entry.at >= from) && self.page.matches(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(name: &str, value: &str) -> IntegrationIssueQuery {
        let read = IntegrationIssueQuery::parse(&[(name.to_owned(), value.to_owned())]).unwrap();
        assert!(read.unknown.is_empty(), "{name}={value}");
        read.query
    }

    #[test]
    fn a_page_of_the_report_begins_after_an_entry_and_has_some_properties() {
        let id = ObjectId::first_at(Timestamp::MAX);
        assert_eq!(query("after", &id.to_string()).page.after, Some(id));
        assert_eq!(query("select", "code").page.select, Some(vec!["code".to_owned()]));
        assert_eq!(query("limit", "7").page.limit, 7);
    }

    fn finding(at: Timestamp, count: u64) -> Finding {
        Finding { at, count, ..suppressed(Route::Bulk, at) }
    }

    #[test]
    fn an_entry_adds_up_what_it_folds_and_shows_the_latest_time() {
        let at = Timestamp::from_ms_clamped;
        let mut entry = ReportEntry::from_finding(&finding(at(5), 2), ObjectId::MIN, Vec::new());
        entry.fold(&finding(at(9), 3), vec![1]);
        entry.fold(&finding(at(7), 1), vec![2]);
        assert_eq!((entry.count, entry.at, entry.people), (6, at(9), vec![2]));
    }

    #[test]
    fn an_entry_is_asked_for_from_the_time_at_which_it_was_last_seen() {
        let entry =
            ReportEntry::from_finding(&finding(Timestamp::MIN, 1), ObjectId::MIN, Vec::new());
        let check = |name: &str, value: &str, expect: bool| {
            assert_eq!(query(name, value).matches(&entry, 0), expect, "{name}={value}");
        };
        check("limit", "1", true);
        check("from", "1970-01-01", true);
        check("from", "1970-01-01T00:00:00.001Z", false);
        check("route", "bulk", true);
        check("route", "tickets,realtime", false);
        check("code", "suppressed", true);
        check("count", "1", true);
        check("count", "2", false);
        check("count", "true", true);
    }

    #[test]
    fn a_rejection_repeats_nothing_that_was_sent() {
        let issue = ValidationError::of_member(
            "email",
            "wrong_type",
            "`email` must be a string; found `5`",
        );
        let finding = rejected(Route::Bulk, 3, &issue, Timestamp::MIN);
        assert_eq!(finding.message, "events were rejected: `email` must be a string");
        assert_eq!(finding.sample.to_text(), r#"{"index":3,"pointer":"/email"}"#);
    }
}

//! What the routes have in common when they read an event: the spellings of its members (R32), their
//! types, and the words in which a problem is reported under the route's own names.

use std::borrow::Cow;

use super::{Event, Fault, event::name, script::given};
use crate::value::{
    Document, Issue, JsonRef, Malformed, Timestamp, issue::quoted, number::is_zero,
};

/// Spellings of the time of an event (R32).
const DATE: &[&str] = &[name::DATE, "timestamp"];
/// Spellings of the parts of a name (R32).
const FIRST_NAME: &[&str] = &["firstName", "first_name"];
const LAST_NAME: &[&str] = &["lastName", "last_name"];

/// Why a body, or one of its items, is not an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is not a JSON object.
    Malformed(Malformed),
    /// It is one, but it breaks a rule.
    Invalid(Vec<Issue>),
}

impl Unreadable {
    /// The first problem.
    pub fn into_issue(self) -> Issue {
        match self {
            Self::Malformed(fault) => Issue::of_body(fault.code, fault.message),
            Self::Invalid(issues) => {
                let nothing = || Issue::of_body("invalid", "the event cannot be read");
                issues.into_iter().next().unwrap_or_else(nothing)
            }
        }
    }
}

/// What a route itself calls the members that problems are reported of; `/` leads into an object.
pub(super) struct Names {
    pub(super) external_id: &'static str,
    pub(super) email: &'static str,
    pub(super) company: &'static str,
}

impl Names {
    /// A fault in the route's own words.
    fn issue(&self, fault: Fault) -> Issue {
        let mut message = fault.message().to_owned();
        let own = [
            (name::EXTERNAL_ID, self.external_id),
            (name::EMAIL, self.email),
            (name::COMPANY, self.company),
        ];
        for (known, own) in own {
            message = message.replace(&format!("`{known}`"), &format!("`{own}`"));
        }
        let member = fault.member().map(|member| {
            own.iter().find(|(known, _)| *known == member).map_or(member, |(_, own)| own)
        });
        let pointer = member.map(|member| format!("/{member}")).unwrap_or_default();
        Issue { pointer, code: fault.code(), message }
    }
}

/// Reads the members of one object.
pub(super) struct Reader<'a> {
    document: &'a Document,
    /// Where the object lies in the body, as the beginning of a pointer.
    within: &'static str,
    issues: Vec<Issue>,
}

impl<'a> Reader<'a> {
    /// A reader of the body.
    pub(super) fn of(document: &'a Document) -> Self {
        Self::within("", document)
    }

    /// A reader of an object within the body.
    pub(super) fn within(within: &'static str, document: &'a Document) -> Self {
        Self { document, within, issues: Vec::new() }
    }

    /// The event, unless something is wrong with it.
    pub(super) fn finish(self, event: Event, names: &Names) -> Result<Event, Unreadable> {
        let mut issues = self.issues;
        issues.extend(event.faults().map(|fault| names.issue(fault)));
        if issues.is_empty() { Ok(event) } else { Err(Unreadable::Invalid(issues)) }
    }

    /// Whether nothing wrong has been found yet.
    pub(super) fn is_faultless(&self) -> bool {
        self.issues.is_empty()
    }

    /// Takes over what is wrong with an object within the body.
    pub(super) fn add_issues_of(&mut self, other: Self) {
        self.issues.extend(other.issues);
    }

    /// The first of the spellings that is there and not blank, as text.
    pub(super) fn text(&mut self, spellings: &[&'static str]) -> Option<String> {
        spellings.iter().find_map(|member| {
            let text =
                self.typed(member, "a string", |value| value.as_str().map(Cow::into_owned))?;
            given(text)
        })
    }

    /// The text of an object.
    pub(super) fn object(&mut self, member: &'static str) -> Option<String> {
        let object = |value: JsonRef<'_>| value.is_object().then(|| value.text().to_owned());
        self.typed(member, "an object", object)
    }

    /// An object as its members.
    pub(super) fn members(&mut self, member: &'static str) -> Option<Document> {
        self.typed(member, "an object", JsonRef::to_document)
    }

    /// Whether the event does not count as activity.
    pub(super) fn passive(&mut self) -> bool {
        self.typed(name::PASSIVE, "true or false", JsonRef::as_bool).unwrap_or(false)
    }

    /// Relative importance.
    pub(super) fn weight(&mut self) -> Option<f64> {
        self.typed(name::WEIGHT, "a number", |value| {
            let text = value.as_number_text()?;
            let weight: f64 = text.parse().ok()?;
            // One that is too small for a double must not count as nothing (R58).
            (weight != 0.0 || is_zero(text)).then_some(weight)
        })
    }

    /// When it happened.
    pub(super) fn date(&mut self) -> Option<Timestamp> {
        self.time(DATE)
    }

    /// The first of the spellings that is there and not blank, as a point in time.
    pub(super) fn time(&mut self, spellings: &[&'static str]) -> Option<Timestamp> {
        let text = self.text(spellings)?;
        let time = Timestamp::parse(&text);
        if time.is_none() {
            let member = spellings.first().copied().unwrap_or_default();
            self.refuse(member, "an ISO 8601 date", &text);
        }
        time
    }

    fn typed<T>(
        &mut self,
        member: &'static str,
        expected: &str,
        read: impl Fn(JsonRef<'a>) -> Option<T>,
    ) -> Option<T> {
        let value = self.document.value(member)?;
        let found = read(value);
        if found.is_none() {
            self.refuse(member, expected, value.text());
        }
        found
    }

    fn refuse(&mut self, member: &str, expected: &str, found: &str) {
        let message = format!("`{member}` must be {expected}; found {}", quoted(found));
        let pointer = format!("{}/{member}", self.within);
        self.issues.push(Issue { pointer, code: "wrong_type", message });
    }
}

/// The full name, else its parts joined (R32).
pub(super) fn joined_name(reader: &mut Reader<'_>) -> Option<String> {
    if let Some(name) = reader.text(&[name::NAME]) {
        return Some(name);
    }
    let parts = [reader.text(FIRST_NAME), reader.text(LAST_NAME)];
    let name = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then_some(name)
}

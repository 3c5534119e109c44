//! The common part of reading an event on any route: the spellings and types of its members (R32), messages with the
//! names of the route, and members that are not read.

use std::{borrow::Cow, fmt};

use super::{
    event::{Event, name},
    event_checks::EventFault,
    script::given,
};
use crate::value::{
    Document, JsonRef, Malformed, Timestamp, ValidationError,
    malformed::MAX_KEYS,
    number::is_zero,
    quoted::quoted,
    validation_error::{DATE_FORM, write_all},
};

/// Spellings of the time of an event (R32).
pub(super) const DATE: &[&str] = &[name::DATE, "timestamp"];
/// Spellings of the parts of a name (R32).
pub(super) const FIRST_NAME: &[&str] = &["firstName", "first_name"];
pub(super) const LAST_NAME: &[&str] = &["lastName", "last_name"];
/// Spellings of the extra data (R48).
pub(super) const INFO: &[&str] = &[name::INFO, "properties"];
/// Spellings of the action (R48).
pub(super) const ACTION: &[&str] = &[name::ACTION, "event"];
/// Members that describe an action: without one they are ignored.
pub(super) const OF_ACTION: &[&str] =
    &[name::INFO, "properties", name::WEIGHT, name::COUNT, name::ASSET, name::PROJECT];
/// Members among these that name the subject of the action.
pub(super) const ABOUT: &[&str] = &[name::ASSET, name::PROJECT];

/// Words of a bit per member.
const WORDS: usize = MAX_KEYS.div_ceil(u64::BITS as usize);

/// Range in which JavaScript prints a number without an exponent, as the script does with ids (R48).
const PLAIN_NUMBERS: std::ops::Range<f64> = 1e-6..1e21;

/// An event that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadEvent {
    /// The event, as far as it could be read.
    pub event: Event,
    /// Names of the members that are not part of an event, in the order in which they were sent (R48).
    pub unread: Vec<String>,
    /// Whether an invalid `count` was sent, which counts as 1 (R36).
    pub has_other_count: bool,
}

/// Reason for which a body, or one of its items, is not an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The body is not a JSON object.
    Malformed(Malformed),
    /// The body is a JSON object, but it breaks a rule.
    Invalid(Vec<ValidationError>),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(fault) => fault.fmt(f),
            Self::Invalid(issues) => write_all(issues, f),
        }
    }
}

impl std::error::Error for Unreadable {}

impl Unreadable {
    /// The first problem, which a single event is rejected with.
    pub fn into_issue(self) -> ValidationError {
        match self {
            Self::Malformed(fault) => ValidationError::of_body(fault.code, fault.message),
            Self::Invalid(issues) => {
                let nothing = || ValidationError::of_body("invalid", "the event cannot be read");
                issues.into_iter().next().unwrap_or_else(nothing)
            }
        }
    }
}

/// Where a member is: an object of the body, as the beginning of a pointer, and the name in it.
#[derive(Clone, Copy)]
pub(super) struct MemberPlace {
    within: &'static str,
    member: &'static str,
}

impl MemberPlace {
    pub(super) const fn new(within: &'static str, member: &'static str) -> Self {
        Self { within, member }
    }

    fn pointer(self) -> String {
        format!("{}/{}", self.within, self.member)
    }

    /// The path as messages have it, `traits.email`.
    fn path(self) -> String {
        self.pointer().trim_start_matches('/').replace('/', ".")
    }
}

/// Where the members of an identity are, for issues: at first as the route has them, and then as they were found.
#[derive(Clone, Copy)]
pub(super) struct IdentityPlaces {
    pub(super) external_id: MemberPlace,
    pub(super) email: MemberPlace,
    pub(super) company: MemberPlace,
}

impl IdentityPlaces {
    /// Issue of a fault, with the names of the sender.
    fn issue(&self, fault: EventFault) -> ValidationError {
        let mut message = fault.message().to_owned();
        let sent = [
            (name::EXTERNAL_ID, self.external_id),
            (name::EMAIL, self.email),
            (name::COMPANY, self.company),
        ];
        for (known, place) in sent {
            message = message.replace(&format!("`{known}`"), &format!("`{}`", place.path()));
        }
        let place = |member| {
            let sent = sent.iter().find(|(known, _)| *known == member);
            sent.map_or(MemberPlace::new("", member), |(_, place)| *place)
        };
        let pointer = fault.member().map(|member| place(member).pointer()).unwrap_or_default();
        ValidationError { pointer, code: fault.code(), message }
    }
}

/// Reads the members of one object.
pub(super) struct MemberReader<'a> {
    document: &'a Document,
    /// Path of the object in the body, as the beginning of a pointer.
    within: &'static str,
    issues: Vec<ValidationError>,
    /// Members that were read: a bit for each, by its place.
    read: [u64; WORDS],
}

impl<'a> MemberReader<'a> {
    /// A reader of the body.
    pub(super) fn new(document: &'a Document) -> Self {
        Self::within("", document)
    }

    /// A reader of an object within the body.
    pub(super) fn within(within: &'static str, document: &'a Document) -> Self {
        Self { document, within, issues: Vec::new(), read: [0; WORDS] }
    }

    /// The event, unless it has issues.
    pub(super) fn finish(
        self,
        event: Event,
        places: &IdentityPlaces,
        unread: Vec<String>,
    ) -> Result<ReadEvent, Unreadable> {
        let mut issues = self.issues;
        issues.extend(event.faults().map(|fault| places.issue(fault)));
        if issues.is_empty() {
            Ok(ReadEvent { event, unread, has_other_count: false })
        } else {
            Err(Unreadable::Invalid(issues))
        }
    }

    /// Error with the issues that were found, for a body without an event.
    pub(super) fn rejected(self) -> Unreadable {
        Unreadable::Invalid(self.issues)
    }

    /// Whether no issue has been found yet.
    pub(super) fn is_faultless(&self) -> bool {
        self.issues.is_empty()
    }

    /// Takes over the issues of an object within the body.
    pub(super) fn add_issues_of(&mut self, other: MemberReader<'_>) {
        self.issues.extend(other.issues);
    }

    /// Notes that a member is missing.
    pub(super) fn miss(&mut self, member: &str, code: &'static str, expected: &str) {
        let pointer = format!("{}/{member}", self.within);
        self.issues.push(ValidationError {
            pointer,
            code,
            message: format!("expected {expected}"),
        });
    }

    /// Names of the members of an event that are ignored: those that were not read, and without an activity those that
    /// describe one (R48). Another spelling of the same action, or a blank one, is not ignored. A `count` of 0 is not ignored where it is why there is none (R36).
    pub(super) fn unread_of(&mut self, event: &Event, expected: &[&[&str]]) -> Vec<String> {
        let has_action = event.action.is_some();
        for member in ACTION {
            let is_no_other =
                |text: &str| text.trim().is_empty() || event.action.as_deref() == Some(text);
            if has_action && self.document.text(member).is_some_and(|text| is_no_other(&text)) {
                self.take(member);
            }
        }
        if !has_action || event.count == Some(0) {
            let of_action =
                OF_ACTION.iter().filter(|member| !has_action || **member != name::COUNT);
            of_action.for_each(|member| self.leave(member));
        }
        self.unread(expected)
    }

    /// Name of a member of an object within the body, as reports have it: `traits.plan`.
    pub(super) fn path_of(&self, member: &str) -> String {
        format!("{}.{member}", self.within.trim_start_matches('/').replace('/', "."))
    }

    /// Counts the members as read that have no other id than this, under any of the spellings.
    pub(super) fn take_id(&mut self, spellings: &[&str], id: Option<&str>) {
        for member in spellings {
            let Some((place, value)) = self.document.placed(member) else { continue };
            if id_text(value).and_then(given).is_none_or(|found| Some(&*found) == id) {
                self.mark_read(place);
            }
        }
    }

    /// Counts a member as not read.
    pub(super) fn leave(&mut self, member: &str) {
        let Some((place, _)) = self.document.placed(member) else { return };
        if let Some(word) = self.read.get_mut(place / u64::BITS as usize) {
            *word &= !(1 << (place % u64::BITS as usize));
        }
    }

    /// Names of the members that were not read, except those in `expected` and nulls. Expected are other spellings of
    /// names of the route (R32), and members that senders add. The members are scanned only if some were not read.
    pub(super) fn unread(&self, expected: &[&[&str]]) -> Vec<String> {
        let read: u32 = self.read.iter().map(|word| word.count_ones()).sum();
        if read as usize == self.document.len() {
            return Vec::new();
        }
        let members = self.document.iter().enumerate();
        let unread = members.filter(|(place, (name, value))| {
            !(self.is_read(*place)
                || value.is_null()
                || expected.iter().any(|names| names.contains(name)))
        });
        unread.map(|(_, (name, _))| name.to_owned()).collect()
    }

    fn is_read(&self, place: usize) -> bool {
        let word = self.read.get(place / u64::BITS as usize).copied().unwrap_or_default();
        word >> (place % u64::BITS as usize) & 1 == 1
    }

    /// Text of the first spelling that is present and not blank.
    pub(super) fn text(&mut self, spellings: &[&'static str]) -> Option<String> {
        self.found_text(spellings).map(|(text, _)| text)
    }

    /// As [`Self::text`], and where it was found.
    pub(super) fn text_at(
        &mut self,
        spellings: &[&'static str],
        place: &mut MemberPlace,
    ) -> Option<String> {
        let (text, member) = self.found_text(spellings)?;
        *place = MemberPlace::new(self.within, member);
        Some(text)
    }

    fn found_text(&mut self, spellings: &[&'static str]) -> Option<(String, &'static str)> {
        self.first_given(spellings, "a string", |value| value.as_str().map(Cow::into_owned))
    }

    /// Reads an id, which may be a number (R48).
    pub(super) fn id(&mut self, spellings: &[&'static str]) -> Option<String> {
        self.found_id(spellings).map(|(id, _)| id)
    }

    /// As [`Self::id`], and where it was found.
    pub(super) fn id_at(
        &mut self,
        spellings: &[&'static str],
        place: &mut MemberPlace,
    ) -> Option<String> {
        let (id, member) = self.found_id(spellings)?;
        *place = MemberPlace::new(self.within, member);
        Some(id)
    }

    fn found_id(&mut self, spellings: &[&'static str]) -> Option<(String, &'static str)> {
        self.first_given(spellings, "a string or a number", id_text)
    }

    /// An object, if the member is one. It stays unread until it is taken, as senders use the name for other things too.
    pub(super) fn object_at(&self, member: &str) -> Option<Document> {
        self.document.placed(member)?.1.to_document()
    }

    /// Counts a member as read.
    pub(super) fn take(&mut self, member: &str) {
        if let Some((place, _)) = self.document.placed(member) {
            self.mark_read(place);
        }
    }

    fn first_given(
        &mut self,
        spellings: &[&'static str],
        expected: &str,
        read: impl Fn(JsonRef<'a>) -> Option<String>,
    ) -> Option<(String, &'static str)> {
        let mut value_of = |member| given(self.typed(member, expected, &read)?);
        spellings.iter().find_map(|member| Some((value_of(member)?, *member)))
    }

    /// Text of an object, under the first spelling that is present.
    pub(super) fn object(&mut self, spellings: &[&'static str]) -> Option<String> {
        let object = |value: JsonRef<'_>| value.is_object().then(|| value.text().to_owned());
        spellings.iter().find_map(|member| self.typed(member, "a JSON object", object))
    }

    /// An object as its members.
    pub(super) fn members(&mut self, member: &'static str) -> Option<Document> {
        self.typed(member, "an object", JsonRef::to_document)
    }

    /// Reads `count` with `read`.
    pub(super) fn count(&mut self, read: impl Fn(JsonRef<'a>) -> u16) -> Option<u16> {
        self.typed(name::COUNT, "a number", |value| Some(read(value)))
    }

    /// Whether the event does not count as activity.
    pub(super) fn passive(&mut self) -> bool {
        self.typed(name::PASSIVE, "true or false", JsonRef::as_bool).unwrap_or(false)
    }

    pub(super) fn weight(&mut self) -> Option<f64> {
        self.typed(name::WEIGHT, "a number", |value| {
            let text = value.as_number_text()?;
            let weight: f64 = text.parse().ok()?;
            // A weight that is too small for a double must not count as 0 (R58).
            (weight != 0.0 || is_zero(text)).then_some(weight)
        })
    }

    pub(super) fn date(&mut self) -> Option<Timestamp> {
        self.time(DATE)
    }

    /// Point in time of the first spelling that is present and not blank.
    pub(super) fn time(&mut self, spellings: &[&'static str]) -> Option<Timestamp> {
        let (text, member) = self.found_text(spellings)?;
        let time = Timestamp::parse(&text);
        if time.is_none() {
            self.reject(member, DATE_FORM, &text);
        }
        time
    }

    fn typed<T>(
        &mut self,
        member: &'static str,
        expected: &str,
        read: impl Fn(JsonRef<'a>) -> Option<T>,
    ) -> Option<T> {
        let (place, value) = self.document.placed(member)?;
        self.mark_read(place);
        let found = read(value);
        if found.is_none() {
            self.reject(member, expected, value.text());
        }
        found
    }

    fn mark_read(&mut self, place: usize) {
        if let Some(word) = self.read.get_mut(place / u64::BITS as usize) {
            *word |= 1 << (place % u64::BITS as usize);
        }
    }

    fn reject(&mut self, member: &str, expected: &str, found: &str) {
        let message = format!("`{member}` must be {expected}; found {}", quoted(found));
        let pointer = format!("{}/{member}", self.within);
        self.issues.push(ValidationError { pointer, code: "wrong_type", message });
    }
}

/// An id that is given as a string or a number.
fn id_text(value: JsonRef<'_>) -> Option<String> {
    match value.as_str() {
        Some(text) => Some(text.into_owned()),
        None => id_of_number(value.as_number_text()?),
    }
}

/// Id under a name of an object, if it is one.
pub(super) fn plain_id(object: &Document, name: &str) -> Option<String> {
    given(id_text(object.get(name)?)?)
}

/// Full name, else the joined parts (R32).
pub(super) fn joined_name(reader: &mut MemberReader<'_>) -> Option<String> {
    if let Some(name) = reader.text(&[name::NAME]) {
        return Some(name);
    }
    let parts = [reader.text(FIRST_NAME), reader.text(LAST_NAME)];
    let name = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then_some(name)
}

/// A number as an id (R48): an integer digit by digit, another number as the script in the browser prints it, without
/// an exponent. None for one that the script would print with an exponent.
fn id_of_number(text: &str) -> Option<String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) && text != "-0" {
        return Some(text.to_owned());
    }
    let number: f64 = text.parse().ok()?;
    if number == 0.0 {
        return Some("0".to_owned());
    }
    PLAIN_NUMBERS.contains(&number.abs()).then(|| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_an_id_as_the_script_prints_it() {
        for (sent, id) in [
            ("123", Some("123")),
            ("-7", Some("-7")),
            ("12345678901234567890123", Some("12345678901234567890123")),
            ("123.0", Some("123")),
            ("1.50", Some("1.5")),
            ("1e3", Some("1000")),
            ("-0", Some("0")),
            ("-0.0", Some("0")),
            ("0.000001", Some("0.000001")),
            ("1e21", None),
            ("1e-7", None),
            ("1e999", None),
        ] {
            assert_eq!(id_of_number(sent).as_deref(), id, "{sent}");
        }
    }

    #[test]
    fn the_error_of_a_body_names_each_problem() {
        let text = |sent: &[u8]| {
            crate::tracking::realtime::read(sent, Timestamp::MIN).unwrap_err().to_string()
        };
        assert!(text(b"[1").contains("JSON"), "{}", text(b"[1"));
        let both = text(br#"{"email":7,"weight":"x","externalId":"7"}"#);
        assert!(both.contains("`email`") && both.contains("`weight`"), "{both}");
    }

    #[test]
    fn what_nobody_has_read_is_named() {
        let sent = br#"{"name":"x","pages":3,"action":"y","none":null,"userId":"7","info":{},"context":{}}"#;
        let document = Document::parse(sent).unwrap();
        let mut reader = MemberReader::new(&document);
        reader.text(&[name::NAME]);
        reader.text(&[name::NAME]);
        let expected = [&["context"][..], &["userId"]];
        assert_eq!(reader.unread(&expected), ["pages", "action", "info"]);
        reader.object(INFO);
        reader.text(ACTION);
        assert_eq!(reader.unread(&expected), ["pages"]);
    }

    #[test]
    fn the_last_of_as_many_members_as_an_object_may_have_is_noted() {
        let members: Vec<String> = (1..MAX_KEYS).map(|number| format!("\"{number}\":1")).collect();
        let sent = format!("{{{},\"name\":\"x\"}}", members.join(","));
        let document = Document::parse(sent.as_bytes()).unwrap();
        let mut reader = MemberReader::new(&document);
        reader.text(&[name::NAME]);
        assert!(!reader.unread(&[]).contains(&"name".to_owned()));
        assert_eq!(reader.unread(&[]).len(), MAX_KEYS - 1);
    }
}

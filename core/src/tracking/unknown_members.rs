//! Unknown members of events (R48): their names, counted over the events of a call, for the report.

use super::{
    event::{MEMBERS, name},
    pipeline::{CONTEXT, DOMAIN},
    pipeline_identity::{COMPANY, COMPANY_TRAIT, TRAITS_EXTERNAL_ID, USER_TRAITS},
    reader::{ACTION, INFO, OF_ACTION},
};
use crate::{
    plan::{Finding, Route},
    value::{
        Document, Json, Timestamp, ValidationError, near_name,
        quoted::{MAX_QUOTED_CHARS, quoted},
    },
};

/// Code of these entries of the report.
pub const MEMBER_UNKNOWN: &str = "member_unknown";
/// What the name of a trait begins with, and the object that it is in; the innermost objects first.
const TRAITS: [(&str, &str); 4] = [
    ("context.traits.company.", OF_COMPANY_IN_CONTEXT),
    ("context.traits.", "/context/traits"),
    ("traits.company.", OF_COMPANY),
    ("traits.", "/traits"),
];
const OF_COMPANY_IN_CONTEXT: &str = "/context/traits/company";
const OF_COMPANY: &str = "/traits/company";
/// Maximum number of names that a call, and a tenant's report, reports separately: invented names cost no more entries
/// than this.
pub const MAX_NAMES: usize = 100;

/// Names of members that were not read, each with its number of events.
#[derive(Clone, Debug, Default)]
pub struct UnreadMembers {
    names: Vec<(String, u64)>,
    /// Occurrences of other names.
    others: u64,
}

impl UnreadMembers {
    /// Adds the members of an event.
    pub fn add(&mut self, names: Vec<String>) {
        for name in names {
            if let Some((_, count)) = self.names.iter_mut().find(|(known, _)| *known == name) {
                *count += 1;
            } else if self.names.len() < MAX_NAMES {
                self.names.push((name, 1));
            } else {
                self.others += 1;
            }
        }
    }

    /// Names in the order in which they came up.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|(name, _)| name.as_str())
    }

    /// Findings for the report; they have names only, never values.
    pub fn findings(&self, route: Route, at: Timestamp) -> impl Iterator<Item = Finding> {
        let named = self.names.iter().map(move |(name, count)| finding(route, name, *count, at));
        let others = (self.others > 0).then(|| many(route, self.others, at));
        named.chain(others)
    }
}

fn finding(route: Route, name: &str, count: u64, at: Timestamp) -> Finding {
    let name: String = name.chars().take(MAX_QUOTED_CHARS).collect();
    let near = near(route, &name);
    let message = format!("{} was ignored: {}{near}", quoted(&name), advice(route, &name));
    let mut sample = Document::default();
    sample.set("member", Json::string(&name));
    Finding {
        route,
        code: MEMBER_UNKNOWN,
        cause: name,
        message,
        at,
        count,
        sample,
        people: Vec::new(),
    }
}

/// Issues of an event that is rejected for such members, where the sender prefers that.
pub fn rejected(route: Route, names: &[String]) -> Vec<ValidationError> {
    let issue = |name: &String| {
        let near = near(route, name);
        let message = format!("{} would be ignored: {}{near}", quoted(name), advice(route, name));
        let (within, member) = place_of(route, name);
        let issue = ValidationError::of_member(member, "unknown_property", message);
        ValidationError { pointer: [within, &issue.pointer].concat(), ..issue }
    };
    names.iter().map(issue).collect()
}

/// The object that a member is in, as the beginning of a pointer, and its name there.
fn place_of(route: Route, name: &str) -> (&'static str, &str) {
    if !matches!(route, Route::Pipeline) {
        return ("", name);
    }
    let place =
        |(prefix, within): &(&str, &'static str)| Some((*within, name.strip_prefix(prefix)?));
    TRAITS.iter().find_map(place).unwrap_or(("", name))
}

/// Advice to the sender of an unknown member, or one that another member goes before.
fn advice(route: Route, name: &str) -> &'static str {
    let is_bulk = matches!(route, Route::Bulk);
    match name {
        _ if matches!(route, Route::Pipeline) => advice_on_call(name),
        _ if ACTION.contains(&name) => "`action` is used instead: send one of them",
        name::COUNT if !is_bulk => "only rows of a bulk call have it: send the event in bulk",
        _ if !OF_ACTION.contains(&name) => {
            "it is not a member of an event: correct its name, or put it into `info`"
        }
        _ if !is_bulk && is_after_info(name) => "it needs an `action`, and no `info` next to it",
        _ if is_after_info(name) => {
            "it needs an `action`, a `count` other than 0, and no `info` next to it"
        }
        _ if is_bulk && name != name::COUNT => "it needs an `action`, and a `count` other than 0",
        _ => "it needs an `action`: send one",
    }
}

/// Whether a member is ignored next to `info`.
fn is_after_info(name: &str) -> bool {
    INFO.contains(&name) && name != name::INFO
}

/// Advice to the sender of an unknown member of a pipeline's call, or one that another member goes before.
fn advice_on_call(name: &str) -> &'static str {
    let is_of_user = |name: &str| USER_TRAITS.contains(&name) || COMPANY.contains(&name);
    let (within, member) = place_of(Route::Pipeline, name);
    match (!within.is_empty()).then_some(member) {
        // Only that of an envelope is ignored.
        None if name == CONTEXT => "the `context` of a batch must be an object: correct it",
        _ if INFO.contains(&name) => {
            "it belongs to a call with an event: send `track` with `event`, and only one of `properties` and `info`"
        }
        _ if OF_ACTION.contains(&name) && name != name::COUNT => {
            "it belongs to a call with an event: send `track` with `event`"
        }
        _ if ACTION.contains(&name) => "send one of `event` and `action`, in a `track` call",
        None if is_of_user(name) => {
            "send it once, in `traits`, or in `context.traits` of a `group` call"
        }
        None => "it is not a member of a call: put it into `properties`",
        Some(_) if [OF_COMPANY, OF_COMPANY_IN_CONTEXT].contains(&within) => {
            "only the `id` of `traits.company` is read: send the others in a `group` call, or to `/companies`"
        }
        Some(DOMAIN) => {
            "it must be the domain of a company, not of a public mail service, in `traits` of a `group` call"
        }
        Some(COMPANY_TRAIT) => {
            "only an `id` in it is read, and only if the call names no other company: send `traits.companyId`"
        }
        Some(name) if is_of_user(name) => {
            "the traits of a `group` call are the company's: send the user's in `context.traits`"
        }
        Some(name) if TRAITS_EXTERNAL_ID.contains(&name) => {
            "send the id of the user once, in `userId`, and that of the company in `groupId` of a `group` call"
        }
        Some(_) => {
            "traits set only e-mail, names, company and domain: send others to `/endusers` or `/companies`"
        }
    }
}

/// End of a message with the member of an event that may be meant. A pipeline's calls have other members.
fn near(route: Route, name: &str) -> String {
    if matches!(route, Route::Pipeline) {
        return String::new();
    }
    let is_count = |known: &&str| *known == name::COUNT && !matches!(route, Route::Bulk);
    let known = MEMBERS.iter().map(|member| member.name);
    near_name(name, known.filter(|known| *known != name && !is_count(known)))
}

/// Finding for members beyond the names that are reported one by one.
#[must_use]
pub fn many(route: Route, count: u64, at: Timestamp) -> Finding {
    Finding {
        route,
        code: MEMBER_UNKNOWN,
        cause: String::new(),
        message: format!(
            "members of more than {MAX_NAMES} names were ignored: put extra data into `info`, or `properties` of a pipeline's call"
        ),
        at,
        count,
        sample: Document::default(),
        people: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_counted_and_those_beyond_the_limit_together() {
        let mut unread = UnreadMembers::default();
        for number in 0..MAX_NAMES + 2 {
            unread.add(vec!["plan".to_owned(), format!("made up {number}")]);
        }
        let findings: Vec<_> = unread.findings(Route::Bulk, Timestamp::MIN).collect();
        assert_eq!((findings.len(), unread.names().count()), (MAX_NAMES + 1, MAX_NAMES));
        let count = MAX_NAMES as u64 + 2;
        assert_eq!((findings[0].cause.as_str(), findings[0].count), ("plan", count));
        let last = findings.last().unwrap();
        assert_eq!((last.cause.as_str(), last.count), ("", 3));
        assert_eq!(findings[0].sample.to_text(), r#"{"member":"plan"}"#);
    }

    #[test]
    fn other_members_are_not_reported_where_there_are_none() {
        let mut unread = UnreadMembers::default();
        unread.add(vec!["plan".to_owned()]);
        assert_eq!(unread.findings(Route::Bulk, Timestamp::MIN).count(), 1);
    }

    #[test]
    fn what_would_help_depends_on_where_it_stood() {
        let message = |route, name| finding(route, name, 1, Timestamp::MIN).message;
        assert!(message(Route::Realtime, "x").contains("`info`"));
        assert!(message(Route::Pipeline, "x").contains("`properties`"));
        assert!(message(Route::Pipeline, "traits.x").contains("send others to `/endusers`"));
        for company in ["traits.company.x", "traits.company.domain", "context.traits.company.id"] {
            assert!(message(Route::Pipeline, company).contains("`id` of `traits.company`"));
        }
        assert!(message(Route::Pipeline, "context.traits.id").contains("once, in `userId`"));
        assert!(message(Route::Pipeline, "traits.company").contains("only an `id` in it"));
        assert!(message(Route::Pipeline, "traits.domain").contains("domain of a company"));
        assert!(message(Route::Pipeline, "traits.email").contains("`context.traits`"));
        assert!(message(Route::Pipeline, "name").contains("send it once, in `traits`"));
        assert!(message(Route::Pipeline, "info").contains("one of `properties` and `info`"));
        assert!(message(Route::Pipeline, "action").contains("one of `event` and `action`"));
    }

    #[test]
    fn what_would_help_a_member_of_an_action_depends_on_the_route() {
        for (route, name, advice) in [
            (Route::Realtime, "count", "send the event in bulk"),
            (Route::Realtime, "weight", "it needs an `action`: send one"),
            (Route::Realtime, "properties", "it needs an `action`, and no `info` next to it"),
            (Route::Bulk, "count", "it needs an `action`: send one"),
            (Route::Bulk, "weight", "it needs an `action`, and a `count` other than 0"),
            (Route::Bulk, "properties", "a `count` other than 0, and no `info` next to it"),
            (Route::Pipeline, "count", "it is not a member of a call: put it into `properties`"),
            (Route::Pipeline, "weight", "send `track` with `event`"),
            (Route::Pipeline, "properties", "only one of `properties` and `info`"),
        ] {
            let message = finding(route, name, 1, Timestamp::MIN).message;
            assert!(message.ends_with(advice), "{message}");
        }
    }

    #[test]
    fn a_member_that_is_rejected_is_pointed_at() {
        let names = [
            "plan",
            "traits.a/b",
            "traits.company.plan",
            "context.traits.x",
            "context.traits.company.plan",
        ];
        let names = names.map(str::to_owned);
        let pointers = |route| rejected(route, &names).into_iter().map(|issue| issue.pointer);
        let of_call: Vec<_> = pointers(Route::Pipeline).collect();
        assert_eq!(
            of_call,
            [
                "/plan",
                "/traits/a~1b",
                "/traits/company/plan",
                "/context/traits/x",
                "/context/traits/company/plan"
            ]
        );
        assert_eq!(pointers(Route::Realtime).nth(1).unwrap(), "/traits.a~1b");
    }

    #[test]
    fn a_near_name_is_one_that_is_read_on_this_route() {
        let names_count =
            |route| finding(route, "coun", 1, Timestamp::MIN).message.contains("`count`");
        assert!(names_count(Route::Bulk));
        assert!(!names_count(Route::Realtime) && !names_count(Route::Pipeline));
    }
}

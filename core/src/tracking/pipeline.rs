//! Route 3, the call of a third-party customer-data pipeline: from its JSON to an [`Event`] (rules 4 and
//! 5, R32, R33). Such a service corrects wrong clocks itself, so that dates stay as they come (R45).

use super::{
    Event, Identity, Unreadable,
    bulk::check_size,
    event::name,
    reader::{Names, Reader, joined_name},
};
use crate::value::{Document, json_rows::Row};

/// The route's own names come first and win (R32, R33).
const EXTERNAL_ID: &[&str] = &["userId", "user_id", name::EXTERNAL_ID, "euExtId"];
const TRAITS_EXTERNAL_ID: &[&str] = &["userId", "user_id", name::EXTERNAL_ID, "euExtId", "id"];
const COMPANY: &[&str] = &["companyId", "company_id", name::COMPANY, "cId"];
const NAMES: Names =
    Names { external_id: "userId", email: "traits/email", company: "traits/companyId" };

/// Whether `name` can be that of a pipeline service: in lower case, as it stands in an address.
pub fn is_pipeline_name(name: &str) -> bool {
    let part =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    !name.is_empty() && name.bytes().all(part)
}

/// Reads a call that came alone; none when it is ignored completely (rule 4).
///
/// # Errors
/// [`Unreadable`], with every problem found.
pub fn read(body: &[u8]) -> Result<Option<Event>, Unreadable> {
    check_size(body.len())?;
    read_call(&Document::parse(body).map_err(Unreadable::Malformed)?)
}

/// Reads one call of an array of them.
///
/// # Errors
/// As [`read`].
pub fn read_row(row: Row) -> Result<Option<Event>, Unreadable> {
    check_size(row.bytes)?;
    read_call(&row.members.map_err(Unreadable::Malformed)?)
}

fn read_call(call: &Document) -> Result<Option<Event>, Unreadable> {
    let kind = call.text("type").unwrap_or_default().to_lowercase();
    if kind != "identify" && kind != "track" {
        return Ok(None);
    }
    let mut reader = Reader::of(call);
    let traits = reader.members("traits").unwrap_or_default();
    let context = reader.members("context").unwrap_or_default();
    let mut of_context = Reader::within("/context", &context);
    let context_traits = of_context.members("traits").unwrap_or_default();
    let mut sources =
        [Reader::within("/traits", &traits), Reader::within("/context/traits", &context_traits)];
    let identity = Identity {
        external_id: reader
            .text(EXTERNAL_ID)
            .or_else(|| first(&mut sources, |traits| traits.text(TRAITS_EXTERNAL_ID))),
        email: first(&mut sources, |traits| traits.text(&[name::EMAIL])),
        name: first(&mut sources, joined_name),
        company: first(&mut sources, |traits| traits.text(COMPANY)),
        asset: reader
            .text(&[name::ASSET])
            .or_else(|| first(&mut sources, |traits| traits.text(&[name::ASSET]))),
        project: reader
            .text(&[name::PROJECT])
            .or_else(|| first(&mut sources, |traits| traits.text(&[name::PROJECT]))),
    };
    let tracks = kind == "track";
    let event = Event {
        identity,
        action: reader.text(&["event", name::ACTION]).filter(|_| tracks),
        info: reader.object("properties").or_else(|| reader.object(name::INFO)),
        passive: reader.passive(),
        weight: reader.weight(),
        count: None,
        date: reader.date(),
        message_id: reader.text(&[name::MESSAGE_ID]),
    };
    reader.add_issues_of(of_context);
    sources.into_iter().for_each(|traits| reader.add_issues_of(traits));
    if event.identity.names_nobody() && reader.is_faultless() {
        return Ok(None);
    }
    reader.finish(event, &NAMES).map(Some)
}

/// What the first of the objects says that says anything.
fn first<'a>(
    sources: &mut [Reader<'a>],
    read: impl Fn(&mut Reader<'a>) -> Option<String>,
) -> Option<String> {
    sources.iter_mut().find_map(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(call: &str) -> Event {
        read(call.as_bytes()).unwrap().unwrap()
    }

    #[test]
    fn a_track_call_is_read() {
        let found = event(
            r#"{"type":"track","userId":"7","event":"Opened report","properties":{"n":1.10},
                "traits":{"email":"ada@example.com","name":"Ada Lovelace","companyId":"c"},
                "timestamp":"2026-11-20","messageId":"m"}"#,
        );
        let who = &found.identity;
        assert_eq!((who.external_id.as_deref(), who.company.as_deref()), (Some("7"), Some("c")));
        assert_eq!(
            (who.email.as_deref(), who.name.as_deref()),
            (Some("ada@example.com"), Some("Ada Lovelace"))
        );
        assert_eq!(
            (found.action.as_deref(), found.info.as_deref()),
            (Some("Opened report"), Some(r#"{"n":1.10}"#))
        );
        assert_eq!(found.message_id.as_deref(), Some("m"));
    }

    #[test]
    fn traits_of_the_context_stand_in() {
        let found = event(
            r#"{"type":"TRACK","event":"x","traits":{"id":"7"},
                "context":{"traits":{"id":"8","email":"ada@example.com","company_id":"c","firstName":"Ada"}}}"#,
        );
        let who = &found.identity;
        assert_eq!((who.external_id.as_deref(), who.company.as_deref()), (Some("7"), Some("c")));
        assert_eq!(
            (who.email.as_deref(), who.name.as_deref()),
            (Some("ada@example.com"), Some("Ada"))
        );
    }

    #[test]
    fn an_identify_call_has_no_action() {
        let found = event(r#"{"type":"Identify","userId":"7","event":"x"}"#);
        assert_eq!((found.identity.external_id.as_deref(), found.action), (Some("7"), None));
    }

    #[test]
    fn what_says_nothing_is_ignored() {
        for call in [
            r#"{"type":"page","userId":"7"}"#,
            r#"{"userId":"7"}"#,
            r#"{"type":1,"userId":"7"}"#,
            r#"{"type":"track","event":"x"}"#,
            r#"{"type":"track","userId":" ","traits":{}}"#,
        ] {
            assert_eq!(read(call.as_bytes()), Ok(None), "{call}");
        }
    }

    #[test]
    fn a_problem_is_told_where_it_lies() {
        let check = |call: &str, pointer: &str| {
            let Err(Unreadable::Invalid(issues)) = read(call.as_bytes()) else { panic!("{call}") };
            assert_eq!(issues[0].pointer, pointer, "{call}");
        };
        check(r#"{"type":"track","traits":{"email":5}}"#, "/traits/email");
        check(r#"{"type":"track","userId":"7","traits":{"email":"ada"}}"#, "/traits/email");
        check(r#"{"type":"track","userId":"7","traits":[]}"#, "/traits");
        check(r#"{"type":"track","userId":"7","context":{"traits":1}}"#, "/context/traits");
    }

    #[test]
    fn a_pipeline_is_named_in_lower_case() {
        assert!(is_pipeline_name("segment") && is_pipeline_name("my-pipe_2"));
        assert!(!is_pipeline_name("Segment") && !is_pipeline_name("") && !is_pipeline_name("a b"));
    }
}

//! Tokens: their fields, and the bodies that issue and rotate them (R44, R57).

use super::{
    LIST, read_label,
    scopes::{allows, every_scope, is_scope},
};
use crate::{
    schema::{FieldDef, FieldKind, ResourceDef},
    value::{
        Document, RecordRef, Timestamp, ValidationError, near_name, quoted::quoted,
        validation_error::DATE_FORM,
    },
};

/// Maximum number of scopes of a token: more than any token needs, since `<resource>:*` includes four.
pub const MAX_SCOPES: usize = 100;

/// Fields of a token in lists.
pub static TOKEN: ResourceDef = ResourceDef {
    name: "token",
    path: "tokens",
    doc: "An API token.",
    fields: &[
        FieldDef::new("_id", FieldKind::Key, "Id of the token, the eight characters after `svt_`.")
            .service(),
        FieldDef::new("label", FieldKind::Text, "What it is for.").service(),
        FieldDef::new("scopes", FieldKind::Texts, "What it may do.").service(),
        FieldDef::new("userId", FieldKind::Reference, "The user that it acts as.")
            .refers("user")
            .service(),
        FieldDef::new("createdAt", FieldKind::Date, "When it was issued.").service(),
        FieldDef::new("createdBy", FieldKind::Key, "Id of the token that issued it.").service(),
        FieldDef::new("expiresAt", FieldKind::Date, "Expiry date.").service(),
        FieldDef::new("lastUsedAt", FieldKind::Date, "When it was last used, to the minute.")
            .service(),
        FieldDef::new(
            "replacedBy",
            FieldKind::Key,
            "Id of the token that was issued in its place.",
        )
        .service(),
    ],
    list: LIST,
    ..ResourceDef::PLAIN
};

/// The issuer of a token, which may have no more scopes, and expire no later (R44).
#[derive(Clone, Copy, Debug)]
pub struct Issuer<'a> {
    /// Scopes that the issuer may grant.
    pub scopes: &'a [String],
    /// Expiry date of the issuer; none if it does not expire.
    pub expires_at: Option<Timestamp>,
}

/// The body that creates a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// Label of the token, in its owner's words.
    pub label: String,
    /// Scopes of the token.
    pub scopes: Vec<String>,
    /// Expiry date of the token; that of its issuer when not given.
    pub expires_at: Option<Timestamp>,
    /// User that the token acts as, in any form of R2.
    pub user: Option<RecordRef>,
}

impl NewToken {
    /// Members that the body of a new token can have.
    pub const MEMBERS: &[&str] = &["label", "scopes", "expiresAt", "userId"];

    /// Reads `{label, scopes, expiresAt?, userId?}`, sent at `now` to be issued by `issuer`.
    ///
    /// # Errors
    /// Every problem found; a scope that the issuer does not hold is one (R44), an expiry that is past, or after that
    /// of the issuer, another.
    pub fn read(
        sent: &Document,
        issuer: Issuer<'_>,
        now: Timestamp,
    ) -> Result<Self, Vec<ValidationError>> {
        let mut issues = Vec::new();
        let new = Self {
            label: read_label(sent, "label", &mut issues),
            scopes: read_scopes(sent, issuer.scopes, &mut issues),
            expires_at: read_end(sent, issuer, now, &mut issues).or(issuer.expires_at),
            user: read_member(sent, "userId", RecordRef::FORMS, RecordRef::parse, &mut issues),
        };
        if issues.is_empty() { Ok(new) } else { Err(issues) }
    }
}

/// Body of a rotation: a token is replaced by a successor (R57).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// How long the old token stays valid, in seconds.
    pub keep_old_seconds: i64,
    /// Expiry date of the successor; without one the successor has the lifetime of the old token.
    pub expires_at: Option<Timestamp>,
    /// Latest expiry date of the successor: that of its issuer.
    pub ends_by: Option<Timestamp>,
}

impl Rotation {
    /// Members that the body of a rotation can have.
    pub const MEMBERS: &[&str] = &["keepOldForSeconds", "expiresAt"];
    /// How long the old token is valid by default: a day, in which a deployment starts to use the new one.
    pub const DEFAULT_KEEP_SECONDS: i64 = 24 * 60 * 60;
    /// Longest time that the old token can stay valid, in seconds: 30 days; who needs longer issues a second token.
    pub const MAX_KEEP_SECONDS: i64 = 30 * 24 * 60 * 60;

    /// Reads `{keepOldForSeconds?, expiresAt?}`, sent at `now` for a successor to be issued by `issuer`.
    ///
    /// # Errors
    /// Every problem found.
    pub fn read(
        sent: &Document,
        issuer: Issuer<'_>,
        now: Timestamp,
    ) -> Result<Self, Vec<ValidationError>> {
        const NAME: &str = "keepOldForSeconds";
        let mut issues = Vec::new();
        let expires_at = read_end(sent, issuer, now, &mut issues);
        let seconds = sent.value(NAME).map(|value| {
            let number = value
                .as_number()
                .filter(|number| number.is_whole() && number.is_within(0, Self::MAX_KEEP_SECONDS));
            number.and_then(|number| number.to_string().parse().ok()).unwrap_or_else(|| {
                let message = format!(
                    "`{NAME}` must be a whole number from 0 to {}; found {}",
                    Self::MAX_KEEP_SECONDS,
                    quoted(value.text())
                );
                issues.push(ValidationError::of_member(NAME, "invalid_value", message));
                0
            })
        });
        let keep_old_seconds = seconds.unwrap_or(Self::DEFAULT_KEEP_SECONDS);
        let ends_by = issuer.expires_at;
        let read = Self { keep_old_seconds, expires_at, ends_by };
        if issues.is_empty() { Ok(read) } else { Err(issues) }
    }
}

/// Reads `expiresAt`, which is in the future, and not after the expiry of the issuer.
fn read_end(
    sent: &Document,
    issuer: Issuer<'_>,
    now: Timestamp,
    issues: &mut Vec<ValidationError>,
) -> Option<Timestamp> {
    let end = read_member(sent, "expiresAt", DATE_FORM, Timestamp::parse, issues)?;
    if end <= now {
        let message = "`expiresAt` must be in the future";
        issues.push(ValidationError::of_member("expiresAt", "invalid_value", message));
    }
    if let Some(last) = issuer.expires_at.filter(|last| end > *last) {
        let message = format!(
            "a token must expire no later than its issuer, at {last}; found {}",
            quoted(&end.to_string())
        );
        issues.push(ValidationError::of_member("expiresAt", "expires_after_issuer", message));
    }
    Some(end)
}

fn read_scopes(sent: &Document, held: &[String], issues: &mut Vec<ValidationError>) -> Vec<String> {
    let items = sent.value("scopes").and_then(|scopes| scopes.items()).unwrap_or_default();
    let texts: Option<Vec<String>> =
        items.iter().map(|item| Some(item.as_ref().as_str()?.into_owned())).collect();
    let Some(mut scopes) = texts.filter(|scopes| (1..=MAX_SCOPES).contains(&scopes.len())) else {
        let message = format!("`scopes` must be an array of 1 to {MAX_SCOPES} scopes");
        issues.push(ValidationError::of_member("scopes", "required", message));
        return Vec::new();
    };
    for scope in &scopes {
        if !is_scope(scope) {
            let known = every_scope();
            let near = near_name(scope, known.iter().map(String::as_str));
            let message = format!("unknown scope {}{near}", quoted(scope));
            issues.push(ValidationError::of_member("scopes", "unknown_scope", message));
        } else if !allows(held, scope) {
            let message = format!("a token can grant only its own scopes; found {}", quoted(scope));
            issues.push(ValidationError::of_member("scopes", "scope_not_held", message));
        }
    }
    scopes.sort();
    scopes.dedup();
    scopes
}

fn read_member<T>(
    sent: &Document,
    name: &str,
    expected: &str,
    parse: fn(&str) -> Option<T>,
    issues: &mut Vec<ValidationError>,
) -> Option<T> {
    let value = sent.value(name)?;
    let read = value.as_str().and_then(|text| parse(&text));
    if read.is_none() {
        let message = format!("`{name}` must be {expected}; found {}", quoted(value.text()));
        issues.push(ValidationError::of_member(name, "invalid_value", message));
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn read(sent: &str, held: &[&str]) -> Result<NewToken, Vec<&'static str>> {
        read_until(sent, held, None)
    }

    /// Reads a token that a caller with this expiry date may issue.
    fn read_until(
        sent: &str,
        held: &[&str],
        end: Option<&str>,
    ) -> Result<NewToken, Vec<&'static str>> {
        let scopes: Vec<_> = held.iter().map(|scope| (*scope).to_owned()).collect();
        let sent = Document::parse(sent.as_bytes()).unwrap();
        let issuer = Issuer { scopes: &scopes, expires_at: end.map(date) };
        NewToken::read(&sent, issuer, date("2026-11-20"))
            .map_err(|issues| issues.iter().map(|issue| issue.code).collect())
    }

    #[test]
    fn a_token_grants_only_what_it_holds() {
        let sent = r#"{"label":"x","scopes":["products:read"]}"#;
        assert_eq!(read(sent, &["products:read"]).unwrap().scopes, ["products:read"]);
        assert_eq!(read(sent, &["*"]).unwrap().scopes, ["products:read"]);
        assert_eq!(read(sent, &["admin", "products:create"]), Err(vec!["scope_not_held"]));
        assert_eq!(
            read(r#"{"label":"x","scopes":["*"]}"#, &["admin"]),
            Err(vec!["scope_not_held"])
        );
        let operator = r#"{"label":"x","scopes":["operator"]}"#;
        assert_eq!(read(operator, &["*", "admin"]), Err(vec!["scope_not_held"]));
        assert!(read(operator, &["operator", "admin"]).is_ok());
    }

    #[test]
    fn a_wildcard_scope_grants_the_scopes_it_covers() {
        let body_with = |scope: &str| format!(r#"{{"label":"x","scopes":["{scope}"]}}"#);
        assert!(read(&body_with("companies:read"), &["*:read"]).is_ok());
        assert!(read(&body_with("activities:read"), &["*:read"]).is_ok());
        assert!(read(&body_with("products:update"), &["products:*"]).is_ok());
        assert!(read(&body_with("*:read"), &["*:read"]).is_ok());
        assert_eq!(read(&body_with("*"), &["*:read", "products:*"]), Err(vec!["scope_not_held"]));
        assert_eq!(read(&body_with("products:*"), &["*:read"]), Err(vec!["scope_not_held"]));
        assert_eq!(read(&body_with("*:read"), &["products:*"]), Err(vec!["scope_not_held"]));
        assert_eq!(read(&body_with("*:create"), &["*"]), Err(vec!["unknown_scope"]));
    }

    #[test]
    fn a_rotation_leaves_the_old_token_valid_for_a_limited_time() {
        let read = |sent: &str| {
            let sent = Document::parse(sent.as_bytes()).unwrap();
            let issuer = Issuer { scopes: &[], expires_at: None };
            let read = Rotation::read(&sent, issuer, date("2026-11-20"));
            read.map(|rotation| rotation.keep_old_seconds).map_err(|issues| issues.len())
        };
        assert_eq!(read("{}"), Ok(86_400));
        assert_eq!(read(r#"{"keepOldForSeconds":0}"#), Ok(0));
        assert_eq!(read(r#"{"keepOldForSeconds":2592000}"#), Ok(2_592_000));
        for wrong in ["2592001", "-1", "1.5", "\"24h\""] {
            assert_eq!(read(&format!(r#"{{"keepOldForSeconds":{wrong}}}"#)), Err(1), "{wrong}");
        }
        assert_eq!(read(r#"{"expiresAt":"2026-01-01","keepOldForSeconds":-1}"#), Err(2));
    }

    #[test]
    fn every_problem_is_found() {
        let sent = r#"{"label":" ","scopes":["fly"],"expiresAt":"soon","userId":"x"}"#;
        assert_eq!(
            read(sent, &["*"]),
            Err(vec!["required", "unknown_scope", "invalid_value", "invalid_value"])
        );
        assert_eq!(read("{}", &["*"]), Err(vec!["required", "required"]));
    }

    #[test]
    fn a_token_ends_in_the_future() {
        let ending = |at| {
            let sent = format!(r#"{{"label":"x","scopes":["*"],"expiresAt":"{at}"}}"#);
            read(&sent, &["*"]).map(|new| new.expires_at.is_some())
        };
        assert_eq!(ending("2026-11-20T00:00:00.001Z"), Ok(true));
        assert_eq!(ending("2026-11-20"), Err(vec!["invalid_value"]));
    }

    #[test]
    fn a_token_ends_no_later_than_its_issuer() {
        let ending = |end: &str| {
            let sent = format!(r#"{{"label":"x","scopes":["*"]{end}}}"#);
            read_until(&sent, &["*"], Some("2026-11-21")).map(|new| new.expires_at)
        };
        assert_eq!(ending(""), Ok(Some(date("2026-11-21"))));
        assert_eq!(ending(r#","expiresAt":null"#), Ok(Some(date("2026-11-21"))));
        assert_eq!(ending(r#","expiresAt":"2026-11-21""#), Ok(Some(date("2026-11-21"))));
        let earlier = date("2026-11-20T12:00:00Z");
        assert_eq!(ending(r#","expiresAt":"2026-11-20T12:00:00Z""#), Ok(Some(earlier)));
        for late in ["2026-11-21T00:00:00.001Z", "9999-12-31"] {
            let sent = format!(r#","expiresAt":"{late}""#);
            assert_eq!(ending(&sent), Err(vec!["expires_after_issuer"]), "{late}");
        }
    }
}

//! Tokens and sessions: list, issue, rotate, revoke.

use hypertext::prelude::*;
use serde::Deserialize;
use svctrack_core::{
    access::{ACTIONS, OPERATOR, READ_ALL, SESSION},
    resources::REGISTRY,
    schema::ResourceDef,
    value::Day,
};

use super::{
    address::address,
    format::{instant, instant_text, label_of},
    page,
    parts::{ColumnHead, Problem, badge, problems, scroll, table},
    setup::copied,
    shell::{Shell, csrf, hidden, layout, title_bar},
};
use crate::page::Page;

/// Choices of how long the old token stays valid after a rotation: seconds, and text.
const KEPT_FOR: &[(&str, &str)] = &[
    ("0", "0 minutes"),
    ("3600", "an hour"),
    ("86400", "a day"),
    ("604800", "a week"),
    ("2592000", "30 days"),
];
/// Time that is preselected of these.
const A_DAY: &str = "86400";

/// A token as the API lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenLine {
    #[serde(rename = "_id")]
    pub id: String,
    pub label: String,
    pub scopes: Vec<String>,
    pub user_id: Option<String>,
    pub created_at: String,
    pub created_by: Option<String>,
    pub expires_at: Option<String>,
    pub last_used_at: Option<String>,
    pub replaced_by: Option<String>,
    #[serde(skip)]
    pub has_expired: bool,
}

impl TokenLine {
    /// Whether the token is a session of the pages.
    pub fn is_session(&self) -> bool {
        matches!(self.scopes.as_slice(), [only] if only == SESSION)
    }
}

/// The page of tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokensView {
    pub lines: Vec<TokenLine>,
    /// Id of the current session, and of the token that it was opened with.
    pub own_session: String,
    pub own_token: String,
    pub problems: Vec<Problem>,
}

/// Names of what a token refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenNames {
    pub user: Option<String>,
    pub issuer: Option<String>,
    pub successor: Option<String>,
}

/// The page of a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenView {
    pub line: TokenLine,
    /// Names of the user that it acts as, and of the tokens before and after it, where they are known.
    pub names: TokenNames,
    /// Whether this session was opened with the token.
    pub is_own: bool,
    pub problems: Vec<Problem>,
}

/// The form that issues a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTokenView {
    pub label: String,
    pub expires: String,
    pub user: String,
    /// Chosen scopes, and all that can be chosen.
    pub scopes: Vec<String>,
    pub grantable: Vec<String>,
    /// Key of the form, by which it is carried out once.
    pub once: String,
    pub problems: Vec<Problem>,
}

/// A token that is shown once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CreatedToken {
    pub title: String,
    pub token: String,
    /// UUID of the tenant that was created with it.
    pub tenant: Option<String>,
    /// Address that the reader goes to afterwards.
    pub back: String,
}

pub fn tokens_page(shell: &Shell, view: &TokensView) -> Page {
    let actions = maud! { a.button.main href="/app/tokens/new" { "Create a token" } };
    let (sessions, tokens): (Vec<_>, Vec<_>) =
        view.lines.iter().partition(|line| line.is_session());
    let main = maud! {
        (title_bar("Tokens", &actions))
        p.muted { "Programs use tokens to call the API, and people to sign in." }
        (problems(&view.problems))
        (token_table(view, &tokens))
        section aria-labelledby="h-sessions" {
            h2 #h-sessions { "Sessions" }
            p.muted { "Browsers that are signed in. A session has the scopes of its token and ends with it." }
            (session_table(shell, view, &sessions))
        }
    };
    page(layout(shell, "Tokens", main))
}

fn token_table<'v>(view: &'v TokensView, tokens: &'v [&'v TokenLine]) -> impl Renderable + 'v {
    let rows = maud! {
        tbody.stacked {
            @for line in tokens {
                tr {
                    th scope="row" {
                        a href=(address("/app/tokens/{}", &[&line.id], &[])) { (line.label) }
                        " " code.muted { (line.id) }
                    }
                    td.why data-label="Scopes" { (line.scopes.join(", ")) }
                    td data-label="State" { span { (state(line)) @if line.id == view.own_token { " " (badge("yours")) } } }
                    td.num data-label="Issued" { (day_and_time(Some(&line.created_at))) }
                    td.num data-label="Last used" { (day_and_time(line.last_used_at.as_ref())) }
                    td.num data-label="Expires" { (day_and_time(line.expires_at.as_ref())) }
                }
            }
        }
    };
    table(
        "Tokens",
        [
            ColumnHead::Text("Label"),
            ColumnHead::Text("Scopes"),
            ColumnHead::Text("State"),
            ColumnHead::Number("Issued"),
            ColumnHead::Number("Last used"),
            ColumnHead::Number("Expires"),
        ],
        rows,
    )
}

fn session_table<'v>(
    shell: &'v Shell,
    view: &'v TokensView,
    sessions: &'v [&'v TokenLine],
) -> impl Renderable + 'v {
    let token_of = |line: &TokenLine| {
        let token = view.lines.iter().find(|token| Some(&token.id) == line.created_by.as_ref());
        token.map_or_else(
            || line.created_by.clone().unwrap_or_default(),
            |token| token.label.clone(),
        )
    };
    let rows: Vec<(&TokenLine, String)> =
        sessions.iter().map(|line| (*line, token_of(line))).collect();
    let rows = maud! {
        tbody.stacked {
            @for (line, token) in &rows {
                tr {
                    th scope="row" {
                        (line.label) " "
                        @if line.id == view.own_session { (badge("this one")) } @else { (state(line)) }
                    }
                    td data-label="Signed in with" { (token) }
                    td.num data-label="Since" { (day_and_time(Some(&line.created_at))) }
                    td.num data-label="Last used" { (day_and_time(line.last_used_at.as_ref())) }
                    td.num data-label="Ends" { (day_and_time(line.expires_at.as_ref())) }
                    td {
                        form method="post" action=(address("/app/tokens/{}/revoke", &[&line.id], &[])) {
                            (csrf(shell))
                            button type="submit" aria-label={ "Sign out of " (line.label) " since " (instant_text(&line.created_at)) } { "Sign out" }
                        }
                    }
                }
            }
        }
    };
    table(
        "Sessions",
        [
            ColumnHead::Text("Session"),
            ColumnHead::Text("Signed in with"),
            ColumnHead::Number("Since"),
            ColumnHead::Number("Last used"),
            ColumnHead::Number("Ends"),
            ColumnHead::Hidden("Actions"),
        ],
        rows,
    )
}

fn day_and_time(at: Option<&String>) -> impl Renderable {
    maud! {
        @if let Some(at) = at {
            (instant(at))
        } @else {
            span.muted { "never" }
        }
    }
}

fn state(line: &TokenLine) -> impl Renderable {
    let state = match (line.has_expired, &line.replaced_by) {
        (true, _) => "expired",
        (false, Some(_)) => "rotated",
        (false, None) => "active",
    };
    badge(state)
}

/// Page of a token, where it is rotated and revoked.
pub fn token_page(shell: &Shell, view: &TokenView) -> Page {
    let line = &view.line;
    let title = line.label.as_str();
    let rotate = address("/app/tokens/{}/rotate", &[&line.id], &[]);
    let revoke = address("/app/tokens/{}/revoke", &[&line.id], &[]);
    let can_rotate = line.replaced_by.is_none() && !line.is_session();
    let main = maud! {
        p.crumbs { a href="/app/tokens" { "Tokens" } }
        h1 { (title) " " (state(line)) }
        (problems(&view.problems))
        (properties(shell, line, &view.names))
        @if can_rotate {
            section aria-labelledby="h-rotate" {
                h2 #h-rotate { "Rotate" }
                p { "Issues a successor with the same scopes and lifetime, which begins now. The old token stays valid for a while, so that programs can switch." }
                form.choices method="post" action=(rotate) {
                    (csrf(shell))
                    div {
                        label for="f-keepOldForSeconds" { "The old token stays valid for" }
                        select #f-keepOldForSeconds name="keepOldForSeconds" {
                            @for (seconds, words) in KEPT_FOR {
                                option value=(*seconds) selected=[(*seconds == A_DAY).then_some("")] { (*words) }
                            }
                        }
                    }
                    button type="submit" { "Rotate" }
                }
            }
        }
        details.danger {
            summary { "Revoke this token" }
            form method="post" action=(revoke) {
                (csrf(shell))
                p {
                    "The token is rejected from the next request on. This cannot be undone."
                    @if view.is_own { " " strong { "You are signed in with it: you will be signed out." } }
                }
                p { label { input type="checkbox" name="cascade" value="true"; " Also revoke the tokens derived from it" } }
                button.bad type="submit" { "Revoke" }
            }
        }
    };
    page(layout(shell, title, main))
}

fn properties<'v>(
    shell: &'v Shell,
    line: &'v TokenLine,
    names: &'v TokenNames,
) -> impl Renderable + 'v {
    maud! {
        dl.properties {
            dt { "Id" }
            dd { code { (line.id) } }
            dt { "Scopes" }
            dd { (line.scopes.join(", ")) }
            @if let Some(user) = &line.user_id {
                dt { "Acts as" }
                dd { (shell.record_link("users", user, names.user.as_deref().unwrap_or(user))) }
            }
            dt { "Issued" }
            dd {
                (day_and_time(Some(&line.created_at)))
                @if let Some(issuer) = &line.created_by { " by " (token_link(issuer, names.issuer.as_deref())) }
            }
            dt { "Last used" }
            dd { (day_and_time(line.last_used_at.as_ref())) }
            dt { "Expires" }
            dd { (day_and_time(line.expires_at.as_ref())) }
            @if let Some(successor) = &line.replaced_by {
                dt { "Replaced by" }
                dd { (token_link(successor, names.successor.as_deref())) }
            }
        }
    }
}

/// Label of a token, which leads to it; its id where the tenant does not have it any more.
fn token_link<'v>(id: &'v str, label: Option<&'v str>) -> impl Renderable + 'v {
    let path = address("/app/tokens/{}", &[id], &[]);
    maud! {
        @match label {
            Some(label) => { a href=(path) { (label) } " " code.muted { (id) } }
            None => { code { (id) } }
        }
    }
}

/// The form that issues a token.
pub fn new_token_page(shell: &Shell, view: &NewTokenView) -> Page {
    let main = maud! {
        p.crumbs { a href="/app/tokens" { "Tokens" } }
        h1 { "Create a token" }
        p.muted { "It can have only scopes of your own token, and expires no later." }
        (problems(&view.problems))
        form method="post" action="/app/tokens/new" {
            (csrf(shell))
            (hidden("once", &view.once))
            div.record {
                (input_field("text", ("label", "Label *"), &view.label, "Purpose of the token, such as the name of a program.", &view.problems))
                (input_field(kind_of_day(&view.expires), ("expiresAt", "Expires"), &view.expires, "The first day on which the token is rejected, in UTC. Default: as late as possible.", &view.problems))
                (input_field("text", ("userId", "Acts as user"), &view.user, "An id, extid-… or srcid-…. Default: a new user.", &view.problems))
            }
            fieldset.scopes id="f-scopes" tabindex="-1" {
                legend { "Scopes *" }
                @for problem in view.problems.iter().filter(|problem| problem.field == "scopes") {
                    p.bad { (problem.message) }
                }
                (general_scopes(view))
                (scroll("Scopes by resource", resource_scopes(view)))
            }
            div.actions {
                button.main type="submit" { "Issue" }
                a.button href="/app/tokens" { "Cancel" }
            }
        }
    };
    page(layout(shell, "Create a token", main))
}

/// Kind of a field of a day: a malformed value stays as it was sent.
fn kind_of_day(value: &str) -> &'static str {
    if value.is_empty() || Day::parse(value).is_some() { "date" } else { "text" }
}

/// A field of one line, of a kind that HTML has, with its help and its problem.
pub(super) fn input_field<'v>(
    kind: &'v str,
    (name, label): (&'v str, &'v str),
    value: &'v str,
    help: &'v str,
    problems: &'v [Problem],
) -> impl Renderable + 'v {
    let problem = problems.iter().find(|problem| problem.field == name);
    let invalid = problem.map(|_| "true");
    let described =
        if problem.is_some() { format!("h-{name} p-{name}") } else { format!("h-{name}") };
    maud! {
        div.field {
            label for={ "f-" (name) } { (label) }
            input id={ "f-" (name) } type=(kind) name=(name) value=(value) autocomplete="off" spellcheck="false"
                aria-invalid=[invalid] aria-describedby=(described);
            p.help id={ "h-" (name) } { (help) }
            @if let Some(problem) = problem { p.bad id={ "p-" (name) } { (problem.message) } }
        }
    }
}

fn general_scopes(view: &NewTokenView) -> impl Renderable {
    maud! {
        ul.plain {
            @for scope in view.grantable.iter().filter(|scope| of_resource(scope).is_none()) {
                li {
                    label {
                        input type="checkbox" name="scopes" value=(scope)
                            checked=[view.scopes.contains(scope).then_some("")];
                        " " code { (scope) } " " span.muted { (about(scope)) }
                    }
                }
            }
        }
    }
}

/// The resource that a scope is about.
fn of_resource(scope: &str) -> Option<&'static ResourceDef> {
    let (path, _) = scope.split_once(':')?;
    REGISTRY.iter().copied().find(|def| def.path == path)
}

fn about(scope: &str) -> &'static str {
    match scope {
        "*" => "everything in the tenant",
        READ_ALL => "read everything",
        "activities:read" => "read activities, also as a stream",
        "reports:read" => "read reports and integration issues",
        "admin" => "tokens, settings, erasure, replay of integration issues",
        OPERATOR => "create and change tenants, take backups",
        _ => "",
    }
}

fn resource_scopes(view: &NewTokenView) -> impl Renderable {
    let resources: Vec<&'static ResourceDef> = REGISTRY
        .iter()
        .copied()
        .filter(|def| view.grantable.iter().any(|scope| of_resource(scope) == Some(*def)))
        .collect();
    let actions: Vec<&str> = ACTIONS.iter().copied().chain(["*"]).collect();
    maud! {
        @if !resources.is_empty() {
            table {
                caption.hidden-label { "Scopes by resource" }
                thead {
                    tr {
                        th scope="col" { "Resource" }
                        @for action in &actions { th scope="col" { (if *action == "*" { "All".to_owned() } else { label_of(action) }) } }
                    }
                }
                tbody {
                    @for def in &resources {
                        tr {
                            th scope="row" { (label_of(def.path)) }
                            @for action in &actions { td { (checkbox(view, def, action)) } }
                        }
                    }
                }
            }
        }
    }
}

fn checkbox<'v>(
    view: &'v NewTokenView,
    def: &'static ResourceDef,
    action: &str,
) -> impl Renderable + 'v {
    let scope = format!("{}:{action}", def.path);
    let is_chosen = view.scopes.contains(&scope).then_some("");
    let is_shown = view.grantable.contains(&scope);
    maud! {
        @if is_shown {
            label.tick { input type="checkbox" name="scopes" value=(scope) aria-label=(scope) checked=[is_chosen]; }
        }
    }
}

/// Page that shows a token, once.
pub fn created_token_page(shell: &Shell, view: &CreatedToken) -> Page {
    let title = view.title.as_str();
    let main = maud! {
        h1 { (title) }
        p.notice role="status" { "Copy the token now. It is shown only once, and is not stored." }
        dl.properties.narrow {
            @if let Some(tenant) = &view.tenant {
                dt { "Tenant UUID" }
                dd { (copied("tenant", tenant)) }
            }
            dt { "Token" }
            dd { (copied("token", &view.token)) }
        }
        p { a.button.main href=(view.back) { "Done" } }
        script type="module" src="/setup.js" {}
    };
    page(layout(shell, title, main))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_no_token_to_be_rotated() {
        let session = TokenLine { scopes: vec![SESSION.to_owned()], ..TokenLine::default() };
        let token = TokenLine { scopes: vec!["*".to_owned()], ..TokenLine::default() };
        let page = |line: TokenLine| {
            let view = TokenView { line, ..TokenView::default() };
            token_page(&Shell::default(), &view).html
        };
        assert!(!page(session).contains("/rotate"));
        assert!(page(token).contains("/rotate"));
    }

    #[test]
    fn only_what_can_be_granted_is_offered() {
        let grantable = vec!["companies:read".to_owned(), "admin".to_owned()];
        let view = NewTokenView { grantable, ..NewTokenView::default() };
        let html = new_token_page(&Shell::default(), &view).html;
        assert_eq!(html.matches("type=\"checkbox\"").count(), 2);
    }

    #[test]
    fn the_end_of_a_token_is_a_day_and_a_malformed_one_stays_as_it_was_sent() {
        for (expires, kind) in [("", "date"), ("2026-12-31", "date"), ("soon", "text")] {
            let view = NewTokenView { expires: expires.to_owned(), ..NewTokenView::default() };
            let html = new_token_page(&Shell::default(), &view).html;
            let input = format!("type=\"{kind}\" name=\"expiresAt\" value=\"{expires}\"");
            assert!(html.contains(&input), "{html}");
        }
    }
}

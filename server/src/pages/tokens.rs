//! Tokens and sessions: list, issue, rotate, revoke.

use poem::{Response, http::Method};
use serde::Deserialize;
use serde_json::{Map, Value};
use svctrack_core::{access::every_scope, resources::user::USER};
use svctrack_web::pages::{
    CreatedToken, NewTokenView, Problem, TokenLine, TokenNames, TokenView, TokensView, address,
    created_token_page, new_token_page, title_of, token_page, tokens_page,
};

use super::{
    by_ids::{TITLES, by_ids},
    respond::{html, rejected, see},
    submitted_form::{new_key, notice_of, problems_of, sent},
    visit::Visit,
};
use crate::{
    error::Error,
    routes::{query_pairs, respond::uncompressed},
    routing::path_tree::{RoutedRequest, path_part},
};

const TOKENS: &str = "/app/tokens";
/// Notices of actions, for the next page.
const NOTICES: &[(&str, &str)] =
    &[("revoked", "The token was revoked."), ("signed-out", "The session was ended.")];

/// A token as the API issues it.
#[derive(Deserialize)]
struct IssuedToken {
    label: String,
    token: String,
}

/// Every token of the tenant.
async fn lines(visit: &Visit) -> Result<Vec<TokenLine>, Error> {
    let mut lines: Vec<TokenLine> = visit.api.get("/tokens").await?;
    let now = visit.app.clock.now().to_string();
    for line in &mut lines {
        line.has_expired = line.expires_at.as_ref().is_some_and(|end| *end <= now);
    }
    lines.sort_by(|one, other| other.created_at.cmp(&one.created_at));
    Ok(lines)
}

/// The token in the path of a page.
async fn found(visit: &Visit, request: &RoutedRequest<'_>) -> Result<TokenView, Error> {
    let id = path_part(request, "id").unwrap_or_default();
    let lines = lines(visit).await?;
    let line = lines.iter().find(|line| line.id == id).cloned();
    let line = line.ok_or(Error::Store(svctrack_store::StoreError::NotFound))?;
    let users = by_ids(visit, USER.path, line.user_id.as_deref().into_iter(), TITLES).await?;
    let label = |id: &Option<String>| {
        let token = lines.iter().find(|line| id.as_ref() == Some(&line.id))?;
        Some(token.label.clone())
    };
    let names = TokenNames {
        user: users.values().next().map(|user| title_of(&USER, user)),
        issuer: label(&line.created_by),
        successor: label(&line.replaced_by),
    };
    let is_own = visit.session.caller.token() == Some(&line.id);
    Ok(TokenView { line, names, is_own, problems: Vec::new() })
}

/// `GET /app/tokens`
pub(super) async fn tokens(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let view = TokensView {
        lines: lines(&visit).await?,
        own_session: visit.session.id.clone(),
        own_token: visit.session.caller.token().unwrap_or_default().to_owned(),
        problems: Vec::new(),
    };
    let mut shell = visit.shell;
    shell.notice = notice_of(&query_pairs(&request), NOTICES);
    Ok(html(tokens_page(&shell, &view)))
}

/// `GET /app/tokens/:id`
pub(super) async fn token(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let view = found(&visit, &request).await?;
    Ok(html(token_page(&visit.shell, &view)))
}

/// Scopes that the signed-in user can grant.
fn grantable(visit: &Visit) -> Vec<String> {
    every_scope().into_iter().filter(|scope| visit.api.may(scope)).collect()
}

/// Problem of a form that was carried out before, as its page was loaded again.
const SENT_BEFORE: &str = "This form was already sent: its token was issued, and is not shown again. To issue another token, send the form again.";

/// `GET /app/tokens/new`
pub(super) async fn new(visit: Visit, _: RoutedRequest<'_>) -> Result<Response, Error> {
    visit.session.caller.require(&visit.app, "admin")?;
    let (once, grantable) = (new_key()?, grantable(&visit));
    let view = NewTokenView { once, grantable, ..NewTokenView::default() };
    Ok(html(new_token_page(&visit.shell, &view)))
}

/// `POST /app/tokens/new`: the response shows the token, since no other response does.
pub(super) async fn issue(visit: Visit, mut request: RoutedRequest<'_>) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(&mut request).await?;
    let value_of = |name: &str| sent(&pairs, name).trim().to_owned();
    let scopes: Vec<String> =
        pairs.iter().filter(|(name, _)| name == "scopes").map(|(_, scope)| scope.clone()).collect();
    let mut body = Map::new();
    body.insert("label".to_owned(), value_of("label").into());
    body.insert("scopes".to_owned(), scopes.clone().into());
    for name in ["expiresAt", "userId"] {
        if !value_of(name).is_empty() {
            body.insert(name.to_owned(), value_of(name).into());
        }
    }
    let (forms, once) = (&visit.app.form_keys, sent(&pairs, "once"));
    let mut problems = match forms.is_first(once) {
        true => {
            let issued = shown_once(&visit, "/tokens", &Value::Object(body), "issued").await;
            if !matches!(issued, Ok(Ok(_))) {
                forms.forget(once);
            }
            match issued? {
                Ok(response) => return Ok(response),
                Err(problems) => problems,
            }
        }
        false => vec![Problem { field: String::new(), message: SENT_BEFORE.to_owned() }],
    };
    for problem in &mut problems {
        match problem.field.as_str() {
            "label" if value_of("label").is_empty() => {
                problem.message = "Enter a label.".to_owned()
            }
            "scopes" if scopes.is_empty() => {
                problem.message = "Choose at least one scope.".to_owned();
            }
            _ => {}
        }
    }
    let view = NewTokenView {
        label: value_of("label"),
        expires: value_of("expiresAt"),
        user: value_of("userId"),
        scopes,
        grantable: grantable(&visit),
        once: new_key()?,
        problems,
    };
    Ok(rejected(new_token_page(&visit.shell, &view)))
}

/// Page of the token that a call issues, or the problems.
async fn shown_once(
    visit: &Visit,
    path: &str,
    body: &Value,
    how: &str,
) -> Result<Result<Response, Vec<Problem>>, Error> {
    let issued = visit.api.send(Method::POST, path, &[], body).await;
    match issued.map_err(Error::into_issues) {
        Ok(issued) => {
            let issued: IssuedToken = serde_json::from_value(issued)
                .map_err(|error| Error::Internal(error.to_string()))?;
            let view = CreatedToken {
                title: format!("{} was {how}", issued.label),
                token: issued.token,
                tenant: None,
                back: TOKENS.to_owned(),
            };
            Ok(Ok(uncompressed(html(created_token_page(&visit.shell, &view)))))
        }
        Err(Ok(issues)) => Ok(Err(problems_of(issues))),
        Err(Err(error)) => Err(error),
    }
}

/// `POST /app/tokens/:id/rotate`: the response shows the successor.
pub(super) async fn rotate(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let view = found(&visit, &request).await?;
    let (pairs, _room) = visit.form(&mut request).await?;
    let kept: Option<i64> = sent(&pairs, "keepOldForSeconds").parse().ok();
    let mut body = Map::new();
    body.extend(kept.map(|seconds| ("keepOldForSeconds".to_owned(), seconds.into())));
    let path = address("/tokens/{}/rotate", &[&view.line.id], &[]);
    match shown_once(&visit, &path, &Value::Object(body), "rotated").await? {
        Ok(response) => Ok(response),
        Err(problems) => {
            let view = TokenView { problems, ..view };
            Ok(rejected(token_page(&visit.shell, &view)))
        }
    }
}

/// `POST /app/tokens/:id/revoke`: of a token, or of a session.
pub(super) async fn revoke(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let TokenView { line, .. } = found(&visit, &request).await?;
    let (pairs, _room) = visit.form(&mut request).await?;
    let cascade = pairs.iter().any(|(name, _)| name == "cascade");
    let query: &[(&str, &str)] = if cascade { &[("cascade", "true")] } else { &[] };
    let path = address("/tokens/{}", &[&line.id], query);
    visit.api.send(Method::DELETE, &path, &[], &Value::Null).await?;
    let done = if line.is_session() { "signed-out" } else { "revoked" };
    Ok(see(&address(TOKENS, &[], &[("done", done)])))
}

//! Tenants, for an operator: create, rename, suspend, resume, delete.

use poem::{Response, http::Method};
use serde::Deserialize;
use serde_json::{Value, json};
use svctrack_web::pages::{
    CreatedToken, Problem, TenantLine, TenantView, TenantsView, address, created_token_page,
    tenant_page, tenants_page,
};

use super::{
    respond::{html, rejected, see},
    submitted_form::{new_key, notice_of, problems_of, sent},
    visit::Visit,
};
use crate::{
    error::Error,
    routes::{query_pairs, respond::uncompressed},
    routing::path_tree::{RoutedRequest, path_part},
};

const TENANTS: &str = "/app/tenants";
/// Notices of actions, for the next page.
const NOTICES: &[(&str, &str)] = &[
    ("renamed", "The tenant was renamed."),
    ("suspended", "The tenant was suspended."),
    ("resumed", "The tenant was resumed."),
    ("deleted", "The tenant was deleted. Its data is being removed."),
];

/// A tenant as the API creates it, with its first token.
#[derive(Deserialize)]
struct Created {
    #[serde(flatten)]
    line: TenantLine,
    token: FirstToken,
}

#[derive(Deserialize)]
struct FirstToken {
    token: String,
}

async fn lines(visit: &Visit) -> Result<Vec<TenantLine>, Error> {
    let mut lines: Vec<TenantLine> = visit.api.get("/tenants").await?;
    lines.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(lines)
}

/// `GET /app/tenants`
pub(super) async fn tenants(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let (once, lines) = (new_key()?, lines(&visit).await?);
    let view = TenantsView { once, lines, ..TenantsView::default() };
    let mut shell = visit.shell;
    shell.notice = notice_of(&query_pairs(&request), NOTICES);
    Ok(html(tenants_page(&shell, &view)))
}

/// Problem of a form that was carried out before, as its page was loaded again.
const SENT_BEFORE: &str = "This form was already sent: its tenant was created, and the token is not shown again. To create another tenant, send the form again.";

/// `POST /app/tenants`: the response shows the first token, since no other response does.
pub(super) async fn create(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(&mut request).await?;
    let name = sent(&pairs, "name").trim().to_owned();
    let (forms, once) = (&visit.app.form_keys, sent(&pairs, "once"));
    if !forms.is_first(once) {
        let problem = Problem { field: String::new(), message: SENT_BEFORE.to_owned() };
        return again(&visit, name, vec![problem]).await;
    }
    let created = visit.api.send(Method::POST, "/tenants", &[], &json!({ "name": name })).await;
    if created.is_err() {
        forms.forget(once);
    }
    match created.map_err(Error::into_issues) {
        Ok(created) => {
            let created: Created = serde_json::from_value(created)
                .map_err(|error| Error::Internal(error.to_string()))?;
            let view = CreatedToken {
                title: format!("{} was created", created.line.name),
                token: created.token.token,
                tenant: Some(created.line.id),
                back: TENANTS.to_owned(),
            };
            Ok(uncompressed(html(created_token_page(&visit.shell, &view))))
        }
        Err(Ok(issues)) => again(&visit, name, problems_of(issues)).await,
        Err(Err(error)) => Err(error),
    }
}

/// The form of a new tenant, with what is wrong with it.
async fn again(visit: &Visit, name: String, problems: Vec<Problem>) -> Result<Response, Error> {
    let view = TenantsView { lines: lines(visit).await?, once: new_key()?, name, problems };
    Ok(rejected(tenants_page(&visit.shell, &view)))
}

/// The path of a tenant of the API.
fn path_of(request: &RoutedRequest<'_>) -> String {
    address("/tenants/{}", &[&path_part(request, "id").unwrap_or_default()], &[])
}

/// `GET /app/tenants/:id`
pub(super) async fn tenant(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let line: TenantLine = visit.api.get(&path_of(&request)).await?;
    let view = TenantView { name: line.name.clone(), line, ..TenantView::default() };
    let mut shell = visit.shell;
    shell.notice = notice_of(&query_pairs(&request), NOTICES);
    Ok(html(tenant_page(&shell, &view)))
}

/// `POST /app/tenants/:id/rename`
pub(super) async fn rename(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(&mut request).await?;
    let name = sent(&pairs, "name").trim();
    change(&visit, &request, &json!({ "name": name }), "renamed").await
}

/// `POST /app/tenants/:id/suspend`: suspends or resumes.
pub(super) async fn suspend(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(&mut request).await?;
    let is_suspended = sent(&pairs, "suspended") == "true";
    let done = if is_suspended { "suspended" } else { "resumed" };
    change(&visit, &request, &json!({ "suspended": is_suspended }), done).await
}

async fn change(
    visit: &Visit,
    request: &RoutedRequest<'_>,
    body: &Value,
    done: &str,
) -> Result<Response, Error> {
    let path = path_of(request);
    let line: TenantLine = visit.api.get(&path).await?;
    let changed = visit.api.send(Method::PUT, &path, &[], body).await;
    match changed.map_err(Error::into_issues) {
        Ok(_) => Ok(see(&address("/app/tenants/{}", &[&line.id], &[("done", done)]))),
        Err(Ok(issues)) => {
            let name = body.get("name").and_then(Value::as_str).unwrap_or(&line.name).to_owned();
            let problems = problems_of(issues);
            let view = TenantView { name, line, problems, ..TenantView::default() };
            Ok(rejected(tenant_page(&visit.shell, &view)))
        }
        Err(Err(error)) => Err(error),
    }
}

/// `POST /app/tenants/:id/delete`: deletes the tenant, if its name was typed.
pub(super) async fn delete(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(&mut request).await?;
    let path = path_of(&request);
    let line: TenantLine = visit.api.get(&path).await?;
    let confirm = sent(&pairs, "confirm").trim().to_owned();
    if confirm != line.name.trim() {
        let message = "Type the name of the tenant exactly as shown.".to_owned();
        let problems = vec![Problem { field: "confirm".to_owned(), message }];
        let view = TenantView { name: line.name.clone(), line, confirm, problems };
        return Ok(rejected(tenant_page(&visit.shell, &view)));
    }
    visit.api.send(Method::DELETE, &path, &[], &Value::Null).await?;
    Ok(see(&address(TENANTS, &[], &[("done", "deleted")])))
}

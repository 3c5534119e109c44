//! The demo: a separate tenant that a button fills in the background, opens, and deletes.
//!
//! Operators may create the demo, since only they can create and delete tenants; and an administrator of the only
//! tenant of a server, since no other tenant can be disturbed.

use std::time::Duration;

use futures_util::FutureExt as _;
use poem::{
    Request, Response,
    http::{HeaderValue, Method, header},
};
use serde::Deserialize;
use serde_json::json;
use svctrack_core::{access::OPERATOR, value::TenantId};
use svctrack_store::{AuditNote, Tenant, TenantState, support::panics::panic_message};
use svctrack_web::pages::{DemoState, DemoView, Shell, address, demo_page};
use tokio::runtime::Handle;

use super::{
    api::read,
    respond::{html, see},
    submitted_form::{notice_of, sent},
    visit::Visit,
};
use crate::{
    app::App,
    auth::{RequestSource, ServiceAccess, session},
    demo::{ApiCall, CUSTOMERS, Demo, TENANT_NAME, filling::DemoProgress},
    error::Error,
    routes::query_pairs,
    routing::{dispatch::Api, path_tree::RoutedRequest},
};

const PATH: &str = "/app/demo";
/// Seconds after which a browser asks for the progress again.
const ASK_AGAIN: &str = "2";
/// Pause before a call is repeated that the server was too busy for.
const PAUSE: Duration = Duration::from_secs(1);
const LABEL: &str = "Session in the demo";
/// Maximum number of tenants among which the demo is looked for.
const MAX_TENANTS: usize = 1_000;

/// Page after the demo was deleted, and its notice.
const DELETED: &str = "/app/demo?done=deleted";
const NOTICES: &[(&str, &str)] = &[("deleted", "The demo was deleted with all its data.")];

/// A tenant as the API creates it.
#[derive(Deserialize)]
struct Created {
    #[serde(rename = "_id")]
    id: TenantId,
}

/// `GET /app/demo`
pub(super) async fn show(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    check(&visit).await?;
    let tenant = found(&visit.app).await?;
    let state = match (visit.app.demo.progress(), tenant) {
        (DemoProgress::Stored(stored), _) => DemoState::Filling(stored),
        (DemoProgress::Failed(cause), _) => DemoState::Incomplete(cause),
        (DemoProgress::Idle, Some(_)) => DemoState::There,
        (DemoProgress::Idle, None) => DemoState::None,
    };
    let is_filling = matches!(state, DemoState::Filling(_));
    let view = DemoView { state, is_inside: is_inside(&visit, tenant), customers: CUSTOMERS };
    let shell = Shell { notice: notice_of(&query_pairs(&request), NOTICES), ..visit.shell };
    let mut response = html(demo_page(&shell, &view));
    if is_filling {
        response.headers_mut().insert("Refresh", HeaderValue::from_static(ASK_AGAIN));
    }
    Ok(response)
}

/// `POST /app/demo`: begins to fill a demo, unless there is one.
pub(super) async fn create(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(&mut request).await?;
    check(&visit).await?;
    let customers =
        sent(&pairs, "customers").parse().map_or(CUSTOMERS, |it: usize| it.min(CUSTOMERS));
    if found(&visit.app).await?.is_none() && visit.app.demo.begin() {
        let (app, api) = (visit.app.clone(), visit.api.routes());
        // Filling a demo computes more than it waits, so it has a thread of its own.
        tokio::task::spawn_blocking(move || {
            let filled = std::panic::AssertUnwindSafe(fill(&app, &api, customers)).catch_unwind();
            let done = Handle::current().block_on(filled);
            let done = done.unwrap_or_else(|panic| Err(panic_message(&*panic).to_owned()));
            if let Err(cause) = &done {
                tracing::warn!(cause, "demo incomplete");
            }
            app.demo.end(done);
        });
        note(&visit, "demo.create").await?;
    }
    Ok(see(PATH))
}

/// `POST /app/demo/open`: opens a session in the demo, which can lead back.
pub(super) async fn open(visit: Visit, mut request: RoutedRequest<'_>) -> Result<Response, Error> {
    let (_, _room) = visit.form(&mut request).await?;
    check(&visit).await?;
    let Some(tenant) = found(&visit.app).await? else { return Ok(see(PATH)) };
    let tokens = visit.app.store.tokens(&Tenant::assume_authorized(tenant)).await?;
    // Another token may see less of the demo.
    let is_whole = |scopes: &[String]| scopes.iter().any(|scope| scope == "*");
    let mut tokens =
        tokens.into_iter().filter(|token| !token.is_session() && is_whole(&token.scopes));
    let Some(token) = tokens.next() else { return Ok(see(PATH)) };
    let seen = RequestSource::from_request(&request);
    let opened = session::open_with_id(&visit.app, &token.id, LABEL, seen).await?;
    if let Some(own) = visit.session.caller.token() {
        visit.app.demo.note_visit(opened.id(), own);
    }
    Ok(with_session(&visit.app, see("/"), Some(&opened)))
}

/// `POST /app/demo/leave`: leads a user back from the demo.
pub(super) async fn leave(visit: Visit, mut request: RoutedRequest<'_>) -> Result<Response, Error> {
    let (_, _room) = visit.form(&mut request).await?;
    way_back(&visit, RequestSource::from_request(&request), "/").await
}

/// `POST /app/demo/delete`: deletes the demo, and leads its users back.
pub(super) async fn delete(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let (_, _room) = visit.form(&mut request).await?;
    check(&visit).await?;
    let Some(tenant) = found(&visit.app).await? else { return Ok(see(PATH)) };
    if matches!(visit.app.demo.progress(), DemoProgress::Stored(_)) {
        return Ok(see(PATH));
    }
    note(&visit, "demo.delete").await?;
    let path = address("/tenants/{}", &[&tenant.to_string()], &[]);
    call(&visit.api.routes(), Tenant::OPERATOR.id(), Method::DELETE, &path, String::new()).await?;
    visit.app.demo.end(Ok(()));
    if is_inside(&visit, Some(tenant)) {
        return way_back(&visit, RequestSource::from_request(&request), DELETED).await;
    }
    Ok(see(DELETED))
}

/// Notes in the audit log that the user created or deleted the demo; the service carries it out.
async fn note(visit: &Visit, action: &'static str) -> Result<(), Error> {
    let actor = visit.session.caller.clone().into();
    let note = AuditNote::done(action, "tenants", None);
    Ok(visit.app.store.write_audit(actor, vec![note]).await?)
}

/// Opens a session of the user's earlier token, and leads to a page; where the token is not known, they sign in.
async fn way_back(visit: &Visit, seen: RequestSource, to: &str) -> Result<Response, Error> {
    let Some(token) = visit.app.demo.way_back(&visit.session.id) else {
        return Ok(with_session(&visit.app, see("/sign-in"), None));
    };
    let opened = session::open_with_id(&visit.app, &token, "Session after the demo", seen).await;
    match opened {
        Ok(opened) => Ok(with_session(&visit.app, see(to), Some(&opened))),
        Err(Error::Unauthorized(_)) => Ok(with_session(&visit.app, see("/sign-in"), None)),
        Err(error) => Err(error),
    }
}

fn with_session(app: &App, mut response: Response, token: Option<&crate::auth::Token>) -> Response {
    if let Some(cookie) = session::cookie(app, token) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// Tenant of the demo, if it exists.
async fn found(app: &App) -> Result<Option<TenantId>, Error> {
    let tenants = app.store.tenants(MAX_TENANTS).await?;
    let is_demo = |name: &str, state| name == TENANT_NAME && state != TenantState::Deleting;
    let found = tenants.into_iter().find(|tenant| is_demo(&tenant.name, tenant.state));
    Ok(found.map(|tenant| tenant.id))
}

fn is_inside(visit: &Visit, demo: Option<TenantId>) -> bool {
    demo == Some(visit.session.caller.tenant.id())
}

/// Whether a user may create and delete the demo.
pub(super) async fn may(visit: &Visit) -> Result<bool, Error> {
    if visit.api.may(OPERATOR) {
        return Ok(true);
    }
    if !visit.api.may("admin") {
        return Ok(false);
    }
    // With the user's tenant and the demo, a third tenant is another customer's.
    let tenants = visit.app.store.tenants(3).await?;
    let own = visit.session.caller.tenant.id();
    let is_alone = tenants.iter().all(|tenant| tenant.id == own || tenant.name == TENANT_NAME);
    Ok(is_alone || visit.shell.tenant == TENANT_NAME)
}

async fn check(visit: &Visit) -> Result<(), Error> {
    if may(visit).await? { Ok(()) } else { Err(Error::Forbidden(OPERATOR.to_owned())) }
}

/// Creates the tenant and fills it.
async fn fill(app: &App, api: &Api, customers: usize) -> Result<(), String> {
    let name = json!({ "name": TENANT_NAME }).to_string();
    let made = call(api, Tenant::OPERATOR.id(), Method::POST, "/tenants", name).await;
    let made = match made {
        Ok(made) => read::<Created>(made).await,
        Err(error) => Err(error),
    };
    let no_tenant = |error: Error| {
        format!("the tenant cannot be created: {}", error.into_response("").status())
    };
    let Created { id: tenant } = made.map_err(no_tenant)?;
    let demo = Demo { tenant, now: app.clock.now(), customers };
    let mut stored = 0;
    demo.fill(async |ApiCall { method, path, body, count, .. }: ApiCall| {
        stored += count;
        app.demo.note(stored);
        loop {
            if *app.stopping.borrow() {
                return Err("the server is stopping".to_owned());
            }
            let rejected = match call(api, tenant, method.clone(), &path, body.clone()).await {
                Ok(response) => return Ok(response),
                Err(error) => error.into_response(""),
            };
            if !rejected.headers().contains_key(header::RETRY_AFTER) {
                return Ok(rejected);
            }
            tokio::time::sleep(PAUSE).await;
        }
    })
    .await
}

/// Calls the API as the service itself.
async fn call(
    api: &Api,
    tenant: TenantId,
    method: Method,
    path: &str,
    body: impl Into<poem::Body>,
) -> Result<Response, Error> {
    let uri = path.parse().map_err(|_| Error::RouteNotFound)?;
    let mut request = Request::builder()
        .method(method)
        .uri(uri)
        .header(header::HOST, "localhost")
        .content_type("application/json")
        .body(body);
    request.extensions_mut().insert(ServiceAccess(tenant));
    api.serve(request).await
}

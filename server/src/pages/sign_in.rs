//! Sign-in with a token or by a link, and sign-out, of one browser or of all.

use poem::{
    Request, Response,
    http::{Method, StatusCode, header},
};
use svctrack_core::audit::AuditActor;
use svctrack_store::Tenant;
use svctrack_web::pages::{SignInView, address, sign_in_page};
use url::{Position, Url};

use super::{
    respond::{html, see, short},
    submitted_form::sent,
    visit::{Visit, read_form},
};
use crate::{
    app::App,
    auth::{RequestSource, failed_sign_ins::SignInRate, session},
    error::Error,
    limits::MAX_SIGN_IN_BYTES,
    routing::path_tree::RoutedRequest,
    sender_limits::SenderAddress,
};

/// Parameter of the sign-in page after a form was sent without a session.
const UNSAVED: &str = "unsaved";

/// `GET /sign-in`
pub(super) async fn show(app: &App, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let pairs = crate::routes::query_pairs(&request);
    let once = Some(sent(&pairs, "once").to_owned()).filter(|text| !text.is_empty());
    // A user who cannot use their session may sign in with another token.
    let is_signed_in = matches!(session::of_request(app, &request).await, Ok(Some(_)));
    if once.is_none() && is_signed_in {
        return Ok(see("/"));
    }
    let problem = (!sent(&pairs, UNSAVED).is_empty()).then(|| {
        "You were signed out, so what you sent was not saved. Sign in and send it again.".to_owned()
    });
    let view = SignInView { next: sent(&pairs, "next").to_owned(), problem, once };
    Ok(html(sign_in_page(&view)))
}

/// `POST /sign-in`: by a token, or by a link.
pub(super) async fn sign_in(app: &App, mut request: RoutedRequest<'_>) -> Result<Response, Error> {
    let (pairs, _room) = read_form(app, &mut request, None, MAX_SIGN_IN_BYTES).await?;
    let value_of = |name: &str| sent(&pairs, name).trim();
    let agent = request.headers().get(header::USER_AGENT).and_then(|text| text.to_str().ok());
    let label = label(agent.unwrap_or_default());
    let seen = RequestSource::from_request(&request);
    let opened = match value_of("once") {
        "" => session::open_with_text(app, value_of("token"), &label, seen).await,
        once => match app.one_time_link.take(once) {
            Some(token) => session::open_with_id(app, &token, &label, seen).await,
            None => Err(Error::Unauthorized("link_used")),
        },
    };
    match opened {
        Ok(token) => {
            let mut response = see(next(value_of("next")));
            if let Some(cookie) = session::cookie(app, Some(&token)) {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            Ok(response)
        }
        Err(Error::Unauthorized(code)) => Ok(failed(app, &request, code, value_of("next"))),
        Err(error) => Err(error),
    }
}

/// Shows that the sign-in failed.
fn failed(app: &App, request: &Request, code: &str, next: &str) -> Response {
    let (status, problem) = match app.failed_sign_ins.note(SenderAddress::from_request(request)) {
        SignInRate::Exceeded => {
            (StatusCode::TOO_MANY_REQUESTS, "Too many attempts. Wait a minute.")
        }
        SignInRate::Within if code == "link_used" => (
            StatusCode::UNAUTHORIZED,
            "This link was already used, has expired, or the server was restarted. Sign in with a token.",
        ),
        SignInRate::Within => (StatusCode::UNAUTHORIZED, "This token is unknown or has expired."),
    };
    let nobody = ("session.open", AuditActor::Unknown);
    RequestSource::from_request(request).note_denied(app, Tenant::OPERATOR, nobody, code);
    tracing::info!(code, "sign-in failed");
    let (next, problem) = (next.to_owned(), Some(problem.to_owned()));
    let mut response = html(sign_in_page(&SignInView { next, problem, once: None }));
    response.set_status(status);
    response
}

/// Page of this service to show after signing in.
fn next(asked: &str) -> &str {
    // Browsers leave tabs and line ends out of an address.
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    let is_own = asked.starts_with('/') && !asked.starts_with("//") && asked.bytes().all(is_plain);
    if is_own { asked } else { "/" }
}

/// Label of a session in the list of tokens.
fn label(agent: &str) -> String {
    let known =
        ["Firefox", "Edg", "Chrome", "Safari"].into_iter().find(|name| agent.contains(name));
    format!("Session in {}", known.unwrap_or("a browser").replace("Edg", "Edge"))
}

/// `POST /sign-out`; with `everywhere`, also of all other sessions of the same token.
pub(super) async fn sign_out(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(&mut request).await?;
    let (app, caller) = (&visit.app, &visit.session.caller);
    let mut ids = vec![visit.session.id.clone()];
    if pairs.iter().any(|(name, _)| name == "everywhere") {
        let tokens = app.store.tokens(&caller.tenant).await?;
        let own = tokens
            .into_iter()
            .filter(|token| token.is_session() && token.created_by.as_deref() == caller.token());
        ids.extend(own.map(|token| token.id));
    }
    for id in ids {
        app.store
            .revoke_token(caller.clone().into(), id, svctrack_store::RevocationScope::Alone)
            .await?;
    }
    let mut response = see("/sign-in");
    if let Some(cookie) = session::cookie(app, None) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    let all = header::HeaderValue::from_static("\"cache\", \"storage\"");
    response.headers_mut().insert("Clear-Site-Data", all);
    Ok(response)
}

/// Leads a user who is not signed in to the sign-in; after a link from another site the browser has not sent the
/// session yet, so that the page requests itself once more.
pub(super) fn lead(request: &Request) -> Response {
    let path = short(request.uri().path_and_query().map_or("/", |path| path.as_str()));
    let site = request.headers().get("sec-fetch-site").and_then(|site| site.to_str().ok());
    if site == Some("cross-site") && request.method() == Method::GET {
        let mut response = html(sign_in_page(&SignInView::default()));
        if let Ok(again) = header::HeaderValue::try_from(format!("0; url={path}")) {
            response.headers_mut().insert("Refresh", again);
        }
        return response;
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        // The body of a form is lost; its page is where the user can send it again.
        let form = request.headers().get(header::REFERER).and_then(|form| form.to_str().ok());
        let form = form.and_then(|form| Url::parse(form).ok());
        let form = form.as_ref().map_or("/", |form| short(&form[Position::BeforePath..]));
        return see(&address("/sign-in", &[], &[("next", form), (UNSAVED, "yes")]));
    }
    match path {
        "/" => see("/sign-in"),
        path => see(&address("/sign-in", &[], &[("next", path)])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_to_another_site() {
        for asked in [
            "",
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "/\t/evil.example",
            "app",
        ] {
            assert_eq!(next(asked), "/", "{asked}");
        }
        assert_eq!(next("/app/customers?sort=-mrr"), "/app/customers?sort=-mrr");
    }
}

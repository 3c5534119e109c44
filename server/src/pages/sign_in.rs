//! Sign-in and sign-out.

use std::time::Duration;

use governor::{Quota, RateLimiter, clock::DefaultClock, state::keyed::HashMapStateStore};
use parking_lot::Mutex;
use poem::{
    Request, Response,
    http::{StatusCode, header},
};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use svctrack_web::pages::{SignInView, address, sign_in_page};
use tokio::time::Instant;

use super::{
    html, see,
    visit::{Visit, read_form},
};
use crate::{
    app::App,
    auth::{Token, session},
    error::Error,
    limits::{MAX_SIGN_IN_FAILURES, ONE_TIME_LINK_SECONDS},
    senders::Address,
};

/// A link that signs in once, which the first start prints. Its secret is not kept.
struct Once {
    sha256: [u8; 32],
    until: Instant,
    /// Id of the token that it signs in with.
    token: String,
}

/// What signing in needs: the link that is open, and who has failed how often.
pub(crate) struct OneTimeLink {
    once: Mutex<Option<Once>>,
    failures: RateLimiter<Option<Address>, HashMapStateStore<Option<Address>>, DefaultClock>,
}

impl Default for OneTimeLink {
    fn default() -> Self {
        let failures = RateLimiter::hashmap(Quota::per_minute(MAX_SIGN_IN_FAILURES));
        Self { once: Mutex::new(None), failures }
    }
}

impl OneTimeLink {
    /// Opens a link for the token of this id; returns its path.
    ///
    /// # Errors
    /// When the machine gives no randomness.
    pub(crate) fn open(&self, token: &str) -> Result<String, getrandom::Error> {
        let secret = Token::generate()?;
        let until = Instant::now() + Duration::from_secs(ONE_TIME_LINK_SECONDS);
        let sha256 = Sha256::digest(secret.reveal()).into();
        *self.once.lock() = Some(Once { sha256, until, token: token.to_owned() });
        Ok(address("/sign-in", &[], &[("once", secret.reveal())]))
    }

    /// Uses a link up; returns the id of its token.
    fn take(&self, secret: &str) -> Option<String> {
        let mut once = self.once.lock();
        let sent: [u8; 32] = Sha256::digest(secret).into();
        let is_it = once.as_ref().is_some_and(|once| {
            once.until > Instant::now() && bool::from(once.sha256.ct_eq(&sent))
        });
        if is_it { once.take().map(|once| once.token) } else { None }
    }
}

/// `GET /sign-in`
pub(super) async fn show(app: &App, request: Request) -> Result<Response, Error> {
    let pairs = crate::routes::query_pairs(&request);
    let of =
        |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone());
    if of("once").is_none() && session::of_request(app, &request).await?.is_some() {
        return Ok(see("/"));
    }
    let view = SignInView { next: of("next").unwrap_or_default(), problem: None, once: of("once") };
    Ok(html(sign_in_page(&view)))
}

/// `POST /sign-in`: by a token, or by a link.
pub(super) async fn sign_in(app: &App, mut request: Request) -> Result<Response, Error> {
    let pairs = read_form(app, &mut request, None).await?;
    let of =
        |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, text)| text.trim());
    let agent = request.headers().get(header::USER_AGENT).and_then(|text| text.to_str().ok());
    let label = label(agent.unwrap_or_default());
    let opened = match of("once") {
        Some(once) => match app.sign_in.take(once) {
            Some(token) => session::open_with_id(app, &token, &label).await,
            None => Err(Error::Unauthorized("link_used")),
        },
        None => session::open_with_text(app, of("token").unwrap_or_default(), &label).await,
    };
    match opened {
        Ok(token) => {
            let mut response = see(next(of("next").unwrap_or_default()));
            if let Some(cookie) = session::cookie(app, Some(&token)) {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            Ok(response)
        }
        Err(Error::Unauthorized(code)) => Ok(failed(app, &request, code, of("next"))),
        Err(error) => Err(error),
    }
}

/// Says that somebody could not be signed in; slowly to who has failed often.
fn failed(app: &App, request: &Request, code: &str, next: Option<&str>) -> Response {
    let limiter = &app.sign_in.failures;
    limiter.retain_recent();
    let (status, problem) = match limiter.check_key(&Address::of(request)) {
        Err(_) => (StatusCode::TOO_MANY_REQUESTS, "Too many attempts. Wait a minute."),
        Ok(()) if code == "link_used" => {
            (StatusCode::UNAUTHORIZED, "This link was used or has expired. Sign in with a token.")
        }
        Ok(()) => (StatusCode::UNAUTHORIZED, "This token is not known, or has expired."),
    };
    tracing::info!(code, "sign-in failed");
    let (next, problem) = (next.unwrap_or_default().to_owned(), Some(problem.to_owned()));
    let mut response = html(sign_in_page(&SignInView { next, problem, once: None }));
    response.set_status(status);
    response
}

/// Where to go after signing in: a page of this service.
fn next(asked: &str) -> &str {
    let is_own = asked.starts_with('/') && !asked.starts_with("//") && !asked.contains('\\');
    if is_own { asked } else { "/" }
}

/// What a session is called in the list of tokens.
fn label(agent: &str) -> String {
    let known =
        ["Firefox", "Edg", "Chrome", "Safari"].into_iter().find(|name| agent.contains(name));
    format!("Session in {}", known.unwrap_or("a browser").replace("Edg", "Edge"))
}

/// `POST /sign-out`; with `everywhere`, also of all other sessions of the same token.
pub(super) async fn sign_out(visit: Visit, mut request: Request) -> Result<Response, Error> {
    let pairs = visit.form(&mut request).await?;
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
        app.store.revoke_token(caller.clone().into(), id, svctrack_store::Revoked::Alone).await?;
    }
    let mut response = see("/sign-in");
    if let Some(cookie) = session::cookie(app, None) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    let all = header::HeaderValue::from_static("\"cache\", \"storage\"");
    response.headers_mut().insert("Clear-Site-Data", all);
    Ok(response)
}

/// Leads somebody who is not signed in to where they can; after a link from another site the browser has not sent the
/// session yet, so that the page asks for itself once more.
pub(super) fn lead(request: &Request) -> Response {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let site = request.headers().get("sec-fetch-site").and_then(|site| site.to_str().ok());
    if site == Some("cross-site") && request.method() == poem::http::Method::GET {
        let mut response = html(sign_in_page(&SignInView::default()));
        if let Ok(again) = header::HeaderValue::try_from(format!("0; url={path}")) {
            response.headers_mut().insert("Refresh", again);
        }
        return response;
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
        for asked in ["", "//evil.example", "https://evil.example", "/\\evil.example", "app"] {
            assert_eq!(next(asked), "/", "{asked}");
        }
        assert_eq!(next("/app/customers?sort=-mrr"), "/app/customers?sort=-mrr");
    }

    #[test]
    fn a_link_signs_in_once() {
        let links = OneTimeLink::default();
        let path = links.open("abcdefgh").unwrap();
        let secret = path.strip_prefix("/sign-in?once=").unwrap();
        assert_eq!(links.take("another"), None);
        assert_eq!(links.take(secret).as_deref(), Some("abcdefgh"));
        assert_eq!(links.take(secret), None);
    }
}

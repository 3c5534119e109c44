//! Sessions of the pages. A session is a token of its own kind, stored as other tokens are: it can be listed and
//! revoked, and acts as the token that it was opened with, as long as that one is valid. Its text is in a cookie, which
//! no script reads and no other site sends.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use poem::{
    Request,
    http::{HeaderMap, HeaderValue, header},
};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use svctrack_core::value::{RecordRef, Timestamp};
use svctrack_store::{KnownToken, Revoked, TokenRecord};

use super::{
    authenticate::{admit, known_token},
    caller::{Caller, RequestSource},
    token_format::Token,
};
use crate::{
    app::App,
    error::Error,
    limits::{MAX_SESSIONS, SESSION_IDLE_MS, SESSION_MS},
};

/// Name of the cookie over TLS: with its prefix browsers require the attributes that [`cookie`] sets.
const COOKIE_OF_TLS: &str = "__Host-s";
/// The cookie over plain HTTP.
const COOKIE: &str = "s";

/// A signed-in user's session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) caller: Caller,
    /// Id of the session's own token.
    pub(crate) id: String,
    token: Token,
}

impl Session {
    /// CSRF token of the forms of this session. It is derived from the secret of the session, and does not reveal it.
    pub(crate) fn csrf(&self) -> String {
        let digest = Sha256::new().chain_update("svctrack form").chain_update(self.token.reveal());
        URL_SAFE_NO_PAD.encode(digest.finalize())
    }

    /// Whether a form sent the CSRF token; takes constant time.
    pub(crate) fn has_sent(&self, csrf: &str) -> bool {
        self.csrf().as_bytes().ct_eq(csrf.as_bytes()).into()
    }
}

/// Session of a request, if it has one that has not ended.
///
/// # Errors
/// When the store cannot be read; [`Error::TooMany`]; [`Error::TenantSuspended`].
pub(crate) async fn of_request(app: &App, request: &Request) -> Result<Option<Session>, Error> {
    let Some(text) = cookie_in(app, request) else { return Ok(None) };
    let Some(token) = Token::parse(text) else { return Ok(None) };
    let known = match known_token(app, text).await {
        Ok(known) if known.record.is_session() => known,
        Ok(_) | Err(Error::Unauthorized(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let now = app.clock.now();
    if !is_alive(app, &known.record) {
        return Ok(None);
    }
    let opened_with = known.record.created_by.as_deref().unwrap_or_default();
    let Some(opened_with) = app.store.token(opened_with).await? else { return Ok(None) };
    app.store.note_token_use(&known.record, now);
    app.sign_in.note_use(&known.record.id, now);
    let seen = RequestSource::from_request(request).through(&known.record.id);
    match admit(app, opened_with, seen) {
        Ok(caller) => Ok(Some(Session { caller, id: known.record.id.clone(), token })),
        Err(Error::Unauthorized(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a session has not expired and has not been idle for too long.
pub(crate) fn is_alive(app: &App, session: &TokenRecord) -> bool {
    let now = app.clock.now();
    // The store writes uses with its next commit, which may be hours later.
    let used = [session.last_used_at, app.sign_in.last_use(&session.id)].into_iter().flatten();
    let used = used.fold(session.created_at, Timestamp::max);
    let idle = now.as_ms().saturating_sub(used.as_ms());
    idle < SESSION_IDLE_MS && session.expires_at.is_none_or(|end| end > now)
}

/// Opens a session with the text of a token.
///
/// # Errors
/// [`Error::Unauthorized`]; [`Error::TenantSuspended`]; when the store cannot write.
pub(crate) async fn open_with_text(
    app: &App,
    text: &str,
    label: &str,
    seen: RequestSource,
) -> Result<Token, Error> {
    let known = known_token(app, text).await?;
    if known.record.is_session() {
        return Err(Error::Unauthorized("token_unknown"));
    }
    open(app, known, label, seen).await
}

/// Opens a session with the token of this id.
///
/// # Errors
/// As [`open_with_text`].
pub(crate) async fn open_with_id(
    app: &App,
    id: &str,
    label: &str,
    seen: RequestSource,
) -> Result<Token, Error> {
    let known = app.store.token(id).await?.ok_or(Error::Unauthorized("token_unknown"))?;
    open(app, known, label, seen).await
}

async fn open(
    app: &App,
    known: Arc<KnownToken>,
    label: &str,
    seen: RequestSource,
) -> Result<Token, Error> {
    let caller = admit(app, known.clone(), seen)?;
    let token = Token::generate().map_err(|error| Error::Internal(error.to_string()))?;
    let now = app.clock.now();
    let ends = Timestamp::from_ms_clamped(now.as_ms().saturating_add(SESSION_MS));
    end_old_ones(app, &caller).await?;
    let record = TokenRecord::of_session(token.digest(), &known.record, label, ends, now);
    let user = known.record.user_id.map(RecordRef::Id);
    app.store.add_token(caller.into(), record, user).await?;
    Ok(token)
}

/// Ends the expired and idle sessions of a token, and the oldest beyond [`MAX_SESSIONS`]: sessions count against the
/// limit of tokens of the tenant.
async fn end_old_ones(app: &App, caller: &Caller) -> Result<(), Error> {
    let mut own = app.store.tokens(&caller.tenant).await?;
    own.retain(|token| token.is_session() && token.created_by.as_deref() == caller.token());
    own.sort_by_key(|session| (is_alive(app, session), session.created_at));
    let too_many = (own.len() + 1).saturating_sub(MAX_SESSIONS);
    let is_over = |at: usize, session: &TokenRecord| at < too_many || !is_alive(app, session);
    for (at, session) in own.into_iter().enumerate() {
        if is_over(at, &session) {
            app.store.revoke_token(caller.clone().into(), session.id, Revoked::Alone).await?;
        }
    }
    Ok(())
}

/// Header that sets or removes the session cookie.
pub(crate) fn cookie(app: &App, token: Option<&Token>) -> Option<HeaderValue> {
    let (name, secure) = if is_over_tls(app) { (COOKIE_OF_TLS, "; Secure") } else { (COOKIE, "") };
    let (value, age) = match token {
        Some(token) => (token.reveal(), SESSION_MS / 1_000),
        None => ("", 0),
    };
    let text = format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(text).ok()
}

/// Whether browsers reach the service over TLS, by the configuration: any client can send a header.
fn is_over_tls(app: &App) -> bool {
    app.addresses.base_url().starts_with("https://")
}

fn cookie_in<'r>(app: &App, request: &'r Request) -> Option<&'r str> {
    let name = if is_over_tls(app) { COOKIE_OF_TLS } else { COOKIE };
    let sent = request.headers().get_all(header::COOKIE).iter();
    let pairs = sent.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(';'));
    let mut pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// Whether a request that changes data comes from a page of this service: browsers send this, and a page of another
/// site cannot forge it.
pub(crate) fn is_from_own_page(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    match (text("sec-fetch-site"), text("origin"), text("host")) {
        (Some(site), ..) => site == "same-origin",
        (None, Some(origin), Some(host)) => {
            origin.split_once("://").is_some_and(|(_, origin)| origin == host)
        }
        (None, ..) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_taken_from_an_own_page_alone() {
        for (site, origin, expect) in [
            (Some("same-origin"), None, true),
            (Some("same-origin"), Some("http://other"), true),
            (Some("same-site"), Some("http://a.example"), false),
            (Some("cross-site"), Some("http://a.example"), false),
            (Some("none"), None, false),
            (None, Some("http://a.example"), true),
            (None, Some("https://a.example"), true),
            (None, Some("http://other"), false),
            (None, Some("null"), false),
            (None, None, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("host", HeaderValue::from_static("a.example"));
            if let Some(site) = site {
                headers.insert("sec-fetch-site", HeaderValue::from_static(site));
            }
            if let Some(origin) = origin {
                headers.insert("origin", HeaderValue::from_static(origin));
            }
            assert_eq!(is_from_own_page(&headers), expect, "{site:?} {origin:?}");
        }
    }
}

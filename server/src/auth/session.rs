//! Sessions of the pages. A session is a token of its own kind, stored as other tokens are: it can be listed and
//! revoked, and acts as the token that it was opened with, as long as that one is valid. Its text is in a cookie, which
//! no script reads and no other site sends.

use std::sync::Arc;

use poem::{
    Request,
    http::{HeaderValue, header},
};
use svctrack_core::value::{RecordRef, Timestamp};
use svctrack_store::{KnownToken, RevocationScope, TokenRecord};

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
    pub(super) token: Token,
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
    app.session_uses.note(&known.record.id, now);
    let seen = RequestSource::from_request(request).through(&known.record.id);
    match admit(app, opened_with, seen) {
        Ok(caller) => Ok(Some(Session { caller, id: known.record.id.clone(), token })),
        Err(Error::Unauthorized(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a session has not expired and has not been idle for too long. One that was last used by a clock that was
/// ahead by that long has ended too.
pub(crate) fn is_alive(app: &App, session: &TokenRecord) -> bool {
    let now = app.clock.now();
    let ms = now.as_ms().abs_diff(last_use(app, session).as_ms());
    ms < SESSION_IDLE_MS.unsigned_abs() && session.expires_at.is_none_or(|end| end > now)
}

/// Time of the clock when a session was last used. The store writes uses with its next commit, which may be hours later.
fn last_use(app: &App, session: &TokenRecord) -> Timestamp {
    let used = [session.last_used_at, app.session_uses.last(&session.id)].into_iter().flatten();
    used.fold(session.issued_at(), Timestamp::max)
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
/// limit of tokens of the tenant. Ages are judged by the settled time, as for all that is deleted.
async fn end_old_ones(app: &App, caller: &Caller) -> Result<(), Error> {
    let ahead_ms = app.store.status().clock.map_or(0, |clock| clock.ahead_seconds * 1_000);
    let settled = Timestamp::from_ms_clamped(app.clock.now().as_ms().saturating_sub(ahead_ms));
    let mut own = app.store.tokens(&caller.tenant).await?;
    own.retain(|token| token.is_session() && token.created_by.as_deref() == caller.token());
    own.sort_by_key(|session| (is_alive(app, session), last_use(app, session)));
    let too_many = (own.len() + 1).saturating_sub(MAX_SESSIONS);
    let is_old = |session: &TokenRecord| {
        let idle_ms = settled.as_ms().saturating_sub(last_use(app, session).as_ms());
        idle_ms >= SESSION_IDLE_MS || session.expires_at.is_some_and(|end| end <= settled)
    };
    for (at, session) in own.into_iter().enumerate() {
        if at < too_many || is_old(&session) {
            app.store
                .revoke_token(caller.clone().into(), session.id, RevocationScope::Alone)
                .await?;
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

//! Renewing and losing a license.

use poem::Response;
use svctrack_core::{plan::RenewalDecision, resources::license::LICENSE, schema::checked_body};

use super::{
    conditional_headers::precondition,
    idempotency_key::{IdempotentCall, hash_of},
    query_parameters::only_flag,
    records::created,
    request::{read_optional_body, reference_in_path},
    respond::{name_ignored, record},
    strict::Strictness,
};
use crate::{app::App, auth::authenticate, error::Error, routing::path_tree::RoutedRequest};

/// Scopes of a renewal, which creates a license and changes another.
pub(crate) const RENEW_SCOPES: &[&str] = &["licenses:create", "licenses:update"];
/// A loss changes a license.
pub(crate) const LOSE_SCOPES: &[&str] = &["licenses:update"];

/// `POST /licenses/{id}/renew`: the successor, which `dryRun` only shows.
pub(crate) async fn renew(app: &App, request: &mut RoutedRequest<'_>) -> Result<Response, Error> {
    decide(app, request, RenewalDecision::Renew, RENEW_SCOPES).await
}

/// `POST /licenses/{id}/lose`: the license, which `dryRun` only shows.
pub(crate) async fn lose(app: &App, request: &mut RoutedRequest<'_>) -> Result<Response, Error> {
    decide(app, request, RenewalDecision::Lose, LOSE_SCOPES).await
}

async fn decide(
    app: &App,
    request: &mut RoutedRequest<'_>,
    decision: RenewalDecision,
    scopes: &[&str],
) -> Result<Response, Error> {
    let caller = authenticate(app, request).await?;
    scopes.iter().try_for_each(|scope| caller.require(app, scope))?;
    let license = (decision, reference_in_path(request)?);
    let dry_run = only_flag(request, "dryRun")?;
    let (sent, body) = read_optional_body(app, request, &caller).await?;
    let terms =
        Strictness::from_request(request).handle(checked_body::check_update(&LICENSE, &sent));
    let precondition = precondition(request);
    if dry_run {
        let shown =
            app.store.dry_run_renewal(caller.into_actor(app), license, terms, precondition).await?;
        let ignored = shown.ignored.clone();
        let mut response = record(shown);
        name_ignored(&mut response, &ignored);
        return Ok(response);
    }
    let once = IdempotentCall::begin(app, request, &caller, || hash_of(&body.bytes))?;
    let done = app
        .store
        .decide_renewal(caller.into_actor(app), once.key(), license, terms, precondition)
        .await?;
    Ok(created(done))
}

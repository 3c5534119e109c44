//! Tenants, for an operator (R44): make and list.

use poem::{Request, Response};
use svctrack_core::{
    access::{NewTenant, OPERATOR, unknown_members},
    value::{Json, TenantId},
};

use super::{
    json, name_ignored, once,
    records::read_body,
    strict::Strictness,
    tokens::{added, shown_once},
};
use crate::{
    app::App,
    auth::{Caller, TenantRecord, Token, TokenRecord, authenticate},
    error::Error,
    store::Command,
};

/// `POST /tenants`: the answer is the only place where the tenant's first token ever shows.
pub(crate) async fn create(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = operator(app, request)?;
    once::refuse(request)?;
    let (sent, _room) = read_body(app, request).await?;
    let ignored = unknown_members(&sent, NewTenant::MEMBERS);
    Strictness::of(request).check_properties(&ignored)?;
    let NewTenant { name } = NewTenant::read(&sent).map_err(Error::Invalid)?;
    let (tenant, token) = drawn(app, name).map_err(|error| Error::Internal(error.to_string()))?;
    let record = TokenRecord::of_everything(&token, tenant.id, "first token", tenant.created_at);
    let mut answer = tenant.answer();
    let command = Command::AddTenant { tenant, token: Box::new(record) };
    let kept = added(app.store.write(caller.into(), command).await?)?;
    answer.set("token", Json::object(&shown_once(&kept, &token)));
    let mut response = json(answer.to_text());
    name_ignored(&mut response, &ignored);
    Ok(response)
}

fn drawn(app: &App, name: String) -> Result<(TenantRecord, Token), getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    let id = TenantId::from_random_bytes(bytes);
    Ok((TenantRecord { id, name, created_at: app.clock.now() }, Token::generate()?))
}

/// `GET /tenants`.
pub(crate) async fn list(app: &App, request: &mut Request) -> Result<Response, Error> {
    operator(app, request)?;
    let tenants = app.store.tenants(usize::MAX)?;
    let answers: Vec<String> = tenants.iter().map(|tenant| tenant.answer().to_text()).collect();
    Ok(json(format!("[{}]", answers.join(","))))
}

fn operator(app: &App, request: &Request) -> Result<Caller, Error> {
    let caller = authenticate(app, request)?;
    caller.require(OPERATOR)?;
    Ok(caller)
}

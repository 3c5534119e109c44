//! Create, read, update, delete and list, for every resource alike.

use poem::{Request, Response};
use svctrack_core::{
    schema::{ListQuery, ResourceDef, Shaped, shape},
    value::{Document, Issue, RecordRef, issue::quoted},
};

use super::{json, name_ignored, page, path_part, query_pairs};
use crate::{
    app::App,
    auth::{Caller, authenticate},
    body::require_json,
    error::Error,
    limits::MAX_RECORD_BYTES,
    store::{Actor, Answer, Command, Reply, StoreError},
};

/// `POST /{resource}`.
pub(crate) async fn create(
    app: &App,
    mut request: Request,
    def: &'static ResourceDef,
) -> Result<Response, Error> {
    let caller = authorise(app, &request, def, "create")?;
    let sent = read_document(app, &mut request).await?;
    let Shaped { patch, ignored } = shape::check_create(def, &sent).map_err(Error::Invalid)?;
    let answer = write_record(app, caller, Command::Create { def, patch }).await?;
    let mut response = json(answer.text);
    name_ignored(&mut response, &ignored);
    Ok(response)
}

/// `GET /{resource}/{id}`.
pub(crate) async fn read(
    app: &App,
    request: Request,
    def: &'static ResourceDef,
) -> Result<Response, Error> {
    let caller = authorise(app, &request, def, "read")?;
    let reference = reference_in_path(&request)?;
    let found = app.store.record(&caller.tenant, def, &reference).await?;
    Ok(json(found.ok_or(StoreError::NotFound)?.text))
}

/// `PUT /{resource}/{id}`, and `PATCH`, which is the same (R5).
pub(crate) async fn update(
    app: &App,
    mut request: Request,
    def: &'static ResourceDef,
) -> Result<Response, Error> {
    let caller = authorise(app, &request, def, "update")?;
    let reference = reference_in_path(&request)?;
    let sent = read_document(app, &mut request).await?;
    let Shaped { patch, ignored } = shape::check_update(def, &sent).map_err(Error::Invalid)?;
    let answer = write_record(
        app,
        caller,
        Command::Update {
            def,
            reference,
            patch,
        },
    )
    .await?;
    let mut response = json(answer.text);
    name_ignored(&mut response, &ignored);
    Ok(response)
}

/// `DELETE /{resource}/{id}`: what is not there is deleted already (R15).
pub(crate) async fn delete(
    app: &App,
    request: Request,
    def: &'static ResourceDef,
) -> Result<Response, Error> {
    let caller = authorise(app, &request, def, "delete")?;
    let reference = reference_in_path(&request)?;
    let reply = app
        .store
        .write(actor(caller), Command::Delete { def, reference })
        .await?;
    let count = i32::from(matches!(reply, Reply::Deleted(true)));
    Ok(json(format!(
        r#"{{"n":{count},"ok":1,"deletedCount":{count}}}"#
    )))
}

/// `GET /{resource}`.
pub(crate) async fn list(
    app: &App,
    request: Request,
    def: &'static ResourceDef,
) -> Result<Response, Error> {
    let caller = authorise(app, &request, def, "read")?;
    let read = ListQuery::parse(&query_pairs(&request), def.list).map_err(Error::BadRequest)?;
    let found = app.store.list(&caller.tenant, def, read.query).await?;
    let mut response = page(request.uri(), found);
    name_ignored(&mut response, &read.ignored);
    Ok(response)
}

fn authorise(
    app: &App,
    request: &Request,
    def: &ResourceDef,
    action: &str,
) -> Result<Caller, Error> {
    let caller = authenticate(app, request)?;
    caller.require(&format!("{}:{action}", def.path))?;
    Ok(caller)
}

fn reference_in_path(request: &Request) -> Result<RecordRef, Error> {
    let text = path_part(request, "id")?;
    RecordRef::parse(text).ok_or_else(|| {
        let expected = "24 hex digits, `extid-...` or `srcid-...`";
        let message = format!("an id must be {expected}; found {}", quoted(text));
        Error::BadRequest(vec![Issue::of_body("invalid_id", message)])
    })
}

async fn read_document(app: &App, request: &mut Request) -> Result<Document, Error> {
    require_json(request)?;
    let body = app.bodies.read(request, MAX_RECORD_BYTES).await?;
    Ok(Document::parse(&body.bytes)?)
}

fn actor(caller: Caller) -> Actor {
    Actor {
        tenant: caller.tenant,
        token: Some(caller.token_id),
    }
}

async fn write_record(app: &App, caller: Caller, command: Command) -> Result<Answer, Error> {
    match app.store.write(actor(caller), command).await? {
        Reply::Record(answer) => Ok(answer),
        other => Err(Error::Internal(format!(
            "a record was written and the reply was {other:?}"
        ))),
    }
}

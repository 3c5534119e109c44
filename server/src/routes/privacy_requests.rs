//! Privacy requests: export of a person's data (D1), and erasure (D2).

use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use poem::{Request, Response, http::header};
use svctrack_core::{
    plan::KnownPerson,
    resources::end_user::{self, END_USER},
    tracking::activity_query::ActivityQuery,
    value::{Document, ObjectId, RecordRef},
};
use svctrack_store::{
    Actor, AuditNote, Page, PageOptions, PageStart, PersonData, Store, StoreError, Tenant,
};

use super::{
    conditional_headers::precondition,
    request::{read_body, reference_in_path},
    respond::{deleted_count, json, name_ignored},
    strict::Strictness,
};
use crate::{
    app::App,
    auth::{Caller, authenticate, authorize_admin},
    bodies::response_budget::PageBody,
    error::Error,
    routing::path_tree::RoutedRequest,
};

/// Scopes of the data in an export: the record, activities, tickets, and the report's parked events.
pub(crate) const EXPORT_SCOPES: &[&str] =
    &["endusers:read", "activities:read", "tickets:read", "reports:read"];
/// Activities in a piece of an export, so that a piece has a few MB however large their `info` is.
const ACTIVITIES_PER_PIECE: usize = 50;
/// Room for a piece of an export, in bytes.
const PIECE_BYTES: usize = 4 * 1024 * 1024;

/// `GET /endusers/{id}/export`: one object, written piece by piece as it is read.
pub(crate) async fn export(
    app: &Arc<App>,
    request: &mut RoutedRequest<'_>,
) -> Result<Response, Error> {
    let caller = authenticate(app, request).await?;
    EXPORT_SCOPES.iter().try_for_each(|scope| caller.require(app, scope))?;
    let reference = reference_in_path(request)?;
    let found = app.store.record(&caller.tenant, &END_USER, &reference).await?;
    let found = found.ok_or(StoreError::NotFound)?;
    let user = Document::parse(found.text.as_bytes())?;
    // An export that cannot be audited is not sent.
    let note = AuditNote::done("enduser.export", END_USER.path, Some(found.id.to_string()));
    app.store.write_audit(caller.clone().into(), vec![note]).await?;
    let export = Export {
        store: app.store.clone(),
        tenant: caller.tenant,
        person: KnownPerson::from_record(found.id, &user),
        at: Some(ExportPosition {
            section: ExportSection::Activities,
            after: None,
            is_first: true,
        }),
    };
    let pieces = stream::unfold(export, |mut export| async move {
        let place = export.at.take()?;
        let piece = export.piece(place).await;
        Some((piece, export))
    });
    let mut page = Page::empty(&app.response_budget.for_tenant(caller.tenant.id()), None);
    page.room.take(PIECE_BYTES)?;
    page.later = Some(pieces.boxed());
    let head = format!(r#"{{"endUser":{}"#, found.text);
    Ok(Response::builder()
        .content_type("application/json")
        .header(header::CACHE_CONTROL, "no-store")
        .body(PageBody::new(page, head, "").into_body()))
}

/// A list of an export.
#[derive(Clone, Copy)]
enum ExportSection {
    Activities,
    Of(PersonData),
}

impl ExportSection {
    fn name(self) -> &'static str {
        match self {
            Self::Activities => "activities",
            Self::Of(PersonData::Tickets) => "tickets",
            Self::Of(PersonData::Parked) => "parkedEvents",
            Self::Of(PersonData::Report) => "integrationIssues",
        }
    }

    fn next(self) -> Option<Self> {
        match self {
            Self::Activities => Some(Self::Of(PersonData::Tickets)),
            Self::Of(PersonData::Tickets) => Some(Self::Of(PersonData::Parked)),
            Self::Of(PersonData::Parked) => Some(Self::Of(PersonData::Report)),
            Self::Of(PersonData::Report) => None,
        }
    }
}

struct ExportPosition {
    section: ExportSection,
    after: Option<ObjectId>,
    /// Whether no item of the list has been written yet.
    is_first: bool,
}

/// An export that is running.
struct Export {
    store: Arc<dyn Store>,
    tenant: Tenant,
    person: KnownPerson,
    /// None when all is written.
    at: Option<ExportPosition>,
}

impl Export {
    /// Next piece. An error interrupts the response, so that a part never looks like the whole.
    async fn piece(&mut self, place: ExportPosition) -> Result<Vec<u8>, StoreError> {
        let ExportPosition { section, after, is_first } = place;
        let page = self.page(section, after).await?;
        let mut text = Vec::new();
        if after.is_none() {
            text.extend_from_slice(format!(r#","{}":["#, section.name()).as_bytes());
        }
        let has_items = page.digest.records > 0;
        if !is_first && has_items {
            text.push(b',');
        }
        page.pieces.iter().for_each(|items| text.extend_from_slice(items));
        let is_first = is_first && !has_items;
        self.at = match (page.next, section.next()) {
            (Some(PageStart::After(id)), _) => {
                Some(ExportPosition { section, after: Some(id), is_first })
            }
            (_, Some(section)) => Some(ExportPosition { section, after: None, is_first: true }),
            (_, None) => None,
        };
        if page.next.is_none() {
            text.push(b']');
        }
        if self.at.is_none() {
            text.push(b'}');
        }
        Ok(text)
    }

    async fn page(
        &self,
        section: ExportSection,
        after: Option<ObjectId>,
    ) -> Result<Page, StoreError> {
        let part = match section {
            ExportSection::Of(part) => part,
            ExportSection::Activities => {
                let query = ActivityQuery::of_user(self.person.id, ACTIVITIES_PER_PIECE, after);
                let page_options = PageOptions::default();
                return self.store.log(&self.tenant, query.into(), page_options).await;
            }
        };
        self.store.person_data(&self.tenant, self.person.clone(), part, after).await
    }
}

/// `DELETE /endusers/{id}?erase=true`: responds when all data is removed.
pub(super) async fn erase(
    app: &App,
    request: &Request,
    caller: Caller,
    reference: RecordRef,
) -> Result<Response, Error> {
    let actor = Actor::from(caller);
    let erasing = app.store.erase(actor.clone(), reference, precondition(request)).await?;
    let Some(id) = erasing else { return Ok(deleted_count(0)) };
    // A separate task: it continues when the client disconnects.
    let task = tokio::spawn(erase_on(app.store.clone(), actor, id));
    task.await.map_err(|error| Error::Internal(error.to_string()))??;
    Ok(deleted_count(1))
}

async fn erase_on(store: Arc<dyn Store>, actor: Actor, id: ObjectId) -> Result<(), Error> {
    while store.continue_erasure(actor.clone(), id).await? {}
    Ok(())
}

/// `POST /endusers/unsuppress`: lets keys of erased people in again.
pub(crate) async fn unsuppress(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorize_admin(app, request).await?;
    let (sent, _room) = read_body(app, request, &caller).await?;
    let (keys, ignored) = end_user::read_keys(&sent).map_err(Error::Invalid)?;
    Strictness::from_request(request).check_properties(&ignored, &end_user::KEYS)?;
    let count = app.store.unsuppress(caller.into(), keys).await?;
    let mut response = json(format!(r#"{{"unsuppressed":{count}}}"#));
    name_ignored(&mut response, &ignored);
    Ok(response)
}

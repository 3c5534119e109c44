//! Lists, pages and forms of every resource, generated from its fields.

use poem::{Request, Response, http::Method};
use serde_json::{Map, Value};
use svctrack_core::{
    resources::REGISTRY,
    schema::{FieldKind, Fill, ResourceDef},
};
use svctrack_web::{
    Page,
    pages::{
        Paging, RecordView, RecordsView, References, RelatedList, address, record_form,
        record_page, records_page, target_of,
    },
};

use super::{
    api::{JSON, read},
    by_ids::text,
    columns::{columns, filled_columns, named_columns},
    forms::{headers_of, new_key, problems_of, sent},
    newest::newest,
    paging::{paging, total_of},
    record_sections,
    references::{of_form, references, resolve_all},
    respond::{html, rejected, see},
    saved_views,
    saving::{self, RejectedForm, StoredForm},
    visit::Visit,
};
use crate::{error::Error, path_tree::path_part, routes::query_pairs};

/// Records in a file: the maximum of a list.
const ALL: &str = "2000";
/// Records on a page.
const SHOWN: usize = 50;
/// Parameters of a list that are no filters.
const NO_FILTERS: &[&str] = &["sort", "offset", "search", "filter-by", "filter-value", "columns"];

type Record = Map<String, Value>;

/// The resource in the path of a page.
pub(super) fn resource(request: &Request) -> Result<&'static ResourceDef, Error> {
    let name = path_part(request, "resource").unwrap_or_default();
    REGISTRY.iter().copied().find(|def| def.path == name).ok_or(Error::RouteNotFound)
}

fn id(request: &Request) -> String {
    path_part(request, "id").unwrap_or_default().into_owned()
}

pub(super) fn may(visit: &Visit, def: &ResourceDef, action: &str) -> bool {
    visit.api.may(&format!("{}:{action}", def.path))
}

/// Rejects a form that the API would not accept from this user.
fn check(visit: &Visit, def: &ResourceDef, action: &str) -> Result<(), Error> {
    if may(visit, def, action) {
        Ok(())
    } else {
        Err(Error::Forbidden(format!("{}:{action}", def.path)))
    }
}

/// `GET /app/records/:resource`
pub(super) async fn list(visit: Visit, request: Request) -> Result<Response, Error> {
    let view = listed(&visit, resource(&request)?, &query_pairs(&request)).await?;
    Ok(html(records_page(&visit.shell, &view)))
}

/// List for the address of its page.
pub(super) async fn listed(
    visit: &Visit,
    def: &'static ResourceDef,
    pairs: &[(String, String)],
) -> Result<RecordsView, Error> {
    let mut pairs = pairs.to_vec();
    name_filter(&mut pairs);
    let unresolved = resolve_all(visit, def.fields, &mut pairs).await?;
    let pairs = &*pairs;
    let mut view = asked(visit, def, pairs);
    let filters = view
        .filters
        .iter()
        .filter_map(|(name, value)| Some((target_of(def.field(name)?)?, value.as_str())));
    view.references = references(visit, filters).await?;
    if !unresolved.is_empty() {
        view.problems = unresolved;
        return Ok(view);
    }
    let offset: usize = sent(pairs, "offset").parse().unwrap_or_default();
    let (shown, at) = (SHOWN.to_string(), offset.to_string());
    let rest = [("limit", shown.as_str()), ("offset", at.as_str()), ("count", "true")];
    let path = address("/{}", &[def.path], &[&view.records_query()[..], &rest].concat());
    match visit.api.ask(&path, JSON).await.map_err(Error::into_issues) {
        Ok(response) => {
            let total = total_of(&response);
            view.records = read(response).await?;
            if view.chosen.is_empty() {
                view.columns = filled_columns(view.columns, &view.records);
            }
            let page_at = |offset: usize| {
                let at = offset.to_string();
                let query = [&view.query()[..], &[("offset", &at)]].concat();
                address("/app/records/{}", &[def.path], &query)
            };
            view.paging = paging((offset, SHOWN), (view.records.len(), total), page_at);
        }
        Err(Ok(issues)) => view.problems = problems_of(issues),
        Err(Err(error)) => return Err(error),
    }
    Ok(view)
}

/// Writes the filter that a form adds as any other: the form sends its property and its value separately.
fn name_filter(pairs: &mut Vec<(String, String)>) {
    let [name, value] = ["filter-by", "filter-value"].map(|name| sent(pairs, name).to_owned());
    if !name.is_empty() {
        pairs.push((name, value));
    }
}

/// Query in the address of a list.
fn asked(visit: &Visit, def: &'static ResourceDef, pairs: &[(String, String)]) -> RecordsView {
    let added = sent(pairs, "filter-by");
    let is_filter = |(name, text): &&(String, String)| {
        !NO_FILTERS.contains(&name.as_str()) && (name == added || !text.is_empty())
    };
    let filters: Vec<(String, String)> = pairs.iter().filter(is_filter).cloned().collect();
    // A form sends each column separately, and a link all of them at once.
    let chosen = pairs.iter().filter(|(name, _)| name == "columns").map(|(_, text)| text.as_str());
    let named = named_columns(def, &chosen.collect::<Vec<_>>().join(","));
    let names: Vec<&str> = named.iter().map(|field| field.name).collect();
    let mut view = RecordsView {
        def,
        chosen: names.join(","),
        columns: if named.is_empty() { columns(def) } else { named },
        records: Vec::new(),
        paging: Paging::default(),
        sort: sent(pairs, "sort").to_owned(),
        search: sent(pairs, "search").to_owned(),
        filters,
        references: References::default(),
        csv: String::new(),
        saved: saved_views::for_resource(visit, def),
        may_save: visit.api.may("admin"),
        may_create: may(visit, def, "create"),
        problems: Vec::new(),
    };
    let mut query = [&view.records_query()[..], &[("form", "csv"), ("limit", ALL)]].concat();
    query.extend(Some(("select", view.chosen.as_str())).filter(|(_, names)| !names.is_empty()));
    view.csv = address("/app/files/{}", &[def.path], &query);
    view
}

/// A record, and its version.
async fn found(visit: &Visit, def: &ResourceDef, id: &str) -> Result<(Record, String), Error> {
    visit.api.record(&address("/{}/{}", &[def.path, id], &[])).await
}

fn view_of(visit: &Visit, def: &'static ResourceDef, record: Record) -> RecordView {
    RecordView {
        def,
        record,
        version: String::new(),
        once: String::new(),
        sent: Vec::new(),
        references: References::default(),
        may_update: may(visit, def, "update"),
        may_delete: may(visit, def, "delete"),
        related: Vec::new(),
        extra: Vec::new(),
        actions: Vec::new(),
        problems: Vec::new(),
    }
}

/// `GET /app/records/:resource/:id`
pub(super) async fn show(visit: Visit, request: Request) -> Result<Response, Error> {
    let view = view(&visit, resource(&request)?, &id(&request)).await?;
    Ok(html(record_page(&visit.shell, &view)))
}

/// A record with the contents of its page.
pub(super) async fn view(
    visit: &Visit,
    def: &'static ResourceDef,
    id: &str,
) -> Result<RecordView, Error> {
    let (record, version) = found(visit, def, id).await?;
    let own = text(&record, "_id").to_owned();
    let mut view = RecordView { version, ..view_of(visit, def, record) };
    view.related = related(visit, def, &own, &view.record).await?;
    record_sections::extend(visit, &own, &mut view).await?;
    Ok(view)
}

/// The records that refer to a record, by resource.
async fn related(
    visit: &Visit,
    def: &ResourceDef,
    id: &str,
    of: &Record,
) -> Result<Vec<RelatedList>, Error> {
    let mut lists = Vec::new();
    for other in REGISTRY.iter().copied().filter(|other| may(visit, other, "read")) {
        let refers = other.fields.iter().find(|field| {
            field.kind == FieldKind::Reference
                && field.refers.is_some_and(|refers| refers.resource == def.name)
        });
        let Some(field) = refers else { continue };
        let mut list = match newest(visit, other, (field.name, id)).await {
            Ok(list) => list,
            Err(error) => match error.into_issues() {
                Ok(_) => continue,
                Err(error) => return Err(error),
            },
        };
        if list.records.is_empty() {
            continue;
        }
        // The page is about the referenced record: its properties need not be repeated.
        let is_same = |name: &str| {
            let own = of.get(name).filter(|own| !own.is_null());
            own.is_some() && list.records.iter().all(|record| record.get(name) == own)
        };
        list.columns.retain(|it| {
            !matches!(it.fill, Fill::NameOf(row) if row == field.name) && !is_same(it.name)
        });
        list.columns = filled_columns(list.columns, &list.records);
        lists.push(list);
    }
    Ok(lists)
}

/// `GET /app/records/:resource/new`
pub(super) async fn new(visit: Visit, request: Request) -> Result<Response, Error> {
    let def = resource(&request)?;
    check(&visit, def, "create")?;
    let view = RecordView { once: new_key()?, ..view_of(&visit, def, Record::new()) };
    Ok(html(form(&visit, view).await?))
}

/// `GET /app/records/:resource/:id/edit`
pub(super) async fn edit(visit: Visit, request: Request) -> Result<Response, Error> {
    let def = resource(&request)?;
    check(&visit, def, "update")?;
    let (record, version) = found(&visit, def, &id(&request)).await?;
    let view = RecordView { version, ..view_of(&visit, def, record) };
    Ok(html(form(&visit, view).await?))
}

/// The page of a form, with the names of the records that it refers to.
async fn form(visit: &Visit, mut view: RecordView) -> Result<Page, Error> {
    view.references = of_form(visit, view.def, &view.sent, &view.record).await?;
    Ok(record_form(&visit.shell, &view))
}

/// `POST /app/records/:resource/new`
pub(super) async fn create(visit: Visit, mut request: Request) -> Result<Response, Error> {
    let view = view_of(&visit, resource(&request)?, Record::new());
    let path = address("/{}", &[view.def.path], &[]);
    save(&visit, &mut request, view, (Method::POST, &path)).await
}

/// `POST /app/records/:resource/:id/edit`
pub(super) async fn update(visit: Visit, mut request: Request) -> Result<Response, Error> {
    let def = resource(&request)?;
    let id = id(&request);
    let (record, version) = found(&visit, def, &id).await?;
    let view = RecordView { version, ..view_of(&visit, def, record) };
    save(&visit, &mut request, view, (Method::PUT, &address("/{}/{}", &[def.path, &id], &[]))).await
}

/// Saves a form; shows it again with its problems.
async fn save(
    visit: &Visit,
    request: &mut Request,
    mut view: RecordView,
    call: (Method, &str),
) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(request).await?;
    let stored = StoredForm { def: view.def, record: &view.record, version: &view.version };
    match saving::save(visit, call, pairs, &stored).await? {
        Ok(saved) => {
            let id = saved.get("_id").and_then(Value::as_str).unwrap_or_default();
            Ok(see(&address("/app/records/{}/{}", &[view.def.path, id], &[])))
        }
        Err(RejectedForm { problems, version, sent }) => {
            if view.record.is_empty() {
                view.once = new_key()?;
            }
            view = RecordView { version, sent, problems, ..view };
            Ok(rejected(form(visit, view).await?))
        }
    }
}

/// `POST /app/records/:resource/:id/delete`
pub(super) async fn delete(visit: Visit, mut request: Request) -> Result<Response, Error> {
    let def = resource(&request)?;
    let id = id(&request);
    let (pairs, _room) = visit.form(&mut request).await?;
    let path = address("/{}/{}", &[def.path, &id], &[]);
    let deleted = visit.api.send(Method::DELETE, &path, &headers_of(&pairs), &Value::Null).await;
    match deleted.map_err(Error::into_issues) {
        Ok(_) => Ok(see(&address("/app/records/{}", &[def.path], &[]))),
        Err(Ok(issues)) => {
            let problems = problems_of(issues);
            let view = RecordView { problems, ..view(&visit, def, &id).await? };
            Ok(rejected(record_page(&visit.shell, &view)))
        }
        Err(Err(error)) => Err(error),
    }
}

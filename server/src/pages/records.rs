//! Lists, pages and forms of every resource, generated from its fields.

use poem::{Request, Response, http::Method};
use serde_json::{Map, Value};
use svctrack_core::{
    resources::{REGISTRY, end_user::END_USER, settings::BaseCurrency},
    schema::{FieldDef, FieldKind, Fill, ResourceDef},
    value::Zone,
};
use svctrack_web::{
    Page,
    pages::{
        Paging, RecordView, RecordsView, References, RelatedList, address, property_label,
        record_form, record_page, records_page, target_of,
    },
};

use super::{
    api::{JSON, read},
    by_ids::text,
    columns::{columns, filled_columns, named_columns},
    downloads::with_query,
    list_query::{
        AddedFilter, FILTER_BY, OF_THE_API, add_names, added, filters, in_zone, resolve_filter,
    },
    newest::newest,
    paging::{paging, total_of},
    references::{names_in, names_of, of_form, references},
    respond::{html, rejected, see, shown},
    save_record::{self, RejectedForm, StoredForm},
    saved_views::ViewedList,
    sections_by_resource,
    submitted_form::{
        headers_of, new_key, notice_of, problems_of, problems_of_address, sent, unknown_parameters,
    },
    visit::{Visit, resource},
};
use crate::{
    error::Error,
    routes::query_pairs,
    routing::path_tree::{RoutedRequest, path_part},
};

/// Maximum number of records in a file that has the order of its list; a longer one has that of their creation.
const SORTED: u64 = 50_000;
/// Records on a page.
const SHOWN: usize = 50;

type Record = Map<String, Value>;

fn id(request: &RoutedRequest<'_>) -> String {
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

/// What the list says after an action that leads to it.
const NOTICES: &[(&str, &str)] = &[("deleted", "The record was deleted.")];
/// What the list of end users says besides.
const ERASED: (&str, &str) =
    ("erased", "The person was erased, with all their activities, and is not stored again.");

/// `GET /app/records/:resource`
pub(super) async fn list(mut visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let (def, mut pairs) = (resource(&request)?, query_pairs(&request));
    let erased = Some(ERASED).filter(|_| *def == END_USER);
    let notices: Vec<_> = NOTICES.iter().copied().chain(erased).collect();
    visit.shell.notice = notice_of(&pairs, &notices);
    let unresolved = resolve_filter(&visit, def, &mut pairs).await?;
    let field = match added(def, &pairs) {
        AddedFilter::Filter(filter) if unresolved.is_empty() => {
            let mut view = asked(&visit, def, &pairs);
            view.filters.push(filter);
            return Ok(see(&address("/app/records/{}", &[def.path], &view.query())));
        }
        AddedFilter::Filter(_) => def.field(sent(&pairs, FILTER_BY)),
        AddedFilter::Field(field) => Some(field),
        AddedFilter::None => None,
    };
    let mut view = RecordsView { adding: field, ..listed(&visit, def, &pairs).await? };
    view.problems.extend(unresolved);
    let target = field.and_then(target_of).map(|target| (target, ""));
    view.references.suggestions = references(&visit, target.into_iter()).await?.suggestions;
    // What has a problem is not worth a name.
    view.views.may_save &= view.problems.is_empty();
    Ok(shown(records_page(&visit.shell, &view), &view.problems))
}

/// List for the address of its page.
pub(super) async fn listed(
    visit: &Visit,
    def: &'static ResourceDef,
    pairs: &[(String, String)],
) -> Result<RecordsView, Error> {
    let mut view = asked(visit, def, pairs);
    let offset: usize = sent(pairs, "offset").parse().unwrap_or_default();
    let (shown, at) = (SHOWN.to_string(), offset.to_string());
    let rest = [("limit", shown.as_str()), ("offset", at.as_str()), ("count", "true")];
    let query = in_zone(&[&view.records_query()[..], &rest].concat(), visit.shell.zone);
    let path = with_query(&format!("/{}", def.path), &query);
    view.problems = unknown_parameters(pairs, |name| !OF_THE_API.contains(&name));
    match visit.api.ask(&path, JSON).await.map_err(Error::into_issues) {
        _ if !view.problems.is_empty() => {}
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
            view.is_file_sorted = view.paging.total.is_some_and(|total| total <= SORTED);
            view.csv = csv(&view, visit.shell.zone);
            view.references.names = names_of(visit, &view.columns, &view.records).await?;
            add_names(visit, def, &mut view.filters).await?;
        }
        Err(Ok(issues)) => view.problems = problems_of_address(issues, property_label),
        Err(Err(error)) => return Err(error),
    }
    Ok(view)
}

/// Query in the address of a list.
fn asked(visit: &Visit, def: &'static ResourceDef, pairs: &[(String, String)]) -> RecordsView {
    // A form sends each column separately, and a link all of them at once.
    let chosen = pairs.iter().filter(|(name, _)| name == "columns").map(|(_, text)| text.as_str());
    let named = named_columns(def, &chosen.collect::<Vec<_>>().join(","));
    let names: Vec<&str> = named.iter().map(|field| field.name).collect();
    RecordsView {
        def,
        chosen: names.join(","),
        columns: if named.is_empty() { columns(def) } else { named },
        records: Vec::new(),
        base: BaseCurrency::from_settings(&visit.settings),
        paging: Paging::default(),
        sort: sent(pairs, "sort").to_owned(),
        search: sent(pairs, "search").to_owned(),
        filters: filters(pairs),
        adding: None,
        references: References::default(),
        csv: String::new(),
        is_file_sorted: true,
        views: ViewedList::of_records(def).views(visit),
        may_create: may(visit, def, "create"),
        problems: Vec::new(),
    }
}

/// The address of all records of a list as CSV.
fn csv(view: &RecordsView, zone: Zone) -> String {
    let mut query = if view.is_file_sorted { view.records_query() } else { view.filtered() };
    query.extend(Some(("select", view.chosen.as_str())).filter(|(_, names)| !names.is_empty()));
    query.push(("form", "csv"));
    with_query(&format!("/app/files/{}", view.def.path), &in_zone(&query, zone))
}

/// A record, and its version.
async fn found(visit: &Visit, def: &ResourceDef, id: &str) -> Result<(Record, String), Error> {
    visit.api.record(&address("/{}/{}", &[def.path, id], &[])).await
}

fn view_of(visit: &Visit, def: &'static ResourceDef, record: Record) -> RecordView {
    RecordView {
        def,
        record,
        base: BaseCurrency::from_settings(&visit.settings),
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
pub(super) async fn show(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
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
    view.references = names_in(visit, def, &view.record).await?;
    view.related = related(visit, def, &own, &view.record).await?;
    sections_by_resource::extend(visit, &own, &mut view).await?;
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
        // The page is about the referenced record: its name and keys need not be repeated.
        let is_same = |it: &FieldDef| {
            let own = of.get(it.name).filter(|own| !own.is_null() && it.kind != FieldKind::Number);
            own.is_some() && list.records.iter().all(|record| record.get(it.name) == own)
        };
        list.columns.retain(|it| {
            !matches!(it.fill, Fill::NameOf(row) if row == field.name) && !is_same(it)
        });
        list.columns = filled_columns(list.columns, &list.records);
        lists.push(list);
    }
    Ok(lists)
}

/// `GET /app/records/:resource/new`
pub(super) async fn new(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let def = resource(&request)?;
    check(&visit, def, "create")?;
    let view = RecordView { once: new_key()?, ..view_of(&visit, def, Record::new()) };
    Ok(html(form(&visit, view).await?))
}

/// `GET /app/records/:resource/:id/edit`
pub(super) async fn edit(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
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
pub(super) async fn create(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let view = view_of(&visit, resource(&request)?, Record::new());
    let path = address("/{}", &[view.def.path], &[]);
    save(&visit, &mut request, view, (Method::POST, &path)).await
}

/// `POST /app/records/:resource/:id/edit`
pub(super) async fn update(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
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
    match save_record::save(visit, call, pairs, &stored).await? {
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
pub(super) async fn delete(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let def = resource(&request)?;
    let id = id(&request);
    let (pairs, _room) = visit.form(&mut request).await?;
    let path = address("/{}/{}", &[def.path, &id], &[]);
    let deleted = visit.api.send(Method::DELETE, &path, &headers_of(&pairs), &Value::Null).await;
    match deleted.map_err(Error::into_issues) {
        Ok(_) => Ok(see(&address("/app/records/{}", &[def.path], &[("done", "deleted")]))),
        Err(Ok(issues)) => {
            let problems = problems_of(issues);
            let view = RecordView { problems, ..view(&visit, def, &id).await? };
            Ok(rejected(record_page(&visit.shell, &view)))
        }
        Err(Err(error)) => Err(error),
    }
}

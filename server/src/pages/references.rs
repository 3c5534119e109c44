//! References by name: the records that forms and filters refer to are chosen as `Acme (acme)`, not by an id. A text is
//! looked up as the search does, so that it takes the same time however many records there are.

use poem::{Response, http::header};
use serde_json::{Map, Value};
use svctrack_core::{
    resources::end_user::END_USER,
    schema::{FieldDef, Fill, ResourceDef, filter_text::escaped},
    value::{ObjectId, RecordRef},
};
use svctrack_store::StoreError;
use svctrack_web::pages::{
    Problem, References, address, choice_of, ids_of, label_of, listed_target, target_of, title_of,
};

use super::{
    by_ids::{TITLES, by_ids, text},
    submitted_form::sent,
    visit::{Visit, resource},
};
use crate::{error::Error, routes::query_pairs, routing::path_tree::RoutedRequest};

/// Maximum number of records that are suggested.
const SUGGESTED: usize = 20;
/// Maximum number of records that a message names.
const NAMED: usize = 3;
/// Properties by which a person finds a record, the first that a resource has.
const NAMES: [&str; 3] = ["name", "product", "title"];

type Record = Map<String, Value>;

/// `GET /app/suggestions/:resource`: records in which a text is found, as JSON.
pub(super) async fn suggestions(
    visit: Visit,
    request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let def = resource(&request)?;
    let found = search(&visit, def, sent(&query_pairs(&request), "q").trim()).await?;
    let texts: Vec<String> = found.iter().map(|record| choice(def, record)).collect();
    let body = serde_json::to_string(&texts).map_err(|error| Error::Internal(error.to_string()))?;
    let response = Response::builder().content_type("application/json");
    Ok(response.header(header::CACHE_CONTROL, "no-store").body(body))
}

/// Text of a record that can be chosen.
fn choice(def: &ResourceDef, record: &Record) -> String {
    let key = match text(record, "externalId") {
        "" => text(record, "_id"),
        key => key,
    };
    choice_of(&title_of(def, record), key)
}

async fn list(visit: &Visit, def: &ResourceDef, query: (&str, &str)) -> Result<Vec<Record>, Error> {
    let limit = SUGGESTED.to_string();
    let path = address("/{}", &[def.path], &[query, ("limit", &limit)]);
    // A text that cannot be searched for, such as one that is too long, is found nowhere.
    visit.api.get(&path).await.or_else(|error| error.into_issues().map(|_| Vec::new()))
}

/// Records in which a text is found.
async fn search(visit: &Visit, def: &ResourceDef, text: &str) -> Result<Vec<Record>, Error> {
    let name = NAMES.into_iter().find(|name| def.field(name).is_some()).unwrap_or("externalId");
    let by_name = format!("{name}[contains]");
    let literal = escaped(text);
    let mut found = list(visit, def, (&by_name, &literal)).await?;
    if found.is_empty() && def.path == END_USER.path {
        found = list(visit, def, ("email[prefix]", &literal)).await?;
    }
    Ok(found)
}

/// The record that a reference names, if there is one.
async fn record(visit: &Visit, def: &ResourceDef, key: &str) -> Result<Option<Record>, Error> {
    let path = address("/{}/{}", &[def.path, key], &[]);
    match visit.api.get(&path).await {
        Ok(record) => Ok(Some(record)),
        Err(Error::Store(StoreError::NotFound)) => Ok(None),
        Err(error) => error.into_issues().map(|_| None),
    }
}

/// Reference to the record that a text names; a message where that is not one record. Who may not read the resource can
/// send references alone.
pub(super) async fn resolve(
    visit: &Visit,
    def: &ResourceDef,
    sent: &str,
) -> Result<Result<String, String>, Error> {
    let sent = sent.trim();
    let may_read = visit.api.may(&format!("{}:read", def.path));
    if sent.is_empty() || RecordRef::parse(sent).is_some() || !may_read {
        return Ok(Ok(sent.to_owned()));
    }
    if let Some((_, key)) = sent.strip_suffix(')').and_then(|rest| rest.rsplit_once('(')) {
        let key =
            if RecordRef::parse(key).is_some() { key.to_owned() } else { format!("extid-{key}") };
        let found = record(visit, def, &key).await?;
        if let Some(found) = found.filter(|found| choice(def, found) == sent) {
            return Ok(Ok(text(&found, "_id").to_owned()));
        }
    }
    let found = search(visit, def, sent).await?;
    let is_it = |record: &&Record| {
        let names = [title_of(def, record), text(record, "email").to_owned()];
        names.iter().any(|name| name.to_lowercase() == sent.to_lowercase())
    };
    let same: Vec<&Record> = found.iter().filter(is_it).collect();
    if let [only] = same[..] {
        return Ok(Ok(text(only, "_id").to_owned()));
    }
    let what = label_of(def.name).to_lowercase();
    let similar = if same.is_empty() { found.iter().collect() } else { same };
    let named: Vec<String> = similar.iter().take(NAMED).map(|record| choice(def, record)).collect();
    Ok(Err(match named.as_slice() {
        [] => format!("No {what} has the name {sent}. Choose one of the suggestions."),
        named => format!("Choose one {what}: {}.", named.join(", ")),
    }))
}

/// Replaces the names in a form by references; a problem for each that names no record.
pub(super) async fn resolve_all(
    visit: &Visit,
    fields: &'static [FieldDef],
    pairs: &mut [(String, String)],
) -> Result<Vec<Problem>, Error> {
    let mut problems = Vec::new();
    for (name, value) in pairs {
        let field = fields.iter().find(|field| field.name == name);
        let Some(def) = field.and_then(target_of) else { continue };
        match resolve(visit, def, value).await? {
            Ok(reference) => *value = reference,
            Err(message) => problems.push(Problem { field: name.clone(), message }),
        }
    }
    Ok(problems)
}

/// Names of the records that fields refer to, and suggestions for their resources.
pub(super) async fn references<'t>(
    visit: &Visit,
    fields: impl Iterator<Item = (&'static ResourceDef, &'t str)>,
) -> Result<References, Error> {
    let mut references = References::default();
    for (def, reference) in fields {
        if !visit.api.may(&format!("{}:read", def.path)) {
            continue;
        }
        if RecordRef::parse(reference).is_some()
            && let Some(found) = record(visit, def, reference).await?
        {
            references.names.push((reference.to_owned(), choice(def, &found)));
        }
        if references.suggestions.iter().all(|(known, _)| *known != def.path) {
            let newest = list(visit, def, ("sort", "-_id")).await?;
            let texts = newest.iter().map(|record| choice(def, record)).collect();
            references.suggestions.push((def.path, texts));
        }
    }
    Ok(references)
}

/// Names of the records that a record refers to, where it does not have them itself.
pub(super) async fn names_in(
    visit: &Visit,
    def: &ResourceDef,
    of: &Record,
) -> Result<References, Error> {
    let mut references = References::default();
    for field in def.fields {
        if let Some(target) = listed_target(field) {
            let found = by_ids(visit, target.path, ids_of(of, field), TITLES).await?;
            let names = found.into_iter().map(|(id, record)| (id, title_of(target, &record)));
            references.names.extend(names);
        }
        let has_name = |it: &FieldDef| matches!(it.fill, Fill::NameOf(row) if row == field.name);
        let (target, id) = (target_of(field), text(of, field.name));
        let target = target.filter(|it| visit.api.may(&format!("{}:read", it.path)));
        let Some(target) = target.filter(|_| !id.is_empty()) else { continue };
        if !def.fields.iter().any(has_name)
            && let Some(found) = record(visit, target, id).await?
        {
            references.names.push((id.to_owned(), title_of(target, &found)));
        }
    }
    Ok(references)
}

/// Names of the records that columns of a list refer to.
pub(super) async fn names_of(
    visit: &Visit,
    columns: &[&'static FieldDef],
    records: &[Record],
) -> Result<Vec<(String, String)>, Error> {
    let mut names = Vec::new();
    for (column, target) in columns.iter().filter_map(|column| Some((*column, target_of(column)?)))
    {
        let ids = records.iter().map(|record| text(record, column.name));
        let ids = ids.filter(|id| ObjectId::parse(id).is_some());
        let found = by_ids(visit, target.path, ids, TITLES).await?;
        names.extend(found.into_iter().map(|(id, record)| (id, title_of(target, &record))));
    }
    Ok(names)
}

/// References of the fields of a form, which has values that were sent, and those of a record.
pub(super) async fn of_form(
    visit: &Visit,
    def: &'static ResourceDef,
    sent_pairs: &[(String, String)],
    record: &Record,
) -> Result<References, Error> {
    let fields = def.fields.iter().filter(|field| field.is_sent());
    let fields = fields.filter_map(|field| {
        let value = match sent(sent_pairs, field.name) {
            "" => text(record, field.name),
            sent => sent,
        };
        Some((target_of(field)?, value))
    });
    references(visit, fields).await
}

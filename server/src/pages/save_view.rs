//! Saved views: named queries of lists, in the settings of the tenant, for all its users.

use poem::{
    Response,
    http::{Method, header},
};
use serde_json::{Map, Value, json};
use svctrack_core::resources::settings::VIEWS;
use svctrack_web::pages::{Problem, customers_page, records_page};

use super::{
    customers::ranked,
    records::listed,
    respond::{rejected, see},
    saved_views::{ViewedList, pairs_of},
    submitted_form::{problems_of, sent},
    visit::{Visit, resource},
};
use crate::{error::Error, routing::path_tree::RoutedRequest};

const SETTINGS: &str = "/settings";

/// `POST /app/records/:resource/views`: saves the view of a list under a name, or removes it.
pub(super) async fn save(visit: Visit, mut request: RoutedRequest<'_>) -> Result<Response, Error> {
    let def = resource(&request)?;
    let (pairs, _room) = visit.form(&mut request).await?;
    match store(&visit, &ViewedList::of_records(def), &pairs).await? {
        Ok(path) => Ok(see(&path)),
        Err(problems) => {
            let mut view = listed(&visit, def, &pairs_of(sent(&pairs, "query"))).await?;
            view.problems = problems;
            Ok(rejected(records_page(&visit.shell, &view)))
        }
    }
}

/// `POST /app/customers/views`: saves the view of the customers under a name, or removes it.
pub(super) async fn save_customers(
    visit: Visit,
    mut request: RoutedRequest<'_>,
) -> Result<Response, Error> {
    let (pairs, _room) = visit.form(&mut request).await?;
    match store(&visit, &ViewedList::of_customers(), &pairs).await? {
        Ok(path) => Ok(see(&path)),
        Err(problems) => {
            let mut view = ranked(&visit, &pairs_of(sent(&pairs, "query"))).await?;
            view.problems = problems;
            Ok(rejected(customers_page(&visit.shell, &view)))
        }
    }
}

/// Stores the views of a list without or with the one of a form; returns the address of the list.
async fn store(
    visit: &Visit,
    list: &ViewedList,
    pairs: &[(String, String)],
) -> Result<Result<String, Vec<Problem>>, Error> {
    let (name, query) = (sent(pairs, "name").trim(), sent(pairs, "query"));
    let (settings, version) = visit.api.record(SETTINGS).await?;
    let object = |value: Option<&Value>| value.and_then(Value::as_object).cloned();
    let mut views: Map<String, Value> = object(settings.get(VIEWS.name)).unwrap_or_default();
    let mut named = object(views.get(list.name)).unwrap_or_default();
    match sent(pairs, "step") {
        "remove" => drop(named.remove(name)),
        _ => drop(named.insert(name.to_owned(), json!(query))),
    }
    views.insert(list.name.to_owned(), Value::Object(named));
    let headers = [(header::IF_MATCH, version.as_str())];
    let body = json!({ (VIEWS.name): views });
    match visit.api.send(Method::PUT, SETTINGS, &headers, &body).await.map_err(Error::into_issues) {
        Ok(_) => Ok(Ok(list.with(&pairs_of(query)))),
        Err(Ok(issues)) => Ok(Err(problems_of(issues))),
        Err(Err(error)) => Err(error),
    }
}

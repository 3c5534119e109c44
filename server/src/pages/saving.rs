//! Saves the form of a record, unless the record was changed since the form was opened.

use poem::http::Method;
use serde_json::{Map, Value};
use svctrack_core::schema::ResourceDef;
use svctrack_web::pages::Problem;

use super::{
    forms::{body_of, changed, headers_of, problems_of, sent},
    visit::Visit,
};
use crate::error::Error;

/// The stored record when its form arrives.
pub(super) struct StoredForm<'r> {
    pub(super) def: &'static ResourceDef,
    /// Properties of the record; empty where the form creates one.
    pub(super) record: &'r Map<String, Value>,
    /// `ETag` of the record; empty where the form creates one.
    pub(super) version: &'r str,
}

/// Problems of a rejected form, and the version that it is shown with again.
pub(super) struct RejectedForm {
    pub(super) problems: Vec<Problem>,
    pub(super) version: String,
}

/// Saves a form; returns the record after it.
pub(super) async fn save(
    visit: &Visit,
    (method, path): (Method, &str),
    pairs: &[(String, String)],
    stored: &StoredForm<'_>,
) -> Result<Result<Value, RejectedForm>, Error> {
    let version = sent(pairs, "version").to_owned();
    let body = match body_of(stored.def, pairs, stored.record) {
        Ok(body) => body,
        Err(problems) => return Ok(Err(RejectedForm { problems, version })),
    };
    let saved = visit.api.send(method, path, &headers_of(pairs), &body).await;
    match saved.map_err(Error::into_issues) {
        Ok(saved) => Ok(Ok(saved)),
        Err(Ok(issues)) => {
            let now = changed(&issues, &body, (stored.def, stored.record));
            // The next save overwrites the record that the page shows from here on.
            let version = if now.is_some() { stored.version.to_owned() } else { version };
            let problems = problems_of(issues).into_iter().chain(now.unwrap_or_default());
            Ok(Err(RejectedForm { problems: problems.collect(), version }))
        }
        Err(Err(error)) => Err(error),
    }
}

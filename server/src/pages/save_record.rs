//! Saves the form of a record, unless the record was changed since the form was opened.

use poem::http::Method;
use serde_json::{Map, Value};
use svctrack_core::schema::{ResourceDef, form};
use svctrack_web::pages::{Problem, document_of, label_of};

use super::{
    references::resolve_all,
    submitted_form::{self, body_of, headers_of, problems_of},
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

/// A rejected form, as it is shown again.
pub(super) struct RejectedForm {
    pub(super) problems: Vec<Problem>,
    /// Version of the record with which the form is sent the next time.
    pub(super) version: String,
    /// Texts that were sent and stay in the form; all others are those of the record.
    pub(super) sent: Vec<(String, String)>,
}

/// Saves a form; returns the record after it.
pub(super) async fn save(
    visit: &Visit,
    (method, path): (Method, &str),
    mut pairs: Vec<(String, String)>,
    stored: &StoredForm<'_>,
) -> Result<Result<Value, RejectedForm>, Error> {
    let unresolved = resolve_all(visit, stored.def.fields, &mut pairs).await?;
    let mut body = body_of(stored.def, &pairs, stored.record);
    // The call is sent all the same: it is rejected with what else is wrong.
    let fields = unresolved.iter().filter_map(|problem| stored.def.field(&problem.field));
    fields.for_each(|field| body.invalidate(field));
    let saved = visit.api.send(method, path, &headers_of(&pairs), &body.document).await;
    let issues = match saved.map_err(Error::into_issues) {
        Ok(saved) => return Ok(Ok(saved)),
        Err(issues) => issues?,
    };
    let mut problems = problems_of(body.all_issues(issues));
    problems.retain(|problem| unresolved.iter().all(|other| other.field != problem.field));
    let problems = [unresolved, problems].concat();
    Ok(Err(stored.rejected(pairs, problems)))
}

impl StoredForm<'_> {
    /// A rejected form. Where the record was changed since the form was opened, the form is shown with the stored record:
    /// what the user changed stays, with the stored value where it was changed too, and all else is as it is stored.
    fn rejected(
        &self,
        mut sent: Vec<(String, String)>,
        mut problems: Vec<Problem>,
    ) -> RejectedForm {
        let version = submitted_form::sent(&sent, "version").to_owned();
        let opened: Option<Map<String, Value>> =
            serde_json::from_str(submitted_form::sent(&sent, "shown")).ok();
        let Some(opened) = opened.filter(|_| version != self.version) else {
            return RejectedForm { problems, version, sent };
        };
        let (opened, stored) = (document_of(&opened), document_of(self.record));
        sent.retain(|(name, text)| {
            let Some(field) = self.def.field(name) else { return false };
            let (then, now) = (opened.get(name), stored.get(name));
            let is_kept = form::differs(field, text, then) && form::differs(field, text, now);
            let now = form::filled(field, now);
            if is_kept && now != form::filled(field, then) {
                let now = if now.is_empty() { "empty" } else { &now };
                let message = format!("{} is now: {now}", label_of(name));
                problems.push(Problem { field: name.clone(), message });
            }
            is_kept
        });
        RejectedForm { problems, version: self.version.to_owned(), sent }
    }
}

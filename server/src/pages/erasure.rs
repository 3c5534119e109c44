//! Erases a person after their name was typed.

use poem::{Response, http::Method};
use serde_json::Value;
use svctrack_core::resources::end_user::END_USER;
use svctrack_web::pages::{Problem, RecordSection, address, record_page};

use super::{
    person_sections::confirmation,
    records,
    respond::{rejected, see},
    submitted_form::sent,
    visit::Visit,
};
use crate::{
    error::Error,
    routing::path_tree::{RoutedRequest, path_part},
};

/// `POST /app/records/endusers/:id/erase`
pub(super) async fn erase(visit: Visit, mut request: RoutedRequest<'_>) -> Result<Response, Error> {
    let id = path_part(&request, "id").unwrap_or_default().into_owned();
    let (pairs, _room) = visit.form(&mut request).await?;
    let mut view = records::view(&visit, &END_USER, &id).await?;
    let expected = confirmation(&view.record);
    if sent(&pairs, "confirmation").trim() != expected {
        let message = format!("Not erased: type {expected} to confirm.");
        if let Some(RecordSection::Erase { is_rejected, .. }) = view.extra.last_mut() {
            *is_rejected = true;
        }
        view.problems.push(Problem { field: "confirmation".to_owned(), message });
        return Ok(rejected(record_page(&visit.shell, &view)));
    }
    let path = address("/endusers/{}", &[&id], &[("erase", "true")]);
    visit.api.send(Method::DELETE, &path, &[], &Value::Null).await?;
    Ok(see(&address("/app/records/endusers", &[], &[("done", "erased")])))
}

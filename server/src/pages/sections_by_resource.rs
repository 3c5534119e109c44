//! Sections of some records' pages besides their properties: one row per resource.

use std::future::ready;

use futures_util::future::BoxFuture;
use svctrack_core::{
    resources::{company::COMPANY, end_user::END_USER, license::LICENSE},
    schema::ResourceDef,
};
use svctrack_web::pages::RecordView;

use super::{audit, company_sections, person_sections, renewals, visit::Visit};
use crate::error::Error;

/// Adds to the page of the record with an id.
type Extend =
    for<'v> fn(&'v Visit, &'v str, &'v mut RecordView) -> BoxFuture<'v, Result<(), Error>>;

/// Resources with further sections.
const EXTRAS: &[(&ResourceDef, Extend)] = &[
    (&END_USER, |visit, id, view| Box::pin(person_sections::extend(visit, id, view))),
    (&COMPANY, |visit, id, view| Box::pin(company_sections::extend(visit, id, view))),
    (&LICENSE, |visit, id, view| {
        renewals::extend(visit, id, view);
        Box::pin(ready(Ok(())))
    }),
];

/// Adds the further sections of a resource.
pub(super) async fn extend(visit: &Visit, id: &str, view: &mut RecordView) -> Result<(), Error> {
    audit::extend(visit, view.def, id, view).await?;
    match EXTRAS.iter().find(|(def, _)| def.name == view.def.name) {
        Some((_, extend)) => extend(visit, id, view).await,
        None => Ok(()),
    }
}

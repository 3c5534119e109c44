//! The newest records that belong to another one, for its page.

use svctrack_core::schema::ResourceDef;
use svctrack_web::pages::{RelatedList, address};

use super::{columns::columns, visit::Visit};
use crate::error::Error;

/// Most records of a list.
const SHOWN: usize = 20;

/// The newest records of a resource that have a value of a property, and where all of them are.
pub(super) async fn newest(
    visit: &Visit,
    def: &'static ResourceDef,
    filter: (&str, &str),
) -> Result<RelatedList, Error> {
    let sort = if def.field("date").is_some() { "-date" } else { "-createdAt" };
    let (order, limit) = (("sort", sort), (SHOWN + 1).to_string());
    let path = address("/{}", &[def.path], &[filter, order, ("limit", &limit)]);
    let mut records: Vec<_> = visit.api.get(&path).await?;
    let has_more = records.len() > SHOWN;
    records.truncate(SHOWN);
    let all = address("/app/records/{}", &[def.path], &[filter, order]);
    Ok(RelatedList { def, columns: columns(def), records, has_more, all })
}

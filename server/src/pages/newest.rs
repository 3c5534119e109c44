//! The newest records that belong to another one, for its page; open ones come first.

use serde_json::{Map, Value};
use svctrack_core::{
    resources::{license::FROM_DATE, ticket::IS_OPEN},
    schema::ResourceDef,
};
use svctrack_web::pages::{References, RelatedList, address};

use super::{
    api::{JSON, read},
    columns::columns,
    paging::total_of,
    references::names_of,
    visit::Visit,
};
use crate::error::Error;

/// Maximum number of records in a list.
const SHOWN: usize = 5;

/// The newest records of a resource that have a value of a property, and where all of them are.
pub(super) async fn newest(
    visit: &Visit,
    def: &'static ResourceDef,
    filter: (&str, &str),
) -> Result<RelatedList, Error> {
    let dates = [("date", "-date"), (FROM_DATE.name, "-fromDate")];
    let dated = dates.into_iter().find(|(date, _)| def.field(date).is_some());
    let order = ("sort", dated.map_or("-createdAt", |(_, sort)| sort));
    let all = address("/app/records/{}", &[def.path], &[filter, order]);
    let (records, total, open) = (Vec::new(), 0, None);
    let (columns, references) = (columns(def), References::default());
    let mut list = RelatedList { def, columns, records, total, open, all, references };
    if def.field(IS_OPEN.name).is_some() {
        let is = |value| [filter, (IS_OPEN.name, value), order];
        let (open, closed) = (is("true"), is("false"));
        let (records, count) = first(visit, def, &open).await?;
        (list.records, list.total) = first(visit, def, &closed).await?;
        list.records.splice(0..0, records);
        list.total += count;
        list.open = Some((count, address("/app/records/{}", &[def.path], &open)));
    } else {
        (list.records, list.total) = first(visit, def, &[filter, order]).await?;
    }
    list.records.truncate(SHOWN);
    list.references.names = names_of(visit, &list.columns, &list.records).await?;
    Ok(list)
}

/// The first records of a query, and the number of all of them.
async fn first(
    visit: &Visit,
    def: &ResourceDef,
    query: &[(&str, &str)],
) -> Result<(Vec<Map<String, Value>>, u64), Error> {
    let limit = SHOWN.to_string();
    let query = [query, &[("limit", &limit), ("count", "true")]].concat();
    let response = visit.api.ask(&address("/{}", &[def.path], &query), JSON).await?;
    let total = total_of(&response).unwrap_or_default();
    Ok((read(response).await?, total))
}

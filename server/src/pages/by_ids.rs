//! Looks up any number of records by id: the names of records that others refer to.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use svctrack_core::resources::REGISTRY;
use svctrack_web::pages::address;

use super::visit::Visit;
use crate::error::Error;

/// Properties by which a record is named.
pub(super) const TITLES: &str = "title,subject,name,product,email,description,externalId";
/// Maximum number of ids of one call: their text fits in an address.
const IDS: usize = 60;

/// Records of a resource with these ids, by id, with the properties that `select` names. None where the token may not
/// read the resource.
pub(super) async fn by_ids<'i>(
    visit: &Visit,
    resource: &str,
    ids: impl Iterator<Item = &'i str>,
    select: &str,
) -> Result<BTreeMap<String, Map<String, Value>>, Error> {
    let mut found = BTreeMap::new();
    if !visit.api.may(&format!("{resource}:read")) {
        return Ok(found);
    }
    let mut ids: Vec<&str> = ids.filter(|id| !id.is_empty()).collect();
    ids.sort_unstable();
    ids.dedup();
    let limit = IDS.to_string();
    // Records that lists omit are named as well.
    let omitted = REGISTRY.iter().find(|def| def.path == resource).and_then(|def| def.left_out);
    for some in ids.chunks(IDS) {
        let some = some.join(",");
        let mut query = vec![("_id", some.as_str()), ("select", select), ("limit", &limit)];
        query.extend(omitted.map(|name| (name, "true,null")));
        let records: Vec<Map<String, Value>> =
            visit.api.get(&address("/{}", &[resource], &query)).await?;
        found.extend(records.into_iter().map(|record| (text(&record, "_id").to_owned(), record)));
    }
    Ok(found)
}

/// A text property of a record; empty where it has none.
pub(super) fn text<'r>(record: &'r Map<String, Value>, name: &str) -> &'r str {
    record.get(name).and_then(Value::as_str).unwrap_or_default()
}

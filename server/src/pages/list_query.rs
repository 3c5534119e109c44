//! The query in the address of a list: filters, and the filter that a form adds to them.

use svctrack_core::{
    resources::by_name,
    schema::{FieldDef, Operator, ResourceDef, filter_text::texts_of},
    value::{Day, ObjectId, Zone},
};
use svctrack_web::pages::{ListFilter, Problem, target_of, title_of};

use super::{
    by_ids::{TITLES, by_ids},
    references::resolve,
    submitted_form::sent,
    visit::Visit,
};
use crate::error::Error;

/// Parameter with the field of the filter that a form adds.
pub(super) const FILTER_BY: &str = "filter-by";
/// Parameter with the values of that filter.
const FILTER_VALUE: &str = "filter-value";
/// Parameters of a list that are no filters.
const NO_FILTERS: &[&str] =
    &["sort", "offset", "search", FILTER_BY, "filter-op", FILTER_VALUE, "columns", "done"];
/// Dates that have a time of day; the others are days, which are the same in every zone.
const POINTS_IN_TIME: &[&str] = &["createdAt", "updatedAt", "lastActive"];
/// Parameters of the API that a page sets itself.
pub(super) const OF_THE_API: &[&str] = &["limit", "after", "count", "select"];

/// The filters in an address.
pub(super) fn filters(pairs: &[(String, String)]) -> Vec<ListFilter> {
    let filters = pairs.iter().filter(|(name, _)| !NO_FILTERS.contains(&name.as_str()));
    let filters = filters.filter(|(_, value)| !value.is_empty());
    let filter = |(name, value): &(String, String)| ListFilter {
        name: name.clone(),
        value: value.clone(),
        names: Vec::new(),
    };
    filters.map(filter).collect()
}

/// The query of a list for the API: where a point in time is compared with a day, that begins in the tenant's zone.
pub(super) fn in_zone(query: &[(&str, &str)], zone: Zone) -> Vec<(String, String)> {
    let begin = |name: &str, value: &str| {
        let (property, _) = name.split_once('[')?;
        let day = Day::parse(value).filter(|_| POINTS_IN_TIME.contains(&property))?;
        day.begin(zone)
    };
    let value_of = |(name, value): &(&str, &str)| {
        let begin = begin(name, value).map(|begin| begin.to_string());
        ((*name).to_owned(), begin.unwrap_or_else(|| (*value).to_owned()))
    };
    query.iter().map(value_of).collect()
}

/// Filter that a form adds.
pub(super) enum AddedFilter {
    None,
    /// Its field, where the operator and the value are missing.
    Field(&'static FieldDef),
    Filter(ListFilter),
}

/// The filter that a form adds to those in an address.
pub(super) fn added(def: &'static ResourceDef, pairs: &[(String, String)]) -> AddedFilter {
    let Some(field) = def.field(sent(pairs, FILTER_BY)) else { return AddedFilter::None };
    let operator = Operator::by_name(sent(pairs, "filter-op")).unwrap_or(Operator::Is);
    let values = pairs.iter().filter(|(name, _)| name == FILTER_VALUE);
    let values: Vec<&str> = values.map(|(_, value)| value.as_str()).collect();
    match operator.parameter(field.name, &values) {
        Some((name, value)) => AddedFilter::Filter(ListFilter { name, value, names: Vec::new() }),
        None => AddedFilter::Field(field),
    }
}

/// Replaces the names in the filter that a form adds by references; a problem for each that names no record.
pub(super) async fn resolve_filter(
    visit: &Visit,
    def: &'static ResourceDef,
    pairs: &mut [(String, String)],
) -> Result<Vec<Problem>, Error> {
    let mut problems = Vec::new();
    let field = def.field(sent(pairs, FILTER_BY));
    let Some((field, target)) = field.and_then(|field| Some((field, target_of(field)?))) else {
        return Ok(problems);
    };
    for (_, value) in pairs.iter_mut().filter(|(name, _)| name == FILTER_VALUE) {
        match resolve(visit, target, value).await? {
            Ok(reference) => *value = reference,
            Err(message) => problems.push(Problem { field: field.name.to_owned(), message }),
        }
    }
    Ok(problems)
}

/// Adds the names of the records whose ids filters have.
pub(super) async fn add_names(
    visit: &Visit,
    def: &ResourceDef,
    filters: &mut [ListFilter],
) -> Result<(), Error> {
    for filter in filters {
        let target = def.field(&filter.name).and_then(|field| field.refers);
        let Some(target) = target.and_then(|refers| by_name(refers.resource)) else { continue };
        let ids = texts_of(&filter.value);
        if ids.iter().all(|id| ObjectId::parse(id).is_some()) {
            let ids = ids.iter().map(String::as_str);
            let found = by_ids(visit, target.path, ids, TITLES).await?;
            filter.names = found.values().map(|record| title_of(target, record)).collect();
        }
    }
    Ok(())
}

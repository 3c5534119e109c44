//! The parameters of an operation, those that differ in their names alone in one row.

use super::{
    description::{Call, Parameter, name_of},
    schema::Objects,
};

/// Parameters with the same meaning.
pub(super) struct ParameterRow<'d> {
    pub(super) names: Vec<&'d str>,
    pub(super) meaning: &'d str,
    pub(super) first: &'d Parameter,
}

/// The rows of a call, and of those that are one with it. What a list says of a property is with the object.
pub(super) fn parameter_rows<'d>(call: &Call<'d>, objects: &Objects<'_>) -> Vec<ParameterRow<'d>> {
    let listed = listed_object(call, objects);
    let others = call.others.iter().flat_map(|other| &other.operation.parameters);
    let mut rows: Vec<ParameterRow<'d>> = Vec::new();
    for parameter in call.operation.parameters.iter().chain(others) {
        let meaning = own_meaning(parameter, listed, objects);
        let same = rows.iter_mut().find(|row| {
            let first = row.first;
            row.meaning == meaning
                && (&first.place, first.required, &first.schema)
                    == (&parameter.place, parameter.required, &parameter.schema)
        });
        match same {
            Some(row) if row.names.contains(&parameter.name.as_str()) => {}
            Some(row) => row.names.push(&parameter.name),
            None => {
                rows.push(ParameterRow { names: vec![&parameter.name], meaning, first: parameter })
            }
        }
    }
    rows
}

fn listed_object<'d>(call: &Call<'d>, objects: &Objects<'_>) -> Option<&'d str> {
    let (_, response) = call.success()?;
    let items = response.content.values().find_map(|content| content.schema.items.as_deref())?;
    let name = name_of(items.reference.as_deref()?);
    Some(objects.form(name).0)
}

/// The meaning of a parameter without that of the property that it filters by.
fn own_meaning<'d>(
    parameter: &'d Parameter,
    listed: Option<&str>,
    objects: &Objects<'_>,
) -> &'d str {
    let all = parameter.description.as_str();
    let property = listed.and_then(|object| objects.member(object, &parameter.name));
    let Some(property) = property else { return all };
    // The object names the unit too.
    let ends = all.match_indices(". ").map(|(at, _)| all.split_at(at + 1));
    let of_filter = ends.filter(|(_, rest)| property.description.starts_with(rest.trim_start()));
    of_filter.map(|(own, _)| own).next().unwrap_or(all)
}

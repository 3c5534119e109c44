//! Forms: what was filled in, as the body of a call; and what the API rejects, as problems at their fields.

use serde_json::{Map, Value};
use svctrack_core::{
    schema::{FieldDef, Kind, ResourceDef},
    value::Issue,
};
use svctrack_web::pages::{Problem, filled};

use crate::interchange::csv_columns::value_of;

/// What a form or an address has under a name; empty where it has nothing.
pub(super) fn sent<'p>(pairs: &'p [(String, String)], name: &str) -> &'p str {
    pairs.iter().find(|(known, _)| known == name).map_or("", |(_, text)| text.as_str())
}

/// What a form sends for a resource: the properties that differ from what it was filled with. An empty field clears its
/// property.
pub(super) fn body_of(
    def: &ResourceDef,
    pairs: &[(String, String)],
    record: &Map<String, Value>,
) -> Result<Map<String, Value>, Vec<Problem>> {
    let (mut body, mut problems) = (Map::new(), Vec::new());
    for field in def.fields.iter().filter(|field| field.is_sent()) {
        let Some((_, sent)) = pairs.iter().find(|(name, _)| name == field.name) else { continue };
        let sent = sent.replace("\r\n", "\n");
        if sent == filled(record.get(field.name), field) {
            continue;
        }
        match value(field, &sent) {
            Ok(value) => drop(body.insert(field.name.to_owned(), value)),
            Err(message) => problems
                .push(Problem { field: field.name.to_owned(), message: message.replace('`', "") }),
        }
    }
    if problems.is_empty() { Ok(body) } else { Err(problems) }
}

/// The value of a field; null where it is empty.
fn value(field: &FieldDef, sent: &str) -> Result<Value, String> {
    if field.kind == Kind::Texts && !sent.trim_start().starts_with('[') {
        let items = sent.split(',').map(str::trim).filter(|item| !item.is_empty());
        return Ok(items.map(Value::from).collect());
    }
    let json = value_of(field, sent)?;
    Ok(json.and_then(|json| serde_json::from_str(json.as_ref().text()).ok()).unwrap_or(Value::Null))
}

/// Problems as a page shows them.
pub(super) fn problems_of(issues: Vec<Issue>) -> Vec<Problem> {
    let problem = |issue: Issue| {
        let field = issue.pointer.trim_start_matches('/').split('/').next().unwrap_or_default();
        Problem { field: field.to_owned(), message: issue.message.replace('`', "") }
    };
    issues.into_iter().map(problem).collect()
}

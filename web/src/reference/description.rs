//! The description of the API as the reference reads it: of OpenAPI 3.1 what this service writes.

use std::collections::BTreeMap;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Number, Value};

/// The order of the methods of a path.
const METHODS: [&str; 6] = ["get", "post", "put", "patch", "delete", "options"];

#[derive(Debug, Deserialize)]
pub(super) struct Description {
    pub(super) info: Info,
    pub(super) tags: Vec<Tag>,
    paths: BTreeMap<String, BTreeMap<String, Operation>>,
    pub(super) components: Components,
}

#[derive(Debug, Deserialize)]
pub(super) struct Info {
    pub(super) version: String,
    pub(super) description: String,
}

/// A group of operations.
#[derive(Debug, Deserialize)]
pub(super) struct Tag {
    pub(super) name: String,
    pub(super) description: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Components {
    pub(super) security_schemes: BTreeMap<String, WithDescription>,
    pub(super) headers: BTreeMap<String, WithDescription>,
    pub(super) responses: BTreeMap<String, Response>,
    pub(super) schemas: BTreeMap<String, Schema>,
}

#[derive(Debug, Deserialize)]
pub(super) struct WithDescription {
    pub(super) description: String,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Operation {
    pub(super) operation_id: String,
    summary: String,
    pub(super) description: String,
    tags: Vec<String>,
    /// All scopes that it needs, separated by spaces.
    #[serde(rename = "x-scope", default)]
    pub(super) scope: Option<String>,
    /// What it needs instead of a token: nothing, where this is empty.
    #[serde(default)]
    pub(super) security: Option<Vec<BTreeMap<String, Vec<String>>>>,
    pub(super) parameters: Vec<Parameter>,
    #[serde(default)]
    pub(super) request_body: Option<Body>,
    pub(super) responses: BTreeMap<String, Response>,
}

impl Operation {
    /// What it does, without the name of its group.
    pub(super) fn summary(&self) -> &str {
        let group = self.tags.first().and_then(|tag| self.summary.strip_prefix(tag.as_str()));
        group.and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&self.summary)
    }

    /// Its parameters that are not a part of its path.
    fn options(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| parameter.place != "path")
    }

    /// Whether all but the words and the path are those of another operation.
    fn is_like(&self, other: &Self) -> bool {
        self.options().eq(other.options())
            && self.request_body == other.request_body
            && self.responses == other.responses
            && (&self.scope, &self.security) == (&other.scope, &other.security)
    }
}

#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Parameter {
    pub(super) name: String,
    #[serde(rename = "in")]
    pub(super) place: String,
    pub(super) description: String,
    #[serde(default)]
    pub(super) required: bool,
    pub(super) schema: Schema,
    #[serde(default)]
    pub(super) example: Option<Value>,
}

#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Body {
    #[serde(default)]
    pub(super) required: bool,
    pub(super) content: BTreeMap<String, Content>,
}

/// A response, or the name of one that many operations have.
#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Response {
    #[serde(rename = "$ref", default)]
    pub(super) reference: Option<String>,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    headers: BTreeMap<String, IgnoredAny>,
    #[serde(default)]
    pub(super) content: BTreeMap<String, Content>,
}

impl Response {
    pub(super) fn headers(&self) -> impl Iterator<Item = &str> {
        self.headers.keys().map(String::as_str)
    }
}

#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Content {
    #[serde(default)]
    pub(super) schema: Schema,
    #[serde(default)]
    pub(super) example: Option<Value>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Schema {
    #[serde(rename = "$ref")]
    pub(super) reference: Option<String>,
    pub(super) description: String,
    #[serde(rename = "type")]
    pub(super) kind: TypeNames,
    pub(super) format: Option<String>,
    #[serde(rename = "enum")]
    pub(super) values: Vec<Value>,
    #[serde(rename = "const")]
    pub(super) constant: Option<Value>,
    pub(super) default: Option<Value>,
    pub(super) read_only: bool,
    pub(super) any_of: Vec<Schema>,
    pub(super) items: Option<Box<Schema>>,
    pub(super) properties: BTreeMap<String, Schema>,
    pub(super) required: Vec<String>,
    pub(super) minimum: Option<Number>,
    pub(super) maximum: Option<Number>,
    pub(super) min_length: Option<Number>,
    pub(super) max_length: Option<Number>,
    pub(super) min_items: Option<Number>,
    pub(super) max_items: Option<Number>,
}

/// The types of a value.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum TypeNames {
    One(String),
    Several(Vec<String>),
}

impl Default for TypeNames {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl TypeNames {
    pub(super) fn all(&self) -> &[String] {
        match self {
            Self::One(kind) => std::slice::from_ref(kind),
            Self::Several(kinds) => kinds,
        }
    }
}

/// What a `$ref` names.
pub(super) fn name_of(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or(reference)
}

/// An operation with where it is, and the calls that differ from it in method or path alone.
#[derive(Debug)]
pub(super) struct Call<'d> {
    pub(super) method: &'static str,
    pub(super) path: &'d str,
    pub(super) operation: &'d Operation,
    pub(super) others: Vec<Call<'d>>,
}

impl Description {
    /// The operations of a group, by path, those below its name first. One with `PATCH` that does what that with `PUT` does is one with it, and so
    /// are those at several paths that do the same.
    pub(super) fn calls(&self, tag: &str) -> Vec<Call<'_>> {
        let mut calls: Vec<Call<'_>> = Vec::new();
        for (path, operations) in &self.paths {
            let of_method = |method| Some((method, operations.get(method)?));
            for (method, operation) in METHODS.into_iter().filter_map(of_method) {
                if !operation.tags.iter().any(|name| name == tag) {
                    continue;
                }
                let call = Call { method, path, operation, others: Vec::new() };
                match calls.iter_mut().find(|known| known.does_the_same(&call)) {
                    Some(known) => known.others.push(call),
                    None => calls.push(call),
                }
            }
        }
        let is_below = |path: &str| path.split('/').nth(1) == Some(tag);
        calls.sort_by_key(|call| !is_below(call.path));
        calls
    }
}

impl<'d> Call<'d> {
    fn does_the_same(&self, other: &Self) -> bool {
        let is_at_the_same = self.path == other.path;
        let is_called_the_same = self.method == other.method
            && self.operation.summary == other.operation.summary
            && self.operation.description == other.operation.description;
        (is_at_the_same || is_called_the_same) && self.operation.is_like(other.operation)
    }

    /// The response to an example, with its status.
    pub(super) fn success(&self) -> Option<(&'d str, &'d Response)> {
        let responses = &self.operation.responses;
        let found = responses.iter().find(|(status, _)| status.starts_with('2'));
        found.map(|(status, response)| (status.as_str(), response))
    }
}

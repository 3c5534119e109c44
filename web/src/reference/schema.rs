//! Types in words, and objects with the forms that they have in requests.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Number, Value};

use super::description::{Components, Content, Schema, name_of};

/// What ends the names of schemas that are another one as it is sent, or as it is listed.
const FORMS: [&str; 4] = ["ListItem", "BulkItem", "Create", "Update"];
/// From how much on a power of ten is written as one.
const MIN_POWER: f64 = 1e6;

/// A piece of a type in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TypeWord {
    Text(String),
    Code(String),
    /// An object, by its name.
    Object(String),
}

fn text(text: impl Into<String>) -> TypeWord {
    TypeWord::Text(text.into())
}

/// The type of a value, such as "array of Product, 1 to 10 items".
pub(super) fn type_words(schema: &Schema, objects: &Objects<'_>) -> Vec<TypeWord> {
    let mut words = plain_type(schema, objects);
    for limit in limits(schema) {
        words.push(text(format!(", {limit}")));
    }
    if let Some(default) = &schema.default {
        words.extend([text(", default "), TypeWord::Code(code(default))]);
    }
    words
}

fn plain_type(schema: &Schema, objects: &Objects<'_>) -> Vec<TypeWord> {
    if let Some(reference) = &schema.reference {
        let (name, _) = objects.form(name_of(reference));
        return vec![TypeWord::Object(name.to_owned())];
    }
    if let Some(constant) = &schema.constant {
        return vec![TypeWord::Code(code(constant))];
    }
    if !schema.any_of.is_empty() {
        return joined(schema.any_of.iter().map(|schema| type_words(schema, objects)), " or ");
    }
    let kinds = schema.kind.all();
    let mut kinds: Vec<Vec<TypeWord>> = kinds
        .iter()
        .filter(|kind| *kind != "null" || kinds.len() == 1)
        .map(|kind| of_kind(kind, schema, objects))
        .collect();
    if schema.kind.all().len() > kinds.len() {
        kinds.push(vec![text("null")]);
    }
    match (kinds.is_empty(), schema.properties.is_empty()) {
        (true, true) => vec![text("any")],
        (true, false) => vec![text("object")],
        (false, _) => joined(kinds.into_iter(), " or "),
    }
}

fn of_kind(kind: &str, schema: &Schema, objects: &Objects<'_>) -> Vec<TypeWord> {
    let values = schema.values.iter().filter(|value| !value.is_null());
    let values: Vec<_> = values.map(|value| vec![TypeWord::Code(code(value))]).collect();
    match (kind, &schema.items, &schema.format) {
        ("array", Some(items), _) => {
            let mut words = vec![text("array of ")];
            words.extend(type_words(items, objects));
            words
        }
        _ if !values.is_empty() => joined(values.into_iter(), ", "),
        ("string", _, Some(format)) => vec![text(format)],
        _ => vec![text(kind)],
    }
}

fn joined(all: impl Iterator<Item = Vec<TypeWord>>, between: &str) -> Vec<TypeWord> {
    let mut words = Vec::new();
    for some in all {
        if !words.is_empty() {
            words.push(text(between));
        }
        words.extend(some);
    }
    words
}

/// A value as it is written in code: a text without quotes.
fn code(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// How large, how long and how many.
fn limits(schema: &Schema) -> Vec<String> {
    let ranges = [
        (&schema.minimum, &schema.maximum, ""),
        (&schema.min_length, &schema.max_length, " characters"),
        (&schema.min_items, &schema.max_items, " items"),
    ];
    let in_words = ranges.into_iter().map(|(least, most, unit)| match (least, most) {
        (None, None) => None,
        (Some(least), Some(most)) => Some(format!("{} to {}{unit}", number(least), number(most))),
        (Some(least), None) => Some(format!("at least {}{unit}", number(least))),
        (None, Some(most)) => Some(format!("at most {}{unit}", number(most))),
    });
    in_words.flatten().collect()
}

/// A number; a large power of ten as one, such as `-10^15`.
fn number(number: &Number) -> String {
    let written = number.to_string();
    let digits = written.trim_start_matches('-').trim_end_matches(".0");
    let is_power = number.as_f64().is_some_and(|number| number.abs() >= MIN_POWER)
        && digits.strip_prefix('1').is_some_and(|rest| rest.bytes().all(|digit| digit == b'0'));
    if !is_power {
        return written;
    }
    let sign = if written.starts_with('-') { "-" } else { "" };
    format!("{sign}10^{}", digits.len() - 1)
}

/// The objects that bodies consist of, each with its variants.
pub(super) struct Objects<'d> {
    schemas: &'d BTreeMap<String, Schema>,
}

/// A member of an object.
pub(super) struct Member<'d> {
    pub(super) name: String,
    /// As it is sent, where it can be.
    pub(super) schema: &'d Schema,
    pub(super) meaning: &'d str,
    pub(super) is_read_only: bool,
    pub(super) is_required: bool,
}

/// Variant of an object in a request.
pub(super) struct ObjectForm<'d> {
    pub(super) is_without_read_only: bool,
    pub(super) is_all_optional: bool,
    /// Members that are read-only elsewhere.
    pub(super) additional: Vec<(&'d str, &'d str)>,
}

impl<'d> Objects<'d> {
    pub(super) fn new(components: &'d Components) -> Self {
        Self { schemas: &components.schemas }
    }

    /// The object that a schema is a form of, and which; an object itself is none.
    pub(super) fn form<'n>(&self, name: &'n str) -> (&'n str, Option<&'static str>) {
        let is_form = |form: &&str| {
            name.strip_suffix(*form).is_some_and(|base| self.schemas.contains_key(base))
        };
        match FORMS.into_iter().find(is_form) {
            Some(form) => (name.strip_suffix(form).unwrap_or(name), Some(form)),
            None => (name, None),
        }
    }

    pub(super) fn meaning(&self, name: &str) -> &'d str {
        self.schemas.get(name).map_or("", |schema| &schema.description)
    }

    fn schema_of(&self, name: &str, form: &str) -> Option<&'d Schema> {
        self.schemas.get(&[name, form].concat())
    }

    /// How a form differs from its object.
    pub(super) fn form_of(&self, name: &str) -> Option<ObjectForm<'d>> {
        let (base, form) = self.form(name);
        form.filter(|form| *form != "ListItem")?;
        let (base, sent) = (self.schemas.get(base)?, self.schemas.get(name)?);
        let is_read_only =
            |name: &str| base.properties.get(name).is_some_and(|member| member.read_only);
        let additional = sent.properties.iter().filter(|(name, _)| is_read_only(name));
        Some(ObjectForm {
            is_without_read_only: base.properties.keys().any(|name| is_read_only(name)),
            is_all_optional: sent.required.is_empty(),
            additional: additional
                .map(|(name, member)| (name.as_str(), member.description.as_str()))
                .collect(),
        })
    }

    /// The members of an object, those of objects in it among them.
    pub(super) fn members(&self, name: &str) -> Vec<Member<'d>> {
        let Some(base) = self.schemas.get(name) else { return Vec::new() };
        let sent = self.schema_of(name, "Create");
        let required = sent.map_or(&base.required, |sent| &sent.required);
        let mut members = Vec::new();
        for (name, schema) in &base.properties {
            let as_sent = sent.and_then(|sent| sent.properties.get(name));
            members.push(Member {
                name: name.clone(),
                schema: as_sent.unwrap_or(schema),
                meaning: &schema.description,
                is_read_only: schema.read_only,
                is_required: required.contains(name),
            });
            below(name, as_sent.unwrap_or(schema), &mut members);
        }
        members
    }

    /// The member of this name that an object has itself.
    pub(super) fn member(&self, object: &str, name: &str) -> Option<&'d Schema> {
        self.schemas.get(object)?.properties.get(name)
    }

    /// All objects that bodies name, those that they name themselves among them.
    pub(super) fn named_in<'c>(
        &self,
        bodies: impl Iterator<Item = &'c Content>,
    ) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut ahead: Vec<String> = Vec::new();
        for body in bodies {
            references(&body.schema, &mut ahead);
        }
        while let Some(name) = ahead.pop() {
            let (base, _) = self.form(&name);
            if found.insert(base.to_owned())
                && let Some(schema) = self.schemas.get(base)
            {
                references(schema, &mut ahead);
            }
        }
        found
    }

    /// Schema of an object that is only a name for one of several others.
    pub(super) fn alternatives(&self, name: &str) -> Option<&'d Schema> {
        self.schemas.get(name).filter(|schema| !schema.any_of.is_empty())
    }
}

/// Members of an object, or of the objects of an array, in a member.
fn below<'d>(above: &str, schema: &'d Schema, members: &mut Vec<Member<'d>>) {
    let (above, schema) = match &schema.items {
        Some(items) => (format!("{above}[]"), items.as_ref()),
        None => (above.to_owned(), schema),
    };
    for (name, schema_of_member) in &schema.properties {
        let name_below = format!("{above}.{name}");
        members.push(Member {
            name: name_below.clone(),
            schema: schema_of_member,
            meaning: &schema_of_member.description,
            is_read_only: schema_of_member.read_only,
            is_required: schema.required.contains(name),
        });
        below(&name_below, schema_of_member, members);
    }
}

/// The names of the schemas that a schema names.
fn references(schema: &Schema, found: &mut Vec<String>) {
    found.extend(schema.reference.as_deref().map(|reference| name_of(reference).to_owned()));
    let parts =
        schema.any_of.iter().chain(schema.items.as_deref()).chain(schema.properties.values());
    for part in parts {
        references(part, found);
    }
}

//! The reference of the API: its description (OpenAPI) as pages, one for what all operations share and one for each
//! group. They are read without a script.

mod command;
mod description;
mod overview;
mod rows;
mod schema;
mod view;

use std::collections::{BTreeMap, BTreeSet};

use hypertext::prelude::*;
use serde::Deserialize as _;
use serde_json::Value;

use self::{
    description::{Call, Content, Description, Tag, name_of},
    schema::Objects,
    view::{Context, object, operation},
};
use crate::{
    docs::{Section, SectionPage, reference_frame},
    pages::label_of,
};

/// The pages, and what a search finds in them.
#[derive(Debug)]
pub struct Reference {
    pub pages: Vec<ReferencePage>,
    pub index: ReferenceIndex,
}

/// What a search finds in the reference.
#[derive(Debug)]
pub struct ReferenceIndex(pub(crate) Vec<Section>);

#[derive(Debug)]
pub struct ReferencePage {
    /// The last part of its address, `/docs/api/{group}`; empty for `/docs/api` itself.
    pub group: String,
    pub html: String,
}

/// A group with what is on its page.
struct Group<'d> {
    tag: &'d Tag,
    title: String,
    calls: Vec<Call<'d>>,
    /// The objects that only its operations have.
    objects: BTreeSet<String>,
}

impl Reference {
    /// Renders a description.
    ///
    /// # Errors
    /// Where it lacks what an operation must have.
    pub fn new(document: &Value) -> Result<Self, String> {
        let description = Description::deserialize(document).map_err(|error| error.to_string())?;
        Ok(render(&description))
    }
}

fn render(description: &Description) -> Reference {
    let objects = Objects::new(&description.components);
    let groups = groups(description, &objects);
    let calls = groups.iter().flat_map(|group| &group.calls);
    let sent = objects.named_in(calls.flat_map(|call| bodies_of(call).0));
    let mut homes = BTreeMap::new();
    for group in &groups {
        homes.extend(group.objects.iter().map(|name| (name.clone(), group.tag.name.as_str())));
    }
    let all = description.components.schemas.keys();
    let shared = all.filter(|name| objects.form(name).1.is_none() && !homes.contains_key(*name));
    let shared: BTreeSet<String> = shared.cloned().collect();
    let context = |group| Context { objects: &objects, homes: &homes, group, sent: &sent };
    let main = overview::main(description, &groups, &shared, &context("")).render().into_inner();
    let mut pages = vec![page("", "API reference", &groups, &main)];
    let mut sections = overview::sections(description, &shared, &objects);
    for group in &groups {
        let main = group_main(group, &context(&group.tag.name)).render().into_inner();
        pages.push(page(&group.tag.name, &group.title, &groups, &main));
        sections.extend(group_sections(group, &objects));
    }
    Reference { pages, index: ReferenceIndex(sections) }
}

/// The groups with operations. An object is with the only group that has a body of it, or else with the only one that
/// has it in a body.
fn groups<'d>(description: &'d Description, objects: &Objects<'_>) -> Vec<Group<'d>> {
    let calls = description.tags.iter().map(|tag| (tag, description.calls(&tag.name)));
    let calls: Vec<_> = calls.filter(|(_, calls)| !calls.is_empty()).collect();
    let named: Vec<_> = calls.iter().map(|(_, calls)| named_by(calls, objects)).collect();
    let of_errors = description.components.responses.values();
    let of_errors = objects.named_in(of_errors.flat_map(|response| response.content.values()));
    let is_home = |at: usize, name: &String| {
        let others = || named.iter().enumerate().filter(|(other, _)| *other != at);
        let Some((whole, parts)) = named.get(at) else { return false };
        let is_only = if whole.contains(name) {
            !others().any(|(_, (whole, _))| whole.contains(name))
        } else {
            parts.contains(name) && !others().any(|(_, (_, parts))| parts.contains(name))
        };
        is_only && !of_errors.contains(name)
    };
    let own = |at: usize, all: &BTreeSet<String>| {
        all.iter().filter(|name| is_home(at, name)).cloned().collect()
    };
    let objects: Vec<_> = named.iter().enumerate().map(|(at, (_, all))| own(at, all)).collect();
    let groups = calls.into_iter().zip(objects).map(|((tag, calls), objects)| Group {
        tag,
        title: label_of(&tag.name),
        calls,
        objects,
    });
    groups.collect()
}

/// The objects that are bodies of calls, or the items of one, and all that these bodies have.
fn named_by(calls: &[Call<'_>], objects: &Objects<'_>) -> (BTreeSet<String>, BTreeSet<String>) {
    let bodies = || {
        calls.iter().flat_map(|call| {
            let (sent, returned) = bodies_of(call);
            sent.chain(returned)
        })
    };
    let whole = bodies().filter_map(|content| {
        let schema = content.schema.items.as_deref().unwrap_or(&content.schema);
        Some(objects.form(name_of(schema.reference.as_deref()?)).0.to_owned())
    });
    (whole.collect(), objects.named_in(bodies()))
}

/// The bodies that a call takes, and those that it returns.
fn bodies_of<'c>(
    call: &Call<'c>,
) -> (impl Iterator<Item = &'c Content>, impl Iterator<Item = &'c Content>) {
    let operation = call.operation;
    let sent = operation.request_body.iter().flat_map(|body| body.content.values());
    let returned = operation.responses.values().flat_map(|response| response.content.values());
    (sent, returned)
}

fn page(group: &str, title: &str, groups: &[Group<'_>], main: &str) -> ReferencePage {
    let entries: Vec<_> =
        groups.iter().map(|group| (group.tag.name.as_str(), group.title.as_str())).collect();
    ReferencePage { group: group.to_owned(), html: reference_frame(group, title, &entries, main) }
}

fn group_main<'c>(group: &'c Group<'c>, context: &'c Context<'c>) -> impl Renderable + 'c {
    maud! {
        main #content {
            article.reference {
                h1 { (group.title) }
                p { (view::prose(&group.tag.description)) }
                @for call in &group.calls { (operation(call, context)) }
                @for name in &group.objects { (object(name, context)) }
            }
        }
        nav.headings aria-label="On this page" {
            h2 { "On this page" }
            ul {
                @for call in &group.calls {
                    li { a href=(format!("#{}", call.operation.operation_id)) { (call.operation.summary()) } }
                }
                @for name in &group.objects {
                    li { a href=(format!("#{name}")) { code { (name) } } }
                }
            }
        }
    }
}

fn group_sections(group: &Group<'_>, objects: &Objects<'_>) -> Vec<Section> {
    let found_in =
        SectionPage { page: format!("api/{}", group.tag.name), title: group.title.clone() };
    let of_calls = group.calls.iter().flat_map(|call| std::iter::once(call).chain(&call.others));
    let of_calls = of_calls.map(|call| {
        let operation = call.operation;
        let method = call.method.to_uppercase();
        let parameters = operation.parameters.iter().map(|parameter| parameter.name.as_str());
        let parameters = parameters.collect::<Vec<_>>().join(" ");
        Section::found(
            &found_in,
            &operation.operation_id,
            format!("{}: {method} {}", operation.summary(), call.path),
            &[&operation.description, &parameters, operation.scope.as_deref().unwrap_or_default()],
        )
    });
    let of_objects = group.objects.iter().map(|name| object_section(&found_in, name, objects));
    of_calls.chain(of_objects).collect()
}

fn object_section(found_in: &SectionPage, name: &str, objects: &Objects<'_>) -> Section {
    let members = objects.members(name);
    let members = members.iter().flat_map(|member| [member.name.as_str(), member.meaning]);
    let members = members.collect::<Vec<_>>().join(" ");
    Section::found(found_in, name, name.to_owned(), &[objects.meaning(name), &members])
}

#[cfg(test)]
mod tests;

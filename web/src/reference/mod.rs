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
    description::{Call, Content, Description, Tag},
    schema::Objects,
    view::{Context, object, operation},
};
use crate::{
    docs::{FoundIn, Section, reference_frame},
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

/// A page of the reference.
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

/// From the page of a group to the overview, and from the overview to itself.
const FROM_GROUP: &str = "../api";
const FROM_OVERVIEW: &str = "";

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
    let (groups, shared) = groups(description, &objects);
    let sent = objects
        .named_in(groups.iter().flat_map(|group| &group.calls).flat_map(|call| bodies_of(call).0));
    let is_sent = |name: &str| sent.contains(name);
    let of_overview = Context {
        objects: &objects,
        is_here: &|name| shared.contains(name),
        is_sent: &is_sent,
        shared: FROM_OVERVIEW,
    };
    let main = overview::main(description, &groups, &shared, &of_overview).render().into_inner();
    let mut pages = vec![page("", "API reference", &groups, &main)];
    let mut sections = overview::sections(description, &shared, &objects);
    for group in &groups {
        let context = Context {
            objects: &objects,
            is_here: &|name| group.objects.contains(name),
            is_sent: &is_sent,
            shared: FROM_GROUP,
        };
        let main = group_main(group, &context).render().into_inner();
        pages.push(page(&group.tag.name, &group.title, &groups, &main));
        sections.extend(group_sections(group, &objects));
    }
    Reference { pages, index: ReferenceIndex(sections) }
}

/// The groups with operations, and the objects that several of them have.
fn groups<'d>(
    description: &'d Description,
    objects: &Objects<'_>,
) -> (Vec<Group<'d>>, BTreeSet<String>) {
    let mut groups: Vec<Group<'d>> = Vec::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for tag in &description.tags {
        let calls = description.calls(&tag.name);
        let bodies = calls.iter().flat_map(|call| {
            let (sent, returned) = bodies_of(call);
            sent.chain(returned)
        });
        let named = objects.named_in(bodies);
        for name in &named {
            *seen.entry(name.clone()).or_default() += 1;
        }
        if !calls.is_empty() {
            groups.push(Group { tag, title: label_of(&tag.name), calls, objects: named });
        }
    }
    let of_errors = description.components.responses.values();
    let mut shared = objects.named_in(of_errors.flat_map(|response| response.content.values()));
    shared.extend(seen.into_iter().filter(|(_, groups)| *groups > 1).map(|(name, _)| name));
    for group in &mut groups {
        group.objects.retain(|name| !shared.contains(name));
    }
    (groups, shared)
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
    let found_in = FoundIn { page: format!("api/{}", group.tag.name), title: group.title.clone() };
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

fn object_section(found_in: &FoundIn, name: &str, objects: &Objects<'_>) -> Section {
    let members = objects.members(name);
    let members = members.iter().flat_map(|member| [member.name.as_str(), member.meaning]);
    let members = members.collect::<Vec<_>>().join(" ");
    Section::found(found_in, name, name.to_owned(), &[objects.meaning(name), &members])
}

#[cfg(test)]
mod tests;

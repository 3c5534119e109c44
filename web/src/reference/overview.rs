//! The overview of the reference: how requests are sent, all operations, and what they share: errors, headers and objects.

use std::collections::{BTreeMap, BTreeSet};

use hypertext::prelude::*;

use super::{
    Group,
    command::written,
    description::{Call, Description, name_of},
    object_section,
    schema::Objects,
    view::{Context, block, error_id, object, prose},
};
use crate::docs::{Section, SectionPage};

/// What the variables of all commands stand for.
const VARIABLES: [(&str, &str); 4] = [
    ("$BASE", "The URL of the server, such as `http://127.0.0.1:8080`."),
    ("$TOKEN", "An API token of the tenant with the scopes of the operation; `*` has all of them."),
    ("$OPERATOR", "An operator token, for operations with the scope `operator`."),
    ("$TENANT", "The UUID of the tenant."),
];
/// The error whose body is shown: it has all members that one can have.
const SHOWN_ERROR: &str = "UnprocessableEntity";

pub(super) fn main<'c>(
    description: &'c Description,
    groups: &'c [Group<'c>],
    shared: &'c BTreeSet<String>,
    context: &'c Context<'c>,
) -> impl Renderable + 'c {
    maud! {
        main #content {
            article.reference {
                h1 { "API reference" }
                p { (prose(&description.info.description)) " This is version " (description.info.version) "." }
                p {
                    "The " a href="api-guide" { "API guide" }
                    " explains ids, lists, bulk calls and versions with worked examples. "
                    "Client generators read " a href="../openapi.json" { "openapi.json" } ", from which these pages are made."
                }
                (requests(description))
                (operations(groups))
                (errors(description, groups))
                (headers(description))
                @for name in shared { (object(name, context)) }
            }
        }
        nav.headings aria-label="On this page" {
            h2 { "On this page" }
            ul {
                @for (id, title) in SECTIONS { li { a href=(format!("#{id}")) { (title) } } }
                @for name in shared { li { a href=(format!("#{name}")) { code { (name) } } } }
            }
        }
    }
}

/// The sections of the overview, each with its id.
const SECTIONS: [(&str, &str); 4] = [
    ("requests", "Requests"),
    ("operations", "Operations"),
    ("errors", "Errors"),
    ("headers", "Response headers"),
];

fn heading(at: usize) -> impl Renderable {
    let (id, title) = SECTIONS.get(at).copied().unwrap_or_default();
    maud! {
        h2 id=(id) {
            (title) " "
            a.anchor href=(format!("#{id}")) aria-label="Link to this section" { "#" }
        }
    }
}

fn requests(description: &Description) -> impl Renderable {
    let schemes = &description.components.security_schemes;
    maud! {
        (heading(0))
        p { "The examples are curl commands with these shell variables:" }
        dl.fields {
            @for (name, meaning) in VARIABLES { dt { code { (name) } } dd { (prose(meaning)) } }
        }
        p { "An operation that needs a token takes it as " code { "Authorization: Bearer" } "." }
        @if let Some(tenant) = schemes.get("tenant") {
            p { "HTTP Basic: " (prose(&tenant.description)) }
        }
    }
}

fn operations<'c>(groups: &'c [Group<'_>]) -> impl Renderable + 'c {
    maud! {
        (heading(1))
        @for group in groups {
            h3 { a href=(format!("api/{}", group.tag.name)) { (group.title) } }
            p { (prose(&group.tag.description)) }
            ul.calls {
                @for call in &group.calls {
                    (entry(&group.tag.name, call))
                    @for other in &call.others { (entry(&group.tag.name, other)) }
                }
            }
        }
    }
}

fn entry<'c>(group: &'c str, call: &'c Call<'_>) -> impl Renderable + 'c {
    maud! {
        li {
            a href=(format!("api/{group}#{}", call.operation.operation_id)) {
                b { (call.method.to_uppercase()) } " " code { (call.path) }
            }
            " " span { (call.operation.summary()) }
        }
    }
}

/// The errors that operations share, by status.
fn errors<'c>(description: &'c Description, groups: &'c [Group<'_>]) -> impl Renderable + 'c {
    let all = &description.components.responses;
    let mut statuses: BTreeMap<&str, &str> = BTreeMap::new();
    for call in groups.iter().flat_map(|group| &group.calls) {
        for (status, response) in &call.operation.responses {
            if let Some(reference) = &response.reference {
                statuses.insert(status, name_of(reference));
            }
        }
    }
    let shown = all.get(SHOWN_ERROR).and_then(|error| error.content.iter().next());
    let shown = shown.and_then(|(kind, content)| Some((kind, written(content.example.as_ref()?))));
    let errors: Vec<_> = statuses
        .into_iter()
        .filter_map(|(status, name)| Some((status, name, all.get(name)?)))
        .collect();
    maud! {
        (heading(2))
        @if let Some((kind, body)) = &shown {
            p { "The body of an error is " code { (kind) } " (RFC 9457):" }
            (block("", body))
        }
        dl.fields {
            @for (status, name, error) in &errors {
                dt id=(error_id(name)) {
                    @if *status == "default" { "Others" } @else { code { (status) } }
                    @for header in error.headers().filter(|name| *name != "X-Request-Id") {
                        " " small { (header) }
                    }
                }
                dd { (prose(&error.description)) }
            }
        }
    }
}

fn headers(description: &Description) -> impl Renderable {
    maud! {
        (heading(3))
        dl.fields {
            @for (name, header) in &description.components.headers {
                dt id=(name) { code { (name) } }
                dd { (prose(&header.description)) }
            }
        }
    }
}

/// What a search finds in the overview.
pub(super) fn sections(
    description: &Description,
    shared: &BTreeSet<String>,
    objects: &Objects<'_>,
) -> Vec<Section> {
    let found_in = SectionPage { page: "api".to_owned(), title: "API reference".to_owned() };
    let headers = description
        .components
        .headers
        .iter()
        .flat_map(|(name, header)| [name.as_str(), header.description.as_str()]);
    let headers = headers.collect::<Vec<_>>().join(" ");
    let errors = description.components.responses.values();
    let errors = errors.map(|error| error.description.as_str()).collect::<Vec<_>>().join(" ");
    let texts = ["curl token scope", "", errors.as_str(), headers.as_str()];
    let own = SECTIONS
        .iter()
        .zip(texts)
        .map(|((id, title), text)| Section::found(&found_in, id, (*title).to_owned(), &[text]));
    own.chain(shared.iter().map(|name| object_section(&found_in, name, objects))).collect()
}

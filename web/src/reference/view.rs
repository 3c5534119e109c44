//! The pages of the reference as HTML: each part a pure function of what is described.

use std::collections::{BTreeMap, BTreeSet};

use hypertext::prelude::*;

use super::{
    command::{command, written},
    description::{Call, Content, Operation, Parameter, Response, name_of},
    rows::{ParameterRow, parameter_rows},
    schema::{Objects, TypeWord, type_words},
};

/// The longest response that is shown without a click, in lines.
const MAX_OPEN_LINES: usize = 12;
/// The response that is described for all statuses that are not named.
const OTHER: &str = "default";

/// What the parts of a page need: all objects, and where each of them is.
pub(super) struct Context<'d> {
    pub(super) objects: &'d Objects<'d>,
    /// The group on whose page an object is; the overview has those without one.
    pub(super) homes: &'d BTreeMap<String, &'d str>,
    /// The group of this page; empty for the overview.
    pub(super) group: &'d str,
    /// The objects that requests have.
    pub(super) sent: &'d BTreeSet<String>,
}

impl Context<'_> {
    /// From this page to that of a group, or to the overview.
    fn page(&self, group: &str) -> String {
        match (self.group, group) {
            (here, there) if here == there => String::new(),
            ("", there) => format!("api/{there}"),
            (_, "") => "../api".to_owned(),
            (_, there) => there.to_owned(),
        }
    }

    fn address(&self, object: &str) -> String {
        let home = self.homes.get(object).copied().unwrap_or_default();
        format!("{}#{object}", self.page(home))
    }

    /// The address of what all operations share.
    fn shared(&self, id: &str) -> String {
        format!("{}#{id}", self.page(""))
    }
}

/// Markdown of one line; of its markup, descriptions have `code` alone.
pub(super) fn prose(text: &str) -> impl Renderable {
    let parts: Vec<(bool, &str)> =
        text.split('`').enumerate().map(|(at, part)| (at % 2 == 1, part)).collect();
    maud! {
        @for (is_code, part) in &parts {
            @if *is_code { code { (part) } } @else { (part) }
        }
    }
}

/// A heading with a link to itself.
fn heading<'h>(id: &'h str, text: &'h str) -> impl Renderable + 'h {
    maud! {
        h2 id=(id) {
            (text) " "
            a.anchor href=(format!("#{id}")) aria-label="Link to this section" { "#" }
        }
    }
}

fn words<'w>(words: &'w [TypeWord], context: &'w Context<'_>) -> impl Renderable + 'w {
    maud! {
        @for word in words {
            @match word {
                TypeWord::Text(text) => { (text) }
                TypeWord::Code(code) => { code { (code) } }
                TypeWord::Object(name) => { a href=(context.address(name)) { (name) } }
            }
        }
    }
}

/// An operation: what it does, what it takes and returns, and an example.
pub(super) fn operation<'c>(call: &'c Call<'c>, context: &'c Context<'c>) -> impl Renderable + 'c {
    let operation = call.operation;
    let rows = parameter_rows(call, context.objects);
    maud! {
        section {
            (heading(&operation.operation_id, operation.summary()))
            (path(call))
            @for other in &call.others {
                div id=(other.operation.operation_id) { (path(other)) }
            }
            p { (prose(&operation.description)) }
            (access(operation))
            @if !rows.is_empty() {
                h3 { "Parameters" }
                dl.fields { @for row in &rows { (parameter(row, context)) } }
            }
            @if let Some(body) = &operation.request_body {
                h3 { "Body" @if !body.required { " (optional)" } }
                @for (kind, content) in &body.content {
                    p { (body_line(kind, content, context)) }
                }
            }
            h3 { "Responses" }
            (responses(operation, context))
            (example(call))
        }
    }
}

fn path<'c>(call: &'c Call<'_>) -> impl Renderable + 'c {
    maud! {
        p.call { b { (call.method.to_uppercase()) } " " code { (call.path) } }
    }
}

/// Who may call it.
fn access(operation: &Operation) -> impl Renderable {
    let scopes: Vec<&str> = operation.scope.iter().flat_map(|all| all.split(' ')).collect();
    maud! {
        p.access {
            @match &operation.security {
                Some(schemes) if schemes.is_empty() => { "Needs no credentials." }
                Some(_) => { "Needs the tenant’s UUID as user name (HTTP Basic)." }
                None => {
                    @if scopes.len() > 1 { "Scopes:" } @else { "Scope:" }
                    @for scope in &scopes { " " code { (scope) } }
                }
            }
        }
    }
}

fn parameter<'r>(row: &'r ParameterRow<'_>, context: &'r Context<'_>) -> impl Renderable + 'r {
    let Parameter { place, required, schema, .. } = row.first;
    let of_type = type_words(schema, context.objects);
    maud! {
        dt {
            @for name in &row.names { code { (name) } " " }
            small { (place) ", " (words(&of_type, context)) }
            @if *required { " " (badge("required")) }
        }
        dd { (prose(row.meaning)) }
    }
}

fn badge(text: &str) -> impl Renderable {
    maud! { em.badge { (text) } }
}

/// The media type of a body, and what it is.
fn body_line<'c>(
    kind: &'c str,
    content: &'c Content,
    context: &'c Context<'_>,
) -> impl Renderable + 'c {
    let of_type = type_words(&content.schema, context.objects);
    let inner = content.schema.items.as_deref().unwrap_or(&content.schema);
    let name = inner.reference.as_deref().map(name_of).unwrap_or_default();
    let form = context.objects.form_of(name);
    maud! {
        code { (kind) } ": " (words(&of_type, context))
        @if let Some(form) = &form {
            @if form.is_without_read_only { ", without read-only properties" }
            @if form.is_all_optional { ", each property optional" }
            @for (name, meaning) in &form.additional {
                "; also " code { (name) } ": " (prose(meaning))
            }
        }
    }
}

fn responses<'c>(operation: &'c Operation, context: &'c Context<'_>) -> impl Renderable + 'c {
    let (errors, own): (Vec<_>, Vec<_>) =
        operation.responses.iter().partition(|(_, response)| response.reference.is_some());
    maud! {
        dl.fields {
            @for (status, response) in &own {
                dt { code { (status) } }
                dd { (own_response(response, context)) }
            }
            dt { "Errors" }
            dd.statuses {
                @for (status, response) in &errors {
                    @let name = response.reference.as_deref().map(name_of).unwrap_or_default();
                    a href=(context.shared(&error_id(name))) {
                        (if status.as_str() == OTHER { "others" } else { status.as_str() })
                    }
                    " "
                }
            }
        }
    }
}

fn own_response<'c>(response: &'c Response, context: &'c Context<'_>) -> impl Renderable + 'c {
    let headers: Vec<_> = response.headers().collect();
    maud! {
        (prose(&response.description))
        @for (kind, content) in &response.content {
            " " (body_line(kind, content, context)) "."
        }
        @if !headers.is_empty() {
            small.headers {
                "Headers:"
                @for name in &headers {
                    " " a href=(context.shared(name)) { (name) }
                }
            }
        }
    }
}

/// The id of an error on the overview, where an object can have its name.
pub(super) fn error_id(name: &str) -> String {
    format!("error-{name}")
}

/// A request for each media type, and the response.
fn example<'c>(call: &'c Call<'_>) -> impl Renderable + 'c {
    let mut requests = vec![];
    if let Some(body) = &call.operation.request_body {
        requests.extend(
            body.content
                .iter()
                .map(|(kind, content)| command(call, Some((kind.as_str(), content)))),
        );
    }
    if requests.is_empty() {
        requests.push(command(call, None));
    }
    let response = call.success().map(|(status, response)| {
        let bodies = response.content.values();
        let body = bodies.filter_map(|content| content.example.as_ref()).next();
        let text = body.map(|body| body.as_str().map_or_else(|| written(body), str::to_owned));
        (format!("Response {status}"), text)
    });
    maud! {
        @for request in &requests { (block("Request", request)) }
        @match &response {
            Some((title, Some(text))) if text.lines().count() > MAX_OPEN_LINES => {
                details { summary { (title) } (block("", text)) }
            }
            Some((title, Some(text))) => { (block(title, text)) }
            _ => {}
        }
    }
}

/// A block of code, as those of other pages of the docs.
pub(super) fn block<'b>(caption: &'b str, text: &'b str) -> impl Renderable + 'b {
    maud! {
        figure.code {
            @if !caption.is_empty() { figcaption { (caption) } }
            pre tabindex="0" { code { (text) } }
        }
    }
}

/// An object with its members.
pub(super) fn object<'c>(name: &'c str, context: &'c Context<'_>) -> impl Renderable + 'c {
    let members: Vec<_> = context
        .objects
        .members(name)
        .into_iter()
        .map(|member| (type_words(member.schema, context.objects), member))
        .collect();
    let is_sent = context.sent.contains(name);
    let alternatives =
        context.objects.alternatives(name).map(|schema| type_words(schema, context.objects));
    maud! {
        section {
            (heading(name, name))
            p { (prose(context.objects.meaning(name))) }
            @if let Some(alternatives) = &alternatives {
                p { (words(alternatives, context)) }
            }
            @if !members.is_empty() {
                dl.fields {
                    @for (of_type, member) in &members {
                        dt {
                            code { (member.name) } " " small { (words(of_type, context)) }
                            @if member.is_read_only { " " (badge("read-only")) }
                            @match (is_sent, member.is_required) {
                                (true, true) if !member.is_read_only => { " " (badge("required")) }
                                (false, false) => { " " (badge("may be absent")) }
                                _ => {}
                            }
                        }
                        dd { (prose(member.meaning)) }
                    }
                }
            }
        }
    }
}

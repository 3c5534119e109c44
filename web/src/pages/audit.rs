//! Audit log: who wrote what and when, of a tenant and of one record.

use hypertext::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value};
use svctrack_core::resources::REGISTRY;

use super::{
    address::address,
    format::{grouped, instant, label_of},
    page,
    parts::{ColumnHead, Problem, empty, problems, table},
    shell::{Shell, layout, title_bar},
};
use crate::page::Page;

/// An entry of the log, as the API returns it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuditLine {
    #[serde(rename = "_id")]
    pub entry: String,
    pub at: String,
    pub action: String,
    pub outcome: String,
    pub cause: Option<String>,
    pub count: u64,
    pub actor: String,
    pub token_id: Option<String>,
    pub token_name: Option<String>,
    /// Whether the tenant has the token, as it does not have those of its operator.
    #[serde(skip)]
    pub has_token: bool,
    pub resource: Option<String>,
    pub id: Option<String>,
    /// Name of the target, where it has one.
    #[serde(skip)]
    pub name: Option<String>,
    pub created: u64,
    pub updated: u64,
    pub deleted: u64,
    pub address: Option<String>,
    pub changes: Vec<RecordChange>,
}

/// Change of a record by an entry.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct RecordChange {
    pub resource: String,
    pub id: String,
    pub change: String,
    pub properties: Map<String, Value>,
}

/// The page of the log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuditView {
    pub lines: Vec<AuditLine>,
    /// Values of the form, by the name of the filter.
    pub filters: Vec<(&'static str, String)>,
    /// Address of the entries before these.
    pub next: Option<String>,
    pub csv: String,
    pub problems: Vec<Problem>,
}

/// Label of each filter.
const FILTERS: [(&str, &str); 6] = [
    ("action", "Action"),
    ("resource", "Resource"),
    ("id", "ID"),
    ("tokenId", "Token ID"),
    ("from", "From"),
    ("to", "Before"),
];

impl AuditView {
    /// The names of the filters.
    pub const FILTERS: [&'static str; 6] = ["action", "resource", "id", "tokenId", "from", "to"];
}

/// The page of the audit log.
pub fn audit_page(shell: &Shell, view: &AuditView) -> Page {
    let actions = maud! { a.button href=(view.csv) download { "CSV" } };
    let main = maud! {
        (title_bar("Audit log", &actions))
        p.muted {
            "Writes, sign-ins and denied access, newest first. "
            a href="/docs/audit" { "The actions" }
        }
        (choices(view))
        (problems(&view.problems))
        @if view.lines.is_empty() {
            (empty("No entries.", maud! { a href="/app/audit" { "Show all" } }))
        } @else {
            (audit_table(shell, "Audit log", &view.lines, true))
            @if let Some(next) = &view.next {
                div.paging { a rel="next" href=(next) { "Earlier" } }
            }
        }
    };
    page(layout(shell, "Audit log", main))
}

fn choices(view: &AuditView) -> impl Renderable {
    let filled = |name: &str| {
        let filled = view.filters.iter().find(|(known, _)| *known == name);
        filled.map(|(_, text)| text.clone()).unwrap_or_default()
    };
    let fields = FILTERS.map(|(name, label)| (name, label, format!("c-{name}"), filled(name)));
    maud! {
        form.choices method="get" {
            @for (name, label, id, text) in &fields {
                div {
                    label for=(id) { (*label) }
                    input id=(id) name=(*name) value=(text) type=(kind(name)) autocomplete="off" spellcheck="false";
                }
            }
            button type="submit" { "Show" }
        }
    }
}

fn kind(filter: &str) -> &'static str {
    if matches!(filter, "from" | "to") { "date" } else { "text" }
}

/// A table of entries; those of one record without the target.
pub(super) fn audit_table<'v>(
    shell: &'v Shell,
    caption: &'v str,
    lines: &'v [AuditLine],
    has_target: bool,
) -> impl Renderable + 'v {
    let rows = maud! {
        tbody.stacked { @for line in lines { (row(shell, line, has_target)) } }
    };
    table(
        caption,
        [
            Some(ColumnHead::Text("Action")),
            has_target.then_some(ColumnHead::Text("Of")),
            Some(ColumnHead::Text("Changes")),
            Some(ColumnHead::Text("By")),
            Some(ColumnHead::Number("When")),
        ]
        .into_iter()
        .flatten(),
        rows,
    )
}

fn row<'v>(shell: &'v Shell, line: &'v AuditLine, has_target: bool) -> impl Renderable + 'v {
    maud! {
        tr {
            th scope="row" { (words_of(&line.action)) }
            @if has_target { td data-label="Of" { (target(shell, line)) } }
            td.changes data-label="Changes" { (changes(line)) }
            td data-label="By" { div { (by(line)) } }
            td.num data-label="When" { (instant(&line.at)) }
        }
    }
}

/// Text of an action: `company.update` is `Company updated`.
fn words_of(action: &str) -> String {
    let Some((noun, verb)) = action.split_once('.') else { return action.to_owned() };
    let done = match verb {
        "upsert" => "bulk upsert".to_owned(),
        "lose" => "lost".to_owned(),
        "deny" => "denied".to_owned(),
        "unsuppress" => "suppression lifted".to_owned(),
        verb if verb.ends_with('e') => format!("{verb}d"),
        verb => format!("{verb}ed"),
    };
    format!("{} {done}", label_of(noun))
}

fn target<'v>(shell: &'v Shell, line: &'v AuditLine) -> impl Renderable + 'v {
    let (resource, id) = (line.resource.as_deref().unwrap_or_default(), line.id.as_deref());
    let is_record = REGISTRY.iter().any(|def| def.path == resource);
    let name = line.name.as_deref().or(id).unwrap_or_default();
    maud! {
        @match id {
            Some(id) if is_record => { (shell.record_link(resource, id, name)) }
            Some(id) if resource == "tokens" && line.name.is_some() => { a href=(address("/app/tokens/{}", &[id], &[])) { (name) } }
            Some(_) if resource != "settings" => { (name) }
            _ => { (label_of(resource)) }
        }
    }
}

fn changes(line: &AuditLine) -> impl Renderable {
    let denied = line.cause.as_ref().map(|cause| {
        let times = if line.count == 1 {
            "once".to_owned()
        } else {
            format!("{} times", grouped(&line.count.to_string()))
        };
        format!("denied {times}: {cause}")
    });
    let counts = [("created", line.created), ("updated", line.updated), ("deleted", line.deleted)];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(_, count)| line.changes.is_empty() && *count > 0)
        .map(|(what, count)| format!("{} {what}", grouped(&count.to_string())))
        .collect();
    maud! {
        @if let Some(denied) = &denied { (denied) }
        @if !counts.is_empty() { (counts.join(", ")) }
        @for (change, count) in numbered(&line.changes) { div { (records(change, count)) } }
        @for change in &line.changes {
            @for (name, traces) in &change.properties { (property(name, traces)) }
        }
    }
}

/// Changes of whole records, each kind once, with its number of records.
fn numbered(changes: &[RecordChange]) -> Vec<(&RecordChange, usize)> {
    let mut kinds: Vec<(&RecordChange, usize)> = Vec::new();
    let of_record = |it: &&RecordChange| it.change != "updated" || it.properties.is_empty();
    for change in changes.iter().filter(of_record) {
        let is_same =
            |it: &RecordChange| it.resource == change.resource && it.change == change.change;
        match kinds.iter_mut().find(|(kind, _)| is_same(kind)) {
            Some((_, count)) => *count += 1,
            None => kinds.push((change, 1)),
        }
    }
    kinds
}

/// A change of records in words: `Company created`, `3 companies created`.
fn records(change: &RecordChange, count: usize) -> String {
    let def = REGISTRY.iter().find(|def| def.path == change.resource);
    let what = match (count, def) {
        (1, Some(def)) => label_of(def.name),
        (1, None) => label_of(&change.resource),
        _ => {
            format!("{} {}", grouped(&count.to_string()), label_of(&change.resource).to_lowercase())
        }
    };
    format!("{what} {}", change.change)
}

/// A property that was changed: with its values, where they are stored.
fn property(name: &str, traces: &Value) -> impl Renderable {
    let text = |trace: &str| {
        traces
            .get(trace)
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let (before, after) = (text("before"), text("after"));
    let has_values = before.is_some() || after.is_some();
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
    let label = label_of(name);
    maud! {
        div {
            (label)
            @if has_values { ": " (or_none(before.clone())) " → " (or_none(after.clone())) }
        }
    }
}

fn by(line: &AuditLine) -> impl Renderable {
    let token = line.token_id.as_deref();
    let name = line.token_name.as_deref().or(token).unwrap_or_default();
    let from = line.address.as_deref().unwrap_or_default();
    maud! {
        @match (line.actor.as_str(), token) {
            (actor, Some(token)) => {
                @if line.has_token {
                    a href=(address("/app/tokens/{}", &[token], &[])) { (name) }
                } @else {
                    (name)
                }
                @if actor == "session" { ", signed in" }
            }
            ("service", _) => { "svctrack" }
            ("local", _) => { "Command line" }
            _ => { "Unknown" }
        }
        @if !from.is_empty() { div.muted { (from) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn created_records_are_named_once_with_their_number() {
        let change = |resource: &str, change: &str| RecordChange {
            resource: resource.to_owned(),
            change: change.to_owned(),
            ..RecordChange::default()
        };
        let changes = [
            change("companies", "created"),
            change("products", "created"),
            change("companies", "deleted"),
            change("products", "created"),
        ];
        let words = numbered(&changes).into_iter().map(|(change, count)| records(change, count));
        let expect = ["Company created", "2 products created", "Company deleted"];
        assert_eq!(words.collect::<Vec<_>>(), expect);
    }

    #[test]
    fn an_action_is_shown_in_words() {
        for (action, words) in [
            ("company.create", "Company created"),
            ("license.lose", "License lost"),
            ("license.renew", "License renewed"),
            ("integrationissue.replay", "Integration issue replayed"),
            ("timeentry.upsert", "Time entry bulk upsert"),
            ("month.reopen", "Month reopened"),
            ("access.deny", "Access denied"),
        ] {
            assert_eq!(words_of(action), words);
        }
    }

    #[test]
    fn an_entry_is_shown_with_what_changed_and_who_did_it() {
        let line: AuditLine = serde_json::from_str(
            r#"{"_id":"1","action":"company.update","at":"2026-11-20T12:00:00.000Z","outcome":"done","count":1,
            "actor":"session","tokenId":"01234567","tokenName":"<Ada>","resource":"companies","id":"2","updated":1,
            "changes":[{"resource":"companies","id":"2","change":"updated","properties":{
            "name":{"before":"A","after":"B"},"mrr":{"beforeHash":"x"}}}]}"#,
        )
        .unwrap();
        let line = AuditLine { has_token: true, ..line };
        let html = audit_table(&Shell::default(), "Changes", &[line], true).render().into_inner();
        for part in [
            "Company updated",
            "Name: A → B",
            "&lt;Ada&gt;</a>, signed in",
            "/app/records/companies/2",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(html.contains("<div>MRR</div>"), "{html}");
    }
}

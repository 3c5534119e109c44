//! Activities as they are stored: the newest as a table, to which a script adds later ones. Without the script it is a
//! plain list with links to newer and older ones.

use hypertext::prelude::*;
use svctrack_core::{
    resources::{company::COMPANY, end_user::END_USER},
    schema::ResourceDef,
};

use super::{
    activity::{ActivityColumns, ActivityLine, activity_table},
    page,
    parts::{Problem, empty, problems},
    references::{References, list_id, lists},
    shell::{Shell, layout, title_bar},
};
use crate::page::Page;

/// Newest activities, to which a script adds those that are stored meanwhile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveView {
    pub lines: Vec<ActivityLine>,
    /// Filters of the activities: the name of each parameter, and its value; all that there are.
    pub filters: Vec<(&'static str, String)>,
    /// Names of the records that the filters refer to.
    pub references: References,
    /// Address of the stream of new activities; none where older ones are shown.
    pub stream: Option<String>,
    /// The address of the newest.
    pub newer: String,
    pub older: Option<String>,
    pub problems: Vec<Problem>,
}

/// The page of the newest activities.
pub fn live_page(shell: &Shell, view: &LiveView) -> Page {
    let actions = maud! {
        button #pause type="button" aria-pressed="false" hidden { "Pause" }
        a #newer .button href=(view.newer) { "Newer" }
    };
    let main = maud! {
        (title_bar("Live", &actions))
        (choices(view))
        (problems(&view.problems))
        div #live data-stream=[view.stream.as_deref()] data-zone=(shell.zone.name()) {
            p #live-status .muted role="status" {
                @if view.lines.is_empty() { "No activities." } @else { (view.lines.len()) " activities." }
            }
            (activity_table(shell, "Activities, the newest first", ActivityColumns::All, &view.lines))
            @if view.lines.is_empty() {
                div #live-empty { (nothing(view)) }
            }
        }
        div.paging {
            @if let Some(older) = &view.older { a rel="next" href=(older) { "Older" } }
        }
        @if view.stream.is_some() { script type="module" src="/live.js" {} }
    };
    page(layout(shell, "Live", main))
}

/// Text where there are no activities.
fn nothing(view: &LiveView) -> impl Renderable {
    let is_filtered = view.filters.iter().any(|(_, value)| !value.is_empty());
    maud! {
        @if is_filtered {
            (empty("No matching activities.", maud! { a href="/app/live" { "Show all activities" } }))
        } @else {
            (empty("Nothing has arrived.", maud! {
                "Put the " a href="/app/setup" { "snippet" } " into your web app."
            }))
        }
    }
}

fn choices(view: &LiveView) -> impl Renderable {
    maud! {
        form.choices method="get" {
            @for (name, value) in &view.filters {
                div {
                    label for={ "c-" (*name) } { (label(name)) }
                    @let chosen = view.references.known(target(name));
                    input id={ "c-" (*name) } name=(*name) value=(view.references.named(value))
                        placeholder=[chosen.map(|_| "Name")] list=[chosen.map(list_id)] data-suggest=[chosen]
                        autocomplete="off" spellcheck="false";
                }
            }
            button type="submit" { "Show" }
            a.button href="/app/live" { "All" }
        }
        (lists(&view.references))
    }
}

fn label(name: &str) -> &'static str {
    match name {
        "endUserId" => "User",
        "companyId" => "Company",
        _ => "Action",
    }
}

/// Resource that a filter refers to.
fn target(name: &str) -> Option<&'static ResourceDef> {
    match name {
        "endUserId" => Some(&END_USER),
        "companyId" => Some(&COMPANY),
        _ => None,
    }
}

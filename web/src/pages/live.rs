//! Activities as they are stored: the newest as a table, to which a script adds later ones. Without the script it is a
//! plain list with links to newer and older ones.

use hypertext::prelude::*;

use super::{
    activity::{ActivityLine, Of, activity_table},
    page,
    parts::{Problem, empty, problems},
    shell::{Shell, layout, title_bar},
};
use crate::page::Page;

/// Newest activities, to which a script adds those that are stored meanwhile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveView {
    pub lines: Vec<ActivityLine>,
    /// Filters of the activities: the name of each parameter, and its value; all that there are.
    pub filters: Vec<(&'static str, String)>,
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
            (activity_table("Activities, the newest first", Of::All, &view.lines))
            @if view.lines.is_empty() {
                div #live-empty { (empty("Nothing has arrived.", maud! {
                    "Put the " a href="/app/setup" { "snippet" } " into your web app, or "
                    a href="/app/live" { "show all" } "."
                })) }
            }
        }
        div.paging {
            @if let Some(older) = &view.older { a rel="next" href=(older) { "Older" } }
        }
        @if view.stream.is_some() { script type="module" src="/live.js" {} }
    };
    page(layout(shell, "Live", main))
}

fn choices(view: &LiveView) -> impl Renderable {
    maud! {
        form.choices method="get" {
            @for (name, value) in &view.filters {
                div {
                    label for={ "c-" (*name) } { (label(name)) }
                    input id={ "c-" (*name) } name=(*name) value=(value) placeholder=[hint(name)]
                        autocomplete="off" spellcheck="false";
                }
            }
            button type="submit" { "Show" }
            a.button href="/app/live" { "All" }
        }
    }
}

fn label(name: &str) -> &'static str {
    match name {
        "endUserId" => "User",
        "companyId" => "Company",
        _ => "Action",
    }
}

fn hint(name: &str) -> Option<&'static str> {
    name.ends_with("Id").then_some("Id or extid-…")
}

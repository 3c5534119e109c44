//! Search over everything: hits by kind.

use hypertext::prelude::*;

use super::{
    page,
    parts::empty,
    shell::{Shell, layout},
};
use crate::page::Page;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchHit {
    pub label: String,
    /// Text that distinguishes the hit from others of the same name.
    pub note: String,
    pub path: String,
}

/// Hits of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HitGroup {
    pub label: String,
    pub hits: Vec<SearchHit>,
    /// Address of all hits of the kind, where there are more.
    pub all: Option<String>,
}

/// Hits of a search, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchView {
    pub query: String,
    pub groups: Vec<HitGroup>,
    /// Whether the token may read none of the records that are searched.
    pub only_pages: bool,
}

/// Page of a search. A script extracts `#results` from it.
pub fn search_page(shell: &Shell, view: &SearchView) -> Page {
    let main = maud! {
        h1 { "Search" }
        form.choices method="get" action="/app/search" {
            div.wide {
                label for="q" { "Name, domain, e-mail, id or subject" }
                input #q type="search" name="q" value=(view.query) autocomplete="off" spellcheck="false";
            }
            button.main type="submit" { "Search" }
        }
        div #results {
            @for group in &view.groups { (found(group)) }
        }
        @if view.groups.is_empty() && !view.query.is_empty() {
            @if view.only_pages {
                (empty("No page found.", "Your token may read no records, so only pages are searched."))
            } @else {
                (empty("Nothing found.", "Try a part of a name, the beginning of an e-mail or a domain, or a whole id."))
            }
        }
    };
    page(layout(shell, "Search", main))
}

fn found(group: &HitGroup) -> impl Renderable {
    maud! {
        section {
            h2 { (group.label) }
            ul.results {
                @for hit in &group.hits {
                    li { a href=(hit.path) { (hit.label) } " " span.muted { (hit.note) } }
                }
            }
            @if let Some(all) = &group.all { p { a.all href=(all) { "All " (group.label) } } }
        }
    }
}

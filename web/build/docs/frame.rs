//! Frame of all pages of the docs: head, search, sidebar, the headings of the page, and links to the previous and
//! the next one.

use std::fmt::Write as _;

use super::{
    code::escape,
    contents::{Page, SECTIONS},
    markdown::Rendered,
};

const FRAME: &str = include_str!("../../static/docs.html");

/// Where the reference of the API is, below `/docs`.
const REFERENCE: &str = "api";

/// From how many headings on a page lists them.
const MIN_LISTED: usize = 3;

/// Relative path from a page to the root of the server, which may be below a path.
pub(crate) fn root_of(slug: &str) -> &'static str {
    if slug.is_empty() { "" } else { "../" }
}

/// A page of Markdown.
pub(crate) fn page(
    page: &Page,
    done: &Rendered,
    (before, after): (Option<&Page>, Option<&Page>),
) -> String {
    let root = root_of(page.slug);
    let title = if page.slug.is_empty() {
        "svctrack docs".to_owned()
    } else {
        format!("{} · svctrack docs", done.title)
    };
    let way = |page: Option<&Page>, class: &str, said: &str| {
        page.map(|page| {
            format!(
                "<a class=\"{class}\" href=\"{}\"><span>{said}</span>{}</a>",
                link(root, page.slug),
                escape(page.label)
            )
        })
        .unwrap_or_default()
    };
    let main = format!(
        "<main id=\"content\"><article>\n{}</article>\n<nav class=\"way\" aria-label=\"Next and previous page\">{}{}</nav></main>\n{}",
        done.html,
        way(before, "before", "Previous"),
        way(after, "after", "Next"),
        headings(done),
    );
    frame(root, page.slug, &title, &main)
}

/// The frame of the pages of the reference: `{{root}}`, `{{title}}`, `{{groups}}` and `{{main}}` are filled in by the
/// server, which knows the description.
pub(crate) fn reference() -> String {
    frame("{{root}}", REFERENCE, "{{title}} · svctrack docs", "{{main}}")
}

/// Page of search results: `{{query}}` and `{{results}}` are filled in at each request.
pub(crate) fn results() -> String {
    let main = "<main id=\"content\"><article>\n<h1>Search</h1>\n{{results}}</article></main>";
    frame("../", "search", "Search · svctrack docs", main)
}

/// Page for an address below `/docs` without a page.
pub(crate) fn missing() -> String {
    let main = "<main id=\"content\"><article>\n<h1>Page not found</h1>\n<p>This page does not exist. Search the docs, or go to the <a href=\"../docs\">overview</a>.</p></article></main>";
    frame("../", "missing", "Page not found · svctrack docs", main)
}

fn frame(root: &str, slug: &str, title: &str, main: &str) -> String {
    FRAME
        .replace("{{root}}", root)
        .replace("{{title}}", &escape(title))
        .replace("{{sidebar}}", &sidebar(root, slug))
        .replace("{{main}}", main)
        .replace("{{query}}", if slug == "search" { "{{query}}" } else { "" })
}

fn link(root: &str, slug: &str) -> String {
    if slug.is_empty() { format!("{root}docs") } else { format!("{root}docs/{slug}") }
}

/// All pages, the current one marked, and the reference of the API among them; in the reference its groups come first.
fn sidebar(root: &str, current: &str) -> String {
    let mut html = String::new();
    if current == REFERENCE {
        html += "{{groups}}\n";
    }
    let entry = |slug: &str, label: &str| {
        let mark = if slug == current { " aria-current=\"page\"" } else { "" };
        format!("<li><a href=\"{}\"{mark}>{}</a></li>\n", link(root, slug), escape(label))
    };
    for (name, pages) in SECTIONS {
        let _ = write!(html, "<h2>{name}</h2>\n<ul>\n");
        for page in *pages {
            html += &entry(page.slug, page.label);
        }
        if *name == "Reference" && current != REFERENCE {
            html += &entry(REFERENCE, "API reference");
        }
        html += "</ul>\n";
    }
    html
}

/// The list of a page's headings of the second rank.
fn headings(done: &Rendered) -> String {
    let listed: Vec<_> = done.sections.iter().filter(|section| section.level == 2).collect();
    if listed.len() < MIN_LISTED {
        return String::new();
    }
    let items: String = listed
        .iter()
        .map(|section| {
            format!("<li><a href=\"#{}\">{}</a></li>\n", section.id, escape(&section.heading))
        })
        .collect();
    format!(
        "<nav class=\"headings\" aria-label=\"On this page\"><h2>On this page</h2>\n<ul>\n{items}</ul></nav>"
    )
}

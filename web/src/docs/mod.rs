//! The docs: pages that are rendered from Markdown when this package is built, the frame of the reference, and the
//! search over all of them. They load nothing from elsewhere.

mod search;

use hypertext::prelude::*;

use self::search::search;
pub(crate) use self::search::{Section, SectionPage};
use crate::{
    content_security_policy::DOCS_POLICY,
    escape::html,
    page::{Page, fill},
    reference::ReferenceIndex,
};

/// Page at `/docs`, rendered from Markdown when the program is built.
#[derive(Debug)]
pub struct DocPage {
    /// Last part of the page's address, `/docs/{slug}`; empty for `/docs` itself.
    pub slug: &'static str,
    pub title: &'static str,
    /// Path of the page's Markdown, from the top of the project.
    pub file: &'static str,
    html: &'static str,
    sections: &'static [DocSection],
}

/// A part of a page, from a heading to the next.
#[derive(Debug)]
struct DocSection {
    id: &'static str,
    heading: &'static str,
    /// Words of the section's text, in lower case.
    words: &'static str,
}

/// All pages of the docs, in the order of their sidebar.
pub static DOC_PAGES: &[DocPage] = include!(concat!(env!("OUT_DIR"), "/docs.rs"));

const REFERENCE: &str = include_str!(concat!(env!("OUT_DIR"), "/docs-api.html"));
const MISSING: &str = include_str!(concat!(env!("OUT_DIR"), "/docs-missing.html"));
const RESULTS: &str = include_str!(concat!(env!("OUT_DIR"), "/docs-search.html"));

/// Maximum number of results of a search.
const MAX_RESULTS: usize = 30;

/// The page at `/docs/{slug}`.
pub fn doc_page(slug: &str) -> Option<Page> {
    let page = DOC_PAGES.iter().find(|page| page.slug == slug)?;
    Some(Page { html: page.html.to_owned(), csp: DOCS_POLICY.to_owned() })
}

/// Page for an address below `/docs` without a page.
pub fn missing_doc_page() -> Page {
    Page { html: MISSING.to_owned(), csp: DOCS_POLICY.to_owned() }
}

/// A page of the reference in its frame: the groups of the sidebar are each a name and a title, and `group` is that of
/// this page, or empty.
pub(crate) fn reference_frame(
    group: &str,
    title: &str,
    groups: &[(&str, &str)],
    main: &str,
) -> String {
    let root = if group.is_empty() { "../" } else { "../../" };
    let mark = |name: &str| (name == group).then_some("page");
    let sidebar = maud! {
        h2 { "API reference" }
        ul {
            li { a href=(format!("{root}docs/api")) aria-current=[mark("")] { "Overview" } }
            @for (name, title) in groups {
                li { a href=(format!("{root}docs/api/{name}")) aria-current=[mark(name)] { (title) } }
            }
        }
    };
    let values = [
        ("root", root.to_owned()),
        ("title", html(title)),
        ("groups", sidebar.render().into_inner()),
        ("main", main.to_owned()),
    ];
    fill(REFERENCE, &values)
}

/// A page of the reference, as it is sent.
pub fn reference_page(html: String) -> Page {
    Page { html, csp: DOCS_POLICY.to_owned() }
}

/// What a search finds, the best first.
pub fn doc_search_page(query: &str, reference: &ReferenceIndex) -> Page {
    let found = search(query, &reference.0);
    let results = maud! {
        @if found.is_empty() {
            p { "Nothing found. Use fewer words, or the beginning of one." }
        } @else {
            ul.results {
                @for entry in found.iter().take(MAX_RESULTS) {
                    li {
                        a href=(entry.address()) { (entry.heading) small { (entry.title) } }
                    }
                }
            }
        }
    };
    let values = [("query", html(query)), ("results", results.render().into_inner())];
    Page { html: fill(RESULTS, &values), csp: DOCS_POLICY.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asset;

    /// All pages, each with the address below which it is.
    fn pages() -> Vec<(&'static str, Page)> {
        let of_markdown = DOC_PAGES.iter().map(|page| (page.slug, doc_page(page.slug).unwrap()));
        let others = [
            ("search", doc_search_page("token", &ReferenceIndex(Vec::new()))),
            ("nothing", missing_doc_page()),
        ];
        of_markdown.chain(others).collect()
    }

    fn attributes<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
        html.match_indices(&format!(" {name}=\""))
            .map(|(at, found)| html[at + found.len()..].split('"').next().unwrap())
            .collect()
    }

    #[test]
    fn a_page_loads_files_of_this_server_alone() {
        for (slug, page) in pages() {
            let root = if slug.is_empty() { "" } else { "../" };
            let scripts = attributes(&page.html, "src");
            let styles =
                page.html.lines().filter(|line| line.starts_with("<link rel=\"stylesheet\""));
            let styles: Vec<_> = styles.flat_map(|line| attributes(line, "href")).collect();
            assert!(!scripts.is_empty() && !styles.is_empty(), "{slug}");
            for path in scripts.into_iter().chain(styles) {
                let name = path.strip_prefix(root).unwrap();
                assert!(asset(&format!("/{name}")).is_some(), "{slug}: {path}");
            }
        }
    }

    #[test]
    fn a_page_has_no_script_and_no_style_of_its_own() {
        for (slug, page) in pages() {
            assert!(!page.html.contains("<script>") && !page.html.contains("<style"), "{slug}");
            assert!(!page.html.contains(" style=") && !page.html.contains(" onclick="), "{slug}");
            assert!(!page.html.contains("{{root}}") && !page.html.contains("{{main}}"), "{slug}");
            assert!(page.csp.contains("script-src 'self';"), "{}", page.csp);
        }
    }

    #[test]
    fn what_is_asked_for_is_text_on_the_page() {
        let page = doc_search_page("\"><img src=x>{{results}}", &ReferenceIndex(Vec::new()));
        assert!(!page.html.contains("<img") && page.html.contains("&lt;img"), "{}", page.html);
    }
}

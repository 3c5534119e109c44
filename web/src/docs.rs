//! The docs: pages that are rendered from Markdown when this package is built, the search over them for who has no
//! script, and the reference of the API. They load nothing from elsewhere.

use crate::{
    addresses::Addresses,
    escape::html,
    page::{Page, fill, source},
};

/// A page of the docs.
#[derive(Debug)]
pub struct DocPage {
    /// The last part of its address, `/docs/{slug}`; empty for `/docs` itself.
    pub slug: &'static str,
    pub title: &'static str,
    /// Its Markdown, from the top of the project.
    pub file: &'static str,
    html: &'static str,
    sections: &'static [Section],
}

/// A part of a page, from a heading to the next.
#[derive(Debug)]
struct Section {
    id: &'static str,
    heading: &'static str,
    /// The words of its text, in lower case.
    words: &'static str,
}

/// All pages of the docs, in the order of their sidebar.
pub static DOC_PAGES: &[DocPage] = include!(concat!(env!("OUT_DIR"), "/docs.rs"));

const REFERENCE: &str = include_str!(concat!(env!("OUT_DIR"), "/docs-api.html"));
const RESULTS: &str = include_str!(concat!(env!("OUT_DIR"), "/docs-search.html"));

/// What the pages of the docs may do: their own scripts, styles and pictures.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// How many results a search shows.
const MAX_RESULTS: usize = 30;

/// The page at `/docs/{slug}`.
pub fn doc_page(slug: &str) -> Option<Page> {
    let page = DOC_PAGES.iter().find(|page| page.slug == slug)?;
    Some(Page { html: page.html.to_owned(), csp: POLICY.to_owned() })
}

/// The reference of the API, which shows the description of the server and may call it at its addresses, next to its
/// own origin.
pub fn reference_page(addresses: &Addresses) -> Page {
    let origin = source(addresses.origin());
    // Swagger UI sets the style of single elements, and draws its icons from `data:` addresses.
    let csp = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
         connect-src 'self'{origin}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    Page { html: REFERENCE.to_owned(), csp }
}

/// What a search finds, the best first.
pub fn doc_search_page(query: &str) -> Page {
    let found = search(query);
    let mut results = String::new();
    if found.is_empty() {
        results.push_str("<p>Nothing found. Use fewer words, or the beginning of one.</p>\n");
    } else {
        results.push_str("<ul class=\"results\">\n");
        for (page, section) in found.into_iter().take(MAX_RESULTS) {
            let below =
                if page.slug.is_empty() { String::new() } else { format!("/{}", page.slug) };
            results += &format!(
                "<li><a href=\"../docs{below}#{}\">{}</a><small>{}</small></li>\n",
                section.id,
                html(section.heading),
                html(page.title),
            );
        }
        results.push_str("</ul>\n");
    }
    let values = [("query", html(query)), ("results", results)];
    Page { html: fill(RESULTS, &values), csp: POLICY.to_owned() }
}

/// The sections in which every word that is asked for begins a word, the best first: a word of the title counts 5, of
/// the heading 3, of the text 1. As in `static/docs.js`.
fn search(query: &str) -> Vec<(&'static DocPage, &'static Section)> {
    let query = query.to_lowercase();
    let asked: Vec<_> = words(&query).collect();
    let all = DOC_PAGES.iter().flat_map(|page| page.sections.iter().map(move |part| (page, part)));
    let mut found: Vec<_> =
        all.filter_map(|(page, part)| Some((score(page, part, &asked)?, page, part))).collect();
    found.sort_by_key(|(score, ..)| std::cmp::Reverse(*score));
    found.into_iter().map(|(_, page, part)| (page, part)).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty())
}

/// How well a section fits; none where a word is nowhere in it.
fn score(page: &DocPage, section: &Section, asked: &[&str]) -> Option<u32> {
    let mut sum = 0;
    for word in asked {
        let points = |text: &str, points| {
            let lower = text.to_lowercase();
            if words(&lower).any(|known| known.starts_with(word)) { points } else { 0 }
        };
        let of_word = points(page.title, 5) + points(section.heading, 3) + points(section.words, 1);
        if of_word == 0 {
            return None;
        }
        sum += of_word;
    }
    (sum > 0).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asset;

    /// All pages, each with the address below which it is.
    fn pages() -> Vec<(&'static str, Page)> {
        let of_markdown = DOC_PAGES.iter().map(|page| (page.slug, doc_page(page.slug).unwrap()));
        let others = [
            ("api", reference_page(&Addresses::new("https://x.example"))),
            ("search", doc_search_page("token")),
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
    fn the_reference_may_call_the_public_address() {
        let page = reference_page(&Addresses::new("https://x.example/sub"));
        assert!(page.csp.contains("connect-src 'self' https://x.example;"), "{}", page.csp);
    }

    #[test]
    fn a_search_finds_words_by_their_beginning_and_headings_first() {
        let first = |query| search(query).first().map(|(page, part)| (page.slug, part.heading));
        assert_eq!(first("idempot").map(|(slug, _)| slug), Some("api-guide"));
        assert_eq!(first("pinned version").map(|(slug, _)| slug), Some("tracking-script"));
        assert_eq!(first("nowheretobefound"), None);
        assert_eq!(first(" , "), None);
    }

    #[test]
    fn what_is_asked_for_is_text_on_the_page() {
        let page = doc_search_page("\"><img src=x>{{results}}");
        assert!(!page.html.contains("<img") && page.html.contains("&lt;img"), "{}", page.html);
    }
}

//! The search over the sections of all pages: that of the server, which the script of the pages asks too.

use super::{DOC_PAGES, DocPage};

/// A part of a page of the reference.
#[derive(Debug)]
pub(crate) struct Section {
    found_in: SectionPage,
    id: String,
    heading: String,
    /// Its text, in lower case.
    words: String,
}

/// Maximum number of different words of a query that are searched for: each is searched for in every section, and any
/// client may search.
const MAX_ASKED: usize = 8;

/// Where a section is: the end of the address of its page, `/docs/{page}`, and the title of that.
#[derive(Clone, Debug)]
pub(crate) struct SectionPage {
    pub(crate) page: String,
    pub(crate) title: String,
}

impl Section {
    pub(crate) fn found(found_in: &SectionPage, id: &str, heading: String, texts: &[&str]) -> Self {
        let words = texts.join(" ").to_lowercase();
        Self { found_in: found_in.clone(), id: id.to_owned(), heading, words }
    }
}

/// A section that is searched.
#[derive(Clone, Copy)]
pub(super) struct Entry<'s> {
    page: &'s str,
    pub(super) title: &'s str,
    id: &'s str,
    pub(super) heading: &'s str,
    words: &'s str,
}

impl Entry<'_> {
    /// Its address, from the page of a search.
    pub(super) fn address(&self) -> String {
        let slash = if self.page.is_empty() { "" } else { "/" };
        format!("../docs{slash}{}#{}", self.page, self.id)
    }

    /// How well it fits: a word of the title counts 5, of the heading 3, of the text 1; none where a word is nowhere in
    /// it.
    fn score(&self, asked: &[&str]) -> Option<u32> {
        let (title, heading) = (self.title.to_lowercase(), self.heading.to_lowercase());
        let texts = [(&*title, 5), (&*heading, 3), (self.words, 1)];
        let mut sum = 0;
        for word in asked {
            let has = |text: &str| words(text).any(|known| known.starts_with(word));
            let points: u32 = texts.iter().filter(|(text, _)| has(text)).map(|(_, it)| it).sum();
            if points == 0 {
                return None;
            }
            sum += points;
        }
        (sum > 0).then_some(sum)
    }
}

/// The sections in which each of the first words of the query begins a word, the best first.
pub(super) fn search<'s>(query: &str, reference: &'s [Section]) -> Vec<Entry<'s>> {
    let query = query.to_lowercase();
    let mut asked: Vec<&str> = Vec::new();
    for word in words(&query) {
        if asked.len() < MAX_ASKED && !asked.contains(&word) {
            asked.push(word);
        }
    }
    let of_reference = reference.iter().map(|section| Entry {
        page: &section.found_in.page,
        title: &section.found_in.title,
        id: &section.id,
        heading: &section.heading,
        words: &section.words,
    });
    let all = DOC_PAGES.iter().flat_map(entries).chain(of_reference);
    let mut found: Vec<_> = all.filter_map(|entry| Some((entry.score(&asked)?, entry))).collect();
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found.into_iter().map(|(_, entry)| entry).collect()
}

fn entries<'s>(page: &'static DocPage) -> impl Iterator<Item = Entry<'s>> {
    page.sections.iter().map(|section| Entry {
        page: page.slug,
        title: page.title,
        id: section.id,
        heading: section.heading,
        words: section.words,
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_finds_words_by_their_beginning_and_headings_first() {
        let section = Section::found(
            &SectionPage { page: "api/companies".to_owned(), title: "Companies".to_owned() },
            "get_companies",
            "List records: GET /companies".to_owned(),
            &["Ordered by `_id`.", "updatedSince"],
        );
        let reference = [section];
        let first = |query| search(query, &reference).first().map(Entry::address);
        let page = |query| first(query).map(|it| it.split('#').next().unwrap().to_owned());
        assert_eq!(page("idempot").as_deref(), Some("../docs/api-guide"));
        assert_eq!(page("pinned version").as_deref(), Some("../docs/tracking-script"));
        assert_eq!(
            first("list records updatedsi").as_deref(),
            Some("../docs/api/companies#get_companies")
        );
        assert_eq!(first("nowheretobefound"), None);
        assert_eq!(first(" , "), None);
        // Words that are there twice, and those after the first, cost nothing.
        let long = "updatedsi ".repeat(1_000);
        assert_eq!(first(&long), first("updatedsi"));
        let more = format!("a b c d e f g i {}", "nowheretobefound ".repeat(1_000));
        assert_eq!(first(&more), first("a b c d e f g i"));
    }
}

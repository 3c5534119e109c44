//! Lists that read records from both ends.

use std::fmt::Write as _;

use svctrack_core::{plan::upsert::Access, resources::ticket::TICKET, schema::Handling};

use super::*;
use crate::Next;

const TICKETS: usize = 3_000;

/// What a ticket says, of which some have much in common.
fn text_of(number: usize) -> String {
    let mut text = "all".to_owned();
    for (every, word) in [(2, "second"), (7, "seventh"), (1_000, "thousandth")] {
        if number.is_multiple_of(every) {
            write!(text, " {word}").unwrap();
        }
    }
    match number {
        0 => text + " first",
        _ if number == TICKETS - 1 => text + " last",
        _ => text,
    }
}

/// The numbers of the tickets in a page, and the record after which the next one begins.
async fn page(world: &World, pairs: &[(&str, &str)]) -> (Vec<usize>, Option<ObjectId>) {
    let pairs: Vec<_> =
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let query = ListQuery::parse(&TICKET, &pairs).unwrap().query;
    let page =
        world.store.list(&world.actor.tenant, &TICKET, query, PageFor::default()).await.unwrap();
    let found = texts(&page, "sourceId").iter().map(|id| id.parse().unwrap()).collect();
    match page.next {
        Some(Next::After(last)) => (found, Some(last)),
        _ => (found, None),
    }
}

/// The numbers of the tickets in all pages of a search.
async fn search(world: &World, word: &str, sort: &str, limit: usize) -> Vec<usize> {
    let limit = limit.to_string();
    let mut all = Vec::new();
    let mut after = String::new();
    loop {
        let pairs = [("search", word), ("sort", sort), ("limit", &limit), ("after", &after)];
        let first = if after.is_empty() { 3 } else { 4 };
        let (found, last) = page(world, &pairs[..first]).await;
        all.extend(found);
        let Some(last) = last else { return all };
        after = last.to_string();
    }
}

#[tokio::test]
async fn a_search_finds_the_same_whichever_end_it_is_at() {
    let world = World::new().await;
    world.add_company("acme").await;
    let ticket = |number| {
        let text = text_of(number);
        let ticket = format!(
            r#"{{"sourceId":"{number}","email":"bob@x.example","companyExternalId":"acme","description":"{text}"}}"#
        );
        Ok(Document::parse(ticket.as_bytes()).unwrap())
    };
    let items = (0..TICKETS).map(ticket).collect();
    let access = Access { create: true, update: true };
    world.write(Command::Upsert { def: &TICKET, items, access, handling: Handling::Lenient }).await;
    for word in ["all", "second", "seventh", "thousandth", "first", "last", "nothing"] {
        let mut expected: Vec<_> =
            (0..TICKETS).filter(|number| text_of(*number).contains(word)).collect();
        for sort in ["_id", "-_id"] {
            for limit in [7, 100, 2_000] {
                if expected.len() / limit < 100 {
                    let found = search(&world, word, sort, limit).await;
                    assert!(found == expected, "{word} {sort} {limit}: {}", found.len());
                }
            }
            let pairs = [("search", word), ("sort", sort), ("offset", "100"), ("limit", "300")];
            let (found, _) = page(&world, &pairs).await;
            let there: Vec<_> = expected.iter().copied().skip(100).take(300).collect();
            assert!(found == there, "{word} {sort} {}", found.len());
            expected.reverse();
        }
    }
}

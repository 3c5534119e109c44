//! Lists that read records from both ends, ranges of dates, and slow readers.

use std::{collections::BTreeSet, fmt::Write as _};

use futures_util::StreamExt as _;
use svctrack_core::{
    plan::upsert::UpsertAccess,
    resources::{end_user::END_USER, license::LICENSE, ticket::TICKET},
    schema::{ResourceDef, UnknownMemberPolicy},
};

use super::*;
use crate::{
    PageStart,
    embedded::{engagement::SnapshotEngagement, runtime::held_snapshots::MAX_WRITTEN_BYTES},
};

const TICKETS: usize = 3_000;

/// Text of a ticket; some of these have much in common.
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

/// Numbers of the tickets in a page, and the record after which the next one begins.
async fn page(world: &World, pairs: &[(&str, &str)]) -> (Vec<usize>, Option<ObjectId>) {
    let pairs: Vec<_> =
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let query = ListQuery::parse(&TICKET, &pairs).unwrap().query;
    let page = world
        .store
        .list(&world.actor.tenant, &TICKET, query, PageOptions::default())
        .await
        .unwrap();
    let found = texts(&page, "sourceId").iter().map(|id| id.parse().unwrap()).collect();
    match page.next {
        Some(PageStart::After(last)) => (found, Some(last)),
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
    let access = UpsertAccess { create: true, update: true };
    world
        .write(Command::Upsert {
            def: &TICKET,
            items,
            access,
            handling: UnknownMemberPolicy::Lenient,
        })
        .await;
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

/// Adds companies so large that their page is read as it is sent, in pieces of one.
async fn add_large_companies(world: &World, count: usize) {
    let text = "y".repeat(60_000);
    for number in 0..count {
        let custom: Vec<_> = (0..15).map(|key| format!(r#""{key}":"{text}""#)).collect();
        let custom = custom.join(",");
        let company = format!(r#"{{"name":"{number}","custom":{{{custom}}}}}"#);
        let body = CheckedBody::trusted(Document::parse(company.as_bytes()).unwrap());
        world.write(Command::Create { def: &COMPANY, body }).await;
    }
}

#[tokio::test]
async fn a_large_page_is_read_until_too_much_was_written_meanwhile() {
    let world = World::new().await;
    add_large_companies(&world, 8).await;
    let list = async || {
        let query = ListQuery::parse(&COMPANY, &[]).unwrap().query;
        let page = world.store.list(&world.actor.tenant, &COMPANY, query, PageOptions::default());
        page.await.unwrap().later.unwrap()
    };
    let write = async |bytes: u64| {
        world.store.shared.progress.count_written(usize::try_from(bytes).unwrap());
        world.add_company(&bytes.to_string()).await;
    };
    let (mut slow, quick) = (list().await, list().await);
    assert!(slow.next().await.unwrap().is_ok());
    write(MAX_WRITTEN_BYTES / 2).await;
    assert!(slow.next().await.unwrap().is_ok());
    assert_eq!(quick.filter(|piece| std::future::ready(piece.is_ok())).count().await, 8);
    let mut later = list().await;
    write(MAX_WRITTEN_BYTES / 2 + 1).await;
    let ended = slow.next().await.unwrap();
    assert!(matches!(ended, Err(StoreError::Unavailable(_))), "{ended:?}");
    assert!(slow.next().await.is_none());
    assert!(later.next().await.unwrap().is_ok());
}

/// Each record of a list: its `externalId`, and a property.
async fn listed(
    world: &World,
    def: &'static ResourceDef,
    name: &str,
    filters: &[(String, &str)],
) -> Vec<(String, String)> {
    let limit = ("limit".to_owned(), "2000".to_owned());
    let filters = filters.iter().map(|(name, value)| (name.clone(), (*value).to_owned()));
    let pairs: Vec<_> = filters.chain([limit]).collect();
    let query = ListQuery::parse(def, &pairs).unwrap().query;
    let page = world.store.list(&world.actor.tenant, def, query, PageOptions::default());
    let page = page.await.unwrap();
    assert!(page.next.is_none() && page.later.is_none());
    texts(&page, "externalId").into_iter().zip(texts(&page, name)).collect()
}

/// Checks that ranges of a date have the same records as a list of all of them has. Returns how many these are.
async fn check_ranges(
    world: &World,
    def: &'static ResourceDef,
    name: &str,
    ends: &[&str],
) -> BTreeSet<usize> {
    let all = listed(world, def, name, &[]).await;
    let mut counts = BTreeSet::new();
    for first in ends {
        let since = listed(world, def, name, &[(format!("{name}[gte]"), first)]).await;
        let expected = all.iter().filter(|(_, date)| date.as_str() >= *first);
        assert_eq!(since, expected.cloned().collect::<Vec<_>>(), "from {first}");
        counts.insert(since.len());
        for end in ends.iter().filter(|end| first < *end) {
            let filters = [(format!("{name}[gt]"), *first), (format!("{name}[lt]"), *end)];
            let between = listed(world, def, name, &filters).await;
            let expected =
                all.iter().filter(|(_, date)| first < &date.as_str() && date.as_str() < *end);
            assert_eq!(between, expected.cloned().collect::<Vec<_>>(), "{first} to {end}");
            counts.insert(between.len());
        }
    }
    counts
}

#[tokio::test]
async fn a_range_of_activity_has_logged_and_settled_rows() {
    const USERS: usize = 20;
    const HOURS: usize = 30;
    let log_limits = LogLimits { min_logged: 2, fold_from: 12, min_folded: 3, at_hand: 10 };
    let world = World::with_log(log_limits).await;
    for company in 0..5 {
        world.add_company(&company.to_string()).await;
    }
    let user = r#"{"externalId":"idle","companyId":"extid-4"}"#;
    let items = vec![Ok(Document::parse(user.as_bytes()).unwrap())];
    let access = UpsertAccess { create: true, update: true };
    let handling = UnknownMemberPolicy::Lenient;
    world.write(Command::Upsert { def: &END_USER, items, access, handling }).await;
    let mut times = Vec::new();
    for hour in 0..HOURS {
        world.pass(DAY_MS / 24);
        times.push(world.clock.now().to_string());
        // In the last hour some are active for the first time. Nobody of the fifth company ever is.
        let first = if hour == HOURS - 1 { USERS } else { hour * 7 % USERS };
        let active = (first..first + 5).map(|user| user % (USERS + 5));
        let active =
            active.map(|user| event(&user.to_string(), &(user / 7).to_string(), "x")).collect();
        world.track(active).await;
    }
    let snapshot = world.store.shared.snapshot().unwrap();
    let logged_alone = SnapshotEngagement::open(&snapshot).unwrap().logged_alone().unwrap();
    assert!(!logged_alone.is_empty() && world.rows(rows::ENGAGEMENT) > 0);
    let ends: Vec<&str> = times.iter().skip(1).step_by(4).map(String::as_str).collect();
    assert!(check_ranges(&world, &END_USER, "lastActive", &ends).await.len() > 5);
    assert!(check_ranges(&world, &COMPANY, "lastActive", &ends).await.len() > 2);
}

/// Upserts licenses in one command. Their renewal dates repeat after 24 licenses.
async fn add_licenses(world: &World, numbers: std::ops::Range<usize>) {
    add_licenses_of(world, numbers, |_| r#""p""#.to_owned()).await;
}

/// Upserts licenses with products, as JSON.
async fn add_licenses_of(
    world: &World,
    numbers: std::ops::Range<usize>,
    product: impl Fn(usize) -> String,
) {
    let license = |number| {
        let (year, month) = (2024 + number / 12 % 2, number % 12 + 1);
        let product = product(number);
        let license = format!(
            r#"{{"companyId":"extid-acme","externalId":"{number}","product":{product},"_currency":"EUR","mrr":1,"fromDate":"{year}-{month:02}-01","length":12,"fixedPeriod":true}}"#
        );
        Ok(Document::parse(license.as_bytes()).unwrap())
    };
    let items = numbers.map(license).collect();
    let access = UpsertAccess { create: true, update: true };
    world
        .write(Command::Upsert {
            def: &LICENSE,
            items,
            access,
            handling: UnknownMemberPolicy::Lenient,
        })
        .await;
}

#[tokio::test]
async fn a_range_that_has_more_than_an_index_is_read_for_has_them_all() {
    let world = World::new().await;
    world.add_company("acme").await;
    let mut times = Vec::new();
    for numbers in [0..250, 250..450, 450..500] {
        world.pass(DAY_MS);
        times.push(world.clock.now().to_string());
        add_licenses(&world, numbers).await;
    }
    let times: Vec<&str> = times.iter().map(String::as_str).collect();
    let counts = check_ranges(&world, &LICENSE, "updatedAt", &times).await;
    assert_eq!(counts, BTreeSet::from([0, 50, 200, 250, 500]));
    let all = listed(&world, &LICENSE, "renewalDate", &[]).await;
    let dates: BTreeSet<&str> = all.iter().map(|(_, date)| date.as_str()).collect();
    assert!(dates.len() == 24 && !dates.contains(""), "{dates:?}");
    let dates: Vec<&str> = dates.into_iter().step_by(4).collect();
    let counts = check_ranges(&world, &LICENSE, "renewalDate", &dates).await;
    assert!(counts.contains(&500) && *counts.first().unwrap() < 200, "{counts:?}");
}

#[tokio::test]
async fn a_part_of_a_text_is_found_in_an_index_as_in_records() {
    let world = World::new().await;
    world.add_company("acme").await;
    let products = [
        r#""Suite""#,
        r#""suite pro""#,
        r#""STRASSE 7""#,
        r#""Stra\u00dfe \"8\"""#,
        "null",
        r#""S""#,
    ];
    add_licenses_of(&world, 0..250, |number| products[number % products.len()].to_owned()).await;
    add_licenses_of(&world, 250..500, |number| format!("\"Add-on {number}\"")).await;
    // Some have another product by now.
    add_licenses_of(&world, 40..50, |_| r#""Other""#.to_owned()).await;
    let all = listed(&world, &LICENSE, "product", &[]).await;
    for (operator, part, count) in [
        ("contains", "suite", 80),
        ("contains", "UITE", 80),
        ("contains", "stra\u{df}e", 82),
        ("contains", "\"", 41),
        ("contains", "add-on", 250),
        ("contains", "on 49", 10),
        ("contains", "-", 250),
        ("contains", "none", 0),
        ("prefix", "s", 201),
        ("prefix", "add-on 49", 10),
        ("prefix", "uite", 0),
    ] {
        let filters = [(format!("product[{operator}]"), part)];
        let found = listed(&world, &LICENSE, "product", &filters).await;
        let folded = |text: &str| text.to_lowercase().replace('\u{df}', "ss");
        let meets = |(_, product): &&(String, String)| match operator {
            "contains" => folded(product).contains(&folded(part)),
            _ => folded(product).starts_with(&folded(part)),
        };
        let expected: Vec<_> = all.iter().filter(meets).cloned().collect();
        assert_eq!(found, expected, "{operator} {part}");
        assert_eq!(expected.len(), count, "{operator} {part}");
    }
    // An index of texts is not read where another one has less.
    let updated = world.clock.now().to_string();
    world.pass(DAY_MS);
    add_licenses_of(&world, 0..3, |_| r#""Add-on""#.to_owned()).await;
    let filters =
        [("product[contains]".to_owned(), "add"), ("updatedAt[gt]".to_owned(), updated.as_str())];
    assert_eq!(listed(&world, &LICENSE, "product", &filters).await.len(), 3);
}

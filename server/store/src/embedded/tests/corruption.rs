//! The effect of a corrupted page on tenants with adjacent rows.

use std::{fs, ops::Range};

use super::*;

/// A row that is larger than a page, so that it has a page of its own.
const MARK: &str = "the page that is damaged";
const LARGE: usize = 6_000;

/// Flips a bit of the stored mark.
fn corrupt_page(folder: &Path) {
    let path = folder.join(FILE_NAME);
    let mut bytes = fs::read(&path).unwrap();
    let is_there = |at: &usize| bytes[*at..].starts_with(MARK.as_bytes());
    let places: Vec<_> = (0..bytes.len()).filter(is_there).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| bytes[at] ^= 1);
    fs::write(&path, bytes).unwrap();
}

/// A tenant with a company, and another tenant whose rows come after all of its rows.
async fn two_tenants() -> (World, Actor) {
    let world = World::new().await;
    let behind = world.tenant(8).await;
    for actor in [&world.actor, &behind] {
        let company =
            Command::Create { def: &COMPANY, body: CheckedBody::trusted(company("acme")) };
        world.store.write(actor.clone(), company).await.unwrap();
    }
    (world, behind)
}

impl World {
    async fn track_as(&self, actor: &Actor, events: Vec<Event>) -> Result<Reply, StoreError> {
        let tracking = Tracking::without_findings(events, self.clock.now(), Route::Realtime);
        self.store.write(actor.clone(), Command::Track(tracking)).await
    }
}

fn large(mark: &str) -> Event {
    let info = Some(format!(r#"{{"note":"{mark}{}"}}"#, "x".repeat(LARGE)));
    Event { info, ..event("7", "acme", "large") }
}

fn events(count: usize) -> Vec<Event> {
    (0..count).map(|number| event("7", "acme", &format!("{number}"))).collect()
}

#[tokio::test]
async fn rows_are_written_in_bulk_next_to_corrupted_ones_of_another_tenant() {
    let (world, behind) = two_tenants().await;
    world.track(events(1)).await;
    world.track_as(&behind, vec![large(MARK)]).await.unwrap();
    let world = world.reopened(corrupt_page);
    world.track(events(125)).await;
    assert_eq!(world.rows(rows::ACTIVITIES), 127);
}

#[tokio::test]
async fn only_the_command_fails_whose_page_is_corrupted_whoever_writes_what_was_gathered() {
    let (world, behind) = two_tenants().await;
    world.track(vec![large(MARK)]).await;
    world.track_as(&behind, events(1)).await.unwrap();
    let world = world.reopened(corrupt_page);
    // While the first command is carried out the others arrive; the last has more bytes than are gathered.
    let (first, second, last) = tokio::join!(
        world.track_as(&behind, events(3_000)),
        world.track_as(&world.actor, events(1)),
        world.track_as(&behind, vec![large(""); 1_000]),
    );
    assert!(first.is_ok() && last.is_ok(), "{last:?}");
    assert!(matches!(second, Err(StoreError::Corrupted { .. })), "{second:?}");
    assert_eq!(world.rows(rows::ACTIVITIES), 4_002);
}

#[tokio::test]
async fn what_cannot_be_read_to_its_end_is_reported_once_and_compared_with_nothing() {
    let with_id = |id: String| Event { message_id: Some(id), ..event("7", "acme", "x") };
    let numbered = |numbers: Range<u32>| numbers.map(|n| with_id(format!("{n:03}"))).collect();
    for (tables, parts) in [
        (vec![rows::ACTIVITIES], [events(100), vec![large(MARK)], events(30)]),
        // The id of an event is in its activity, too.
        (
            vec![rows::ACTIVITIES, rows::MESSAGES],
            [numbered(0..300), vec![with_id(MARK.to_owned())], vec![]],
        ),
    ] {
        let world = World::new().await;
        world.add_company("acme").await;
        for part in parts {
            world.track(part).await;
        }
        let verified = world.reopened(corrupt_page).verified();
        let told: Vec<_> = verified.problems.iter().map(|problem| &*problem.table).collect();
        assert_eq!(told, tables.iter().map(|table| table.name()).collect::<Vec<_>>());
        let is_caught_up =
            |problem: &Corruption| problem.what.ends_with("; no row after it was checked");
        assert!(verified.problems.iter().all(is_caught_up), "{verified:?}");
    }
}

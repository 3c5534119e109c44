//! Usage over more activities than are tallied at a time, and in a store from before tallying.

use svctrack_core::revenue::{ReportKind, ReportQuery as Query};

use super::*;
use crate::{Precondition, rows::WriteRows as _, rules::usage::LIMITS};

/// Numbers of activities and users in the report of the year.
async fn counted(world: &World) -> Result<(u64, u64), StoreError> {
    let pairs = [("interval", "year"), ("from", "2026-01-01"), ("to", "2027-01-01")];
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let query = Query::parse(ReportKind::Usage, &pairs).unwrap();
    let write = |report: &svctrack_core::revenue::Report, _: &Query| {
        let svctrack_core::revenue::Report::Usage(report) = report else { panic!("{report:?}") };
        let row = &report.rows[0];
        Ok(format!("{} {}", row.activities, row.users.active))
    };
    let job = ReportJob { query, key: String::new(), write: Arc::new(write) };
    let written = world.store.report(&world.actor.tenant, job).await?;
    let (activities, users) = written.text.split_once(' ').unwrap();
    Ok((activities.parse().unwrap(), users.parse().unwrap()))
}

async fn track(world: &World, count: usize) {
    let events: Vec<_> =
        (0..count).map(|number| event(&format!("u{}", number % 9), "acme", "x")).collect();
    for part in events.chunks(1_000) {
        world.track(part.to_vec()).await;
    }
}

/// Removes all tallies, as in a store that was last written before there was usage.
fn forget(folder: &Path) {
    let database = open::open(&DiskFile::at(&folder.join(FILE_NAME)), CACHE_BYTES).unwrap();
    let transaction = begin(&database).unwrap();
    {
        let mut table = WriteTable::open(&transaction, rows::USAGE).unwrap();
        table.remove_range(..).unwrap();
    }
    transaction.commit().unwrap();
}

#[tokio::test]
async fn activities_are_tallied_by_the_thousand_and_a_store_from_before_is_counted_once() {
    let world = World::new().await;
    world.add_company("acme").await;
    track(&world, LIMITS.activities).await;
    assert_eq!((world.rows(rows::USAGE), counted(&world).await.unwrap()), (0, (8_192, 9)));
    track(&world, 3_000).await;
    assert_eq!((world.rows(rows::USAGE), counted(&world).await.unwrap()), (2, (11_192, 9)));
    track(&world, 30_000).await;
    let world = world.reopened(forget);
    let error = counted(&world).await.unwrap_err();
    assert!(matches!(error, StoreError::Counting { counted: 0, of: 41_984 }), "{error:?}");
    world.sweep().await;
    assert_eq!((world.rows(rows::USAGE), counted(&world).await.unwrap()), (6, (41_192, 9)));
    let (reference, precondition) = (RecordRef::External("u3".to_owned()), Precondition::Anything);
    world.write(Command::Erase { reference, precondition }).await;
    world.sweep().await;
    assert_eq!(counted(&world).await.unwrap().1, 8);
    let world = world.reopened(|_| {});
    let left = world.rows(rows::ACTIVITIES);
    assert_eq!(left, 41_192, "the places of erased ones stay");
    assert!(counted(&world).await.unwrap().0 < 37_000);
}

#[tokio::test]
async fn what_is_counted_of_activities_stays_when_they_go() {
    let world = World::new().await;
    world.add_company("acme").await;
    world.write(set(r#"{"activityRetentionDays":1}"#)).await;
    track(&world, 700).await;
    world.pass(2 * DAY_MS);
    track(&world, 200).await;
    world.sweep().await;
    assert_eq!(world.rows(rows::ACTIVITIES), 200);
    assert_eq!(counted(&world).await.unwrap(), (900, 9));
}

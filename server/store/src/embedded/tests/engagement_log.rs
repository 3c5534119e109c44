//! Rows of engagement in the log, however many of them were folded into their table.

use std::{collections::BTreeMap, fs};

use redb::Database;
use svctrack_core::resources::end_user::END_USER;

use super::*;
use crate::{
    Precondition,
    rows::{ENGAGEMENT, ENGAGEMENT_LOG, ENGAGEMENT_LOG_TWIN, engagement::ReadRows as _},
};

/// A log that is folded every few commits.
const SMALL: LogLimits = LogLimits { min_logged: 2, fold_from: 12, min_folded: 3, at_hand: 10 };
/// A log without folded rows.
const UNFOLDED: LogLimits = LogLimits { fold_from: usize::MAX, ..SMALL };

const USERS: usize = 20;
const USERS_OF_ROUND: usize = 5;

/// Activities of each user, as they were sent.
type Sent = BTreeMap<usize, u64>;

impl World {
    /// Some of the users are active.
    async fn round(&self, number: usize, sent: &mut Sent) {
        let users = (0..USERS_OF_ROUND).map(|user| (number * 7 + user * 3) % USERS);
        let users: Vec<_> = users.collect();
        self.track(users.iter().map(|user| event(&user.to_string(), "acme", "x")).collect()).await;
        users.into_iter().for_each(|user| *sent.entry(user).or_insert(0) += 1);
    }

    async fn user(&self, number: usize) -> Option<RecordResponse> {
        let user = RecordRef::External(number.to_string());
        self.store.record(&self.actor.tenant, &END_USER, &user).await.unwrap()
    }

    async fn check(&self, sent: &Sent) {
        for (user, count) in sent {
            let response = self.user(*user).await.unwrap();
            let document = Document::parse(response.text.as_bytes()).unwrap();
            let beats = document.get("beatsTotal").unwrap().text();
            assert_eq!(beats, count.to_string(), "user {user}");
            let history = paged(self, ("endUserId", &format!("extid-{user}")), 100).await;
            assert_eq!(history.len() as u64, *count, "user {user}");
        }
    }

    pub(crate) fn verified(self) -> VerifyReport {
        let Self { store, folder, .. } = self;
        drop(store);
        verify(folder.path(), CACHE_BYTES).unwrap()
    }
}

async fn filled(log_limits: LogLimits, rounds: usize) -> (World, Sent) {
    let (world, mut sent) = (World::with_log(log_limits).await, Sent::new());
    world.add_company("acme").await;
    for number in 0..rounds {
        world.round(number, &mut sent).await;
    }
    (world, sent)
}

#[tokio::test]
async fn users_are_as_active_as_was_sent_whatever_of_the_log_was_folded_at_a_restart() {
    let (mut world, mut sent) = filled(SMALL, 0).await;
    let mut folded = 0;
    for number in 0..100 {
        world.round(number, &mut sent).await;
        folded += usize::from(world.rows(ENGAGEMENT) > 0);
        assert!(world.rows(ENGAGEMENT_LOG) < 40, "round {number}");
        if number % 9 == 0 {
            world = world.reopened(|_| {});
        }
        if number % 4 == 0 {
            world.check(&sent).await;
        }
    }
    assert!(folded > 80);
    assert_eq!(world.verified().problems, []);
}

#[tokio::test]
async fn rows_that_are_few_go_where_they_belong_and_count_with_older_ones_of_the_log() {
    let (world, mut sent) = filled(UNFOLDED, 8).await;
    assert_eq!(world.rows(ENGAGEMENT), 0);
    let world = World { log_limits: LogLimits { min_logged: 100, ..UNFOLDED }, ..world };
    let world = world.reopened(|_| {});
    for number in 8..12 {
        world.round(number, &mut sent).await;
        world.check(&sent).await;
    }
    assert!(world.rows(ENGAGEMENT) > 0 && world.rows(ENGAGEMENT_LOG) == 8);
    // The rows of the log are older now than those of the table, and stay there.
    let world = World { log_limits: UNFOLDED, ..world }.reopened(|_| {});
    world.check(&sent).await;
    for number in 12..15 {
        world.round(number, &mut sent).await;
        world.check(&sent).await;
    }
    assert_eq!(world.verified().problems, []);
}

#[tokio::test]
async fn a_snapshot_sees_the_log_as_it_was_when_it_was_taken() {
    let (world, mut sent) = filled(SMALL, 3).await;
    let id = world.user(0).await.unwrap().id;
    let owner = (world.actor.tenant.id(), END_USER.code, id);
    let snapshot = world.store.shared.snapshot().unwrap();
    let latest = |snapshot: &RedbSnapshot| {
        snapshot.engagement().unwrap().latest_activity(owner).unwrap().unwrap()
    };
    let before = latest(&snapshot);
    for number in 3..30 {
        // Another snapshot, which is read when later ones have been.
        let unread = world.store.shared.snapshot().unwrap();
        let expected = latest(&world.store.shared.snapshot().unwrap());
        world.round(number, &mut sent).await;
        let now = latest(&world.store.shared.snapshot().unwrap());
        assert_eq!((latest(&snapshot), now >= before), (before, true), "round {number}");
        assert_eq!(latest(&unread), expected, "round {number}");
    }
    assert!(latest(&world.store.shared.snapshot().unwrap()) > before);
}

#[tokio::test]
async fn who_is_erased_leaves_nothing_in_the_log() {
    let (world, mut sent) = filled(UNFOLDED, 8).await;
    let id = world.user(0).await.unwrap().id;
    let has_them = |world: &World| {
        let snapshot = world.store.shared.snapshot().unwrap();
        let log = snapshot.open(ENGAGEMENT_LOG_TWIN).unwrap();
        let is_there = |row: &[u8]| row.windows(12).any(|bytes| bytes == id.as_bytes());
        log.iter().unwrap().any(|row| is_there(row.unwrap().1.value()))
    };
    assert!(has_them(&world));
    let (reference, precondition) = (RecordRef::Id(id), Precondition::Anything);
    world.write(Command::Erase { reference, precondition }).await;
    world.sweep().await;
    assert!(!has_them(&world));
    sent.remove(&0);
    world.check(&sent).await;
    let world = world.reopened(|_| {});
    for number in [9, 10, 11] {
        sent.clear();
        world.round(number, &mut sent).await;
    }
    let engaged = world.store.shared.snapshot().unwrap().engagement().unwrap();
    assert!(engaged.engagement(world.actor.tenant.id(), &END_USER, id).unwrap().is_none());
    drop(engaged);
    assert_eq!(world.verified().problems, []);
}

/// Replaces the entries of copies of the log.
fn spoil(folder: &Path, copies: &[Table]) {
    let database = open::open(&DiskFile::at(&folder.join(FILE_NAME)), CACHE_BYTES).unwrap();
    spoil_in(&database, copies);
}

fn spoil_in(database: &Database, copies: &[Table]) {
    let transaction = begin(database).unwrap();
    for copy in copies {
        let mut table = WriteTable::open(&transaction, *copy).unwrap();
        let keys: Vec<_> =
            table.iter().unwrap().map(|row| row.unwrap().0.value().to_vec()).collect();
        for key in keys {
            table.insert(key.as_slice(), b"spoiled".as_slice()).unwrap();
        }
    }
    transaction.commit().unwrap();
}

#[tokio::test]
async fn one_copy_of_the_log_is_enough_whichever_is_corrupted() {
    for copy in [ENGAGEMENT_LOG, ENGAGEMENT_LOG_TWIN] {
        let (world, mut sent) = filled(UNFOLDED, 8).await;
        let world = world.reopened(|folder| spoil(folder, &[copy]));
        world.check(&sent).await;
        let world = World { log_limits: SMALL, ..world }.reopened(|_| {});
        for number in 8..30 {
            world.round(number, &mut sent).await;
        }
        world.check(&sent).await;
        let [problem] = world.verified().problems.try_into().unwrap();
        assert!(problem.what.contains("svctrack compact"), "{problem:?}");
    }
}

#[tokio::test]
async fn what_both_copies_have_lost_is_found_and_blocks_no_writes() {
    let (world, mut sent) = filled(UNFOLDED, 8).await;
    let world = world.reopened(|folder| spoil(folder, &[ENGAGEMENT_LOG, ENGAGEMENT_LOG_TWIN]));
    for number in 8..16 {
        world.round(number, &mut sent).await;
    }
    assert_eq!(world.actions().await.len(), 16 * USERS_OF_ROUND);
    let verified = world.verified();
    let tables: Vec<_> = verified.problems.iter().map(|problem| problem.table.as_str()).collect();
    assert_eq!(tables, ["pages", "activities", "activities"], "{:?}", verified.problems);
}

#[tokio::test]
async fn copies_of_the_log_that_are_not_the_same_are_found() {
    for copy in [ENGAGEMENT_LOG, ENGAGEMENT_LOG_TWIN] {
        let (world, _) = filled(UNFOLDED, 8).await;
        let transaction = world.store.shared.begin().unwrap();
        let first = 0_u64.to_be_bytes();
        WriteTable::open(&transaction, copy).unwrap().remove(first.as_slice()).unwrap().unwrap();
        transaction.commit().unwrap();
        let [problem] = world.verified().problems.try_into().unwrap();
        assert_eq!(problem.what, "an entry differs from its copy");
    }
}

impl World {
    /// Reopens the store so that each page is read from its file.
    fn without_cache(self) -> Self {
        let Self { store, clock, actor, folder, log_limits } = self;
        drop(store);
        let store_file = Box::new(DiskFile::at(&folder.path().join(FILE_NAME)));
        let store = Embedded::open_file(store_file, 0, log_limits, clock.clone()).unwrap();
        Self { store, clock, actor, folder, log_limits }
    }

    /// Tracks each event in a command of its own; a commit has several commands.
    async fn track_each(&self, events: Vec<Event>) {
        let each = events.into_iter().map(|event| self.track(vec![event]));
        futures_util::future::join_all(each).await;
    }
}

#[tokio::test]
async fn a_page_of_the_table_that_is_corrupted_meanwhile_does_not_prevent_the_log_from_being_folded()
 {
    let world = World::with_log(LogLimits { min_logged: 1_000, ..SMALL }).await;
    world.add_company("acme").await;
    world.track(crowd(0..200)).await;
    let in_the_middle = world.user(100).await.unwrap().id;
    let key = keys::record(world.actor.tenant.id(), END_USER.code, in_the_middle);
    let stored = value(&world, ENGAGEMENT, Some(&key));
    let limits = LogLimits { min_logged: 20, fold_from: 1_000, min_folded: 3, at_hand: 10 };
    let world = World { log_limits: limits, ..world }.without_cache();
    for first in (0..200).step_by(50) {
        world.track(crowd(first..first + 50)).await;
    }
    flip(world.folder.path(), &stored);
    for _ in 0..100 {
        world.track_each(crowd(160..200)).await;
    }
    assert_eq!(world.actions().await.len(), 2_000);
    let log = world.store.shared.snapshot().unwrap().open(ENGAGEMENT_LOG).unwrap();
    let first = log.iter().unwrap().next().unwrap().unwrap().0.value().to_vec();
    assert!(first > 10_u64.to_be_bytes().to_vec() && log.iter().unwrap().count() < 120);
}

#[tokio::test]
async fn a_log_that_is_corrupted_meanwhile_is_started_again() {
    let (world, mut sent) = filled(UNFOLDED, 8).await;
    let world = world.without_cache();
    world.round(8, &mut sent).await;
    flip_first(world.folder.path(), &value(&world, ENGAGEMENT_LOG, None));
    for number in 9..12 {
        world.round(number, &mut sent).await;
    }
    let world = world.reopened(|_| {});
    world.check(&sent).await;
    let snapshot = world.store.shared.snapshot().unwrap();
    let is_aside = |table: &redb::UntypedTableHandle| {
        crate::embedded::engagement::is_aside(redb::TableHandle::name(table))
    };
    assert_eq!(snapshot.list_tables().unwrap().filter(is_aside).count(), 2);
}

/// Stored value of a row.
fn value(world: &World, table: Table, key: Option<&[u8]>) -> Vec<u8> {
    let table = world.store.shared.snapshot().unwrap().open(table).unwrap();
    let value = match key {
        Some(key) => table.get(key).unwrap().unwrap(),
        None => table.iter().unwrap().next_back().unwrap().unwrap().1,
    };
    value.value().to_vec()
}

#[tokio::test]
async fn events_are_processed_while_the_end_of_the_log_is_corrupted() {
    let (world, mut sent) = filled(UNFOLDED, 8).await;
    let last = value(&world, ENGAGEMENT_LOG, None);
    let world = world.reopened(|folder| flip(folder, &last));
    for number in 8..30 {
        world.round(number, &mut sent).await;
    }
    assert_eq!(world.actions().await.len(), 30 * USERS_OF_ROUND);
}

#[tokio::test]
async fn rows_are_folded_bit_by_bit() {
    let world = World::with_log(LogLimits { fold_from: 60, ..SMALL }).await;
    world.add_company("acme").await;
    let mut before = 0;
    for number in 0..60 {
        let users = (0..5).map(|user| event(&(number * 5 + user).to_string(), "acme", "x"));
        world.track(users.collect()).await;
        let folded = world.rows(ENGAGEMENT) - before;
        assert!(folded <= 12, "{folded} rows by a commit of 6");
        before += folded;
    }
    assert!(before > 100);
}

#[tokio::test]
async fn the_log_of_those_who_are_in_every_commit_does_not_grow() {
    let world = World::with_log(SMALL).await;
    world.add_company("acme").await;
    for _ in 0..100 {
        world.track(crowd(0..5)).await;
    }
    assert!(world.rows(ENGAGEMENT_LOG) < 10);
}

#[tokio::test]
async fn rows_are_folded_while_one_after_the_other_is_erased() {
    let world = World::with_log(LogLimits { fold_from: 60, min_folded: 30, ..SMALL }).await;
    world.add_company("acme").await;
    for number in 0..60 {
        world.track(crowd(number * 5..number * 5 + 5)).await;
        let id = world.user(number * 5).await.unwrap().id;
        erase(&world, id).await;
    }
    assert!(world.rows(ENGAGEMENT) > 100 && world.rows(ENGAGEMENT_LOG) < 20);
    assert_eq!(world.verified().problems, []);
}

async fn erase(world: &World, id: ObjectId) {
    let (reference, precondition) = (RecordRef::Id(id), Precondition::Anything);
    world.write(Command::Erase { reference, precondition }).await;
    for _ in 0..10 {
        // The first sweep may meet the corruption that the store recovers from then.
        let swept = world.store.write(world.actor.clone(), Command::Sweep).await;
        if let Ok(Reply::Swept(false)) = swept {
            let snapshot = world.store.shared.snapshot().unwrap();
            let engaged = snapshot.engagement().unwrap();
            let found = engaged.engagement(world.actor.tenant.id(), &END_USER, id).unwrap();
            assert_eq!(found, None);
            return;
        }
    }
    panic!("it is never over");
}

#[tokio::test]
async fn who_is_erased_leaves_nothing_in_a_log_of_older_rows() {
    let world = World::with_log(LogLimits { min_logged: 3, ..UNFOLDED }).await;
    world.add_company("acme").await;
    let users = || (0..5).map(|user| event(&user.to_string(), "acme", "x"));
    world.track(users().collect()).await;
    for user in users() {
        world.track(vec![user]).await;
    }
    assert_eq!((world.rows(ENGAGEMENT_LOG), world.rows(ENGAGEMENT)), (1, 6));
    let id = world.user(0).await.unwrap().id;
    erase(&world, id).await;
    let world = world.reopened(|_| {});
    erase(&world, id).await;
    assert_eq!(world.verified().problems, []);
}

/// A user whose events fail, since their record is corrupted.
async fn with_victim(world: World) -> World {
    world.track(vec![event("victim", "acme", "x")]).await;
    let victim = RecordRef::External("victim".to_owned());
    let victim = world.store.record(&world.actor.tenant, &END_USER, &victim).await.unwrap();
    let key = keys::record(world.actor.tenant.id(), END_USER.code, victim.unwrap().id);
    world.reopened(|folder| {
        let store_file = DiskFile::at(&folder.join(FILE_NAME));
        let database = open::open(&store_file, CACHE_BYTES).unwrap();
        let transaction = begin(&database).unwrap();
        let mut records = WriteTable::open(&transaction, rows::RECORDS).unwrap();
        records.insert(key.as_slice(), b"spoiled".as_slice()).unwrap();
        drop(records);
        transaction.commit().unwrap();
    })
}

#[tokio::test]
async fn commands_that_fail_change_nothing_of_what_is_known_of_the_log() {
    let (world, mut sent) = filled(SMALL, 3).await;
    let world = with_victim(world).await;
    for number in 3..80 {
        world.round(number, &mut sent).await;
        let failing = Tracking::without_findings(
            vec![event(&(number % USERS).to_string(), "acme", "y"), event("victim", "acme", "y")],
            world.clock.now(),
            Route::Realtime,
        );
        let failed = world.store.write(world.actor.clone(), Command::Track(failing)).await;
        assert!(matches!(failed, Err(StoreError::Corrupted { .. })), "{failed:?}");
        world.check(&sent).await;
        assert!(world.rows(ENGAGEMENT_LOG) < 40, "round {number}");
    }
    assert!(world.rows(ENGAGEMENT) > 15);
}

/// Two hundred users with rows in their table and newer ones in the log, and then a corrupted page of the table.
async fn with_corrupted_page(log_limits: LogLimits) -> World {
    let world = World::with_log(LogLimits { min_logged: 1_000, ..SMALL }).await;
    world.add_company("acme").await;
    world.track(crowd(0..200)).await;
    let in_the_middle = world.user(100).await.unwrap().id;
    let world = World { log_limits: UNFOLDED, ..world }.reopened(|_| {});
    for first in (0..200).step_by(50) {
        world.track(crowd(first..first + 50)).await;
    }
    let key = keys::record(world.actor.tenant.id(), END_USER.code, in_the_middle);
    let stored = value(&world, ENGAGEMENT, Some(&key));
    World { log_limits, ..world }.reopened(|folder| flip(folder, &stored))
}

fn crowd(users: std::ops::Range<usize>) -> Vec<Event> {
    users.map(|user| event(&user.to_string(), "acme", "x")).collect()
}

#[tokio::test]
async fn the_log_is_folded_past_a_corrupted_page_of_the_table() {
    let world = with_corrupted_page(SMALL).await;
    let entries = world.rows(ENGAGEMENT_LOG);
    for _ in 0..100 {
        world.track(crowd(190..200)).await;
    }
    for _ in 0..30 {
        // Several commands in a commit.
        let each = crowd(170..200).into_iter().map(|event| world.track(vec![event]));
        futures_util::future::join_all(each).await;
    }
    assert_eq!(world.actions().await.len(), 2_000);
    assert!(world.rows(ENGAGEMENT_LOG) < entries + 20);
    let id = world.user(199).await.unwrap().id;
    erase(&world, id).await;
}

#[tokio::test]
async fn a_page_of_one_copy_of_the_log_takes_nothing_along_wherever_it_is() {
    for place in 0..3 {
        let (world, mut sent) = filled(UNFOLDED, 0).await;
        for number in 0..10 {
            world.track(crowd(0..100)).await;
            (0..100).for_each(|user| *sent.entry(user).or_insert(0) += 1);
            world.round(number, &mut sent).await;
        }
        let log = world.store.shared.snapshot().unwrap().open(ENGAGEMENT_LOG).unwrap();
        let entries: Vec<_> =
            log.iter().unwrap().map(|row| row.unwrap().1.value().to_vec()).collect();
        drop(log);
        let corrupted = &entries[(place * entries.len() / 2).min(entries.len() - 1)];
        let limits = LogLimits { fold_from: 300, ..SMALL };
        let world =
            World { log_limits: limits, ..world }.reopened(|folder| flip_first(folder, corrupted));
        world.check(&sent).await;
        let id = world.user(99).await.unwrap().id;
        sent.remove(&99);
        erase(&world, id).await;
        for number in 10..60 {
            world.round(number, &mut sent).await;
        }
        world.check(&sent).await;
        assert!(world.rows(ENGAGEMENT_LOG) < 60);
        erase(&world, id).await;
        let World { store, folder, .. } = world;
        drop(store);
        let verified = verify(folder.path(), CACHE_BYTES).unwrap();
        let [problem] = verified.problems.try_into().unwrap();
        assert!(problem.what.contains("svctrack compact"), "{problem:?}");
        compact(folder.path(), CACHE_BYTES).unwrap();
        let verified = verify(folder.path(), CACHE_BYTES).unwrap();
        assert_eq!(verified.problems, [], "place {place}");
    }
}

/// Flips a bit at the first occurrence of stored bytes.
fn flip_first(folder: &Path, stored: &[u8]) {
    let path = folder.join(FILE_NAME);
    let mut bytes = fs::read(&path).unwrap();
    let place = bytes.windows(stored.len()).position(|bytes| bytes == stored).unwrap();
    bytes[place] ^= 1;
    fs::write(&path, bytes).unwrap();
}

/// Flips a bit at each occurrence of stored bytes.
pub(super) fn flip(folder: &Path, stored: &[u8]) {
    let path = folder.join(FILE_NAME);
    let mut bytes = fs::read(&path).unwrap();
    let places = 0..bytes.len() - stored.len();
    let places: Vec<_> = places.filter(|at| bytes[*at..].starts_with(stored)).collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| bytes[at] ^= 1);
    fs::write(&path, bytes).unwrap();
}

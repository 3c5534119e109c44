//! Behaviour that takes days or a crash, on a store with a clock of the test's.

mod budgets;
mod closings;
mod corruption;
mod earlier;
mod engagement_log;
mod erasure;
mod lists;
mod shared_snapshot;
mod tenant_deletion;
mod tokens;
mod usage;

use std::sync::atomic::{AtomicI64, Ordering};

use redb::ReadableDatabase as _;
use svctrack_core::{
    plan::{MAX_PARKED, MAX_REPORTED, Route},
    resources::{
        company::COMPANY,
        settings::{SETTINGS, SETTINGS_ID},
    },
    schema::CheckedBody,
    tracking::{
        Event, Identity, activity_query::ActivityQuery, integration_issues::IntegrationIssueQuery,
    },
    value::{Document, ObjectId, Timestamp, time::DAY_MS},
};
use tempfile::TempDir;

use super::{
    file::transaction::begin,
    tables::{
        redb_table::{ReadTable, WriteTable, definition},
        transaction::WriteTables,
    },
    *,
};
use crate::{
    IdempotencyKey, PageOptions, Tracking,
    rows::{self, Rows as _, Snapshot as _, Table, WriteRows as _, keys, stored_value},
    rules::{command, counters::Counter, lookup_cache, message_ids, pending},
};

const CACHE_BYTES: usize = 16 * 1024 * 1024;

/// A clock that moves only by hand.
struct ManualClock(AtomicI64);

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms_clamped(self.0.load(Ordering::Relaxed))
    }
}

struct World {
    store: Embedded,
    clock: Arc<ManualClock>,
    actor: Actor,
    folder: TempDir,
    log_limits: LogLimits,
}

fn open(folder: &Path, log_limits: LogLimits, clock: &Arc<ManualClock>) -> Embedded {
    // Creates the store, where it is missing.
    drop(Embedded::open(folder, CACHE_BYTES, clock.clone()).unwrap());
    let store_file = Box::new(DiskFile::at(&folder.join(FILE_NAME)));
    Embedded::open_file(store_file, CACHE_BYTES, log_limits, clock.clone()).unwrap()
}

impl World {
    async fn new() -> Self {
        Self::with_log(LogLimits::default()).await
    }

    async fn with_log(log_limits: LogLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let start = Timestamp::parse("2026-11-20T12:00:00Z").unwrap();
        let clock = Arc::new(ManualClock(AtomicI64::new(start.as_ms())));
        let store = open(folder.path(), log_limits, &clock);
        let tenant = Tenant::assume_authorized(TenantId::from_bytes([0; 16]));
        let nobody = Actor::service(tenant);
        let mut world = Self { store, clock, actor: nobody, folder, log_limits };
        world.actor = world.tenant(7).await;
        world
    }

    /// Actor for another tenant.
    async fn tenant(&self, number: u8) -> Actor {
        let (id, now) = (TenantId::from_bytes([number; 16]), self.clock.now());
        let token = Box::new(TokenRecord::for_test(id, "test", now));
        let tenant = TenantRecord::new(id, "test".to_owned(), now);
        let founding = Command::AddTenant { tenant, token };
        self.store.write(Actor::operator(), founding).await.unwrap();
        Actor::service(Tenant::assume_authorized(id))
    }

    /// Reopens the store, after changes to its folder meanwhile.
    fn reopened(self, meanwhile: impl FnOnce(&Path)) -> Self {
        let Self { store, clock, actor, folder, log_limits } = self;
        drop(store);
        meanwhile(folder.path());
        let store = open(folder.path(), log_limits, &clock);
        Self { store, clock, actor, folder, log_limits }
    }

    fn pass(&self, ms: i64) {
        self.clock.0.fetch_add(ms, Ordering::Relaxed);
    }

    async fn write(&self, command: Command) -> Reply {
        self.store.write(self.actor.clone(), command).await.unwrap()
    }

    async fn track(&self, events: Vec<Event>) {
        self.write(Command::Track(self.tracking(events))).await;
    }

    fn tracking(&self, events: Vec<Event>) -> Tracking {
        let is_part = events.len() > 1;
        Tracking {
            is_part,
            ..Tracking::without_findings(events, self.clock.now(), Route::Realtime)
        }
    }

    async fn add_company(&self, external_id: &str) {
        let body = CheckedBody::trusted(company(external_id));
        self.write(Command::Create { def: &COMPANY, body }).await;
    }

    async fn sweep(&self) {
        while let Reply::Swept(true) = self.write(Command::Sweep).await {}
    }

    async fn log(&self, query: impl Into<LogQuery>) -> Page {
        self.store.log(&self.actor.tenant, query.into(), PageOptions::default()).await.unwrap()
    }

    async fn actions(&self) -> Vec<String> {
        let query = ActivityQuery::parse(&[("limit".to_owned(), "2000".to_owned())]).unwrap();
        texts(&self.log(query.query).await, "action")
    }

    /// Code and count of each entry.
    async fn report(&self) -> Vec<String> {
        let query =
            IntegrationIssueQuery::parse(&[("limit".to_owned(), "2000".to_owned())]).unwrap();
        let page = self.log(query.query).await;
        let text = |entry: &Document| {
            format!("{} {}", entry.text("code").unwrap(), entry.get("count").unwrap().text())
        };
        page.documents().iter().map(text).collect()
    }

    fn count(&self, counter: Counter) -> u64 {
        let snapshot = self.store.shared.snapshot().unwrap();
        let table = snapshot.open(rows::COUNTERS).unwrap();
        let key = counter.key(self.actor.tenant.id());
        let row = table.get(key.as_slice()).unwrap();
        row.map_or(0, |row| {
            u64::from_be_bytes(stored_value::unseal_exact(&key, row.value()).unwrap())
        })
    }

    fn rows(&self, table: Table) -> u64 {
        let snapshot = self.store.shared.snapshot().unwrap();
        snapshot.open(table).unwrap().len().unwrap()
    }
}

fn texts(page: &Page, name: &str) -> Vec<String> {
    let text = |record: &Document| record.text(name).unwrap_or_default().into_owned();
    page.documents().iter().map(text).collect()
}

fn company(external_id: &str) -> Document {
    let text = format!(r#"{{"name":"Acme","externalId":"{external_id}"}}"#);
    Document::parse(text.as_bytes()).unwrap()
}

fn event(user: &str, company: &str, action: &str) -> Event {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Event {
        identity: Identity {
            external_id: some(user),
            company: some(company),
            ..Identity::default()
        },
        action: some(action),
        ..Event::default()
    }
}

#[tokio::test]
async fn the_id_of_an_event_is_remembered_for_seven_days() {
    let world = World::new().await;
    world.add_company("acme").await;
    for (passed_ms, stored) in
        [(0, 1), (3 * DAY_MS, 1), (4 * DAY_MS - 1, 1), (1, 2), (6 * DAY_MS, 2)]
    {
        world.pass(passed_ms);
        world.sweep().await;
        let message_id = Some("m".to_owned());
        world.track(vec![Event { message_id, ..event("7", "acme", "x") }]).await;
        assert_eq!(world.actions().await.len(), stored, "after {passed_ms} ms more");
    }
}

#[tokio::test]
async fn ids_of_events_are_removed_when_they_are_past() {
    let world = World::new().await;
    world.add_company("acme").await;
    let events = (0..1_500)
        .map(|number| Event { message_id: Some(format!("m{number}")), ..event("7", "acme", "") });
    let counter = Counter::Messages(message_ids::window_of(world.clock.now()));
    world.track(events.collect()).await;
    world.pass(7 * DAY_MS);
    world.sweep().await;
    assert_eq!(world.rows(rows::MESSAGES), 1_500);
    world.pass(7 * DAY_MS);
    assert!(matches!(world.write(Command::Sweep).await, Reply::Swept(true)));
    let left = 1_500 - command::MAX_SWEPT as u64;
    assert_eq!((world.rows(rows::MESSAGES), world.count(counter)), (left, left));
    world.sweep().await;
    assert_eq!((world.rows(rows::MESSAGES), world.count(counter)), (0, 0));
}

#[tokio::test]
async fn ids_of_too_many_events_are_reported_with_the_way_on_which_they_came() {
    let world = World::new().await;
    world.add_company("acme").await;
    let full = message_ids::MAX_MESSAGES_PER_WINDOW;
    let events = vec![Event { message_id: Some("m".to_owned()), ..event("7", "acme", "x") }];
    let tracking = Tracking::without_findings(events, world.clock.now(), Route::Bulk);
    let counter = Counter::Messages(message_ids::window_of(world.clock.now()));
    set_counter(&world, counter, full);
    world.write(Command::Track(tracking)).await;
    let query = IntegrationIssueQuery::parse(&[]).unwrap().query;
    let page = world.log(query).await;
    assert_eq!(texts(&page, "code"), ["message_ids_full"]);
    assert_eq!(texts(&page, "route"), ["bulk"]);
    assert_eq!(world.count(counter), full);
}

#[tokio::test]
async fn an_event_that_has_waited_in_vain_is_dropped_and_reported() {
    let world = World::new().await;
    world.track(vec![event("7", "acme", "x")]).await;
    world.pass(30 * DAY_MS);
    world.sweep().await;
    assert_eq!(world.count(Counter::Parked), 1);
    world.pass(1);
    world.sweep().await;
    assert_eq!((world.count(Counter::Parked), world.rows(rows::WAITING)), (0, 0));
    assert_eq!(world.report().await, ["parked_dropped 1"]);
}

#[tokio::test]
async fn an_entry_of_the_report_is_retained_for_thirty_days_after_it_was_last_seen() {
    let world = World::new().await;
    world.track(vec![event("7", "acme", "x")]).await;
    world.pass(20 * DAY_MS);
    world.track(vec![event("7", "acme", "x")]).await;
    world.pass(30 * DAY_MS);
    world.sweep().await;
    assert_eq!(world.report().await.last().unwrap(), "company_unknown 2");
    world.pass(1);
    world.sweep().await;
    assert!(!world.report().await.iter().any(|entry| entry.starts_with("company_unknown")));
}

#[tokio::test]
async fn a_flood_of_causes_is_counted_and_costs_few_rows() {
    let world = World::new().await;
    let events = (0..1_000).map(|number| event("7", &format!("company {number}"), "x"));
    world.track(events.collect()).await;
    assert_eq!(world.rows(rows::REPORT), 101);
    let counted = world.report().await;
    let sum = counted.iter().map(|entry| entry.split(' ').nth(1).unwrap().parse::<u64>().unwrap());
    assert_eq!(sum.sum::<u64>(), 1_000);
}

#[tokio::test]
async fn the_oldest_entries_of_the_report_make_room() {
    let world = World::new().await;
    for round in 0..MAX_REPORTED / 100 + 1 {
        let events = (0..100).map(|number| event("7", &format!("company {round} {number}"), ""));
        world.track(events.collect()).await;
    }
    assert_eq!(world.rows(rows::REPORT), MAX_REPORTED);
    assert_eq!(world.rows(rows::REPORT_CAUSES), MAX_REPORTED);
    assert_eq!(world.count(Counter::Reported), MAX_REPORTED);
}

/// Carries out a command as the writer does, without the work after the commit: a crash.
fn commit_and_crash(
    world: World,
    command: &Command,
    change: impl FnOnce(&mut WriteTables<'_>),
) -> (TempDir, Arc<ManualClock>, Actor) {
    let World { store, clock, actor, folder, .. } = world;
    store.close();
    drop(store);
    let database = open::open(&DiskFile::at(&folder.path().join(FILE_NAME)), CACHE_BYTES).unwrap();
    let transaction = begin(&database).unwrap();
    {
        let snapshot = RedbSnapshot::new(database.begin_read().unwrap(), Arc::default());
        let mut rows = engagement::EngagementCache::read(&snapshot, LogLimits::default()).unwrap();
        drop(snapshot);
        let mut tables =
            WriteTables::begin(&transaction, lookup_cache::LookupCache::default(), &mut rows)
                .unwrap();
        let mut pending = pending::Pending::default();
        let mut ids =
            meta::load_ids(&ReadTable::open(&database.begin_read().unwrap(), META).unwrap())
                .unwrap();
        let tenant = actor.tenant.id();
        let mut ctx = svctrack_core::plan::Ctx::new(clock.now(), ids.sequence(tenant), None);
        command::carry_out(&actor, command, &mut tables, &mut pending, &mut ctx).unwrap().unwrap();
        ids.went_on(tenant, ctx.ids);
        let to_replay = pending.flush(&mut tables, &mut ids, clock.now()).unwrap();
        assert_eq!(to_replay.len(), 1);
        let last = stored_value::seal(rows::meta::META_LAST_ID, ids.to_note().as_bytes());
        tables.meta.insert(rows::meta::META_LAST_ID, last.as_slice()).unwrap();
        change(&mut tables);
        tables.finish().unwrap();
    }
    transaction.commit().unwrap();
    (folder, clock, actor)
}

#[tokio::test]
async fn events_that_may_be_replayed_are_after_a_crash_and_once() {
    let world = World::new().await;
    let events = (0..2_500).map(|number| event("7", "acme", &number.to_string()));
    world.track(events.collect()).await;
    let create = Command::Create { def: &COMPANY, body: CheckedBody::trusted(company("acme")) };
    let (folder, clock, actor) = commit_and_crash(world, &create, |_| {});
    for _ in 0..2 {
        let store = Embedded::open(folder.path(), CACHE_BYTES, clock.clone()).unwrap();
        let world = World {
            store,
            clock: clock.clone(),
            actor: actor.clone(),
            folder: tempfile::tempdir().unwrap(),
            log_limits: LogLimits::default(),
        };
        // Each of these is processed after the next thousand.
        for _ in 0..3 {
            world.write(Command::DeleteEntry(ObjectId::MIN)).await;
        }
        assert_eq!(world.rows(rows::ACTIVITIES), 2_500);
        assert_eq!(world.rows(rows::DUE), 0);
    }
}

#[tokio::test]
async fn a_replay_of_an_entry_processes_its_parked_events_and_no_others() {
    let world = World::new().await;
    world.track(vec![event("7", "acme", "a"), event("8", "other", "b"), event("9", "", "c")]).await;
    let create = Command::Create { def: &COMPANY, body: CheckedBody::trusted(company("acme")) };
    // Without the mark they are not replayed.
    let (folder, clock, actor) =
        commit_and_crash(world, &create, |tables| tables.due.remove_range(..).unwrap());
    let store = Embedded::open(folder.path(), CACHE_BYTES, clock.clone()).unwrap();
    let world = World { store, clock, actor, folder, log_limits: LogLimits::default() };
    let query =
        IntegrationIssueQuery::parse(&[("code".to_owned(), "company_unknown".to_owned())]).unwrap();
    let page = world.log(query.query).await;
    let mut went_on = Vec::new();
    for id in texts(&page, "_id") {
        let id = ObjectId::parse(&id).unwrap();
        let Reply::Replayed(count) = world.write(Command::ReplayEntry(id)).await else { panic!() };
        went_on.push(count);
        assert!(matches!(world.write(Command::DeleteEntry(id)).await, Reply::EntryDeleted(true)));
        assert!(matches!(world.write(Command::DeleteEntry(id)).await, Reply::EntryDeleted(false)));
    }
    went_on.sort();
    assert_eq!((went_on, world.actions().await), (vec![0, 1], vec!["a".to_owned()]));
    assert_eq!((world.count(Counter::Parked), world.rows(rows::DUE)), (2, 0));
    assert_eq!(world.rows(rows::REPORT_CAUSES), 1);
}

/// The actions of a list that is read page by page.
async fn paged(world: &World, parameter: (&str, &str), limit: usize) -> Vec<String> {
    let mut actions = Vec::new();
    let mut after = None;
    loop {
        let mut pairs = vec![(parameter.0.to_owned(), parameter.1.to_owned())];
        pairs.push(("limit".to_owned(), limit.to_string()));
        pairs.extend(after.map(|id: ObjectId| ("after".to_owned(), id.to_string())));
        let query = ActivityQuery::parse(&pairs).unwrap().query;
        let page = world.log(query).await;
        actions.extend(texts(&page, "action"));
        let Some(crate::PageStart::After(id)) = page.next else { return actions };
        after = Some(id);
    }
}

#[tokio::test]
async fn the_activities_of_one_are_paged_across_marks() {
    let world = World::new().await;
    for company in ["acme", "initech"] {
        world.add_company(company).await;
    }
    // Commits of 7, so that marks are in the middle of them.
    for first in (0..400).step_by(7) {
        let event_numbered = |number: i32| match number % 3 {
            0 => event("7", "acme", &number.to_string()),
            1 => event("8", "acme", &number.to_string()),
            _ => event("9", "initech", &number.to_string()),
        };
        world.track((first..(first + 7).min(400)).map(event_numbered).collect()).await;
    }
    let every = |kept: fn(i32) -> bool| -> Vec<String> {
        (0..400).rev().filter(|number| kept(*number)).map(|number| number.to_string()).collect()
    };
    for limit in [1, 63, 64, 65, 400] {
        assert_eq!(paged(&world, ("endUserId", "extid-7"), limit).await, every(|n| n % 3 == 0));
        assert_eq!(paged(&world, ("companyId", "extid-acme"), limit).await, every(|n| n % 3 < 2));
        assert_eq!(
            paged(&world, ("companyId", "extid-acme,extid-initech"), limit).await,
            every(|_| true)
        );
    }
}

#[tokio::test]
async fn the_engagement_of_many_events_is_exact() {
    let world = World::new().await;
    world.add_company("acme").await;
    for _ in 0..5 {
        let events = (0..500).map(|number| Event {
            count: Some(number % 4),
            weight: Some(0.1),
            passive: number % 5 == 0,
            ..event(&(number % 3).to_string(), "acme", "x")
        });
        world.track(events.collect()).await;
    }
    let company = RecordRef::External("acme".to_owned());
    let company =
        world.store.record(&world.actor.tenant, &COMPANY, &company).await.unwrap().unwrap();
    let company = Document::parse(company.text.as_bytes()).unwrap();
    let beats: u64 = (0..500).filter(|number| number % 5 != 0).map(|number| number % 4).sum();
    assert_eq!(company.get("beatsTotal").unwrap().text(), (beats * 5).to_string());
    assert_eq!(company.get("beats").unwrap().text(), (beats * 5).to_string());
    assert_eq!(company.get("experience").unwrap().text(), (beats / 2).to_string());
}

fn set(text: &str) -> Command {
    Command::Update {
        def: &SETTINGS,
        reference: RecordRef::Id(SETTINGS_ID),
        body: CheckedBody::trusted(Document::parse(text.as_bytes()).unwrap()),
        precondition: crate::Precondition::Anything,
    }
}

#[tokio::test]
async fn events_whose_company_comes_while_no_users_are_created_are_replayed_when_they_are() {
    let world = World::new().await;
    world.track(vec![event("7", "late", "x")]).await;
    world.write(set(r#"{"autoCreateEndUsers":false}"#)).await;
    world.add_company("late").await;
    world.write(Command::Replay).await;
    assert_eq!((world.actions().await.len(), world.count(Counter::Parked)), (0, 1));
    world.write(set(r#"{"autoCreateEndUsers":true}"#)).await;
    world.write(Command::Replay).await;
    assert_eq!((world.actions().await.len(), world.count(Counter::Parked)), (1, 0));
}

#[tokio::test]
async fn events_of_users_that_the_tenant_makes_itself_wait_until_it_does_no_more() {
    let world = World::new().await;
    world.add_company("acme").await;
    world.write(set(r#"{"autoCreateEndUsers":false}"#)).await;
    world.track(vec![event("7", "acme", "x")]).await;
    world.write(set(r#"{"timeZone":"Europe/Berlin"}"#)).await;
    world.write(Command::Replay).await;
    assert_eq!((world.actions().await.len(), world.count(Counter::Parked)), (0, 1));
    assert_eq!(world.report().await, ["user_not_created 1"]);
    world.write(set(r#"{"autoCreateEndUsers":true}"#)).await;
    world.write(Command::Replay).await;
    assert_eq!((world.actions().await.len(), world.count(Counter::Parked)), (1, 0));
}

fn set_counter(world: &World, counter: Counter, count: u64) {
    let transaction = world.store.shared.begin().unwrap();
    let mut counters = WriteTable::open(&transaction, rows::COUNTERS).unwrap();
    let key = counter.key(world.actor.tenant.id());
    let value = stored_value::seal(&key, &count.to_be_bytes());
    counters.insert(key.as_slice(), value.as_slice()).unwrap();
    drop(counters);
    transaction.commit().unwrap();
}

#[tokio::test]
async fn a_new_record_replaces_none_that_is_there() {
    let world = World::new().await;
    world.add_company("first").await;
    let ids_of = |world: &World| {
        let meta = world.store.shared.snapshot().unwrap().open(META).unwrap();
        meta.get(rows::meta::META_LAST_ID).unwrap().unwrap().value().to_vec()
    };
    let noted = ids_of(&world);
    world.pass(2_000);
    world.add_company("second").await;
    world.add_company("third").await;
    let (records, index) = (world.rows(rows::RECORDS), world.rows(rows::INDEX));
    // As if ids had begun again: the next two ids are those of the second and the third company, and one is tried after
    // the other.
    let transaction = world.store.shared.begin().unwrap();
    let mut meta = WriteTable::open(&transaction, META).unwrap();
    meta.insert(rows::meta::META_LAST_ID, noted.as_slice()).unwrap();
    drop(meta);
    transaction.commit().unwrap();
    let world = world.reopened(|_| {});
    let create = Command::Create { def: &COMPANY, body: CheckedBody::trusted(company("fourth")) };
    let rejected = world.store.write(world.actor.clone(), create).await;
    assert!(matches!(rejected, Err(StoreError::Internal(_))), "{rejected:?}");
    assert_eq!((world.rows(rows::RECORDS), world.rows(rows::INDEX)), (records, index));
    let query = ListQuery::parse(&COMPANY, &[]).unwrap().query;
    let page = world.store.list(&world.actor.tenant, &COMPANY, query, PageOptions::default());
    assert_eq!(texts(&page.await.unwrap(), "externalId"), ["first", "second", "third"]);
}

/// Outcome of a part of a body with a key.
async fn part(world: &World, part: u32, body: u8) -> Result<Reply, StoreError> {
    let key = IdempotencyKey { key: [1; 32], body: [body; 32], part: Some(part) };
    let mut tracking = Tracking::part(world.clock.now(), Route::Bulk);
    tracking.events.push(event("ada", "acme", &part.to_string()));
    let command = Command::Idempotent { key, command: Box::new(Command::Track(tracking)) };
    world.store.write(world.actor.clone(), command).await
}

#[tokio::test]
async fn a_body_with_a_key_resumes_where_it_stopped() {
    let world = World::new().await;
    world.add_company("acme").await;
    let first_of_all = part(&world, 1, 1).await;
    assert!(matches!(first_of_all, Err(StoreError::Unavailable(_))), "{first_of_all:?}");
    for number in 0..2 {
        assert!(matches!(part(&world, number, 1).await, Ok(Reply::Tracked(_))));
    }
    for number in 0..2 {
        assert!(matches!(part(&world, number, 1).await, Ok(Reply::Repeated(_))));
    }
    assert!(matches!(part(&world, 3, 1).await, Err(StoreError::Unavailable(_))));
    assert!(matches!(part(&world, 0, 2).await, Err(StoreError::KeyReused)));
    assert!(matches!(part(&world, 2, 1).await, Ok(Reply::Tracked(_))));
    assert_eq!(world.actions().await, ["2", "1", "0"]);
    assert_eq!((world.count(Counter::Once), world.rows(rows::ONCE)), (1, 1));
    world.pass(DAY_MS);
    assert!(matches!(part(&world, 3, 1).await, Err(StoreError::Unavailable(_))));
    assert!(matches!(part(&world, 0, 1).await, Ok(Reply::Tracked(_))));
}

#[tokio::test]
async fn spans_go_with_their_activities() {
    let world = World::new().await;
    world.add_company("acme").await;
    world.write(set(r#"{"activityRetentionDays":1}"#)).await;
    world.track(vec![event("ada", "acme", "x"); 2_500]).await;
    assert_eq!(world.rows(rows::ACTIVITY_SPANS), 3);
    world.pass(2 * DAY_MS);
    world.track(vec![event("ada", "acme", "x"); 1_000]).await;
    assert_eq!(world.rows(rows::ACTIVITY_SPANS), 4);
    world.sweep().await;
    // The last old span also has the first of the new activities.
    assert_eq!(world.rows(rows::ACTIVITY_SPANS), 2);
    assert_eq!(world.rows(rows::ACTIVITIES), 1_000);
}

#[tokio::test]
async fn one_look_at_what_was_added_is_of_limited_bytes() {
    let world = World::new().await;
    world.add_company("acme").await;
    let info = Some(format!(r#"{{"note":"{}"}}"#, "x".repeat(15_000)));
    world.track(vec![Event { info, ..event("ada", "acme", "x") }; 10]).await;
    let mut query = ActivityQuery::parse(&[]).unwrap().query;
    query.page.after = Some(ObjectId::MIN);
    let mut pieces = Vec::new();
    loop {
        let found = world.store.activities_since(&world.actor.tenant, query.clone()).await.unwrap();
        pieces.push(found.items.len());
        query.page.after = Some(found.cursor);
        if found.is_caught_up {
            break;
        }
    }
    assert_eq!(pieces, [3, 3, 3, 1]);
}

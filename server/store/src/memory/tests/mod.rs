//! Whichever read or write fails, nothing of its command is stored, and the repeated command is carried out.

mod kept_reports;
mod usage;

use futures_util::FutureExt as _;
use svctrack_core::{
    plan::{Route, upsert::UpsertAccess},
    resources::{company::COMPANY, end_user::END_USER},
    schema::{CheckedBody, UnknownMemberPolicy},
    tracking::{Event, Identity},
    value::Document,
};

use super::*;
use crate::rows::{ALL, Rows as _, Table};

/// All rows of all tables.
type Stored = Vec<(&'static str, Vec<(Vec<u8>, Vec<u8>)>)>;

fn actor() -> Actor {
    of_tenant(7)
}

fn of_tenant(number: u8) -> Actor {
    let tenant = Tenant::assume_authorized(TenantId::from_bytes([number; 16]));
    Actor::service(tenant)
}

fn founded() -> Memory {
    founded_at(Arc::new(SystemClock))
}

fn founded_at(clock: Arc<dyn Clock>) -> Memory {
    let store = Memory::new(clock).unwrap();
    found(&store, 7);
    store
}

/// Actor for a new tenant.
fn found(store: &Memory, number: u8) -> Actor {
    let actor = of_tenant(number);
    let (id, now) = (actor.tenant.id(), store.clock.now());
    let token = Box::new(TokenRecord::for_test(id, "test", now));
    let tenant = TenantRecord::new(id, "test".to_owned(), now);
    let founding = Command::AddTenant { tenant, token };
    store.write(Actor::operator(), founding).now_or_never().unwrap().unwrap();
    actor
}

fn write(store: &Memory, command: Command) -> Result<Reply, StoreError> {
    store.write(actor(), command).now_or_never().unwrap()
}

fn stored(store: &Memory) -> Stored {
    let state = store.latest.snapshot(closed).unwrap();
    let rows = |table: Table| {
        let table = state.open(table).unwrap();
        let rows = table.iter().unwrap().map(Result::unwrap);
        rows.map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
    };
    ALL.map(|table| (table.name(), rows(table))).into()
}

fn document(text: &str) -> Document {
    Document::parse(text.as_bytes()).unwrap()
}

fn acme() -> Command {
    let body = CheckedBody::trusted(document(r#"{"name":"Acme","externalId":"acme"}"#));
    Command::Create { def: &COMPANY, body }
}

fn event() -> Command {
    let some = |text: &str| Some(text.to_owned());
    let identity =
        Identity { external_id: some("ada"), company: some("acme"), ..Identity::default() };
    let (action, message_id) = (some("Opened report"), some("m1"));
    let event = Event { identity, action, message_id, ..Event::default() };
    Command::Track(Tracking::without_findings(vec![event], SystemClock.now(), Route::Realtime))
}

/// Commands, one after the other: an event waits for its company, and its user is erased in the end.
fn commands() -> [fn() -> Command; 6] {
    [
        event,
        acme,
        // Commands that run on their own afterwards and meet the fault that came too late for the command before.
        || Command::Replay,
        || {
            let items = vec![Ok(document(r#"{"externalId":"bob","companyId":"extid-acme"}"#))];
            let access = UpsertAccess { create: true, update: true };
            Command::Upsert {
                def: &END_USER,
                items,
                access,
                handling: UnknownMemberPolicy::Lenient,
            }
        },
        || {
            let (reference, precondition) =
                (RecordRef::External("ada".to_owned()), Precondition::Anything);
            Command::Erase { reference, precondition }
        },
        || Command::Sweep,
    ]
}

#[test]
fn whichever_access_fails_nothing_of_its_command_is_left_and_again_it_succeeds() {
    let store = founded();
    for command in commands() {
        // No retry may run meanwhile, however long this takes.
        store.writer.lock().replays = ReplayQueue::default();
        let before = stored(&store);
        let mut failed = 0;
        loop {
            store.faults().fail_after(failed);
            let done = write(&store, command());
            store.faults().clear();
            let Err(error) = done else { break };
            assert!(error.is_of_the_file(), "{error}");
            assert_eq!(stored(&store), before, "access {failed}");
            failed += 1;
        }
        assert!(failed > 5, "only {failed} accesses of {:?}", command());
    }
}

#[test]
fn a_read_whose_access_fails_returns_an_error_and_the_next_one_reads() {
    let store = founded();
    write(&store, acme()).unwrap();
    let read = || {
        let reference = RecordRef::External("acme".to_owned());
        store.record(&actor().tenant, &COMPANY, &reference).now_or_never().unwrap()
    };
    let whole = read().unwrap().unwrap();
    for failed in 0..2 {
        store.faults().fail_after(failed);
        assert!(read().is_err(), "access {failed}");
        store.faults().clear();
        assert_eq!(read().unwrap().unwrap().text, whole.text);
    }
}

#[test]
fn parked_events_are_processed_with_the_command_that_they_wait_for() {
    let store = founded();
    let activities = || {
        let query = ActivityQuery::parse(&[]).unwrap().query;
        let page = store.log(&actor().tenant, query.into(), PageOptions::default());
        page.now_or_never().unwrap().unwrap().digest.records
    };
    assert!(matches!(write(&store, event()), Ok(Reply::Tracked(_))));
    assert_eq!(activities(), 0);
    write(&store, acme()).unwrap();
    assert_eq!(activities(), 1);
}

#[test]
fn a_store_that_is_closed_takes_and_shows_nothing_more() {
    let store = founded();
    assert!(store.close() && store.status().health == Health::Stopped);
    assert!(matches!(write(&store, acme()), Err(StoreError::Unavailable(_))));
    assert!(store.tenants(1).now_or_never().unwrap().is_err());
}

//! Deletion of a tenant whose data takes more than one command, with a crash after each of them.

use svctrack_core::resources::{end_user::END_USER, license::LICENSE, ticket::TICKET};

use super::*;
use crate::Precondition;

/// A log of engagement that folds nothing.
const LONG_LOG: LogLimits =
    LogLimits { min_logged: 2, fold_from: 100_000, min_folded: 3, at_hand: 10_000 };

/// The greatest tenant id, after whose rows no key begins.
const DELETED: u8 = 0xff;

/// Number of rows of each table with data of a tenant: in their key, or by name.
fn rows_of(world: &World, number: u8) -> Vec<(String, usize)> {
    let (bytes, uuid) = ([number; 16], TenantId::from_bytes([number; 16]).to_string());
    let names = |value: &[u8]| {
        value.windows(16).any(|part| part == bytes)
            || value.windows(uuid.len()).any(|part| part == uuid.as_bytes())
    };
    let snapshot = world.store.shared.snapshot().unwrap();
    let rows = rows::ALL.iter().map(|definition| {
        let table = snapshot.open(*definition).unwrap();
        let rows = table.iter().unwrap().map(|row| row.unwrap());
        let theirs =
            rows.filter(|(key, value)| key.value().starts_with(&bytes) || names(value.value()));
        (definition.name().to_owned(), theirs.count())
    });
    rows.collect()
}

/// Number of these rows without the log of engagement, which is rewritten without deleted users.
fn rows_beside_log(world: &World, number: u8) -> Vec<(String, usize)> {
    let rows = rows_of(world, number).into_iter();
    rows.filter(|(table, _)| !table.starts_with("engagement_log")).collect()
}

async fn as_tenant(world: &World, actor: &Actor, command: Command) -> Reply {
    world.store.write(actor.clone(), command).await.unwrap()
}

/// Writes data into every table.
async fn fill(world: &World, actor: &Actor) {
    let create = |def, text: &str| {
        let patch = Document::parse(text.as_bytes()).unwrap();
        as_tenant(world, actor, Command::Create { def, body: CheckedBody::trusted(patch) })
    };
    create(&COMPANY, r#"{"name":"Acme","externalId":"acme","domains":["acme.example"]}"#).await;
    // Data that is removed for its age is counted before.
    as_tenant(world, actor, set(r#"{"activityRetentionDays":1}"#)).await;
    let old =
        Tracking::without_findings(vec![event("old", "acme", "x")], world.clock.now(), Route::Bulk);
    as_tenant(world, actor, Command::Track(old)).await;
    world.pass(2 * DAY_MS);
    as_tenant(world, actor, Command::Sweep).await;
    create(&LICENSE, r#"{"companyId":"extid-acme","externalId":"l"}"#).await;
    create(&TICKET, r#"{"sourceId":"t","email":"ada@acme.example"}"#).await;
    let ada = create(&END_USER, r#"{"companyId":"extid-acme","externalId":"ada"}"#).await;
    let once = Command::Create { def: &COMPANY, body: CheckedBody::trusted(company("once")) };
    let key = IdempotencyKey { key: [1; 32], body: [2; 32], part: None };
    as_tenant(world, actor, Command::Idempotent { key, command: Box::new(once) }).await;
    let mut events: Vec<Event> =
        (0..1_200).map(|number| event(&number.to_string(), "acme", "x")).collect();
    events.extend(
        (0..300).map(|number| Event {
            message_id: Some(format!("m{number}")),
            ..event("ada", "", "y")
        }),
    );
    events.extend((0..40).map(|number| event(&format!("p{number}"), "nowhere", "parked")));
    for part in events.chunks(400) {
        let tracking = Tracking::without_findings(part.to_vec(), world.clock.now(), Route::Bulk);
        as_tenant(world, actor, Command::Track(tracking)).await;
    }
    for number in 0..4 {
        let event = event(&number.to_string(), "acme", "logged");
        let tracking = Tracking::without_findings(vec![event], world.clock.now(), Route::Realtime);
        as_tenant(world, actor, Command::Track(tracking)).await;
    }
    let closed = as_tenant(world, actor, closings::close(u64::MAX)).await;
    assert!(matches!(closed, Reply::Closed(Some(_))), "{closed:?}");
    let Reply::Record(ada) = ada else { panic!("{ada:?}") };
    let reference = RecordRef::Id(ada.id);
    let erase = Command::Erase { reference, precondition: Precondition::Anything };
    as_tenant(world, actor, erase).await;
}

#[tokio::test]
async fn a_deletion_resumes_after_every_crash_and_leaves_nothing() {
    let mut world = World::with_log(LONG_LOG).await;
    let actor = world.tenant(DELETED).await;
    let own = world.actor.clone();
    for tenant in [&actor, &own] {
        fill(&world, tenant).await;
    }
    let id = actor.tenant.id();
    let (before, others) = (rows_of(&world, DELETED), rows_beside_log(&world, 7));
    let empty: Vec<_> = before.iter().filter(|(_, rows)| *rows == 0).collect();
    let not_of_tenants = ["meta", "due"];
    assert!(empty.iter().all(|(table, _)| not_of_tenants.contains(&table.as_str())), "{empty:?}");
    let delete = || Command::DeleteTenant { id, precondition: Precondition::Anything };
    let marked = world.store.write(Actor::operator(), delete()).await;
    assert!(matches!(marked, Ok(Reply::Tenant(_))), "{marked:?}");
    let mut steps = 0;
    loop {
        let late = Command::Create { def: &COMPANY, body: CheckedBody::trusted(company("late")) };
        let late = world.store.write(actor.clone(), late).await;
        assert!(matches!(late, Err(StoreError::TenantNotFound)), "{late:?}");
        assert!(!world.store.has_tenant(id).await.unwrap());
        let swept = world.store.write(actor.clone(), Command::Sweep).await;
        assert!(matches!(swept, Ok(Reply::Swept(false))), "{swept:?}");
        world = world.reopened(|folder| {
            let found = verify(folder, CACHE_BYTES).unwrap();
            assert!(found.is_sound(), "after {steps} steps: {found:?}");
        });
        let removed = world.store.tenant(id).await.unwrap().map(|tenant| tenant.rows_removed);
        if steps > 0 && removed.is_none() {
            break;
        }
        let reply = as_tenant(&world, &actor, Command::ContinueDeletion).await;
        assert!(matches!(reply, Reply::DeletionContinued(_)), "{reply:?}");
        steps += 1;
    }
    assert!(steps > 3, "{steps} steps");
    let left: Vec<_> = rows_of(&world, DELETED).into_iter().filter(|(_, rows)| *rows > 0).collect();
    // The operator's log has the creation and the deletion of the tenant.
    assert_eq!(left, [("audit".to_owned(), 2)]);
    assert_eq!(rows_beside_log(&world, 7), others);
    let again = world.store.write(Actor::operator(), delete()).await;
    assert!(matches!(again, Err(StoreError::TenantNotFound)), "{again:?}");
}

#[tokio::test]
async fn rows_of_a_tenant_that_is_not_deleted_stay() {
    let world = World::new().await;
    world.add_company("acme").await;
    let before = rows_of(&world, 7);
    assert!(matches!(
        world.write(Command::ContinueDeletion).await,
        Reply::DeletionContinued(false)
    ));
    assert_eq!(rows_of(&world, 7), before);
}

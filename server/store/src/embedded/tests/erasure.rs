//! Erasure of a person whose data takes more than one command, and a crash in the middle of it.

use svctrack_core::{
    plan::{KnownPerson, upsert::UpsertAccess},
    resources::{end_user::END_USER, ticket::TICKET},
    schema::UnknownMemberPolicy,
};

use super::*;
use crate::{PageStart, PersonData, Precondition};

const ADA: &str = r#"{"companyId":"extid-acme","externalId":"ada","email":"ada@x.example"}"#;

async fn create(world: &World, def: &'static ResourceDef, text: &str) -> ObjectId {
    let patch = Document::parse(text.as_bytes()).unwrap();
    match world.write(Command::Create { def, body: CheckedBody::trusted(patch) }).await {
        Reply::Record(response) => response.id,
        other => panic!("{other:?}"),
    }
}

async fn begin(world: &World, id: ObjectId) -> Option<ObjectId> {
    let reference = RecordRef::Id(id);
    match world.write(Command::Erase { reference, precondition: Precondition::Anything }).await {
        Reply::Erasing(id) => id,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_erasure_resumes_after_every_crash() {
    let mut world = World::new().await;
    world.add_company("acme").await;
    let ada = create(&world, &END_USER, ADA).await;
    world.track(vec![event("bob", "acme", "stays")]).await;
    for first in (0..3_000).step_by(500) {
        let events = (first..first + 500).map(|number: i32| Event {
            message_id: Some(format!("m{number}")),
            ..event("ada", "", "x")
        });
        world.track(events.collect()).await;
    }
    world.track(vec![event("bob", "acme", "stays too")]).await;
    assert_eq!(begin(&world, ada).await, Some(ada));
    world = world.reopened(|_| {});
    assert_eq!((world.rows(rows::MESSAGES), world.rows(rows::ERASURES)), (3_000, 1));
    assert!(matches!(world.write(Command::ContinueErasure(ada)).await, Reply::ErasureStep(true)));
    assert_eq!(world.rows(rows::MESSAGES), 2_000);
    world = world.reopened(|_| {});
    // A repeated call finds the erasure still running.
    assert_eq!(begin(&world, ada).await, Some(ada));
    world.sweep().await;
    assert_eq!(world.actions().await, ["stays too", "stays"]);
    // The history of the company skips the places of deleted ones.
    assert_eq!(paged(&world, ("companyId", "extid-acme"), 1).await, ["stays too", "stays"]);
    assert_eq!((world.rows(rows::MESSAGES), world.rows(rows::ERASURES)), (0, 0));
    assert!(matches!(world.write(Command::ContinueErasure(ada)).await, Reply::ErasureStep(false)));
    assert_eq!(begin(&world, ada).await, None);
    assert_eq!(world.rows(rows::SUPPRESSED), 2);
}

#[tokio::test]
async fn who_was_deleted_before_is_erased_by_their_id() {
    let world = World::new().await;
    world.add_company("acme").await;
    let ada = create(&world, &END_USER, ADA).await;
    world.track(vec![event("ada", "", "x")]).await;
    let (reference, precondition) = (RecordRef::Id(ada), Precondition::Anything);
    world.write(Command::Delete { def: &END_USER, reference, precondition }).await;
    assert_eq!(world.actions().await, ["x"]);
    assert_eq!(begin(&world, ada).await, Some(ada));
    world.sweep().await;
    assert_eq!(world.actions().await, [""; 0]);
    assert_eq!(begin(&world, ada).await, None);
}

/// Tickets of a person, and the number of pages until all were found.
async fn tickets_of(world: &World, person: &KnownPerson) -> (usize, usize) {
    let (mut found, mut pages, mut after) = (0, 0, None);
    loop {
        let about = world.store.person_data(
            &world.actor.tenant,
            person.clone(),
            PersonData::Tickets,
            after,
        );
        let page = about.await.unwrap();
        (found, pages) = (found + page.digest.records, pages + 1);
        let Some(PageStart::After(id)) = page.next else { return (found, pages) };
        after = Some(id);
    }
}

#[tokio::test]
async fn tickets_are_found_among_many() {
    let world = World::new().await;
    world.add_company("acme").await;
    let ada = create(&world, &END_USER, ADA).await;
    let items = (0..2_500).map(|number| {
        let of = if number % 1_249 == 0 { "Ada@x.example" } else { "bob@x.example" };
        let ticket =
            format!(r#"{{"sourceId":"{number}","email":"{of}","companyExternalId":"acme"}}"#);
        Ok(Document::parse(ticket.as_bytes()).unwrap())
    });
    let access = UpsertAccess { create: true, update: true };
    world
        .write(Command::Upsert {
            def: &TICKET,
            items: items.collect(),
            access,
            handling: UnknownMemberPolicy::Lenient,
        })
        .await;
    let user = Document::parse(ADA.as_bytes()).unwrap();
    let person = KnownPerson::from_record(ada, &user);
    assert_eq!(tickets_of(&world, &person).await, (3, 3));
    begin(&world, ada).await;
    world.sweep().await;
    assert_eq!(tickets_of(&world, &person).await, (0, 3));
    let pairs = [("email".to_owned(), "bob@x.example".to_owned())];
    let query = ListQuery::parse(&TICKET, &pairs).unwrap().query;
    let others = world
        .store
        .list(&world.actor.tenant, &TICKET, query, PageOptions::default())
        .await
        .unwrap();
    assert_eq!(others.digest.records, TICKET.list.default);
}

//! Users that stand for tokens.

use svctrack_core::resources::user::USER;

use super::*;

#[tokio::test]
async fn a_user_of_a_token_of_before_there_was_a_mark_is_marked_by_the_cleanup() {
    let world = World::new().await;
    let patch = Document::parse(br#"{"name":"nightly import"}"#).unwrap();
    let created = world.write(Command::Create { def: &USER, body: patch.into() }).await;
    let Reply::Record(user) = created else { panic!("{created:?}") };
    let (token, tenant) = (Token::generate().unwrap(), world.actor.tenant.id());
    let now = world.clock.now();
    let token = Box::new(TokenRecord::of_everything(&token, tenant, "nightly import", now));
    world.write(Command::AddToken { token, user: Some(RecordRef::Id(user.id)) }).await;
    let listed = async || {
        let query = ListQuery::parse(&USER, &[]).unwrap().query;
        let page =
            world.store.list(&world.actor.tenant, &USER, query, PageFor::default()).await.unwrap();
        texts(&page, "name")
    };
    assert_eq!(listed().await, ["nightly import"]);
    world.sweep().await;
    assert_eq!(listed().await, [""; 0]);
}

//! Tokens, and the users that they authenticate.

use svctrack_core::resources::user::USER;

use super::*;
use crate::RevocationScope;

#[tokio::test]
async fn a_user_of_a_token_of_before_there_was_a_mark_is_marked_by_the_cleanup() {
    let world = World::new().await;
    let patch = Document::parse(br#"{"name":"nightly import"}"#).unwrap();
    let created =
        world.write(Command::Create { def: &USER, body: CheckedBody::trusted(patch) }).await;
    let Reply::Record(user) = created else { panic!("{created:?}") };
    let (tenant, now) = (world.actor.tenant.id(), world.clock.now());
    let token = Box::new(TokenRecord::for_test(tenant, "nightly import", now));
    world.write(Command::AddToken { token, user: Some(RecordRef::Id(user.id)) }).await;
    let listed = async || {
        let query = ListQuery::parse(&USER, &[]).unwrap().query;
        let page = world
            .store
            .list(&world.actor.tenant, &USER, query, PageOptions::default())
            .await
            .unwrap();
        texts(&page, "name")
    };
    assert_eq!(listed().await, ["nightly import"]);
    world.sweep().await;
    assert_eq!(listed().await, [""; 0]);
}

#[tokio::test]
async fn a_token_that_was_revoked_issues_none_even_where_it_asked_before() {
    let world = World::new().await;
    let tenant = world.actor.tenant.id();
    let new = || Box::new(TokenRecord::for_test(tenant, "x", world.clock.now()));
    let issuer = new();
    let id = issuer.id.clone();
    world.write(Command::AddToken { token: issuer, user: None }).await;
    let asks = Actor { token: Some(id.clone()), ..world.actor.clone() };
    let issue = async || {
        let token = new();
        world.store.write(asks.clone(), Command::AddToken { token, user: None }).await
    };
    let Ok(Reply::TokenAdded(issued)) = issue().await else { panic!("it was not issued") };
    world.write(Command::RevokeToken { id, with: RevocationScope::Alone }).await;
    assert!(matches!(issue().await, Err(StoreError::TokenRevoked)));
    let until = world.clock.now();
    let (id, successor) = (issued.id.clone(), new());
    let rotate = Command::RotateToken { id, successor, old_until: until };
    let rotated = world.store.write(asks.clone(), rotate).await;
    assert!(matches!(rotated, Err(StoreError::TokenRevoked)));
}

#[tokio::test]
async fn a_token_comes_from_a_limited_number_of_others() {
    let world = World::new().await;
    let tenant = world.actor.tenant.id();
    let issue = async |by: Option<&TokenRecord>| {
        let token = TokenRecord::for_test(tenant, "x", world.clock.now());
        let token = Box::new(by.iter().fold(token, |token, issuer| token.issued_by(issuer)));
        world.store.write(world.actor.clone(), Command::AddToken { token, user: None }).await
    };
    let (mut last, mut generations) = (None, 0);
    while let Ok(Reply::TokenAdded(token)) = issue(last.as_ref()).await {
        (last, generations) = (Some(*token), generations + 1);
    }
    assert_eq!(generations, 1 + 32);
    let rejected = issue(last.as_ref()).await;
    assert!(
        matches!(rejected, Err(StoreError::Invalid(issues)) if issues[0].code == "too_many_issuers")
    );
}

#[tokio::test]
async fn tokens_are_limited_those_that_have_expired_make_room_and_rotation_is_not_blocked() {
    let world = World::new().await;
    let tenant = world.actor.tenant.id();
    let new = || Box::new(TokenRecord::for_test(tenant, "x", world.clock.now()));
    let add = async |token: Box<TokenRecord>| {
        world.store.write(world.actor.clone(), Command::AddToken { token, user: None }).await
    };
    let rotate = async |old: &TokenRecord| {
        let (successor, old_until) =
            (new(), Timestamp::from_ms_clamped(world.clock.now().as_ms() + DAY_MS));
        let rotate = Command::RotateToken { id: old.id.clone(), successor, old_until };
        world.store.write(world.actor.clone(), rotate).await
    };
    let is_rejected = |reply: Result<Reply, StoreError>| matches!(reply, Err(StoreError::Invalid(issues)) if issues[0].code == "too_many_tokens");
    let mut ending = new();
    ending.expires_at = Some(Timestamp::from_ms_clamped(world.clock.now().as_ms() + DAY_MS / 2));
    add(ending).await.unwrap();
    let mut last = new();
    // The tenant has one token from the start.
    for _ in 2..1_000 {
        last = new();
        add(last.clone()).await.unwrap();
    }
    assert!(is_rejected(add(new()).await));
    let rotated = rotate(&last).await;
    assert!(matches!(rotated, Ok(Reply::TokenAdded(_))), "{rotated:?}");
    assert!(is_rejected(add(new()).await));
    // Of 1,001 tokens, that one and the rotated one expire, and 999 are left.
    world.pass(DAY_MS);
    add(new()).await.unwrap();
    assert_eq!(world.rows(rows::TOKENS_OF_TENANT), 1_000);
    assert!(is_rejected(add(new()).await));
}

//! Beyond the stored limit of senders without a token, new ones are rejected.

use std::time::Duration;

use svctrack_core::plan::MAX_PARKED_BYTES;

use super::*;
use crate::ParkedToday;
use crate::TrackedEvents;

#[tokio::test]
async fn beyond_those_that_wait_events_are_rejected_and_reported() {
    let world = World::new().await;
    let events = (0..MAX_PARKED + 2).map(|number| event("7", "acme", &number.to_string()));
    let reply = world.write(Command::Track(world.tracking(events.collect()))).await;
    let Reply::Tracked(TrackedEvents { rejected, .. }) = reply else { panic!("{reply:?}") };
    assert_eq!(rejected, [10_000, 10_001]);
    let alone = Command::Track(world.tracking(vec![event("7", "acme", "alone")]));
    let alone = world.store.write(world.actor.clone(), alone).await;
    assert!(matches!(alone, Err(StoreError::ParkedFull)), "{alone:?}");
    assert_eq!(world.count(Counter::Parked), MAX_PARKED);
    assert_eq!(world.report().await, ["parked_refused 3", "company_unknown 10003"]);
    world.add_company("acme").await;
    for _ in 0..MAX_PARKED / 1_000 {
        world.write(Command::Replay).await;
    }
    let actions = world.actions().await;
    assert_eq!((actions[0].as_str(), actions.len()), ("9999", 2_000));
    assert_eq!(world.rows(rows::ACTIVITIES), MAX_PARKED);
    assert_eq!((world.rows(rows::WAITING), world.rows(rows::DUE)), (0, 0));
    assert_eq!(world.count(Counter::ParkedBytes), 0);
}

#[tokio::test]
async fn a_sender_leaves_as_many_places_as_its_own_events_have_taken() {
    let world = World::new().await;
    let park = async |sender: &ParkedToday| {
        let events = (0..MAX_PARKED).map(|number| event("7", "acme", &number.to_string()));
        let tracking = world.tracking(events.collect());
        let command = Command::Track(Tracking { sender: Some(sender.clone()), ..tracking });
        let reply = world.write(command).await;
        assert!(
            matches!(reply, Reply::Tracked(TrackedEvents { rejected, .. }) if !rejected.is_empty())
        );
        sender.count()
    };
    let senders = [ParkedToday::default(), ParkedToday::default()];
    assert_eq!(park(&senders[0]).await, MAX_PARKED / 2);
    assert_eq!(park(&senders[1]).await, MAX_PARKED / 4);
    world.track(vec![event("7", "acme", "of a sender who is not known")]).await;
    assert_eq!(world.count(Counter::Parked), MAX_PARKED / 4 * 3 + 1);
}

#[tokio::test]
async fn a_sender_leaves_as_many_bytes_as_its_own_events_have_taken() {
    const LEFT: u64 = 1_000_000;
    let world = World::new().await;
    set_counter(&world, Counter::ParkedBytes, MAX_PARKED_BYTES - LEFT);
    let large = "x".repeat(10_000);
    let park = async |sender: &ParkedToday| {
        let events = (0..200).map(|number| event("7", "acme", &format!("{number}{large}")));
        let tracking = world.tracking(events.collect());
        let command = Command::Track(Tracking { sender: Some(sender.clone()), ..tracking });
        let reply = world.write(command).await;
        assert!(
            matches!(reply, Reply::Tracked(TrackedEvents { rejected, .. }) if !rejected.is_empty())
        );
        sender.bytes()
    };
    let senders = [ParkedToday::default(), ParkedToday::default()];
    let near = |share: u64| share - LEFT / 50..=share;
    let taken = park(&senders[0]).await;
    assert!(near(LEFT / 2).contains(&taken), "{taken}");
    let of_other = park(&senders[1]).await;
    assert!(near((LEFT - taken) / 2).contains(&of_other), "{of_other} of {}", LEFT - taken);
}

#[tokio::test]
async fn an_event_that_could_not_wait_can_be_sent_again() {
    let world = World::new().await;
    let event_numbered = |number: u64| Event {
        message_id: Some(format!("m{number}")),
        ..event(&number.to_string(), "late", &number.to_string())
    };
    world.track((0..=MAX_PARKED).map(event_numbered).collect()).await;
    world.add_company("late").await;
    world.track(vec![event_numbered(0), event_numbered(MAX_PARKED)]).await;
    let mut replayed = true;
    while replayed {
        replayed =
            matches!(world.write(Command::Replay).await, Reply::Replayed(went_on) if went_on > 0);
    }
    let of_first = paged(&world, ("endUserId", "extid-0"), 10).await;
    let of_last = paged(&world, ("endUserId", "extid-10000"), 10).await;
    assert_eq!((of_first, of_last), (vec!["0".to_owned()], vec!["10000".to_owned()]));
}

#[tokio::test]
async fn beyond_the_limit_of_stored_keys_new_ones_are_rejected_and_those_of_events_separately() {
    let world = World::new().await;
    let call = async |key: u8| {
        let key = IdempotencyKey { key: [key; 32], body: [0; 32], part: None };
        let body = CheckedBody::trusted(company(&format!("{key:?}")));
        let command = Box::new(Command::Create { def: &COMPANY, body });
        world.store.write(world.actor.clone(), Command::Idempotent { key, command }).await
    };
    assert!(matches!(call(11).await, Ok(Reply::Record(_))));
    set_counter(&world, Counter::Once, 100_001);
    set_counter(&world, Counter::OnceEvents, 100_000);
    world.pass(DAY_MS / 4);
    let rejected = part(&world, 0, 1).await;
    let left = Duration::from_millis(DAY_MS as u64 / 4 * 3);
    let is_left = |wait: Duration| wait <= left && wait + Duration::from_secs(1) > left;
    assert!(matches!(rejected, Err(StoreError::KeysFull(wait)) if is_left(wait)), "{rejected:?}");
    assert!(matches!(call(12).await, Ok(Reply::Record(_))));
    set_counter(&world, Counter::OnceEvents, 0);
    set_counter(&world, Counter::Once, 1_000_000);
    assert!(matches!(call(13).await, Err(StoreError::KeysFull(_))));
    assert!(matches!(call(11).await, Ok(Reply::Repeated(_))));
    assert!(matches!(part(&world, 0, 1).await, Ok(Reply::Tracked(_))));
    // Expired outcomes are removed, and make room.
    world.pass(DAY_MS);
    assert!(matches!(call(13).await, Ok(Reply::Record(_))));
}

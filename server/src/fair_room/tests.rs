//! Who is given room when.

use std::net::IpAddr;

use futures_util::FutureExt as _;

use super::*;
use crate::limits::GIVES_WAY_AFTER;

const ROOM: usize = 40;
const SHARE: usize = 32;
const STRANGERS: usize = 36;
const ADDRESS: usize = 30;
const PATIENCE: Duration = Duration::from_secs(60);

fn room(share: usize) -> FairRoom {
    let gives_way_after = GIVES_WAY_AFTER;
    let (all, strangers, address) = (ROOM, STRANGERS, ADDRESS);
    FairRoom::new(RoomLimits { all, strangers, each: share, address, gives_way_after })
}

fn id(tenant: u8) -> TenantId {
    TenantId::from_bytes([tenant; 16])
}

fn of(tenant: u8) -> Owner {
    Owner::Caller(id(tenant))
}

fn at(tenant: u8, address: &str) -> Owner {
    Owner::Stranger(Some(id(tenant)), address.parse::<IpAddr>().ok().map(IpAddr::into))
}

/// Takes room for a body whose sender was fast until now; returns whether it got it.
async fn take(place: &Place<'_>, arrived: usize, coming: usize) -> bool {
    let need = Need {
        held: arrived,
        coming,
        is_arriving: coming > 0,
        progress: Instant::now(),
        patience: PATIENCE,
    };
    place.take(need).await.is_ok()
}

/// A body that gets its room at once.
fn taken(room: &FairRoom, owner: Owner, arrived: usize, coming: usize) -> Place<'_> {
    let place = room.enter(owner);
    assert_eq!(take(&place, arrived, coming).now_or_never(), Some(true));
    place
}

/// Whether a body has to wait.
fn waits(room: &FairRoom, owner: Owner, arrived: usize, coming: usize) -> bool {
    take(&room.enter(owner), arrived, coming).now_or_never().is_none()
}

#[tokio::test(start_paused = true)]
async fn what_is_declared_takes_no_room() {
    let room = room(SHARE);
    let _declared = taken(&room, of(1), 1, 31);
    assert!(!waits(&room, of(1), 2, 0));
    assert!(!waits(&room, of(2), 32, 0));
}

#[tokio::test(start_paused = true)]
async fn a_tenant_and_an_address_have_a_share_so_that_there_is_room_for_others() {
    let [a, b] = ["192.0.2.1", "192.0.2.2"];
    for (one, share, same, other, left) in [
        (of(1), SHARE, of(1), of(2), ROOM - SHARE),
        (at(1, ""), SHARE, at(1, a), at(2, ""), STRANGERS - SHARE),
        (at(1, a), ADDRESS, at(2, a), at(1, b), SHARE - ADDRESS),
        (at(1, a), ADDRESS, at(1, a), at(2, b), STRANGERS - ADDRESS),
        // Those of the same tenant without a token leave room to those with one.
        (at(1, ""), SHARE, at(1, ""), of(1), ROOM - SHARE),
    ] {
        let room = room(SHARE);
        let _all = taken(&room, one, share, 0);
        assert!(waits(&room, same, 1, 0));
        assert!(!waits(&room, other, left, 0));
        assert!(waits(&room, other, left + 1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_complete_gives_its_room_to_those_who_wait_in_their_order() {
    let room = room(SHARE);
    let first = taken(&room, of(1), SHARE, 0);
    let (second, third) = (room.enter(of(1)), room.enter(of(1)));
    let (mut second_taken, mut third_taken) =
        (Box::pin(take(&second, 20, 0)), Box::pin(take(&third, 20, 0)));
    assert!(futures_util::poll!(&mut second_taken).is_pending());
    assert!(futures_util::poll!(&mut third_taken).is_pending());
    // A smaller one has not to queue.
    assert!(waits(&room, of(1), 1, 0));
    drop(first);
    assert_eq!(second_taken.now_or_never(), Some(true));
    assert!(futures_util::poll!(&mut third_taken).is_pending());
    assert!(!waits(&room, of(1), 1, 0));
    drop(second);
    assert_eq!(third_taken.now_or_never(), Some(true));
}

/// In which order those who wait for all of the room are given it.
async fn turns(waiting: &[(char, Owner)]) -> String {
    let room = room(ROOM);
    let first = taken(&room, waiting[0].1, ADDRESS, 0);
    let served = Mutex::new(String::new());
    let holders = waiting.iter().map(|(name, owner)| {
        let (room, served) = (&room, &served);
        async move {
            let place = room.enter(*owner);
            assert!(take(&place, ADDRESS, 0).await);
            served.lock().push(*name);
        }
    });
    tokio::join!(futures_util::future::join_all(holders), async { drop(first) });
    let holders = room.lock();
    assert!(holders.last_of_groups.is_empty() && holders.last_of_owners.is_empty());
    assert!(holders.held.is_empty());
    drop(holders);
    served.into_inner()
}

#[tokio::test(start_paused = true)]
async fn tenants_are_given_room_in_turn() {
    let [a, b] = [('a', of(1)), ('b', of(2))];
    assert_eq!(turns(&[a, a, a, b, b]).await, "babaa");
}

#[tokio::test(start_paused = true)]
async fn those_with_a_token_have_turns_of_their_own_and_addresses_take_those_of_a_tenant_in_turn() {
    let [a, b, c] = ["192.0.2.1", "192.0.2.2", ""].map(|address| at(1, address));
    let [a, b, c] = [('a', a), ('b', b), ('c', c)];
    let (token, other) = (('t', of(1)), ('o', at(2, "192.0.2.1")));
    assert_eq!(turns(&[a, a, a, b, b, c, token, other, token]).await, "tobtcabaa");
}

#[tokio::test(start_paused = true)]
async fn fast_bodies_that_need_more_than_there_is_are_all_completed_one_after_the_other() {
    let room = room(SHARE);
    let complete = |tenant| {
        let room = &room;
        async move {
            let place = room.enter(of(tenant));
            for arrived in 1..=SHARE {
                tokio::time::sleep(Duration::from_millis(1)).await;
                assert!(take(&place, arrived, SHARE - arrived).await);
            }
            place.complete().unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    futures_util::future::join_all((0..50).map(|number| complete(number % 3))).await;
}

#[tokio::test(start_paused = true)]
async fn who_is_slow_gives_way_the_slowest_of_those_who_have_most_first() {
    let room = room(SHARE);
    let _little = taken(&room, of(3), 2, 1);
    tokio::time::sleep(GIVES_WAY_AFTER).await;
    let older = taken(&room, of(1), 10, 2);
    tokio::time::sleep(Duration::from_millis(1)).await;
    let newer = taken(&room, of(1), 10, 2);
    let _processed = taken(&room, of(2), 16, 0);
    // Nobody is slow yet but one who has less.
    let next = room.enter(of(2));
    let mut next_taken = Box::pin(take(&next, 8, 0));
    assert!(futures_util::poll!(&mut next_taken).is_pending());
    drop(next_taken);
    tokio::time::sleep(GIVES_WAY_AFTER).await;
    assert_eq!(take(&room.enter(of(4)), 8, 0).now_or_never(), Some(true));
    assert!(older.has_to_give_way().now_or_never().is_some());
    assert!(newer.has_to_give_way().now_or_never().is_none());
    assert!(older.complete().is_err() && newer.complete().is_ok());
}

#[tokio::test(start_paused = true)]
async fn who_has_room_for_all_and_has_not_sent_it_gives_way_too() {
    let room = room(SHARE);
    let slow = room.enter(of(1));
    let need = |is_arriving| Need {
        held: SHARE,
        coming: 0,
        is_arriving,
        progress: Instant::now(),
        patience: PATIENCE,
    };
    slow.take(need(true)).await.unwrap();
    tokio::time::sleep(GIVES_WAY_AFTER).await;
    let next = room.enter(of(1));
    assert!(next.take(need(false)).await.is_ok());
    assert!(slow.has_to_give_way().now_or_never().is_some());
    tokio::time::sleep(GIVES_WAY_AFTER).await;
    assert!(waits(&room, of(1), 1, 0));
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_room_is_not_slow_and_gives_up_in_time() {
    let room = room(SHARE);
    let _processed = taken(&room, of(1), SHARE, 0);
    let place = room.enter(of(1));
    let began = Instant::now();
    let (first, second) = tokio::join!(take(&place, 1, 1), async {
        tokio::time::sleep(PATIENCE / 2).await;
        waits(&room, of(1), 2, 0)
    });
    assert!(!first && second);
    assert_eq!(began.elapsed(), PATIENCE);
}

//! Memory for bodies. A body takes memory as its bytes arrive, for its buffer and the next piece, whatever length
//! it declares; a tenant and an address have a limited share. When memory is short,
//!
//! - a body waits when otherwise too little would be left for running ones to be completed, so that no two wait for
//!   each other;
//! - a slow sender gives way: of those whose tenant or address has the most, the slowest.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use svctrack_core::value::TenantId;
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use crate::{error::Error, limits::GIVES_WAY_AFTER, sender_limits::SenderAddress};

/// The tenant and the address of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BodyOwner {
    /// None where the body names the tenant.
    pub(crate) tenant: Option<TenantId>,
    /// None where the address is not known.
    pub(crate) address: Option<SenderAddress>,
}

/// Memory budget for all bodies of a kind.
pub(crate) struct BodyMemory {
    bytes: usize,
    /// Maximum number of bytes of one tenant, and of one address.
    share: usize,
    bodies: Mutex<BodyQueue>,
}

/// Bodies that hold memory or wait for it, in the order in which they came.
#[derive(Default)]
struct BodyQueue {
    next: u64,
    all: BTreeMap<u64, BodyMemoryHolder>,
    waiting: BTreeSet<u64>,
    turns: u64,
    /// Turn in which each tenant with bodies was last given memory.
    last_turns: HashMap<Option<TenantId>, u64>,
}

struct BodyMemoryHolder {
    owner: BodyOwner,
    /// Bytes that the body holds.
    held: usize,
    /// Bytes that the body waits for.
    wanted: usize,
    /// Bytes that the body will still need.
    coming: usize,
    /// Whether the sender still sends.
    is_arriving: bool,
    /// Time of the last progress.
    progress: Instant,
    gives_way: bool,
    /// Notified when the body was given memory, or has to give way.
    changed: Arc<Notify>,
}

/// Whose bodies count toward a limit: all, those of a tenant, or of an address.
#[derive(Clone, Copy)]
enum LimitScope {
    All,
    Tenant,
    Address,
}

/// Reservation of a body; its memory is released when the reservation is dropped.
pub(crate) struct BodyReservation<'r> {
    room: &'r BodyMemory,
    id: u64,
    changed: Arc<Notify>,
}

/// Memory that a body needs, and its progress.
pub(crate) struct BodyMemoryNeed {
    /// Bytes that the body holds.
    pub(crate) held: usize,
    /// Bytes that the body will still need.
    pub(crate) coming: usize,
    /// Whether the sender still sends.
    pub(crate) is_arriving: bool,
    /// Time of the sender's last progress.
    pub(crate) progress: Instant,
    /// Longest wait for memory.
    pub(crate) patience: Duration,
}

impl BodyMemory {
    pub(crate) fn new(bytes: usize, share: usize) -> Self {
        Self { bytes, share, bodies: Mutex::default() }
    }

    /// Reservation for a body, of no memory yet.
    pub(crate) fn enter(&self, owner: BodyOwner) -> BodyReservation<'_> {
        let changed = Arc::<Notify>::default();
        let holder = BodyMemoryHolder {
            owner,
            held: 0,
            wanted: 0,
            coming: 0,
            is_arriving: false,
            progress: Instant::now(),
            gives_way: false,
            changed: changed.clone(),
        };
        let mut bodies = self.lock();
        bodies.next += 1;
        let id = bodies.next;
        bodies.all.insert(id, holder);
        BodyReservation { room: self, id, changed }
    }

    fn lock(&self) -> MutexGuard<'_, BodyQueue> {
        self.bodies.lock()
    }

    fn limits(&self) -> [(LimitScope, usize); 3] {
        [
            (LimitScope::All, self.bytes),
            (LimitScope::Tenant, self.share),
            (LimitScope::Address, self.share),
        ]
    }

    /// Gives a body the memory that it wants, unless it has to wait; returns whether it has it.
    fn give(&self, bodies: &mut BodyQueue, id: u64) -> bool {
        let Some(holder) = bodies.all.get(&id) else { return false };
        if holder.wanted == 0 {
            return true;
        }
        if bodies.has_to_queue(id, holder) || self.shortage(bodies, id, holder).is_some() {
            return false;
        }
        if let Some(holder) = bodies.all.get_mut(&id) {
            holder.held += std::mem::take(&mut holder.wanted);
            bodies.turns += 1;
            bodies.last_turns.insert(holder.owner.tenant, bodies.turns);
        }
        bodies.waiting.remove(&id);
        true
    }

    /// The limit that a body has to wait for.
    fn shortage(
        &self,
        bodies: &BodyQueue,
        id: u64,
        holder: &BodyMemoryHolder,
    ) -> Option<(LimitScope, usize)> {
        let mut limits = self.limits().into_iter();
        limits.find(|(scope, limit)| !bodies.have_room(id, holder, *scope, *limit))
    }

    /// Makes slow bodies give way, until a body has the memory that it wants; returns whether it has it.
    fn make_way(&self, bodies: &mut BodyQueue, id: u64) -> bool {
        while !self.give(bodies, id) {
            let Some(holder) = bodies.all.get(&id) else { return false };
            if bodies.has_to_queue(id, holder) {
                return false;
            }
            let Some((scope, limit)) = self.shortage(bodies, id, holder) else { return false };
            let slow = bodies.slow(id, holder, scope);
            if slow.is_empty() {
                return false;
            }
            // A body that needs memory is seldom alone.
            let mut freed = 0;
            for id in slow {
                let Some(slow) = bodies.all.get_mut(&id) else { continue };
                freed += std::mem::take(&mut slow.held);
                (slow.coming, slow.is_arriving, slow.gives_way) = (0, false, true);
                slow.changed.notify_one();
                if freed >= limit / Self::PARTS {
                    break;
                }
            }
        }
        true
    }

    /// The part of a limit that is freed at a time.
    const PARTS: usize = 16;

    /// Gives waiting bodies the memory that they want, as far as there is any: tenants take turns, and the bodies of one
    /// come in their order.
    fn give_all(&self, bodies: &mut BodyQueue) {
        // If there is too little memory for a body of an owner, there is too little for the owner's next one.
        let mut too_much = HashMap::new();
        for id in bodies.in_turn() {
            let Some(BodyMemoryHolder { owner, wanted, .. }) = bodies.all.get(&id) else {
                continue;
            };
            let (owner, wanted) = (*owner, *wanted);
            if too_much.get(&owner).is_some_and(|least| *least <= wanted) {
                continue;
            }
            if !self.give(bodies, id) {
                too_much.insert(owner, wanted);
            } else if let Some(holder) = bodies.all.get_mut(&id) {
                holder.progress = Instant::now();
                holder.changed.notify_one();
            }
        }
    }
}

impl BodyQueue {
    /// Waiting bodies in round-robin order: one of each tenant, then the next of each. A tenant that was given memory
    /// comes last in its round.
    fn in_turn(&self) -> Vec<u64> {
        let mut counts = HashMap::<_, u64>::new();
        let turns = self.waiting.iter().filter_map(|id| {
            let tenant = self.all.get(id)?.owner.tenant;
            let round = counts.entry(tenant).or_default();
            *round += 1;
            Some((*round, self.last_turns.get(&tenant).copied().unwrap_or(0), *id))
        });
        let mut turns: Vec<_> = turns.collect();
        turns.sort_unstable();
        turns.into_iter().map(|(.., id)| id).collect()
    }

    /// Removes a body, and with the last one of its tenant the turn of the tenant.
    fn remove(&mut self, id: u64) {
        self.waiting.remove(&id);
        let Some(gone) = self.all.remove(&id) else { return };
        let tenant = gone.owner.tenant;
        if !self.all.values().any(|holder| holder.owner.tenant == tenant) {
            self.last_turns.remove(&tenant);
        }
    }

    /// Whether a body without memory has to queue after one of the same tenant that needs no more.
    fn has_to_queue(&self, id: u64, holder: &BodyMemoryHolder) -> bool {
        let is_before = |other: &BodyMemoryHolder| {
            other.held == 0
                && other.missing() <= holder.missing()
                && LimitScope::Tenant.has(holder, other)
        };
        let mut before = self.waiting.range(..id).filter_map(|other| self.all.get(other));
        holder.held == 0 && before.any(is_before)
    }

    /// Whether there is memory for a body, and then enough for all running ones to be completed one after the other, as
    /// each releases its memory when it is processed: the banker's algorithm.
    fn have_room(
        &self,
        id: u64,
        holder: &BodyMemoryHolder,
        scope: LimitScope,
        limit: usize,
    ) -> bool {
        let others = self.all.iter().filter(|(other, _)| **other != id).map(|(_, other)| other);
        let others = others.filter(|other| other.held > 0 && scope.has(holder, other));
        let mut bodies: Vec<_> = others.map(|other| (other.missing(), other.held)).collect();
        bodies.push((holder.coming, holder.held + holder.wanted));
        let held: usize = bodies.iter().map(|(_, held)| held).sum();
        let Some(mut free) = limit.checked_sub(held) else { return false };
        bodies.sort_unstable();
        bodies.into_iter().all(|(missing, held)| {
            let can_be_completed = missing <= free;
            free += held;
            can_be_completed
        })
    }

    /// Bodies that give way to another one: first the one whose sender has been slow for longest, weighted by the memory
    /// of its tenant or address. No body gives way to one whose sender has more memory.
    fn slow(&self, id: u64, holder: &BodyMemoryHolder, scope: LimitScope) -> Vec<u64> {
        let now = Instant::now();
        let slow_for = |other: &BodyMemoryHolder| now.saturating_duration_since(other.progress);
        let is_slow = |other: &BodyMemoryHolder| {
            other.is_arriving && other.wanted == 0 && slow_for(other) >= GIVES_WAY_AFTER
        };
        let others = self.all.iter().filter(|(other_id, _)| **other_id != id);
        let slow: Vec<_> =
            others.filter(|(_, other)| is_slow(other) && scope.has(holder, other)).collect();
        if slow.is_empty() {
            return Vec::new();
        }
        let (of_tenant, of_address) = self.had();
        let had_by = |owner: BodyOwner| {
            let of_tenant = of_tenant.get(&owner.tenant).copied();
            let of_address = owner.address.and_then(|address| of_address.get(&address).copied());
            of_tenant.max(of_address).unwrap_or(0)
        };
        let own = had_by(holder.owner);
        let weighted = slow.into_iter().filter_map(|(other_id, other)| {
            let had = had_by(other.owner);
            (had >= own).then_some((had as u128 * slow_for(other).as_millis(), *other_id))
        });
        let mut weighted: Vec<_> = weighted.collect();
        weighted.sort_unstable_by_key(|of| Reverse(*of));
        weighted.into_iter().map(|(_, id)| id).collect()
    }

    /// Memory that each tenant, and each address, has.
    fn had(&self) -> (HashMap<Option<TenantId>, usize>, HashMap<SenderAddress, usize>) {
        let (mut tenants, mut addresses) = (HashMap::new(), HashMap::new());
        for BodyMemoryHolder { owner, held, .. } in
            self.all.values().filter(|holder| holder.held > 0)
        {
            *tenants.entry(owner.tenant).or_default() += held;
            if let Some(address) = owner.address {
                *addresses.entry(address).or_default() += held;
            }
        }
        (tenants, addresses)
    }
}

impl BodyMemoryHolder {
    /// Bytes without which the body cannot be completed.
    fn missing(&self) -> usize {
        self.wanted + self.coming
    }
}

impl LimitScope {
    /// Whether a limit for one body counts another one.
    fn has(self, one: &BodyMemoryHolder, other: &BodyMemoryHolder) -> bool {
        let (one, other) = (one.owner, other.owner);
        match self {
            Self::All => true,
            Self::Tenant => one.tenant == other.tenant,
            Self::Address => one.address.is_some() && one.address == other.address,
        }
    }
}

impl<'r> BodyReservation<'r> {
    /// Whether the reservation is one of this budget.
    pub(crate) fn is_in(&self, room: &BodyMemory) -> bool {
        std::ptr::eq(self.room, room)
    }

    /// Takes memory for the bytes that the body holds; waits for it, but not indefinitely.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when memory does not become free in time, or the body had to give way.
    pub(crate) async fn take(&self, mut need: BodyMemoryNeed) -> Result<(), Error> {
        let until = Instant::now() + need.patience;
        while !self.try_take(&need)? {
            let now = Instant::now();
            if now >= until {
                return Err(Error::Overloaded);
            }
            // A sender that was not slow before may be by then.
            let check = until.min(now + GIVES_WAY_AFTER);
            let _ = timeout_at(check, self.changed.notified()).await;
            // While the body waits for memory, its sender is not slow.
            need.progress = Instant::now();
        }
        Ok(())
    }

    fn try_take(&self, need: &BodyMemoryNeed) -> Result<bool, Error> {
        let mut bodies = self.room.lock();
        let holder = bodies.all.get_mut(&self.id).filter(|holder| !holder.gives_way);
        let holder = holder.ok_or(Error::Overloaded)?;
        holder.wanted = need.held.saturating_sub(holder.held);
        (holder.coming, holder.progress) = (need.coming, need.progress);
        holder.is_arriving = need.is_arriving;
        if holder.wanted > 0 {
            bodies.waiting.insert(self.id);
        }
        Ok(self.room.make_way(&mut bodies, self.id))
    }

    fn gives_way(&self, bodies: &BodyQueue) -> bool {
        bodies.all.get(&self.id).is_none_or(|holder| holder.gives_way)
    }

    /// Waits until the body has to give way.
    pub(crate) async fn has_to_give_way(&self) {
        while !self.gives_way(&self.room.lock()) {
            self.changed.notified().await;
        }
    }

    /// Notes that all has arrived.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when the body had to give way.
    pub(crate) fn complete(&self) -> Result<(), Error> {
        let mut bodies = self.room.lock();
        if self.gives_way(&bodies) {
            return Err(Error::Overloaded);
        }
        if let Some(holder) = bodies.all.get_mut(&self.id) {
            (holder.coming, holder.is_arriving) = (0, false);
        }
        self.room.give_all(&mut bodies);
        Ok(())
    }
}

impl Drop for BodyReservation<'_> {
    fn drop(&mut self) {
        let mut bodies = self.room.lock();
        bodies.remove(self.id);
        self.room.give_all(&mut bodies);
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use futures_util::FutureExt as _;

    use super::*;

    const ROOM: usize = 40;
    const SHARE: usize = 32;
    const PATIENCE: Duration = Duration::from_secs(60);

    fn owner(tenant: u8) -> BodyOwner {
        BodyOwner { tenant: Some(TenantId::from_bytes([tenant; 16])), address: None }
    }

    fn at(owner: BodyOwner, address: &str) -> BodyOwner {
        BodyOwner { address: Some(address.parse::<IpAddr>().unwrap().into()), ..owner }
    }

    /// Takes memory for a body whose sender was fast until now; returns whether it got it.
    async fn take(place: &BodyReservation<'_>, arrived: usize, coming: usize) -> bool {
        let need = BodyMemoryNeed {
            held: arrived,
            coming,
            is_arriving: coming > 0,
            progress: Instant::now(),
            patience: PATIENCE,
        };
        place.take(need).await.is_ok()
    }

    /// A body that gets its memory at once.
    fn taken(
        room: &BodyMemory,
        owner: BodyOwner,
        arrived: usize,
        coming: usize,
    ) -> BodyReservation<'_> {
        let place = room.enter(owner);
        assert_eq!(take(&place, arrived, coming).now_or_never(), Some(true));
        place
    }

    fn waits(room: &BodyMemory, owner: BodyOwner, arrived: usize, coming: usize) -> bool {
        take(&room.enter(owner), arrived, coming).now_or_never().is_none()
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_declared_takes_no_room() {
        let room = BodyMemory::new(ROOM, SHARE);
        let _declared = taken(&room, owner(1), 1, 31);
        assert!(!waits(&room, owner(1), 2, 0));
        assert!(!waits(&room, owner(2), 32, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenant_and_an_address_have_a_share_so_that_there_is_room_for_others() {
        let of_address = |tenant, address| at(owner(tenant), address);
        for (one, same, other) in [
            (owner(1), owner(1), owner(2)),
            (of_address(1, "192.0.2.1"), of_address(2, "192.0.2.1"), of_address(2, "192.0.2.2")),
        ] {
            let room = BodyMemory::new(ROOM, SHARE);
            let _all = taken(&room, one, SHARE, 0);
            assert!(waits(&room, same, 1, 0));
            assert!(!waits(&room, other, 8, 0));
            assert!(waits(&room, other, 9, 0));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_complete_gives_its_room_to_those_who_wait_in_their_order() {
        let room = BodyMemory::new(ROOM, SHARE);
        let first = taken(&room, owner(1), SHARE, 0);
        let (second, third) = (room.enter(owner(1)), room.enter(owner(1)));
        let (mut second_taken, mut third_taken) =
            (Box::pin(take(&second, 20, 0)), Box::pin(take(&third, 20, 0)));
        assert!(futures_util::poll!(&mut second_taken).is_pending());
        assert!(futures_util::poll!(&mut third_taken).is_pending());
        // A smaller body need not queue.
        assert!(waits(&room, owner(1), 1, 0));
        drop(first);
        assert_eq!(second_taken.now_or_never(), Some(true));
        assert!(futures_util::poll!(&mut third_taken).is_pending());
        assert!(!waits(&room, owner(1), 1, 0));
        drop(second);
        assert_eq!(third_taken.now_or_never(), Some(true));
    }

    #[tokio::test(start_paused = true)]
    async fn tenants_are_given_room_in_turn() {
        let room = BodyMemory::new(ROOM, ROOM);
        let first = taken(&room, owner(1), ROOM, 0);
        let served = Mutex::new(Vec::new());
        let bodies = [1, 1, 1, 2, 2].map(|tenant| {
            let (room, served) = (&room, &served);
            async move {
                let place = room.enter(owner(tenant));
                assert!(take(&place, ROOM, 0).await);
                served.lock().push(tenant);
            }
        });
        tokio::join!(futures_util::future::join_all(bodies), async { drop(first) });
        assert_eq!(*served.lock(), [2, 1, 2, 1, 1]);
        assert!(room.lock().last_turns.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn fast_bodies_that_need_more_than_there_is_are_all_completed_one_after_the_other() {
        let room = BodyMemory::new(ROOM, SHARE);
        let complete = |tenant| {
            let room = &room;
            async move {
                let place = room.enter(owner(tenant));
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
        let room = BodyMemory::new(ROOM, SHARE);
        let _little = taken(&room, owner(3), 2, 1);
        tokio::time::sleep(GIVES_WAY_AFTER).await;
        let older = taken(&room, owner(1), 10, 2);
        tokio::time::sleep(Duration::from_millis(1)).await;
        let newer = taken(&room, owner(1), 10, 2);
        let _processed = taken(&room, owner(2), 16, 0);
        // The only slow body has less.
        let next = room.enter(owner(2));
        let mut next_taken = Box::pin(take(&next, 8, 0));
        assert!(futures_util::poll!(&mut next_taken).is_pending());
        drop(next_taken);
        tokio::time::sleep(GIVES_WAY_AFTER).await;
        assert_eq!(take(&room.enter(owner(4)), 8, 0).now_or_never(), Some(true));
        assert!(older.has_to_give_way().now_or_never().is_some());
        assert!(newer.has_to_give_way().now_or_never().is_none());
        assert!(older.complete().is_err() && newer.complete().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_room_for_all_and_has_not_sent_it_gives_way_too() {
        let room = BodyMemory::new(ROOM, SHARE);
        let slow = room.enter(owner(1));
        let need = |is_arriving| BodyMemoryNeed {
            held: SHARE,
            coming: 0,
            is_arriving,
            progress: Instant::now(),
            patience: PATIENCE,
        };
        slow.take(need(true)).await.unwrap();
        tokio::time::sleep(GIVES_WAY_AFTER).await;
        let next = room.enter(owner(1));
        assert!(next.take(need(false)).await.is_ok());
        assert!(slow.has_to_give_way().now_or_never().is_some());
        tokio::time::sleep(GIVES_WAY_AFTER).await;
        assert!(waits(&room, owner(1), 1, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_room_is_not_slow_and_gives_up_in_time() {
        let room = BodyMemory::new(ROOM, SHARE);
        let _processed = taken(&room, owner(1), SHARE, 0);
        let place = room.enter(owner(1));
        let began = Instant::now();
        let (first, second) = tokio::join!(take(&place, 1, 1), async {
            tokio::time::sleep(PATIENCE / 2).await;
            waits(&room, owner(1), 2, 0)
        });
        assert!(!first && second);
        assert_eq!(began.elapsed(), PATIENCE);
    }
}

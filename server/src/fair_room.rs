//! Room that callers share fairly: for the bytes of bodies, for the rows that are read from them, and for imports. A
//! holder takes it as it needs it, whatever it declares; a tenant, an address, and all who show no credentials together
//! have a limited share of it. When it is short,
//!
//! - a holder waits when otherwise too little would be left for those under way to be completed, so that none waits for
//!   another one that waits for it;
//! - tenants take turns, those of a tenant who show credentials apart from those who do not, and of the latter the
//!   addresses;
//! - a sender that is slow meanwhile gives way: of those whose tenant or address has the most, the slowest.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use poem::Request;
use svctrack_core::value::TenantId;
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use crate::{
    error::Error,
    limits::RoomLimits,
    sender_limits::{Address, Sender},
};

/// A caller for whom room is counted, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Owner {
    /// A caller who has shown credentials of a tenant.
    Caller(TenantId),
    /// One who has shown none; the tenant is none where only the body names it, the address where it is not known.
    Stranger(Option<TenantId>, Option<Address>),
}

impl Owner {
    /// Who sends a request without credentials.
    pub(crate) fn stranger(tenant: Option<TenantId>, request: &Request) -> Self {
        Self::Stranger(tenant, Address::of(request))
    }

    /// The sender of an event, who has shown no credentials, whatever its body names.
    pub(crate) fn sender(sender: &Sender) -> Self {
        Self::Stranger(Some(sender.tenant.id()), sender.address)
    }

    /// Those who have turns and a share together.
    fn group(self) -> Self {
        match self {
            Self::Caller(_) => self,
            Self::Stranger(tenant, _) => Self::Stranger(tenant, None),
        }
    }

    /// Those whose limits count what it holds, the widest first.
    fn scopes(self) -> impl Iterator<Item = Scope> {
        let strangers = matches!(self, Self::Stranger(..)).then_some(Scope::Strangers);
        let of_address = self.address().map(Scope::Address);
        [Scope::All]
            .into_iter()
            .chain(strangers)
            .chain([Scope::Group(self.group())])
            .chain(of_address)
    }

    /// The address of a stranger, as far as it is known.
    fn address(self) -> Option<Address> {
        match self {
            Self::Caller(_) => None,
            Self::Stranger(_, address) => address,
        }
    }
}

/// Room of a kind: bytes, or places.
pub(crate) struct FairRoom {
    limits: RoomLimits,
    holders: Mutex<Holders>,
}

/// Those that have room or wait for it, in the order in which they came.
#[derive(Default)]
struct Holders {
    next: u64,
    all: BTreeMap<u64, Holder>,
    waiting: BTreeSet<u64>,
    /// What those of each scope hold together.
    held: HashMap<Scope, usize>,
    turns: u64,
    /// When each group, and each owner, that is here was last given room.
    last_of_groups: HashMap<Owner, u64>,
    last_of_owners: HashMap<Owner, u64>,
}

struct Holder {
    owner: Owner,
    held: usize,
    /// What it waits for.
    wanted: usize,
    /// What it is still going to want.
    coming: usize,
    /// Whether its sender is not done.
    is_arriving: bool,
    /// When it last made progress.
    progress: Instant,
    gives_way: bool,
    /// Notified when it was given room, or has to give way.
    changed: Arc<Notify>,
}

/// Those that a limit is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Scope {
    All,
    Strangers,
    Group(Owner),
    Address(Address),
}

/// A holder's place among the others: what it holds is free again when it is dropped.
pub(crate) struct Place<'r> {
    room: &'r FairRoom,
    id: u64,
    changed: Arc<Notify>,
}

/// The room that is needed.
pub(crate) struct Need {
    /// All that is held once it is given.
    pub(crate) held: usize,
    /// What is still going to be needed.
    pub(crate) coming: usize,
    /// Whether its sender is not done.
    pub(crate) is_arriving: bool,
    /// When its sender last made progress.
    pub(crate) progress: Instant,
    /// How long it may wait for room.
    pub(crate) patience: Duration,
}

impl FairRoom {
    pub(crate) fn new(limits: RoomLimits) -> Self {
        Self { limits, holders: Mutex::default() }
    }

    /// A place that holds nothing yet.
    pub(crate) fn enter(&self, owner: Owner) -> Place<'_> {
        let changed = Arc::<Notify>::default();
        let holder = Holder {
            owner,
            held: 0,
            wanted: 0,
            coming: 0,
            is_arriving: false,
            progress: Instant::now(),
            gives_way: false,
            changed: changed.clone(),
        };
        let mut holders = self.lock();
        holders.next += 1;
        let id = holders.next;
        holders.all.insert(id, holder);
        Place { room: self, id, changed }
    }

    /// Room for what its holder has or gets by itself.
    ///
    /// # Errors
    /// As [`Place::take`].
    pub(crate) async fn hold(
        &self,
        owner: Owner,
        held: usize,
        patience: Duration,
    ) -> Result<Place<'_>, Error> {
        let place = self.enter(owner);
        let progress = Instant::now();
        place.take(Need { held, coming: 0, is_arriving: false, progress, patience }).await?;
        Ok(place)
    }

    fn lock(&self) -> MutexGuard<'_, Holders> {
        self.holders.lock()
    }

    /// The limits of an owner.
    fn limits(&self, owner: Owner) -> impl Iterator<Item = (Scope, usize)> {
        let RoomLimits { all, strangers, each, address, .. } = self.limits;
        owner.scopes().map(move |scope| match scope {
            Scope::All => (scope, all),
            Scope::Strangers => (scope, strangers),
            Scope::Group(_) => (scope, each),
            Scope::Address(_) => (scope, address),
        })
    }

    /// Gives a holder what it wants, unless it has to wait; says whether it has it.
    fn give(&self, holders: &mut Holders, id: u64) -> bool {
        let Some(holder) = holders.all.get(&id) else { return false };
        if holder.wanted == 0 {
            return true;
        }
        let has_to_wait =
            holders.has_to_queue(id, holder) || self.shortage(holders, id, holder).is_some();
        if !has_to_wait {
            holders.give(id);
        }
        !has_to_wait
    }

    /// The limit that a holder has to wait for.
    fn shortage(&self, holders: &Holders, id: u64, holder: &Holder) -> Option<(Scope, usize)> {
        // Most often it is the sum, which is known.
        let is_over = |scope, limit| holders.held_in(scope) + holder.wanted > limit;
        let over = self.limits(holder.owner).find(|(scope, limit)| is_over(*scope, *limit));
        let mut limits = self.limits(holder.owner);
        over.or_else(|| {
            limits.find(|(scope, limit)| !holders.have_room(id, holder, *scope, *limit))
        })
    }

    /// Has those give way that are slow, until a holder has what it wants; says whether it has it.
    fn make_way(&self, holders: &mut Holders, id: u64) -> bool {
        while !self.give(holders, id) {
            let Some(holder) = holders.all.get(&id) else { return false };
            if holders.has_to_queue(id, holder) {
                return false;
            }
            let Some((scope, limit)) = self.shortage(holders, id, holder) else { return false };
            let slow = holders.slow(id, holder, scope, self.limits.gives_way_after);
            if slow.is_empty() {
                return false;
            }
            // Who needs room is seldom alone.
            let mut freed = 0;
            for id in slow {
                let Some(slow) = holders.all.get_mut(&id) else { continue };
                let (owner, held) = (slow.owner, std::mem::take(&mut slow.held));
                (slow.coming, slow.is_arriving, slow.gives_way) = (0, false, true);
                slow.changed.notify_one();
                holders.free(owner, held);
                freed += held;
                if freed >= limit / Self::PARTS {
                    break;
                }
            }
        }
        true
    }

    /// The part of a limit that is freed at a time.
    const PARTS: usize = 16;

    /// Gives those that wait what they want, as far as there is room, in their turns.
    fn give_all(&self, holders: &mut Holders) {
        // What was too much for a limit once is too much again.
        let mut too_much = HashMap::<Scope, usize>::new();
        for id in holders.in_turn() {
            let Some(holder) = holders.all.get(&id) else { continue };
            let (owner, wanted) = (holder.owner, holder.wanted);
            let is_too_much = |scope| too_much.get(&scope).is_some_and(|least| *least <= wanted);
            if self.limits(owner).any(|(scope, _)| is_too_much(scope)) {
                continue;
            }
            if let Some((scope, _)) = self.shortage(holders, id, holder) {
                too_much.insert(scope, wanted);
                continue;
            }
            holders.give(id);
            if let Some(holder) = holders.all.get_mut(&id) {
                holder.progress = Instant::now();
                holder.changed.notify_one();
            }
        }
    }
}

impl Holders {
    /// Gives a holder what it wants.
    fn give(&mut self, id: u64) {
        self.waiting.remove(&id);
        let Some(holder) = self.all.get_mut(&id) else { return };
        let (owner, given) = (holder.owner, std::mem::take(&mut holder.wanted));
        holder.held += given;
        for scope in owner.scopes() {
            *self.held.entry(scope).or_default() += given;
        }
        self.turns += 1;
        self.last_of_groups.insert(owner.group(), self.turns);
        self.last_of_owners.insert(owner, self.turns);
    }

    /// Notes that something is not held any more.
    fn free(&mut self, owner: Owner, freed: usize) {
        for scope in owner.scopes() {
            match self.held_in(scope).saturating_sub(freed) {
                0 => self.held.remove(&scope),
                held => self.held.insert(scope, held),
            };
        }
    }

    fn held_in(&self, scope: Scope) -> usize {
        self.held.get(&scope).copied().unwrap_or(0)
    }

    /// Those that wait in round-robin order: one of each group, then the next of each. A group that was given room comes
    /// last in its round. Within a group it is the turn of its addresses in the same way.
    fn in_turn(&self) -> Vec<u64> {
        let waiting = self.waiting.iter().filter_map(|id| Some((self.all.get(id)?.owner, *id)));
        let of_owners = rounds(waiting, &self.last_of_owners, |owner| owner);
        let of_groups = rounds(of_owners, &self.last_of_groups, Owner::group);
        of_groups.into_iter().map(|(_, id)| id).collect()
    }

    /// Forgets a holder, and the turn of its group with the last one.
    fn remove(&mut self, id: u64) {
        self.waiting.remove(&id);
        let Some(gone) = self.all.remove(&id) else { return };
        self.free(gone.owner, gone.held);
        let (mut has_group, mut has_owner) = (false, false);
        for Holder { owner, .. } in self.all.values() {
            has_group |= owner.group() == gone.owner.group();
            has_owner |= *owner == gone.owner;
        }
        if !has_group {
            self.last_of_groups.remove(&gone.owner.group());
        }
        if !has_owner {
            self.last_of_owners.remove(&gone.owner);
        }
    }

    /// Whether one that has nothing yet comes after another of its owner that needs no more than it does.
    fn has_to_queue(&self, id: u64, holder: &Holder) -> bool {
        let is_before = |other: &Holder| {
            other.held == 0 && other.missing() <= holder.missing() && other.owner == holder.owner
        };
        let mut before = self.waiting.range(..id).filter_map(|other| self.all.get(other));
        holder.held == 0 && before.any(is_before)
    }

    /// Whether there is what a holder wants, and then still enough for all those under way to be completed one after the
    /// other, as each frees what it has when it is dealt with: the banker's algorithm.
    fn have_room(&self, id: u64, holder: &Holder, scope: Scope, limit: usize) -> bool {
        let others = self.all.iter().filter(|(other, _)| **other != id).map(|(_, other)| other);
        let others = others.filter(|other| other.held > 0 && scope.has(other.owner));
        let held = self.held_in(scope) + holder.wanted;
        let Some(mut free) = limit.checked_sub(held) else { return false };
        let mut holders: Vec<_> = others.map(|other| (other.missing(), other.held)).collect();
        holders.push((holder.coming, holder.held + holder.wanted));
        holders.sort_unstable();
        holders.into_iter().all(|(missing, held)| {
            let can_be_completed = missing <= free;
            free += held;
            can_be_completed
        })
    }

    /// Those that give way to another one: first the one that its sender has been slow with for longest, weighted by what
    /// its tenant or address has. Nobody gives way to one who has more.
    fn slow(&self, id: u64, holder: &Holder, scope: Scope, after: Duration) -> Vec<u64> {
        let now = Instant::now();
        let slow_for = |other: &Holder| now.saturating_duration_since(other.progress);
        let is_slow =
            |other: &Holder| other.is_arriving && other.wanted == 0 && slow_for(other) >= after;
        let others = self.all.iter().filter(|(other_id, _)| **other_id != id);
        let slow: Vec<_> =
            others.filter(|(_, other)| is_slow(other) && scope.has(other.owner)).collect();
        let had_by = |owner: Owner| {
            let of_address = owner.address().map(|address| self.held_in(Scope::Address(address)));
            self.held_in(Scope::Group(owner.group())).max(of_address.unwrap_or(0))
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
}

/// The same in rounds: the first one of each key, then the second of each. In a round, first those whose key had its last
/// turn before that of the others, else in the order that they are in.
fn rounds(
    waiting: impl IntoIterator<Item = (Owner, u64)>,
    last_turns: &HashMap<Owner, u64>,
    key_of: impl Fn(Owner) -> Owner,
) -> Vec<(Owner, u64)> {
    let mut counts = HashMap::<Owner, u64>::new();
    let turns = waiting.into_iter().map(|(owner, id)| {
        let key = key_of(owner);
        let round = counts.entry(key).or_default();
        *round += 1;
        ((*round, last_turns.get(&key).copied().unwrap_or(0)), (owner, id))
    });
    let mut turns: Vec<_> = turns.collect();
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, waiting)| waiting).collect()
}

impl Holder {
    /// What it cannot be completed without.
    fn missing(&self) -> usize {
        self.wanted + self.coming
    }
}

impl Scope {
    /// Whether a limit counts what this one holds.
    fn has(self, owner: Owner) -> bool {
        match self {
            Self::All => true,
            Self::Strangers => matches!(owner, Owner::Stranger(..)),
            Self::Group(group) => owner.group() == group,
            Self::Address(address) => owner.address() == Some(address),
        }
    }
}

impl<'r> Place<'r> {
    /// Whether it is one of this room.
    pub(crate) fn is_in(&self, room: &FairRoom) -> bool {
        std::ptr::eq(self.room, room)
    }

    /// Takes room for what is held; waits for it, but not indefinitely.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when there is none in time, or it had to give way.
    pub(crate) async fn take(&self, mut need: Need) -> Result<(), Error> {
        let until = Instant::now() + need.patience;
        while !self.try_take(&need)? {
            let now = Instant::now();
            if now >= until {
                return Err(Error::Overloaded);
            }
            // Who was not slow before may be by then.
            let check = until.min(now + self.room.limits.gives_way_after);
            let _ = timeout_at(check, self.changed.notified()).await;
            // For room it is not the sender who is waited for.
            need.progress = Instant::now();
        }
        Ok(())
    }

    fn try_take(&self, need: &Need) -> Result<bool, Error> {
        let mut holders = self.room.lock();
        let holder = holders.all.get_mut(&self.id).filter(|holder| !holder.gives_way);
        let holder = holder.ok_or(Error::Overloaded)?;
        holder.wanted = need.held.saturating_sub(holder.held);
        (holder.coming, holder.progress) = (need.coming, need.progress);
        holder.is_arriving = need.is_arriving;
        if holder.wanted > 0 {
            holders.waiting.insert(self.id);
        }
        Ok(self.room.make_way(&mut holders, self.id))
    }

    fn gives_way(&self, holders: &Holders) -> bool {
        holders.all.get(&self.id).is_none_or(|holder| holder.gives_way)
    }

    /// Waits until it has to give way.
    pub(crate) async fn has_to_give_way(&self) {
        while !self.gives_way(&self.room.lock()) {
            self.changed.notified().await;
        }
    }

    /// Notes when its sender last made progress, and whether it is waited for now.
    pub(crate) fn note(&self, is_arriving: bool, progress: Instant) {
        if let Some(holder) = self.room.lock().all.get_mut(&self.id) {
            (holder.is_arriving, holder.progress) = (is_arriving, progress);
        }
    }

    /// Notes that all has arrived.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when it had to give way.
    pub(crate) fn complete(&self) -> Result<(), Error> {
        let mut holders = self.room.lock();
        if self.gives_way(&holders) {
            return Err(Error::Overloaded);
        }
        if let Some(holder) = holders.all.get_mut(&self.id) {
            (holder.coming, holder.is_arriving) = (0, false);
        }
        self.room.give_all(&mut holders);
        Ok(())
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut holders = self.room.lock();
        holders.remove(self.id);
        self.room.give_all(&mut holders);
    }
}

#[cfg(test)]
mod tests;

//! Source of new ids: a sequence a tenant, so that no id reveals how much others write.
//!
//! Invariants: the ids of a tenant ascend, whatever the clock shows and however often the store is opened, and no two
//! tenants have an id in common (R3).

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};
use svctrack_core::value::{IdSequence, ObjectId, TenantId, Timestamp};

use crate::{StoreError, StoreId};

/// The sequences of a store.
pub(crate) struct Ids {
    /// The five bytes that belong to the store.
    store: [u8; 5],
    /// Second of the latest id.
    seconds: [u8; 4],
    /// Second of the latest id when the store was opened: each sequence begins after it.
    begun_behind: [u8; 4],
    /// Sequences of the tenants that have written since.
    of_tenant: HashMap<TenantId, IdSequence, foldhash::fast::RandomState>,
}

/// A counter that is full, so that the next id is one of a later second.
const FULL: [u8; 3] = [0xff; 3];

impl Ids {
    /// Sequences that continue after the noted id.
    pub(crate) fn after(noted: ObjectId) -> Self {
        let [s0, s1, s2, s3, store @ .., _, _, _] = *noted.as_bytes();
        let seconds = [s0, s1, s2, s3];
        Self { store, seconds, begun_behind: seconds, of_tenant: HashMap::default() }
    }

    pub(crate) fn store(&self) -> StoreId {
        StoreId::from_bytes(self.store)
    }

    /// Id to store so that a start continues after the ids that were given until now.
    pub(crate) fn to_note(&self) -> ObjectId {
        assembled(self.seconds, self.store)
    }

    /// The sequence of a tenant, from which ids continue.
    pub(crate) fn sequence(&self, tenant: TenantId) -> IdSequence {
        self.of_tenant.get(&tenant).cloned().unwrap_or_else(|| {
            IdSequence::after(assembled(self.begun_behind, self.bytes_of(tenant)))
        })
    }

    /// Notes the progress of a tenant's sequence.
    pub(crate) fn went_on(&mut self, tenant: TenantId, ids: IdSequence) {
        let seconds = ids.last().and_then(|last| last.as_bytes().first_chunk().copied());
        self.seconds = self.seconds.max(seconds.unwrap_or_default());
        self.of_tenant.insert(tenant, ids);
    }

    /// The next id of a tenant.
    ///
    /// # Errors
    /// When no higher id is left.
    pub(crate) fn next(
        &mut self,
        tenant: TenantId,
        now: Timestamp,
    ) -> Result<ObjectId, StoreError> {
        let mut ids = self.sequence(tenant);
        let id = ids.next(now)?;
        self.went_on(tenant, ids);
        Ok(id)
    }

    /// The five bytes of a tenant's ids.
    fn bytes_of(&self, tenant: TenantId) -> [u8; 5] {
        let hash =
            Sha256::new().chain_update(self.store).chain_update(tenant.as_bytes()).finalize();
        hash.first_chunk().copied().unwrap_or(self.store)
    }
}

/// Last id of a second, with these bytes.
fn assembled([s0, s1, s2, s3]: [u8; 4], [r0, r1, r2, r3, r4]: [u8; 5]) -> ObjectId {
    let [c0, c1, c2] = FULL;
    ObjectId::from_bytes([s0, s1, s2, s3, r0, r1, r2, r3, r4, c0, c1, c2])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn tenant(number: u8) -> TenantId {
        TenantId::from_bytes([number; 16])
    }

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms_clamped(ms)
    }

    /// The counter at the end of an id.
    fn counter(id: ObjectId) -> u32 {
        let [.., c0, c1, c2] = *id.as_bytes();
        u32::from_be_bytes([0, c0, c1, c2])
    }

    #[test]
    fn an_id_reveals_nothing_about_what_others_write() {
        let mut ids = Ids::after(ObjectId::MIN);
        let first = ids.next(tenant(1), at(5_000)).unwrap();
        for _ in 0..1_000 {
            ids.next(tenant(2), at(5_000)).unwrap();
        }
        let second = ids.next(tenant(1), at(5_999)).unwrap();
        assert_eq!((counter(first), counter(second)), (0, 1));
        assert_eq!(first.created_at(), at(5_000));
    }

    #[test]
    fn ids_continue_after_the_last_one_that_a_store_noted() {
        let last = ObjectId::parse("6553f1000102030405000007").unwrap();
        let mut ids = Ids::after(last);
        assert_eq!(ids.to_note().to_string(), "6553f1000102030405ffffff");
        let next = ids.next(tenant(1), at(0)).unwrap();
        assert_eq!(next.created_at(), at(last.created_at().as_ms() + 1_000));
    }

    #[test]
    fn ids_of_a_tenant_ascend_and_are_no_other_tenants() {
        let mut ids = Ids::after(ObjectId::MIN);
        let (mut last, mut all) = ([ObjectId::MIN; 3], BTreeSet::new());
        for number in 0..3_000_u32 {
            // A few seconds to and fro, and now and then a store that is reopened.
            let ms = i64::from(number.wrapping_mul(2_654_435_761) % 20_000);
            if number % 50 == 0 {
                ids = Ids::after(ids.to_note());
            }
            let of = (number / 7 % 3) as usize;
            let id = ids.next(tenant(of as u8), at(ms)).unwrap();
            assert!(std::mem::replace(&mut last[of], id) < id, "{number}");
            assert!(all.insert(id), "{number}");
        }
    }
    #[test]
    fn a_store_whose_ids_have_ended_gives_none_again() {
        let mut ids = Ids::after(ObjectId::MIN);
        ids.next(tenant(1), at(i64::from(u32::MAX) * 1_000)).unwrap();
        let mut later = Ids::after(ids.to_note());
        for number in [1, 2] {
            assert!(later.next(tenant(number), at(5_000)).is_err(), "{number}");
        }
    }
}

//! New ids of records, each higher than all before it (R3).

use std::fmt;

use super::{id::ObjectId, time::Timestamp};

/// Source of new ids of a tenant: Unix seconds that never go back, five bytes of the tenant in its store, and a counter
/// of three bytes that carries into the seconds when it is full (R3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdSequence {
    seconds: u32,
    tenant: [u8; 5],
    counter: u32,
}

impl IdSequence {
    const COUNTER_LIMIT: u32 = 1 << 24;

    /// A new sequence. Its five bytes stay the same in all ids: random ones tell the ids of tenants apart.
    pub fn new(tenant: [u8; 5]) -> Self {
        Self { seconds: 0, tenant, counter: 0 }
    }

    /// A sequence that continues after `last`, the latest id.
    pub fn after(last: ObjectId) -> Self {
        let [s0, s1, s2, s3, r0, r1, r2, r3, r4, c0, c1, c2] = *last.as_bytes();
        let counter = u32::from_be_bytes([0, c0, c1, c2]);
        Self {
            seconds: u32::from_be_bytes([s0, s1, s2, s3]),
            tenant: [r0, r1, r2, r3, r4],
            counter: counter + 1,
        }
    }

    /// Next id; it is higher than every id before, whatever the clock shows.
    ///
    /// # Errors
    /// [`IdsExhausted`] when no higher id fits: an id is never used twice.
    pub fn next(&mut self, now: Timestamp) -> Result<ObjectId, IdsExhausted> {
        let clock = u32::try_from(now.as_ms() / 1_000).map_err(|_| IdsExhausted)?;
        if clock > self.seconds {
            self.seconds = clock;
            self.counter = 0;
        } else if self.counter >= Self::COUNTER_LIMIT {
            self.seconds = self.seconds.checked_add(1).ok_or(IdsExhausted)?;
            self.counter = 0;
        }
        let id = self.assemble();
        self.counter += 1;
        Ok(id)
    }

    /// Latest id, if there is one.
    pub fn last(&self) -> Option<ObjectId> {
        let counter = self.counter.checked_sub(1)?;
        Some(Self { counter, ..self.clone() }.assemble())
    }

    fn assemble(&self) -> ObjectId {
        let [s0, s1, s2, s3] = self.seconds.to_be_bytes();
        let [r0, r1, r2, r3, r4] = self.tenant;
        let [_, c0, c1, c2] = self.counter.to_be_bytes();
        ObjectId::from_bytes([s0, s1, s2, s3, r0, r1, r2, r3, r4, c0, c1, c2])
    }
}

/// No higher id is left: the seconds of an id end in the year 2106 (R3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdsExhausted;

impl fmt::Display for IdsExhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no higher id is left: ids end in the year 2106")
    }
}

impl std::error::Error for IdsExhausted {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_ms_clamped(ms)
    }

    #[test]
    fn ids_ascend_when_the_clock_goes_back() {
        let mut ids = IdSequence::new([1, 2, 3, 4, 5]);
        let first = ids.next(at(1_700_000_000_000)).unwrap();
        let second = ids.next(at(1_600_000_000_000)).unwrap();
        assert!(second > first);
        assert_eq!(first.to_string(), "6553f1000102030405000000");
    }

    #[test]
    fn a_full_counter_carries_into_the_seconds() {
        let last = ObjectId::parse("6553f1000102030405ffffff").unwrap();
        let next = IdSequence::after(last).next(at(1_700_000_000_000)).unwrap();
        assert_eq!(next.to_string(), "6553f1010102030405000000");
    }

    #[test]
    fn the_first_id_of_a_second_parts_those_of_it_from_those_before() {
        let mut ids = IdSequence::new([1; 5]);
        let (before, within) = (ids.next(at(4_999)).unwrap(), ids.next(at(5_001)).unwrap());
        let first = ObjectId::first_at(at(5_700));
        assert!(before < first && first < within);
        assert_eq!(first.created_at(), at(5_000));
    }

    #[test]
    fn the_sequence_continues_after_a_restart() {
        let mut ids = IdSequence::new([9; 5]);
        let last = ids.next(at(5_000)).unwrap();
        assert_eq!(ids.last(), Some(last));
        assert_eq!(IdSequence::after(last).next(at(5_000)), ids.next(at(5_000)));
    }

    #[test]
    fn ids_end_and_never_begin_again() {
        let last = ObjectId::parse("ffffffff0102030405fffffe").unwrap();
        let mut ids = IdSequence::after(last);
        assert_eq!(ids.next(at(0)).unwrap().to_string(), "ffffffff0102030405ffffff");
        for _ in 0..2 {
            assert_eq!(ids.next(at(0)), Err(IdsExhausted));
        }
        // The first second after the last that an id can have.
        let past = (i64::from(u32::MAX) + 1) * 1_000;
        assert_eq!(IdSequence::new([0; 5]).next(at(past)), Err(IdsExhausted));
        assert!(IdSequence::new([0; 5]).next(at(past - 1)).is_ok());
    }

    proptest! {
        #[test]
        fn every_id_is_higher_than_the_one_before(clocks in proptest::collection::vec(0..4_000_000_000_000_i64, 1..50)) {
            let mut ids = IdSequence::new([0; 5]);
            let given: Vec<_> = clocks.iter().map(|ms| ids.next(at(*ms)).unwrap()).collect();
            prop_assert!(given.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}

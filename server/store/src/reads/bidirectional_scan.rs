//! Two threads read a range of rows from both ends until they meet.

use parking_lot::Mutex;
use svctrack_core::value::ObjectId;

/// Rows after which one end reads the progress of the other, at a part of the cost of a row.
const LOOK_EVERY: usize = 64;

/// In which order rows are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Ascending,
    Descending,
}

impl Direction {
    pub(crate) fn opposite(self) -> Self {
        match self {
            Self::Ascending => Self::Descending,
            Self::Descending => Self::Ascending,
        }
    }

    /// The next of rows in this direction.
    pub(crate) fn next_of<I: DoubleEndedIterator>(self, rows: &mut I) -> Option<I::Item> {
        match self {
            Self::Ascending => rows.next(),
            Self::Descending => rows.next_back(),
        }
    }

    /// Whether a row comes before another in this direction.
    fn is_before(self, id: ObjectId, other: ObjectId) -> bool {
        match self {
            Self::Ascending => id < other,
            Self::Descending => id > other,
        }
    }
}

/// Progress of both ends.
#[derive(Debug, Default)]
pub(crate) struct ScanFrontier(Mutex<ScanPositions>);

#[derive(Debug, Default)]
struct ScanPositions {
    /// Last row that the ascending end is done with.
    ascending: Option<ObjectId>,
    descending: Option<ObjectId>,
    is_over: bool,
}

impl ScanPositions {
    fn done_to(&mut self, direction: Direction) -> &mut Option<ObjectId> {
        match direction {
            Direction::Ascending => &mut self.ascending,
            Direction::Descending => &mut self.descending,
        }
    }
}

/// One of the two ends of the scan.
#[derive(Debug)]
pub(crate) struct ScanCursor<'m> {
    meeting: &'m ScanFrontier,
    direction: Direction,
    done_to: Option<ObjectId>,
    rows_to_look: usize,
    /// Progress of the other end at the last check.
    other: Option<ObjectId>,
    has_met: bool,
    is_over: bool,
}

impl ScanFrontier {
    /// The end that reads in this direction.
    pub(crate) fn cursor(&self, direction: Direction) -> ScanCursor<'_> {
        ScanCursor {
            meeting: self,
            direction,
            done_to: None,
            rows_to_look: 0,
            other: None,
            has_met: false,
            is_over: false,
        }
    }

    /// Makes the other end stop when the guard is dropped.
    pub(crate) fn ends_with_this(&self) -> ScanEnd<'_> {
        ScanEnd(self)
    }

    fn with<R>(&self, change: impl FnOnce(&mut ScanPositions) -> R) -> R {
        change(&mut self.0.lock())
    }
}

pub(crate) struct ScanEnd<'m>(&'m ScanFrontier);

impl Drop for ScanEnd<'_> {
    fn drop(&mut self) {
        self.0.with(|places| places.is_over = true);
    }
}

impl ScanCursor<'_> {
    /// Whether the end reads the next row in its direction: the other end has not, and the scan is not over. The row
    /// before it is done then.
    pub(crate) fn goes_on_to(&mut self, id: ObjectId) -> bool {
        if self.rows_to_look == 0 {
            self.rows_to_look = LOOK_EVERY;
            self.look();
        }
        self.has_met =
            self.has_met || self.other.is_some_and(|other| !self.direction.is_before(id, other));
        if self.is_over || self.has_met {
            return false;
        }
        self.rows_to_look -= 1;
        self.done_to = Some(id);
        true
    }

    /// Notes the progress of this end, and reads that of the other.
    fn look(&mut self) {
        let Self { direction, done_to, .. } = *self;
        (self.other, self.is_over) = self.meeting.with(|places| {
            *places.done_to(direction) = done_to;
            (*places.done_to(direction.opposite()), places.is_over)
        });
    }

    /// Whether the other end has read the rest.
    pub(crate) fn has_met(&self) -> bool {
        self.has_met
    }

    /// Whether a row comes after all that this end has read.
    pub(crate) fn has_not_come_to(&self, id: ObjectId) -> bool {
        self.done_to.is_none_or(|done| self.direction.is_before(done, id))
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, thread};

    use super::*;

    fn id(number: u32) -> ObjectId {
        let mut bytes = [0; 12];
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        ObjectId::from_bytes(bytes)
    }

    fn read(mut cursor: ScanCursor<'_>, ids: impl Iterator<Item = ObjectId>) -> BTreeSet<ObjectId> {
        ids.take_while(|id| cursor.goes_on_to(*id)).collect()
    }

    #[test]
    fn each_row_is_read_by_one_of_the_two_and_few_by_both() {
        for rows in [0, 1, 63, 64, 65, 1_000, 20_000] {
            let meeting = ScanFrontier::default();
            let (first, last) = thread::scope(|scope| {
                let last = scope
                    .spawn(|| read(meeting.cursor(Direction::Descending), (0..rows).rev().map(id)));
                let first = read(meeting.cursor(Direction::Ascending), (0..rows).map(id));
                (first, last.join().unwrap())
            });
            let both = first.intersection(&last).count();
            assert_eq!(first.union(&last).count(), rows as usize);
            assert!(both <= 2 * LOOK_EVERY, "{both} of {rows}");
        }
    }

    #[test]
    fn neither_reads_on_for_long_when_it_is_over() {
        let meeting = ScanFrontier::default();
        let mut cursor = meeting.cursor(Direction::Ascending);
        assert!(cursor.goes_on_to(id(0)));
        drop(meeting.ends_with_this());
        let more = (1..1_000).take_while(|number| cursor.goes_on_to(id(*number))).count();
        assert!(more <= LOOK_EVERY, "{more}");
        assert!(cursor.has_not_come_to(id(1_000)) && !cursor.has_not_come_to(id(1)));
    }
}

//! Activities, gathered by end user, quarter of an hour and action.

use super::{
    action_names::{ActionNames, index},
    block::{Block, BlockWriter, MalformedBlock, UsageEntry},
};
use crate::value::{ObjectId, Timestamp};

/// A quarter of an hour, in milliseconds.
pub(super) const QUARTER_MS: i64 = 15 * 60 * 1_000;

/// Size after which a block takes no more users, in bytes: with its key and its names it fits a page of 16 KiB, and the
/// erasure of a user rewrites no more than that.
const BLOCK_BYTES: usize = 14 * 1_024;

/// An activity in the form in which it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedActivity<'a> {
    /// `_id` of the end user.
    pub user: ObjectId,
    /// Time of the activity: its quarter of an hour, counted from 1970-01-01 in UTC.
    pub quarter: u32,
    /// Action of the user.
    pub action: &'a str,
    /// Number of occurrences of the event.
    pub count: u16,
}

impl<'a> CountedActivity<'a> {
    /// Activity of an event with its time of receipt. A date after that comes from a wrong clock: then the time of
    /// receipt counts (R36, R52).
    pub fn new(
        user: ObjectId,
        action: &'a str,
        count: u16,
        date: Timestamp,
        received_at: Timestamp,
    ) -> Self {
        Self { user, quarter: quarter_of(date.min(received_at)), action, count }
    }
}

/// The quarter of an hour of a time, counted from 1970-01-01 in UTC.
pub(super) fn quarter_of(time: Timestamp) -> u32 {
    u32::try_from(time.as_ms().div_euclid(QUARTER_MS)).unwrap_or_default()
}

/// When a quarter of an hour begins.
pub fn quarter_begin(quarter: u32) -> Timestamp {
    Timestamp::from_ms_clamped(i64::from(quarter) * QUARTER_MS)
}

/// Activities that are gathered one by one.
#[derive(Clone, Debug, Default)]
pub struct UsageTally {
    names: ActionNames,
    rows: Vec<TalliedEntry>,
}

#[derive(Clone, Copy, Debug)]
struct TalliedEntry {
    /// Bytes of the user's id, then the quarter of an hour: one number is compared faster than both.
    place: u128,
    action: u32,
    activities: u32,
    occurrences: u32,
}

impl TalliedEntry {
    fn new(user: ObjectId, entry: UsageEntry) -> Self {
        let [b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11] = *user.as_bytes();
        let [q0, q1, q2, q3] = entry.quarter.to_be_bytes();
        let place = [b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, q0, q1, q2, q3];
        let UsageEntry { action, activities, occurrences, .. } = entry;
        Self { place: u128::from_be_bytes(place), action, activities, occurrences }
    }

    fn user(&self) -> ObjectId {
        ObjectId::from_bytes(self.place.to_be_bytes().first_chunk().copied().unwrap_or_default())
    }

    /// Entry of a user, with the number of the action in a block.
    fn entry(&self, action: u32) -> UsageEntry {
        let Self { activities, occurrences, .. } = *self;
        UsageEntry { quarter: self.place as u32, action, activities, occurrences }
    }
}

impl UsageTally {
    /// Adds an activity of a user.
    pub fn add(&mut self, counted: &CountedActivity<'_>) {
        let action = self.names.number_of(counted.action);
        let occurrences = counted.count.into();
        let entry = UsageEntry { quarter: counted.quarter, action, activities: 1, occurrences };
        self.rows.push(TalliedEntry::new(counted.user, entry));
    }

    /// Adds the activities of a block, except those of an erased user.
    ///
    /// # Errors
    /// [`MalformedBlock`]
    pub fn add_block(
        &mut self,
        bytes: &[u8],
        erased: Option<ObjectId>,
    ) -> Result<(), MalformedBlock> {
        let block = Block::parse(bytes)?;
        let mut numbers = vec![None; block.names().len()];
        let names = block.names().to_vec();
        for part in block {
            let part = part?;
            if Some(part.user) == erased {
                continue;
            }
            part.each_entry(|entry| {
                let at = index(entry.action);
                let (number, name) =
                    numbers.get_mut(at).zip(names.get(at)).ok_or(MalformedBlock)?;
                let action = *number.get_or_insert_with(|| self.names.number_of(name));
                self.rows.push(TalliedEntry::new(part.user, UsageEntry { action, ..entry }));
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Activities as blocks, each with the first user in it, in the order of their ids.
    pub fn into_blocks(mut self) -> Vec<(ObjectId, Vec<u8>)> {
        // A stable sort is fast for rows that are in order already, as those of blocks are.
        self.rows.sort_by_key(|row| (row.place, row.action));
        self.rows.dedup_by(|row, before| {
            let is_same = (row.place, row.action) == (before.place, before.action);
            if is_same {
                before.activities = before.activities.saturating_add(row.activities);
                before.occurrences = before.occurrences.saturating_add(row.occurrences);
            }
            is_same
        });
        let mut blocks = Vec::new();
        let mut writer = BlockWriter::default();
        let mut local = LocalNames::new(&self.names);
        for rows in
            self.rows.chunk_by(|one, next| one.place >> u32::BITS == next.place >> u32::BITS)
        {
            let Some(first) = rows.first() else { continue };
            let entries = rows.iter().map(|row| row.entry(local.number_of(row.action)));
            writer.add(first.user(), entries);
            if writer.len() >= BLOCK_BYTES {
                blocks.extend(writer.finish(local.take()));
            }
        }
        blocks.extend(writer.finish(local.take()));
        blocks
    }
}

/// Names of a block among those of a tally.
struct LocalNames<'n> {
    all: &'n ActionNames,
    numbers: Vec<Option<u32>>,
    used: Vec<u32>,
}

impl<'n> LocalNames<'n> {
    fn new(all: &'n ActionNames) -> Self {
        Self { all, numbers: vec![None; all.len()], used: Vec::new() }
    }

    fn number_of(&mut self, action: u32) -> u32 {
        let Some(number) = self.numbers.get_mut(index(action)) else { return u32::MAX };
        *number.get_or_insert_with(|| {
            self.used.push(action);
            u32::try_from(self.used.len() - 1).unwrap_or(u32::MAX)
        })
    }

    /// Names that were used, by their numbers; the next block begins without names.
    fn take(&mut self) -> impl ExactSizeIterator<Item = &'n str> + use<'n> {
        let used = std::mem::take(&mut self.used);
        for action in &used {
            if let Some(number) = self.numbers.get_mut(index(*action)) {
                *number = None;
            }
        }
        let all = self.all;
        used.into_iter().map(|action| all.name(action))
    }
}

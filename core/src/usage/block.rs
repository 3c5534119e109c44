//! Bytes of a block: names of actions, then users in the order of their ids, each with their activities.
//!
//! ```text
//! block  = names, then of each name its length and its bytes, then users
//! user   = id (12 bytes), bytes of its entries, first quarter of an hour, entries
//! entry  = quarters since the entry before x 2 + 1 if it is several, number of the action,
//!          and where it is several: activities, occurrences
//! ```
//!
//! All numbers are LEB128: seven bits a byte, the lowest first, and the highest bit where another byte follows.

use std::fmt;

use crate::value::ObjectId;

/// Bytes of a user's id.
const ID_BYTES: usize = 12;
/// Bits of a byte of a number.
const BITS: u32 = 7;
/// Bit of a byte that another byte follows.
const MORE: u8 = 0x80;

/// Bytes that are no block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedBlock;

impl fmt::Display for MalformedBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("malformed block of usage")
    }
}

impl std::error::Error for MalformedBlock {}

/// A block that is read: its names, and its users one after the other.
#[derive(Clone, Debug)]
pub struct Block<'b> {
    names: Vec<&'b str>,
    rest: &'b [u8],
}

impl<'b> Block<'b> {
    /// Reads the names of a block.
    ///
    /// # Errors
    /// [`MalformedBlock`]
    pub fn parse(bytes: &'b [u8]) -> Result<Self, MalformedBlock> {
        let mut rest = bytes;
        let count = read(&mut rest)?;
        let mut names = Vec::new();
        for _ in 0..count {
            let length = read(&mut rest)?;
            let name = take(&mut rest, length)?;
            names.push(str::from_utf8(name).map_err(|_| MalformedBlock)?);
        }
        Ok(Self { names, rest })
    }

    /// Names of the block's actions, by their numbers.
    pub fn names(&self) -> &[&'b str] {
        &self.names
    }
}

impl<'b> Iterator for Block<'b> {
    type Item = Result<UserPart<'b>, MalformedBlock>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let part = read_part(&mut self.rest);
        if part.is_err() {
            self.rest = &[];
        }
        Some(part)
    }
}

fn read_part<'b>(rest: &mut &'b [u8]) -> Result<UserPart<'b>, MalformedBlock> {
    let (id, behind) = rest.split_first_chunk::<ID_BYTES>().ok_or(MalformedBlock)?;
    *rest = behind;
    let length = read(rest)?;
    let first = u32::try_from(read(rest)?).map_err(|_| MalformedBlock)?;
    let entries = take(rest, length)?;
    Ok(UserPart { user: ObjectId::from_bytes(*id), first, entries })
}

/// Activities of one user within a block.
#[derive(Clone, Copy, Debug)]
pub struct UserPart<'b> {
    /// `_id` of the end user.
    pub user: ObjectId,
    /// First quarter of an hour of the user, counted from 1970-01-01 in UTC.
    pub first: u32,
    entries: &'b [u8],
}

impl<'b> UserPart<'b> {
    /// Passes the user's activities to `take`, in the order of quarters of an hour. Not an iterator: millions are read
    /// faster where the rest of the bytes stays in registers.
    ///
    /// # Errors
    /// [`MalformedBlock`], also by `take`.
    #[inline]
    pub fn each_entry(
        &self,
        mut take: impl FnMut(UsageEntry) -> Result<(), MalformedBlock>,
    ) -> Result<(), MalformedBlock> {
        let (mut quarter, mut rest) = (self.first, self.entries);
        while !rest.is_empty() {
            let head = read(&mut rest)?;
            let since = u32::try_from(head >> 1).map_err(|_| MalformedBlock)?;
            quarter = quarter.checked_add(since).ok_or(MalformedBlock)?;
            let action = read_u32(&mut rest)?;
            let (activities, occurrences) = match head & 1 {
                0 => (1, 1),
                _ => (read_u32(&mut rest)?, read_u32(&mut rest)?),
            };
            take(UsageEntry { quarter, action, activities, occurrences })?;
        }
        Ok(())
    }
}

/// Activities of a user in a quarter of an hour, of one action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageEntry {
    /// The quarter of an hour, counted from 1970-01-01 in UTC.
    pub quarter: u32,
    /// The number of the action among the block's names.
    pub action: u32,
    /// Number of the user's activities.
    pub activities: u32,
    /// Sum of their `count`.
    pub occurrences: u32,
}

/// A block that is being written.
#[derive(Debug, Default)]
pub(super) struct BlockWriter {
    /// First user of the block.
    first: Option<ObjectId>,
    users: Vec<u8>,
    entries: Vec<u8>,
}

impl BlockWriter {
    /// Bytes of the block's users.
    pub(super) fn len(&self) -> usize {
        self.users.len()
    }

    /// Adds a user, whose id is higher than those before; the actions of the entries have numbers among the names of
    /// this block.
    pub(super) fn add(&mut self, user: ObjectId, entries: impl Iterator<Item = UsageEntry>) {
        self.entries.clear();
        let (mut first, mut last) = (None, None);
        for entry in entries {
            let quarter = entry.quarter;
            first = first.or(Some(quarter));
            let since = last.map_or(0, |last| quarter.saturating_sub(last));
            last = Some(quarter);
            let is_several = (entry.activities, entry.occurrences) != (1, 1);
            write(&mut self.entries, u64::from(since) << 1 | u64::from(is_several));
            write(&mut self.entries, entry.action.into());
            if is_several {
                write(&mut self.entries, entry.activities.into());
                write(&mut self.entries, entry.occurrences.into());
            }
        }
        self.first = self.first.or(Some(user));
        self.users.extend_from_slice(user.as_bytes());
        write(&mut self.users, self.entries.len().try_into().unwrap_or(u64::MAX));
        write(&mut self.users, first.unwrap_or_default().into());
        self.users.extend_from_slice(&self.entries);
    }

    /// Ends the block and begins another; returns its first user and its bytes, if it has a user.
    pub(super) fn finish<'n>(
        &mut self,
        names: impl ExactSizeIterator<Item = &'n str>,
    ) -> Option<(ObjectId, Vec<u8>)> {
        let first = self.first.take()?;
        let mut bytes = Vec::with_capacity(self.users.len() + names.len() * 2 * ID_BYTES);
        write(&mut bytes, names.len().try_into().unwrap_or(u64::MAX));
        for name in names {
            write(&mut bytes, name.len().try_into().unwrap_or(u64::MAX));
            bytes.extend_from_slice(name.as_bytes());
        }
        bytes.append(&mut self.users);
        Some((first, bytes))
    }
}

fn write(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= u64::from(MORE) {
        bytes.push(number as u8 | MORE);
        number >>= BITS;
    }
    bytes.push(number as u8);
}

#[inline(always)]
fn read(rest: &mut &[u8]) -> Result<u64, MalformedBlock> {
    let (byte, behind) = rest.split_first().ok_or(MalformedBlock)?;
    *rest = behind;
    if byte & MORE == 0 { Ok(u64::from(*byte)) } else { read_more(rest, *byte) }
}

/// Reads the bytes after the first byte of a number.
fn read_more(rest: &mut &[u8], first: u8) -> Result<u64, MalformedBlock> {
    let (mut number, mut shift) = (u64::from(first & !MORE), BITS);
    loop {
        let (byte, behind) = rest.split_first().ok_or(MalformedBlock)?;
        *rest = behind;
        number |= u64::from(byte & !MORE).checked_shl(shift).ok_or(MalformedBlock)?;
        if byte & MORE == 0 {
            return Ok(number);
        }
        shift += BITS;
    }
}

fn read_u32(rest: &mut &[u8]) -> Result<u32, MalformedBlock> {
    u32::try_from(read(rest)?).map_err(|_| MalformedBlock)
}

fn take<'b>(rest: &mut &'b [u8], length: u64) -> Result<&'b [u8], MalformedBlock> {
    let length = usize::try_from(length).map_err(|_| MalformedBlock)?;
    let (taken, behind) = rest.split_at_checked(length).ok_or(MalformedBlock)?;
    *rest = behind;
    Ok(taken)
}

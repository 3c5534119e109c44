//! An ordered map in memory as a table, whose clones share their common parts: a snapshot is a clone, and a transaction
//! is a clone that is changed.

use std::ops::{Bound, RangeBounds};

use rpds::RedBlackTreeMapSync;

use super::faults::Faults;
use crate::{
    StoreError,
    rows::{AppendRows, Bytes, ReadRow, RowResult, Rows, WriteRows},
};

/// The bytes of a key or of a value.
type SharedBytes = std::sync::Arc<[u8]>;

impl Bytes for SharedBytes {
    fn value(&self) -> &[u8] {
        self
    }
}

#[derive(Clone, Default)]
pub(super) struct MemoryTable {
    rows: RedBlackTreeMapSync<SharedBytes, SharedBytes>,
    faults: Faults,
}

impl MemoryTable {
    pub(super) fn with(faults: Faults) -> Self {
        Self { rows: RedBlackTreeMapSync::new_sync(), faults }
    }
}

impl Rows for MemoryTable {
    type Bytes<'r> = SharedBytes;
    type Range<'r> = Box<dyn DoubleEndedIterator<Item = RowResult<SharedBytes>> + 'r>;

    fn get(&self, key: &[u8]) -> Result<Option<SharedBytes>, StoreError> {
        self.faults.meet()?;
        Ok(self.rows.get(key).cloned())
    }

    fn range<'k>(
        &self,
        keys: impl RangeBounds<&'k [u8]> + 'k,
    ) -> Result<Self::Range<'_>, StoreError> {
        let owned = |bound: Bound<&&[u8]>| bound.map(|key| SharedBytes::from(*key));
        let (first, last) = (owned(keys.start_bound()), owned(keys.end_bound()));
        self.faults.meet()?;
        if is_empty(&first, &last) {
            return Ok(Box::new(std::iter::empty()));
        }
        let rows = self.rows.range::<SharedBytes, _>((first, last));
        Ok(Box::new(rows.map(|(key, value)| {
            self.faults.meet()?;
            Ok((key.clone(), value.clone()))
        })))
    }

    fn len(&self) -> Result<u64, StoreError> {
        Ok(self.rows.size() as u64)
    }
}

/// Whether no key can be between two bounds, for which a map would panic.
fn is_empty(first: &Bound<SharedBytes>, last: &Bound<SharedBytes>) -> bool {
    match (first, last) {
        (Bound::Included(first), Bound::Included(last)) => first > last,
        (
            Bound::Included(first) | Bound::Excluded(first),
            Bound::Included(last) | Bound::Excluded(last),
        ) => first >= last,
        _ => false,
    }
}

impl ReadRow for MemoryTable {
    fn read<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, StoreError> {
        Ok(self.get(key)?.map(|value| read(&value)))
    }
}

impl WriteRows for MemoryTable {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<Option<SharedBytes>, StoreError> {
        let before = self.get(key)?;
        self.rows.insert_mut(key.into(), value.into());
        Ok(before)
    }

    fn remove(&mut self, key: &[u8]) -> Result<Option<SharedBytes>, StoreError> {
        let before = self.get(key)?;
        self.rows.remove_mut(key);
        Ok(before)
    }

    fn remove_range<'k>(
        &mut self,
        keys: impl RangeBounds<&'k [u8]> + 'k,
    ) -> Result<(), StoreError> {
        let rows = self.range(keys)?.collect::<Result<Vec<_>, _>>()?;
        for (key, _) in rows {
            self.rows.remove_mut(&key);
        }
        Ok(())
    }
}

impl AppendRows for MemoryTable {
    type Table = Self;

    fn add(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<(), StoreError> {
        match self.insert(&key, &value)? {
            Some(_) => Err(StoreError::key_taken()),
            None => Ok(()),
        }
    }

    fn put(&mut self, key: &[u8], value: Vec<u8>) -> Result<(), StoreError> {
        self.insert(key, &value).map(drop)
    }

    fn remove(&mut self, key: &[u8]) -> Result<bool, StoreError> {
        Ok(WriteRows::remove(self, key)?.is_some())
    }

    fn last<R>(
        &self,
        first: &[u8],
        end: &[u8],
        read: impl FnOnce(&[u8], &[u8]) -> R,
    ) -> Result<Option<R>, StoreError> {
        let last = self.range(first..end)?.next_back().transpose()?;
        Ok(last.map(|(key, value)| read(&key, &value)))
    }

    fn written(&mut self) -> Result<&mut Self, StoreError> {
        Ok(self)
    }
}

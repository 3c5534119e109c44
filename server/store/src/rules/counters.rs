//! Counters of a tenant, so that a limit is held without a scan.

use std::{collections::BTreeMap, fmt};

use svctrack_core::value::TenantId;

use super::open_tables::{Tables, Transaction};
use crate::{
    StoreError,
    rows::{Bytes as _, Rows, WriteRows as _, keys, stored_value},
};

/// Counter of rows, or of their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Counter {
    /// Ids of events in a window of time.
    Messages(u16),
    /// Replies that are stored for idempotent retries.
    Once,
    /// Replies among these that are of events.
    OnceEvents,
    /// Bytes of all these replies.
    OnceBytes,
    Parked,
    ParkedBytes,
    /// Entries of the report.
    Reported,
    /// Entries among these that are of unknown members.
    UnknownMembers,
}

impl fmt::Display for Counter {
    /// Name of the counter in its key.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Messages(window) => write!(to, "messages {window}"),
            Self::Once => to.write_str("once"),
            Self::OnceEvents => to.write_str("once events"),
            Self::OnceBytes => to.write_str("once bytes"),
            Self::Parked => to.write_str("parked"),
            Self::ParkedBytes => to.write_str("parked bytes"),
            Self::Reported => to.write_str("reported"),
            Self::UnknownMembers => to.write_str("unknown members"),
        }
    }
}

impl Counter {
    /// Key of a tenant's counter.
    pub(crate) fn key(self, tenant: TenantId) -> Vec<u8> {
        keys::counter(tenant, &self.to_string())
    }
}

/// The counters that a transaction changes: each is read once and written once.
#[derive(Default)]
pub(crate) struct Counters(BTreeMap<(TenantId, Counter), u64>);

impl Counters {
    /// Changes a counter and returns its count.
    pub(crate) fn add(
        &mut self,
        tables: &Tables<impl Transaction>,
        tenant: TenantId,
        counter: Counter,
        by: i64,
    ) -> Result<u64, StoreError> {
        let before = match self.0.get(&(tenant, counter)) {
            Some(known) => *known,
            None => stored(&tables.counters, tenant, counter)?,
        };
        let count = before.saturating_add_signed(by);
        self.0.insert((tenant, counter), count);
        Ok(count)
    }

    /// Writes the counters. One with a count of 0 has no row.
    pub(crate) fn flush(self, tables: &mut Tables<impl Transaction>) -> Result<(), StoreError> {
        for ((tenant, counter), count) in self.0 {
            let key = counter.key(tenant);
            if count == 0 {
                tables.counters.remove(key.as_slice())?;
                continue;
            }
            let value = stored_value::seal(&key, &count.to_be_bytes());
            tables.counters.insert(key.as_slice(), value.as_slice())?;
        }
        Ok(())
    }
}

/// The count of a tenant's counter in the table.
pub(crate) fn stored(
    counters: &impl Rows,
    tenant: TenantId,
    counter: Counter,
) -> Result<u64, StoreError> {
    let key = counter.key(tenant);
    let count = counters.get(&key)?;
    let count = count.map(|count| stored_value::unseal_exact(&key, count.value())).transpose()?;
    Ok(count.map_or(0, u64::from_be_bytes))
}

//! Room for data that is read for a tenant: all pages that are gathered, and all responses that are being sent, share
//! it.

use std::{fmt, sync::Arc};

use svctrack_core::value::TenantId;

use super::{
    StoreError,
    support::fair_shares::{Share, Shares},
};

/// Largest response, in bytes, that takes no room: a connection has one of them, and most are sent at once.
pub const UNCOUNTED_BYTES: usize = 64 * 1024;
/// Step in which memory is reserved, in bytes, so that it is not requested with each record.
const STEP_BYTES: usize = 64 * 1024;

/// The memory budget of a tenant's responses. Without a tenant there is no limit.
#[derive(Clone, Default)]
pub struct ResponseMemoryBudget(Option<(Arc<Shares<TenantId>>, TenantId)>);

impl ResponseMemoryBudget {
    /// Budget of a tenant, as a share of memory for all tenants.
    pub fn tenant(shares: Arc<Shares<TenantId>>, tenant: TenantId) -> Self {
        Self(Some((shares, tenant)))
    }

    /// ResponseMemory without any memory yet.
    pub fn empty(&self) -> ResponseMemory {
        ResponseMemory { of: self.clone(), bytes: 0, share: None }
    }
}

impl fmt::Debug for ResponseMemoryBudget {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenant = self.0.as_ref().map(|(_, tenant)| tenant);
        to.debug_tuple("ResponseMemoryBudget").field(&tenant).finish()
    }
}

/// Memory that a response has reserved, until it is dropped.
#[derive(Default)]
pub struct ResponseMemory {
    of: ResponseMemoryBudget,
    bytes: usize,
    share: Option<Share<TenantId>>,
}

impl ResponseMemory {
    /// Reserves further bytes.
    ///
    /// # Errors
    /// [`StoreError::NoRoom`].
    pub fn take(&mut self, bytes: usize) -> Result<(), StoreError> {
        self.bytes += bytes;
        let taken = self.share.as_ref().map_or(0, Share::amount);
        let Some((shares, tenant)) = &self.of.0 else { return Ok(()) };
        if self.bytes <= taken.max(UNCOUNTED_BYTES) {
            return Ok(());
        }
        let missing = self.bytes.next_multiple_of(STEP_BYTES) - taken;
        let is_taken = match &mut self.share {
            Some(share) => share.grow(missing),
            None => {
                self.share = shares.take(*tenant, missing);
                self.share.is_some()
            }
        };
        if is_taken { Ok(()) } else { Err(StoreError::NoRoom) }
    }

    /// Reserves or releases bytes, so that there are this many.
    ///
    /// # Errors
    /// [`StoreError::NoRoom`].
    pub fn fit(&mut self, bytes: usize) -> Result<(), StoreError> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.take(more),
            None => {
                self.shrink_to(bytes);
                Ok(())
            }
        }
    }

    /// Releases bytes before the room itself is dropped.
    pub fn release(&mut self, bytes: usize) {
        self.shrink_to(self.bytes.saturating_sub(bytes));
    }

    /// Releases all but this many bytes.
    pub fn shrink_to(&mut self, bytes: usize) {
        self.bytes = bytes.min(self.bytes);
        if let Some(share) = &mut self.share {
            let kept = self.bytes.next_multiple_of(STEP_BYTES);
            share.shrink(share.amount().saturating_sub(kept));
        }
    }
}

impl fmt::Debug for ResponseMemory {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Room").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_reserved_in_steps_for_what_is_not_small() {
        let shares = Shares::new(8 * STEP_BYTES);
        let room_of = |tenant| {
            ResponseMemoryBudget::tenant(shares.clone(), TenantId::from_bytes([tenant; 16]))
        };
        let taken = |room: &ResponseMemory| room.share.as_ref().map_or(0, Share::amount);
        let mut room = room_of(1).empty();
        for (bytes, steps) in [(UNCOUNTED_BYTES, 0), (1, 2), (STEP_BYTES - 1, 2), (1, 3)] {
            room.take(bytes).unwrap();
            assert_eq!(taken(&room), steps * STEP_BYTES);
        }
        assert!(matches!(room.take(2 * STEP_BYTES), Err(StoreError::NoRoom)));
        let mut other = room_of(2).empty();
        other.take(2 * STEP_BYTES).unwrap();
        room.release(4 * STEP_BYTES);
        assert_eq!(taken(&room), STEP_BYTES);
        drop((room, other));
        assert!(room_of(3).empty().take(4 * STEP_BYTES).is_ok());
        assert!(ResponseMemoryBudget::default().empty().take(usize::MAX).is_ok());
    }
}

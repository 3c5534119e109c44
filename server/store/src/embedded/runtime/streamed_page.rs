//! Records of a large page, read from its snapshot as they are sent, so that only some of them are in memory, however
//! slow the reader is. Each read waits for a permit of its tenant, like any other read.

use std::{sync::Arc, vec};

use futures_util::{StreamExt as _, stream};
use svctrack_core::value::ObjectId;

use super::{held_snapshots::HeldSnapshot, shared::SharedState};
use crate::{
    RecordStream, StoreError,
    embedded::{file::corruption, run_with_permit},
    reads::list::{self, ListRequest},
    support::tenant_permits::TenantPermits,
};

/// Part of a page that is still to be read.
struct UnreadRows {
    asked: ListRequest,
    held: Arc<HeldSnapshot>,
    ids: vec::IntoIter<ObjectId>,
    /// Bytes of the longest record.
    longest: usize,
}

/// Reads the records with these ids, in this order; `longest` is the size of the longest one, in bytes.
pub(crate) fn read(
    (shared, turns): (Arc<SharedState>, Arc<TenantPermits>),
    asked: ListRequest,
    held: Arc<HeldSnapshot>,
    (ids, longest): (Vec<ObjectId>, usize),
) -> RecordStream {
    let tenant = asked.tenant;
    let rest = UnreadRows { asked, held, ids: ids.into_iter(), longest };
    stream::try_unfold(rest, move |mut rest| {
        let (shared, turns) = (shared.clone(), turns.clone());
        async move {
            if rest.ids.as_slice().is_empty() {
                return Ok::<_, StoreError>(None);
            }
            let work = move |shared: &SharedState| {
                let snapshot = rest.held.get()?;
                let read = corruption::contained(|| {
                    list::read_on(&rest.asked, &*snapshot, &mut rest.ids, rest.longest)
                });
                Ok((shared.counted(read)?, rest))
            };
            run_with_permit(shared, &turns, tenant, work).await.map(Some)
        }
    })
    .boxed()
}

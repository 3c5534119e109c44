//! Last uses of sessions, in memory: the store writes them with its next commit.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use svctrack_core::value::Timestamp;

use crate::limits::SESSION_IDLE_MS;

/// Number of sessions with noted uses from which on old ones are dropped.
const MAX_USES: usize = 10_000;

/// Time of the last use of each session since this process began, by id.
#[derive(Default)]
pub(crate) struct SessionUses(Mutex<BTreeMap<String, Timestamp>>);

impl SessionUses {
    /// Notes that a session was used.
    pub(super) fn note(&self, session: &str, now: Timestamp) {
        let mut used = self.0.lock();
        if used.len() >= MAX_USES {
            let is_recent =
                |at: &Timestamp| now.as_ms().saturating_sub(at.as_ms()) < SESSION_IDLE_MS;
            used.retain(|_, at| is_recent(at));
        }
        used.insert(session.to_owned(), now);
    }

    /// Time of the last use of a session since this process began.
    pub(super) fn last(&self, session: &str) -> Option<Timestamp> {
        self.0.lock().get(session).copied()
    }
}

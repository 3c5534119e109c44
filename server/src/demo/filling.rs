//! Progress of a demo that was requested on a page, and the sessions from which users opened it.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// Maximum number of sessions that lead back from the demo; users of older ones sign in again.
const MAX_WAYS_BACK: usize = 100;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum DemoProgress {
    /// No demo is being filled.
    #[default]
    Idle,
    /// A demo is being filled, and has a number of records and events.
    Stored(usize),
    /// The last demo is incomplete, for this reason.
    Failed(String),
}

/// The filling of a demo: one at a time.
#[derive(Debug, Default)]
pub(crate) struct DemoFilling {
    progress: Mutex<DemoProgress>,
    /// Ids of the tokens of users in the demo, by the ids of their sessions in it.
    ways_back: Mutex<BTreeMap<String, String>>,
}

impl DemoFilling {
    pub(crate) fn progress(&self) -> DemoProgress {
        self.progress.lock().clone()
    }

    /// Begins to fill a demo; returns whether no other is being filled.
    pub(crate) fn begin(&self) -> bool {
        let mut progress = self.progress.lock();
        let is_free = !matches!(*progress, DemoProgress::Stored(_));
        if is_free {
            *progress = DemoProgress::Stored(0);
        }
        is_free
    }

    pub(crate) fn note(&self, stored: usize) {
        *self.progress.lock() = DemoProgress::Stored(stored);
    }

    pub(crate) fn end(&self, done: Result<(), String>) {
        *self.progress.lock() = done.err().map_or(DemoProgress::Idle, DemoProgress::Failed);
    }

    /// Notes the token of a user who has opened a session in the demo.
    pub(crate) fn note_visit(&self, session: &str, token: &str) {
        let mut ways_back = self.ways_back.lock();
        while ways_back.len() >= MAX_WAYS_BACK {
            ways_back.pop_first();
        }
        ways_back.insert(session.to_owned(), token.to_owned());
    }

    /// Takes the token of the user with this session in the demo, who goes back once.
    pub(crate) fn way_back(&self, session: &str) -> Option<String> {
        self.ways_back.lock().remove(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_demo_is_filled_at_a_time() {
        let filling = DemoFilling::default();
        assert!(filling.begin() && !filling.begin());
        filling.end(Err("full".to_owned()));
        assert_eq!(filling.progress(), DemoProgress::Failed("full".to_owned()));
        assert!(filling.begin());
        filling.end(Ok(()));
        assert_eq!(filling.progress(), DemoProgress::Idle);
    }

    #[test]
    fn who_looks_at_the_demo_goes_back_once() {
        let filling = DemoFilling::default();
        filling.note_visit("session", "token");
        assert_eq!(filling.way_back("other"), None);
        assert_eq!(filling.way_back("session").as_deref(), Some("token"));
        assert_eq!(filling.way_back("session"), None);
    }
}

//! Times at which tokens were last used, to the minute: in memory until the next commit stores them, so that a read
//! costs no write (R43).

use std::collections::BTreeMap;

use parking_lot::{Mutex, MutexGuard};
use svctrack_core::value::Timestamp;

use crate::TokenRecord;

const MINUTE_MS: i64 = 60_000;

/// Uses that no commit has stored yet, by the id of the token: at most one for each stored token.
#[derive(Debug, Default)]
pub(crate) struct TokenUses(Mutex<BTreeMap<String, Timestamp>>);

impl TokenUses {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Timestamp>> {
        self.0.lock()
    }

    /// Notes that a token was used, unless that is known for this minute; in its first minute it is used when it is
    /// issued.
    pub(crate) fn note(&self, token: &TokenRecord, now: Timestamp) {
        let minute = Timestamp::from_ms_clamped(now.as_ms() - now.as_ms().rem_euclid(MINUTE_MS));
        let minute = minute.max(token.issued_at());
        if token.last_used_at.is_some_and(|known| known >= minute) {
            return;
        }
        let mut uses = self.lock();
        match uses.get_mut(&token.id) {
            Some(known) => *known = minute,
            None => drop(uses.insert(token.id.clone(), minute)),
        }
    }

    /// Takes the uses to write with the next commit.
    pub(crate) fn take(&self) -> BTreeMap<String, Timestamp> {
        std::mem::take(&mut *self.lock())
    }

    /// Adds the uses that are not written yet to `tokens`.
    pub(crate) fn show(&self, tokens: &mut [TokenRecord]) {
        let uses = self.lock();
        for token in tokens {
            token.last_used_at = token.last_used_at.max(uses.get(&token.id).copied());
        }
    }
}

#[cfg(test)]
mod tests {
    use svctrack_core::value::TenantId;

    use super::*;

    #[test]
    fn a_use_is_noted_once_a_minute_and_shown_until_it_is_written() {
        let at = |text| Timestamp::parse(text).unwrap();
        let (uses, tenant) = (TokenUses::default(), TenantId::from_bytes([1; 16]));
        let mut tokens = [TokenRecord::for_test(tenant, "x", Timestamp::MIN)];
        uses.note(&tokens[0], at("2026-01-01T10:00:59Z"));
        uses.show(&mut tokens);
        assert_eq!(tokens[0].last_used_at, Some(at("2026-01-01T10:00:00Z")));
        assert_eq!(uses.take().len(), 1);
        uses.note(&tokens[0], at("2026-01-01T10:00:30Z"));
        assert!(uses.take().is_empty());
        uses.note(&tokens[0], at("2026-01-01T10:01:00Z"));
        assert_eq!(uses.take().len(), 1);
    }

    #[test]
    fn a_token_is_never_used_before_it_is_created() {
        let at = |text| Timestamp::parse(text).unwrap();
        let (uses, tenant) = (TokenUses::default(), TenantId::from_bytes([1; 16]));
        let created = at("2026-01-01T09:31:55Z");
        let mut tokens = [TokenRecord::for_test(tenant, "x", created)];
        uses.note(&tokens[0], at("2026-01-01T09:31:56Z"));
        uses.show(&mut tokens);
        assert_eq!(tokens[0].last_used_at, Some(created));
    }
}

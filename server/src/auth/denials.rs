//! Denied access, for the audit log. Any client can cause it, so it is not written one by one: attempts of one token or
//! address for one cause are counted by the minute, in memory, and each count is written once its minute is over.
//!
//! Invariant: a day writes at most [`MAX_A_DAY`] counts of one attacker each for a tenant, and after that one for each
//! cause and hour, however many addresses an attacker has.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
};

use parking_lot::Mutex;
use svctrack_core::{
    audit::{AuditActor, AuditOutcome},
    value::{TenantId, Timestamp, time::DAY_MS},
};
use svctrack_store::{AuditNote, Tenant};

/// Milliseconds of a minute.
const MINUTE_MS: i64 = 60_000;
/// Milliseconds of an hour.
const HOUR_MS: i64 = 60 * MINUTE_MS;
/// Maximum number of a tenant's counts in a minute, each of one token or address; others are counted together.
const MAX_A_MINUTE: usize = 20;
/// Maximum number of counts of a tenant in a day, some 100 KB of entries.
const MAX_A_DAY: usize = 1_000;
/// Longest cause, in bytes: an invented scope can be no longer.
const MAX_CAUSE_BYTES: usize = 64;

/// Actor and cause of denied access.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DeniedAccess {
    /// Action that was denied, such as `session.open`.
    pub(crate) action: &'static str,
    pub(crate) actor: AuditActor,
    pub(crate) address: Option<IpAddr>,
    /// The code of the error, or the scope that is missing.
    pub(crate) cause: String,
}

/// Attempts of a tenant that are not written yet.
#[derive(Default)]
struct TenantDenials {
    day: i64,
    /// Number of separate counts today.
    told_apart: usize,
    /// Number of each attempt, and the end of the time in which it is counted.
    counts: HashMap<DeniedAccess, (u64, i64)>,
}

/// Attempts that are not written yet.
#[derive(Default)]
pub(crate) struct Denials(Mutex<BTreeMap<TenantId, TenantDenials>>);

impl Denials {
    /// Counts an attempt to access a tenant; an attempt by an unknown caller is counted for the operator.
    pub(crate) fn count(&self, tenant: Tenant, mut attempt: DeniedAccess, now: Timestamp) {
        attempt.cause.truncate(attempt.cause.floor_char_boundary(MAX_CAUSE_BYTES));
        self.0.lock().entry(tenant.id()).or_default().count(attempt, now);
    }

    /// Takes the counts whose time is over, of each tenant; all of them where the server stops.
    pub(crate) fn take(&self, now: Timestamp, is_last: bool) -> Vec<(Tenant, Vec<AuditNote>)> {
        let mut of_tenants = self.0.lock();
        let mut taken = Vec::new();
        for (tenant, of_tenant) in &mut *of_tenants {
            let is_over =
                |_: &DeniedAccess, (_, until): &mut (u64, i64)| is_last || *until <= now.as_ms();
            let over = of_tenant.counts.extract_if(is_over);
            let notes: Vec<_> =
                over.map(|(attempt, (count, _))| attempt.into_note(count)).collect();
            if !notes.is_empty() {
                taken.push((Tenant::assume_authorized(*tenant), notes));
            }
        }
        of_tenants.retain(|_, of_tenant| {
            !of_tenant.counts.is_empty() || of_tenant.day == now.epoch_days()
        });
        taken
    }
}

impl TenantDenials {
    fn count(&mut self, attempt: DeniedAccess, now: Timestamp) {
        if self.day != now.epoch_days() {
            (self.day, self.told_apart) = (now.epoch_days(), 0);
        }
        if let Some((count, _)) = self.counts.get_mut(&attempt) {
            *count += 1;
            return;
        }
        let end_of = |ms: i64| now.as_ms() - now.as_ms().rem_euclid(ms) + ms;
        let is_spent = self.told_apart >= MAX_A_DAY;
        if !is_spent && self.counts.len() < MAX_A_MINUTE {
            self.told_apart += 1;
            self.counts.insert(attempt, (1, end_of(MINUTE_MS)));
            return;
        }
        let together = DeniedAccess { actor: AuditActor::Unknown, address: None, ..attempt };
        let until = end_of(if is_spent { HOUR_MS } else { MINUTE_MS }).min(end_of(DAY_MS));
        self.counts.entry(together).or_insert((0, until)).0 += 1;
    }
}

impl DeniedAccess {
    fn into_note(self, count: u64) -> AuditNote {
        let Self { action, actor, address, cause } = self;
        let outcome = AuditOutcome::Denied { cause, count };
        AuditNote { action, outcome, target: None, by: Some((actor, address)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(last: u8) -> DeniedAccess {
        let address = Some([192, 0, 2, last].into());
        DeniedAccess {
            action: "access.deny",
            actor: AuditActor::Unknown,
            address,
            cause: "x".to_owned(),
        }
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    /// Addresses and counts of the attempts, in their order.
    fn taken(denials: &Denials, now: Timestamp) -> Vec<(Option<IpAddr>, u64)> {
        let notes = denials.take(now, false).into_iter().flat_map(|(_, notes)| notes);
        let mut counts: Vec<_> = notes
            .map(|note| match note.outcome {
                AuditOutcome::Denied { count, .. } => (note.by.unwrap().1, count),
                AuditOutcome::Done => panic!("{note:?}"),
            })
            .collect();
        counts.sort_unstable();
        counts
    }

    #[test]
    fn attempts_are_counted_until_their_minute_is_over() {
        let denials = Denials::default();
        for last in [1, 2, 1, 1] {
            denials.count(Tenant::OPERATOR, attempt(last), at("2026-11-20T12:00:30Z"));
        }
        assert_eq!(taken(&denials, at("2026-11-20T12:00:59Z")), []);
        let address_ending = |last: u8| Some(IpAddr::from([192, 0, 2, last]));
        assert_eq!(
            taken(&denials, at("2026-11-20T12:01:00Z")),
            [(address_ending(1), 3), (address_ending(2), 1)]
        );
        assert_eq!(taken(&denials, at("2026-11-20T12:02:00Z")), []);
    }

    #[test]
    fn many_addresses_are_counted_together() {
        let denials = Denials::default();
        let now = at("2026-11-20T12:00:30Z");
        for last in 0..=255 {
            denials.count(Tenant::OPERATOR, attempt(last), now);
        }
        let counts = taken(&denials, at("2026-11-20T12:01:00Z"));
        assert_eq!(counts.len(), MAX_A_MINUTE + 1);
        assert_eq!(counts[0], (None, 256 - MAX_A_MINUTE as u64));
    }

    #[test]
    fn a_day_of_attempts_writes_a_limited_number_of_entries() {
        let denials = Denials::default();
        let (mut now, mut written, mut all) = (at("2026-11-20"), 0, 0);
        for _ in 0..24 * 60 {
            for last in 0..=255 {
                denials.count(Tenant::OPERATOR, attempt(last), now);
            }
            now = Timestamp::from_ms_clamped(now.as_ms() + MINUTE_MS);
            let counts = taken(&denials, now);
            written += counts.len();
            all += counts.iter().map(|(_, count)| count).sum::<u64>();
        }
        assert_eq!(all, 24 * 60 * 256);
        assert!(written <= MAX_A_DAY + 24 + 60, "{written}");
    }
}

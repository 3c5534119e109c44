//! State that a transaction gathers before it commits, so that each row is written once however many commands touch
//! it: where change logs continue, counters, and entries of the report.

use std::collections::BTreeMap;

use svctrack_core::{
    plan::{Finding, Route},
    value::{TenantId, Timestamp},
};

use super::{
    audit::{AuditTrail, AuditValuePolicy},
    counters::{Counter, Counters},
    date_ranges::LatestSpans,
    engagement,
    ids::Ids,
    integration_issues,
    open_tables::{Tables, Transaction},
    usage,
};
use crate::{StoreError, Tenant, rows::engagement::EngagementOwner, times::ReferenceTimes};

/// Maximum number of causes of one code that a transaction reports for a tenant separately: a flood of invented ids
/// costs no more rows than this, and further causes are counted together.
const MAX_CAUSES_PER_COMMIT: usize = 100;
/// Cause under which further ones are counted.
pub(crate) const MANY_CAUSES: &str = "(many)";

/// State that a transaction gathers.
#[derive(Default)]
pub(crate) struct Pending {
    /// Where each tenant's change log continues: the next number, and the earliest time of the next row.
    pub(crate) sequences: BTreeMap<TenantId, (u64, Timestamp)>,
    /// Tenants with parked events to replay after the commit.
    pub(crate) to_replay: BTreeMap<TenantId, Tenant>,
    /// The spans to which activities are added.
    pub(crate) spans: LatestSpans,
    /// The times by which ages are judged, once the clock has been read.
    pub(crate) settled: Option<ReferenceTimes>,
    /// Companies that a user has left who was active last.
    pub(crate) lost_the_last: Vec<EngagementOwner>,
    /// Changes of the running command so far, where it is audited.
    pub(crate) trail: Option<AuditTrail>,
    /// Storage of values in the audit log, for each tenant that was looked up.
    pub(crate) traces: BTreeMap<TenantId, AuditValuePolicy>,
    counters: Counters,
    findings: BTreeMap<(TenantId, &'static str), FindingsOfCode>,
}

/// Findings of one code, each by the route and its cause.
type FindingsOfCode = BTreeMap<(Route, String), Finding>;

impl Pending {
    /// Time by which ages are judged; before it is known nothing is old.
    pub(crate) fn settled(&self) -> Timestamp {
        self.settled.map_or(Timestamp::MIN, |settled| settled.time)
    }

    /// Latest time with which a right clock can have stored data.
    pub(crate) fn latest(&self) -> Timestamp {
        self.settled.map_or(Timestamp::MAX, |settled| settled.latest)
    }

    /// The count of a counter.
    pub(crate) fn count(
        &mut self,
        tables: &Tables<impl Transaction>,
        tenant: TenantId,
        counter: Counter,
    ) -> Result<u64, StoreError> {
        self.add(tables, tenant, counter, 0)
    }

    /// Changes a counter and returns its count.
    pub(crate) fn add(
        &mut self,
        tables: &Tables<impl Transaction>,
        tenant: TenantId,
        counter: Counter,
        by: i64,
    ) -> Result<u64, StoreError> {
        self.counters.add(tables, tenant, counter, by)
    }

    /// Adds a finding; those of one cause are folded.
    pub(crate) fn find(&mut self, tenant: TenantId, mut finding: Finding) {
        let causes = self.findings.entry((tenant, finding.code)).or_default();
        let mut cause = (finding.route, finding.cause.clone());
        if causes.len() >= MAX_CAUSES_PER_COMMIT && !causes.contains_key(&cause) {
            cause.1 = MANY_CAUSES.to_owned();
            finding.cause = MANY_CAUSES.to_owned();
        }
        if let Some(known) = causes.get(&cause) {
            finding.count = finding.count.saturating_add(known.count);
        }
        causes.insert(cause, finding);
    }

    /// Number of findings, by code.
    pub(crate) fn found(&self) -> BTreeMap<&'static str, u64> {
        let mut found = BTreeMap::new();
        for ((_, code), causes) in &self.findings {
            *found.entry(*code).or_default() +=
                causes.values().map(|finding| finding.count).sum::<u64>();
        }
        found
    }

    /// Writes the gathered state; returns the tenants with parked events to replay.
    pub(crate) fn flush(
        mut self,
        tables: &mut Tables<impl Transaction>,
        ids: &mut Ids,
        now: Timestamp,
    ) -> Result<BTreeMap<TenantId, Tenant>, StoreError> {
        for ((tenant, _), causes) in std::mem::take(&mut self.findings) {
            for finding in causes.into_values() {
                integration_issues::fold(tables, &mut self, tenant, &finding, || {
                    ids.next(tenant, now)
                })?;
            }
        }
        engagement::settle(tables, std::mem::take(&mut self.lost_the_last))?;
        for tenant in self.spans.flush(tables)? {
            usage::go_on(tables, tenant)?;
        }
        self.counters.flush(tables)?;
        Ok(self.to_replay)
    }
}

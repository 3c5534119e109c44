//! Number of writes to the data of a tenant: a result that was computed from the data is valid as long as its version
//! is the same.

use std::collections::BTreeMap;

use svctrack_core::value::TenantId;

/// Maximum number of tenants with a version of their own, some 50 bytes each.
const MAX_TENANTS: usize = 10_000;

/// Data that a commit may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommitScope {
    /// Tenants whose data it may be; none where it may be that of any.
    pub(crate) tenants: Option<Vec<TenantId>>,
    /// Whether the commit stored events alone, which change no tenant and no settings.
    pub(crate) is_events: bool,
}

impl CommitScope {
    pub(crate) const ANYTHING: Self = Self { tenants: None, is_events: false };
}

/// Version of each tenant: the number of the last commit that may have changed its data.
#[derive(Debug, Default)]
pub(crate) struct TenantVersions {
    commits: u64,
    /// Version of the tenants without a version of their own.
    of_others: u64,
    of_tenant: BTreeMap<TenantId, u64>,
}

impl TenantVersions {
    pub(crate) fn for_tenant(&self, tenant: TenantId) -> u64 {
        self.of_tenant.get(&tenant).copied().unwrap_or(self.of_others)
    }

    /// Moves the versions of the tenants of a commit.
    pub(crate) fn note(&mut self, scope: &CommitScope) {
        self.commits += 1;
        let tenants = scope.tenants.as_deref();
        let many = |tenants: &&[TenantId]| self.of_tenant.len() + tenants.len() > MAX_TENANTS;
        match tenants.filter(|tenants| !many(tenants)) {
            Some(tenants) => {
                self.of_tenant.extend(tenants.iter().map(|tenant| (*tenant, self.commits)));
            }
            None => {
                self.of_tenant.clear();
                self.of_others = self.commits;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(number: u16) -> TenantId {
        let [high, low] = number.to_be_bytes();
        TenantId::from_bytes([high, low, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    fn commit(tenants: &[u16]) -> CommitScope {
        let tenants = tenants.iter().copied().map(tenant).collect();
        CommitScope { tenants: Some(tenants), is_events: true }
    }

    #[test]
    fn a_commit_moves_the_version_of_its_tenants_and_of_no_others() {
        let mut versions = TenantVersions::default();
        versions.note(&commit(&[1, 2]));
        versions.note(&commit(&[2]));
        let all_of =
            |versions: &TenantVersions| [1, 2, 3].map(|number| versions.for_tenant(tenant(number)));
        assert_eq!(all_of(&versions), [1, 2, 0]);
        versions.note(&CommitScope::ANYTHING);
        assert_eq!(all_of(&versions), [3, 3, 3]);
    }

    #[test]
    fn no_version_comes_back_when_there_are_too_many_tenants() {
        let mut versions = TenantVersions::default();
        let mut before = versions.for_tenant(tenant(0));
        for _ in 0..3 {
            for number in 0..u16::try_from(MAX_TENANTS).unwrap() + 1 {
                versions.note(&commit(&[number]));
                assert!(versions.of_tenant.len() <= MAX_TENANTS);
                let now = versions.for_tenant(tenant(0));
                assert!(now >= before);
                before = now;
            }
        }
    }
}

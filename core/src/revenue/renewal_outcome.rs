//! The outcome of a license whose term ends: renewed, churned, overdue, or open.

use super::{
    ledger::License, license_chain::LinkedCompany, license_facts::RenewalStatus,
    report_scope::ReportScope,
};

/// The outcome of a license.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RenewalOutcome {
    /// The license has a successor, or will have one.
    Renewed,
    /// The license is not renewed.
    Churned,
    /// The end is past, and nothing was decided.
    Overdue,
    /// The end is ahead, and nothing was decided.
    Open,
}

impl RenewalOutcome {
    /// Values of the parameter `outcome`, in the order of the variants.
    pub const NAMES: &'static [&'static str] = &["renewed", "churned", "overdue", "open"];

    pub(super) fn named(name: &str) -> Option<Self> {
        let all = [Self::Renewed, Self::Churned, Self::Overdue, Self::Open];
        Self::NAMES.iter().zip(all).find(|(known, _)| **known == name).map(|(_, outcome)| outcome)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Renewed => "renewed",
            Self::Churned => "churned",
            Self::Overdue => "overdue",
            Self::Open => "open",
        }
    }
}

/// Outcome of a license, with its renewed MRR and the currency of that: the first that applies of a successor, lost,
/// renewed without one, past, ahead.
pub(super) fn outcome_of(
    scope: &ReportScope<'_>,
    company: &LinkedCompany<'_>,
    at: usize,
    license: &License,
) -> (RenewalOutcome, i128, u32) {
    let own = license.currency;
    let successor = company.links.successor(at).and_then(|at| company.licenses.get(at));
    match (successor, license.status) {
        (Some(next), _) => (RenewalOutcome::Renewed, next.mrr.max(0), next.currency),
        (None, RenewalStatus::Lost) => (RenewalOutcome::Churned, 0, own),
        (None, RenewalStatus::Renewed) => {
            (RenewalOutcome::Renewed, license.renewal_mrr().max(0), own)
        }
        _ if license.end <= scope.options.now.as_ms() => (RenewalOutcome::Overdue, 0, own),
        _ => (RenewalOutcome::Open, 0, own),
    }
}

//! Queries of a tenant's logs.

use svctrack_core::{
    audit::AuditQuery,
    schema::LogPage,
    tracking::{activity_query::ActivityQuery, integration_issues::IntegrationIssueQuery},
};

/// A list of a log, newest entries first.
#[derive(Clone, Debug)]
pub enum LogQuery {
    /// Activities, by default in the order of storing.
    Activities(ActivityQuery),
    /// The report of possible integration issues.
    IntegrationIssues(IntegrationIssueQuery),
    /// Audit log: who wrote what and when, and denied access.
    Audit(AuditQuery),
}

impl LogQuery {
    /// Limit and start of the page, which every log has.
    pub fn page(&self) -> &LogPage {
        match self {
            Self::Activities(query) => &query.page,
            Self::IntegrationIssues(query) => &query.page,
            Self::Audit(query) => &query.page,
        }
    }
}

impl From<ActivityQuery> for LogQuery {
    fn from(query: ActivityQuery) -> Self {
        Self::Activities(query)
    }
}

impl From<IntegrationIssueQuery> for LogQuery {
    fn from(query: IntegrationIssueQuery) -> Self {
        Self::IntegrationIssues(query)
    }
}

impl From<AuditQuery> for LogQuery {
    fn from(query: AuditQuery) -> Self {
        Self::Audit(query)
    }
}

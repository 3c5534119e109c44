//! Names of the reports in addresses, of the API and of the pages.

pub(super) const MRR: &str = "mrr";
pub(super) const RETENTION: &str = "retention";
/// Renewals, by the end of licenses or by their last day of notice.
pub(super) const RENEWALS: &str = "renewals";
pub(super) const FORECAST: &str = "forecast";
pub(super) const USAGE: &str = "usage";
/// Address of the closed months.
pub(super) const CLOSINGS_PAGE: &str = "/app/closings";

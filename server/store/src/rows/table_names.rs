//! Names of the tables. `server/docs/storage.md` draws their keys and values ("Layout on disk").

/// A table of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Table(&'static str);

impl Table {
    /// Name of the table, which is stored.
    pub(crate) const fn name(self) -> &'static str {
        self.0
    }
}

pub(crate) const META: Table = Table("meta");
pub(crate) const TENANTS: Table = Table("tenants");
pub(crate) const TOKENS: Table = Table("tokens");
pub(crate) const TOKENS_OF_TENANT: Table = Table("tokens_of_tenant");
pub(crate) const RECORDS: Table = Table("records");
pub(crate) const UNIQUE: Table = Table("unique");
pub(crate) const INDEX: Table = Table("index");
pub(crate) const ACTIVITIES: Table = Table("activities");
pub(crate) const ENGAGEMENT: Table = Table("engagement");
pub(crate) const ENGAGEMENT_LOG: Table = Table("engagement_log");
pub(crate) const ENGAGEMENT_LOG_TWIN: Table = Table("engagement_log_twin");
pub(crate) const ACTIVITY_MARKS: Table = Table("activity_marks");
pub(crate) const ACTIVITY_SPANS: Table = Table("activity_spans");
pub(crate) const PARKED: Table = Table("parked");
pub(crate) const WAITING: Table = Table("waiting");
pub(crate) const DUE: Table = Table("due");
pub(crate) const MESSAGES: Table = Table("messages");
pub(crate) const REPORT: Table = Table("report");
pub(crate) const REPORT_CAUSES: Table = Table("report_causes");
pub(crate) const CHANGES: Table = Table("changes");
pub(crate) const ONCE: Table = Table("once");
pub(crate) const ONCE_PLACES: Table = Table("once_places");
pub(crate) const COUNTERS: Table = Table("counters");
pub(crate) const SUPPRESSED: Table = Table("suppressed");
pub(crate) const ERASURES: Table = Table("erasures");
pub(crate) const REVENUE_VERSIONS: Table = Table("revenue_versions");
pub(crate) const LICENSE_FACTS: Table = Table("license_facts");
pub(crate) const CLOSINGS: Table = Table("closings");
pub(crate) const USAGE: Table = Table("usage");
pub(crate) const AUDIT: Table = Table("audit");
pub(crate) const AUDIT_RECORDS: Table = Table("audit_records");

pub(crate) const ALL: [Table; 31] = [
    META,
    TENANTS,
    TOKENS,
    TOKENS_OF_TENANT,
    RECORDS,
    UNIQUE,
    INDEX,
    ACTIVITIES,
    ENGAGEMENT,
    ENGAGEMENT_LOG,
    ENGAGEMENT_LOG_TWIN,
    ACTIVITY_MARKS,
    ACTIVITY_SPANS,
    PARKED,
    WAITING,
    DUE,
    MESSAGES,
    REPORT,
    REPORT_CAUSES,
    CHANGES,
    ONCE,
    ONCE_PLACES,
    COUNTERS,
    SUPPRESSED,
    ERASURES,
    REVENUE_VERSIONS,
    LICENSE_FACTS,
    CLOSINGS,
    USAGE,
    AUDIT,
    AUDIT_RECORDS,
];

#[cfg(test)]
mod tests {
    use super::{super::meta::ROWS_FORMAT, *};

    #[test]
    fn the_page_on_storage_draws_every_table_in_order() {
        let page = include_str!("../../../docs/storage.md");
        assert!(page.contains(&format!("### The tables: row format {ROWS_FORMAT}\n")));
        let (_, drawing) = page.split_once("```text\ntable ").unwrap();
        let (drawing, _) = drawing.split_once("```").unwrap();
        let tables = drawing.lines().skip(1).map(|line| line.split(' ').next().unwrap());
        let mut drawn: Vec<&str> = tables.collect();
        drawn.dedup();
        assert_eq!(drawn, ALL.map(Table::name));
        let (_, groups) = page.split_once("| Group | Tables |").unwrap();
        let (groups, _) = groups.split_once("\n\n").unwrap();
        for table in ALL {
            assert!(groups.contains(&format!("`{}`", table.name())), "{}", table.name());
        }
    }
}

//! Pages of a tenant's logs, newest entries first.

use svctrack_core::{
    schema::{LogPage, list::selected},
    tracking::integration_issues::{IntegrationIssueQuery, ReportEntry},
    value::{Document, ObjectId, TenantId},
};

use super::{audit, read};
use crate::{
    LogQuery, Page, PageOptions, PageStart, StoreError,
    rows::{Bytes as _, COUNTERS, REPORT, Rows as _, Snapshot, WAITING, keys, stored_value},
    rules::{
        counters::{self, Counter},
        parked,
    },
};

/// Whether a list reads a limited number of entries, whatever is stored.
pub(crate) fn is_short(query: &LogQuery) -> bool {
    match query {
        LogQuery::Activities(query) => read::is_short(query),
        LogQuery::IntegrationIssues(_) => true,
        LogQuery::Audit(_) => false,
    }
}

/// A page of a log.
pub(crate) fn list(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    query: &LogQuery,
    page_options: &PageOptions,
) -> Result<Page, StoreError> {
    match query {
        LogQuery::Activities(query) => read::activities(snapshot, tenant, query, page_options),
        LogQuery::IntegrationIssues(query) => {
            integration_issues(snapshot, tenant, query, page_options)
        }
        LogQuery::Audit(query) => audit::list(snapshot, tenant, query, page_options),
    }
}

fn integration_issues(
    snapshot: &impl Snapshot,
    tenant: TenantId,
    query: &IntegrationIssueQuery,
    page_options: &PageOptions,
) -> Result<Page, StoreError> {
    let mut fill = PageFill::new(&query.page, page_options);
    let (table, waiting) = (snapshot.open(REPORT)?, snapshot.open(WAITING)?);
    let (first, last) = keys::log_range(tenant);
    for row in table.range(first.as_slice()..=last.as_slice())?.rev() {
        let (key, value) = row?;
        let entry: ReportEntry = stored_value::unseal_row(key.value(), value.value())?;
        let parked = parked::count(&waiting, tenant, &entry)?;
        let response = || Ok(entry.to_response_with(parked));
        if query.matches(&entry, parked) && !fill.take(entry.id, response)? {
            break;
        }
    }
    // Events of removed entries are among them.
    let parked = counters::stored(&snapshot.open(COUNTERS)?, tenant, Counter::Parked)?;
    Ok(Page { parked: Some(parked), ..fill.finish() })
}

/// A page of a log that is filled from its entries, newest first.
pub(crate) struct PageFill<'q> {
    asked: &'q LogPage,
    page_options: &'q PageOptions,
    page: Page,
    total: u64,
    last: Option<ObjectId>,
}

impl<'q> PageFill<'q> {
    pub(crate) fn new(asked: &'q LogPage, page_options: &'q PageOptions) -> Self {
        Self {
            asked,
            page_options,
            page: Page::empty(&page_options.room, None),
            total: 0,
            last: None,
        }
    }

    /// Adds an entry that matches, as `response` returns it; returns whether to continue.
    pub(crate) fn take(
        &mut self,
        id: ObjectId,
        response: impl FnOnce() -> Result<Document, StoreError>,
    ) -> Result<bool, StoreError> {
        self.total += 1;
        if self.page.next.is_some() || self.asked.after.is_some_and(|after| id >= after) {
            return Ok(true);
        }
        if self.page.digest.records == self.asked.limit {
            self.page.next = self.last.map(PageStart::After);
            return Ok(self.asked.count);
        }
        let response = selected(self.asked.select.as_deref(), response()?).to_text();
        self.page.add(self.page_options, response)?;
        self.last = Some(id);
        Ok(true)
    }

    /// The page; with `count`, also the total of all entries that match (R50).
    pub(crate) fn finish(mut self) -> Page {
        self.page.total = self.asked.count.then_some(self.total);
        self.page
    }
}

//! Demo data: two years of a company that does not exist, for a tenant of its own. `customer_history` has the companies
//! and their history.
//!
//! The data depends on a fixed seed and the time: on the same day it is the same. The module has no rules and calls
//! nothing: it yields calls of the API, which its caller sends, over HTTP or within the process. `filling` has the
//! progress of a demo that a page requested.

mod customer;
mod customer_history;
pub(crate) mod filling;
mod names;
mod people;
mod random;
mod records;
mod stories;
mod tickets;
mod usage;
mod work;
mod zone;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use poem::{
    Response,
    http::{Method, StatusCode},
};
use serde::Serialize;
use serde_json::{Value, json};
use svctrack_core::value::{TenantId, Timestamp};

use self::{
    customer::Company,
    people::Person,
    stories::UNKNOWN_COMPANY,
    usage::{Event, Events, written},
    zone::day_at,
};
pub use self::{
    customer_history::MAX_CUSTOMERS,
    stories::{STORIES, Story},
};

/// Name of the tenant, by which the demo is found again.
pub const TENANT_NAME: &str = "Demo: Lumen Analytics";
/// Default number of customers of a demo.
pub const CUSTOMERS: usize = 300;
/// Maximum number of items of a bulk upsert, and rows of a bulk call.
const BATCH: usize = 5_000;
/// Events that name no known company.
const LOST_EVENTS: usize = 40;

/// Parameters of a demo.
#[derive(Clone, Copy, Debug)]
pub struct Demo {
    /// The tenant that is filled.
    pub tenant: TenantId,
    /// The time at which the two years end.
    pub now: Timestamp,
    /// Number of customers at the end.
    pub customers: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiCall {
    pub method: Method,
    pub path: String,
    /// JSON; a response in JSON is expected, or `OK` of events.
    pub body: Bytes,
    /// Number of records or events that the call stores.
    pub count: usize,
    /// Whether events of the call are parked, as those of the fifth story are.
    is_parked: bool,
}

impl Demo {
    /// Fills the tenant: `send` makes each call, in this order.
    ///
    /// # Errors
    /// The first error of `send`, or of a response that did not store all items.
    pub async fn fill(
        self,
        mut send: impl AsyncFnMut(ApiCall) -> Result<Response, String>,
    ) -> Result<(), String> {
        let now = DateTime::<Utc>::from_timestamp_millis(self.now.as_ms()).unwrap_or_default();
        let today = day_at(now);
        let market = customer_history::companies(self.customers.clamp(1, MAX_CUSTOMERS), today);
        let people = people::people(&market, today);
        let sheets = work::timesheets(&market, today);
        let mut step = async |call: ApiCall| -> Result<Bytes, String> {
            let is_parked = call.is_parked;
            let named = format!("{} {}", call.method, call.path);
            let response = send(call).await?;
            checked(response, is_parked).await.map_err(|cause| format!("{named}: {cause}"))
        };
        step(ApiCall::new(Method::PUT, "/settings", &records::settings(today), 1)).await?;
        for call in self.records(&market, &people, &sheets, now) {
            step(call).await?;
        }
        let stored: Vec<Value> = sheets.iter().map(work::Timesheet::stored).collect();
        let stored = step(ApiCall::new(Method::PUT, "/timesheets", &stored, stored.len())).await?;
        for call in decisions(&sheets, &stored)? {
            step(call).await?;
        }
        for call in self.events(&market, &people, now) {
            step(call).await?;
        }
        step(self.lost_events(now)).await?;
        for month in records::closings(today) {
            step(ApiCall::new(Method::POST, "/reports/closings", &month, 1)).await?;
        }
        Ok(())
    }

    /// Records, each after those that it refers to.
    fn records<'d>(
        &self,
        market: &'d [Company],
        people: &'d [Person],
        sheets: &'d [work::Timesheet],
        now: DateTime<Utc>,
    ) -> impl Iterator<Item = ApiCall> + use<'d> {
        let today = day_at(now);
        let users = move || people.iter().map(|person| people::stored(person, market)).collect();
        let entries = move || sheets.iter().flat_map(work::Timesheet::entries).cloned().collect();
        let tickets = move || tickets::tickets(market, people, today, now.timestamp_millis());
        let bulk = |path: &'static str, items: Vec<Value>| ApiCall::bulk(path, &items);
        std::iter::once_with(move || bulk("/users", records::users()))
            .chain(std::iter::once_with(move || bulk("/products", records::products())))
            .chain(std::iter::once_with(move || {
                bulk("/companies", records::companies(market, today))
            }))
            .chain(std::iter::once_with(move || bulk("/endusers", users())))
            .chain(std::iter::once_with(move || {
                bulk("/licenses", records::licenses(market, today))
            }))
            .chain(std::iter::once_with(move || bulk("/projects", work::projects(market))))
            .chain(std::iter::once_with(move || bulk("/assets", work::assets(market))))
            .chain(std::iter::once_with(move || bulk("/timeentries", entries())))
            .chain(std::iter::once_with(move || bulk("/tickets", tickets())))
            .flatten()
    }

    fn bulk_path(&self) -> String {
        format!("/analytics/bulk/{}", self.tenant)
    }

    fn events<'d>(
        &self,
        market: &'d [Company],
        people: &'d [Person],
        now: DateTime<Utc>,
    ) -> impl Iterator<Item = ApiCall> + use<'d> {
        let path = self.bulk_path();
        let mut days = Events::new(market, people, now);
        let mut waiting: Vec<Event> = Vec::new();
        std::iter::from_fn(move || {
            while waiting.len() < BATCH {
                let Some(more) = days.next() else { break };
                waiting.extend(more);
            }
            let rows: Vec<Event> = waiting.drain(..waiting.len().min(BATCH)).collect();
            (!rows.is_empty()).then(|| ApiCall::new(Method::POST, &path, &rows, rows.len()))
        })
    }

    /// The fifth story: a sender that names a company by an unknown name.
    fn lost_events(&self, now: DateTime<Utc>) -> ApiCall {
        let row = |number: usize| {
            let minutes = (LOST_EVENTS - number) as i64;
            json!({
                "euExtId": format!("staging-{}", number % 5), "cId": UNKNOWN_COMPANY, "action": "Logged in",
                "date": written(now.timestamp_millis() - minutes * 60_000),
            })
        };
        let rows: Vec<Value> = (0..LOST_EVENTS).map(row).collect();
        ApiCall {
            is_parked: true,
            ..ApiCall::new(Method::POST, &self.bulk_path(), &rows, rows.len())
        }
    }
}

/// Decisions about timesheets, by the ids that they were stored with.
fn decisions(sheets: &[work::Timesheet], stored: &[u8]) -> Result<Vec<ApiCall>, String> {
    let stored: Value = serde_json::from_slice(stored).map_err(|error| error.to_string())?;
    let ids = stored.get("upsertedIds").and_then(Value::as_array).into_iter().flatten();
    let decided: Vec<Value> =
        sheets.iter().zip(ids).filter_map(|(sheet, id)| sheet.decided(id)).collect();
    Ok(ApiCall::bulk("/timesheets", &decided))
}

impl ApiCall {
    fn new(method: Method, path: &str, body: &impl Serialize, count: usize) -> Self {
        // The values have no keys but strings, and nothing that JSON lacks.
        let body = serde_json::to_vec(body).unwrap_or_default().into();
        Self { method, path: path.to_owned(), body, count, is_parked: false }
    }

    /// Bulk upserts of the largest number of items.
    fn bulk(path: &str, items: &[Value]) -> Vec<Self> {
        let chunks = items.chunks(BATCH);
        chunks.map(|chunk| Self::new(Method::PUT, path, &chunk, chunk.len())).collect()
    }
}

/// Body of a response that reports that everything is stored as it was sent.
async fn checked(response: Response, is_parked: bool) -> Result<Bytes, String> {
    let (head, body) = response.into_parts();
    let body = body.into_bytes().await.map_err(|error| error.to_string())?;
    if head.status != StatusCode::OK {
        return Err(String::from_utf8_lossy(&body).into_owned());
    }
    let headers = ["svctrack-bulk-errors", "svctrack-rejected-count", "svctrack-ignored"];
    let parked = ["svctrack-parked"].into_iter().filter(|_| !is_parked);
    for name in headers.into_iter().chain(parked) {
        let Some(value) = head.headers.get(name) else { continue };
        if value != "0" {
            return Err(format!("{name} {value:?}: {}", String::from_utf8_lossy(&body)));
        }
    }
    Ok(body)
}

#[cfg(test)]
mod tests;

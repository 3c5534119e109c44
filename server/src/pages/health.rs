//! The health of the service, and a backup of it.

use std::collections::BTreeMap;

use poem::Response;
use svctrack_core::access::OPERATOR;
use svctrack_store::histogram::HistogramCounts;
use svctrack_web::pages::{HealthView, RequestRates, RouteGroup, StoreSizes, health_page};
use tokio::task::spawn_blocking;

use super::{respond::html, visit::Visit};
use crate::{error::Error, observe::resources, routing::path_tree::RoutedRequest};

/// `GET /app/health`
pub(super) async fn health(visit: Visit, _: RoutedRequest<'_>) -> Result<Response, Error> {
    let may_operate = visit.api.may(OPERATOR);
    let view = HealthView {
        health: visit.api.get("/health").await?,
        version: env!("CARGO_PKG_VERSION"),
        public_url: visit.app.addresses.base_url().to_owned(),
        may_back_up: may_operate,
        // Of all tenants together.
        requests: may_operate.then(|| requests(&visit)),
        groups: if may_operate { groups(&visit) } else { Vec::new() },
        sizes: if may_operate { Some(sizes(&visit).await?) } else { None },
        // The page is also for a store that cannot be read.
        tables: match may_operate {
            true => visit.app.store.table_rows().await.unwrap_or_default(),
            false => Vec::new(),
        },
    };
    Ok(html(health_page(&visit.shell, &view)))
}

/// Sizes of the store and the process. The disk may not respond, so that another thread asks it.
async fn sizes(visit: &Visit) -> Result<StoreSizes, Error> {
    let app = visit.app.clone();
    let found = spawn_blocking(move || StoreSizes {
        file_bytes: app.store.metrics().file_bytes,
        free_bytes: app.observe.data.as_deref().and_then(resources::free_bytes),
        memory_bytes: resources::memory_bytes(),
    });
    found.await.map_err(|error| Error::Internal(error.to_string()))
}

/// Groups of routes, each with the beginnings of their paths; the last one has all others.
const GROUPS: &[(&str, &[&str])] = &[
    ("Events", &["/analytics", "/dock", "/v1"]),
    ("Live stream", &["/activities/stream"]),
    ("Reports", &["/reports"]),
    ("Pages", &["/app", "/sign-in", "/sign-out"]),
    ("Docs", &["/docs", "/demo", "/openapi.json", "/script.json"]),
    ("Operation", &["/health", "/backup", "/tenants", "/tokens", "/audit", "/settings"]),
    ("Records and imports", &["/"]),
];

fn group_of(template: Option<&str>) -> &'static str {
    let path = match template {
        Some("/") => return "Pages",
        Some(path) => path,
        None => return "Unknown routes and files",
    };
    let is_in = |prefixes: &[&str]| prefixes.iter().any(|prefix| path.starts_with(prefix));
    GROUPS.iter().find(|(_, prefixes)| is_in(prefixes)).map_or("", |(label, _)| label)
}

/// Requests since the start, by group, those with the most first.
fn groups(visit: &Visit) -> Vec<RouteGroup> {
    let mut groups: BTreeMap<&'static str, (u64, HistogramCounts)> = BTreeMap::new();
    for route in visit.app.observe.requests.routes() {
        let (failed, took) = groups.entry(group_of(route.template())).or_default();
        for method in route.methods() {
            let [_, _, _, of_method] = method.by_status();
            *failed += of_method;
            took.add(&method.took());
        }
    }
    let mut groups: Vec<RouteGroup> = groups
        .into_iter()
        .map(|(label, (failed, took))| RouteGroup {
            label,
            requests: took.count(),
            failed,
            p50_us: took.quantile(0.5),
            p99_us: took.quantile(0.99),
        })
        .filter(|group| group.requests > 0)
        .collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.requests));
    groups
}

/// Current rates of requests.
fn requests(visit: &Visit) -> RequestRates {
    let observe = &visit.app.observe;
    let rates = observe.recent.rates(&observe.requests);
    RequestRates {
        seconds: rates.within.as_secs().max(1),
        requests: rates.requests,
        failed: rates.failed,
        p50_us: rates.p50_us,
        p99_us: rates.p99_us,
    }
}

/// `GET /app/backup`: all that is stored, as a file.
pub(super) async fn backup(visit: Visit, _: RoutedRequest<'_>) -> Result<Response, Error> {
    visit.api.ask("/backup", "*/*").await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_in_the_group_of_its_path() {
        for (template, group) in [
            (Some("/"), "Pages"),
            (Some("/app/records/{id}"), "Pages"),
            (Some("/analytics/{tenant}"), "Events"),
            (Some("/activities/stream"), "Live stream"),
            (Some("/activities"), "Records and imports"),
            (Some("/reports/mrr"), "Reports"),
            (None, "Unknown routes and files"),
        ] {
            assert_eq!(group_of(template), group, "{template:?}");
        }
    }
}

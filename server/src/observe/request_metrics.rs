//! Metrics of requests: by route and status, their duration, and causes of rejection. The counters of a route are
//! created at the start; counting takes a few atomic additions, and a lock only for rejected requests.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use poem::http::Method;
use svctrack_core::value::TenantId;
use svctrack_store::histogram::{Histogram, HistogramCounts, TIMES_US};

/// Statuses by their first digit, as a label.
pub(crate) const STATUS_CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];
/// Tenants with a label of their own in the count of limited requests; all others share `other`. Each label is a time
/// series.
const MAX_TENANTS: usize = 100;
/// Label of the other tenants.
const OTHER_TENANTS: &str = "other";

/// Limits that a request can reach: the codes of its problem.
pub(crate) const LIMITS: [&str; 4] =
    ["daily_limit_reached", "too_many_keys", "too_many_parked", "too_many_requests"];
/// Causes that are exposed before they occur, so that the first occurrence is a change: those of [`LIMITS`] and these.
const KNOWN_CAUSES: [&str; 19] = [
    "body_timeout",
    "busy",
    "clock_wrong",
    "data_corrupted",
    "disk_full",
    "internal_error",
    "not_found",
    "overloaded",
    "route_not_found",
    "scope_missing",
    "store_stalled",
    "store_unavailable",
    "tenant_not_found",
    SUSPENDED,
    "token_expired",
    "token_malformed",
    "token_missing",
    "token_unknown",
    TRACKING_SUSPENDED,
];
/// Error code of requests of a suspended tenant.
const SUSPENDED: &str = "tenant_suspended";
/// Cause of events of a suspended tenant: a 503, so that senders retry, which alerts on errors leave out.
const TRACKING_SUSPENDED: &str = "tracking_suspended";

pub(crate) struct RouteMetrics {
    /// Path of the route with `{id}` for the variable parts; none for requests without a route.
    template: Option<Arc<str>>,
    methods: Vec<MethodMetrics>,
}

/// Metrics of a method of a route.
pub(crate) struct MethodMetrics {
    pub(crate) method: &'static str,
    by_status: [AtomicU64; STATUS_CLASSES.len()],
    took: Histogram,
}

impl MethodMetrics {
    fn new(method: &'static str) -> Self {
        let by_status = [const { AtomicU64::new(0) }; STATUS_CLASSES.len()];
        Self { method, by_status, took: Histogram::new(TIMES_US) }
    }

    /// Number of responses in each of [`STATUS_CLASSES`].
    pub(crate) fn by_status(&self) -> [u64; STATUS_CLASSES.len()] {
        self.by_status.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// Durations until responses began, in microseconds.
    pub(crate) fn took(&self) -> HistogramCounts {
        self.took.counts()
    }
}

/// Name of a method of HTTP, so that clients cannot choose it.
pub(crate) fn name_of(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        _ => OTHER_METHODS,
    }
}

/// The name of all methods that a route does not have.
const OTHER_METHODS: &str = "_OTHER";

impl RouteMetrics {
    fn new(template: Option<Arc<str>>, methods: BTreeSet<&'static str>) -> Arc<Self> {
        let all = methods.into_iter().chain([OTHER_METHODS]);
        Arc::new(Self { template, methods: all.map(MethodMetrics::new).collect() })
    }

    /// Template of the route's path.
    pub(crate) fn template(&self) -> Option<&str> {
        self.template.as_deref()
    }

    /// Methods of the route, and the one for all others.
    pub(crate) fn methods(&self) -> &[MethodMetrics] {
        &self.methods
    }

    fn count(&self, method: &'static str, status: u16, took: Duration) {
        // HEAD is served as GET is.
        let method = if method == "HEAD" { "GET" } else { method };
        let known = self.methods.iter().find(|known| known.method == method);
        let Some(metrics) = known.or(self.methods.last()) else { return };
        let class = usize::from(status / 100).saturating_sub(2);
        if let Some(count) = metrics.by_status.get(class) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        metrics.took.record_time(took);
    }
}

pub(crate) struct RequestMetrics {
    routes: Mutex<Vec<Arc<RouteMetrics>>>,
    without_route: Arc<RouteMetrics>,
    active: AtomicU64,
    /// Requests whose client disconnected before there was a response.
    aborted: AtomicU64,
    rejected: Mutex<RejectedRequests>,
}

#[derive(Default)]
struct RejectedRequests {
    by_cause: BTreeMap<String, u64>,
    tenants: BTreeSet<TenantId>,
    /// By the cause and the tenant.
    limited: BTreeMap<(&'static str, String), u64>,
}

impl Default for RequestMetrics {
    fn default() -> Self {
        let by_cause = KNOWN_CAUSES.iter().chain(&LIMITS).map(|code| ((*code).to_owned(), 0));
        let by_cause = by_cause.collect();
        Self {
            routes: Mutex::default(),
            without_route: RouteMetrics::new(None, BTreeSet::new()),
            active: AtomicU64::new(0),
            aborted: AtomicU64::new(0),
            rejected: Mutex::new(RejectedRequests { by_cause, ..RejectedRequests::default() }),
        }
    }
}

/// All requests together at a point in time.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestTotals {
    pub(crate) failed: u64,
    pub(crate) took: HistogramCounts,
}

impl RequestMetrics {
    /// Begins to count a route with these methods and a path with `:id` for the variable part.
    pub(crate) fn add_route<'m>(
        &self,
        path: &str,
        methods: impl Iterator<Item = &'m Method>,
    ) -> Arc<RouteMetrics> {
        let part = |part: &str| match part.strip_prefix(':') {
            Some(name) => format!("/{{{name}}}"),
            None => format!("/{part}"),
        };
        let template: String = path.trim_start_matches('/').split('/').map(part).collect();
        let route = RouteMetrics::new(Some(template.into()), methods.map(name_of).collect());
        self.routes.lock().push(route.clone());
        route
    }

    /// All routes, and the one for requests without a route.
    pub(crate) fn routes(&self) -> Vec<Arc<RouteMetrics>> {
        let routes = self.routes.lock();
        routes.iter().chain([&self.without_route]).cloned().collect()
    }

    /// Metrics of requests without a route.
    pub(crate) fn without_route(&self) -> &Arc<RouteMetrics> {
        &self.without_route
    }

    pub(crate) fn begin(&self) {
        self.active.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request whose response begins.
    pub(crate) fn respond(
        &self,
        (route, method): (&RouteMetrics, &'static str),
        (status, cause): (u16, Option<&str>),
        tenant: Option<TenantId>,
        took: Duration,
    ) {
        self.active.fetch_sub(1, Ordering::Relaxed);
        route.count(method, status, took);
        if let Some(cause) = cause.filter(|_| status >= 400) {
            let is_of_events = cause == SUSPENDED && status >= 500;
            self.reject(if is_of_events { TRACKING_SUSPENDED } else { cause }, tenant);
        }
    }

    /// Counts a request whose client disconnected.
    pub(crate) fn abort(&self) {
        self.active.fetch_sub(1, Ordering::Relaxed);
        self.aborted.fetch_add(1, Ordering::Relaxed);
    }

    fn reject(&self, cause: &str, tenant: Option<TenantId>) {
        let mut rejected = self.rejected.lock();
        match rejected.by_cause.get_mut(cause) {
            Some(count) => *count += 1,
            None => drop(rejected.by_cause.insert(cause.to_owned(), 1)),
        }
        let limit = LIMITS.into_iter().find(|limit| *limit == cause);
        if let (Some(limit), Some(tenant)) = (limit, tenant) {
            let tenant = rejected.name_of(tenant);
            *rejected.limited.entry((limit, tenant)).or_default() += 1;
        }
    }

    fn rejected(&self) -> MutexGuard<'_, RejectedRequests> {
        self.rejected.lock()
    }

    /// Rejected requests, by their cause.
    pub(crate) fn by_cause(&self) -> BTreeMap<String, u64> {
        self.rejected().by_cause.clone()
    }

    /// Requests that have reached a limit, by its code and their tenant.
    pub(crate) fn limited(&self) -> BTreeMap<(&'static str, String), u64> {
        self.rejected().limited.clone()
    }

    /// Requests that are served at the moment.
    pub(crate) fn active(&self) -> u64 {
        self.active.load(Ordering::Relaxed)
    }

    /// Requests whose client disconnected.
    pub(crate) fn aborted(&self) -> u64 {
        self.aborted.load(Ordering::Relaxed)
    }

    /// Counts of all routes together, at this point in time.
    pub(crate) fn totals(&self) -> RequestTotals {
        let mut totals = RequestTotals::default();
        for route in self.routes() {
            for method in route.methods() {
                let [_, _, _, failed] = method.by_status();
                totals.failed += failed;
                totals.took.add(&method.took());
            }
        }
        totals
    }
}

impl RejectedRequests {
    /// Label of a tenant: its id for the first ones, a common one for the others.
    fn name_of(&mut self, tenant: TenantId) -> String {
        if self.tenants.len() < MAX_TENANTS {
            self.tenants.insert(tenant);
        }
        match self.tenants.contains(&tenant) {
            true => tenant.to_string(),
            false => OTHER_TENANTS.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_counted_by_route_method_and_status() {
        let metrics = RequestMetrics::default();
        let route = metrics.add_route("/companies/:id", [Method::GET, Method::PUT].iter());
        assert_eq!(route.template(), Some("/companies/{id}"));
        for (method, status) in [("GET", 200), ("GET", 204), ("GET", 404), ("PUT", 503), ("X", 405)]
        {
            metrics.begin();
            metrics.respond((&route, method), (status, None), None, Duration::from_millis(1));
        }
        let counted = route.methods().iter().map(|method| (method.method, method.by_status()));
        let expect = [("GET", [2, 0, 1, 0]), ("PUT", [0, 0, 0, 1]), ("_OTHER", [0, 0, 1, 0])];
        assert_eq!(counted.collect::<Vec<_>>(), expect);
        assert_eq!((metrics.totals().took.count(), metrics.totals().failed), (5, 1));
        assert_eq!(metrics.active(), 0);
    }

    #[test]
    fn tenants_beyond_a_number_are_counted_as_one() {
        let metrics = RequestMetrics::default();
        for number in 0..=u8::try_from(MAX_TENANTS).unwrap() + 1 {
            metrics.reject("too_many_requests", Some(TenantId::from_bytes([number; 16])));
        }
        let limited = metrics.limited();
        assert_eq!(limited.len(), MAX_TENANTS + 1);
        assert_eq!(limited[&("too_many_requests", "other".to_owned())], 2);
        assert_eq!(metrics.by_cause()["too_many_requests"], 102);
        assert_eq!(metrics.by_cause()["disk_full"], 0, "it is there before it occurs");
    }
}

//! Rates and response times of the last minute, or since the start, for the page of health.

use std::{collections::VecDeque, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::request_metrics::{RequestMetrics, RequestTotals};

/// Interval in which the totals are noted.
pub(crate) const NOTED_EVERY: Duration = Duration::from_secs(10);
/// Number of notes: those of a minute.
const REMEMBERED: usize = 7;

/// The totals at some points in time, oldest first.
pub(crate) struct RecentTotals(Mutex<VecDeque<(Instant, RequestTotals)>>);

impl Default for RecentTotals {
    fn default() -> Self {
        Self(Mutex::new(VecDeque::from([(Instant::now(), RequestTotals::default())])))
    }
}

/// Rates and durations of recent requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RecentRates {
    /// Time that the rates are about.
    pub(crate) within: Duration,
    pub(crate) requests: u64,
    /// Requests that failed by a fault of the server.
    pub(crate) failed: u64,
    /// Upper bounds of half of all response times, and of 99 in 100, in microseconds.
    pub(crate) p50_us: Option<u64>,
    pub(crate) p99_us: Option<u64>,
}

impl RecentTotals {
    /// Notes the totals of now.
    pub(crate) fn note(&self, totals: RequestTotals) {
        let mut noted = self.0.lock();
        noted.push_back((Instant::now(), totals));
        if noted.len() > REMEMBERED {
            noted.pop_front();
        }
    }

    /// Rates of the last minute.
    pub(crate) fn rates(&self, requests: &RequestMetrics) -> RecentRates {
        let (now, totals) = (Instant::now(), requests.totals());
        let noted = self.0.lock();
        let (since, before) = noted.front().map_or((now, &totals), |(at, totals)| (*at, totals));
        let took = totals.took.since(&before.took);
        RecentRates {
            within: now.saturating_duration_since(since),
            requests: took.count(),
            failed: totals.failed.saturating_sub(before.failed),
            p50_us: took.quantile(0.5),
            p99_us: took.quantile(0.99),
        }
    }
}

#[cfg(test)]
mod tests {
    use poem::http::Method;
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn rates_are_of_the_last_minute() {
        let (recent, requests) = (RecentTotals::default(), RequestMetrics::default());
        let route = requests.add_route("/x", [Method::GET].iter());
        let serve = |status| {
            requests.begin();
            let took = Duration::from_millis(1);
            requests.respond((&route, "GET"), (status, None), None, took);
        };
        serve(200);
        serve(500);
        for _ in 0..REMEMBERED {
            sleep(NOTED_EVERY).await;
            recent.note(requests.totals());
        }
        serve(200);
        let rates = recent.rates(&requests);
        let expect = RecentRates {
            within: Duration::from_secs(60),
            requests: 1,
            failed: 0,
            p50_us: Some(1_000),
            p99_us: Some(1_000),
        };
        assert_eq!(rates, expect);
    }
}

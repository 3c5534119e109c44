//! The metrics of a server in the OpenMetrics text format, which Prometheus reads.

use std::{fmt, sync::Arc};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet, text},
    metrics::MetricType,
    registry::Registry,
};
use svctrack_store::{Health, histogram::HistogramCounts};

use super::{request_metrics::STATUS_CLASSES, resources::free_bytes};
use crate::{app::App, tls::acceptor::Tls};

pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Microseconds of a second.
const SECOND_US: f64 = 1_000_000.0;
/// Milliseconds of a second.
const SECOND_MS: f64 = 1_000.0;

/// Metrics of a server.
pub(crate) struct MetricsCollector(Arc<App>);

impl fmt::Debug for MetricsCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Figures")
    }
}

/// Registry of a server, whose metrics are read on request.
pub(crate) fn registry(app: &Arc<App>) -> Registry {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(MetricsCollector(app.clone())));
    registry
}

/// The text of all figures.
///
/// # Errors
/// Only those of a formatter.
pub(crate) fn write(registry: &Registry) -> Result<String, fmt::Error> {
    let mut text = String::new();
    text::encode(&mut text, registry)?;
    Ok(text)
}

impl Collector for MetricsCollector {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut to = MetricTarget(encoder);
        self.encode_server(&mut to)?;
        self.encode_requests(&mut to)?;
        self.encode_connections(&mut to)?;
        self.encode_tls(&mut to)?;
        self.encode_store(&mut to)?;
        self.encode_upkeep(&mut to)
    }
}

impl MetricsCollector {
    fn encode_server(&self, to: &mut MetricTarget<'_>) -> fmt::Result {
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        to.gauge("svctrack_build_info", "Version of the server", &[(&version[..], 1.0)])?;
        let started = self.0.observe.started.as_ms() as f64 / SECOND_MS;
        to.one_gauge("svctrack_start_timestamp_seconds", "When the server started", started)?;
        let lost = self.0.observe.log.lines_lost();
        to.one_counter("svctrack_log_lines_lost", "Log lines that were dropped", lost)
    }

    fn encode_requests(&self, to: &mut MetricTarget<'_>) -> fmt::Result {
        let requests = &self.0.observe.requests;
        let routes = requests.routes();
        let methods = routes.iter().flat_map(|route| {
            let template = route.template().unwrap_or_default();
            route.methods().iter().map(move |method| (template, method))
        });
        let mut served = to.metric(
            "svctrack_http_requests",
            "Requests by method, route template and status class",
            MetricType::Counter,
        )?;
        for (route, method) in methods.clone() {
            for (class, count) in STATUS_CLASSES.into_iter().zip(method.by_status()) {
                let labels = [
                    ("http_request_method", method.method),
                    ("http_route", route),
                    ("status", class),
                ];
                add_counter(&mut served, &labels, count)?;
            }
        }
        let mut took = to.metric(
            "http_server_request_duration_seconds",
            "Time until the response begins",
            MetricType::Histogram,
        )?;
        // A route without a call has no line: there are some hundred.
        for (route, method) in methods {
            let counts = method.took();
            if counts.count() > 0 {
                let labels = [("http_request_method", method.method), ("http_route", route)];
                add_histogram(&mut took.encode_family(&labels)?, &counts, SECOND_US)?;
            }
        }
        let (active, aborted) = (requests.active() as f64, requests.aborted());
        to.one_gauge("http_server_active_requests", "Requests in progress", active)?;
        let help = "Requests whose client disconnected before the response";
        to.one_counter("svctrack_http_requests_aborted", help, aborted)?;
        let mut rejected = to.metric(
            "svctrack_http_requests_rejected",
            "Rejected requests by error code",
            MetricType::Counter,
        )?;
        for (cause, count) in requests.by_cause() {
            add_counter(&mut rejected, &[("cause", cause.as_str())], count)?;
        }
        let mut limited = to.metric(
            "svctrack_http_requests_limited",
            "Requests that reached a limit, by its code and the tenant",
            MetricType::Counter,
        )?;
        for ((cause, tenant), count) in requests.limited() {
            add_counter(&mut limited, &[("cause", cause), ("tenant", tenant.as_str())], count)?;
        }
        Ok(())
    }

    fn encode_connections(&self, to: &mut MetricTarget<'_>) -> fmt::Result {
        let (open, accepted, rejected) = self.0.observe.connections.counts();
        to.one_gauge("svctrack_connections_open", "Open connections", open as f64)?;
        let help = "Connections since the start";
        to.one_counter("svctrack_connections_accepted", help, accepted)?;
        let help = "Connections rejected by a limit per address, or without a valid header of the PROXY protocol";
        to.one_counter("svctrack_connections_rejected", help, rejected)?;
        let streams = self.0.streams.taken() as f64;
        to.one_gauge("svctrack_streams_open", "Open streams of activities", streams)
    }

    /// Without TLS its metrics have no values.
    fn encode_tls(&self, to: &mut MetricTarget<'_>) -> fmt::Result {
        let tls = self.0.observe.tls.as_deref();
        let not_after = tls.and_then(Tls::validity).map(|validity| validity.not_after as f64);
        let help = "Until when the certificate is valid";
        to.one_gauge("svctrack_tls_certificate_not_after_timestamp_seconds", help, not_after)?;
        let has_failed = tls.map(|tls| f64::from(u8::from(tls.has_reload_failed())));
        let help = "1 while the files of the certificate have changed and cannot be used, else 0";
        to.one_gauge("svctrack_tls_reload_failed", help, has_failed)?;
        let failed = tls.map_or(0, Tls::failed_handshakes);
        to.one_counter("svctrack_tls_handshakes_failed", "TLS handshakes that failed", failed)
    }

    fn encode_store(&self, to: &mut MetricTarget<'_>) -> fmt::Result {
        let metrics = self.0.store.metrics();
        let help = "Queued commands: single records and events, and bulk";
        let queued = [
            (&[("size", "single")][..], metrics.queued_single as f64),
            (&[("size", "bulk")][..], metrics.queued_bulk as f64),
        ];
        to.gauge("svctrack_store_queue_commands", help, &queued)?;
        let help = "Memory of queued commands";
        to.one_gauge("svctrack_store_queue_bytes", help, metrics.queued_bytes as f64)?;
        for (name, help, counts, unit) in [
            ("svctrack_store_batch_commands", "Commands per commit", &metrics.batch_commands, 1.0),
            (
                "svctrack_store_batch_rows",
                "Records and events per commit",
                &metrics.batch_rows,
                1.0,
            ),
            (
                "svctrack_store_commit_duration_seconds",
                "Duration of commits, sync included",
                &metrics.commits,
                SECOND_US,
            ),
            (
                "svctrack_store_sync_duration_seconds",
                "Duration of file syncs",
                &metrics.syncs,
                SECOND_US,
            ),
        ] {
            add_histogram(&mut to.metric(name, help, MetricType::Histogram)?, counts, unit)?;
        }
        let help = "Size of the store's file";
        to.one_gauge("svctrack_store_file_bytes", help, metrics.file_bytes as f64)?;
        let free = self.0.observe.data.as_deref().and_then(free_bytes).map(|free| free as f64);
        let help = "Free space on the disk of the store";
        to.one_gauge("svctrack_store_disk_free_bytes", help, free)?;
        let mut issues = to.metric(
            "svctrack_integration_issues",
            "Integration issues by their code",
            MetricType::Counter,
        )?;
        for (code, count) in &metrics.issues {
            add_counter(&mut issues, &[("code", *code)], *count)?;
        }
        Ok(())
    }

    /// Health, scrub, clock and backups.
    fn encode_upkeep(&self, to: &mut MetricTarget<'_>) -> fmt::Result {
        let status = self.0.store.status();
        let states = Health::ALL.map(|health| {
            ([("status", health.name())], f64::from(u8::from(health == status.health)))
        });
        let states: Vec<_> = states.iter().map(|(labels, value)| (&labels[..], *value)).collect();
        to.gauge(
            "svctrack_store_status",
            "1 for the current status of the store, else 0",
            &states,
        )?;
        let help = "Responses with corrupted data";
        to.one_counter("svctrack_store_corruption", help, status.damaged)?;
        let behind = status.clock.map_or(0, |clock| clock.behind_seconds);
        let help = "How far the clock is behind the newest stored time";
        to.one_gauge("svctrack_clock_behind_seconds", help, behind as f64)?;
        let at = status.checked.map(|scrub| scrub.at.as_ms() as f64 / SECOND_MS);
        to.one_gauge("svctrack_scrub_last_timestamp_seconds", "When the last scrub ended", at)?;
        let rows = status.checked.map(|scrub| scrub.rows as f64);
        to.one_gauge("svctrack_scrub_rows", "Rows that the last scrub read", rows)?;
        let corrupted = status.checked.map_or(0, |scrub| scrub.damaged) as f64;
        let help = "Corrupted rows that the last scrub found";
        to.one_gauge("svctrack_scrub_corrupted_rows", help, corrupted)?;
        let backups = self.0.backups.done();
        let is_scheduled = f64::from(u8::from(backups.is_some()));
        to.one_gauge("svctrack_backup_scheduled", "1 if backups are scheduled", is_scheduled)?;
        let failed = backups.map_or(0, |backups| backups.failed);
        let help = "Failed backups since the last successful one";
        to.one_gauge("svctrack_backup_failures", help, f64::from(failed))?;
        let help = "When the newest scheduled backup was made";
        let at = backups.and_then(|backups| backups.at).map(|at| at.as_ms() as f64 / SECOND_MS);
        to.one_gauge("svctrack_backup_last_success_timestamp_seconds", help, at)?;
        let ahead = backups.map_or(0, |backups| backups.ahead) as f64;
        let help = "Backups that are dated later than the clock";
        to.one_gauge("svctrack_backup_files_ahead", help, ahead)?;
        let foreign = backups.map_or(0, |backups| backups.foreign) as f64;
        let help = "Backups of another store in the directory of backups";
        to.one_gauge("svctrack_backup_files_foreign", help, foreign)
    }
}

/// Labels with their values.
type Labels<'l> = &'l [(&'l str, &'l str)];

/// Target of the metrics.
struct MetricTarget<'e>(DescriptorEncoder<'e>);

impl MetricTarget<'_> {
    /// Begins a metric; the name of a counter has no `_total` here.
    fn metric<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.0.encode_descriptor(name, help, None, kind)
    }

    fn gauge(&mut self, name: &str, help: &str, values: &[(Labels<'_>, f64)]) -> fmt::Result {
        let mut metric = self.metric(name, help, MetricType::Gauge)?;
        for (labels, value) in values {
            metric.encode_family(labels)?.encode_gauge(value)?;
        }
        Ok(())
    }

    /// A gauge without labels, and without a value until there is one.
    fn one_gauge(&mut self, name: &str, help: &str, value: impl Into<Option<f64>>) -> fmt::Result {
        let mut metric = self.metric(name, help, MetricType::Gauge)?;
        value.into().map_or(Ok(()), |value| metric.encode_gauge(&value))
    }

    fn one_counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        self.metric(name, help, MetricType::Counter)?
            .encode_counter::<NoLabelSet, _, f64>(&value, None)
    }
}

fn add_counter(
    to: &mut MetricEncoder<'_>,
    labels: &impl EncodeLabelSet,
    value: u64,
) -> fmt::Result {
    to.encode_family(labels)?.encode_counter::<NoLabelSet, _, f64>(&value, None)
}

/// Writes a histogram; its values are in a unit that is `unit` times smaller than the unit in its name.
fn add_histogram(to: &mut MetricEncoder<'_>, counts: &HistogramCounts, unit: f64) -> fmt::Result {
    let bounds = counts.bounds.iter().map(|bound| *bound as f64 / unit).chain([f64::INFINITY]);
    let buckets: Vec<_> = bounds.zip(counts.counts.iter().copied()).collect();
    to.encode_histogram::<NoLabelSet>(counts.sum as f64 / unit, counts.count(), &buckets, None)
}

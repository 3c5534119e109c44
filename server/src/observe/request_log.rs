//! Log lines of requests: all failed and slow ones, and one in N of the others. The log's own thread writes them, as
//! text or JSON like all others.

use std::{
    fmt::{self, Write as _},
    net::IpAddr,
    num::NonZeroU32,
    str::FromStr,
    time::Duration,
};

use serde::Serialize;
use svctrack_core::value::TenantId;
use svctrack_store::{Clock as _, SystemClock};

use crate::{
    config::setting_text::setting_as_text,
    log::{LogFormat, LogLines},
};

/// Requests that are logged, as a setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogRequests {
    /// No request has a line.
    Off,
    /// Failed and slow requests.
    #[default]
    Failed,
    /// Failed and slow requests, and one in this many of the others.
    OneIn(NonZeroU32),
}

setting_as_text!(LogRequests);

impl FromStr for LogRequests {
    type Err = String;

    /// # Errors
    /// A message with the expected form.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            "failed" => Ok(Self::Failed),
            "all" => Ok(Self::OneIn(NonZeroU32::MIN)),
            number => number.parse().map(Self::OneIn).map_err(|_| {
                format!(
                    "expected `off`, `failed`, `all`, or a number N for one in N; found `{text}`"
                )
            }),
        }
    }
}

impl fmt::Display for LogRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Failed => f.write_str("failed"),
            Self::OneIn(NonZeroU32::MIN) => f.write_str("all"),
            Self::OneIn(number) => number.fmt(f),
        }
    }
}

/// Filter and target of the lines.
#[derive(Default)]
pub struct RequestLog {
    lines: Option<LogLines>,
    format: LogFormat,
    which: LogRequests,
    /// Duration from which on a request is slow.
    slow: Duration,
}

/// Facts of a request when it has ended.
#[derive(Serialize)]
pub(crate) struct RequestLine<'a> {
    pub(crate) request_id: &'a str,
    pub(crate) method: &'static str,
    /// Template of the route; none for a request without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) route: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub(crate) tenant: Option<TenantId>,
    /// Id of the caller's token, which is no secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<&'a str>,
    pub(crate) status: u16,
    /// Code of the problem, where the request was rejected or its events are parked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<&'a str>,
    /// Scope that the token lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<&'a str>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    #[serde(rename = "ms", serialize_with = "as_ms")]
    pub(crate) took: Duration,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client: Option<IpAddr>,
    /// Number of similar requests that the line represents.
    pub(crate) sample_rate: u32,
}

/// A line of JSON, with the members that all lines have.
#[derive(Serialize)]
struct JsonLine<'a> {
    timestamp: &'a str,
    level: &'static str,
    message: &'static str,
    #[serde(flatten)]
    line: &'a RequestLine<'a>,
    target: &'static str,
}

/// Name of these lines in a filter of the log.
const TARGET: &str = "svctrack_server::request";
/// The event of a line.
const MESSAGE: &str = "request";
/// Most lines have fewer bytes.
const LINE_BYTES: usize = 320;

impl RequestLog {
    /// A log of requests. `slow` is the time from which on a request is slow.
    pub(crate) fn new(
        lines: LogLines,
        format: LogFormat,
        which: LogRequests,
        slow: Duration,
    ) -> Self {
        Self { lines: Some(lines), format, which, slow }
    }

    /// Number of lost lines of the log.
    pub(crate) fn lines_lost(&self) -> u64 {
        self.lines.as_ref().map_or(0, LogLines::lost)
    }

    /// Number of requests that the line of this one represents; none where it is not written.
    pub(crate) fn sample_rate(&self, request_id: &str, status: u16, took: Duration) -> Option<u32> {
        let rate = match self.which {
            _ if self.lines.is_none() => None,
            LogRequests::Off => None,
            _ if status >= 400 || took >= self.slow => Some(1),
            LogRequests::Failed => None,
            LogRequests::OneIn(number) => {
                let is_sampled =
                    crc32fast::hash(request_id.as_bytes()).is_multiple_of(number.get());
                is_sampled.then_some(number.get())
            }
        }?;
        let is_enabled = match status >= 500 {
            true => tracing::enabled!(target: TARGET, tracing::Level::WARN),
            false => tracing::enabled!(target: TARGET, tracing::Level::INFO),
        };
        is_enabled.then_some(rate)
    }

    /// Passes a line to the thread that writes them.
    pub(crate) fn write(&self, line: &RequestLine<'_>) {
        let Some(lines) = &self.lines else { return };
        let time = SystemClock.now().to_string();
        let level = if line.status >= 500 { "WARN" } else { "INFO" };
        lines.send(match self.format {
            LogFormat::Text => text_line(&time, level, line).into_bytes(),
            LogFormat::Json => json_line(&time, level, line),
        });
    }
}

fn json_line(timestamp: &str, level: &'static str, line: &RequestLine<'_>) -> Vec<u8> {
    let mut text = Vec::with_capacity(LINE_BYTES);
    let line = JsonLine { timestamp, level, message: MESSAGE, line, target: TARGET };
    // Writing to a buffer does not fail.
    let _ = serde_json::to_writer(&mut text, &line);
    text.push(b'\n');
    text
}

fn text_line(time: &str, level: &str, line: &RequestLine<'_>) -> String {
    let mut text = String::with_capacity(LINE_BYTES);
    let RequestLine { request_id, method, status, bytes_in, bytes_out, sample_rate, .. } = line;
    // Writing to a `String` does not fail.
    let _ = write!(
        text,
        "{time} {level:>5} {TARGET}: {MESSAGE} request_id={request_id} method={method}"
    );
    let optional: [(&str, Option<&dyn fmt::Display>); 3] = [
        ("route", line.route.as_ref().map(|route| route as _)),
        ("tenant", line.tenant.as_ref().map(|tenant| tenant as _)),
        ("token", line.token.as_ref().map(|token| token as _)),
    ];
    add_all(&mut text, &optional);
    let _ = write!(text, " status={status}");
    let reasons: [(&str, Option<&dyn fmt::Display>); 2] = [
        ("cause", line.cause.as_ref().map(|cause| cause as _)),
        ("scope", line.scope.as_ref().map(|scope| scope as _)),
    ];
    add_all(&mut text, &reasons);
    let ms = ms_of(line.took);
    let _ = write!(text, " bytes_in={bytes_in} bytes_out={bytes_out} ms={ms}");
    add_all(&mut text, &[("client", line.client.as_ref().map(|client| client as _))]);
    let _ = writeln!(text, " sample_rate={sample_rate}");
    text
}

/// Adds the fields that have values.
fn add_all(text: &mut String, fields: &[(&str, Option<&dyn fmt::Display>)]) {
    for (name, value) in fields {
        if let Some(value) = value {
            let _ = write!(text, " {name}={value}");
        }
    }
}

/// Milliseconds with three decimals.
fn ms_of(took: Duration) -> f64 {
    let micros = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
    f64::from(micros) / 1_000.0
}

fn as_ms<S: serde::Serializer>(took: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(ms_of(*took))
}

fn as_text<S: serde::Serializer>(tenant: &Option<TenantId>, to: S) -> Result<S::Ok, S::Error> {
    match tenant {
        Some(tenant) => to.collect_str(tenant),
        None => to.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> RequestLine<'static> {
        RequestLine {
            request_id: "a-1",
            method: "GET",
            route: Some("/companies/{id}"),
            tenant: Some(TenantId::from_bytes([1; 16])),
            token: Some("P0ah3R3E"),
            status: 403,
            cause: Some("scope_missing"),
            scope: Some("companies:read"),
            bytes_in: 0,
            bytes_out: 120,
            took: Duration::from_micros(1_250),
            client: "192.0.2.1".parse().ok(),
            sample_rate: 1,
        }
    }

    #[test]
    fn a_line_has_its_fields_as_text_and_as_json() {
        let tenant = "01010101-0101-0101-0101-010101010101";
        let text = text_line("2026-11-26T01:00:00.000Z", "INFO", &line());
        assert_eq!(
            text,
            format!(
                "2026-11-26T01:00:00.000Z  INFO svctrack_server::request: request request_id=a-1 method=GET \
                 route=/companies/{{id}} tenant={tenant} token=P0ah3R3E status=403 cause=scope_missing scope=companies:read bytes_in=0 bytes_out=120 ms=1.25 \
                 client=192.0.2.1 sample_rate=1\n"
            )
        );
        let json = json_line("2026-11-26T01:00:00.000Z", "INFO", &line());
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        let expect = serde_json::json!({
            "timestamp": "2026-11-26T01:00:00.000Z", "level": "INFO", "message": "request",
            "target": "svctrack_server::request", "request_id": "a-1", "method": "GET",
            "route": "/companies/{id}", "tenant": tenant, "token": "P0ah3R3E", "status": 403, "cause": "scope_missing",
            "scope": "companies:read", "bytes_in": 0, "bytes_out": 120, "ms": 1.25, "client": "192.0.2.1", "sample_rate": 1,
        });
        assert_eq!(json, expect);
    }

    #[test]
    fn which_requests_are_logged_is_read_as_it_is_written() {
        for text in ["off", "failed", "all", "100"] {
            assert_eq!(text.parse::<LogRequests>().unwrap().to_string(), text);
        }
        assert_eq!("1".parse::<LogRequests>().unwrap().to_string(), "all");
        for text in ["", "0", "-1", "some"] {
            assert!(text.parse::<LogRequests>().unwrap_err().contains("one in N"), "{text}");
        }
    }
}

//! The client that loads a server: `wrk`, the same for the server and its baseline.

use std::{path::Path, time::Duration};

use tokio::process::Command;

/// How long one round lasts, in seconds.
const ROUND_SECONDS: &str = "3";
/// Pause after a round, so that the next one does not meet its remaining work.
const PAUSE: Duration = Duration::from_millis(500);

/// One kind of load.
pub(crate) struct Load<'l> {
    pub(crate) connections: usize,
    /// The `Authorization` header, where there is one.
    pub(crate) token: Option<&'l str>,
    /// A Lua script that creates the requests, and its arguments.
    pub(crate) script: Option<(&'l Path, &'l [String])>,
}

impl Load<'_> {
    /// Requests a second of one round.
    pub(crate) async fn round(&self, url: &str) -> f64 {
        self.latencies(url).await.rate
    }

    /// What came of one round. A response other than 2xx ends the measurement.
    pub(crate) async fn latencies(&self, url: &str) -> Latencies {
        let mut wrk = Command::new("wrk");
        wrk.args([
            "-t1",
            "--latency",
            "-d",
            &format!("{ROUND_SECONDS}s"),
            "-c",
            &self.connections.to_string(),
        ]);
        if let Some(token) = self.token {
            wrk.args(["-H", &format!("Authorization: Bearer {token}")]);
        }
        if let Some((script, _)) = self.script {
            wrk.arg("-s").arg(script);
        }
        wrk.arg(url);
        if let Some((_, arguments)) = self.script {
            wrk.arg("--").args(arguments);
        }
        let output = wrk.output().await.unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(!said.contains("Non-2xx") && !said.contains("Socket errors"), "{url}: {said}");
        let figure = |name| {
            let figure = said.lines().find_map(|line| line.trim().strip_prefix(name));
            figure.unwrap_or_else(|| panic!("{said}")).trim()
        };
        tokio::time::sleep(PAUSE).await;
        Latencies { rate: figure("Requests/sec:").parse().unwrap(), p99_ms: ms(figure("99%")) }
    }
}

/// What came of a round.
pub(crate) struct Latencies {
    /// Responses that came in a second.
    pub(crate) rate: f64,
    /// p99 of the response time in milliseconds.
    pub(crate) p99_ms: f64,
}

/// A time as `wrk` says it, in milliseconds.
fn ms(text: &str) -> f64 {
    let number = text.trim_end_matches(char::is_alphabetic);
    let factor = match text.get(number.len()..).unwrap_or_default() {
        "us" => 1e-3,
        "ms" => 1.0,
        _ => 1e3,
    };
    number.parse::<f64>().unwrap() * factor
}

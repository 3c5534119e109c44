//! The client that loads a server: `wrk`, the same for the server and its yardstick.

use std::{path::Path, time::Duration};

use tokio::process::Command;

/// How long one round lasts, in seconds.
const ROUND_SECONDS: &str = "3";
/// Pause after a round, so that the next one meets no work that it left behind.
const PAUSE: Duration = Duration::from_millis(500);

/// One kind of load.
pub(crate) struct Load<'l> {
    pub(crate) connections: usize,
    /// The `Authorization` header, where there is one.
    pub(crate) token: Option<&'l str>,
    /// A Lua script that makes the requests, and its argument.
    pub(crate) script: Option<(&'l Path, &'l str)>,
}

impl Load<'_> {
    /// Requests a second of one round. An answer other than 2xx ends the measurement.
    pub(crate) async fn round(&self, url: &str) -> f64 {
        let mut wrk = Command::new("wrk");
        wrk.args(["-t1", "-d", &format!("{ROUND_SECONDS}s"), "-c", &self.connections.to_string()]);
        if let Some(token) = self.token {
            wrk.args(["-H", &format!("Authorization: Bearer {token}")]);
        }
        if let Some((script, _)) = self.script {
            wrk.arg("-s").arg(script);
        }
        wrk.arg(url);
        if let Some((_, argument)) = self.script {
            wrk.args(["--", argument]);
        }
        let output = wrk.output().await.unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(!said.contains("Non-2xx") && !said.contains("Socket errors"), "{url}: {said}");
        let line = said.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:"));
        tokio::time::sleep(PAUSE).await;
        line.unwrap_or_else(|| panic!("{said}")).trim().parse().unwrap()
    }
}

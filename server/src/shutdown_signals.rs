//! SIGTERM, SIGINT and SIGHUP: the signals by which an operator stops the server.
//!
//! Requests in flight finish in `listener`; `run` stops the jobs, and the store at last.

use std::io::{self, IsTerminal as _};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals of the operator, by which the server stops.
pub(crate) struct ShutdownSignals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl ShutdownSignals {
    pub(crate) fn listen() -> io::Result<Self> {
        let [terminate, interrupt, hangup] =
            [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        Ok(Self { terminate: terminate?, interrupt: interrupt?, hangup: hangup? })
    }

    /// Waits until the server is to stop. SIGHUP, with which other programs read their files again, stops only a server
    /// whose terminal is closed.
    pub(crate) async fn stop(&mut self) {
        let has_terminal = io::stdin().is_terminal();
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.hangup.recv() => {
                    if has_terminal {
                        return;
                    }
                    tracing::info!(
                        hint = "certificates reload by themselves; other settings need a restart",
                        "SIGHUP ignored"
                    );
                }
            }
        }
    }
}

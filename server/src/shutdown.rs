//! Shutdown: the signals by which an operator stops the server (SIGTERM, SIGINT and SIGHUP), and the time in which
//! requests in flight finish. `run` then stops the jobs, and the store at last.

use std::{
    io::{self, IsTerminal as _},
    pin::pin,
};

use hyper_util::server::graceful::GracefulShutdown;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::timeout,
};

use crate::{
    connection::open_connections::Connections,
    limits::{STOP_STALL, STOP_TIMEOUT},
};

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

/// Lets requests in flight finish, within their time.
pub(crate) async fn finish(graceful: GracefulShutdown, connections: &Connections) {
    let mut finished = pin!(graceful.shutdown());
    if timeout(STOP_STALL, &mut finished).await.is_ok() {
        return;
    }
    connections.end_waiting();
    if timeout(STOP_TIMEOUT, finished).await.is_err() {
        tracing::warn!(
            seconds = STOP_TIMEOUT.as_secs(),
            "requests in progress aborted at shutdown"
        );
    }
}

//! Starts the process: memory, signals, and the command line.

mod cli;

use std::{io, process::ExitCode};

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{Cli, print_err};

/// Pages of the store are read by one thread and freed by another. The system's allocator holds freed memory per
/// thread, so that backups and scans would allocate the cache again, each in its thread.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let (cli, matches) = Cli::read();
    if let Err(error) = survive_large_files() {
        print_err(&format!(
            "svctrack: a limit on file sizes (`ulimit -f`) can end the process: {error}"
        ));
    }
    cli.run(&matches).unwrap_or_else(|reason| {
        print_err(&format!("svctrack: {reason}"));
        ExitCode::FAILURE
    })
}

/// Makes a write beyond the size limit of a file (`ulimit -f`) fail as on a full disk, where its signal would end the
/// process.
fn survive_large_files() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _inside = runtime.enter();
    // The signal stays caught after the runtime is dropped.
    signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).map(drop)
}

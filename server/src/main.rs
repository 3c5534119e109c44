//! The command line of svctrack.

mod cli;

use std::{io, process::ExitCode};

use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::{Shell, generate};
use rustix::process::Signal;
use svctrack_server::{
    config::ConfigOverrides,
    run::{self, Engine},
    workers,
};
use tokio::signal::unix::{SignalKind, signal};

/// Pages of the store are read by one thread and let go by another. The system's allocator keeps those of each
/// thread for itself, so that backups and scans would take the cache anew, each in its thread.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A self-hosted revenue and customer-data service.
#[derive(Parser)]
#[command(name = "svctrack", version = env!("BUILD_VERSION"), args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server; `svctrack` alone does the same
    Serve(Serve),
    /// Create, list, rename, suspend, resume and delete tenants
    #[command(subcommand)]
    Tenant(cli::TenantCommand),
    /// Issue, list, rotate and revoke API tokens
    #[command(subcommand)]
    Token(cli::TokenCommand),
    /// Print the snippet of the tracking script, its Content-Security-Policy, and its files with hashes
    Script(cli::Script),
    /// Rewrite the store to purge deleted data and reclaim space (the server must be stopped)
    Compact(cli::Compact),
    /// Back up all tenants into one file, from a running or a stopped server
    Backup(cli::Backup),
    /// Restore a backup into an empty data directory
    Restore(cli::Restore),
    /// Export records to NDJSON or CSV files, one a resource
    ///
    /// Activities, tokens, reports and erased people are only in a backup.
    Export(cli::Export),
    /// Import records from an export or from another program's tables
    ///
    /// The exit code is 2 when records were rejected; each is reported with its line. People who were erased before the
    /// export can come back with later events: only a backup has the suppression list.
    Import(cli::Import),
    /// Verify the store for corruption (the server must be stopped)
    ///
    /// The exit code is 0 when the store is sound, 2 when data is corrupted, and 1 when the store cannot be read.
    Verify(cli::Verify),
    /// Print a shell completion script
    ///
    /// For bash: svctrack completions bash > /etc/bash_completion.d/svctrack
    Completions {
        /// Shell to complete for
        shell: Shell,
    },
}

#[derive(Args)]
struct Serve {
    #[command(flatten)]
    given: ConfigOverrides,
    /// Storage engine
    #[arg(long, env = "SVCTRACK_STORE", value_name = "ENGINE", value_enum, default_value_t)]
    store: Engine,
    /// Print the effective configuration with the source of each value, and exit
    #[arg(long)]
    print_config: bool,
}

fn main() -> ExitCode {
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    cli::warn_of_unknown(&Cli::command());
    if let Err(error) = survive_large_files() {
        cli::print_err(&format!("svctrack: a limit on the size of files would end it: {error}"));
    }
    let success = |()| ExitCode::SUCCESS;
    let done = match cli.command {
        None => serve(cli.serve, &matches).map(success),
        Some(Command::Serve(options)) => {
            let matches = matches.subcommand_matches("serve").unwrap_or(&matches);
            serve(options, matches).map(success)
        }
        Some(Command::Tenant(command)) => cli::block_on(command.run()).map(success),
        Some(Command::Script(command)) => cli::block_on(command.run()).map(success),
        Some(Command::Compact(command)) => command.run().map(success),
        Some(Command::Backup(command)) => cli::block_on(command.run()).map(success),
        Some(Command::Restore(command)) => command.run().map(success),
        Some(Command::Export(command)) => cli::block_on(command.run()).map(success),
        Some(Command::Import(command)) => cli::block_on(command.run()),
        Some(Command::Verify(command)) => command.run(),
        Some(Command::Completions { shell }) => {
            let mut script = Vec::new();
            generate(shell, &mut Cli::command(), "svctrack", &mut script);
            cli::print_out(String::from_utf8_lossy(&script).trim_end()).map(success)
        }
        Some(Command::Token(command)) => cli::block_on(command.run()).map(success),
    };
    match done {
        Ok(code) => code,
        Err(reason) => {
            cli::print_err(&format!("svctrack: {reason}"));
            ExitCode::FAILURE
        }
    }
}

/// Has a write that goes beyond the size that a file may have (`ulimit -f`) fail as on a full disk, where the signal for
/// it would end the process.
fn survive_large_files() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _inside = runtime.enter();
    // It stays caught when the runtime has gone.
    signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).map(drop)
}

fn serve(options: Serve, matches: &ArgMatches) -> Result<(), String> {
    let config = cli::configure(options.given)?;
    if options.print_config {
        return cli::print_config(&config, matches);
    }
    // Connections have threads of their own. What is done here must not block: it would hold up new ones, and a stop.
    let runtime = workers::runtime("main").map_err(|error| error.to_string())?;
    let done = runtime.block_on(run::run(config, options.store));
    workers::end(runtime);
    done.map_err(|error| error.to_string())
}

//! The command line of svctrack.

mod cli;

use std::{io, process::ExitCode};

use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use rustix::process::Signal;
use svctrack_server::{
    config::Given,
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
#[command(name = "svctrack", version, args_conflicts_with_subcommands = true)]
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
    /// Print what a web app needs to load the browser script: snippet, policy, files and their hashes
    Script(cli::Script),
    /// Rewrite the store of a stopped server, to purge what was deleted and give its room back
    Compact(cli::Compact),
    /// Back up the data of all tenants into one file, of a running server or a stopped one
    Backup(cli::Backup),
    /// Restore a backup into an empty data folder
    Restore(cli::Restore),
    /// Export the records of a tenant, or of all, into files of NDJSON or CSV, one a resource; activities, tokens,
    /// reports and who was erased are in a backup alone
    Export(cli::Export),
    /// Import records of an export, or of a table of another program; ends with 2 when some were refused, each with its
    /// line. Who was erased before the export may come back with later events: a backup alone remembers
    Import(cli::Import),
    /// Verify all of a stopped server's store; ends with 0 when nothing is damaged, with 2 when something is, and
    /// with 1 when it cannot be read at all
    Verify(cli::Verify),
}

#[derive(Args)]
struct Serve {
    #[command(flatten)]
    given: Given,
    /// Where the data is stored
    #[arg(long, env = "SVCTRACK_STORE", value_name = "ENGINE", value_enum, default_value_t)]
    store: Engine,
    /// Show the configuration in force, and where each value is from, and end
    #[arg(long)]
    print_config: bool,
}

fn main() -> ExitCode {
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    cli::warn_of_unknown(&Cli::command());
    if let Err(error) = survive_large_files() {
        cli::tell(&format!("svctrack: a limit on the size of files would end it: {error}"));
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
        Some(Command::Token(command)) => cli::block_on(command.run()).map(success),
    };
    match done {
        Ok(code) => code,
        Err(reason) => {
            cli::tell(&format!("svctrack: {reason}"));
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

//! The command line: each subcommand has a file of its own, with its flags, their help and its code. `tenant`, `token`,
//! `demo`, `backup`, `export` and `import` call the API of a running server, or carry out the same calls over the store
//! of a stopped one (R44); `compact` and `verify` need it stopped. Settings of the server, such as `--listen` and
//! `--data`, and their defaults are in `config`.

mod backup;
mod compact;
mod completions;
mod configure;
mod demo;
mod export;
mod health;
mod import;
mod output;
mod print_config;
mod progress;
mod restore;
mod script;
mod serve;
mod stopped_store;
mod tail;
mod target;
mod tenant;
mod token;
mod transfer;
mod unknown_variables;
mod unused_flags;
mod verify;

use std::{env, ffi::OsStr, process::ExitCode};

use clap::{
    ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, builder::Resettable,
};

pub(crate) use self::output::print_err;

use self::{
    backup::Backup, compact::Compact, completions::Completions, demo::DemoCommand, export::Export,
    health::Health, import::Import, restore::Restore, script::Script, serve::Serve, tail::Tail,
    tenant::TenantCommand, token::TokenCommand, unknown_variables::warn_of_unknown,
    unused_flags::check_flags, verify::Verify,
};

/// A self-hosted service for customer and revenue data
///
/// Without a command, `svctrack` runs the server, as `svctrack serve` does.
///
/// `tenant`, `token`, `demo`, `backup`, `export` and `import` work on a running server (`--server` and `--token`), or on
/// the store of a stopped one (`--data`). `compact`, and `verify` without `--backup`, need the server stopped.
#[derive(Parser)]
#[command(name = "svctrack", version = env!("BUILD_VERSION"), args_conflicts_with_subcommands = true)]
#[command(after_help = "Examples:
  svctrack serve --data ./svctrack-data --listen 8081
  svctrack demo --customers 20
  svctrack backup --to before-upgrade.backup.gz")]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Subcommand)]
enum Command {
    Serve(Box<Serve>),
    #[command(subcommand)]
    Tenant(TenantCommand),
    #[command(subcommand)]
    Token(TokenCommand),
    Demo(DemoCommand),
    Script(Script),
    Compact(Compact),
    Backup(Backup),
    Restore(Restore),
    Export(Export),
    Import(Import),
    Verify(Verify),
    Health(Health),
    Tail(Tail),
    Completions(Completions),
}

impl Cli {
    /// Reads the command line; for `--help`, and for errors, the process ends here.
    pub(crate) fn read() -> (Self, ArgMatches) {
        let matches = without_empty_variables(Self::command()).get_matches();
        let read = check_flags(&matches).and_then(|()| Self::from_arg_matches(&matches));
        let cli = read.unwrap_or_else(|error| error.exit());
        warn_of_unknown(&Self::command());
        (cli, matches)
    }

    /// Runs the command. An error is a message for the person at the terminal.
    pub(crate) fn run(self, matches: &ArgMatches) -> Result<ExitCode, String> {
        let done = match self.command {
            None => self.serve.run(matches),
            Some(Command::Serve(serve)) => {
                serve.run(matches.subcommand_matches("serve").unwrap_or(matches))
            }
            Some(Command::Tenant(command)) => block_on(command.run()),
            Some(Command::Token(command)) => block_on(command.run()),
            Some(Command::Demo(command)) => block_on(command.run()),
            Some(Command::Script(command)) => block_on(command.run()),
            Some(Command::Compact(command)) => command.run(),
            Some(Command::Backup(command)) => block_on(command.run()),
            Some(Command::Restore(command)) => command.run(),
            Some(Command::Export(command)) => block_on(command.run()),
            Some(Command::Completions(command)) => command.run(Self::command()),
            Some(Command::Import(command)) => return block_on(command.run()),
            Some(Command::Verify(command)) => return command.run(),
            Some(Command::Health(command)) => return block_on(command.run()),
            Some(Command::Tail(command)) => return block_on(command.run()),
        };
        done.map(|()| ExitCode::SUCCESS)
    }
}

/// Ignores variables of the environment that are set to nothing: `SVCTRACK_LISTEN=`.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let is_empty = |name: &OsStr| env::var_os(name).is_some_and(|value| value.is_empty());
    let command = command.mut_args(|flag| match flag.get_env().is_some_and(is_empty) {
        true => flag.env(Resettable::Reset),
        false => flag,
    });
    command.mut_subcommands(without_empty_variables)
}

/// Runs a command to its end.
fn block_on<T>(command: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(command)
}

//! The command line of svctrack.

use std::{
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use clap::{Args, Parser, Subcommand};
use svctrack_server::{
    auth::Token,
    config::{Config, ConfigError, FILE_NAME, Given},
    offline::Offline,
    run,
};

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
    /// Issue, list and revoke API tokens of a server that is not running; `/tokens` does it on one that is
    #[command(subcommand)]
    Token(TokenCommand),
}

#[derive(Args)]
struct Serve {
    #[command(flatten)]
    given: Given,
    /// Show the configuration in force and end
    #[arg(long)]
    print_config: bool,
}

#[derive(Subcommand)]
enum TokenCommand {
    /// Print a new token for a first start with --bootstrap-token; nothing is stored
    Generate,
    /// Issue a token, which is shown only this once
    Create {
        #[command(flatten)]
        of: Of,
        /// What it is for
        #[arg(long)]
        label: String,
        /// What it may do, separated by commas: products:read, tickets:create, admin, *
        #[arg(long, value_delimiter = ',', default_value = "*")]
        scopes: Vec<String>,
    },
    /// Show what is kept of each token, a line of JSON each
    List {
        #[command(flatten)]
        of: Of,
    },
    /// Have a token count no more
    Revoke {
        #[command(flatten)]
        of: Of,
        /// Its id, the eight characters behind `svt_`
        id: String,
    },
}

/// Whose tokens.
#[derive(Args)]
struct Of {
    #[command(flatten)]
    given: Given,
    /// UUID of the tenant [default: the only one]
    #[arg(long, value_name = "UUID")]
    tenant: Option<String>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        None => serve(cli.serve),
        Some(Command::Serve(options)) => serve(options),
        Some(Command::Token(command)) => token(command),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("svctrack: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn serve(options: Serve) -> Result<(), String> {
    let config = configure(options.given).map_err(|error| error.to_string())?;
    if options.print_config {
        return say(config.to_toml().trim_end());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(run::run(config)).map_err(|error| error.to_string())
}

fn configure(given: Given) -> Result<Config, ConfigError> {
    given.over(Given::of_file(Path::new(FILE_NAME))?)
}

fn token(command: TokenCommand) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    match command {
        TokenCommand::Generate => {
            let token = Token::generate().map_err(|error| error.to_string())?;
            say(token.reveal())
        }
        TokenCommand::Create { of, label, scopes } => {
            let store = open(of)?;
            say(&runtime.block_on(store.create_token(&label, &scopes))?)
        }
        TokenCommand::List { of } => open(of)?.list_tokens()?.iter().try_for_each(|line| say(line)),
        TokenCommand::Revoke { of, id } => {
            let store = open(of)?;
            runtime.block_on(store.revoke_token(&id))
        }
    }
}

fn open(of: Of) -> Result<Offline, String> {
    let config = configure(of.given).map_err(|error| error.to_string())?;
    Offline::open(&config, of.tenant.as_deref())
}

/// Prints what was asked for.
fn say(text: &str) -> Result<(), String> {
    writeln!(io::stdout(), "{text}").map_err(|error| error.to_string())
}

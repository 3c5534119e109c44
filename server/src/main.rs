//! The command line of svctrack.

use std::{path::Path, process::ExitCode};

use clap::{Args, Parser, Subcommand};
use svctrack_server::{
    auth::Token,
    config::{Config, ConfigError, FILE_NAME, Given},
    run,
};

/// A self-hosted revenue and customer-data service.
#[derive(Parser)]
#[command(version, about, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server; what happens too when no command is given
    Serve(Serve),
    /// API tokens
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
    /// Draw a new token, to be given to a first start with --bootstrap-token
    Generate,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        None => serve(cli.serve),
        Some(Command::Serve(options)) => serve(options),
        Some(Command::Token(TokenCommand::Generate)) => generate_token(),
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
        say(config.to_toml().trim_end());
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(run::run(config)).map_err(|error| error.to_string())
}

fn configure(given: Given) -> Result<Config, ConfigError> {
    given.over(Given::of_file(Path::new(FILE_NAME))?)
}

fn generate_token() -> Result<(), String> {
    let token = Token::generate().map_err(|error| error.to_string())?;
    say(token.reveal());
    Ok(())
}

/// Prints what was asked for.
#[expect(clippy::print_stdout, reason = "the output of a command")]
fn say(text: &str) {
    println!("{text}");
}

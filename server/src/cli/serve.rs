//! `svctrack serve`, and `svctrack` alone: runs the server. `config::options` has its flags.

use clap::{ArgMatches, Args};
use svctrack_server::{config::ConfigOverrides, connection::workers, run};

use super::{
    configure::configure,
    print_config::{ConfigFormat, print_config},
    unused_flags::{check_settings, warn_of_unscheduled},
};

/// Run the server; `svctrack` alone does the same
///
/// The first start creates the store with a tenant, and prints its tokens and a sign-in link once. SIGTERM and SIGINT
/// stop the server after the requests in progress.
///
/// Every setting is a flag, an environment variable, or a key of `svctrack.toml` in the working directory. A flag
/// overrides the variable, and the variable overrides the file.
#[derive(Args)]
#[command(after_help = "Examples:
  svctrack serve --data /var/lib/svctrack --listen 8081 --backup-every 1day")]
pub(crate) struct Serve {
    #[command(flatten)]
    given: ConfigOverrides,
    /// Print the effective configuration with the source of each value, and exit
    #[arg(long)]
    print_config: bool,
    /// Print JSON: for each setting its `value` and `source`
    #[arg(long, requires = "print_config")]
    json: bool,
}

impl Serve {
    /// Runs the server until it is stopped; the settings were read from `matches`.
    pub(crate) fn run(self, matches: &ArgMatches) -> Result<(), String> {
        let config = configure(self.given)?;
        check_settings(&config, matches).unwrap_or_else(|error| error.exit());
        if self.print_config {
            let form = if self.json { ConfigFormat::Json } else { ConfigFormat::Toml };
            return print_config(&config, matches, form);
        }
        warn_of_unscheduled(&config);
        // Connections have threads of their own. This thread must not block: that would hold up new ones, and a stop.
        let runtime = workers::runtime("main").map_err(|error| error.to_string())?;
        let done = runtime.block_on(run::run(config));
        workers::end(runtime);
        done.map_err(|error| error.to_string())
    }
}

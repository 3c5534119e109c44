//! `svctrack serve --print-config`: the effective configuration, with the source of each value, as
//! lines of a configuration file or as JSON.

use std::path::Path;

use clap::{ArgMatches, Args as _, Command, parser::ValueSource};
use svctrack_server::config::{Config, ConfigOverrides, FILE_NAME, names_in_file};

use super::output::print_out;

/// Format in which the configuration is printed.
#[derive(Clone, Copy)]
pub(crate) enum ConfigFormat {
    Toml,
    Json,
}

/// Prints what is in force.
pub(crate) fn print_config(
    config: &Config,
    matches: &ArgMatches,
    form: ConfigFormat,
) -> Result<(), String> {
    let command = ConfigOverrides::augment_args(Command::new("serve"));
    let in_file = names_in_file(Path::new(FILE_NAME)).map_err(|error| error.to_string())?;
    let source = |name: &str| {
        let flag = command.get_arguments().find(|flag| flag.get_long() == Some(name));
        let given = flag.and_then(|flag| matches.value_source(flag.get_id().as_str()));
        let variable = flag.and_then(|flag| flag.get_env()?.to_str());
        match (given, variable) {
            (Some(ValueSource::CommandLine), _) => format!("flag --{name}"),
            (Some(ValueSource::EnvVariable), Some(variable)) => format!("environment {variable}"),
            _ if in_file.contains(name) => format!("file {FILE_NAME}"),
            _ => "default".to_owned(),
        }
    };
    let printed = match form {
        ConfigFormat::Json => config.to_json(source).map(|settings| format!("{settings:#}")),
        ConfigFormat::Toml => config.to_toml(source),
    };
    print_out(printed.map_err(|error| error.to_string())?.trim_end())
}

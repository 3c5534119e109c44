//! Rejects flags that would have no effect next to another flag, as clap rejects conflicting ones.
//!
//! Clap counts an environment variable as a flag; here it does not count, since it may be set for other commands.

use clap::{ArgMatches, error::ErrorKind, parser::ValueSource};
use svctrack_server::config::{Config, Engine};

use super::output::print_err;

/// A flag, another flag with which it has no effect, and the reason.
const NO_EFFECT_WITH: [(&str, &str, &str); 13] = [
    ("user", "operator", ""),
    ("operator", "server", ": the token decides whose tokens are used"),
    ("data", "server", ""),
    ("data", "backup", ""),
    ("cache_mb", "backup", ""),
    ("backup_to", "backup", ""),
    ("data", "npm", ""),
    ("server", "npm", ""),
    ("listen", "npm", ""),
    ("public_url", "npm", ""),
    ("script_path", "npm", ""),
    ("tracking_prefix", "npm", ""),
    ("listen", "server", ""),
];

/// A flag, and another flag without which it has no effect.
const NO_EFFECT_WITHOUT: [(&str, &str); 2] = [("token", "server"), ("ca_cert", "server")];

/// Rejects a flag that has no effect.
pub(crate) fn check_flags(matches: &ArgMatches) -> Result<(), clap::Error> {
    if let Some((_, below)) = matches.subcommand() {
        check_flags(below)?;
    }
    let source = |id: &str| {
        let is_given = matches.ids().any(|given| given == id);
        is_given.then(|| matches.value_source(id)).flatten()
    };
    let is_flag = |id: &str| source(id) == Some(ValueSource::CommandLine);
    for (flag, other, why) in NO_EFFECT_WITH.into_iter().filter(|(flag, ..)| is_flag(flag)) {
        let set_by = match source(other) {
            Some(ValueSource::CommandLine) => "",
            Some(ValueSource::EnvVariable) => ", which the environment sets",
            _ => continue,
        };
        return Err(unused(flag, "with", other, &format!("{set_by}{why}")));
    }
    for (flag, other) in NO_EFFECT_WITHOUT.into_iter().filter(|(flag, _)| is_flag(flag)) {
        if source(other).is_none() {
            return Err(unused(flag, "without", other, ""));
        }
    }
    Ok(())
}

/// Rejects a flag of the server that has no effect with the settings in force, wherever these are from.
pub(crate) fn check_settings(config: &Config, matches: &ArgMatches) -> Result<(), clap::Error> {
    let is_flag = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let is_scheduled = config.backup_every.is_some();
    let is_in_memory = config.store == Engine::Memory;
    // Scheduled backups are in the data directory, unless another one is given.
    let needs_data = !is_in_memory || (is_scheduled && config.backup_to.is_none());
    let unused_if = [
        (!needs_data, "data", "with", "store memory"),
        (is_in_memory, "cache_mb", "with", "store memory"),
        (!is_scheduled, "backup_to", "without", "backup-every"),
        (!is_scheduled, "backup_keep", "without", "backup-every"),
    ];
    match unused_if.into_iter().find(|(is_unused, flag, ..)| *is_unused && is_flag(flag)) {
        Some((_, flag, how, other)) => Err(unused(flag, how, other, "")),
        None => Ok(()),
    }
}

/// Warns of a directory for backups without a schedule: nobody would miss the backups until they are needed.
pub(crate) fn warn_of_unscheduled(config: &Config) {
    if config.backup_to.is_some() && config.backup_every.is_none() {
        print_err("svctrack: `backup-to` is set without `backup-every`: no backup is scheduled");
    }
}

fn unused(flag: &str, how: &str, other: &str, further: &str) -> clap::Error {
    let [flag, other] = [flag, other].map(|id| id.replace('_', "-"));
    let message = format!("`--{flag}` has no effect {how} `--{other}`{further}\n");
    clap::Error::raw(ErrorKind::ArgumentConflict, message)
}

//! Flags that would have no effect next to another one are rejected, as clap does for those that contradict each other.
//! Clap counts a variable of the environment as a flag; here it is none, since it may be set for other commands.

use clap::{ArgMatches, error::ErrorKind, parser::ValueSource};

/// A flag, and another one with which it has no effect.
const NO_EFFECT_WITH: [(&str, &str); 8] = [
    ("data", "server"),
    ("data", "npm"),
    ("server", "npm"),
    ("listen", "npm"),
    ("public_url", "npm"),
    ("script_path", "npm"),
    ("tracking_prefix", "npm"),
    ("listen", "server"),
];

/// A flag, and another one without which it has no effect.
const NO_EFFECT_WITHOUT: [(&str, &str); 1] = [("token", "server")];

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
    for (flag, other) in NO_EFFECT_WITH.into_iter().filter(|(flag, _)| is_flag(flag)) {
        match source(other) {
            Some(ValueSource::CommandLine) => return Err(unused(flag, "with", other, "")),
            Some(ValueSource::EnvVariable) => {
                return Err(unused(flag, "with", other, ", which the environment sets"));
            }
            _ => {}
        }
    }
    for (flag, other) in NO_EFFECT_WITHOUT.into_iter().filter(|(flag, _)| is_flag(flag)) {
        if source(other).is_none() {
            return Err(unused(flag, "without", other, ""));
        }
    }
    Ok(())
}

fn unused(flag: &str, how: &str, other: &str, further: &str) -> clap::Error {
    let [flag, other] = [flag, other].map(|id| id.replace('_', "-"));
    let message = format!("`--{flag}` has no effect {how} `--{other}`{further}\n");
    clap::Error::raw(ErrorKind::ArgumentConflict, message)
}

//! Environment variables that look like settings but are not: a misspelled one would silently change nothing.

use std::{collections::BTreeSet, env};

use clap::Command;
use svctrack_core::value::nearest;

use super::output::print_err;

/// Prefix of the names of all settings.
const PREFIX: &str = "SVCTRACK_";
/// Variables of the build and the tests of svctrack, which programs that these start inherit.
const OF_THE_PROJECT: [&str; 9] = [
    "SVCTRACK_ALONE",
    "SVCTRACK_BINARY",
    "SVCTRACK_BUNDLE",
    "SVCTRACK_DEMAND_DISKS",
    "SVCTRACK_DEMAND_TOOLS",
    "SVCTRACK_FAULTS",
    "SVCTRACK_FAULTS_SEED",
    "SVCTRACK_MODEL_EVENTS",
    "SVCTRACK_MODEL_SEED",
];
/// Prefixes of variables that Kubernetes sets for a service with the name `svctrack`.
const OF_A_CLUSTER: [&str; 2] = ["SVCTRACK_SERVICE_", "SVCTRACK_PORT_"];

/// Warns of each variable of the environment that no command has, with the one that may be meant.
pub(crate) fn warn_of_unknown(command: &Command) {
    let known = known(command);
    let mut set: Vec<(String, String)> = env::vars_os()
        .filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
        })
        .collect();
    set.sort();
    for (name, value) in set {
        if is_meant_for_us(&name, &value) && !known.contains(&name) {
            let known = known.iter().filter_map(|known| known.strip_prefix(PREFIX));
            let near = nearest(name.strip_prefix(PREFIX).unwrap_or_default(), known);
            let near = near.map(|near| format!("; did you mean `{PREFIX}{near}`?"));
            let near = near.unwrap_or_default();
            print_err(&format!(
                "svctrack: `{name}` in the environment is not a setting and is ignored{near}"
            ));
        }
    }
}

fn is_meant_for_us(name: &str, value: &str) -> bool {
    let is_of_a_cluster = OF_A_CLUSTER.iter().any(|start| name.starts_with(start))
        || (name == "SVCTRACK_PORT" && value.starts_with("tcp://"));
    name.starts_with(PREFIX) && !is_of_a_cluster && !OF_THE_PROJECT.contains(&name)
}

/// Variables of a command and of those below it.
fn known(command: &Command) -> BTreeSet<String> {
    let own = command.get_arguments().filter_map(|flag| flag.get_env()?.to_str());
    let mut known: BTreeSet<String> = own.map(str::to_owned).collect();
    command.get_subcommands().for_each(|below| known.extend(self::known(below)));
    known
}

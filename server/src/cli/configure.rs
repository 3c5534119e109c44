//! Settings of a command, from its flags, the environment and the file of settings.

use std::path::Path;

use svctrack_server::config::{Config, ConfigOverrides, FILE_NAME};

/// Settings in force: those that are given here win over the file of settings.
///
/// # Errors
/// A message, when the file cannot be read, or a value is invalid.
pub(crate) fn configure(given: ConfigOverrides) -> Result<Config, String> {
    let file = ConfigOverrides::of_file(Path::new(FILE_NAME));
    file.and_then(|file| given.over(file)).map_err(|error| error.to_string())
}

//! What is said where the store cannot be opened: why, and what can be done.

use crate::{backups, config::Config, store::embedded::OpenError};

/// One line for the person who asked; `otherwise` is what to do where the file itself is not the cause.
pub fn refusal(config: &Config, what: &str, cause: &OpenError, otherwise: &str) -> String {
    let folder = config.data.display();
    let advice = match cause.is_beyond_repair() {
        true => restore(config),
        false => otherwise.to_owned(),
    };
    format!("the store in `{folder}` cannot be {what}: {cause}{advice}")
}

/// The command that goes on from the newest backup, in a folder of its own.
fn restore(config: &Config) -> String {
    let newest = backups::newest_in(&config.backup_folder());
    let newest = newest.map_or_else(|| "BACKUP".to_owned(), |path| path.display().to_string());
    let folder = config.data.display().to_string();
    let folder = folder.trim_end_matches('/');
    format!("; go on from a backup: svctrack restore --from '{newest}' --data '{folder}-restored'")
}

//! Messages for a store that cannot be opened: the cause, and advice.

use std::{io, path};

use svctrack_store::{Clock as _, SystemClock, embedded::OpenError};

use crate::{backup_folder, config::Config};

/// A line for the person who called; `if_in_use` is the advice where another process has the store.
pub fn explain_open_error(
    config: &Config,
    what: &str,
    cause: &OpenError,
    if_in_use: &str,
) -> String {
    let folder = config.data.display();
    if config.data.exists() && !config.data.is_dir() {
        return format!("`{folder}` is not a directory: name the data directory with --data");
    }
    let advice = match cause {
        OpenError::CorruptedInside(_) => "; the rest can be read: see `svctrack verify`".to_owned(),
        cause if cause.is_beyond_repair() => restore(config),
        OpenError::Locked => if_in_use.to_owned(),
        OpenError::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            "; run the command as the user of the server, or give this user the directory"
                .to_owned()
        }
        _ => String::new(),
    };
    format!("the store in `{folder}` cannot be {what}: {cause}{advice}")
}

/// Command that restores the newest backup, into a folder of its own.
fn restore(config: &Config) -> String {
    let newest = backup_folder::newest_in(&config.backup_folder(), SystemClock.now());
    let newest = newest.map_or_else(|| "BACKUP".to_owned(), |path| path.display().to_string());
    let mut folder = path::absolute(&config.data).unwrap_or_else(|_| config.data.clone());
    folder.as_mut_os_string().push("-restored");
    let (newest, folder) = (quoted(&newest), quoted(&folder.display().to_string()));
    format!("; restore a backup: svctrack restore --from {newest} --data {folder}")
}

/// A word of a command line, quoted.
fn quoted(word: &str) -> String {
    ["'", &word.replace('\'', r"'\''"), "'"].concat()
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::config::{ConfigOverrides, StoreSettings};

    fn explained(data: &Path, kind: io::ErrorKind) -> String {
        let files = StoreSettings { data: Some(data.to_owned()), ..StoreSettings::default() };
        let given = ConfigOverrides { files, ..ConfigOverrides::default() };
        let config = given.over(ConfigOverrides::default()).unwrap();
        explain_open_error(&config, "opened", &OpenError::Io(kind.into()), "")
    }

    #[test]
    fn what_is_no_directory_or_may_not_be_read_is_explained() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let said = explained(&file, io::ErrorKind::AlreadyExists);
        assert!(said.ends_with("file` is not a directory: name the data directory with --data"));
        let said = explained(folder.path(), io::ErrorKind::PermissionDenied);
        assert!(said.contains("; run the command as the user of the server"), "{said}");
    }
}

//! Folders of stored data: other accounts of the machine cannot read a new one. An existing one keeps the permissions
//! that its owner gave it.

use std::{fs::DirBuilder, io, os::unix::fs::DirBuilderExt as _, path::Path};

/// Permissions of a new folder: its owner alone.
const MODE: u32 = 0o700;

/// Creates a folder and those above it, where they are missing.
///
/// # Errors
/// When a folder cannot be created, or a file has its name.
pub fn create(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(MODE).create(path)
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, Permissions},
        os::unix::fs::PermissionsExt as _,
    };

    use super::*;

    #[test]
    fn a_new_folder_is_for_its_owner_alone_and_an_existing_one_is_left_as_it_is() {
        let temporary = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (above, below) = (temporary.path().join("above"), temporary.path().join("above/below"));
        create(&below).unwrap();
        assert_eq!((mode(&above), mode(&below)), (0o700, 0o700));
        fs::set_permissions(&above, Permissions::from_mode(0o755)).unwrap();
        create(&above).unwrap();
        assert_eq!(mode(&above), 0o755);
        fs::write(above.join("file"), "").unwrap();
        assert!(create(&above.join("file")).is_err());
    }
}

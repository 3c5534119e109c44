//! Files that get their final name when they are complete.

use std::{fs::File, io, path::Path};

use tempfile::NamedTempFile;

use super::backup_files::{PREFIX, UNFINISHED};

/// A file in a folder that gets its name when it is complete.
pub struct UnfinishedFile(NamedTempFile);

impl UnfinishedFile {
    /// Creates the file; after a crash its name marks it as unfinished.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        let made = tempfile::Builder::new().prefix(PREFIX).suffix(UNFINISHED).tempfile_in(folder);
        made.map(Self)
    }

    /// The file, to be written.
    ///
    /// # Errors
    /// When the process has too many open files.
    pub fn file(&self) -> io::Result<File> {
        self.0.as_file().try_clone()
    }

    /// Gives the file its name, once it is on disk. No other file is replaced.
    ///
    /// # Errors
    /// When a file with this name exists.
    pub fn finish(self, path: &Path) -> io::Result<()> {
        self.0.as_file().sync_all()?;
        self.0.persist_noclobber(path)?;
        File::open(folder_of(path))?.sync_all()
    }

    /// Finishes the file and replaces another one of this name.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn replace(self, path: &Path) -> io::Result<()> {
        self.0.as_file().sync_all()?;
        self.0.persist(path)?;
        File::open(folder_of(path))?.sync_all()
    }
}

/// The folder that contains a file; `.` for a name without one.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_whole_gets_its_name_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("backup");
        UnfinishedFile::in_folder(folder.path()).unwrap().finish(&path).unwrap();
        assert!(UnfinishedFile::in_folder(folder.path()).unwrap().finish(&path).is_err());
        drop(UnfinishedFile::in_folder(folder.path()).unwrap());
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["backup"]);
    }
}

//! Backups in a folder: an incomplete one never has the name of a complete one; scheduled ones are created while the
//! server runs, and removed when there are newer ones of the same store.

mod backup_files;
mod schedule;
mod status;
mod unfinished_file;

pub(crate) use self::{
    backup_files::newest_in,
    schedule::{check, run, run_blocking},
    status::{BackupStatus, Backups},
};
pub use self::{
    backup_files::{SUFFIX, backup_files, name_of, newest_of_one_store},
    schedule::{BackupInterval, Schedule},
    unfinished_file::{UnfinishedFile, folder_of},
};

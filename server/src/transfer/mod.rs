//! Export and import of records, one file per resource, only through calls of the API, so that no rule is repeated
//! here.
//!
//! A file is NDJSON (one record per line, as the API returns it) or CSV (one property per column). Files have records
//! and settings; activities, tokens and integration issues are in a backup.

mod dry_run;
mod export;
mod import;
mod import_counts;
mod order;
mod references;

pub use self::{
    export::{ExistingFiles, check_folder, export},
    import::{
        ImportOptions, ImportedFile, RecordFile, RejectedRecord, files_at, import, others_in,
        try_out,
    },
    import_counts::ImportCounts,
    order::{exported_resources, resource_named},
};

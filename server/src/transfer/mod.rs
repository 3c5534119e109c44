//! Records out of a server and into one, a file a resource: through the calls of the API alone, so that no rule is
//! repeated here.
//!
//! A file is NDJSON (each line a record as the API returns it) or CSV (a column a property). What it holds is records
//! and settings; activities, tokens and reports are in a backup.

mod dry_run;
mod export;
mod fates;
mod import;
mod order;

pub use self::{
    export::{Earlier, check_folder, export},
    fates::Fates,
    import::{Imported, Reading, RecordFile, Refused, files_at, import, others_in, try_out},
    order::{everything, resource_named},
};

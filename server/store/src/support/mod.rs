//! Tools that the engines and the server share: panics that are logged, private folders, regular files, fair shares and
//! permits of tenants. They are not part of a store's contract and may change in any version.

pub mod fair_shares;
pub mod panics;
pub mod private_folder;
pub mod regular_file;
pub mod tenant_permits;

//! Errors of the configuration.

use std::path::PathBuf;

/// Error of the configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file exists but cannot be read.
    #[error("{path}: {cause}", path = .0.display(), cause = .1)]
    File(PathBuf, String),
    /// A value cannot be used.
    #[error("{0}")]
    Value(String),
}

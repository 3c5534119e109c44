//! Why there is no configuration.

use std::path::PathBuf;

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is there but cannot be read.
    #[error("{path}: {cause}", path = .0.display(), cause = .1)]
    File(PathBuf, String),
    /// A value cannot be used.
    #[error("{0}")]
    Value(String),
}

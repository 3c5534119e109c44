//! The settings of TLS.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Settings of TLS, by flag, environment or file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", default)]
pub struct TlsSettings {
    /// Certificate chain in PEM, the server's own certificate first; with --tls-key, the server speaks HTTPS [default:
    /// none]
    #[arg(long, env = "SVCTRACK_TLS_CERT", value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate, in PEM and without a passphrase [default: none]
    #[arg(long, env = "SVCTRACK_TLS_KEY", value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
}

/// The files in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TlsFiles {
    pub tls_cert: PathBuf,
    pub tls_key: PathBuf,
}

impl TlsSettings {
    /// Settings in force when `self` wins over `file`; none without TLS.
    ///
    /// # Errors
    /// A message where one of the files is not named.
    pub(crate) fn over(self, file: Self) -> Result<Option<TlsFiles>, &'static str> {
        match (self.tls_cert.or(file.tls_cert), self.tls_key.or(file.tls_key)) {
            (None, None) => Ok(None),
            (Some(tls_cert), Some(tls_key)) => Ok(Some(TlsFiles { tls_cert, tls_key })),
            (Some(_), None) => Err("tls-cert needs tls-key, the file with its private key"),
            (None, Some(_)) => Err("tls-key needs tls-cert, the file with its certificate chain"),
        }
    }
}

//! Certificate chain and its private key, from their files. No message repeats a line of a file: it may be a secret.

use std::{fs, io, os::unix::fs::MetadataExt as _, path::Path, sync::Arc};

use rustls::{
    Error as TlsError, InconsistentKeys,
    crypto::CryptoProvider,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject as _},
    },
    sign::CertifiedKey,
};
use sha2::{Digest as _, Sha256};

use super::{expiry::ValidityPeriod, settings::TlsFiles};

/// Contents of both files.
pub(super) struct Pem {
    certificates: Vec<u8>,
    key: Vec<u8>,
}

/// Hash of the contents of both files.
pub(super) type ContentHash = [u8; 32];

/// A usable certificate, and its validity.
pub(super) struct Certificate {
    pub(super) certified: Arc<CertifiedKey>,
    /// None where the validity cannot be read.
    pub(super) validity: Option<ValidityPeriod>,
}

/// Longest of both files, in bytes: chains have some KB, bundles of authorities, by mistake, some hundred.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
/// Permissions of accounts that are neither the owner of a file nor in its group.
const OTHERS_MODE: u32 = 0o007;

impl Pem {
    /// Reads both files.
    ///
    /// # Errors
    /// A message that names the file and its setting.
    pub(super) fn read(files: &TlsFiles) -> Result<Self, String> {
        let of_setting = |setting: &'static str, path: &Path| {
            read(path).map_err(|cause| format!("{setting}: `{}`: {cause}", path.display()))
        };
        let certificates = of_setting("tls-cert", &files.tls_cert)?;
        Ok(Self { certificates, key: of_setting("tls-key", &files.tls_key)? })
    }

    pub(super) fn hash(&self) -> ContentHash {
        let of_each = [&self.certificates, &self.key].map(Sha256::digest);
        Sha256::digest(of_each.concat()).into()
    }

    /// Parses the certificate with its key.
    ///
    /// # Errors
    /// A message that names the file and says what to do.
    pub(super) fn parse(
        &self,
        files: &TlsFiles,
        provider: &CryptoProvider,
    ) -> Result<Certificate, String> {
        let [cert, key] = [&files.tls_cert, &files.tls_key].map(|path| path.display());
        let chain = CertificateDer::pem_slice_iter(&self.certificates).collect::<Result<_, _>>();
        let chain: Vec<_> = chain.map_err(|_| format!("tls-cert: `{cert}` is not valid PEM"))?;
        let Some(own) = chain.first() else {
            return Err(format!(
                "tls-cert: `{cert}` has no certificate, which begins with `-----BEGIN CERTIFICATE-----`: name the file \
                 with the full chain"
            ));
        };
        let validity = ValidityPeriod::from_certificate(own);
        let private = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|error| format!("tls-key: `{key}` {}", self.explain_key(&error)))?;
        let certified = CertifiedKey::from_der(chain, private, provider).map_err(|error| match error {
            TlsError::InconsistentKeys(InconsistentKeys::KeyMismatch) => format!(
                "tls-key: `{key}` is not the key of the first certificate in `{cert}`: the server's own certificate comes \
                 first, then its issuers"
            ),
            TlsError::InvalidCertificate(_) => {
                format!("tls-cert: the first certificate in `{cert}` cannot be read")
            }
            _ => format!(
                "tls-key: `{key}` has a key of a kind that is not supported: use ECDSA P-256 or P-384, Ed25519, or RSA of \
                 2048 to 8192 bits"
            ),
        })?;
        Ok(Certificate { certified: certified.into(), validity })
    }

    /// Problem of the file of the key.
    fn explain_key(&self, error: &pem::Error) -> &'static str {
        let is_encrypted = has_in_it(&self.key, b"ENCRYPTED");
        match error {
            _ if is_encrypted => {
                "is encrypted: `openssl pkey -in FILE -out NEW` writes the key without its passphrase"
            }
            pem::Error::NoItemsFound => {
                "has no private key, which begins with `-----BEGIN PRIVATE KEY-----`"
            }
            _ => "is not valid PEM",
        }
    }
}

/// Whether `text` contains `part`.
fn has_in_it(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    let metadata = fs::metadata(path).map_err(|error| explain_file(&error))?;
    if !metadata.is_file() {
        return Err("it is not a file".to_owned());
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(format!("it has more than {MAX_FILE_BYTES} bytes"));
    }
    fs::read(path).map_err(|error| explain_file(&error))
}

fn explain_file(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "the user of the server may not read it: give it to that user, or to one of its groups"
                .to_owned()
        }
        _ => error.to_string(),
    }
}

/// Whether other accounts of the machine may read or change the key.
pub(super) fn is_open_to_others(files: &TlsFiles) -> bool {
    fs::metadata(&files.tls_key).is_ok_and(|metadata| metadata.mode() & OTHERS_MODE != 0)
}

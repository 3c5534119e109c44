//! Certificates of tests, made when they are needed, and clients that trust them.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd,
};
use rustls::{
    ClientConfig, RootCertStore, SupportedProtocolVersion,
    crypto::ring,
    pki_types::{CertificateDer, ServerName},
    version::{TLS12, TLS13},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

/// The name in all certificates.
pub const NAME: &str = "localhost";

pub struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// The files of a certificate.
pub struct Files {
    pub cert: PathBuf,
    pub key: PathBuf,
}

impl Files {
    /// The flags that name them.
    pub fn flags(&self) -> [&str; 4] {
        let text = |path| Path::to_str(path).unwrap();
        ["--tls-cert", text(&self.cert), "--tls-key", text(&self.key)]
    }
}

impl Default for Authority {
    fn default() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate, issuer: Issuer::new(params, key) }
    }
}

impl Authority {
    pub fn certificate(&self) -> CertificateDer<'static> {
        self.certificate.der().clone()
    }

    /// Its certificate, in PEM.
    pub fn pem(&self) -> String {
        pem("CERTIFICATE", self.certificate.der())
    }

    /// A chain for the tests' name and a new key, both in PEM.
    pub fn issue(&self) -> (String, String) {
        self.issue_until(4000)
    }

    /// The same, valid until the beginning of a year.
    pub fn issue_until(&self, year: i32) -> (String, String) {
        let mut params = CertificateParams::new([NAME.to_owned()]).unwrap();
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let chain = pem("CERTIFICATE", certificate.der()) + &self.pem();
        (chain, pem("PRIVATE KEY", key.serialized_der()))
    }

    /// A new certificate and its key, as files in a folder.
    pub fn issue_to(&self, folder: &Path) -> Files {
        let files = Files { cert: folder.join("chain.pem"), key: folder.join("key.pem") };
        let (chain, key) = self.issue();
        fs::write(&files.cert, chain).unwrap();
        fs::write(&files.key, key).unwrap();
        files
    }
}

/// A block of PEM.
fn pem(label: &str, der: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(der))
}

/// What a client trusts.
pub fn client_config(authorities: Vec<CertificateDer<'static>>) -> ClientConfig {
    client_config_of(&[&TLS13, &TLS12], authorities)
}

fn client_config_of(
    versions: &[&'static SupportedProtocolVersion],
    authorities: Vec<CertificateDer<'static>>,
) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority).unwrap();
    }
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions);
    config.unwrap().with_root_certificates(roots).with_no_client_auth()
}

/// A connection to a server whose certificate an authority has issued, in a version of TLS, which offers protocols.
///
/// # Errors
/// When the handshake fails.
pub async fn connect(
    address: &str,
    authority: &Authority,
    version: &'static SupportedProtocolVersion,
    protocols: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    connect_over(TcpStream::connect(address).await?, authority, version, protocols).await
}

/// The same over a connection that is open.
///
/// # Errors
/// When the handshake fails.
pub async fn connect_over(
    stream: TcpStream,
    authority: &Authority,
    version: &'static SupportedProtocolVersion,
    protocols: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut config = client_config_of(&[version], vec![authority.certificate()]);
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let name = ServerName::try_from(NAME).unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

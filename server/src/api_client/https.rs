//! Connections of the command line to a server: over TCP, or over TLS where the address begins with `https://`. The
//! authorities that browsers trust, which are compiled in, and the certificates of a file are trusted.

use std::{fs, path::Path, sync::Arc};

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::{
    ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::ring,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
};

/// Connector that opens connections; it trusts the certificates of the `ca_cert` file, too.
///
/// # Errors
/// A message, when the file cannot be read.
pub(super) fn connector(ca_cert: Option<&Path>) -> Result<HttpsConnector<HttpConnector>, String> {
    let own = ca_cert.map(read).transpose()?.unwrap_or_default();
    let config = config(own).map_err(|error| format!("TLS cannot be set up: {error}"))?;
    let builder = HttpsConnectorBuilder::new().with_tls_config(config);
    Ok(builder.https_or_http().enable_http1().build())
}

fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let shown = path.display();
    let pem = fs::read(path).map_err(|error| format!("--ca-cert: `{shown}`: {error}"))?;
    let certificates = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(format!(
            "--ca-cert: `{shown}` has no certificate, which begins with `-----BEGIN CERTIFICATE-----`"
        )),
    }
}

fn config(own: Vec<CertificateDer<'static>>) -> Result<ClientConfig, Box<dyn std::error::Error>> {
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    roots.add_parsable_certificates(own.iter().cloned());
    let roots = Arc::new(roots);
    let authorities =
        WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build()?;
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let verifier = Arc::new(TrustedCertificates { authorities, own });
    Ok(config.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Accepted certificates: those that an authority vouches for, by the name in the address; and those of the file,
/// whatever the name, since their server has proved to have the key.
#[derive(Debug)]
struct TrustedCertificates {
    authorities: Arc<WebPkiServerVerifier>,
    own: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for TrustedCertificates {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        issuers: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        match self.own.contains(own) {
            true => Ok(ServerCertVerified::assertion()),
            false => self.authorities.verify_server_cert(own, issuers, name, ocsp, now),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.authorities.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.authorities.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}

//! Connections over TLS: from the first bytes of a client to a stream of plain text.

use std::{
    fmt, io,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use parking_lot::RwLock;
use rustls::{
    Error as TlsError, ServerConfig,
    crypto::{CryptoProvider, ring},
    server::{Acceptor, ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::{net::TcpStream, time::timeout};
use tokio_rustls::{LazyConfigAcceptor, server::TlsStream};

use super::{
    certificate::{Certificate, ContentHash, Pem},
    expiry::ValidityPeriod,
    handshakes::Handshakes,
    settings::TlsFiles,
};
use crate::{connection::open_connections::ConnectionWait, limits::HANDSHAKE_TIMEOUT};

/// The protocols that are offered, in the order of preference.
const PROTOCOLS: [&[u8]; 1] = [b"http/1.1"];

/// The TLS of a server.
pub(crate) struct Tls {
    config: Arc<ServerConfig>,
    provider: Arc<CryptoProvider>,
    current: Arc<CurrentCertificate>,
    handshakes: Handshakes,
    failed_handshakes: AtomicU64,
    /// Whether the last change of the files cannot be used.
    has_reload_failed: AtomicBool,
}

/// Certificate that clients get.
struct CurrentCertificate(RwLock<Certificate>);

impl fmt::Debug for CurrentCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Current")
    }
}

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().certified.clone())
    }
}

/// Protocol of a connection, as its first bytes show it.
pub(crate) enum AcceptedConnection {
    Tls(Box<TlsStream<TcpStream>>),
    /// The client speaks HTTP without TLS.
    PlainHttp(TcpStream),
}

impl Tls {
    /// Loads TLS with the certificate and the key of these files, for a number of workers. Returns also the hash of the
    /// files.
    ///
    /// # Errors
    /// A message that names the file and says what to do.
    pub(crate) fn load(files: &TlsFiles, workers: usize) -> Result<(Self, ContentHash), String> {
        let provider = Arc::new(ring::default_provider());
        let pem = Pem::read(files)?;
        let current = Arc::new(CurrentCertificate(RwLock::new(pem.parse(files, &provider)?)));
        let config = config(provider.clone(), current.clone());
        let config = Arc::new(config.map_err(|error| format!("TLS cannot be set up: {error}"))?);
        let (failed_handshakes, has_reload_failed) = (AtomicU64::new(0), AtomicBool::new(false));
        let handshakes = Handshakes::for_workers(workers);
        let tls =
            Self { config, provider, current, handshakes, failed_handshakes, has_reload_failed };
        Ok((tls, pem.hash()))
    }

    /// Uses the certificate of these files from now on.
    ///
    /// # Errors
    /// As [`Self::load`]; the certificate before stays.
    pub(super) fn replace(&self, pem: &Pem, files: &TlsFiles) -> Result<(), String> {
        *self.current.0.write() = pem.parse(files, &self.provider)?;
        Ok(())
    }

    pub(super) fn note_reload(&self, has_failed: bool) {
        self.has_reload_failed.store(has_failed, Ordering::Relaxed);
    }

    /// Whether the last change of the files cannot be used.
    pub(crate) fn has_reload_failed(&self) -> bool {
        self.has_reload_failed.load(Ordering::Relaxed)
    }

    /// Validity of the certificate, if it can be read.
    pub(crate) fn validity(&self) -> Option<ValidityPeriod> {
        self.current.0.read().validity
    }

    /// Number of failed handshakes.
    pub(crate) fn failed_handshakes(&self) -> u64 {
        self.failed_handshakes.load(Ordering::Relaxed)
    }

    /// Whether an address may begin one more handshake now.
    pub(crate) fn may_begin(&self, address: IpAddr) -> bool {
        self.handshakes.may_begin(address)
    }

    /// Opens a connection, within its time and unless its slot is needed.
    ///
    /// # Errors
    /// When the client speaks no TLS that is accepted, or is too slow.
    pub(crate) async fn open(
        &self,
        stream: TcpStream,
        waiting: &ConnectionWait,
    ) -> io::Result<AcceptedConnection> {
        let handshake = timeout(HANDSHAKE_TIMEOUT, self.handshake(stream, waiting));
        let opened = waiting.unless_it_has_to_end(handshake).await;
        waiting.end();
        let opened = opened.unwrap_or_else(|| Ok(Err(io::ErrorKind::ConnectionAborted.into())));
        let opened = opened.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        if opened.is_err() {
            self.failed_handshakes.fetch_add(1, Ordering::Relaxed);
        }
        opened
    }

    async fn handshake(
        &self,
        stream: TcpStream,
        waiting: &ConnectionWait,
    ) -> io::Result<AcceptedConnection> {
        waiting.begin();
        if speaks_plain_http(&stream).await? {
            return Ok(AcceptedConnection::PlainHttp(stream));
        }
        let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
        waiting.end();
        let finished = self.handshakes.compute(|| hello.into_stream(self.config.clone())).await;
        waiting.begin();
        Ok(AcceptedConnection::Tls(Box::new(finished.await?)))
    }
}

fn config(
    provider: Arc<CryptoProvider>,
    current: Arc<CurrentCertificate>,
) -> Result<ServerConfig, TlsError> {
    let config =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = config.with_no_client_auth().with_cert_resolver(current);
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
    // A returning client needs no signature, and the server stores nothing for it.
    config.ticketer = ring::Ticketer::new()?;
    Ok(config)
}

/// Whether a client begins with a method of HTTP. TLS begins with a number below those of letters.
async fn speaks_plain_http(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0];
    match stream.peek(&mut first).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(first.iter().all(u8::is_ascii_uppercase)),
    }
}

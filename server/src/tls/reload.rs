//! Reloads the files of the certificate when they have changed. Their content is compared, since tools replace them in
//! several ways, and they are loaded when they have stayed the same for one check: a certificate and its key are not
//! written at the same time.

use std::sync::Arc;

use tokio::{task::spawn_blocking, time::sleep};

use super::{
    acceptor::Tls,
    certificate::{ContentHash, Pem, is_open_to_others},
    expiry::{CertificateState, now},
    settings::TlsFiles,
};
use crate::limits::CERTIFICATE_CHECK_INTERVAL;

/// Checks of the files in a day; problems of the certificate are logged once a day.
const LOOKS_A_DAY: u64 = 24 * 60 * 60 / CERTIFICATE_CHECK_INTERVAL.as_secs();

/// Hash of the files, or why they cannot be read.
type FilesState = Result<ContentHash, String>;

/// The files of a server that runs.
pub(crate) struct Reload {
    tls: Arc<Tls>,
    files: TlsFiles,
    /// Files that were last loaded, or rejected.
    judged: FilesState,
    /// Files that were last seen.
    seen: FilesState,
}

impl Reload {
    /// Loads the certificate of a server with a number of workers; logs problems of a usable one.
    ///
    /// # Errors
    /// A message that names the file and says what to do.
    pub(crate) fn load(files: &TlsFiles, workers: usize) -> Result<(Arc<Tls>, Self), String> {
        let (tls, loaded) = Tls::load(files, workers)?;
        let (tls, files) = (Arc::new(tls), files.clone());
        let reload = Self { tls: tls.clone(), files, judged: Ok(loaded), seen: Ok(loaded) };
        reload.warn();
        Ok((tls, reload))
    }

    fn warn(&self) {
        if is_open_to_others(&self.files) {
            tracing::warn!(
                file = %self.files.tls_key.display(),
                "private key readable by every user: set the mode of its file to 600 or 640"
            );
        }
        let Some(validity) = self.tls.validity() else { return };
        let now = now();
        let hours = validity.not_after.saturating_sub(now) / 3_600;
        match validity.state(now) {
            CertificateState::Valid => {}
            CertificateState::NotYetValid => {
                tracing::warn!("certificate not valid yet: check the clock")
            }
            CertificateState::ExpiresSoon => {
                tracing::warn!(hours, "certificate expires soon: renew it")
            }
            CertificateState::Expired => {
                tracing::error!("certificate expired: clients reject it until it is renewed");
            }
        }
    }

    /// Checks the files until the server stops.
    pub(crate) async fn run(mut self) {
        loop {
            for _ in 0..LOOKS_A_DAY {
                sleep(CERTIFICATE_CHECK_INTERVAL).await;
                let looked = spawn_blocking(move || {
                    self.look();
                    self
                });
                match looked.await {
                    Ok(reload) => self = reload,
                    // A panic of the thread, which has been logged.
                    Err(_) => return,
                }
            }
            self.warn();
        }
    }

    fn look(&mut self) {
        let pem = Pem::read(&self.files);
        let now: FilesState = pem.as_ref().map(Pem::hash).map_err(Clone::clone);
        let has_settled = now == self.seen;
        self.seen = now.clone();
        if !has_settled || now == self.judged {
            return;
        }
        self.judged = now;
        let replaced = pem.and_then(|pem| self.tls.replace(&pem, &self.files));
        self.tls.note_reload(replaced.is_err());
        match replaced {
            Ok(()) => {
                tracing::info!(file = %self.files.tls_cert.display(), "certificate reloaded");
                self.warn();
            }
            Err(cause) => {
                tracing::error!(%cause, "certificate not reloaded: the previous one stays in use");
            }
        }
    }
}

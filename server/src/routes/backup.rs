//! A backup of all tenants as one file, for operators (D4).

use std::{
    fs::File,
    io::{self, Read as _, Seek as _},
};

use bytes::Bytes;
use futures_util::stream;
use poem::{Body, Request, Response, http::header};
use svctrack_core::access::OPERATOR;
use svctrack_store::{AuditNote, BackupFile, StoreError};
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    app::App,
    auth::authorize,
    backup_folder::{name_of, run_blocking},
    error::Error,
};

/// Bytes of a backup that are sent at a time.
const PIECE_BYTES: u64 = 256 * 1024;

/// `GET /backup`: the backup is complete on disk before the first byte is sent, so that a slow caller holds a file, and
/// no snapshot of the store.
pub(crate) async fn download(app: &App, request: &mut Request) -> Result<Response, Error> {
    let caller = authorize(app, request, OPERATOR).await?;
    let turn = app.downloads.clone().try_acquire_owned();
    let turn = turn.map_err(|_| Error::Store(StoreError::Busy))?;
    let (mut file, manifest) = app.store.back_up(BackupFile::Unnamed).await?;
    let note = AuditNote::done("backup.download", "backup", None);
    if let Err(cause) = app.store.write_audit(caller.into(), vec![note]).await {
        // A backup matters most when the store is read-only.
        tracing::warn!(%cause, "backup download not audited");
    }
    let rewind = move || Ok((file.rewind().map(|()| file.metadata())??.len(), file));
    let (bytes, file) =
        run_blocking(rewind).await.map_err(|error| Error::Internal(error.to_string()))?;
    let name = name_of(manifest.at());
    Ok(Response::builder()
        .content_type("application/gzip")
        .header(header::CONTENT_LENGTH, bytes)
        .header(header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\""))
        .header(header::CACHE_CONTROL, "no-store")
        .body(pieces(file, turn)))
}

/// A file as a body; it is deleted when the download ends or the client disconnects.
fn pieces(file: File, turn: OwnedSemaphorePermit) -> Body {
    let pieces = stream::try_unfold((file, turn), |(mut file, turn)| async move {
        let read = move || {
            let mut piece = Vec::new();
            (&mut file).take(PIECE_BYTES).read_to_end(&mut piece)?;
            Ok((piece, file))
        };
        let (piece, file) = run_blocking(read).await?;
        Ok::<_, io::Error>((!piece.is_empty()).then(|| (Bytes::from(piece), (file, turn))))
    });
    Body::from_bytes_stream(pieces)
}

//! Backups, as they are before they are packed: a SHA-256 of each table is in their manifest, so that few changes are
//! accepted.

use std::io::{Read as _, Write as _};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use hyper::Method;
use svctrack_store::{check_archive, read_head};
use tokio::runtime::Runtime;

use crate::in_process::InProcess;

/// An accepted backup has the head that is read alone. A backup that ends early, or has trailing data, is rejected.
pub(super) fn check(input: &[u8]) -> bool {
    let _ = check_archive(input);
    let packed = pack(input);
    let Ok(manifest) = check_archive(&*packed) else { return false };
    assert_eq!(read_head(&*packed).unwrap().at, manifest.at());
    for wrong in [&input[..input.len() - 1], &[input, b"\x01"].concat()] {
        assert!(check_archive(&*pack(wrong)).is_err());
    }
    true
}

fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A backup of a store with a tenant.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let runtime = Runtime::new().unwrap();
    let packed = runtime.block_on(async {
        let server = InProcess::start().await;
        let backup = server.operator.send(Method::GET, "/backup", &[], "").await.unwrap();
        assert_eq!(backup.status, 200, "{}", backup.text());
        backup.body
    });
    let mut unpacked = Vec::new();
    GzDecoder::new(&*packed).read_to_end(&mut unpacked).unwrap();
    vec![unpacked]
}

//! From a file to what the server sends: its bytes, the same in gzip, and an ETag.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};

use crate::Failure;

pub(crate) const CSS: &str = "text/css; charset=utf-8";
pub(crate) const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
pub(crate) const WASM: &str = "application/wasm";

/// How many bytes of a hash make an ETag: enough that no two versions of a file share one.
const ETAG_BYTES: usize = 12;

/// A file to embed.
pub(crate) struct Embedded {
    pub(crate) name: &'static str,
    content_type: &'static str,
    pub(crate) bytes: Vec<u8>,
}

impl Embedded {
    pub(crate) fn new(name: &'static str, content_type: &'static str, bytes: Vec<u8>) -> Self {
        Self { name, content_type, bytes }
    }

    /// Writes both forms of the file, and returns its entry in the table.
    fn write(&self, folder: &Path) -> io::Result<String> {
        let Self { name, content_type, bytes } = self;
        let packed = gzip(bytes)?;
        fs::write(folder.join(name), bytes)?;
        fs::write(folder.join(format!("{name}.gz")), &packed)?;
        Ok(format!(
            "Asset {{ path: \"/{name}\", content_type: \"{content_type}\", \
             bytes: include_bytes!(\"{name}\"), gzip: include_bytes!(\"{name}.gz\"), \
             etag: \"\\\"{}\\\"\" }},\n",
            etag(bytes)
        ))
    }
}

/// Writes the files and the table `assets.rs`, an expression that `src/asset.rs` includes.
pub(crate) fn write(files: &[Embedded], folder: &Path) -> Result<(), Failure> {
    let entries: io::Result<String> = files.iter().map(|file| file.write(folder)).collect();
    entries
        .and_then(|entries| fs::write(folder.join("assets.rs"), format!("&[\n{entries}]\n")))
        .map_err(|error| format!("{} cannot be written: {error}", folder.display()))
}

/// The same bytes for the same file: the header carries no time.
pub(crate) fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

fn etag(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let start = hash.iter().take(ETAG_BYTES);
    start.map(|byte| format!("{byte:02x}")).collect()
}

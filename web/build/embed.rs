//! From a file to its embedded form: its bytes, the same in brotli and gzip, and hashes.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use brotli::enc::BrotliEncoderParams;
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256, Sha384};

use crate::Failure;

pub(crate) const CSS: &str = "text/css; charset=utf-8";
pub(crate) const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
pub(crate) const PNG: &str = "image/png";
pub(crate) const SVG: &str = "image/svg+xml";
pub(crate) const WASM: &str = "application/wasm";

/// Bytes of a hash in an ETag: enough that no two versions of a file share one.
const ETAG_BYTES: usize = 12;
/// Bytes of a hash in the version of a file's name: enough for all versions that a server ever serves, and few, because
/// the loader has one.
const VERSION_BYTES: usize = 4;

/// Longest file, in bytes, that is compressed for as long as it takes: larger ones would take minutes.
const MAX_THOROUGH_BYTES: usize = 64 * 1024;

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

    /// Writes the file, and before it its compressed forms: where the file exists with the same content, these do as
    /// well. Compressing takes seconds, and most edits change one file.
    fn pack(&self, folder: &Path) -> io::Result<()> {
        let (plain, bytes) = (folder.join(self.name), &self.bytes);
        if fs::read(&plain).is_ok_and(|known| known == *bytes) {
            return Ok(());
        }
        fs::write(folder.join(format!("{}.gz", self.name)), gzip(bytes)?)?;
        fs::write(folder.join(format!("{}.br", self.name)), brotli(bytes)?)?;
        fs::write(plain, bytes)
    }

    /// Writes all forms of the file, and returns its entry in the table.
    fn write(&self, folder: &Path) -> io::Result<String> {
        let Self { name, content_type, bytes } = self;
        self.pack(folder)?;
        let etag = start_of_hash(&[bytes], ETAG_BYTES);
        let integrity = STANDARD.encode(Sha384::digest(bytes));
        Ok(format!(
            "Asset {{ path: \"/{name}\", content_type: \"{content_type}\", \
             bytes: include_bytes!(\"{name}\"), gzip: include_bytes!(\"{name}.gz\"), \
             brotli: include_bytes!(\"{name}.br\"), etag: \"{etag}\", \
             integrity: \"sha384-{integrity}\" }},\n",
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

/// Compresses a file with the same result each time: the header has no time. A short file is compressed for as long as
/// it takes, since every visitor loads it.
pub(crate) fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    if bytes.len() <= MAX_THOROUGH_BYTES {
        let mut packed = Vec::new();
        zopfli::compress(zopfli::Options::default(), zopfli::Format::Gzip, bytes, &mut packed)?;
        return Ok(packed);
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// The smallest form that browsers accept, in a window that all of them have.
pub(crate) fn brotli(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let parameters = BrotliEncoderParams { size_hint: bytes.len(), ..Default::default() };
    let mut packed = Vec::new();
    brotli::BrotliCompress(&mut &*bytes, &mut packed, &parameters)?;
    Ok(packed)
}

/// Version of files that belong together: another one whenever a byte of them differs.
pub(crate) fn version(files: &[&[u8]]) -> String {
    start_of_hash(files, VERSION_BYTES)
}

fn start_of_hash(files: &[&[u8]], length: usize) -> String {
    let mut hash = Sha256::new();
    files.iter().for_each(|file| hash.update(file));
    hash.finalize().iter().take(length).map(|byte| format!("{byte:02x}")).collect()
}

//! Files that are embedded: `build/` generates them and their table.

/// A file as it is sent.
#[derive(Debug)]
pub struct Asset {
    /// Path at which the file is served, from the root.
    pub path: &'static str,
    pub content_type: &'static str,
    /// Content of the file.
    pub bytes: &'static [u8],
    /// Content of the file in gzip.
    pub gzip: &'static [u8],
    /// Content of the file in brotli.
    pub brotli: &'static [u8],
    /// Text for the `ETag`: another one whenever a byte differs.
    pub etag: &'static str,
    /// Value of the attribute `integrity` of a tag, with which a browser rejects any other file.
    pub integrity: &'static str,
}

/// All files that are embedded in the program.
pub static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The file that is served at `path`.
pub fn asset(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// Maximum size of the script's files in gzip, in bytes: the loader, and all.
    const MAX_LOADER_BYTES: usize = 4 * 1024;
    const MAX_BUNDLE_BYTES: usize = 15_000;
    /// Maximum size of the form checks in gzip, in bytes.
    const MAX_FORMS_BYTES: usize = 80 * 1024;

    #[test]
    fn the_bundle_is_small() {
        if crate::IS_BUNDLE_SKIPPED {
            return eprintln!("skipped: this build has no bundle (SVCTRACK_BUNDLE=skip)");
        }
        let size = |path| asset(path).unwrap().gzip.len();
        let loader = size("/svctrack.js");
        let tracker = size("/svctrack_glue.js") + size("/svctrack_bg.wasm");
        assert!(loader <= MAX_LOADER_BYTES, "the loader has {loader} bytes");
        assert!(loader + tracker <= MAX_BUNDLE_BYTES, "all files have {} bytes", loader + tracker);
        assert!(asset("/svctrack_bg.wasm").unwrap().bytes.starts_with(b"\0asm"));
        let forms = size("/forms.js") + size("/forms.wasm");
        assert!(forms <= MAX_FORMS_BYTES, "the checks of forms have {forms} bytes");
    }

    #[test]
    fn the_packed_forms_are_the_same_file() {
        for asset in ASSETS {
            let mut unpacked = Vec::new();
            let mut decoder = flate2::read::GzDecoder::new(asset.gzip);
            decoder.read_to_end(&mut unpacked).unwrap();
            assert_eq!(unpacked, asset.bytes, "{}", asset.path);
            unpacked.clear();
            brotli::BrotliDecompress(&mut &*asset.brotli, &mut unpacked).unwrap();
            assert_eq!(unpacked, asset.bytes, "{}", asset.path);
            // A PNG is compressed already.
            let is_packed = asset.bytes.is_empty() || asset.content_type == "image/png";
            assert!(is_packed || asset.brotli.len() < asset.gzip.len(), "{}", asset.path);
        }
    }

    #[test]
    fn an_unknown_path_has_no_file() {
        assert!(asset("/svctrack.js").is_some());
        assert!(asset("svctrack.js").is_none());
        assert!(asset("/../Cargo.toml").is_none());
    }
}

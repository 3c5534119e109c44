//! The loader `svctrack.js`: the parts in `script/tracker`, in one function that no other script can see
//! into.

use std::fs;

use crate::{Failure, folder, minify::minify};

/// The parts, in an order in which they can be read.
const PARTS: &[&str] =
    &["console", "call", "cookie", "engine", "queue", "send", "consent", "pages", "main"];
const FOLDER: &str = "script/tracker";

/// The script as it is sent.
pub(crate) fn build() -> Result<Vec<u8>, Failure> {
    println!("cargo::rerun-if-changed={FOLDER}");
    let folder = folder("CARGO_MANIFEST_DIR")?.join(FOLDER);
    let mut whole = String::new();
    for part in PARTS {
        let path = folder.join(part).with_extension("js");
        whole += &fs::read_to_string(&path)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    }
    Ok(["(function(script){'use strict';", &minify(&whole), "})(document.currentScript)"]
        .concat()
        .into_bytes())
}

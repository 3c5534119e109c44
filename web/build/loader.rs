//! Loader `svctrack.js`: the parts in `script/tracker`, in one function that no other script can access. It names the
//! tracker's files by their version, so that it never loads those of another build.

use std::fs;

use crate::{Failure, folder, minify::minify};

/// The parts, in an order for readers.
const PARTS: &[&str] =
    &["console", "call", "cookie", "engine", "queue", "send", "consent", "pages", "main"];
const FOLDER: &str = "script/tracker";

/// Names of the tracker's files in the parts, and their suffixes.
const TRACKER: &[(&str, &str)] = &[("svctrack_glue.js", ".js"), ("svctrack_bg.wasm", ".wasm")];

/// The script as it is sent, for a tracker of this version.
pub(crate) fn build(tracker: &str) -> Result<Vec<u8>, Failure> {
    println!("cargo::rerun-if-changed={FOLDER}");
    let folder = folder("CARGO_MANIFEST_DIR")?.join(FOLDER);
    let mut whole = String::new();
    for part in PARTS {
        let path = folder.join(part).with_extension("js");
        whole += &fs::read_to_string(&path)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    }
    for (name, ending) in TRACKER {
        if !whole.contains(name) {
            return Err(format!("no part of {FOLDER} names {name}"));
        }
        whole = whole.replace(name, &[tracker, ending].concat());
    }
    Ok(["(function(script){'use strict';", &minify(&whole)?, "})(document.currentScript)"]
        .concat()
        .into_bytes())
}

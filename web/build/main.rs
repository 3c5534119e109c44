//! Builds the files that `svctrack-web` embeds: the tracker as WASM with its glue, and for every file its compressed
//! forms and hashes. Writes only to `OUT_DIR`.
#![allow(clippy::print_stdout, reason = "a build script talks to cargo this way")]

mod bundle;
mod compile;
mod constants;
mod docs;
mod embed;
mod loader;
mod minify;
mod shrink;

use std::{env, path::PathBuf, process::ExitCode};

use crate::embed::Embedded;

/// Cause of a failed build, in one line for the person who runs it.
type Failure = String;

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("cargo::error={}", failure.replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), Failure> {
    let [bundle, forms] = bundle::build()?;
    let tracker = embed::version(&[&bundle.glue, &bundle.wasm]);
    let loader = loader::build(&tracker)?;
    println!("cargo::rustc-env=LOADER_VERSION={}", embed::version(&[&loader]));
    println!("cargo::rustc-env=TRACKER_VERSION={tracker}");
    let mut files = vec![
        Embedded::new("svctrack.js", embed::JAVASCRIPT, loader),
        Embedded::new("svctrack_glue.js", embed::JAVASCRIPT, bundle.glue),
        Embedded::new("svctrack_bg.wasm", embed::WASM, bundle.wasm),
        Embedded::new("forms.js", embed::JAVASCRIPT, forms.glue),
        Embedded::new("forms.wasm", embed::WASM, forms.wasm),
        own("demo.js", "static/demo.js", embed::JAVASCRIPT)?,
        own("demo.css", "static/demo.css", embed::CSS)?,
        own("theme.css", "static/theme.css", embed::CSS)?,
        own("app.css", "static/app.css", embed::CSS)?,
        own("favicon.svg", "static/favicon.svg", embed::SVG)?,
        own("app.js", "static/app.js", embed::JAVASCRIPT)?,
        own("shortcuts.js", "static/shortcuts.js", embed::JAVASCRIPT)?,
        own("check.js", "static/check.js", embed::JAVASCRIPT)?,
        own("load.js", "static/load.js", embed::JAVASCRIPT)?,
        own("import.js", "static/import.js", embed::JAVASCRIPT)?,
        own("live.js", "static/live.js", embed::JAVASCRIPT)?,
        own("search.js", "static/search.js", embed::JAVASCRIPT)?,
        own("suggest.js", "static/suggest.js", embed::JAVASCRIPT)?,
        own("setup.js", "static/setup.js", embed::JAVASCRIPT)?,
        own("docs.css", "static/docs.css", embed::CSS)?,
        own("docs.js", "static/docs.js", embed::JAVASCRIPT)?,
    ];
    print_sizes(&files)?;
    files.extend(docs::files()?);
    embed::write(&files, &folder("OUT_DIR")?)
}

/// Prefix of the names of the script's files.
const SCRIPT: &str = "svctrack";

/// Prints the sizes of a visitor's download, for a build that is to be used.
fn print_sizes(files: &[Embedded]) -> Result<(), Failure> {
    if variable_of_cargo("PROFILE")? != "release" {
        return Ok(());
    }
    let (mut in_gzip, mut in_brotli) = (0, 0);
    for file in files.iter().filter(|file| file.name.starts_with(SCRIPT)) {
        let gzip = embed::gzip(&file.bytes).map_err(|error| error.to_string())?.len();
        let brotli = embed::brotli(&file.bytes).map_err(|error| error.to_string())?.len();
        in_gzip += gzip;
        in_brotli += brotli;
        let (name, bytes) = (file.name, file.bytes.len());
        println!("cargo::warning={name:16} {bytes:6} bytes {gzip:6} in gzip {brotli:6} in brotli");
    }
    println!("cargo::warning=the whole script {in_gzip:19} in gzip {in_brotli:6} in brotli");
    Ok(())
}

/// A file of this package that is served unchanged.
fn own(name: &'static str, path: &str, content_type: &'static str) -> Result<Embedded, Failure> {
    println!("cargo::rerun-if-changed={path}");
    let bytes = std::fs::read(folder("CARGO_MANIFEST_DIR")?.join(path))
        .map_err(|error| format!("web/{path} cannot be read: {error}"))?;
    Ok(Embedded::new(name, content_type, bytes))
}

/// A folder that cargo names in the environment.
fn folder(variable: &str) -> Result<PathBuf, Failure> {
    variable_of_cargo(variable).map(PathBuf::from)
}

fn variable_of_cargo(variable: &str) -> Result<String, Failure> {
    env::var(variable).map_err(|_| format!("cargo did not set {variable}"))
}

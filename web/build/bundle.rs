//! The bundle: the tracker as WASM and the JavaScript that binds it to the browser.

use std::env;

use wasm_bindgen_cli_support::Bindgen;

use crate::{Failure, compile, variable_of_cargo};

/// Set to `skip`, it leaves the bundle out of a debug build, for quick checks.
const SWITCH: &str = "SVCTRACK_BUNDLE";

/// The two files; both empty when the bundle was skipped.
#[derive(Default)]
pub(crate) struct Bundle {
    pub(crate) glue: Vec<u8>,
    pub(crate) wasm: Vec<u8>,
}

/// Compiles and binds the tracker, unless the switch says not to.
pub(crate) fn build() -> Result<Bundle, Failure> {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-env-changed={SWITCH}");
    println!("cargo::rustc-check-cfg=cfg(bundle_skipped)");
    if env::var(SWITCH).as_deref() != Ok("skip") {
        return bind(&compile::tracker()?);
    }
    if variable_of_cargo("PROFILE")? == "release" {
        return Err(format!(
            "{SWITCH}=skip leaves out the browser bundle, which a release build must have: unset it"
        ));
    }
    println!("cargo::rustc-cfg=bundle_skipped");
    Ok(Bundle::default())
}

fn bind(wasm: &std::path::Path) -> Result<Bundle, Failure> {
    let failure = |error| format!("the browser bundle could not be bound: {error:#}");
    let mut output = Bindgen::new()
        .input_path(wasm)
        .web(true)
        .map_err(failure)?
        .out_name("svctrack")
        .typescript(false)
        .omit_default_module_path(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .generate_output()
        .map_err(failure)?;
    Ok(Bundle {
        glue: without_comments(output.js()).into_bytes(),
        wasm: output.wasm_mut().emit_wasm(),
    })
}

/// The glue without indentation, comment lines and empty lines, which are a good part of its bytes.
/// wasm-bindgen writes comments on lines of their own and no text over several lines.
fn without_comments(glue: &str) -> String {
    let is_code = |line: &&str| !(line.is_empty() || line.starts_with("//") || is_doc(line));
    let lines = glue.lines().map(str::trim).filter(is_code);
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn is_doc(line: &str) -> bool {
    line.starts_with("/*") || line.starts_with("* ") || line == "*" || line == "*/"
}

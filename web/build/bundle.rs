//! Bundles: the tracker, and the form checks, each as WASM and the JavaScript that binds it to the browser.

use std::{env, fs, path::Path};

use walrus::{Module, ModuleConfig};
use wasm_bindgen_cli_support::Bindgen;

use crate::{Failure, compile, folder, minify::minify, shrink, variable_of_cargo};

/// With the value `skip` this variable leaves the bundle out of a debug build, for quick checks.
const SWITCH: &str = "SVCTRACK_BUNDLE";
/// Messages of the console, which are part of the glue: both engines of the loader use them.
const WORDS: &str = "script/words.js";
/// Our own part of the glue: the calls of the script once the module is loaded.
const START: &str = "
export function start(exports) { __wbg_set_wasm(exports); wasm.__wbindgen_start(); }
";
/// The browser's `fetch`, which the page may have replaced, as gloo-net expects it. Anything but a response or an
/// `Error` would end the module.
const FETCH: &str = "
async function fetch(request) {
  let response;
  try { response = await window.fetch(request); } catch {}
  if (!(response instanceof Response)) throw new Error();
  return response;
}";

/// The two files; both empty when the bundle was skipped.
#[derive(Default)]
pub(crate) struct Bundle {
    pub(crate) glue: Vec<u8>,
    pub(crate) wasm: Vec<u8>,
}

/// Compiles and binds the tracker and the form checks, unless the switch skips them.
pub(crate) fn build() -> Result<[Bundle; 2], Failure> {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed={WORDS}");
    println!("cargo::rerun-if-env-changed={SWITCH}");
    println!("cargo::rustc-check-cfg=cfg(bundle_skipped)");
    if env::var(SWITCH).as_deref() != Ok("skip") {
        return bind_all()
            .map_err(|failure| format!("a browser bundle could not be bound: {failure}"));
    }
    if variable_of_cargo("PROFILE")? == "release" {
        return Err(format!(
            "{SWITCH}=skip leaves out the browser bundle, which a release build must have: unset it"
        ));
    }
    println!("cargo::rustc-cfg=bundle_skipped");
    Ok(Default::default())
}

fn bind_all() -> Result<[Bundle; 2], Failure> {
    let [tracker, forms] = compile::modules()?;
    let own_glue = [FETCH, &words()?].concat();
    Ok([bind(&tracker, shrink::WITHOUT_WORDS, &own_glue)?, bind(&forms, shrink::WITH_WORDS, "")?])
}

/// Binds a module as for a bundler: our own scripts join glue and module, in fewer bytes. Functions that only a panic
/// runs are left out, by parts of their names.
fn bind(wasm: &Path, of_panics: &[&str], own_glue: &str) -> Result<Bundle, Failure> {
    let mut output = Bindgen::new()
        .input_module("svctrack", read(wasm, of_panics)?)
        .bundler(true)
        .and_then(|bindgen| bindgen.out_name("svctrack").typescript(false).generate_output())
        .map_err(|error| format!("{error:#}"))?;
    let glue = [output.start().ok_or("there is no glue")?, START, own_glue].concat();
    let module = output.wasm_mut();
    shrink::cut_closures(module);
    let glue = minify(&shrink::shorten(module, &glue))?;
    Ok(Bundle { glue: glue.into_bytes(), wasm: module.emit_wasm() })
}

fn words() -> Result<String, Failure> {
    let path = folder("CARGO_MANIFEST_DIR")?.join(WORDS);
    fs::read_to_string(&path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

/// Reads the module without functions that only a panic runs, so that no glue is generated for them.
fn read(wasm: &Path, of_panics: &[&str]) -> Result<Module, Failure> {
    let mut config = ModuleConfig::new();
    config.generate_name_section(false).generate_producers_section(false);
    let mut module = config.parse_file(wasm).map_err(|error| format!("{error:#}"))?;
    shrink::cut_panics(&mut module, of_panics);
    Ok(module)
}

//! Compiles `svctrack-wasm` and its forms for the browser with a separate cargo: the outer one builds for another
//! target and profile.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Failure, folder, variable_of_cargo};

const TARGET: &str = "wasm32-unknown-unknown";
/// Profile in the workspace's `Cargo.toml` for few bytes.
const PROFILE: &str = "wasm";
/// Variables with which the outer build would change the inner one: the wrappers of clippy and caches, flags for
/// another target, and folders whose lock the outer cargo holds.
const OUTER: &[&str] = &[
    "CARGO_BUILD_BUILD_DIR",
    "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
];

/// Few functions are inlined: that costs bytes, and no visitor notices the calls.
const FLAGS: &[&str] = &["-Cllvm-args=-inline-threshold=5"];

/// Compiles the tracker and the form checks, and returns the paths of their WASM. They are built together: common code
/// is compiled once, and linking drops the parts of `core` that only the other one uses.
pub(crate) fn modules() -> Result<[PathBuf; 2], Failure> {
    let workspace = folder("CARGO_MANIFEST_DIR")?.join("..");
    let target_folder = target_folder()?;
    add_target()?;
    run(&workspace, &target_folder)?;
    let built = target_folder.join(TARGET).join(PROFILE);
    let modules = ["svctrack_wasm", "svctrack_wasm_forms"].map(|name| built.join(name));
    watch(&workspace, &modules)?;
    Ok(modules.map(|module| module.with_extension("wasm")))
}

fn run(workspace: &Path, target_folder: &Path) -> Result<(), Failure> {
    let mut cargo = Command::new(variable_of_cargo("CARGO")?);
    cargo
        .current_dir(workspace)
        .args(["build", "--locked", "-p", "svctrack-wasm", "-p", "svctrack-wasm-forms", "--lib"])
        .args(["--target", TARGET, "--profile", PROFILE])
        .arg("--target-dir")
        .arg(target_folder);
    if env::var("CARGO_NET_OFFLINE").as_deref() == Ok("true") {
        cargo.arg("--offline");
    }
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in names.filter(|name| is_of_outer_build(name)) {
        cargo.env_remove(name);
    }
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags().join("\u{1f}"));
    let is_done = cargo.status().is_ok_and(|status| status.success());
    is_done.then_some(()).ok_or_else(|| {
        "the browser bundle could not be compiled: see the messages of cargo above".to_owned()
    })
}

/// Flags of the compiler. Paths of the sources of other crates are left out, so that every machine builds the same
/// bytes.
fn flags() -> Vec<String> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    let crates = home.map(|home| format!("--remap-path-prefix={}=", home.display()));
    FLAGS.iter().map(|flag| (*flag).to_owned()).chain(crates).collect()
}

fn is_of_outer_build(name: &str) -> bool {
    OUTER.contains(&name) || name.starts_with("CARGO_PROFILE_")
}

/// A target folder next to the profiles of the outer build, so that all of them share it and none waits for a lock that
/// it holds itself.
fn target_folder() -> Result<PathBuf, Failure> {
    let own = folder("OUT_DIR")?;
    let mut ancestors = own.ancestors();
    let shared = ancestors
        .find(|folder| folder.ends_with("build"))
        .and_then(|build| build.parent()?.parent());
    Ok(shared.unwrap_or(&own).join("browser"))
}

/// Ensures that the compiler can build for the browser.
fn add_target() -> Result<(), Failure> {
    if has_target() {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", TARGET]);
    let is_added = rustup.status().is_ok_and(|status| status.success());
    is_added.then_some(()).ok_or_else(|| {
        format!("the browser bundle needs the Rust target {TARGET}: install rustup, then run `rustup target add {TARGET}`")
    })
}

fn has_target() -> bool {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output =
        Command::new(compiler).args(["--print", "target-libdir", "--target", TARGET]).output();
    output.is_ok_and(|output| {
        let folder = String::from_utf8_lossy(&output.stdout);
        fs::exists(folder.trim()).unwrap_or(false)
    })
}

/// Makes cargo run this again when a source of the modules changes. The compiler lists these: parts of `core` that only
/// the server uses are not among them.
fn watch(workspace: &Path, modules: &[PathBuf]) -> Result<(), Failure> {
    let manifests = [
        "Cargo.toml",
        "Cargo.lock",
        "core/Cargo.toml",
        "svctrack-wasm/Cargo.toml",
        "svctrack-wasm/forms/Cargo.toml",
    ];
    for manifest in manifests {
        println!("cargo::rerun-if-changed={}", workspace.join(manifest).display());
    }
    for module in modules {
        let dependencies = module.with_extension("d");
        let listed = fs::read_to_string(&dependencies)
            .map_err(|error| format!("{} cannot be read: {error}", dependencies.display()))?;
        let sources = listed.split_once(": ").map_or("", |(_, sources)| sources);
        // A space in a name is written as `\ `.
        for source in sources.replace("\\ ", "\0").split_whitespace() {
            println!("cargo::rerun-if-changed={}", source.replace('\0', " "));
        }
    }
    Ok(())
}

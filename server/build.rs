//! The version that `svctrack --version` prints: with the commit and its date, `0.1.0 (0123456789 2026-01-31)`.
//!
//! The date is the commit's, so the same source builds the same program. Where the source is no git repository, as from
//! a tarball, the version says `unknown commit`. A debug build does not read the commit, and says so: else each commit
//! would compile the server again.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

fn main() {
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let project = package.join("..");
    println!("cargo:rerun-if-changed=build.rs");
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let built_from = match is_release {
        true => commit(&project).unwrap_or_else(|| "unknown commit".to_owned()),
        false => "debug build".to_owned(),
    };
    println!("cargo:rustc-env=BUILD_VERSION={} ({built_from})", env!("CARGO_PKG_VERSION"));
}

/// Hash and date of the newest commit, where the project is the root of a repository.
fn commit(project: &Path) -> Option<String> {
    let root = PathBuf::from(git(project, &["rev-parse", "--show-toplevel"])?);
    if root.canonicalize().ok()? != project.canonicalize().ok()? {
        return None;
    }
    let branch = git(project, &["rev-parse", "--symbolic-full-name", "HEAD"]).unwrap_or_default();
    // Cargo would run this each time for a file that is not there.
    for name in ["HEAD", "logs/HEAD", "packed-refs", &branch] {
        let file = project.join(git(project, &["rev-parse", "--git-path", name])?);
        if file.is_file() {
            println!("cargo:rerun-if-changed={}", file.display());
        }
    }
    git(project, &["show", "--no-patch", "--abbrev=10", "--format=%h %cs"])
}

fn git(project: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(project).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

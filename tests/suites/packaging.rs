//! What is released: archives with checksums and a signature, and crates that a registry accepts.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use svctrack_tests::{
    process::cargo,
    project,
    required_tools::{self, not_tried},
};

/// In place of the binary, which would take minutes to build.
const STAND_IN: &str = "#!/bin/sh\ncase $1 in --version) echo 'svctrack 9.8.7 (debug build)' ;; *) echo \"$*\" ;; esac\n";

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Packs a release of that binary into a folder; returns its archive.
fn package(folder: &Path, key: Option<&Path>) -> PathBuf {
    let binary = folder.join("stand-in");
    fs::write(&binary, STAND_IN).unwrap();
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
    let mut script = Command::new(project().join("server/package"));
    script.arg(folder.join("dist")).args(key).env("SVCTRACK_BINARY", binary);
    script.env("SOURCE_DATE_EPOCH", "0");
    let printed = String::from_utf8(run(&mut script).stdout).unwrap();
    printed.trim_end().into()
}

/// Whether a command, which a user runs in the folder of the downloads, ends well.
fn passes(dist: &Path, command: &str) -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-euc", command]).current_dir(dist).stderr(Stdio::null()).stdout(Stdio::null());
    shell.status().unwrap().success()
}

fn change_a_byte(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_release_has_what_an_operator_needs_and_is_the_same_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let archive = package(folder.path(), None);
    let packed = fs::read(&archive).unwrap();
    assert_eq!(fs::read(package(folder.path(), None)).unwrap(), packed);
    let mut list = Command::new("tar");
    let listed = run(list.arg("tvzf").arg(&archive).env("TZ", "UTC"));
    let listed = String::from_utf8(listed.stdout).unwrap();
    let is_dated = |line: &str| line.contains(" 0/0 ") && line.contains(" 1970-01-01 00:00 ");
    assert!(listed.lines().all(is_dated), "{listed}");

    run(Command::new("tar").arg("xzf").arg(&archive).current_dir(folder.path()));
    let name = archive.file_name().unwrap().to_str().unwrap().trim_end_matches(".tar.gz");
    assert!(name.starts_with("svctrack-9.8.7-") && name.ends_with("-linux-musl"), "{name}");
    let release = folder.path().join(name);
    let read = |path: &str| fs::read_to_string(release.join(path)).unwrap();
    assert_eq!(read("svctrack"), STAND_IN);
    assert_eq!(fs::metadata(release.join("svctrack")).unwrap().permissions().mode(), 0o100_755);
    for (file, source) in [
        ("LICENSE", "LICENSE"),
        ("README.md", "README.md"),
        ("svctrack.service", "server/ops/svctrack.service"),
        ("Dockerfile", "server/ops/Dockerfile"),
        ("kubernetes.yaml", "server/ops/kubernetes.yaml"),
    ] {
        assert_eq!(read(file), fs::read_to_string(project().join(source)).unwrap(), "{file}");
    }
    assert_eq!(read("completions/_svctrack"), "completions zsh\n");
    assert!(release.join("data").is_dir(), "the Dockerfile copies it");
}

#[test]
fn a_changed_byte_of_a_release_fails_its_checksum_or_its_signature() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    let mut generate = Command::new("ssh-keygen");
    generate.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key);
    if generate.output().is_err() {
        return not_tried(required_tools::TOOLS, "`ssh-keygen` is not installed");
    }
    let archive = package(folder.path(), Some(&key));
    let dist = archive.parent().unwrap();
    let public = fs::read_to_string(key.with_extension("pub")).unwrap();
    fs::write(dist.join("allowed_signers"), format!("svctrack {public}")).unwrap();

    let page = fs::read_to_string(project().join("tests/contributing.md")).unwrap();
    let shown = |start: &str| {
        let line = page.lines().find_map(|line| line.strip_prefix("$ ")?.strip_prefix(start));
        format!("{start}{}", line.unwrap_or_else(|| panic!("the page does not show {start}")))
    };
    let (checksums, signature) = (shown("sha256sum"), shown("ssh-keygen"));
    assert!(passes(dist, &checksums) && passes(dist, &signature));
    change_a_byte(&archive);
    assert!(!passes(dist, &checksums) && passes(dist, &signature));
    change_a_byte(&dist.join("SHA256SUMS"));
    assert!(!passes(dist, &signature));
}

#[test]
fn the_libraries_can_be_published() {
    let mut package = cargo();
    package.args(["package", "--locked", "--offline", "--no-verify", "--allow-dirty"]);
    package.args(["--package", "svctrack-core", "--package", "svctrack-store"]);
    let output = run(package.current_dir(project()));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!said.contains("warning") && said.contains("Packaged"), "{said}");
}

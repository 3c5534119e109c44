//! Golden files: what came out once and was found good. `UPDATE=1` rewrites them.

use std::{env, fs};

use crate::project;

/// Compares with `tests/golden/<name>`.
///
/// # Panics
/// When it differs, with the first line that does.
pub fn check(name: &str, found: &str) {
    let path = project().join("tests/golden").join(name);
    if env::var_os("UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, found).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    let mut lines = golden.lines().zip(found.lines()).enumerate();
    let differing = lines.find(|(_, (golden, found))| golden != found);
    let shown = differing.map_or("in its length".to_owned(), |(at, (golden, found))| {
        format!("in line {}, from\n{golden}\nto\n{found}", at + 1)
    });
    assert!(
        golden == found,
        "{name} has changed {shown}\nIf that is meant, `UPDATE=1` rewrites it."
    );
}

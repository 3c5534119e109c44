//! A process for one test: memory and threads of concurrent tests would be counted with its own.

use std::{env, process::Command};

/// Whether this process runs one test alone; if not, runs the test of this path in a process that does.
///
/// # Panics
///
/// When the test fails there.
pub fn is_alone(test: &str) -> bool {
    const ALONE: &str = "SVCTRACK_ALONE";
    if env::var_os(ALONE).is_some() {
        return true;
    }
    let mut alone = Command::new(env::current_exe().unwrap());
    alone.args(["--exact", test, "--nocapture"]).env(ALONE, "1");
    assert!(alone.status().unwrap().success());
    false
}

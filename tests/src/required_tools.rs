//! Tests that need a tool, or rights on the machine, which not every developer has. Where it is missing they say that
//! they were not tried; where a variable demands it, as `tests/run` does, they fail.

use std::{
    env,
    io::{self, Write as _},
};

/// Has tests fail that need a program which is not installed.
pub const TOOLS: &str = "SVCTRACK_DEMAND_TOOLS";
/// Has tests fail that need disks which cannot be created.
pub const DISKS: &str = "SVCTRACK_DEMAND_DISKS";

/// Says why a test is not tried.
///
/// # Panics
/// Where this variable demands it.
pub fn not_tried(demanded_by: &str, obstacle: &str) {
    assert!(env::var_os(demanded_by).is_none(), "NOT TRIED: {obstacle}");
    // Past the test's own output, which is not shown when it passes.
    let _ = writeln!(io::stderr(), "NOT TRIED: {obstacle}");
}

//! What the system says of a process.

use std::fs;

/// A figure of a process's memory, in MiB.
pub(crate) fn memory_mib(process: u32, name: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1_024.0
}

/// Has the most memory that a process has taken (`VmHWM`) begin again with what it takes now.
pub(crate) fn forget_peak(process: u32) {
    fs::write(format!("/proc/{process}/clear_refs"), "5").unwrap();
}

/// Milliseconds of a processor that a process has had.
pub(crate) fn cpu_ms(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let after_name = stat.rsplit_once(") ").unwrap().1;
    // The 14th and 15th fields, in ticks of 10 ms.
    after_name.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap() * 10.0).sum()
}

//! What the server takes of the machine: memory, and space on the disk of its store.

use std::{fs, path::Path};

/// Bytes of a kilobyte in the status of a process.
const KB: u64 = 1024;

/// Bytes on the disk of a folder that this process may still write; none where the system does not say.
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Bytes of memory that this process uses; none where the system is not Linux.
pub(crate) fn memory_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes.saturating_mul(KB))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_a_disk_and_nothing_has_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).unwrap() > 0);
        assert_eq!(free_bytes(&folder.path().join("none")), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_uses_memory() {
        assert!(memory_bytes().unwrap() > 100 * KB);
    }
}

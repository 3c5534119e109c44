//! PostgreSQL, as a baseline: a cluster of its own with the settings that it comes with, so that a
//! commit is durable, reached over a socket.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, chown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

/// The user that Debian creates for it; the server does not run as root.
const USER: &str = "postgres";

/// A running cluster; it ends when dropped.
pub(crate) struct Postgres {
    folder: PathBuf,
    programs: PathBuf,
}

impl Postgres {
    /// Creates a cluster in a folder and starts it.
    pub(crate) fn start(folder: &Path) -> Self {
        let folder = folder.join("postgres");
        fs::create_dir(&folder).unwrap();
        let postgres = Self { folder, programs: programs() };
        if is_root() {
            let passwd = fs::read_to_string("/etc/passwd").unwrap();
            let user = passwd.lines().find(|line| line.starts_with(&format!("{USER}:"))).unwrap();
            let ids: Vec<u32> = user.split(':').filter_map(|part| part.parse().ok()).collect();
            chown(&postgres.folder, Some(ids[0]), Some(ids[1])).unwrap();
        }
        let data = postgres.folder.join("data");
        postgres.run("initdb", &["-A", "trust", "-E", "UTF8", "-D", data.to_str().unwrap()]);
        let options = format!("-k {} -c listen_addresses=''", postgres.folder.display());
        postgres.control(&["-w", "-o", &options, "-l", "/dev/null", "start"]);
        postgres
    }

    fn control(&self, arguments: &[&str]) {
        let data = self.folder.join("data");
        let whole = [&["-D", data.to_str().unwrap()], arguments].concat();
        self.run("pg_ctl", &whole);
    }

    fn run(&self, program: &str, arguments: &[&str]) -> String {
        let program = self.programs.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", USER, "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        // What stays running must not hold a pipe of ours open.
        let said = self.folder.parent().unwrap().join("postgres.out");
        let out = fs::File::create(&said).unwrap();
        let command = command.args(arguments).current_dir(&self.folder).stdin(Stdio::null());
        let status = command.stdout(out).status().unwrap();
        let said = fs::read_to_string(said).unwrap();
        assert!(status.success(), "{command:?}: {said}");
        said
    }

    /// Runs statements from a file, each its own transaction; returns how long the last one took,
    /// there and back.
    pub(crate) fn time(&self, statements: &str) -> Duration {
        let said = self.rows(&format!("\\timing on\n{statements}"));
        let time = said.lines().filter_map(|line| line.strip_prefix("Time: ")).next_back();
        let ms = time.and_then(|time| time.split(' ').next()?.parse::<f64>().ok());
        Duration::from_secs_f64(ms.unwrap_or_else(|| panic!("{said}")) / 1e3)
    }

    /// Runs statements from a file and returns what they print: a line for each row, with a `|` between its columns.
    pub(crate) fn rows(&self, statements: &str) -> String {
        let file = self.folder.parent().unwrap().join("statements.sql");
        fs::write(&file, format!("{statements}\n")).unwrap();
        let (folder, file) = (self.folder.to_str().unwrap(), file.to_str().unwrap());
        let options = ["-q", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", "postgres"];
        self.run("psql", &[&options[..], &["-h", folder, "-f", file]].concat())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.control(&["-m", "immediate", "stop"]);
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// The folder of the newest version's programs, where Debian puts them.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").unwrap();
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.map(|entry| entry.unwrap().path()).max_by_key(version);
    newest.unwrap().join("bin")
}

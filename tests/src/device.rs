//! A file system on a disk that stops, fails and fills up on command: ext4 over a loop device, over a block device of
//! nbdkit in memory. A power cut leaves what has reached that device; what waits in the system's memory is lost.

use std::{
    env, fs,
    io::{self, Write as _},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{Advice, fadvise},
    process::{Pid, Signal, geteuid, kill_process},
};
use tempfile::TempDir;

use crate::process::PATIENCE;

/// Where images lie: in memory, so that no test waits for a disk, nor wears it out.
const IMAGES: &str = "/dev/shm";
/// The tools that a [`Device`] needs.
pub const DEVICE_TOOLS: &[&str] = &["nbdkit", "nbdfuse", "mkfs.ext4", "mount"];
/// The tools that a [`SmallDisk`] needs.
pub const SMALL_DISK_TOOLS: &[&str] = &["mkfs.ext4", "mount"];
/// Bytes of a disk that is created to try whether that is possible.
const TRIED_BYTES: u64 = 1024 * 1024;
/// The pause between polls of a condition.
const PAUSE: Duration = Duration::from_millis(1);

/// Why no disk can be created here with these tools, if so.
pub fn obstacle(tools: &[&str]) -> Option<String> {
    if !geteuid().is_root() {
        return Some("only root may mount a file system".to_owned());
    }
    if !Path::new("/dev/loop-control").exists() {
        return Some("there are no loop devices".to_owned());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = |tool: &&str| env::split_paths(&path).any(|folder| folder.join(tool).exists());
    if let Some(missing) = tools.iter().find(|tool| !is_there(tool)) {
        return Some(format!("`{missing}` is not installed"));
    }
    if tools.contains(&"nbdfuse") && !Path::new("/dev/fuse").exists() {
        return Some("there are no file systems in user space".to_owned());
    }
    SmallDisk::made(TRIED_BYTES).err()
}

/// Whether the file system keeps a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Journal {
    /// It does: after a power cut it is as it was at some point in time.
    Kept,
    /// It does not, so that it takes writes again when its disk does. With a journal it never would.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    Writes,
    /// Every write and every read.
    All,
}

impl Failing {
    /// The files that each make one kind of operation fail while they exist.
    fn triggers(self) -> &'static [&'static str] {
        match self {
            Self::Writes => &["pwrite"],
            Self::All => &["pwrite", "pread"],
        }
    }
}

/// A disk and the file system on it, which are removed when it is dropped.
pub struct Device {
    folder: TempDir,
    nbdkit: Child,
    nbdfuse: Child,
    mounted: Option<Mounted>,
}

impl Device {
    /// A disk with an empty file system on it.
    pub fn new(bytes: u64, journal: Journal) -> Self {
        let folder = tempfile::tempdir_in(IMAGES).unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::File::create(at("image")).unwrap().set_len(bytes).unwrap();
        let mut nbdkit = Command::new("nbdkit");
        nbdkit.args(["--foreground", "--unix"]).arg(at("socket")).arg("--filter=error");
        nbdkit.arg("file").arg(at("image"));
        for kind in Failing::All.triggers() {
            nbdkit.args([format!("error-{kind}=EIO"), format!("error-{kind}-rate=100%")]);
            nbdkit.arg(format!("error-{kind}-file={}", at(kind).display()));
        }
        let nbdkit = spawn(&mut nbdkit);
        // The socket exists shortly before the server listens.
        until(|| UnixStream::connect(at("socket")).is_ok());
        fs::File::create(at("disk")).unwrap();
        let nbdfuse =
            spawn(Command::new("nbdfuse").arg(at("disk")).arg("--unix").arg(at("socket")));
        until(|| fs::metadata(at("disk")).is_ok_and(|disk| disk.len() == bytes));
        let journal: &[&str] = match journal {
            Journal::Kept => &["-J", "size=4"],
            Journal::None => &["-O", "^has_journal"],
        };
        let mut format = Command::new("mkfs.ext4");
        format.args(["-q", "-F", "-E", "lazy_itable_init=0,nodiscard"]).args(journal);
        run(format.arg(at("disk")));
        let mounted = Some(Mounted::made(&at("disk")).unwrap());
        Self { folder, nbdkit, nbdfuse, mounted }
    }

    fn mounted(&self) -> &Mounted {
        self.mounted.as_ref().unwrap()
    }

    /// The folder that the file system is mounted on.
    pub fn folder(&self) -> &Path {
        self.mounted().folder()
    }

    /// Stops the disk: nothing more reaches it.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
        until(|| self.is_stopped());
    }

    /// Lets a stopped disk run again.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    /// A copy of the stopped disk, which then runs again.
    pub fn copy_and_go_on(&self) -> Copy {
        let folder = tempfile::tempdir_in(IMAGES).unwrap();
        let image = folder.path().join("image");
        let from = self.folder.path().join("image");
        run(Command::new("cp").arg("--sparse=always").arg(from).arg(&image));
        self.go_on();
        let mounted = Mounted::made(&image).unwrap();
        Copy { mounted, _folder: folder }
    }

    /// Has the disk fail from now on.
    pub fn fail(&self, failing: Failing) {
        for kind in failing.triggers() {
            fs::File::create(self.folder.path().join(kind)).unwrap();
        }
    }

    /// Has the disk work again.
    pub fn mend(&self) {
        for kind in Failing::All.triggers() {
            let _ = fs::remove_file(self.folder.path().join(kind));
        }
    }

    /// Has the system forget what it keeps in memory of a file, as far as it is written, so that it is read from
    /// the disk.
    pub fn forget(&self, file: &Path) {
        for file in [file, &self.folder.path().join("disk")] {
            let file = fs::File::open(file).unwrap();
            fadvise(file, 0, None, Advice::DontNeed).unwrap();
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.nbdkit), signal).unwrap();
    }

    /// Whether each of the threads has stopped: a signal reaches them one after the other.
    fn is_stopped(&self) -> bool {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.nbdkit.id())).unwrap();
        let states =
            tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok());
        let mut states = states.map(|stat| stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned()));
        states.all(|state| state.is_some_and(|state| state.starts_with('T')))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.mend();
        self.signal(Signal::CONT);
        drop(self.mounted.take());
        for child in [&mut self.nbdfuse, &mut self.nbdkit] {
            let _ = kill_process(Pid::from_child(child), Signal::TERM);
            let _ = child.wait();
        }
    }
}

/// What a power cut has left, mounted.
pub struct Copy {
    mounted: Mounted,
    _folder: TempDir,
}

impl Copy {
    /// The folder that it is mounted on.
    pub fn folder(&self) -> &Path {
        self.mounted.folder()
    }
}

/// A disk of a limited size with a file system on it, which may be filled up.
pub struct SmallDisk {
    mounted: Mounted,
    _folder: TempDir,
}

impl SmallDisk {
    /// A disk with an empty file system on it.
    pub fn new(bytes: u64) -> Self {
        Self::made(bytes).unwrap()
    }

    /// The same, or why there can be none.
    fn made(bytes: u64) -> Result<Self, String> {
        let words = |error: io::Error| error.to_string();
        let folder = tempfile::tempdir_in(IMAGES).map_err(words)?;
        let image = folder.path().join("image");
        fs::File::create(&image).and_then(|image| image.set_len(bytes)).map_err(words)?;
        tried(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image))?;
        Ok(Self { mounted: Mounted::made(&image)?, _folder: folder })
    }

    /// The folder that it is mounted on.
    pub fn folder(&self) -> &Path {
        self.mounted.folder()
    }

    pub fn fill(&self) {
        let mut filler = fs::File::create(self.filler()).unwrap();
        for size in [64 * 1024, 1_024] {
            while filler.write_all(&vec![1; size]).is_ok() {}
        }
        let _ = filler.sync_all();
    }

    pub fn make_room(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.folder().join("filler")
    }
}

/// A mounted file system.
struct Mounted(TempDir);

impl Mounted {
    fn made(image: &Path) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        tried(Command::new("mount").args(["-o", "loop"]).arg(image).arg(folder.path()))?;
        Ok(Self(folder))
    }

    fn folder(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let started = Instant::now();
        while !Command::new("umount")
            .arg(self.0.path())
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
        {
            if started.elapsed() > PATIENCE {
                let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
                return;
            }
            thread::sleep(PAUSE);
        }
    }
}

fn spawn(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn run(command: &mut Command) {
    tried(command).unwrap();
}

/// Runs a command; its output when it fails.
fn tried(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let said = || format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.status.success().then_some(()).ok_or_else(said)
}

fn until(is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "it does not come about");
        thread::sleep(PAUSE);
    }
}

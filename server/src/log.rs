//! Log lines: filtered, and written to standard error by a thread of their own, so that no line ever blocks or ends
//! the server. Lines that cannot be written are counted, and their number is logged once lines can be written again.

use std::{
    fmt::Display,
    io::{self, IsTerminal as _, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, SyncSender},
    },
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tracing_subscriber::{EnvFilter, filter::LevelFilter};

/// Maximum number of lines that wait to be written: at some 200 bytes each they take 1 MB.
const MAX_WAITING_LINES: usize = 5_000;
/// How long a process that ends waits until its last lines are written.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);

/// The form of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// Fields as name=value, for people to read
    #[default]
    Text,
    /// One JSON object per line, for programs
    Json,
}

impl LogFormat {
    /// Line with the number of lost lines.
    fn lost(self, count: u64) -> String {
        match self {
            Self::Text => format!(" WARN svctrack_server::log: log lines lost count={count}\n"),
            Self::Json => format!(
                "{{\"level\":\"WARN\",\"message\":\"log lines lost\",\"count\":{count},\"target\":\"svctrack_server::log\"}}\n"
            ),
        }
    }
}

/// Message to the writing thread.
enum LogMessage {
    Line(Vec<u8>),
    /// All lines before it are written when this gets its reply.
    Flush(SyncSender<()>),
}

/// Channel of lines to the writing thread. A line is lost where too many wait.
#[derive(Clone)]
pub(crate) struct LogLines {
    waiting: SyncSender<LogMessage>,
    lost: Arc<LostLines>,
}

/// Number of lost lines.
#[derive(Default)]
struct LostLines {
    /// Number since the last line that reported them.
    unsaid: AtomicU64,
    /// Since the program was started.
    all: AtomicU64,
}

impl LostLines {
    fn add_one(&self) {
        self.unsaid.fetch_add(1, Ordering::Relaxed);
        self.all.fetch_add(1, Ordering::Relaxed);
    }
}

impl LogLines {
    /// Starts the thread that writes lines.
    fn to(to: impl Write + Send + 'static, format: LogFormat) -> io::Result<Self> {
        let (waiting, received) = mpsc::sync_channel(MAX_WAITING_LINES);
        let lost = Arc::<LostLines>::default();
        let counter = lost.clone();
        let write = move || write_lines(&received, &counter, to, format);
        thread::Builder::new().name("log".to_owned()).spawn(write)?;
        Ok(Self { waiting, lost })
    }

    /// Queues a line, which ends with a line feed. It is lost where too many wait.
    pub(crate) fn send(&self, line: Vec<u8>) {
        if self.waiting.try_send(LogMessage::Line(line)).is_err() {
            self.lost.add_one();
        }
    }

    /// Number of lines that were lost since the start.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.all.load(Ordering::Relaxed)
    }
}

/// The subscriber writes each line at once.
impl Write for LogLines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.send(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes lines until all senders are dropped; before a line, the number of lost ones.
fn write_lines(
    waiting: &Receiver<LogMessage>,
    lost: &LostLines,
    mut to: impl Write,
    format: LogFormat,
) {
    let mut is_torn = false;
    for entry in waiting {
        match entry {
            LogMessage::Line(line) => {
                let count = lost.unsaid.swap(0, Ordering::Relaxed);
                // A torn line is not continued.
                let mut text = if is_torn { vec![b'\n'] } else { Vec::new() };
                if count > 0 {
                    text.extend(format.lost(count).into_bytes());
                }
                text.extend(line);
                let written = write_some(&mut to, &text);
                if let Some(last) = written.checked_sub(1).and_then(|last| text.get(last)) {
                    is_torn = *last != b'\n';
                }
                if written < text.len() || to.flush().is_err() {
                    lost.unsaid.fetch_add(count, Ordering::Relaxed);
                    lost.add_one();
                }
            }
            // The caller may no longer wait.
            LogMessage::Flush(done) => drop(done.send(())),
        }
    }
}

/// Writes as much of a text as possible; returns the number of bytes.
fn write_some(to: &mut impl Write, text: &[u8]) -> usize {
    let mut written = 0;
    while let Some(rest) = text.get(written..).filter(|rest| !rest.is_empty()) {
        match to.write(rest) {
            Ok(0) => break,
            Ok(more) => written += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    written
}

/// Logging of a process. When it is dropped, the waiting lines are written.
#[must_use]
pub(crate) struct Logging(LogLines);

impl Logging {
    /// Channel of the lines.
    pub(crate) fn lines(&self) -> LogLines {
        self.0.clone()
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        let (done, written) = mpsc::sync_channel(1);
        if self.0.waiting.try_send(LogMessage::Flush(done)).is_ok() {
            let _ = written.recv_timeout(FLUSH_WITHIN);
        }
    }
}

/// A part of a filter without a level: it would be taken for a module, and all else would be silent.
fn without_level(filter: &str) -> Option<&str> {
    let has_level = |part: &str| part.contains('=') || part.trim().parse::<LevelFilter>().is_ok();
    filter.split(',').find(|part| !has_level(part))
}

/// Sends log lines to standard error in a format, filtered by `filter` (`info`, `debug`, `warn,svctrack_server=debug`).
///
/// # Errors
/// When the filter cannot be read, or no thread can be started, with the reason.
pub(crate) fn start(filter: &str, format: LogFormat) -> Result<Logging, String> {
    let rejected = |why: &dyn Display| format!("`log` must be a filter such as `info`; {why}");
    if let Some(part) = without_level(filter) {
        return Err(rejected(&format!("`{part}` names no level")));
    }
    let filter = EnvFilter::try_new(filter).map_err(|error| rejected(&error))?;
    let lines = LogLines::to(io::stderr(), format)
        .map_err(|error| format!("logging cannot start: {error}"))?;
    let logging = Logging(lines.clone());
    // A second start in one process, as in tests, keeps the first one's logging. Internal errors would be printed,
    // which panics where standard error is closed.
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(move || lines.clone())
        .log_internal_errors(false);
    let _ = match format {
        LogFormat::Text => subscriber.try_init(),
        LogFormat::Json => {
            subscriber.json().flatten_event(true).with_current_span(false).try_init()
        }
    };
    Ok(logging)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_names_a_level_in_each_of_its_parts() {
        for filter in
            ["info", "off", "WARN", "warn, svctrack_server=debug", "svctrack_server=debug"]
        {
            assert_eq!(without_level(filter), None, "{filter}");
        }
        assert_eq!(without_level("bananas"), Some("bananas"));
        assert_eq!(without_level("info,svctrack_server"), Some("svctrack_server"));
    }

    /// Accepts up to a number of bytes at a time, and fails where it may accept none.
    struct ShortWriter {
        may: Receiver<usize>,
        written: mpsc::Sender<String>,
    }

    impl Write for ShortWriter {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            match line.len().min(self.may.recv().unwrap_or_default()) {
                0 => Err(io::Error::other("full")),
                bytes => {
                    self.written
                        .send(String::from_utf8_lossy(&line[..bytes]).into_owned())
                        .unwrap();
                    Ok(bytes)
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_fail_or_do_not_fit_are_counted_and_the_count_is_written() {
        let (allow, may) = mpsc::channel();
        let (written, lines_written) = mpsc::channel();
        let mut lines = LogLines::to(ShortWriter { may, written }, LogFormat::Text).unwrap();
        // The writer holds one line, as many as may wait do so, and three are too many.
        lines.write_all(b"first").unwrap();
        while lines.waiting.try_send(LogMessage::Line(b"waits".to_vec())).is_ok() {}
        (0..2).for_each(|_| lines.write_all(b"lost").unwrap());
        assert!(lines.lost() > 0);
        let lost = lines.lost() + 1;
        allow.send(0).unwrap();
        allow.send(usize::MAX).unwrap();
        let next = lines_written.recv().unwrap();
        assert_eq!(next, format!(" WARN svctrack_server::log: log lines lost count={lost}\nwaits"));
    }

    #[test]
    fn what_follows_a_torn_line_is_on_a_line_of_its_own() {
        let (allow, may) = mpsc::channel();
        let (written, lines_written) = mpsc::channel();
        let mut lines = LogLines::to(ShortWriter { may, written }, LogFormat::Text).unwrap();
        for bytes in [4, 0, usize::MAX, usize::MAX] {
            allow.send(bytes).unwrap();
        }
        for line in ["torn in two\n", "next\n", "last\n"] {
            lines.write_all(line.as_bytes()).unwrap();
        }
        let text: String = lines_written.iter().take(3).collect();
        assert_eq!(text, "torn\n WARN svctrack_server::log: log lines lost count=1\nnext\nlast\n");
    }
}

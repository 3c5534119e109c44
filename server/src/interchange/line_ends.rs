//! Lines of a CSV table, which a CSV reader does not report.

use std::{collections::VecDeque, io, mem};

use super::quotes::Quotes;

/// Longest line of NDJSON, and longest row of a table, in bytes: more than the largest record has.
pub(super) const MAX_LINE_BYTES: u64 = 8 * 1024 * 1024;

/// A source that counts the line on which a record begins, however lines end, and that ends where a record is too long:
/// a CSV reader only knows where the previous one ended, and of CR and LF that is between the two.
///
/// The reader asks for more only in the middle of a record. Earlier bytes belong to that record, so only the line ends
/// of the last piece are stored.
pub(super) struct LineEnds<R> {
    source: R,
    /// Bytes that were read.
    at: u64,
    /// Runs of line ends of the last piece: beginning, end, and number of lines.
    pub(super) runs: VecDeque<(u64, u64, u64)>,
    /// Lines that ended in earlier pieces, but in the record.
    inside: u64,
    /// Beginning of the record, and its line.
    begin: u64,
    pub(super) line: u64,
    quotes: Quotes,
}

impl<R> LineEnds<R> {
    /// A table from its line `line` on.
    pub(super) fn new(source: R, separator: u8, line: u64) -> Self {
        let quotes = Quotes::new(separator, line);
        Self { source, at: 0, runs: VecDeque::new(), inside: 0, begin: 0, line, quotes }
    }

    /// Checks the quotes up to this byte.
    ///
    /// # Errors
    /// A quote that is never closed, or only by one that opens another cell: the text between the two is ambiguous.
    pub(super) fn check_quotes(&self, byte: u64) -> io::Result<()> {
        match self.quotes.unclosed_until(byte) {
            None => Ok(()),
            Some(line) => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("line {line}: a cell begins with a `\"` that is never closed"),
            )),
        }
    }

    /// Notes that a record begins at this byte, or after the line ends there.
    pub(super) fn begin(&mut self, byte: u64) {
        self.line += mem::take(&mut self.inside);
        self.begin = byte;
        while let Some((_, end, lines)) =
            self.runs.front().copied().filter(|run| run.0 <= self.begin)
        {
            self.begin = self.begin.max(end);
            self.line += lines;
            self.runs.pop_front();
        }
    }

    fn note(&mut self, byte: u8) {
        let (at, lines) = (self.at, u64::from(byte == b'\n'));
        self.quotes.note(at, byte);
        self.at += 1;
        if !matches!(byte, b'\n' | b'\r') {
            return;
        }
        if self.begin == at {
            self.begin += 1;
            self.line += lines;
            return;
        }
        match self.runs.back_mut().filter(|run| run.1 == at) {
            Some(run) => (run.1, run.2) = (at + 1, run.2 + lines),
            None => self.runs.push_back((at, at + 1, lines)),
        }
    }
}

impl<R: io::Read> io::Read for LineEnds<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.at - self.begin > MAX_LINE_BYTES {
            let message = format!(
                "line {}: a row has over {MAX_LINE_BYTES} bytes; is a `\"` not closed?",
                self.line
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let count = self.source.read(to)?;
        self.inside += self.runs.drain(..).map(|(_, _, lines)| lines).sum::<u64>();
        if count == 0 {
            self.quotes.end(self.at);
        }
        to.iter().take(count).for_each(|byte| self.note(*byte));
        Ok(count)
    }
}

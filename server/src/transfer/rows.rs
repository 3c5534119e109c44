//! The records in a file, one at a time, each with its line.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _},
    path::Path,
};

use svctrack_core::{
    schema::{ResourceDef, Row},
    value::Document,
};

use super::{Format, cell::value_of};

/// Longest line of NDJSON, in bytes: more than the largest record has.
const MAX_LINE_BYTES: u64 = 4 * 1024 * 1024;

/// A record, or why it cannot be read.
pub(super) type Read = Result<Document, String>;

/// A file of records.
pub(super) enum Rows {
    Ndjson(BufReader<File>, u64),
    Csv(Box<Table>),
}

/// A file of CSV.
pub(super) struct Table {
    reader: csv::Reader<File>,
    columns: Vec<&'static Row>,
    lines: Lines,
}

impl Rows {
    /// Opens a file.
    ///
    /// # Errors
    /// In words; a column that is not known is one.
    pub(super) fn open(
        def: &'static ResourceDef,
        format: Format,
        path: &Path,
    ) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        if format == Format::Ndjson {
            return Ok(Self::Ndjson(BufReader::new(file), 0));
        }
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(file);
        let names = reader.headers().map_err(|error| error.to_string())?;
        let columns = names
            .iter()
            .map(|name| def.row(name).ok_or_else(|| format!("the column `{name}` is not known")));
        let columns = columns.collect::<Result<_, _>>()?;
        let lines = Lines::of(File::open(path).map_err(|error| error.to_string())?);
        Ok(Self::Csv(Box::new(Table { reader, columns, lines })))
    }

    /// The next record and its line.
    ///
    /// # Errors
    /// When the file cannot be read on.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Read)>> {
        match self {
            Self::Ndjson(reader, line) => next_line(reader, line),
            Self::Csv(table) => table.next(),
        }
    }
}

impl Table {
    fn next(&mut self) -> io::Result<Option<(u64, Read)>> {
        let mut cells = csv::ByteRecord::new();
        if !self.reader.read_byte_record(&mut cells).map_err(io::Error::other)? {
            return Ok(None);
        }
        let line = self.lines.line_of(cells.position().map_or(0, csv::Position::byte))?;
        Ok(Some((line, self.read(cells))))
    }

    fn read(&self, cells: csv::ByteRecord) -> Read {
        let (found, expected) = (cells.len(), self.columns.len());
        if found != expected {
            return Err(format!("it has {found} cells, the first line {expected}"));
        }
        let cells = csv::StringRecord::from_byte_record(cells);
        let cells = cells.map_err(|_| "it is not UTF-8".to_owned())?;
        let mut document = Document::default();
        for (row, cell) in self.columns.iter().zip(&cells) {
            if let Some(value) = value_of(row, cell)? {
                document.set(row.name, value);
            }
        }
        Ok(document)
    }
}

/// The lines of a file, however they end: a reader of CSV says where a record ended, and of CR and LF that is
/// between the two.
struct Lines {
    from: BufReader<File>,
    at: u64,
    line: u64,
}

impl Lines {
    fn of(file: File) -> Self {
        Self { from: BufReader::new(file), at: 0, line: 1 }
    }

    /// The line of the record that begins at this byte, or behind the ends of lines that stand there.
    fn line_of(&mut self, byte: u64) -> io::Result<u64> {
        loop {
            let next = self.from.fill_buf()?.first().copied();
            match next {
                Some(b'\n') => self.line += 1,
                Some(b'\r') => {}
                Some(_) if self.at < byte => {}
                _ => return Ok(self.line),
            }
            self.from.consume(1);
            self.at += 1;
        }
    }
}

fn next_line(reader: &mut BufReader<File>, line: &mut u64) -> io::Result<Option<(u64, Read)>> {
    loop {
        let mut bytes = Vec::new();
        if reader.take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        *line += 1;
        if bytes.len() as u64 == MAX_LINE_BYTES && !bytes.ends_with(b"\n") {
            reader.skip_until(b'\n')?;
            return Ok(Some((*line, Err(format!("it has over {MAX_LINE_BYTES} bytes")))));
        }
        if !bytes.trim_ascii().is_empty() {
            return Ok(Some((*line, Document::parse(&bytes).map_err(|error| error.message))));
        }
    }
}

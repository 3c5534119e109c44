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
    Csv(Box<csv::Reader<File>>, Vec<&'static Row>),
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
        let mut reader = csv::Reader::from_reader(file);
        let names = reader.headers().map_err(|error| error.to_string())?;
        let columns = names
            .iter()
            .map(|name| def.row(name).ok_or_else(|| format!("the column `{name}` is not known")));
        let columns = columns.collect::<Result<_, _>>()?;
        Ok(Self::Csv(Box::new(reader), columns))
    }

    /// The next record and its line.
    ///
    /// # Errors
    /// When the file cannot be read on.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Read)>> {
        match self {
            Self::Ndjson(reader, line) => next_line(reader, line),
            Self::Csv(reader, columns) => {
                let mut cells = csv::StringRecord::new();
                if !reader.read_record(&mut cells).map_err(io::Error::other)? {
                    return Ok(None);
                }
                let line = cells.position().map_or(0, csv::Position::line);
                Ok(Some((line, read_cells(columns, &cells))))
            }
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
        if bytes.len() as u64 == MAX_LINE_BYTES {
            return Err(io::Error::other(format!("line {line} has over {MAX_LINE_BYTES} bytes")));
        }
        if !bytes.trim_ascii().is_empty() {
            return Ok(Some((*line, Document::parse(&bytes).map_err(|error| error.message))));
        }
    }
}

fn read_cells(columns: &[&'static Row], cells: &csv::StringRecord) -> Read {
    let mut document = Document::default();
    for (row, cell) in columns.iter().zip(cells) {
        if let Some(value) = value_of(row, cell)? {
            document.set(row.name, value);
        }
    }
    Ok(document)
}

//! Reads records from a file or a body, one at a time, each with its line. Only the current record is in memory.

use std::io::{self, BufRead, BufReader, Read as _};

use svctrack_core::{
    resources::REGISTRY,
    schema::{ResourceDef, VERSION},
    value::{Document, counted, quoted::quoted},
};

use super::{
    format::Format,
    import_columns::{ColumnMap, ImportColumns, all_problems, near_property, property_of},
    line_ends::{LineEnds, MAX_LINE_BYTES},
    separator::{Separator, most_frequent_separator, named_separator},
};

/// Longest first line of a table, in bytes: each property of a resource has room for a long name.
const MAX_HEAD_BYTES: u64 = 256 * 1024;
/// Bytes at the beginning of a file that mark it as UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Length of the beginning of a file that shows its format, in bytes.
const START_BYTES: u64 = 16;
/// Options for reading records.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Separator of cells; else the first line shows it.
    pub separator: Option<Separator>,
    /// The properties of the heads of columns.
    pub map: ColumnMap,
    /// Whether a line of NDJSON such as `{"$resource": "licenses"}` changes the resource of the next ones.
    may_switch: bool,
}

/// Member of a line that changes the resource of the next ones.
pub(crate) const SWITCH: &str = "$resource";

impl ReadOptions {
    pub fn of_files(separator: Option<Separator>, map: ColumnMap) -> Self {
        Self { separator, map, may_switch: false }
    }

    /// The caller's option to map a head: a flag for files, a parameter for a body.
    fn map_option(&self) -> &'static str {
        if self.may_switch { "map=" } else { "--map " }
    }

    /// Options of a body, which may hold records of several resources.
    pub fn for_a_body() -> Self {
        Self { may_switch: true, ..Self::default() }
    }
}

/// Parses the mapping of a head to its property, `Company name=name`.
///
/// # Errors
/// A message, where there is no `=`.
pub fn parse_mapping(text: &str) -> Result<(String, String), &'static str> {
    let (head, name) =
        text.rsplit_once('=').ok_or("expected HEAD=PROPERTY, such as \"Company name=name\"")?;
    Ok((head.trim().to_owned(), name.trim().to_owned()))
}

/// A record, or the message of its problem.
pub(super) type ReadRecord = Result<Document, String>;

/// Source of a file's bytes.
pub type ByteSource = Box<dyn io::Read + Send>;

/// Records, one after the other.
pub struct RecordRows {
    records: Records,
    def: &'static ResourceDef,
    /// Names that were sent and that the service sets itself.
    read_only: Vec<String>,
    may_switch: bool,
}

enum Records {
    Ndjson(BufReader<ByteSource>, u64),
    Csv(Box<CsvTable>),
}

struct CsvTable {
    reader: csv::Reader<LineEnds<ByteSource>>,
    columns: ImportColumns,
}

impl RecordRows {
    /// Begins to read. Without a format, the first character shows it.
    ///
    /// # Errors
    /// A message, such as that of an unknown column.
    pub fn open(
        def: &'static ResourceDef,
        format: Option<Format>,
        source: ByteSource,
        options: &ReadOptions,
    ) -> Result<Self, String> {
        let (start, source) = without_mark(source).map_err(|error| error.to_string())?;
        let (records, read_only) = match format.unwrap_or_else(|| Format::from_start(&start)) {
            Format::Ndjson if start.trim_ascii_start().starts_with(b"[") => {
                return Err(ARRAY.to_owned());
            }
            Format::Ndjson => (Records::Ndjson(BufReader::new(source), 0), Vec::new()),
            Format::Csv => {
                let table = CsvTable::open(def, source, options)?;
                let read_only = table.columns.read_only.clone();
                (Records::Csv(Box::new(table)), read_only)
            }
        };
        Ok(Self { records, def, read_only, may_switch: options.may_switch })
    }

    /// Whether a column of the table has this head.
    pub fn has_head(&self, head: &str) -> bool {
        match &self.records {
            Records::Csv(table) => table.columns.has_head(head),
            Records::Ndjson(..) => false,
        }
    }

    /// The resource of the record that was read last.
    pub fn def(&self) -> &'static ResourceDef {
        self.def
    }

    /// Names that were sent and that the service sets itself, so far; none of an export, which has all of them.
    pub fn read_only(&self) -> &[String] {
        &self.read_only
    }

    /// Next record and its line: the properties that a caller can set, and `_id`.
    ///
    /// # Errors
    /// When the source cannot be read on.
    pub fn next_record(&mut self) -> io::Result<Option<(u64, ReadRecord)>> {
        loop {
            let next = match &mut self.records {
                Records::Ndjson(reader, line) => next_line(reader, line)?,
                Records::Csv(table) => return table.next(),
            };
            let Some((line, read)) = next else { return Ok(None) };
            let switch = read.as_ref().ok().filter(|_| self.may_switch);
            match switch.and_then(|read| read.text(SWITCH)) {
                Some(name) => self.def = resource(&name)?,
                None => return Ok(Some((line, read.and_then(|read| self.settable(&read))))),
            }
        }
    }

    /// Properties that a caller sets of a record. The others are ignored, as in any other body (R3).
    fn settable(&mut self, read: &Document) -> ReadRecord {
        let (mut sent, mut problems) = (Document::default(), Vec::new());
        let is_of_export = read.get(VERSION).is_some();
        for (name, value) in read.iter() {
            let Some(field) = self.def.field(name) else {
                problems.push(unknown(self.def, name));
                continue;
            };
            if field.is_imported() || name == VERSION {
                sent.set(name, value.to_json());
            }
            let is_named = is_of_export || self.read_only.iter().any(|known| known == name);
            if !field.is_sent() && name != "_id" && !is_named {
                self.read_only.push(name.to_owned());
            }
        }
        if problems.is_empty() { Ok(sent) } else { Err(all_problems(self.def, &sent, problems)) }
    }
}

fn resource(name: &str) -> io::Result<&'static ResourceDef> {
    let found = REGISTRY.iter().find(|def| def.path == name);
    found.copied().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, format!("there is no resource {}", quoted(name)))
    })
}

fn unknown(def: &ResourceDef, name: &str) -> String {
    format!("`{name}` is not known{}", near_property(def, name))
}

/// Beginnings of files of other formats, and the advice for each.
const OTHERS: [(&[u8], &str); 5] = [
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
    (
        b"PK\x03\x04",
        "it is a workbook (.xlsx) or another zip archive: export a sheet as \"CSV UTF-8\"",
    ),
    (b"\xd0\xcf\x11\xe0", "it is a workbook (.xls): export a sheet as \"CSV UTF-8\""),
    (
        b"\x1f\x8b",
        "it is compressed with gzip: decompress it, or over HTTP send `Content-Encoding: gzip`",
    ),
];
const UTF_16: &str = "it is UTF-16: save it as UTF-8 (in a spreadsheet, as \"CSV UTF-8\")";
/// The error for bytes that no text has, such as those of a picture, or of UTF-16 without its mark.
const NOT_TEXT: &str = "it is not text: save it as UTF-8 (in a spreadsheet, as \"CSV UTF-8\")";
/// The error for an array where each line is a record.
const ARRAY: &str = "it is a JSON array: write one object per line (NDJSON), as `jq -c '.[]'` does";
/// The error for text that is not UTF-8, the default of some spreadsheets.
const NOT_UTF_8: &str = "it is not UTF-8 but probably Windows-1252: save it as UTF-8 (in a spreadsheet, as \"CSV UTF-8\")";

/// The first bytes of a source after a byte-order mark, and the source from there on.
fn without_mark(mut source: ByteSource) -> io::Result<(Vec<u8>, ByteSource)> {
    let mut start = Vec::new();
    source.by_ref().take(START_BYTES).read_to_end(&mut start)?;
    if let Some((_, message)) = OTHERS.iter().find(|(other, _)| start.starts_with(other)) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, *message));
    }
    if start.contains(&0) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, NOT_TEXT));
    }
    if start.starts_with(BYTE_ORDER_MARK) {
        start.drain(..BYTE_ORDER_MARK.len());
    }
    Ok((start.clone(), Box::new(io::Cursor::new(start).chain(source))))
}

impl CsvTable {
    fn open(
        def: &'static ResourceDef,
        source: ByteSource,
        options: &ReadOptions,
    ) -> Result<Self, String> {
        let (reader, heads) = table_of(source, options)?;
        let columns = ImportColumns::read(def, heads.iter(), &options.map, options.map_option())?;
        Ok(Self { reader, columns })
    }

    fn next(&mut self) -> io::Result<Option<(u64, ReadRecord)>> {
        loop {
            let begin = self.reader.position().byte();
            self.reader.get_mut().begin(begin);
            let mut cells = csv::ByteRecord::new();
            let is_record = self.reader.read_byte_record(&mut cells).map_err(failed)?;
            self.reader.get_ref().check_quotes(self.reader.position().byte())?;
            if !is_record {
                return Ok(None);
            }
            let line = self.reader.get_ref().line;
            match self.read(cells) {
                Ok(None) => {}
                Ok(Some(record)) => return Ok(Some((line, Ok(record)))),
                Err(reason) => return Ok(Some((line, Err(reason)))),
            }
        }
    }

    fn read(&self, cells: csv::ByteRecord) -> Result<Option<Document>, String> {
        let (found, expected) = (cells.len(), self.columns.count());
        if found != expected {
            let found = counted(found, "cell");
            return Err(format!("it has {found}, the first line {expected}"));
        }
        let cells = csv::StringRecord::from_byte_record(cells);
        let cells = cells.map_err(|_| NOT_UTF_8.to_owned())?;
        self.columns.record(cells.iter())
    }
}

/// Rows of a table, and its heads.
fn table_of(
    source: ByteSource,
    options: &ReadOptions,
) -> Result<(csv::Reader<LineEnds<ByteSource>>, csv::StringRecord), String> {
    let words = |error: io::Error| error.to_string();
    let (mut head, mut rest) = first_line(source).map_err(words)?;
    let named = named_separator(&head);
    if named.is_some() {
        (head, rest) = first_line(Box::new(rest)).map_err(words)?;
    }
    let given = options.separator.map(Separator::byte);
    let separator = given.or(named).unwrap_or_else(|| most_frequent_separator(&head));
    let line = 1 + u64::from(named.is_some());
    let source: ByteSource = Box::new(io::Cursor::new(head).chain(rest));
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .delimiter(separator)
        .from_reader(LineEnds::new(source, separator, line));
    let heads = reader.headers().map_err(of_heads)?.clone();
    reader.get_ref().check_quotes(reader.position().byte()).map_err(words)?;
    Ok((reader, heads))
}

/// The heads of a table, each with the property that has its name, if one does.
///
/// # Errors
/// A message: the table has no valid heads.
pub(crate) fn heads_of(
    def: &'static ResourceDef,
    table: String,
) -> Result<Vec<(String, Option<String>)>, String> {
    let source: ByteSource = Box::new(io::Cursor::new(table.into_bytes()));
    let (_, source) = without_mark(source).map_err(|error| error.to_string())?;
    let (_, heads) = table_of(source, &ReadOptions::default())?;
    let named = |head: &str| (head.trim().to_owned(), property_of(def, head));
    Ok(heads.iter().map(named).collect())
}

/// First line that is not empty, with its line end, and the rest.
fn first_line(source: ByteSource) -> io::Result<(Vec<u8>, BufReader<ByteSource>)> {
    let mut rest = BufReader::new(source);
    let mut head = Vec::new();
    while head.trim_ascii().is_empty() {
        let room = MAX_HEAD_BYTES.saturating_sub(head.len() as u64);
        if rest.by_ref().take(room).read_until(b'\n', &mut head)? == 0 {
            break;
        }
    }
    Ok((head, rest))
}

/// Why the heads of columns could not be read.
fn of_heads(error: csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Utf8 { .. } => NOT_UTF_8.to_owned(),
        _ => error.to_string(),
    }
}

/// Why no record could be read.
fn failed(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn next_line(
    reader: &mut BufReader<ByteSource>,
    line: &mut u64,
) -> io::Result<Option<(u64, ReadRecord)>> {
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
            let read = Document::parse(&bytes).map_err(|error| match str::from_utf8(&bytes) {
                Ok(_) => error.message,
                Err(_) => NOT_UTF_8.to_owned(),
            });
            return Ok(Some((*line, read)));
        }
    }
}

#[cfg(test)]
mod tests {
    use svctrack_core::resources::company::COMPANY;

    use super::*;

    fn open(text: &[u8]) -> Result<RecordRows, String> {
        let source = Box::new(io::Cursor::new(text.to_vec()));
        RecordRows::open(&COMPANY, Some(Format::Csv), source, &ReadOptions::default())
    }

    fn read(text: &[u8]) -> Vec<String> {
        let mut rows = open(text).unwrap();
        let next = || rows.next_record().unwrap();
        std::iter::from_fn(next)
            .map(|(line, read)| format!("{line} {}", read.unwrap().to_text()))
            .collect()
    }

    #[test]
    fn separators_and_marks_are_found() {
        let expect = [r#"2 {"name":"A, B","externalId":"a"}"#];
        for text in [
            "name,externalId\n\"A, B\",a\n",
            "name;externalId\nA, B;a\n",
            "\u{feff}name\texternalId\r\nA, B\ta\r\n",
        ] {
            assert_eq!(read(text.as_bytes()), expect, "{text}");
        }
    }

    #[test]
    fn a_first_line_may_name_the_separator() {
        for (text, line) in [
            ("sep=;\r\nname;externalId\r\nA, B;a\r\n", 3),
            ("\u{feff}SEP=|\nname|externalId\n\nA, B|a", 4),
            ("sep=\t\nname\texternalId\nA, B\ta\n", 3),
        ] {
            let expect = format!(r#"{line} {{"name":"A, B","externalId":"a"}}"#);
            assert_eq!(read(text.as_bytes()), [expect], "{text}");
        }
    }

    #[test]
    fn a_quote_that_is_never_closed_is_named_with_its_line_and_swallows_nothing() {
        let said = |text: &str| {
            let mut rows = open(text.as_bytes()).unwrap();
            let mut lines = Vec::new();
            loop {
                match rows.next_record() {
                    Ok(Some((line, _))) => lines.push(line),
                    Ok(None) => return (lines, String::new()),
                    Err(error) => return (lines, error.to_string()),
                }
            }
        };
        let fault =
            |line: u64| format!("line {line}: a cell begins with a `\"` that is never closed");
        let rest = "X,x\n".repeat(10_000);
        for text in [
            "name,externalId\nA,a\nB,\"b\nC,c\nD,d\n".to_owned(),
            "name,externalId\nA,a\nB,\"b\nC,c\nD,\"d\"\nE,e\n".to_owned(),
            "name,externalId\nA,a\nB,\"b\nC,\"\"\nD,d\n".to_owned(),
            "name,externalId\r\nA,a\r\nB,\"".to_owned(),
            format!("name,externalId\nA,a\nB,\"b\n{rest}"),
        ] {
            assert_eq!(said(&text), (vec![2], fault(3)), "{:?}", &text[..40.min(text.len())]);
        }
        assert_eq!(said("sep=;\nname;externalId\n\"A;a\n"), (vec![], fault(3)));
        assert_eq!(open(b"name,\"externalId\nA,a\n").err().unwrap(), fault(1));
        for sound in [
            "name,externalId\n\"A \"\"B\"\"\nC\",a\n5\" disk,\"b\"\n",
            "name,externalId\n\"A\"B,a\n\"B\" ,b",
            "name,externalId\n\"A\",\"a\"",
        ] {
            assert_eq!(said(sound).1, "", "{sound}");
        }
    }

    #[test]
    fn what_is_no_utf_8_is_named_with_what_to_do() {
        for (bytes, expect) in [
            (&b"\xff\xfen\0a\0"[..], "UTF-16: save it as UTF-8"),
            (b"PK\x03\x04\x14\0", "a workbook (.xlsx) or another zip archive: export a sheet as"),
            (b"\xd0\xcf\x11\xe0\xa1\xb1", "a workbook (.xls): export a sheet as"),
            (b"\x1f\x8b\x08", "compressed with gzip: decompress it"),
            (b"name,custom.Stra\xdfe\nA,B\n", "probably Windows-1252: save it as UTF-8"),
        ] {
            let said = open(bytes).err().unwrap();
            assert!(said.contains(expect), "{said}");
        }
        let records = |format, bytes: &[u8]| {
            let source = Box::new(io::Cursor::new(bytes.to_vec()));
            let mut rows =
                RecordRows::open(&COMPANY, Some(format), source, &ReadOptions::default()).unwrap();
            [rows.next_record(), rows.next_record()].map(|read| read.unwrap().unwrap().1)
        };
        for (format, bytes) in [
            (Format::Csv, &b"name\nM\xfcller\nB\n"[..]),
            (Format::Ndjson, b"{\"name\":\"M\xfcller\"}\n{\"name\":\"B\"}\n"),
        ] {
            let [rejected, read] = records(format, bytes);
            assert!(rejected.unwrap_err().contains("Windows-1252") && read.is_ok());
        }
    }

    #[test]
    fn a_row_is_rejected_with_all_that_is_wrong_with_it() {
        let mut rows = open(b"name,csmScore,domains,custom\nA,9,[a,{\n").unwrap();
        let said = rows.next_record().unwrap().unwrap().1.unwrap_err();
        assert_eq!(
            said,
            "`domains` must be items separated by `|`, or a JSON array; found `[a`; `custom` must be a JSON object; found `{`; `csmScore` must be from 1 to 5; found `9`"
        );
        let text = br#"{"nam":"A","colour":1,"csmScore":9}"#.to_vec();
        let source = Box::new(io::Cursor::new(text));
        let mut rows =
            RecordRows::open(&COMPANY, Some(Format::Ndjson), source, &ReadOptions::default())
                .unwrap();
        let said = rows.next_record().unwrap().unwrap().1.unwrap_err();
        assert_eq!(
            said,
            "`nam` is not known; did you mean `name`?; `colour` is not known; `csmScore` must be from 1 to 5; found `9`"
        );
    }

    #[test]
    fn a_line_is_that_of_the_file_whatever_ends_it_and_empty_records_are_passed_over() {
        for end in ["\n", "\r\n"] {
            let lines = ["", "name", "", "\"A", "of two\"", "\" \"", "B", "", "", "C"];
            let text = lines.map(|line| [line, end].concat()).concat();
            let lines: Vec<_> =
                read(text.as_bytes()).iter().map(|field| field[..2].trim().to_owned()).collect();
            assert_eq!(lines, ["4", "7", "10"], "{end:?}");
        }
    }

    #[test]
    fn lines_are_counted_across_pieces_and_take_no_room() {
        let blank = 3 * 1024 * 1024;
        let text = [
            b"name\n\"A\n".as_slice(),
            &vec![b'\n'; 20_000],
            b"\"\n",
            &vec![b'\n'; blank],
            b"B\r\n",
            &b"\r\n".repeat(blank),
            b"C",
        ]
        .concat();
        let mut rows = open(&text).unwrap();
        let mut next = || rows.next_record().unwrap().map(|(line, _)| line);
        let b = 2 + 20_000 + 2 + blank as u64;
        assert_eq!(
            [next(), next(), next(), next()],
            [Some(2), Some(b), Some(b + 1 + blank as u64), None]
        );
        let Records::Csv(table) = &rows.records else { panic!() };
        assert!(table.reader.get_ref().runs.capacity() < 10_000);
    }

    #[test]
    fn a_row_without_end_is_rejected_with_its_line() {
        let length = usize::try_from(MAX_LINE_BYTES).unwrap();
        let text = [b"name\nA\n\"B".as_slice(), &vec![b'b'; 2 * length]].concat();
        let mut rows = open(&text).unwrap();
        assert_eq!(rows.next_record().unwrap().unwrap().0, 2);
        let said = rows.next_record().unwrap_err();
        assert_eq!(said.kind(), io::ErrorKind::InvalidData);
        assert!(said.to_string().starts_with("line 3: a row has over"), "{said}");
    }
}

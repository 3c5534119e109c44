//! Records in files and bodies of an import.

use std::io::Cursor;

use svctrack_core::{resources::REGISTRY, schema::VERSION};
use svctrack_server::interchange::{Format, ReadOptions, RecordRows};

pub(super) fn check_csv(input: &[u8]) -> bool {
    check(input, Format::Csv)
}

pub(super) fn check_ndjson(input: &[u8]) -> bool {
    check(input, Format::Ndjson)
}

/// Records come in the order of their lines, and have properties that are known. A CR alone ends a row of a table, but is
/// no line of an editor.
fn check(input: &[u8], format: Format) -> bool {
    let lines = input.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    let mut is_accepted = false;
    for def in REGISTRY {
        let source = Box::new(Cursor::new(input.to_vec()));
        let Ok(mut rows) = RecordRows::open(def, Some(format), source, &ReadOptions::for_a_body())
        else {
            continue;
        };
        let mut last = 0;
        while let Ok(Some((line, read))) = rows.next_record() {
            assert!(line >= last && line <= lines, "line {line} of {lines} after {last}");
            last = line;
            let Ok(record) = read else { continue };
            for (name, _) in record.iter() {
                assert!(name == VERSION || rows.def().field(name).is_some(), "{name}");
            }
            is_accepted = true;
        }
    }
    is_accepted
}

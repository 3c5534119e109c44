//! The types of the npm package: `npm/index.d.ts`, filled in from the sources of calls, options and members.
//!
//! In the script a line `//: <type>` below a sentence declares the next name; the members of an event are rows of
//! `svctrack_core`.

use svctrack_core::tracking::event::{MEMBERS, MemberKind, MemberSource};

use crate::page::fill;

const TEMPLATE: &str = include_str!("../npm/index.d.ts");
/// The parts of the script that declare the calls and the options.
const CALLS: &str = include_str!("../script/tracker/main.js");
const OPTIONS: &str = include_str!("../script/tracker/console.js");
/// Beginning of a line of a comment, and of one that declares.
const COMMENT: &str = "// ";
const DECLARING: &str = "//: ";

pub(crate) fn types() -> String {
    let calls = declarations(CALLS);
    let names = calls.iter().filter_map(|(_, call)| call.split('(').next());
    let values = [
        ("options", written("  ", "", &declarations(OPTIONS))),
        ("identity", written("  ", "", &members(MemberSource::Identity))),
        ("event_info", written("  ", "", &members(MemberSource::Event))),
        ("calls", written("", "export function ", &calls)),
        ("methods", names.map(|name| format!("      {name}: typeof {name};\n")).collect()),
    ];
    fill(TEMPLATE, &values)
}

/// Declaration, with its sentence.
type Declaration = (String, String);

/// Declarations of a part of the script, each with the comment above it.
fn declarations(script: &str) -> Vec<Declaration> {
    let mut found = Vec::new();
    let mut doc = Vec::new();
    for line in script.lines().map(str::trim_start) {
        if let Some(text) = line.strip_prefix(COMMENT) {
            doc.push(text);
        } else if let Some(declared) = line.strip_prefix(DECLARING) {
            found.push((doc.join(" "), declared.to_owned()));
        } else {
            doc.clear();
        }
    }
    found
}

/// Members of an event at this place.
fn members(place: MemberSource) -> Vec<Declaration> {
    let rows = MEMBERS.iter().filter(|member| member.place == place);
    rows.map(|row| (row.doc.to_owned(), format!("{}?: {}", row.name, kind(row.kind)))).collect()
}

fn kind(kind: MemberKind) -> &'static str {
    match kind {
        MemberKind::Id => "Id",
        MemberKind::Text | MemberKind::Time => "string",
        MemberKind::Object => "object",
        MemberKind::Number | MemberKind::Integer => "number",
        MemberKind::Bool => "boolean",
    }
}

/// Declarations as text of the file, each below its sentence.
fn written(indent: &str, start: &str, declarations: &[Declaration]) -> String {
    let write =
        |(doc, text): &Declaration| format!("{indent}/** {doc} */\n{indent}{start}{text};\n");
    declarations.iter().map(write).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_has_the_sentence_above_it() {
        let script = "// Not this.\nf();\n  // One sentence,\n  // and more.\n  //: f(a: string): void\n  f(a) {}";
        let expect = ("One sentence, and more.".to_owned(), "f(a: string): void".to_owned());
        assert_eq!(declarations(script), [expect]);
    }

    #[test]
    fn a_member_has_the_sentence_of_its_row() {
        let types = types();
        for member in MEMBERS {
            let is_said = matches!(member.place, MemberSource::Identity | MemberSource::Event);
            let line = format!("  /** {} */\n  {}?: ", member.doc, member.name);
            assert_eq!(types.contains(&line), is_said, "{line}");
        }
        assert!(!types.contains("{{"), "{types}");
    }
}

//! The docs as data: their pages, blocks of code, and what a block shows compared with what came.

use std::fs;

use svctrack_web::DOC_PAGES;

use crate::project;

/// A block of code in a page.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// The line that it begins at.
    pub line: usize,
    pub language: String,
    /// The file that it is, if it is one.
    pub file: Option<String>,
    pub text: String,
}

/// The Markdown of all pages by their files.
pub fn pages() -> impl Iterator<Item = (&'static str, String)> {
    DOC_PAGES.iter().map(|page| (page.file, read(page.file)))
}

/// The Markdown of a page.
pub fn read(file: &str) -> String {
    fs::read_to_string(project().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The blocks of a page, in order.
pub fn blocks(markdown: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in markdown.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => {
                let (language, file) = info.split_once(' ').unwrap_or((info, ""));
                let file = (!file.is_empty()).then(|| file.to_owned());
                let language = language.to_owned();
                open = Some(Block { line: index + 1, language, file, text: String::new() });
            }
            (Some(_), Some("")) => blocks.extend(open.take()),
            (Some(block), _) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert_eq!(open, None, "a block does not end");
    blocks
}

/// The block of a page in this language that holds `mark`.
pub fn block_with(file: &str, language: &str, mark: &str) -> String {
    let blocks = blocks(&read(file));
    let found =
        blocks.into_iter().find(|block| block.language == language && block.text.contains(mark));
    found.unwrap_or_else(|| panic!("{file} has no block of {language} with {mark}")).text
}

/// The commands of a transcript, each with what it prints, where that is shown. A command continues in the next line
/// after a backslash.
pub fn transcript(text: &str) -> Vec<(String, Option<String>)> {
    let mut commands: Vec<(String, Option<String>)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), None)),
            (None, Some((command, None))) if command.ends_with('\\') => {
                command.push('\n');
                command.push_str(line);
            }
            (None, Some((_, shown))) => {
                let shown = shown.get_or_insert_default();
                shown.push_str(line);
                shown.push('\n');
            }
            (None, None) => panic!("a transcript begins with `$ `: {line}"),
        }
    }
    commands
}

/// Whether `text` is what `shown` shows. Blanks do not count; `...` matches anything, and so does each id, token and
/// time of day.
pub fn is_shown(shown: &str, text: &str) -> bool {
    let squeeze = |text: &str| text.split_whitespace().collect::<String>();
    let (shown, text) = (squeeze(&open_up(shown)), squeeze(text));
    let mut parts = shown.split(ANYTHING);
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let parts: Vec<_> = parts.collect();
    let Some((last, between)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in between {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Matches anything in what is compared.
const ANYTHING: char = '\0';

/// Puts [`ANYTHING`] in the place of all that differs each time.
fn open_up(shown: &str) -> String {
    let mut opened = String::new();
    let mut rest = shown;
    while let Some(first) = rest.chars().next() {
        match changing(rest) {
            Some(length) => {
                opened.push(ANYTHING);
                rest = &rest[length..];
            }
            None => {
                opened.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    opened
}

/// The bytes of what differs each time, where a text begins with that.
fn changing(text: &str) -> Option<usize> {
    if text.starts_with("...") {
        return Some(3);
    }
    let run = |is_of: fn(char) -> bool| text.find(|char| !is_of(char)).unwrap_or(text.len());
    if text.starts_with("svt_") {
        return Some(run(|char| char.is_ascii_alphanumeric() || char == '_'));
    }
    let of_hex = run(|char| char.is_ascii_digit() || ('a'..='f').contains(&char));
    if of_hex == 24 {
        return Some(of_hex);
    }
    let of_uuid = run(|char| char.is_ascii_digit() || ('a'..='f').contains(&char) || char == '-');
    if of_uuid == 36 && of_hex == 8 {
        return Some(of_uuid);
    }
    // A time as it is written, or in the name of a file; one at midnight is that of a date that was sent.
    let time = text.get(.."2026-11-20T12:00:00.000Z".len())?;
    let is_time = time.as_bytes().get(10) == Some(&b'T') && time.ends_with('Z') && of_hex == 4;
    (is_time && !time.ends_with("T00:00:00.000Z")).then_some(time.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_fits_its_like_alone() {
        let check =
            |shown, text, expect| assert_eq!(is_shown(shown, text), expect, "{shown}: {text}");
        check("OK", "OK\n", true);
        check("OK", "OK!", false);
        check("...", "x", true);
        check("", "x", false);
        check(r#"{"n": 1, ... "z": 2}"#, r#"{"n":1,"a":3,"z":2}"#, true);
        check(r#"{"n": 1, ... "z": 2}"#, r#"{"n":1,"a":3,"z":3}"#, false);
        check("a ... b ... c", "abbc", true);
        check("[...a]", "[aa]", true);
    }

    #[test]
    fn ids_tokens_and_times_of_day_differ_each_time() {
        let check = |shown: &str, text: &str, expect| {
            let (shown, text) = (format!("\"{shown}\""), format!("\"{text}\""));
            assert_eq!(is_shown(&shown, &text), expect, "{shown}: {text}");
        };
        check("6740a1f05d3c2a9b1e000003", "6740a1f05d3c2a9b1e000004", true);
        check("6740a1f05d3c2a9b1e0000", "6740a1f05d3c2a9b1e0001", false);
        check("8a8e1c2c-6c0c-4f0e-9f6e-5d0f1f3c7a11", "67e55044-10b1-426f-9247-bb680e5fe0c8", true);
        check("svt_P0ah3R3E_x", "svt_9fLw2KxQ_y", true);
        check("2026-11-20T12:00:00.123Z", "2027-01-02T03:04:05.678Z", true);
        check("2026-11-20T00:00:00.000Z", "2027-01-02T00:00:00.000Z", false);
        check("2026-11-20", "2026-11-21", false);
    }

    #[test]
    fn a_command_continues_after_a_backslash() {
        let commands = transcript("$ a \\\n  b\nprinted\n$ c\n");
        assert_eq!(
            commands,
            [("a \\\n  b".to_owned(), Some("printed\n".to_owned())), ("c".to_owned(), None)]
        );
    }
}

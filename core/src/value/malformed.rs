//! Errors of malformed JSON (R9): the limits, the problems that a reader finds, and their messages.

use std::fmt;

use hifijson::Expect;

use super::quoted::quoted;

/// Deepest nesting of objects and arrays (R9).
pub const MAX_DEPTH: usize = 64;
/// Maximum number of keys of an object (R9).
pub const MAX_KEYS: usize = 500;
/// Longest string, in bytes after decoding (R9).
pub const MAX_STRING_BYTES: usize = 64 * 1024;
/// Longest string of a member of the body or the item itself, in bytes after decoding: a ticket's description (R9).
/// Fields that allow no such texts reject them when the shape is checked.
pub const MAX_MEMBER_BYTES: usize = 1024 * 1024;

/// Code of a text that is no JSON at all.
const SYNTAX: &str = "json_malformed";

/// Fault of a text that is not valid JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Stable code, in snake_case.
    pub code: &'static str,
    /// Message: what was expected, and what was found.
    pub message: String,
    /// Number of bytes that were read before the fault was found.
    pub offset: usize,
}

impl Malformed {
    /// Whether the text is no JSON at all, rather than JSON beyond a limit.
    pub fn is_syntax(&self) -> bool {
        self.code == SYNTAX
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Malformed {}

/// Kind of a fault, before it becomes a message.
pub(super) enum TextFault {
    Syntax,
    NotUnicode,
    Nul,
    TooDeep,
    TooManyKeys,
    /// With the maximum size, in bytes.
    StringTooLong(usize),
    DuplicateKey(String),
    NotAnObject,
    NotAnArray,
    NotABatch,
}

impl From<Expect> for TextFault {
    fn from(_: Expect) -> Self {
        Self::Syntax
    }
}

impl TextFault {
    pub(super) fn into_malformed(self, offset: usize) -> Malformed {
        let (code, message) = match self {
            Self::Syntax => (SYNTAX, format!("invalid JSON at byte {offset}")),
            Self::NotUnicode => ("json_not_unicode", format!("invalid Unicode at byte {offset}")),
            Self::Nul => ("json_nul", "strings must be without U+0000".to_owned()),
            Self::TooDeep => {
                ("json_too_deep", format!("objects and arrays must be at most {MAX_DEPTH} deep"))
            }
            Self::TooManyKeys => {
                ("json_too_many_keys", format!("an object must have at most {MAX_KEYS} keys"))
            }
            Self::StringTooLong(max_bytes) => {
                ("json_string_too_long", format!("a string must be at most {max_bytes} bytes long"))
            }
            Self::DuplicateKey(key) => (
                "json_duplicate_key",
                format!("the keys of an object must be unique; found {} twice", quoted(&key)),
            ),
            Self::NotAnObject => ("body_must_be_object", "expected a JSON object".to_owned()),
            Self::NotAnArray => {
                ("body_must_be_array", "expected a JSON array of objects".to_owned())
            }
            Self::NotABatch => {
                ("batch_must_be_array", "`batch` must be an array of objects".to_owned())
            }
        };
        Malformed { code, message, offset }
    }
}

/// Handling of faults that leave the text readable.
pub(super) struct FaultPolicy {
    /// Whether the reader continues: to find the next item, or because the text is from the store.
    goes_on: bool,
    /// Whether the value is returned despite the fault, because the text is from the store.
    keeps: bool,
    pub(super) found: Option<TextFault>,
}

impl FaultPolicy {
    /// Every fault ends the reading.
    pub(super) fn strict() -> Self {
        Self { goes_on: false, keeps: false, found: None }
    }

    /// The reader continues, and stores the first fault; later ones are ignored.
    pub(super) fn lenient() -> Self {
        Self { goes_on: true, keeps: false, found: None }
    }

    /// Faults that leave the text readable do not count.
    pub(super) fn of_stored() -> Self {
        Self { goes_on: true, keeps: true, found: None }
    }

    /// Whether the value is rejected already.
    pub(super) fn are_final(&self) -> bool {
        self.found.is_some() && !self.keeps
    }

    pub(super) fn note(&mut self, fault: TextFault) -> Result<(), TextFault> {
        if !self.goes_on {
            return Err(fault);
        }
        self.found.get_or_insert(fault);
        Ok(())
    }
}

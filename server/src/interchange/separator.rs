//! Separator of the cells of a table: given by the caller, named by a first line, or the most frequent one.

/// Beginning of a first line that names the separator.
const SEPARATOR_NAME: &[u8] = b"sep=";
/// Separators of the cells of a table, unless one is given; the first of the most frequent in the first line counts.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// Separator of the cells of a table: one character of ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Separator(u8);

impl std::str::FromStr for Separator {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.as_bytes() {
            _ if text == "tab" || text == "\\t" => Ok(Self(b'\t')),
            [byte] if byte.is_ascii_punctuation() || *byte == b'\t' => Ok(Self(*byte)),
            _ => Err("expected one character, such as `;`, or `tab`"),
        }
    }
}

impl Separator {
    pub(super) fn byte(self) -> u8 {
        self.0
    }
}

/// Separator that a first line such as `sep=;` names: spreadsheets write it, and read it themselves.
pub(super) fn named_separator(line: &[u8]) -> Option<u8> {
    let line = line.strip_suffix(b"\n")?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match line.split_at_checked(SEPARATOR_NAME.len())? {
        (name, [byte]) if name.eq_ignore_ascii_case(SEPARATOR_NAME) => Some(*byte),
        _ => None,
    }
}

/// The most frequent separator outside quotes.
pub(super) fn most_frequent_separator(head: &[u8]) -> u8 {
    let mut is_quoted = false;
    let mut counts = [0_usize; SEPARATORS.len()];
    for byte in head {
        is_quoted ^= *byte == b'"';
        let found = SEPARATORS.iter().zip(&mut counts).find(|(separator, _)| *separator == byte);
        if let (Some((_, count)), false) = (found, is_quoted) {
            *count += 1;
        }
    }
    let most = counts.iter().max().copied().unwrap_or(0);
    let found = SEPARATORS.iter().zip(counts).find(|(_, count)| *count == most);
    found.map_or(b',', |(separator, _)| *separator)
}

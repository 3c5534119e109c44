//! Inputs that are made from seeds by random edits.

use std::{fmt, sync::Arc};

use proptest::{
    collection::vec,
    prelude::*,
    sample::{Index, select},
};

/// Edits of one input, at most.
const MAX_EDITS: usize = 8;
/// Bytes of one edit, at most.
const MAX_EDIT_BYTES: usize = 16;
/// How often a piece is repeated, at most: enough for limits of depth and of members.
const MAX_REPEATS: usize = 600;
/// Largest input, in bytes.
const MAX_INPUT_BYTES: usize = 64 * 1024;

/// Pieces that mean something to one parser or another.
#[rustfmt::skip]
const WORDS: [&[u8]; 56] = [
    b"\"", b"\\", b"\\u0000", b"\\ud800", b"{", b"}", b"[", b"]", b":", b",", b"{\"a\":", b"[[",
    b"0", b"-", b"-0", b"1e400", b"1e-400", b"9999999999999999999999999", b"0.1", b"NaN", b"null", b"true", b"\"\"",
    b"\n", b"\r\n", b"\r", b"\t", b" ", b"\0", b"\x7f", b"\xff", b"\xc3\x28", b"\xef\xbb\xbf", b"\xf0\x9f\x98\x80",
    b"=", b"&", b"+", b"%", b"%00", b"%ff", b";", b"[gte]=", b"[contains]=", b"extid-", b"srcid-",
    b"<!--", b"<script>", b"</", b"&amp;", b"&#x0;", b"&", b"<p>", b"9999-12-31", b"T23:59:60Z", b"+23:59", b"for=",
];

/// An input; it is shown with escapes.
#[derive(Clone)]
pub(super) struct Input(pub(super) Vec<u8>);

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

#[derive(Clone, Debug)]
enum Edit {
    /// Bytes in the place of a number of others.
    Replace(Index, usize, Vec<u8>),
    /// Another byte in the place of one, by a mask: that of an upper-case letter for a lower-case one, for example.
    Flip(Index, u8),
    /// No more from here on.
    End(Index),
    /// The same bytes again and again.
    Repeat(Index, usize, usize),
    /// What comes between two places of another seed.
    Splice(Index, Index, Index, Index),
}

fn edits() -> impl Strategy<Value = Edit> {
    let place = any::<Index>;
    let bytes = prop_oneof![
        3 => select(WORDS.as_slice()).prop_map(<[u8]>::to_vec),
        2 => vec(any::<u8>(), 0..4),
        1 => vec(b' '..b'\x7f', 0..MAX_EDIT_BYTES),
    ];
    let few = 0..MAX_EDIT_BYTES;
    prop_oneof![
        4 => (place(), prop_oneof![Just(0), Just(1), few.clone()], bytes)
            .prop_map(|(at, count, bytes)| Edit::Replace(at, count, bytes)),
        2 => (place(), select([0x20, 1, 0x10, 0x80].as_slice()))
            .prop_map(|(at, mask)| Edit::Flip(at, mask)),
        1 => place().prop_map(Edit::End),
        1 => (place(), 1..MAX_EDIT_BYTES, prop_oneof![1..4_usize, 1..MAX_REPEATS])
            .prop_map(|(at, count, times)| Edit::Repeat(at, count, times)),
        2 => (place(), place(), place(), place())
            .prop_map(|(at, seed, from, to)| Edit::Splice(at, seed, from, to)),
    ]
}

/// Inputs from these seeds.
pub(super) fn inputs(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Input> {
    let seeds = Arc::new(seeds);
    // One edit alone leaves most of an input valid.
    let edits = prop_oneof![vec(edits(), 1), vec(edits(), 2..MAX_EDITS)];
    (any::<Index>(), edits).prop_map(move |(seed, edits)| {
        let mut input = seed.get(&seeds).clone();
        for edit in edits {
            edit.apply(&mut input, &seeds);
            input.truncate(MAX_INPUT_BYTES);
        }
        Input(input)
    })
}

impl Edit {
    fn apply(self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let place = |index: Index, bytes: &[u8]| index.index(bytes.len() + 1);
        match self {
            Self::Replace(at, count, bytes) => {
                let at = place(at, input);
                let end = (at + count).min(input.len());
                input.splice(at..end, bytes);
            }
            Self::Flip(at, mask) => {
                let at = place(at, input);
                input.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= mask);
            }
            Self::End(at) => input.truncate(place(at, input)),
            Self::Repeat(at, count, times) => {
                let at = place(at, input);
                let end = (at + count).min(input.len());
                let again = input[at..end].repeat(times);
                input.splice(at..at, again);
            }
            Self::Splice(at, seed, from, to) => {
                let other = seed.get(seeds);
                let (from, to) = (place(from, other), place(to, other));
                let at = place(at, input);
                input.splice(at..at, other[from.min(to)..from.max(to)].iter().copied());
            }
        }
    }
}

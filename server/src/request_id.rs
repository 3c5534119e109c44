//! Ids of requests, by which they are found in the log.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// The id of a request, in its extensions.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(pub(crate) Arc<str>);

/// Gives every request an id that no other request of any start has.
pub(crate) struct RequestIds {
    start: String,
    next: AtomicU64,
}

impl Default for RequestIds {
    fn default() -> Self {
        let mut start = [0; 6];
        // Without randomness the ids still differ within this start.
        let _ = getrandom::fill(&mut start);
        Self { start: URL_SAFE_NO_PAD.encode(start), next: AtomicU64::new(1) }
    }
}

impl RequestIds {
    /// Longest id, in bytes: six in Base64, a dash, and a number in hexadecimal.
    const MAX_BYTES: usize = 8 + 1 + 16;

    pub(crate) fn next(&self) -> Arc<str> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut id = String::with_capacity(Self::MAX_BYTES);
        id.push_str(&self.start);
        id.push('-');
        id.extend(hexadecimal(number));
        id.into()
    }
}

/// Digits of a number. A formatter takes three quarters of the instructions of an id.
fn hexadecimal(number: u64) -> impl Iterator<Item = char> {
    let digits = number.checked_ilog2().unwrap_or(0) / 4 + 1;
    let digit = move |place: u32| u32::try_from((number >> (4 * place)) & 0xf).ok();
    (0..digits).rev().filter_map(digit).filter_map(|digit| char::from_digit(digit, 16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_start_have_its_name_and_a_number() {
        let ids = RequestIds { start: "abcdefgh".to_owned(), next: AtomicU64::new(15) };
        assert_eq!([&*ids.next(), &*ids.next()], ["abcdefgh-f", "abcdefgh-10"]);
        for number in [0, 1, 0x9c, u64::from(u32::MAX), u64::MAX] {
            assert_eq!(hexadecimal(number).collect::<String>(), format!("{number:x}"));
        }
    }
}

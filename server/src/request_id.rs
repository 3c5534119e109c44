//! Ids of requests, by which they are found in the log.

use std::{
    ops::Deref,
    sync::atomic::{AtomicU64, Ordering},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use compact_str::CompactString;

/// The id of a request. It is short enough to be held without an allocation: 24 bytes, on machines of 64 bits.
#[derive(Clone, Debug)]
pub(crate) struct RequestId(CompactString);

impl Deref for RequestId {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Gives every request an id that no other request of any start has, and that does not tell how many requests came
/// before it: a caller would learn how much others call.
pub(crate) struct RequestIds {
    start: String,
    next: AtomicU64,
    keys: [u64; 2],
}

impl Default for RequestIds {
    fn default() -> Self {
        // Five bytes are seven characters: with a dash and a number of 16 digits, an id has no more than 24.
        let (mut start, mut key, mut other_key) = ([0; 5], [0; 8], [0; 8]);
        for bytes in [&mut start[..], &mut key, &mut other_key] {
            // Without randomness the ids still differ within this start.
            let _ = getrandom::fill(bytes);
        }
        let keys = [key, other_key].map(u64::from_ne_bytes);
        // Without further dashes: tools take an id that begins with one for an option.
        let start = URL_SAFE_NO_PAD.encode(start).replace(['-', '_'], "x");
        Self { start, next: AtomicU64::new(1), keys }
    }
}

impl RequestIds {
    pub(crate) fn next(&self) -> RequestId {
        let number = scattered(self.next.fetch_add(1, Ordering::Relaxed), self.keys);
        let mut id = CompactString::new(&self.start);
        id.push('-');
        id.extend(hexadecimal(number));
        RequestId(id)
    }
}

/// The number in a permutation that the keys select: the finalizer of MurmurHash3, between them. It costs a few
/// instructions, and each of its steps can be undone, so that numbers that differ still do.
fn scattered(number: u64, [key, other_key]: [u64; 2]) -> u64 {
    let fold = |number: u64| number ^ (number >> 33);
    let once = fold(number ^ key).wrapping_mul(0xff51_afd7_ed55_8ccd) ^ other_key;
    fold(fold(once).wrapping_mul(0xc4ce_b9fe_1a85_ec53))
}

/// Digits of a number. A formatter takes three quarters of the instructions of an id.
fn hexadecimal(number: u64) -> impl Iterator<Item = char> {
    let digits = number.checked_ilog2().unwrap_or(0) / 4 + 1;
    let digit = move |place: u32| u32::try_from((number >> (4 * place)) & 0xf).ok();
    (0..digits).rev().filter_map(digit).filter_map(|digit| char::from_digit(digit, 16))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn an_id_begins_with_no_dash() {
        for _ in 0..1_000 {
            let id = RequestIds::default().next();
            let (start, _) = id.split_once('-').unwrap();
            assert!(
                start.len() == 7 && start.bytes().all(|it| it.is_ascii_alphanumeric()),
                "{id:?}"
            );
            assert!(!id.0.is_heap_allocated(), "{id:?}");
        }
    }

    #[test]
    fn ids_of_a_start_have_its_name_and_a_number() {
        let ids = RequestIds::default();
        let id = ids.next();
        let (start, number) = id.split_once('-').unwrap();
        assert_eq!((start, start.len()), (ids.start.as_str(), 7));
        assert_eq!(u64::from_str_radix(number, 16).unwrap(), scattered(1, ids.keys));
        for number in [0, 1, 0x9c, u64::from(u32::MAX), u64::MAX] {
            assert_eq!(hexadecimal(number).collect::<String>(), format!("{number:x}"));
        }
    }

    #[test]
    fn ids_differ_and_do_not_tell_how_many_there_were_between() {
        const REQUESTS: usize = 10_000;
        let ids = RequestIds::default();
        let ids: Vec<_> = (0..REQUESTS).map(|_| ids.next()).collect();
        assert_eq!(ids.iter().map(|id| &**id).collect::<BTreeSet<_>>().len(), REQUESTS);
        let numbers = ids.iter().map(|id| id.rsplit_once('-').unwrap().1);
        let numbers: Vec<_> =
            numbers.map(|number| u64::from_str_radix(number, 16).unwrap()).collect();
        for between in [1, 2, 21] {
            let differences: BTreeSet<_> = numbers
                .iter()
                .zip(&numbers[between..])
                .map(|(one, next)| next.wrapping_sub(*one))
                .collect();
            assert_eq!(differences.len(), REQUESTS - between);
            // About half of the numbers are higher than the one before.
            let higher = numbers.iter().zip(&numbers[between..]).filter(|(one, next)| next > one);
            assert!((REQUESTS / 3..REQUESTS * 2 / 3).contains(&higher.count()));
        }
    }
}

//! Pages of a list.

use poem::Response;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use svctrack_web::pages::Paging;

use crate::error::Error;

/// Total number in a list, where its response has it.
pub(super) fn total_of(response: &Response) -> Option<u64> {
    number_of(response, "svctrack-total")
}

/// Number in a header of a response.
pub(super) fn number_of(response: &Response, header: &str) -> Option<u64> {
    response.headers().get(header)?.to_str().ok()?.parse().ok()
}

/// The address of the page that begins at an offset.
pub(super) type PageAddress<'p> = &'p (dyn Fn(usize) -> String + Sync);

/// Position of a page with `shown` items of a list, which begins at `offset` and has room for `size`; `page_at` is the
/// address of the page that begins at an offset.
pub(super) fn paging(
    (offset, size): (usize, usize),
    (shown, total): (usize, Option<u64>),
    page_at: impl Fn(usize) -> String,
) -> Paging {
    let end = offset.saturating_add(shown);
    // Past the end, the last page.
    let last = total.and_then(|total| usize::try_from(total.saturating_sub(1)).ok()).unwrap_or(0);
    let previous = match shown {
        0 => last - last % size.max(1),
        _ => offset.saturating_sub(size),
    };
    let has_next = shown > 0 && total.map_or(shown == size, |total| (end as u64) < total);
    Paging {
        first: offset.saturating_add(1),
        shown,
        total,
        previous: (offset > 0).then(|| page_at(previous)),
        next: has_next.then(|| page_at(end)),
    }
}

/// The items of a page of a list; those of other pages are not read.
pub(super) fn items_on_page<T: DeserializeOwned>(
    list: &[&RawValue],
    (offset, size): (usize, usize),
) -> Result<Vec<T>, Error> {
    let items = list.iter().skip(offset).take(size);
    let items = items.map(|item| serde_json::from_str(item.get()));
    items.collect::<Result<_, _>>().map_err(|error| Error::Internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_leads_to_those_before_and_after_it() {
        let check = |offset, shown, total, previous: Option<&str>, next: Option<&str>| {
            let found = paging((offset, 50), (shown, total), |offset| offset.to_string());
            assert_eq!((found.previous.as_deref(), found.next.as_deref()), (previous, next));
        };
        check(0, 50, Some(50), None, None);
        check(0, 50, Some(51), None, Some("50"));
        check(50, 1, Some(51), Some("0"), None);
        check(20, 50, None, Some("0"), Some("70"));
        // Past the end: to the last page.
        check(usize::MAX, 0, Some(51), Some("50"), None);
        check(500, 0, Some(50), Some("0"), None);
        check(500, 0, None, Some("0"), None);
        check(0, 0, Some(0), None, None);
    }
}

//! What the `Accept` of a request prefers, CSV or another form, to JSON (R14).

use poem::{Request, http::header};

/// Whether the request prefers CSV to JSON, by name.
pub(super) fn prefers_csv(request: &Request) -> bool {
    prefers(request, "text/csv")
}

/// Whether the request prefers a form to JSON, by name. JSON has the weight of its own range, else that of `application/*`
/// or `*/*`; of equal weights the first name wins.
pub(crate) fn prefers(request: &Request, form: &str) -> bool {
    let accepted = request.headers().get_all(header::ACCEPT).iter();
    let ranges: Vec<(String, f32)> = accepted
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(range_and_quality)
        .collect();
    let named = |name: &str| {
        let place = ranges.iter().position(|(range, _)| range == name)?;
        Some((place, ranges.get(place)?.1))
    };
    let Some((place, quality)) = named(form) else { return false };
    let is_first = match named("application/json") {
        Some((before, of_json)) => quality > of_json || (quality == of_json && place < before),
        None => {
            let of_range = named("application/*").or_else(|| named("*/*"));
            of_range.is_none_or(|(_, of_range)| quality >= of_range)
        }
    };
    quality > 0.0 && is_first
}

/// A media range in lower case, and its weight.
fn range_and_quality(text: &str) -> (String, f32) {
    let mut parts = text.split(';').map(str::trim);
    let range = parts.next().unwrap_or_default().to_ascii_lowercase();
    let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok());
    (range, quality.unwrap_or(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_is_returned_where_it_is_requested_by_name() {
        let check = |accept: &str, expect: bool| {
            let request = Request::builder().header(header::ACCEPT, accept).finish();
            assert_eq!(prefers_csv(&request), expect, "{accept}");
        };
        for accept in [
            "text/csv",
            "TEXT/CSV; charset=utf-8",
            "text/csv, */*",
            "*/*, text/csv",
            "text/csv;q=0.9, */*;q=0.8",
            "text/csv;q=0.5, application/*;q=0.1, */*",
            "text/csv, application/json",
            "application/json;q=0.5, text/csv;q=0.9",
        ] {
            check(accept, true);
        }
        for accept in [
            "*/*",
            "text/*",
            "application/json",
            "application/json, text/csv",
            "text/csv;q=0.1, application/json",
            "text/csv;q=0",
            "text/csv;q=0.1, */*",
            "text/csv;q=0.1, application/*",
            "text/csv;q=0.5, application/*, */*;q=0.1",
            "text/html,application/xhtml+xml,*/*;q=0.8",
        ] {
            check(accept, false);
        }
    }
}

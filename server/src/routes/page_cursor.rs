//! The cursor of the next page of a list, `after` or `offset`, in `Svctrack-Next`, and its address in `Link` (R14).

use poem::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use svctrack_store::PageStart;

use crate::limits::MAX_SENT_ADDRESS_BYTES;

const NEXT: HeaderName = HeaderName::from_static("svctrack-next");

/// Adds the cursor of the next page, and its address, unless the rest of the query is too long to be repeated.
pub(super) fn lead_on(headers: &mut HeaderMap, uri: &Uri, next: PageStart) {
    let (name, cursor) = match next {
        PageStart::After(id) => ("after", id.to_string()),
        PageStart::Offset(offset) => ("offset", offset.to_string()),
    };
    let pairs = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let kept = pairs.filter(|(name, _)| !matches!(name.as_ref(), "after" | "offset" | "o"));
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(kept).append_pair(name, &cursor);
    let link = format!("<{}?{}>; rel=\"next\"", uri.path(), query.finish());
    let link = (link.len() <= MAX_SENT_ADDRESS_BYTES).then_some((header::LINK, link));
    for (name, text) in link.into_iter().chain([(NEXT, format!("{name}={cursor}"))]) {
        if let Ok(value) = HeaderValue::try_from(text) {
            headers.insert(name, value);
        }
    }
}

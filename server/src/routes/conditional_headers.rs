//! `If-Match` and `If-None-Match` of a request: the tags that they name (R16, R58).

use poem::{
    Request,
    http::{HeaderMap, HeaderName, header},
};
use svctrack_store::Precondition;

/// Precondition of `If-Match` on the record that is to be written.
pub(super) fn precondition(request: &Request) -> Precondition {
    let tags = tags(request.headers(), header::IF_MATCH);
    if tags.is_empty() || tags.iter().any(|tag| tag == "*") {
        return Precondition::Anything;
    }
    // A tag of another server names no version, so the record cannot have it.
    Precondition::OneOf(tags.iter().filter_map(|tag| version_in(tag)).collect())
}

/// Record and version of a tag; the hash after them does not matter for a write.
fn version_in(tag: &str) -> Option<(String, i64)> {
    let mut parts = opaque(tag).split('-');
    Some((parts.next()?.to_owned(), parts.next()?.parse().ok()?))
}

/// Tags in a header, `a, W/"b,c"`: a comma in quotes belongs to its tag.
fn tags(headers: &HeaderMap, name: HeaderName) -> Vec<String> {
    let mut tags = Vec::new();
    for value in headers.get_all(name).iter().filter_map(|value| value.to_str().ok()) {
        let mut is_quoted = false;
        let parts = value.split(|char| {
            is_quoted ^= char == '"';
            char == ',' && !is_quoted
        });
        tags.extend(parts.map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned));
    }
    tags
}

/// Whether `If-None-Match` names a tag, or any. It is compared weakly: a proxy that compresses a response makes its tag
/// a weak one (RFC 9110, 13.1.2).
pub(super) fn names(headers: &HeaderMap, etag: &str) -> bool {
    let known = tags(headers, header::IF_NONE_MATCH);
    known.iter().any(|known| known == "*" || opaque(known) == opaque(etag))
}

/// Opaque part of a tag, without the mark of a weak one.
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag).trim_matches('"')
}

#[cfg(test)]
mod tests {
    use poem::http::HeaderValue;

    use super::*;

    #[test]
    fn tags_are_compared_weakly() {
        let check = |sent: &'static str, expected: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static(sent));
            assert_eq!(names(&headers, "\"a-1\""), expected, "{sent}");
            assert_eq!(names(&headers, "W/\"a-1\""), expected, "{sent}");
        };
        for same in [r#""a-1""#, r#"W/"a-1""#, r#""b", W/"a-1""#, "a-1", "*", r#""x,y","a-1""#] {
            check(same, true);
        }
        for other in [r#""a-2""#, r#"W/"b""#, "", r#""x,a-1""#, r#""*""#, r#"w"a-1""#] {
            check(other, false);
        }
    }
}

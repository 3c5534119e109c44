//! Requests with a malformed head, to which hyper responds with a status alone before it closes the connection. The
//! application never sees them, so hyper's response is replaced by the application's.

use futures_util::FutureExt as _;
use poem::{
    Endpoint, Request, Response,
    http::{StatusCode, header},
};

/// Marks a request that replaces one with a malformed head, with hyper's verdict.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MalformedHead(pub(crate) StatusCode);

/// Header that every response of the application has, and hyper's own has not.
const MARK: &str = "\r\nx-request-id: ";
/// The header of a response without a body.
const NO_BODY: &str = "content-length: 0\r\n";

/// Verdict of one of hyper's own responses.
fn verdict(own: &[u8]) -> Option<(&str, MalformedHead)> {
    // Checked before the whole is read: whether it can be one.
    if own.get(9) != Some(&b'4') || !own.starts_with(b"HTTP/1.") {
        return None;
    }
    let text = str::from_utf8(own).ok()?;
    let is_bare = text.ends_with("\r\n\r\n") && text.contains(NO_BODY) && !text.contains(MARK);
    let status = StatusCode::from_bytes(own.get(9..12)?).ok()?;
    is_bare.then_some((text, MalformedHead(status)))
}

/// The whole response in place of one of hyper's own; none for any other.
pub(crate) fn completed<E>(endpoint: &E, own: &[u8]) -> Option<Vec<u8>>
where
    E: Endpoint<Output = Response>,
{
    let (text, unreadable) = verdict(own)?;
    let request = Request::builder().extension(unreadable).finish();
    // The response is ready at once.
    let response = endpoint.call(request).now_or_never()?.ok()?;
    let (head, body) = response.into_parts();
    let body = body.into_bytes().now_or_never()?.ok()?;
    let mut headers = format!("{}: {}\r\n", header::CONTENT_LENGTH, body.len()).into_bytes();
    for (name, value) in &head.headers {
        headers.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    let (before, after) = text.split_once(NO_BODY)?;
    Some([before.as_bytes(), &headers, after.as_bytes(), &body].concat())
}

#[cfg(test)]
mod tests {
    use poem::endpoint::make_sync;

    use super::*;

    const BARE: &str = "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\
                        date: Mon, 23 Nov 2026 12:00:00 GMT\r\n\r\n";

    #[test]
    fn a_response_of_hyper_gets_the_headers_and_the_body_of_the_applications() {
        let endpoint = make_sync(|request: Request| {
            let status = request.extensions().get::<MalformedHead>().unwrap().0;
            Response::builder().header("X-Request-Id", "a-1").body(status.as_str().to_owned())
        });
        let expected = BARE.replace(NO_BODY, "content-length: 3\r\nx-request-id: a-1\r\n") + "431";
        let completed = |response: &str| completed(&endpoint, response.as_bytes());
        assert_eq!(completed(BARE).unwrap(), expected.as_bytes());
        for own in [
            BARE.replace("\r\ndate", "\r\nx-request-id: a-1\r\ndate").as_str(),
            BARE.replace("431", "200").as_str(),
            &BARE.replace("content-length: 0", "content-length: 5"),
            &format!("{BARE}body"),
            "[]",
        ] {
            assert_eq!(completed(own), None, "{own}");
        }
    }
}

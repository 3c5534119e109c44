//! Checks of the head of any request, before it is routed.

use std::net::Ipv6Addr;

use poem::{
    Request,
    http::{HeaderValue, Version, header, uri::Authority},
};

use super::malformed_requests::MalformedHead;
use crate::{error::Error, limits::MAX_URI_BYTES};

/// Marks a request without TLS to a server that speaks it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WithoutTls;

/// Checks the head of a request.
///
/// # Errors
/// [`Error::UnreadableHead`], [`Error::UriTooLong`], [`Error::BadHead`].
pub(crate) fn check(request: &Request) -> Result<(), Error> {
    if let Some(MalformedHead(verdict)) = request.extensions().get() {
        return Err(Error::UnreadableHead(*verdict));
    }
    if let Some(WithoutTls) = request.extensions().get() {
        return Err(Error::BadHead(
            "https_required",
            "this port speaks HTTPS: begin the address with https://",
        ));
    }
    let uri = request.uri();
    if uri.path().len() + uri.query().map_or(0, str::len) > MAX_URI_BYTES {
        return Err(Error::UriTooLong);
    }
    check_host(request)?;
    check_transfer_encoding(request)
}

/// Checks the host, which is named once (RFC 9112, 3.2); HTTP/1.0 need not name one. A request for which two programs
/// on the way see different hosts reaches the wrong one.
fn check_host(request: &Request) -> Result<(), Error> {
    let mut named = request.headers().get_all(header::HOST).iter();
    match (named.next(), named.next()) {
        (None, _) if request.version() < Version::HTTP_11 => Ok(()),
        (None, _) => Err(Error::BadHead("host_missing", "send a `Host` header")),
        (Some(host), None) if is_host(host) => Ok(()),
        (Some(_), None) => Err(Error::BadHead(
            "host_invalid",
            "`Host` must be a name or an address, and perhaps a port",
        )),
        (Some(_), Some(_)) => Err(Error::BadHead("host_repeated", "send `Host` once")),
    }
}

fn is_host(value: &HeaderValue) -> bool {
    is_plain_host(value.as_bytes()) || is_any_host(value)
}

/// Whether the host is a name or an IPv4 address, and perhaps a port, as most are: without a parser, which copies it.
fn is_plain_host(host: &[u8]) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let name = host.iter().take_while(|byte| is_of_name(byte)).count();
    let (name, rest) = host.split_at(name);
    !name.is_empty() && is_end_of_host(rest)
}

/// Whether the text after a name is empty or a port, which may have no digits (RFC 3986, 3.2.3).
fn is_end_of_host(rest: &[u8]) -> bool {
    let is_port = |port: &[u8]| {
        port.is_empty()
            || port.iter().all(u8::is_ascii_digit)
                && str::from_utf8(port).is_ok_and(|port| port.parse::<u16>().is_ok())
    };
    rest.is_empty() || rest.strip_prefix(b":").is_some_and(is_port)
}

/// Whether the value is a host in any form.
fn is_any_host(value: &HeaderValue) -> bool {
    let Ok(authority) = Authority::try_from(value.as_bytes()) else { return false };
    let host = authority.host();
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_host = match address {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty(),
    };
    // The authority may have credentials before the host.
    let after_host = authority.as_str().strip_prefix(host);
    is_host && after_host.is_some_and(|rest| is_end_of_host(rest.as_bytes()))
}

/// Checks `Transfer-Encoding`: a body that is chunked once has one end; of a body that is encoded otherwise, another
/// program on the way may see another end (RFC 9112, 6.1).
fn check_transfer_encoding(request: &Request) -> Result<(), Error> {
    let mut encodings = request.headers().get_all(header::TRANSFER_ENCODING).iter();
    match (encodings.next(), encodings.next()) {
        (None, _) => Ok(()),
        (Some(only), None) if only.as_bytes().eq_ignore_ascii_case(b"chunked") => Ok(()),
        _ => Err(Error::BadHead(
            "transfer_encoding_invalid",
            "`Transfer-Encoding` must be `chunked`, once; compress with `Content-Encoding: gzip`",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_of(headers: &[(header::HeaderName, &str)], expect: Option<&str>) {
        let mut request = Request::builder().version(Version::HTTP_11);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        match (check(&request.finish()), expect) {
            (Ok(()), None) => {}
            (Err(Error::BadHead(code, _)), Some(expect)) => assert_eq!(code, expect, "{headers:?}"),
            (found, _) => panic!("{headers:?}: {found:?}"),
        }
    }

    #[test]
    fn a_host_is_named_once() {
        for host in [
            "x",
            "a.example:8080",
            "127.0.0.1",
            "[::1]:80",
            "xn--a.example",
            "a_b",
            "a:",
            "a_b:",
            "[::1]:",
        ] {
            check_of(&[(header::HOST, host)], None);
        }
        for host in [
            "",
            " ",
            "a b",
            "a/b",
            "user@a",
            "a:b",
            "a:99999",
            "[::1",
            "a?b",
            "a#b",
            "[zz]",
            "[1.2.3.4]",
            "[]",
            "a:+80",
            "a_b:+80",
            "[::1]:+80",
            ":80",
            ":",
        ] {
            check_of(&[(header::HOST, host)], Some("host_invalid"));
        }
        check_of(&[], Some("host_missing"));
        check_of(&[(header::HOST, "a"), (header::HOST, "a")], Some("host_repeated"));
    }

    #[test]
    fn http_1_0_needs_no_host() {
        let request = |version| Request::builder().version(version).finish();
        assert!(check(&request(Version::HTTP_10)).is_ok());
        assert!(check(&request(Version::HTTP_11)).is_err());
    }

    #[test]
    fn a_body_is_chunked_once_and_encoded_in_no_other_way() {
        let host = (header::HOST, "x");
        for encodings in [&["chunked"][..], &["Chunked"], &[]] {
            let sent = encodings.iter().map(|encoding| (header::TRANSFER_ENCODING, *encoding));
            check_of(&sent.chain([host.clone()]).collect::<Vec<_>>(), None);
        }
        for encodings in [
            &["gzip, chunked"][..],
            &["chunked, chunked"],
            &["chunked", "chunked"],
            &["gzip", "chunked"],
            &["identity"],
        ] {
            let sent = encodings.iter().map(|encoding| (header::TRANSFER_ENCODING, *encoding));
            let headers = sent.chain([host.clone()]).collect::<Vec<_>>();
            check_of(&headers, Some("transfer_encoding_invalid"));
        }
    }
}

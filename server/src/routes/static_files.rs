//! Files for browsers: the script, and the assets of the pages.

use bytes::Bytes;
use poem::{
    Request, Response,
    http::{HeaderMap, StatusCode, header},
};
use svctrack_web::{Asset, ServedFile};

use super::{conditional_headers::names, cors::allow_any_origin};
use crate::{app::App, bodies::compression::weight, error::Error};

/// A file whose name has its version: a year, the longest that caches respect.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// Any other file: it is requested each time, and sent when it has changed.
const UNTIL_IT_CHANGES: &str = "public, no-cache";

/// A form in which a file can be sent.
#[derive(Clone, Copy)]
struct EncodedForm {
    /// Name of the coding in `Content-Encoding`; none for the file as it is.
    coding: Option<&'static str>,
    bytes: fn(&'static Asset) -> &'static [u8],
}

/// The forms, the smallest first.
const FORMS: &[EncodedForm] = &[
    EncodedForm { coding: Some("br"), bytes: |asset| asset.brotli },
    EncodedForm { coding: Some("gzip"), bytes: |asset| asset.gzip },
];
const PLAIN: EncodedForm = EncodedForm { coding: None, bytes: |asset| asset.bytes };

/// `GET /svctrack.js` and the other files; any page may load them.
pub(crate) async fn read(app: &App, request: &mut Request) -> Result<Response, Error> {
    let ServedFile { asset, is_lasting } =
        app.files.get(request.uri().path()).ok_or(Error::RouteNotFound)?;
    let form = form_for(request.headers());
    // The forms of a file differ byte for byte, so each has a tag of its own.
    let etag = match form.coding {
        Some(coding) => format!("\"{}-{coding}\"", asset.etag),
        None => format!("\"{}\"", asset.etag),
    };
    let mut response = Response::builder()
        .content_type(asset.content_type)
        .header(header::ETAG, etag.as_str())
        .header(header::CACHE_CONTROL, if *is_lasting { FOR_EVER } else { UNTIL_IT_CHANGES })
        .header(header::VARY, "Accept-Encoding")
        .header("Cross-Origin-Resource-Policy", "cross-origin");
    if let Some(coding) = form.coding {
        response = response.header(header::CONTENT_ENCODING, coding);
    }
    let mut response = response.body(Bytes::from_static((form.bytes)(asset)));
    allow_any_origin(response.headers_mut());
    if names(request.headers(), &etag) {
        response.set_status(StatusCode::NOT_MODIFIED);
        response.set_body(());
    }
    Ok(response)
}

/// Form that the caller prefers; of equal ones, the smallest.
fn form_for(headers: &HeaderMap) -> EncodedForm {
    let mut best = (0.0, PLAIN);
    for form in FORMS {
        let weight = form.coding.and_then(|coding| weight(headers, coding)).unwrap_or(0.0);
        if weight > best.0 {
            best = (weight, *form);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_the_one_that_the_caller_likes_best() {
        let check = |accepted: &'static str, expect: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, accepted.parse().unwrap());
            assert_eq!(form_for(&headers).coding, expect, "{accepted}");
        };
        check("gzip, deflate, br, zstd", Some("br"));
        check("gzip", Some("gzip"));
        check("br;q=0.5, gzip;q=0.8", Some("gzip"));
        check("BR ; q=0, gzip; q=0.1", Some("gzip"));
        check("br;q=0,*", Some("gzip"));
        check("*", Some("br"));
        check("identity", None);
        check("br;q=0, gzip;q=0.0", None);
        check("br;q=much", None);
        check("", None);
    }
}

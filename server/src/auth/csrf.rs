//! Protection against forged requests (CSRF): a token in each form of a session, and the page that a request comes from.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use poem::http::HeaderMap;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::session::Session;

impl Session {
    /// CSRF token of the forms of this session. It is derived from the secret of the session, and does not reveal it.
    pub(crate) fn csrf(&self) -> String {
        let digest = Sha256::new().chain_update("svctrack form").chain_update(self.token.reveal());
        URL_SAFE_NO_PAD.encode(digest.finalize())
    }

    /// Whether a form sent the CSRF token; takes constant time.
    pub(crate) fn has_sent(&self, csrf: &str) -> bool {
        self.csrf().as_bytes().ct_eq(csrf.as_bytes()).into()
    }
}

/// Whether a request that changes data comes from a page of this service: browsers send this, and a page of another
/// site cannot forge it.
pub(crate) fn is_from_own_page(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    match (text("sec-fetch-site"), text("origin"), text("host")) {
        (Some(site), ..) => site == "same-origin",
        (None, Some(origin), Some(host)) => {
            origin.split_once("://").is_some_and(|(_, origin)| origin == host)
        }
        (None, ..) => false,
    }
}

#[cfg(test)]
mod tests {
    use poem::http::HeaderValue;

    use super::*;

    #[test]
    fn a_change_is_taken_from_an_own_page_alone() {
        for (site, origin, expect) in [
            (Some("same-origin"), None, true),
            (Some("same-origin"), Some("http://other"), true),
            (Some("same-site"), Some("http://a.example"), false),
            (Some("cross-site"), Some("http://a.example"), false),
            (Some("none"), None, false),
            (None, Some("http://a.example"), true),
            (None, Some("https://a.example"), true),
            (None, Some("http://other"), false),
            (None, Some("null"), false),
            (None, None, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("host", HeaderValue::from_static("a.example"));
            if let Some(site) = site {
                headers.insert("sec-fetch-site", HeaderValue::from_static(site));
            }
            if let Some(origin) = origin {
                headers.insert("origin", HeaderValue::from_static(origin));
            }
            assert_eq!(is_from_own_page(&headers), expect, "{site:?} {origin:?}");
        }
    }
}

//! The credentials in an `Authorization` header.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// The token in an `Authorization` header: after `Bearer`, or as the user name of `Basic`.
pub(super) fn token_in(header: &str) -> Option<Cow<'_, str>> {
    let (scheme, credentials) = header.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(credentials.trim().into());
    }
    user_of_basic(header).map(Cow::Owned)
}

/// The user name in an `Authorization` header of HTTP Basic.
pub(super) fn user_of_basic(header: &str) -> Option<String> {
    let (scheme, credentials) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(credentials.trim()).ok()?).ok()?;
    Some(decoded.split_once(':').map_or(decoded.as_str(), |(user, _)| user).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_taken_as_bearer_or_as_the_user_of_basic() {
        assert_eq!(token_in("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(token_in("bearer  abc").as_deref(), Some("abc"));
        assert_eq!(token_in(&format!("Basic {}", STANDARD.encode("abc:"))).as_deref(), Some("abc"));
        assert_eq!(token_in(&format!("basic {}", STANDARD.encode("abc"))).as_deref(), Some("abc"));
        for other in ["abc", "Digest abc", "Basic !", ""] {
            assert_eq!(token_in(other), None, "{other}");
        }
    }
}

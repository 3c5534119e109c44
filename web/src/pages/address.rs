//! Addresses of pages: links and forms have no others.

/// The address of `path` with the pairs of a query; a part of the path in `{}` is replaced by the next of `parts`.
///
/// ```
/// use svctrack_web::pages::address;
/// let path = address("/app/records/{}/{}", &["licenses", "a/b"], &[("sort", "-value")]);
/// assert_eq!(path, "/app/records/licenses/a%2Fb?sort=-value");
/// ```
pub fn address(path: &str, parts: &[&str], query: &[(&str, &str)]) -> String {
    let mut pieces = path.split("{}");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for (piece, part) in pieces.zip(parts) {
        encode(part, &mut text);
        text.push_str(piece);
    }
    for (at, (name, value)) in query.iter().enumerate() {
        text.push(if at == 0 { '?' } else { '&' });
        encode(name, &mut text);
        text.push('=');
        encode(value, &mut text);
    }
    text
}

/// Percent-encodes every byte of a text that has a meaning in an address.
fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_leaves_its_place_in_an_address() {
        let hostile = "javascript:alert(1)//?&#\"'<>é";
        let found = address("/app/{}", &[hostile], &[(hostile, hostile)]);
        assert!(
            found.starts_with("/app/javascript%3Aalert%281%29%2F%2F%3F%26%23%22%27%3C%3E%C3%A9?")
        );
        assert_eq!(found.matches(['?', '&', '=']).count(), 2);
    }
}

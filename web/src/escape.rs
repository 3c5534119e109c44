//! Escapes text for its context: in HTML, or in a string of a script in HTML.

/// Escapes `text` for HTML, also inside a quoted attribute.
pub(crate) fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Escapes `text` for a quoted JavaScript string. Characters that could end the string, its line or the `script`
/// element are written as numbers, and so are all controls and non-ASCII characters.
pub(crate) fn script_string(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for unit in text.encode_utf16() {
        let is_plain = |byte: &u8| byte.is_ascii_graphic() && !b"\"'`\\<>&".contains(byte);
        match u8::try_from(unit).ok().filter(is_plain) {
            Some(byte) => escaped.push(char::from(byte)),
            None => escaped.push_str(&format!("\\u{unit:04x}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_cannot_be_left() {
        assert_eq!(html("<b a='\"'>&"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;");
    }

    #[test]
    fn a_script_string_cannot_be_left() {
        assert_eq!(script_string("http://a:1/b-c_d"), "http://a:1/b-c_d");
        assert_eq!(script_string("\"</é\u{2028}\\"), "\\u0022\\u003c/\\u00e9\\u2028\\u005c");
    }
}

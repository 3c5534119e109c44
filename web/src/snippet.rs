//! The snippet that a customer pastes before `</head>`: `script/snippet.js` with its addresses filled in
//! and without its comments.

use crate::escape::script_string;

const SOURCE: &str = include_str!("../script/snippet.js");

/// The snippet with its `<script>` tags, for a server at `base_url`.
///
/// ```
/// let snippet = svctrack_web::snippet("https://track.example.com", "4f1c");
/// assert!(snippet.contains("https://track.example.com/analytics/4f1c"));
/// ```
pub fn snippet(base_url: &str, tenant: &str) -> String {
    ["<script>", &script(base_url, tenant), "</script>"].concat()
}

/// All that stands between the tags, line breaks too: the text whose hash a content security policy names.
pub(crate) fn script(base_url: &str, tenant: &str) -> String {
    let base_url = base_url.trim_end_matches('/');
    let endpoint = [base_url, "/analytics/", tenant].concat();
    let address = [base_url, "/svctrack.js"].concat();
    let lines = SOURCE.lines().filter(|line| !line.starts_with("//"));
    let code = lines.flat_map(|line| ["\n", line]).collect::<String>() + "\n";
    code.replace("{{script}}", &script_string(&address))
        .replace("{{endpoint}}", &script_string(&endpoint))
}

/// The part of an address before its path.
pub(crate) fn origin(base_url: &str) -> &str {
    let host_at = base_url.find("://").map_or(0, |at| at + "://".len());
    let host = base_url.get(host_at..).unwrap_or_default();
    let end = host.find(['/', '?', '#']).unwrap_or(host.len());
    base_url.get(..host_at + end).unwrap_or(base_url)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENANT: &str = "0192f0c1-2345-7abc-8def-0123456789ab";

    #[test]
    fn the_snippet_is_short() {
        let length = snippet("https://analytics.example.com", TENANT).len();
        assert!(length < 900, "{length} bytes");
    }

    #[test]
    fn the_script_and_the_endpoint_are_below_the_same_address() {
        let snippet = snippet("https://example.com:8443/track/", TENANT);
        assert!(snippet.contains("\"https://example.com:8443/track/svctrack.js\""));
        let load = format!("svctrack.load(\"https://example.com:8443/track/analytics/{TENANT}\");");
        assert!(snippet.contains(&load), "{snippet}");
        assert!(!snippet.contains("{{") && !snippet.contains("//\u{20}"));
    }

    #[test]
    fn what_is_filled_in_cannot_leave_its_string() {
        let snippet = snippet("http://a\"</script>", "'\\\n<!--");
        assert_eq!(snippet.matches("</script>").count(), 1);
        assert!(!snippet.contains("<!--") && snippet.contains("a\\u0022\\u003c/script"));
    }

    #[test]
    fn an_origin_ends_before_the_path() {
        assert_eq!(origin("http://127.0.0.1:8080"), "http://127.0.0.1:8080");
        assert_eq!(origin("https://a.example/b?c"), "https://a.example");
        assert_eq!(origin(""), "");
    }
}

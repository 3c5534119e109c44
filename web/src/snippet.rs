//! Snippet that a customer pastes before `</head>`: `script/snippet.js` with its addresses filled in and without its
//! comments.

use base64::{Engine, engine::general_purpose::STANDARD};
use sha2::{Digest, Sha256};

use crate::{
    addresses::{Addresses, loader},
    escape::script_string,
};

const SOURCE: &str = include_str!("../script/snippet.js");

/// Which script the snippet loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnippetScript {
    /// The version of the server: it changes when the server is upgraded.
    Newest,
    /// This version, which the browser checks by its hash: it stays until the snippet is replaced.
    ThisVersion,
}

/// The snippet with its `<script>` tags.
///
/// ```
/// use svctrack_web::{Addresses, SnippetScript, snippet};
/// let addresses = Addresses::new("https://track.example.com");
/// let snippet = snippet(&addresses, "4f1c", SnippetScript::Newest);
/// assert!(snippet.contains("https://track.example.com/analytics/4f1c"));
/// ```
pub fn snippet(addresses: &Addresses, tenant: &str, loads: SnippetScript) -> String {
    ["<script>", &script(addresses, tenant, loads), "</script>"].concat()
}

/// Source of the snippet for the `script-src` of a content security policy: its hash.
pub fn snippet_source(addresses: &Addresses, tenant: &str, loads: SnippetScript) -> String {
    let hash = STANDARD.encode(Sha256::digest(script(addresses, tenant, loads)));
    format!("'sha256-{hash}'")
}

/// All text between the tags, line breaks too.
fn script(addresses: &Addresses, tenant: &str, loads: SnippetScript) -> String {
    let (address, integrity) = match loads {
        SnippetScript::Newest => (addresses.script(), ""),
        SnippetScript::ThisVersion => {
            (addresses.versioned_script(), loader().map_or("", |asset| asset.integrity))
        }
    };
    let is_left_out = |line: &str| {
        line.starts_with("//") || (integrity.is_empty() && line.contains("{{integrity}}"))
    };
    let lines = SOURCE.lines().filter(|line| !is_left_out(line));
    let code = lines.flat_map(|line| ["\n", line]).collect::<String>() + "\n";
    code.replace("{{script}}", &script_string(&address))
        .replace("{{integrity}}", integrity)
        .replace("{{endpoint}}", &script_string(&addresses.endpoint(tenant)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENANT: &str = "0192f0c1-2345-7abc-8def-0123456789ab";

    fn check(base_url: &str, tenant: &str) -> String {
        snippet(&Addresses::new(base_url), tenant, SnippetScript::Newest)
    }

    #[test]
    fn the_snippet_is_short() {
        let addresses = Addresses::new("https://analytics.example.com");
        for loads in [SnippetScript::Newest, SnippetScript::ThisVersion] {
            let length = snippet(&addresses, TENANT, loads).len();
            assert!(length <= 900, "{length} bytes");
        }
    }

    #[test]
    fn the_script_and_the_endpoint_are_below_the_same_address() {
        let snippet = check("https://example.com:8443/track/", TENANT);
        assert!(snippet.contains("\"https://example.com:8443/track/svctrack.js\""));
        let load = format!("svctrack.load(\"https://example.com:8443/track/analytics/{TENANT}\");");
        assert!(snippet.contains(&load), "{snippet}");
        assert!(!snippet.contains("{{") && !snippet.contains("//\u{20}"));
        assert!(!snippet.contains("integrity"));
    }

    #[test]
    fn paths_that_were_chosen_are_the_ones_it_names() {
        let addresses = Addresses::new("https://a.example").with_script_path("/lib/app.js");
        let addresses = addresses.unwrap().with_tracking_prefix("/in").unwrap();
        let snippet = snippet(&addresses, TENANT, SnippetScript::Newest);
        assert!(snippet.contains("\"https://a.example/lib/app.js\""), "{snippet}");
        assert!(snippet.contains(&format!("svctrack.load(\"https://a.example/in/{TENANT}\");")));
    }

    #[test]
    fn the_snippet_of_a_version_names_it_and_its_hash() {
        let addresses = Addresses::new("https://a.example");
        let snippet = snippet(&addresses, TENANT, SnippetScript::ThisVersion);
        let address = addresses.versioned_script();
        let file = addresses.files()[address.strip_prefix("https://a.example").unwrap()];
        let hash = STANDARD.encode(sha2::Sha384::digest(file.asset.bytes));
        assert!(snippet.contains(&format!("\"{address}\"")), "{snippet}");
        assert!(snippet.contains(&format!(".integrity=\"sha384-{hash}\"")), "{snippet}");
        assert!(snippet.contains("crossOrigin=\"anonymous\""), "{snippet}");
    }

    #[test]
    fn what_is_filled_in_cannot_leave_its_string() {
        let snippet = check("http://a\"</script>", "'\\\n<!--");
        assert_eq!(snippet.matches("</script>").count(), 1);
        assert!(!snippet.contains("<!--") && snippet.contains("a\\u0022\\u003c/script"));
    }
}

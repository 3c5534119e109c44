//! Demo page: the snippet in use, forms for `identify` and `track`, and the events that arrived.

use crate::{
    addresses::Addresses,
    content_security_policy::demo_policy,
    escape::html,
    page::{Page, fill},
    snippet::{SnippetScript, snippet, snippet_source},
};

const TEMPLATE: &str = include_str!("../static/demo.html");

/// The tenant of a demo page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemoTenant<'a> {
    /// This tenant, by its UUID.
    Known(&'a str),
    /// No tenant: the address names none, and there is not exactly one.
    NotAsked,
    /// No tenant: the server has none with the UUID of the address.
    Unknown,
}

/// Demo of a tenant of the server at these addresses. Without a tenant the page explains how to name one. It shows the
/// snippet for other pages, and uses one with its `own` addresses where it is visited at others.
pub fn demo_page(addresses: &Addresses, own: Option<&Addresses>, tenant: DemoTenant<'_>) -> Page {
    let used = own.unwrap_or(addresses);
    let known = match tenant {
        DemoTenant::Known(tenant) => Some(tenant),
        DemoTenant::NotAsked | DemoTenant::Unknown => None,
    };
    let hash = known.map(|tenant| snippet_source(used, tenant, SnippetScript::Newest));
    let snippet = |addresses| known.map(|tenant| snippet(addresses, tenant, SnippetScript::Newest));
    let values = [
        ("snippet", snippet(used).unwrap_or_default()),
        ("snippet_text", html(&snippet(addresses).unwrap_or_default())),
        ("with_tenant", hidden_unless(known.is_some())),
        ("without_tenant", hidden_unless(known.is_none())),
        ("unknown_tenant", hidden_unless(tenant == DemoTenant::Unknown)),
        ("tenant", html(known.unwrap_or_default())),
        ("base_url", html(used.base_url())),
    ];
    Page { html: fill(TEMPLATE, &values), csp: demo_policy(used.origin(), hash) }
}

/// Attribute of an element that is shown only when `is_shown`.
fn hidden_unless(is_shown: bool) -> String {
    if is_shown { "" } else { "hidden" }.to_owned()
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use sha2::{Digest, Sha256};

    use super::*;

    const BASE_URL: &str = "http://127.0.0.1:8080";

    fn check(base_url: &str, tenant: DemoTenant<'_>) -> Page {
        demo_page(&Addresses::new(base_url), None, tenant)
    }

    #[test]
    fn the_policy_names_the_hash_of_the_very_snippet_in_the_page() {
        let page = check(BASE_URL, DemoTenant::Known("0192f0c1-2345-7abc-8def-0123456789ab"));
        let (_, after) = page.html.split_once("<script>").unwrap();
        let (code, _) = after.split_once("</script>").unwrap();
        let hash = STANDARD.encode(Sha256::digest(code));
        assert!(page.csp.contains(&format!("'sha256-{hash}'")), "{}", page.csp);
        assert_eq!(page.html.matches("<script>").count(), 1);
    }

    #[test]
    fn tenant_and_address_cannot_leave_their_place() {
        let page = check(
            "http://x\"><img src=a>",
            DemoTenant::Known("<script>alert(1)</script>{{base_url}}"),
        );
        assert!(!page.html.contains("<img") && !page.html.contains("alert(1)</script>"));
        assert!(page.html.contains("&lt;script&gt;") || page.html.contains("\\u003cscript"));
        assert!(!page.csp.contains("img"), "{}", page.csp);
        let page = check("http://x; script-src *", DemoTenant::Known("a"));
        assert!(!page.csp.contains('*'), "{}", page.csp);
    }

    #[test]
    fn without_a_tenant_the_page_shows_how_to_name_one() {
        for tenant in [DemoTenant::NotAsked, DemoTenant::Unknown] {
            let page = check(BASE_URL, tenant);
            assert!(page.html.contains("?tenant="));
            assert!(!page.html.contains("<script>") && !page.csp.contains("sha256"));
        }
    }

    #[test]
    fn an_unknown_tenant_is_reported() {
        let is_said = |tenant| {
            let page = check(BASE_URL, tenant);
            page.html.contains("<p class=\"bad\" >This server knows no")
        };
        assert!(is_said(DemoTenant::Unknown));
        assert!(!is_said(DemoTenant::NotAsked) && !is_said(DemoTenant::Known("a")));
    }

    #[test]
    fn the_script_below_a_path_is_allowed_too() {
        let page = check("https://x.example/sub", DemoTenant::Known("a"));
        assert!(page.html.contains("\"https://x.example/sub/svctrack.js\""));
        assert!(page.csp.contains("script-src 'self' https://x.example "), "{}", page.csp);
        // The page's own files and calls are relative to its address, whatever the path is.
        assert!(!page.html.contains("\"/demo."), "{}", page.html);
    }

    #[test]
    fn a_page_that_is_visited_elsewhere_uses_the_snippet_of_there_and_shows_the_public_one() {
        let public = Addresses::new("https://www.example.com").with_script_path("/in/app.js");
        let own = Addresses::new("http://127.0.0.1:8080");
        let page = demo_page(&public.unwrap(), Some(&own), DemoTenant::Known("a"));
        let (_, after) = page.html.split_once("<script>").unwrap();
        let (code, after) = after.split_once("</script>").unwrap();
        assert!(code.contains("\"http://127.0.0.1:8080/svctrack.js\""), "{code}");
        assert!(!code.contains("example.com") && !page.csp.contains("example.com"), "{}", page.csp);
        assert!(after.contains("https://www.example.com/in/app.js"), "{after}");
    }

    #[test]
    fn no_placeholder_is_left() {
        let page = check(BASE_URL, DemoTenant::Known("a"));
        assert!(!page.html.contains("{{"), "{}", page.html);
    }
}

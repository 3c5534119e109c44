//! Content security policies: what the pages, the docs and the demo may load. None allows inline script.

/// Content security policy of a page: its own scripts, styles and pictures, and forms that go to this server.
pub(crate) const PAGES_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types 'none'";

/// The policy of a page with a form, which WebAssembly checks.
pub(crate) fn policy_with_wasm() -> String {
    PAGES_POLICY.replace("script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'")
}

/// Content security policy of the docs: their own scripts, styles and pictures.
pub(crate) const DOCS_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// The policy of the demo, which allows only what it needs. Besides the page's own origin it names the `origin` from which the
/// snippet loads, because a server can be visited under other names.
pub(crate) fn demo_policy(origin: &str, hash: Option<String>) -> String {
    let hash = hash.map(|hash| [" ", &hash].concat()).unwrap_or_default();
    let origin = source(origin);
    format!(
        "default-src 'none'; script-src 'self'{origin} 'wasm-unsafe-eval'{hash}; style-src 'self'; \
         connect-src 'self'{origin}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

/// An origin as an entry of a policy; none when it has a character that could end the entry.
fn source(origin: &str) -> String {
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b":/.-[]".contains(&byte);
    if origin.contains("://") && origin.bytes().all(is_safe) {
        [" ", origin].concat()
    } else {
        String::new()
    }
}

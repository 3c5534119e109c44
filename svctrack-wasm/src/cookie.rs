//! The cookie that keeps the identity. It is read as if an enemy had written it.

use js_sys::{JSON, Object, decode_uri_component, encode_uri_component};
use svctrack_core::tracking::{
    Identity,
    script::{
        COOKIE_MAX_AGE_SECONDS, COOKIE_NAME, MAX_COOKIE_BYTES, PROBE_NAME, cookie, cookie_domains,
        cookie_values,
    },
};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::HtmlDocument;

use crate::{body, value};

/// The identity that is kept; none when there is no cookie that can be read.
pub(crate) fn read() -> Option<Identity> {
    let cookies = document()?.cookie().ok()?;
    cookie_values(&cookies, COOKIE_NAME).find_map(decode)
}

fn decode(value: &str) -> Option<Identity> {
    let text = decode_uri_component(value).ok()?.as_string()?;
    let object = JSON::parse(&text).ok()?;
    let is_object = object.is_object();
    let text_member = |name| value::member(&object, name).as_string();
    is_object.then(|| Identity::read(text_member).usable())
}

/// Keeps the identity; false when it is too long or the browser keeps no cookies.
pub(crate) fn write(identity: &Identity, domain: Option<&str>) -> bool {
    let object = Object::new();
    body::set_identity(&object, identity);
    let text = value::json(&object).unwrap_or_default();
    let encoded = encode_uri_component(&text).as_string();
    encoded
        .filter(|encoded| encoded.len() <= MAX_COOKIE_BYTES)
        .is_some_and(|encoded| set(COOKIE_NAME, &encoded, COOKIE_MAX_AGE_SECONDS, domain))
}

/// The widest domain for which the browser takes a cookie; none where only the host itself can have
/// one, such as `localhost`.
pub(crate) fn widest_domain() -> Option<String> {
    let host = web_sys::window()?.location().hostname().ok()?;
    let accepted = cookie_domains(&host).find(|domain| is_accepted(domain));
    accepted.map(str::to_owned)
}

fn is_accepted(domain: &str) -> bool {
    set(PROBE_NAME, "1", COOKIE_MAX_AGE_SECONDS, Some(domain));
    let cookies = document().and_then(|document| document.cookie().ok());
    let is_accepted =
        cookies.is_some_and(|cookies| cookie_values(&cookies, PROBE_NAME).next().is_some());
    set(PROBE_NAME, "", "0", Some(domain));
    is_accepted
}

fn set(name: &str, value: &str, max_age_seconds: &str, domain: Option<&str>) -> bool {
    let protocol = web_sys::window().and_then(|window| window.location().protocol().ok());
    let is_https = protocol.as_deref() == Some("https:");
    let text = cookie(name, value, max_age_seconds, domain, is_https);
    document().is_some_and(|document| document.set_cookie(&text).is_ok())
}

fn document() -> Option<HtmlDocument> {
    let document = JsValue::from(web_sys::window()?.document()?);
    Some(document.unchecked_into())
}

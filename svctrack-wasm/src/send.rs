//! Sending: one POST an event, without credentials and without a preflight.

use js_sys::Reflect;
use svctrack_core::tracking::{Event, script::MAX_KEEPALIVE_BYTES};
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Request, RequestCredentials, RequestInit};

use crate::{body, warn, warn_of};

/// The code of an event that did not reach the server.
const NOT_SENT: &str = "not_sent";
/// The code of an event that the server did not take; its status follows.
const REFUSED: &str = "refused";

/// Sends the event; a failure is said in the console.
pub(crate) fn post(endpoint: &str, event: &Event) {
    let request = body::text(event).and_then(|body| request(endpoint, &body));
    let Some(request) = request else {
        return warn(NOT_SENT);
    };
    spawn_local(async move {
        match gloo_net::http::Request::from(request).send().await {
            Ok(response) if response.ok() => {}
            Ok(response) => warn_of(REFUSED, response.status()),
            Err(_) => warn(NOT_SENT),
        }
    });
}

/// A body that is a string goes as `text/plain;charset=UTF-8`, which needs no preflight.
fn request(endpoint: &str, body: &str) -> Option<Request> {
    let init = RequestInit::new();
    init.set_method("POST");
    init.set_credentials(RequestCredentials::Omit);
    init.set_body(&JsValue::from_str(body));
    // Neither gloo-net nor web-sys has a setter for it.
    let keepalive = JsValue::from_bool(body.len() <= MAX_KEEPALIVE_BYTES);
    let _ = Reflect::set(&init, &JsValue::from_str("keepalive"), &keepalive);
    Request::new_with_str_and_init(endpoint, &init).ok()
}

//! Sending: one POST an event, without credentials and without a preflight.

use std::cell::Cell;

use gloo_net::http::{self, Response};
use js_sys::{Function, Reflect};
use svctrack_core::tracking::{Event, script::MAX_KEEPALIVE_BYTES};
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Request, RequestCredentials, RequestInit};

use crate::{body, console};

/// The code of an event that did not reach the server.
const UNREACHABLE: &str = "server_unreachable";
/// What to look at then.
const UNREACHABLE_WHY: &str = "the address given to `load` could not be reached";

/// Sends the event; a failure is said.
pub(crate) fn post(endpoint: &str, event: &Event, say: &Function) {
    let Some(body) = body::text(event) else {
        return console::not_sent(say, UNREACHABLE, UNREACHABLE_WHY);
    };
    let endpoint = endpoint.to_owned();
    let say = say.clone();
    spawn_local(async move {
        match answer(&endpoint, &body).await {
            Some(answer) if answer.ok() => {}
            Some(answer) => console::refused(&say, answer.into()),
            None => console::not_sent(&say, UNREACHABLE, UNREACHABLE_WHY),
        }
    });
}

thread_local! {
    /// Bytes of the bodies that are under way and may outlive the page.
    static OUTLIVING: Cell<usize> = const { Cell::new(0) };
}

/// The answer of the server. Its request may outlive the page, as long as all that do so together are
/// few enough for the browser; nothing is ever sent twice.
async fn answer(endpoint: &str, body: &str) -> Option<Response> {
    let bytes = body.len();
    let outliving = OUTLIVING.get().saturating_add(bytes);
    let outlives = outliving <= MAX_KEEPALIVE_BYTES;
    let request = http::Request::from(request(endpoint, body, outlives)?);
    if outlives {
        OUTLIVING.set(outliving);
    }
    let answer = request.send().await.ok();
    if outlives {
        OUTLIVING.set(OUTLIVING.get().saturating_sub(bytes));
    }
    answer
}

/// A body that is a string goes as `text/plain;charset=UTF-8`, which needs no preflight.
fn request(endpoint: &str, body: &str, keepalive: bool) -> Option<Request> {
    let init = RequestInit::new();
    init.set_method("POST");
    init.set_credentials(RequestCredentials::Omit);
    init.set_body(&JsValue::from_str(body));
    // Neither gloo-net nor web-sys has a setter for it.
    let name = JsValue::from_str("keepalive");
    let _ = Reflect::set(&init, &name, &JsValue::from_bool(keepalive));
    Request::new_with_str_and_init(endpoint, &init).ok()
}

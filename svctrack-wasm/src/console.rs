//! What is said to whoever builds the host page: why a call was not sent, with a stable code and what
//! to do. Each call comes with a function that says it: the loader adds the call and the prefix.

use js_sys::Function;
use svctrack_core::tracking::Fault;
use wasm_bindgen::JsValue;
use web_sys::Response;

/// Says why a call was not sent.
pub(crate) fn not_sent(say: &Function, code: &str, why: &str) {
    say_line(say, &["not sent: ", code, ": ", why]);
}

/// Says the check that a call did not pass.
pub(crate) fn fault(say: &Function, fault: Fault) {
    let (code, why) = (fault.code(), fault.message());
    match fault.member() {
        Some(member) => say_line(say, &["not sent: ", code, " (", member, "): ", why]),
        None => not_sent(say, code, why),
    }
}

/// Says that the server did not take a call. The loader adds what the answer says.
pub(crate) fn refused(say: &Function, answer: Response) {
    let text = JsValue::from_str("not accepted by the server");
    // Nothing can be done about a console that throws, here and below.
    let _ = say.call2(&JsValue::NULL, &text, &answer);
}

fn say_line(say: &Function, parts: &[&str]) {
    let mut text = String::new();
    // `concat` would be a kilobyte of the download.
    for part in parts {
        text.push_str(part);
    }
    let _ = say.call1(&JsValue::NULL, &JsValue::from_str(&text));
}

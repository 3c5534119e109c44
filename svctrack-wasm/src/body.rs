//! The body of the real-time call, as an object of the browser: JSON is left to it, which saves its
//! bytes here.

use js_sys::{Date, JSON, Object, Reflect};
use svctrack_core::{
    tracking::{Event, Identity, event::name},
    value::Timestamp,
};
use wasm_bindgen::JsValue;

use crate::value;

/// The JSON text of an event that is sent now.
pub(crate) fn text(event: &Event) -> Option<String> {
    let body = Object::new();
    set_identity(&body, &event.identity);
    set_text(&body, name::ACTION, event.action.as_deref());
    if let Some(info) = &event.info {
        set(&body, name::INFO, &JSON::parse(info).ok()?);
    }
    if event.passive {
        set(&body, name::PASSIVE, &JsValue::TRUE);
    }
    if let Some(weight) = event.weight {
        set(&body, name::WEIGHT, &weight.into());
    }
    if let Some(date) = event.date {
        set(&body, name::DATE, &iso(date));
    }
    let now = Timestamp::from_ms_clamped(Date::now() as i64);
    set(&body, name::SENT_AT, &iso(now));
    set_text(&body, name::MESSAGE_ID, event.message_id.as_deref());
    value::json(&body)
}

/// Sets what is known of an identity.
pub(crate) fn set_identity(object: &Object, identity: &Identity) {
    for (name, text) in identity.members() {
        set_text(object, name, text);
    }
}

fn set_text(object: &Object, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        set(object, name, &JsValue::from_str(text));
    }
}

fn set(object: &Object, name: &str, value: &JsValue) {
    // A plain object of our own refuses no member.
    let _ = Reflect::set(object, &JsValue::from_str(name), value);
}

fn iso(time: Timestamp) -> JsValue {
    let ms = JsValue::from_f64(time.as_ms() as f64);
    Date::new(&ms).to_iso_string().into()
}

//! Values of the host page, read without trust: a member can be missing, of any kind, or throw.

use js_sys::{JSON, Number, Reflect};
use svctrack_core::tracking::Identity;
use wasm_bindgen::prelude::*;

/// A member of `object`; undefined where there is none.
pub(crate) fn member(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &JsValue::from_str(name)).unwrap_or_default()
}

/// A string, or a number as one: callers have numeric ids.
pub(crate) fn text(value: &JsValue) -> Option<String> {
    value.as_string().or_else(|| {
        let number = value.as_f64().filter(|number| number.is_finite())?;
        let text = Number::from(number).to_string_with_radix(10).ok()?;
        text.as_string()
    })
}

/// The identity members of `extra`.
pub(crate) fn identity(extra: &JsValue) -> Identity {
    Identity::read(|name| text(&member(extra, name)))
}

/// Whether there is a value at all.
pub(crate) fn is_given(value: &JsValue) -> bool {
    !value.is_undefined() && !value.is_null()
}

/// `info` as JSON; what cannot be written as JSON is an empty text, which no check lets pass.
pub(crate) fn info(info: &JsValue) -> Option<String> {
    is_given(info).then(|| json(info).unwrap_or_default())
}

/// The JSON text of a value; none for a function, a circle or a throwing `toJSON`.
pub(crate) fn json(value: &JsValue) -> Option<String> {
    JsValue::from(JSON::stringify(value).ok()?).as_string()
}

/// A number; what is given and is none is not a number, which no check lets pass.
pub(crate) fn number(value: &JsValue) -> Option<f64> {
    is_given(value).then(|| value.as_f64().unwrap_or(f64::NAN))
}

/// Random bytes from the browser; none where it has no source of them.
pub(crate) fn random() -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    let crypto = web_sys::window()?.crypto().ok()?;
    crypto.get_random_values_with_u8_array(&mut bytes).ok()?;
    Some(bytes)
}

//! The tracker that runs in a visitor's browser: glue between the page and the rules of `svctrack_core`.
//!
//! The loader (`web/script/svctrack.js`) starts it and hands over every call with the time at which it
//! was made. Nothing here throws into the host page: what is wrong is said in the console.

#[cfg(target_arch = "wasm32")]
mod allocator;
mod body;
mod cookie;
mod send;
mod value;

use std::cell::{OnceCell, RefCell};

use svctrack_core::{
    tracking::{
        Event, Fault, Identity,
        event::name,
        script::{ACTION_MISSING, given, message_id},
    },
    value::Timestamp,
};
use wasm_bindgen::prelude::*;

/// The tracker of one page. Its methods share it, because a host page's `toJSON` may call `track` while
/// a `track` reads its arguments.
#[wasm_bindgen]
pub struct Tracker {
    endpoint: String,
    domain: OnceCell<Option<String>>,
    /// The identity where the browser keeps no cookies: until the page is left.
    uncookied: RefCell<Option<Identity>>,
}

#[wasm_bindgen]
impl Tracker {
    /// A tracker that sends to `endpoint`, the address of the real-time call.
    #[wasm_bindgen(constructor)]
    pub fn new(endpoint: String) -> Self {
        Self {
            endpoint,
            domain: OnceCell::new(),
            uncookied: RefCell::new(None),
        }
    }

    /// `identify(USER_ID, EXTRA_INFO)`: keeps who the visitor is, and sends an event without action.
    pub fn identify(&self, user_id: &JsValue, extra: &JsValue, called_at_ms: f64) {
        let user_id = value::text(user_id).and_then(given);
        let identity = self.identity().identify(user_id, value::identity(extra));
        let event = Event {
            identity,
            ..event_at(called_at_ms)
        };
        if is_sound(&event) {
            self.keep(&event.identity);
            send::post(&self.endpoint, &event);
        }
    }

    /// `track(ACTION, EXTRA_INFO)`: sends an event. Identity members of this call are not kept.
    pub fn track(&self, action: &JsValue, extra: &JsValue, called_at_ms: f64) {
        let event = Event {
            identity: self.identity().identify(None, value::identity(extra)),
            action: value::text(action).and_then(given),
            info: value::info(&value::member(extra, name::INFO)),
            passive: value::member(extra, name::PASSIVE).is_truthy(),
            weight: value::number(&value::member(extra, name::WEIGHT)),
            ..event_at(called_at_ms)
        };
        if event.action.is_none() {
            warn(ACTION_MISSING);
        } else if is_sound(&event) {
            send::post(&self.endpoint, &event);
        }
    }
}

impl Tracker {
    fn identity(&self) -> Identity {
        let uncookied = self.uncookied.borrow().clone();
        uncookied.unwrap_or_else(|| cookie::read().unwrap_or_default())
    }

    fn keep(&self, identity: &Identity) {
        let domain = self.domain.get_or_init(cookie::widest_domain).as_deref();
        let is_kept = cookie::write(identity, domain) && cookie::read().as_ref() == Some(identity);
        *self.uncookied.borrow_mut() = (!is_kept).then(|| identity.clone());
    }
}

/// An event of nobody yet, with the time of its call and an id of its own.
fn event_at(called_at_ms: f64) -> Event {
    let called_at = Timestamp::from_ms_clamped(called_at_ms as i64);
    Event {
        date: Some(called_at),
        message_id: value::random().map(|random| message_id(called_at, random)),
        ..Event::default()
    }
}

/// Whether the event passes all checks; those that it does not are said in the console.
fn is_sound(event: &Event) -> bool {
    let mut faults = event.faults().map(Fault::code).peekable();
    let is_sound = faults.peek().is_none();
    faults.for_each(warn);
    is_sound
}

/// Says `code` to whoever builds the host page.
fn warn(code: &str) {
    web_sys::console::warn_1(&message(code));
}

/// Says `code` and the number that explains it.
fn warn_of(code: &str, number: u16) {
    web_sys::console::warn_2(&message(code), &number.into());
}

fn message(code: &str) -> JsValue {
    let mut text = String::from("svctrack: ");
    text.push_str(code);
    JsValue::from_str(&text)
}

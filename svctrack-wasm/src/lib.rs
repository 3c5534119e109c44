//! The tracker that runs in a visitor's browser: glue between the page and the rules of `svctrack_core`.
//!
//! The loader (`web/script/svctrack.js`) starts it and hands over every call with the time at which it
//! was made. Nothing here throws into the host page: what is wrong is said in the console.

#[cfg(target_arch = "wasm32")]
mod allocator;
mod body;
mod console;
mod cookie;
mod send;
mod value;

use std::cell::{OnceCell, RefCell};

use js_sys::Function;
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
        Self { endpoint, domain: OnceCell::new(), uncookied: RefCell::new(None) }
    }

    /// `identify(USER_ID, EXTRA_INFO)`: keeps who the visitor is, and sends an event without action.
    /// An object alone is meant as EXTRA_INFO. What is wrong is said with `say`; then it is false.
    pub fn identify(
        &self,
        user_id: &JsValue,
        extra: &JsValue,
        called_at_ms: f64,
        say: &Function,
    ) -> bool {
        let extra = if value::is_given(extra) { extra } else { user_id };
        let user_id = value::text(user_id).and_then(given);
        let known = self.identity();
        let Some(identity) = known.identify(user_id, value::identity(extra)) else {
            console::fault(say, Fault::IdentityMissing);
            return false;
        };
        let event = Event { identity, ..event_at(called_at_ms) };
        let is_sound = is_sound(&event, say);
        if is_sound {
            self.keep(&event.identity);
            send::post(&self.endpoint, &event, say);
        }
        is_sound
    }

    /// `track(ACTION, EXTRA_INFO)`: sends an event. Identity members of this call are not kept. What is
    /// wrong is said with `say`. False when all is well but nobody is known: then it waits for `identify`.
    pub fn track(
        &self,
        action: &JsValue,
        extra: &JsValue,
        called_at_ms: f64,
        say: &Function,
    ) -> bool {
        let event = Event {
            identity: self.identity().with(value::identity(extra)),
            action: value::text(action).and_then(given),
            info: value::info(&value::member(extra, name::INFO)),
            passive: value::member(extra, name::PASSIVE).is_truthy(),
            weight: value::number(&value::member(extra, name::WEIGHT)),
            ..event_at(called_at_ms)
        };
        let is_waiting = event.identity.names_nobody();
        if event.action.is_none() {
            console::not_sent(say, ACTION_MISSING, "the first argument is what the user did");
        } else if is_sound(&event, say) {
            if is_waiting {
                return false;
            }
            send::post(&self.endpoint, &event, say);
        }
        true
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

/// Whether the event passes all checks but the one for who it is. Those that it does not pass are said.
fn is_sound(event: &Event, say: &Function) -> bool {
    let is_other = |fault: &Fault| *fault != Fault::IdentityMissing;
    let mut faults = event.faults().filter(is_other).peekable();
    let is_sound = faults.peek().is_none();
    faults.for_each(|fault| console::fault(say, fault));
    is_sound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_knows_every_member_of_extra_info() {
        let loader = include_str!("../../web/script/svctrack.js");
        let nobody = Identity::default();
        let identity = nobody.members().map(|(name, _)| name);
        for name in identity.into_iter().chain([name::INFO, name::PASSIVE, name::WEIGHT]) {
            assert!(loader.contains(&format!("'{name}'")), "{name}");
        }
    }
}

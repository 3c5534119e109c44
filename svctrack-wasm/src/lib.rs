//! The tracker that runs in a visitor's browser: glue between the loader and the rules of `svctrack_core`.
//!
//! The loader (`web/script`) has the queue, the cookie and the time of each call; this module has no state, so that the
//! loader can continue without it at any time.

#[cfg(target_arch = "wasm32")]
mod allocator;
mod members;
mod send;

use svctrack_core::tracking::{Event, EventFault, Identity, script};
use wasm_bindgen::prelude::*;

pub use self::{members::Members, send::send};

/// Completes the message of a call, which has the given identity members, with those of the known user. `is_identify`
/// is whether the call was `identify`, in which another person begins again; `info` is JSON. Returns the problem, in
/// one line: nothing when all checks but the one of the identity are passed.
#[wasm_bindgen]
pub fn complete(
    message: &Members,
    known: &Members,
    is_identify: bool,
    info: Option<String>,
    weight: Option<f64>,
) -> String {
    let given = Identity::read(|name| message.get(name));
    let known = Identity::read(|name| known.get(name)).usable();
    let identity = if is_identify { known.identify(given) } else { known.with(given) };
    let event = Event { identity, info, weight, ..Event::default() };
    for (name, text) in event.identity.members() {
        if let Some(text) = text {
            message.set(name, text);
        }
    }
    let faults = event.faults().filter(|fault| *fault != EventFault::IdentityMissing);
    let mut line = String::new();
    for fault in faults {
        // `format!` would be kilobytes of the download.
        let start = if line.is_empty() { "" } else { "; " };
        line.push_str(start);
        line.push_str(fault.message());
    }
    line
}

/// Whether an id is a word that programs send where they have no id, such as `undefined`.
#[wasm_bindgen]
pub fn is_placeholder(id: &str) -> bool {
    script::is_placeholder(id)
}

#[cfg(test)]
mod tests {
    use svctrack_core::tracking::event::name;

    use super::*;

    #[test]
    fn the_loader_knows_every_member_of_extra_info() {
        let loader = include_str!("../../web/script/tracker/call.js");
        let nobody = Identity::default();
        let identity = nobody.members().map(|(name, _)| name);
        for name in identity.into_iter().chain([name::INFO, name::PASSIVE, name::WEIGHT]) {
            assert!(loader.contains(&format!("'{name}'")), "{name}");
        }
    }
}

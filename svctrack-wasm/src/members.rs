//! Objects of the loader, without the general tools for objects of any kind: these are larger than all the rules.

use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// A plain object that the loader has created. Its members are texts.
    pub type Members;

    /// The member `name`, if there is one.
    #[wasm_bindgen(method, indexing_getter)]
    pub(crate) fn get(this: &Members, name: &str) -> Option<String>;

    /// Sets the member `name`.
    #[wasm_bindgen(method, indexing_setter)]
    pub(crate) fn set(this: &Members, name: &str, text: &str);
}

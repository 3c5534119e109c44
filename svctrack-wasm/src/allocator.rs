//! A small allocator: the standard one is built for servers and adds 3 KB to every visitor's download.

use talc::wasm::{WasmDynamicTalc, new_wasm_dynamic_allocator};

#[global_allocator]
static ALLOCATOR: WasmDynamicTalc = new_wasm_dynamic_allocator();

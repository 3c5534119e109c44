//! Cuts code from the module that never runs in a browser, and shortens the names between the module and its glue. The
//! compiler could do the first only on its nightly channel.

use std::collections::BTreeMap;

use walrus::{
    ElementItems, ExportItem, FunctionBuilder, FunctionId, FunctionKind, Module, passes::gc,
};

/// Parts of the names of functions that only a panic runs, in a module that formats no text itself: its message, its
/// formatting, its hooks. Without them a panic ends the module at once, and the page continues without it.
pub(crate) const WITHOUT_WORDS: &[&str] =
    &["9panicking", "3fmt", "core..fmt", "_fail", "alloc_error"];
/// Parts of such names in a module that formats text itself.
pub(crate) const WITH_WORDS: &[&str] = &["9panicking", "_fail", "alloc_error"];
/// Prefix of the names of closures that wasm-bindgen prepares for every shape of a call. The browser uses only the
/// exported ones.
const OF_CLOSURES: &str = "wasm_bindgen::convert::closures::";
const INVOKE: &str = "::invoke::";

/// Cuts functions that only a panic runs; the names of functions are those of the linker.
pub(crate) fn cut_panics(module: &mut Module, of_panics: &[&str]) {
    cut(module, |name| of_panics.iter().any(|part| name.contains(part)));
}

/// Cuts the closures that are not used; the names of functions are readable ones.
pub(crate) fn cut_closures(module: &mut Module) {
    let used: Vec<_> =
        exported(module).into_iter().filter_map(|id| module.funcs.get(id).name.clone()).collect();
    // An exported function is a wrapper, named after the function that it wraps.
    let is_used = |name: &str| used.iter().any(|used| used.starts_with(name));
    cut(module, |name| name.starts_with(OF_CLOSURES) && name.contains(INVOKE) && !is_used(name));
}

fn exported(module: &Module) -> Vec<FunctionId> {
    let function = |item| match item {
        ExportItem::Function(id) => Some(id),
        _ => None,
    };
    module.exports.iter().filter_map(|export| function(export.item)).collect()
}

/// Replaces each function that `is_dead` by a trap, and removes functions that nothing calls any more.
fn cut(module: &mut Module, is_dead: impl Fn(&str) -> bool) {
    let exported = exported(module);
    let dead: Vec<_> = module
        .funcs
        .iter_local()
        .map(|(id, _)| id)
        .filter(|id| !exported.contains(id))
        .filter(|id| module.funcs.get(*id).name.as_deref().is_some_and(&is_dead))
        .collect();
    for &id in &dead {
        let kind = module.types.get(module.funcs.get(id).ty());
        let (parameters, results) = (kind.params().to_vec(), kind.results().to_vec());
        let mut trap = FunctionBuilder::new(&mut module.types, &parameters, &results);
        trap.func_body().unreachable();
        let arguments = parameters.iter().map(|kind| module.locals.add(*kind)).collect();
        module.funcs.get_mut(id).kind = FunctionKind::Local(trap.local_func(arguments));
    }
    keep_one_in_tables(module, &dead);
    gc::run(module);
}

/// Replaces all traps in tables by one: calling it as a function of another type is a trap too.
fn keep_one_in_tables(module: &mut Module, traps: &[FunctionId]) {
    let Some(one) = traps.first() else { return };
    for element in module.elements.iter_mut() {
        if let ElementItems::Functions(functions) = &mut element.items {
            functions.iter_mut().filter(|id| traps.contains(id)).for_each(|id| *id = *one);
        }
    }
}

/// The name under which the loader hands the glue to the module.
const GLUE: &str = "glue";

/// Gives short names to the exports and imports of the module and its glue. Returns the glue.
pub(crate) fn shorten(module: &mut Module, glue: &str) -> String {
    let mut short = BTreeMap::new();
    for import in module.imports.iter_mut() {
        GLUE.clone_into(&mut import.module);
        import.name = short_for(&mut short, &import.name);
    }
    for export in module.exports.iter_mut().filter(|export| export.name.starts_with("__")) {
        export.name = short_for(&mut short, &export.name);
    }
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut shortened = String::with_capacity(glue.len());
    let mut rest = glue;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|character| is_word(character) != is_word(first)).unwrap_or(rest.len());
        let (text, after) = rest.split_at(end);
        shortened.push_str(short.get(text).map_or(text, String::as_str));
        rest = after;
    }
    shortened
}

fn short_for(short: &mut BTreeMap<String, String>, name: &str) -> String {
    let next = format!("_{}", short.len());
    short.entry(name.to_owned()).or_insert(next).clone()
}

//! Resources of an export and an import, in order of their references.

use std::iter;

use svctrack_core::{
    resources::{REGISTRY, settings::SETTINGS},
    schema::ResourceDef,
};

/// All resources of an export: settings, and each resource after those that it refers to.
pub fn exported_resources() -> Vec<&'static ResourceDef> {
    let mut waiting: Vec<_> = REGISTRY.to_vec();
    let mut ordered = vec![&SETTINGS];
    while !waiting.is_empty() {
        let waits = |def: &ResourceDef| {
            referred(def)
                .any(|name| name != def.name && waiting.iter().any(|other| other.name == name))
        };
        let ready = waiting.iter().position(|def| !waits(def)).unwrap_or(0);
        ordered.push(waiting.remove(ready));
    }
    ordered
}

/// Resource with this name, settings among them.
///
/// # Errors
/// A message with the known names.
pub fn resource_named(name: &str) -> Result<&'static ResourceDef, String> {
    let all = exported_resources();
    let found = all.iter().copied().find(|def| def.path == name);
    found.ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|def| def.path).collect();
        format!("there is no resource `{name}`; there are {}", names.join(", "))
    })
}

/// The resources that a resource refers to, also in members of its values.
pub(super) fn referred(def: &ResourceDef) -> impl Iterator<Item = &'static str> {
    let fields = def.fields.iter().flat_map(|field| iter::once(field).chain(field.members));
    fields.filter_map(|field| field.refers).map(|refers| refers.resource)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_comes_behind_those_that_it_refers_to() {
        let all = exported_resources();
        assert_eq!(all.len(), REGISTRY.len() + 1);
        for (at, def) in all.iter().enumerate() {
            for name in referred(def).filter(|name| *name != def.name) {
                assert!(all[..at].iter().any(|other| other.name == name), "{} {name}", def.name);
            }
        }
    }
}

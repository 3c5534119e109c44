//! The actions that entries of the audit log have. [`AuditEntry::is_listed`](super::AuditEntry::is_listed) is asserted
//! where entries are written.

use crate::{resources::REGISTRY, value::near_name};

/// Targets that are no resources of records.
const OTHER_RESOURCES: [&str; 6] =
    ["settings", "closings", "tokens", "tenants", "integrationissues", "backup"];

/// Resources of targets, as in paths: those of records, and the others.
pub(super) const RESOURCES: [&str; REGISTRY.len() + OTHER_RESOURCES.len()] = all_resources();

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which finds each error")]
const fn all_resources<const COUNT: usize>() -> [&'static str; COUNT] {
    let mut all = [""; COUNT];
    let mut at = 0;
    while at < COUNT {
        all[at] = match at < REGISTRY.len() {
            true => REGISTRY[at].path,
            false => OTHER_RESOURCES[at - REGISTRY.len()],
        };
        at += 1;
    }
    all
}

/// Verbs of the actions on records of every resource.
const OF_RECORDS: [&str; 5] = ["create", "update", "delete", "upsert", "import"];

/// Actions on one resource, and those that change no record.
const OTHERS: [&str; 22] = [
    "license.renew",
    "license.lose",
    "enduser.export",
    "enduser.erase",
    "enduser.unsuppress",
    "settings.update",
    "month.close",
    "month.reopen",
    "token.create",
    "token.rotate",
    "token.revoke",
    "session.open",
    "session.close",
    "integrationissue.replay",
    "integrationissue.delete",
    "tenant.create",
    "tenant.update",
    "tenant.delete",
    "backup.download",
    "demo.create",
    "demo.delete",
    "access.deny",
];

/// Whether a text is the noun and the verb of an action.
pub(super) fn is_action(text: &str) -> bool {
    let is_of_record = |(noun, verb): (&str, &str)| {
        OF_RECORDS.contains(&verb) && REGISTRY.iter().any(|def| def.name == noun)
    };
    OTHERS.contains(&text) || text.split_once('.').is_some_and(is_of_record)
}

/// For a text that is no action, the text and the end of a message with the action that may be meant; none for an action
/// and for `null`.
pub(super) fn nearest_action(text: &str) -> Option<(String, String)> {
    if text == "null" || is_action(text) {
        return None;
    }
    let of_records = REGISTRY
        .iter()
        .flat_map(|def| OF_RECORDS.iter().map(move |verb| format!("{}.{verb}", def.name)));
    let known: Vec<String> = OTHERS.into_iter().map(str::to_owned).chain(of_records).collect();
    Some((text.to_owned(), near_name(text, known.iter().map(String::as_str))))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::resources::settings::SETTINGS;

    #[test]
    fn a_resource_of_targets_is_named_once() {
        assert!(RESOURCES.contains(&SETTINGS.path));
        let names: BTreeSet<_> = RESOURCES.into_iter().filter(|name| !name.is_empty()).collect();
        assert_eq!(names.len(), RESOURCES.len());
    }

    #[test]
    fn an_action_is_a_noun_and_a_verb() {
        for action in ["company.upsert", "license.renew", "settings.update", "null"] {
            assert_eq!(nearest_action(action), None, "{action}");
        }
        for text in ["update", "company.renew", "", "company"] {
            assert!(nearest_action(text).is_some(), "{text}");
        }
    }
}

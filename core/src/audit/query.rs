//! The query of a list of the audit log.

use super::{AuditEntry, Target, actions::nearest_action, list_fields::ENTRY};
use crate::{
    resources,
    schema::{
        LogPage, ResourceDef,
        filter::{Condition, split_operator, unreadable},
        filter_text::texts_of,
        list::parse_time,
        parameter_reader::{ParameterReader, ReadQuery},
    },
    value::{Day, RecordRef, TenantId, Timestamp, ValidationError},
};

/// Maximum number of ids in a query: each is looked up in the log of its records.
const MAX_IDS: usize = 100;

/// Characters of the id of a token, or of a session.
pub const TOKEN_ID_CHARS: usize = 8;

/// Query of the audit log; newest entries first.
#[derive(Clone, Debug)]
pub struct AuditQuery {
    /// Only actions on one of these targets, or that changed one of these records.
    pub targets: Option<AuditTargets>,
    /// Earliest time of the action, inclusive.
    pub from: Option<Timestamp>,
    /// Latest time of the action, exclusive.
    pub to: Option<Timestamp>,
    /// Page of the entries, and their properties.
    pub page: LogPage,
}

/// What `id` names, with `resource` or without it.
#[derive(Clone, Debug, Default)]
pub struct AuditTargets {
    /// Records that the ids may name: of each resource that was sent, else of every one.
    pub records: Vec<(&'static ResourceDef, RecordRef)>,
    /// Resources of the targets, as in paths; any resource if empty.
    resources: Vec<String>,
    /// Ids as entries have them.
    ids: Vec<String>,
}

impl AuditTargets {
    /// Reads the values of `resource` and `id`; none without an `id`, and for `null`, which finds entries without one.
    fn read(pairs: &[(String, String)], reader: &mut ParameterReader) -> Option<Self> {
        let values = |wanted: &str| -> Vec<String> {
            let sent = pairs.iter().filter(|(name, _)| name == wanted);
            sent.flat_map(|(_, value)| texts_of(value)).map(|text| text.trim().to_owned()).collect()
        };
        let (ids, resources) = (values("id"), values("resource"));
        if ids.is_empty() {
            return None;
        }
        for (name, values) in [("id", &ids), ("resource", &resources)] {
            if values.len() > 1 && values.iter().any(|value| value == "null") {
                reader.issues.push(unreadable(name, "`null` alone, or values without it", "null"));
            }
        }
        if ids.iter().chain(&resources).any(|value| value == "null") {
            return None;
        }
        if ids.len() > MAX_IDS {
            let expected = format!("at most {MAX_IDS} ids");
            reader.issues.push(unreadable("id", &expected, &ids.len().to_string()));
            return None;
        }
        let mut targets = Self { resources, ..Self::default() };
        for id in ids {
            targets.add(id).unwrap_or_else(|issue| reader.issues.push(issue));
        }
        Some(targets)
    }

    fn add(&mut self, id: String) -> Result<(), ValidationError> {
        let is_any = self.resources.is_empty();
        let is_meant =
            |def: &&ResourceDef| is_any || self.resources.iter().any(|at| at == def.path);
        let defs: Vec<_> = resources::REGISTRY.iter().copied().filter(is_meant).collect();
        match RecordRef::parse(&id) {
            Some(RecordRef::External(_) | RecordRef::Source(_)) if is_any || defs.is_empty() => {
                let expected = "24 hex digits, or have the `resource` of a record next to it";
                return Err(unreadable("id", expected, &id));
            }
            Some(reference) => {
                self.records.extend(defs.into_iter().map(|def| (def, reference.clone())));
            }
            None if !is_any && defs.len() == self.resources.len() => {
                return Err(unreadable("id", RecordRef::FORMS, &id));
            }
            None if !self.is_id_of_other(&id) => {
                let of_any = "the id of a record, token, tenant or integration issue, or a month";
                let expected = match self.resources.as_slice() {
                    [] => of_any.to_owned(),
                    resources => format!("an id of `{}`", resources.join("` or `")),
                };
                return Err(unreadable("id", &expected, &id));
            }
            None => {}
        }
        self.ids.push(id);
        Ok(())
    }

    /// Whether a text may be the id of a target that is no record: of a token or tenant, or a closed month.
    fn is_id_of_other(&self, text: &str) -> bool {
        let may_be =
            |resource| self.resources.is_empty() || self.resources.iter().any(|at| at == resource);
        let is_base62 = || text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        (may_be("tokens") && text.len() == TOKEN_ID_CHARS && is_base62())
            || (may_be("closings") && Day::parse(&format!("{text}-01")).is_some())
            || (may_be("tenants") && TenantId::parse(text).is_some())
    }

    /// The record that is meant, if there can be no other target.
    pub fn only_record(&self) -> Option<(&'static ResourceDef, &RecordRef)> {
        match self.records.as_slice() {
            [(def, reference)] if self.ids.len() == 1 && self.resources.len() == 1 => {
                Some((def, reference))
            }
            _ => None,
        }
    }

    /// Whether an action was on one of the targets, as far as ids tell it.
    pub fn is(&self, target: &Target) -> bool {
        (self.resources.is_empty() || self.resources.contains(&target.resource))
            && target.id.as_ref().is_some_and(|id| self.ids.contains(id))
    }
}

impl AuditQuery {
    /// Reads the query of a request.
    ///
    /// # Errors
    /// Every parameter that cannot be read.
    pub fn parse(pairs: &[(String, String)]) -> Result<ReadQuery<Self>, Vec<ValidationError>> {
        let mut reader = ParameterReader::default();
        let targets = AuditTargets::read(pairs, &mut reader);
        let mut query = Self { targets, from: None, to: None, page: LogPage::first(&ENTRY) };
        let has_targets = query.targets.is_some();
        for (name, value) in pairs.iter().filter(|(name, _)| !(has_targets && name == "id")) {
            query.read(name, value, &mut reader);
        }
        if has_targets {
            // An entry of one resource may have changed records of another.
            let names_them = |condition: &Condition| matches!(condition, Condition::OneOf(_));
            let filters = &mut query.page.filters;
            filters
                .retain(|filter| filter.field.name != "resource" || !names_them(&filter.condition));
        }
        reader.finish(query)
    }

    fn read(&mut self, name: &str, value: &str, reader: &mut ParameterReader) {
        if let ("action", None | Some("ne")) = split_operator(name) {
            let unknown = texts_of(value).into_iter().find_map(|text| nearest_action(text.trim()));
            reader.issues.extend(unknown.map(|(found, near)| {
                let expected = "a noun and a verb, such as `company.update`";
                let issue = unreadable(name, expected, &found);
                ValidationError { message: issue.message + &near, ..issue }
            }));
        }
        match name {
            "from" => reader.set(name, &mut self.from, parse_time(name, value).map(Some)),
            "to" => reader.set(name, &mut self.to, parse_time(name, value).map(Some)),
            _ => self.page.read(&["from", "to"], name, value, reader),
        }
    }

    /// Whether an entry, with its number in the change log, matches the query, as far as that is known without its
    /// records.
    pub fn matches(&self, sequence: u64, entry: &AuditEntry) -> bool {
        self.from.is_none_or(|from| entry.at >= from)
            && self.to.is_none_or(|to| entry.at < to)
            && self.page.matches(|| entry.to_response(sequence, &[]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::tests::entry;

    fn query(pairs: &[(&str, &str)]) -> AuditQuery {
        let pairs: Vec<_> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let read = AuditQuery::parse(&pairs).unwrap();
        assert!(read.unknown.is_empty(), "{pairs:?}");
        read.query
    }

    #[test]
    fn an_entry_is_asked_for_by_time_and_by_its_properties() {
        let check = |name: &str, value: &str, expect: bool| {
            let matches = query(&[(name, value)]).matches(7, &entry());
            assert_eq!(matches, expect, "{name}={value}");
        };
        check("limit", "1", true);
        check("from", "2026-11-20T12:00:00Z", true);
        check("from", "2026-11-20T12:00:00.001Z", false);
        check("to", "2026-11-20T12:00:00Z", false);
        check("to", "2026-11-20T12:00:00.001Z", true);
        check("tokenId", "01234567", true);
        check("tokenId", "other", false);
        check("action", "company.create,company.update", true);
        check("action[prefix]", "license.", false);
        check("resource", "companies", true);
        check("count", "true", true);
        check("count", "2", false);
    }

    #[test]
    fn an_id_is_of_the_resources_that_were_sent_or_of_any() {
        let id = ("id", "6553f1000102030405000001");
        let check = |pairs: &[(&str, &str)], records: usize, is_only: bool| {
            let read = query(pairs);
            assert!(read.page.filters.is_empty(), "{pairs:?}");
            let targets = read.targets.unwrap();
            assert_eq!(targets.records.len(), records, "{pairs:?}");
            assert_eq!(targets.only_record().is_some(), is_only, "{pairs:?}");
        };
        check(&[("resource", "companies"), ("id", "extid-acme")], 1, true);
        check(&[("resource", "companies"), ("id", "extid-acme,srcid-b")], 2, false);
        check(&[("resource", "companies,users"), id], 2, false);
        check(&[("resource", "companies,tokens"), id], 1, false);
        check(&[("resource", "tokens"), ("id", "01234567")], 0, false);
        check(&[("id", "2026-11,8c4f2e9a-8f5b-4c55-9d7b-0d0a1c7c1a11,Abc01234")], 0, false);
        check(&[id], resources::REGISTRY.len(), false);
        let without_id = query(&[("resource", "companies")]);
        assert!(without_id.targets.is_none() && without_id.page.filters.len() == 1);
        let of_none = query(&[("id", "null")]);
        assert!(of_none.targets.is_none() && of_none.page.filters.len() == 1);
    }

    #[test]
    fn a_target_has_one_of_the_ids_and_one_of_the_resources() {
        let target = entry().target.unwrap();
        let id = target.id.clone().unwrap_or_default();
        let is = |pairs: &[(&str, &str)]| query(pairs).targets.unwrap().is(&target);
        assert!(is(&[("id", &id)]) && is(&[("id", &id), ("resource", "companies,users")]));
        assert!(!is(&[("id", &id), ("resource", "users,tokens")]) && !is(&[("id", "01234567")]));
    }

    #[test]
    fn a_value_that_no_entry_can_have_is_named() {
        let check = |pairs: &[(&str, &str)], expect: &str| {
            let owned = |text: &&str| (*text).to_owned();
            let pairs: Vec<_> =
                pairs.iter().map(|(name, value)| (owned(name), owned(value))).collect();
            let issues = AuditQuery::parse(&pairs).unwrap_err();
            assert_eq!(issues.len(), 1, "{pairs:?}");
            assert!(issues[0].message.starts_with(expect), "{}", issues[0].message);
        };
        check(&[("id", "extid-a")], "`id` must be 24 hex digits, or have the `resource`");
        check(&[("resource", "tokens"), ("id", "extid-a")], "`id` must be 24 hex digits, or have");
        let forms = format!("`id` must be {}; found `bogus`", RecordRef::FORMS);
        check(&[("resource", "companies,users"), ("id", "bogus")], &forms);
        let of_any = "`id` must be the id of a record, token, tenant or integration issue, or a month; found";
        for id in ["nosuch", "0123456", "0123456-", "2026-13", "2026-1", "6553f10001020304"] {
            check(&[("id", id)], of_any);
            let of_two = "`id` must be an id of `companies` or `tokens`; found";
            check(&[("id", id), ("resource", "companies,tokens")], of_two);
        }
        for (resource, id) in
            [("tokens", "2026-11"), ("closings", "01234567"), ("tenants", "2026-11")]
        {
            let of_one = format!("`id` must be an id of `{resource}`; found");
            check(&[("id", id), ("resource", resource)], &of_one);
        }
        check(&[("resource", "Companies")], "`resource` must be one of `products`, ");
        let expected = "`action` must be a noun and a verb, such as `company.update`; found";
        check(&[("action", "update")], expected);
        let near = "`action[ne]` must be a noun and a verb, such as `company.update`; found `company.updat`; did you mean `company.update`?";
        check(&[("action[ne]", "license.renew,company.updat")], near);
    }
}

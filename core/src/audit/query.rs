//! The query of a list of the audit log.

use super::{AuditEntry, list_fields::ENTRY};
use crate::{
    resources,
    schema::{
        LogPage, ResourceDef,
        list::parse_time,
        parameter_reader::{ParameterReader, ReadQuery},
    },
    value::{RecordRef, Timestamp, ValidationError},
};

/// Query of the audit log; newest entries first.
#[derive(Clone, Debug)]
pub struct AuditQuery {
    /// Only actions that changed this record, or were about it.
    pub record: Option<(&'static ResourceDef, RecordRef)>,
    /// Earliest time of the action, inclusive.
    pub from: Option<Timestamp>,
    /// Latest time of the action, exclusive.
    pub to: Option<Timestamp>,
    /// Page of the entries, and their properties.
    pub page: LogPage,
}

impl AuditQuery {
    /// Reads the query of a request.
    ///
    /// # Errors
    /// Every parameter that cannot be read.
    pub fn parse(pairs: &[(String, String)]) -> Result<ReadQuery<Self>, Vec<ValidationError>> {
        let record = record_in(pairs);
        let mut query = Self { record, from: None, to: None, page: LogPage::first(&ENTRY) };
        let is_of_one = query.record.is_some();
        let names_it = |name: &str| is_of_one && matches!(name, "resource" | "id");
        let mut reader = ParameterReader::default();
        for (name, value) in pairs.iter().filter(|(name, _)| !names_it(name)) {
            query.read(name, value, &mut reader);
        }
        reader.finish(query)
    }

    fn read(&mut self, name: &str, value: &str, reader: &mut ParameterReader) {
        match name {
            "from" => reader.set(name, &mut self.from, parse_time(name, value).map(Some)),
            "to" => reader.set(name, &mut self.to, parse_time(name, value).map(Some)),
            _ => self.page.read(&["from", "to"], name, value, reader),
        }
    }

    /// Whether an entry, with its number in the change log, matches the query, as far as that is known without its
    /// record.
    pub fn matches(&self, sequence: u64, entry: &AuditEntry) -> bool {
        self.from.is_none_or(|from| entry.at >= from)
            && self.to.is_none_or(|to| entry.at < to)
            && self.page.matches(|| entry.to_response(sequence, &[]))
    }
}

/// The record that `resource` and `id` name together; none unless each was sent once.
fn record_in(pairs: &[(String, String)]) -> Option<(&'static ResourceDef, RecordRef)> {
    let only = |wanted: &str| {
        let mut values = pairs.iter().filter(|(name, _)| name == wanted).map(|(_, value)| value);
        values.next().filter(|_| values.next().is_none())
    };
    let def = resources::REGISTRY
        .iter()
        .find(|def| Some(def.path) == only("resource").map(String::as_str))?;
    Some((def, RecordRef::parse(only("id")?)?))
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
        check("id", "1", false);
        check("count", "true", true);
        check("count", "2", false);
    }

    #[test]
    fn resource_and_id_name_a_record_and_each_alone_is_a_property() {
        let id = ("id", "extid-acme");
        let read = query(&[("resource", "companies"), id]);
        assert!(read.page.filters.is_empty());
        let (def, reference) = read.record.unwrap();
        assert_eq!((def.path, reference), ("companies", RecordRef::External("acme".to_owned())));
        for pairs in
            [&[id][..], &[("resource", "tokens"), id], &[("resource", "companies,users"), id]]
        {
            let read = query(pairs);
            assert!(read.record.is_none());
            assert_eq!(read.page.filters.len(), pairs.len());
        }
    }
}

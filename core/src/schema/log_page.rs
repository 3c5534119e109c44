//! The common part of lists of logs: activities, integration issues, the audit log.

use super::{
    filter::{Filter, unreadable},
    list::{parse_after, parse_bool},
    list_limits::parse_limit,
    parameter_reader::ParameterReader,
    resource::ResourceDef,
};
use crate::value::{Document, ObjectId};

/// The parameters of every list of a log that are no properties.
const PARAMETERS: [&str; 4] = ["select", "limit", "after", "count"];

/// Page of a log: its filters, its properties and its position.
#[derive(Clone, Debug)]
pub struct LogPage {
    /// The table of an entry.
    pub def: &'static ResourceDef,
    /// Only entries that meet all of these filters, as they are returned.
    pub filters: Vec<Filter>,
    /// Properties to return; all of them when not given.
    pub select: Option<Vec<String>>,
    /// Whether to return the total number of entries (R50).
    pub count: bool,
    /// Maximum number of entries on the page.
    pub limit: usize,
    /// Only entries after this one in the order: the last of the previous page.
    pub after: Option<ObjectId>,
}

impl LogPage {
    /// First page of the log whose entries `def` describes.
    pub fn first(def: &'static ResourceDef) -> Self {
        Self {
            def,
            filters: Vec::new(),
            select: None,
            count: false,
            limit: def.list.default,
            after: None,
        }
    }

    /// Reads a parameter that every list of a log has, or a filter by a property; `own` are the names of further
    /// parameters of this list.
    pub(crate) fn read(
        &mut self,
        own: &[&str],
        name: &str,
        value: &str,
        reader: &mut ParameterReader,
    ) {
        match name {
            "select" => reader.select(self.def.fields, &mut self.select, value),
            "limit" => reader.set(name, &mut self.limit, parse_limit(value, self.def.list)),
            "after" => reader.set(name, &mut self.after, parse_after(value).map(Some)),
            "count" => self.read_count(value, reader),
            _ if !reader.filter(self.def.fields, &mut self.filters, name, value) => {
                let known = own.iter().copied().chain(PARAMETERS);
                reader.unknown(name, known, self.def.fields);
            }
            _ => {}
        }
    }

    /// Reads `count`, which is a parameter with a yes or no, and a property with numbers.
    fn read_count(&mut self, value: &str, reader: &mut ParameterReader) {
        let as_parameter = parse_bool("count", value);
        if as_parameter.is_ok() {
            return reader.set("count", &mut self.count, as_parameter);
        }
        match Filter::parse(self.def.fields, "count", value) {
            Some(Ok(filter)) => filter.join(&mut self.filters),
            _ => reader.issues.push(unreadable("count", "`true`, `false` or a number", value)),
        }
    }

    /// Whether an entry passes the filters, as it is returned.
    pub fn matches(&self, response: impl FnOnce() -> Document) -> bool {
        if self.filters.is_empty() {
            return true;
        }
        let response = response();
        self.filters.iter().all(|filter| filter.matches(&response))
    }
}

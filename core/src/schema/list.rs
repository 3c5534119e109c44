//! What a list asks for (R6, R13, R14, R27), read from the query of a request.

use super::{Kind, ResourceDef, Row, Search, Sort, index::key_of};
use crate::value::{Document, Issue, JsonRef, Members, Number, ObjectId, Timestamp, issue::quoted};

/// How long the text of a `search` may be, in characters (R27).
pub const MAX_SEARCH_CHARS: usize = 256;

/// How many records a list returns (R13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListLimits {
    /// Without a `limit`.
    pub default: usize,
    /// At most.
    pub max: usize,
}

/// What a list asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListQuery {
    /// How many records at the most.
    pub limit: usize,
    /// How many records are passed over first.
    pub offset: usize,
    /// Only records with a higher id, or a lower one when the order is descending (R14).
    pub after: Option<ObjectId>,
    /// By what the records are ordered; by `_id` when not given.
    pub sort: Option<Sort>,
    /// The properties to return; all of them when not given.
    pub select: Option<Vec<String>>,
    /// Only records that were changed at this time or later.
    pub updated_since: Option<Timestamp>,
    /// Only records with these values.
    pub filters: Vec<Filter>,
    /// Only records whose searched text contains this, in any case.
    pub search: Option<Search>,
}

/// Only records that hold one of some values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The property.
    pub name: &'static str,
    /// The values, as the query has them.
    pub values: Vec<String>,
}

/// What was read from a query, and what nothing was made of (R6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read<T> {
    /// What is asked for.
    pub query: T,
    /// Names of the parameters that are not known.
    pub ignored: Vec<String>,
}

impl ListQuery {
    /// Reads a query over `def`.
    ///
    /// # Errors
    /// Every parameter that cannot be read; a `limit` above the maximum is one of them (R13).
    pub fn parse(def: &ResourceDef, pairs: &[(String, String)]) -> Result<Read<Self>, Vec<Issue>> {
        let mut query = Self {
            limit: def.list.default,
            offset: 0,
            after: None,
            sort: None,
            select: None,
            updated_since: None,
            filters: Vec::new(),
            search: None,
        };
        let mut reader = PairReader::default();
        for (name, value) in pairs {
            let name = def
                .short_names
                .iter()
                .find(|(short, _)| short == name)
                .map_or(name.as_str(), |(_, long)| long);
            query.read(def, name, value, &mut reader);
        }
        query.check_after(&mut reader);
        reader.finish(query)
    }

    fn read(&mut self, def: &ResourceDef, name: &str, value: &str, reader: &mut PairReader) {
        match name {
            "limit" => reader.set(&mut self.limit, parse_limit(value, def.list)),
            "offset" => reader.set(&mut self.offset, parse_offset(value)),
            "after" => reader.set(&mut self.after, parse_after(value).map(Some)),
            "sort" => reader.set(&mut self.sort, parse_sort(def, value)),
            "select" => self.select = parse_select(def, value, reader),
            "updatedSince" => {
                reader.set(&mut self.updated_since, parse_time(name, value).map(Some))
            }
            "search" if !def.searched.is_empty() => {
                reader.set(&mut self.search, parse_search(value).map(Some));
            }
            _ => match def.row(name) {
                Some(row) => self.add_filter(read_filter(row, value)),
                None => reader.ignored.push(name.to_owned()),
            },
        }
    }

    /// A property that stands several times takes any of its values.
    fn add_filter(&mut self, filter: Filter) {
        match self.filters.iter_mut().find(|known| known.name == filter.name) {
            Some(known) => known.values.extend(filter.values),
            None => self.filters.push(filter),
        }
    }

    /// Keyset paging goes along ids only (R14).
    fn check_after(&self, reader: &mut PairReader) {
        let by_id = self.sort.as_ref().is_none_or(|sort| sort.path == "_id");
        if self.after.is_some() && !by_id {
            let message = "`after` goes with the order by `_id` only";
            reader.issues.push(Issue::of_member("after", "invalid_parameter", message));
        }
    }

    /// Whether the order is by falling ids.
    pub fn is_descending_by_id(&self) -> bool {
        self.sort.as_ref().is_some_and(|sort| sort.path == "_id" && sort.descending)
    }

    /// The order, if it is not by ids.
    pub fn sort_by_value(&self) -> Option<&Sort> {
        self.sort.as_ref().filter(|sort| sort.path != "_id")
    }

    /// Whether a record, as it is answered, is asked for. References in filters are ids by now.
    pub fn admits(&self, def: &ResourceDef, record: &dyn Members) -> bool {
        let filtered = self.filters.iter().all(|filter| {
            let row = def.row(filter.name);
            row.is_some_and(|row| {
                filter.values.iter().any(|value| holds(row, record.get(row.name), value))
            })
        });
        let updated = || Timestamp::parse(&record.get("updatedAt")?.as_str()?);
        filtered
            && !self.leaves_out(def, record)
            && self
                .updated_since
                .is_none_or(|since| updated().is_some_and(|updated| updated >= since))
            && self.search.as_ref().is_none_or(|search| contains(def, record, search))
    }

    /// Whether a record is one of those that are listed only when they are asked for (R57).
    fn leaves_out(&self, def: &ResourceDef, record: &dyn Members) -> bool {
        let Some(mark) = def.left_out else { return false };
        let is_asked_for = self.filters.iter().any(|filter| filter.name == mark);
        !is_asked_for && record.get(mark).is_some_and(|value| value.text() == "true")
    }

    /// The record with the properties that are asked for; `_id` is always among them (R13).
    pub fn select(&self, record: Document) -> Document {
        let Some(select) = &self.select else {
            return record;
        };
        let mut selected = Document::default();
        for (name, value) in record.iter() {
            if name == "_id" || select.iter().any(|wanted| wanted == name) {
                selected.set(name, value.to_json());
            }
        }
        selected_custom(select, &record, &mut selected);
        selected
    }
}

/// The keys of `custom` that are asked for one by one.
fn selected_custom(select: &[String], record: &Document, selected: &mut Document) {
    let keys: Vec<&str> = select.iter().filter_map(|name| name.strip_prefix("custom.")).collect();
    let whole = select.iter().any(|name| name == "custom");
    let Some(custom) = record.value("custom").filter(|_| !whole && !keys.is_empty()) else {
        return;
    };
    let mut part = custom.to_document().unwrap_or_default();
    let unwanted: Vec<String> = part
        .iter()
        .filter(|(name, _)| !keys.contains(name))
        .map(|(name, _)| name.to_owned())
        .collect();
    for name in unwanted {
        part.remove(&name);
    }
    selected.set("custom", crate::value::Json::object(&part));
}

/// Whether a property holds a value of a query: an array holds each of its items.
fn holds(row: &Row, found: Option<JsonRef<'_>>, asked: &str) -> bool {
    let Some(found) = found.filter(|found| !found.is_null()) else {
        // A mark that only the service sets is false where it is absent.
        return row.kind == Kind::Bool && !row.is_sent() && asked == "false";
    };
    if let Some(items) = found.items() {
        return items.iter().any(|item| holds(row, Some(item.as_ref()), asked));
    }
    match row.kind {
        Kind::Number | Kind::Integer => {
            found.as_number() == Number::parse(asked) && found.as_number().is_some()
        }
        Kind::Bool => found.text() == asked,
        Kind::Date => {
            let same = |found| Some(found) == Timestamp::parse(asked);
            found.as_str().and_then(|text| Timestamp::parse(&text)).is_some_and(same)
        }
        _ => found.as_str().is_some_and(|found| key_of(row, &found) == key_of(row, asked)),
    }
}

fn contains(def: &ResourceDef, record: &dyn Members, search: &Search) -> bool {
    let texts = def.searched.iter().filter_map(|name| record.get(name)?.as_str());
    texts.into_iter().any(|text| search.is_in(&text))
}

/// Collects what was read and what went wrong, one parameter after the other.
#[derive(Default)]
pub(crate) struct PairReader {
    pub(crate) ignored: Vec<String>,
    pub(crate) issues: Vec<Issue>,
}

impl PairReader {
    pub(crate) fn set<T>(&mut self, into: &mut T, read: Result<T, Issue>) {
        match read {
            Ok(value) => *into = value,
            Err(issue) => self.issues.push(issue),
        }
    }

    pub(crate) fn finish<T>(self, query: T) -> Result<Read<T>, Vec<Issue>> {
        if self.issues.is_empty() {
            Ok(Read { query, ignored: self.ignored })
        } else {
            Err(self.issues)
        }
    }
}

/// A filter by equality; a reference takes several, separated by commas (R2).
fn read_filter(row: &'static Row, value: &str) -> Filter {
    let values = match row.kind {
        Kind::Reference | Kind::References => {
            value.split(',').map(|one| one.trim().to_owned()).collect()
        }
        _ => vec![value.to_owned()],
    };
    Filter { name: row.name, values }
}

/// A `limit` from 1 to the maximum. More is refused: a shorter page than asked for would end a
/// caller's paging loop early (R13).
pub(crate) fn parse_limit(value: &str, limits: ListLimits) -> Result<usize, Issue> {
    let limit = value.parse().ok().filter(|limit| (1..=limits.max).contains(limit));
    limit.ok_or_else(|| {
        unreadable("limit", &format!("a whole number from 1 to {}", limits.max), value)
    })
}

fn parse_offset(value: &str) -> Result<usize, Issue> {
    value.parse().map_err(|_| unreadable("offset", "a whole number", value))
}

/// A public property, or `custom.x`; `-` in front reverses the order (R13).
fn parse_sort(def: &ResourceDef, value: &str) -> Result<Option<Sort>, Issue> {
    if value.is_empty() {
        return Ok(None);
    }
    let (path, descending) = match value.strip_prefix('-') {
        Some(path) => (path, true),
        None => (value, false),
    };
    if is_property(def, path) {
        return Ok(Some(Sort { path: path.to_owned(), descending }));
    }
    Err(unreadable("sort", "a property, with `-` in front to reverse the order", value))
}

fn is_property(def: &ResourceDef, path: &str) -> bool {
    let custom = path.strip_prefix("custom.").is_some_and(|key| !key.is_empty());
    def.row(path).is_some() || (custom && def.row("custom").is_some())
}

/// Property names, separated by commas; empty or `ALL` selects everything (R13).
fn parse_select(def: &ResourceDef, value: &str, reader: &mut PairReader) -> Option<Vec<String>> {
    if value.trim().is_empty() || value.trim() == "ALL" {
        return None;
    }
    let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
    let (known, unknown): (Vec<&str>, Vec<&str>) = names.partition(|name| is_property(def, name));
    reader.ignored.extend(unknown.into_iter().map(str::to_owned));
    Some(known.into_iter().map(str::to_owned).collect())
}

fn parse_search(value: &str) -> Result<Search, Issue> {
    if value.chars().count() <= MAX_SEARCH_CHARS {
        return Ok(Search::of(value));
    }
    Err(unreadable("search", &format!("at most {MAX_SEARCH_CHARS} characters long"), value))
}

/// The id after which a page begins.
pub(crate) fn parse_after(value: &str) -> Result<ObjectId, Issue> {
    ObjectId::parse(value).ok_or_else(|| unreadable("after", "an `_id`", value))
}

/// A point in time.
pub(crate) fn parse_time(name: &str, value: &str) -> Result<Timestamp, Issue> {
    Timestamp::parse(value).ok_or_else(|| unreadable(name, "an ISO 8601 date", value))
}

/// A parameter that cannot be read.
pub(crate) fn unreadable(name: &str, expected: &str, found: &str) -> Issue {
    let message = format!("`{name}` must be {expected}; found {}", quoted(found));
    Issue::of_member(name, "invalid_parameter", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::{product::PRODUCT, ticket::TICKET};

    fn read(def: &ResourceDef, query: &str) -> Result<Read<ListQuery>, Vec<Issue>> {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let pairs: Vec<_> =
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        ListQuery::parse(def, &pairs)
    }

    #[track_caller]
    fn check_refused(query: &str, message: &str) {
        let issues = read(&PRODUCT, query).unwrap_err();
        assert_eq!(
            issues.iter().map(|issue| issue.message.as_str()).collect::<Vec<_>>(),
            [message]
        );
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for bad in ["0", "2001", "-1", "ten", "1.5", ""] {
            let text = format!("`limit` must be a whole number from 1 to 2000; found `{bad}`");
            check_refused(&format!("limit={bad}"), &text);
        }
        check_refused("offset=x", "`offset` must be a whole number; found `x`");
        check_refused("after=x", "`after` must be an `_id`; found `x`");
        check_refused(
            "sort=-colour",
            "`sort` must be a property, with `-` in front to reverse the order; found `-colour`",
        );
        check_refused(
            "sort=name&after=6553f1000102030405ffffff",
            "`after` goes with the order by `_id` only",
        );
        check_refused("updatedSince=now", "`updatedSince` must be an ISO 8601 date; found `now`");
    }

    #[test]
    fn short_names_stand_for_long_ones() {
        let read = read(&TICKET, "l=7&o=2&s=open&cid=a,b&x=1").unwrap();
        assert_eq!((read.query.limit, read.query.offset), (7, 2));
        let filters: Vec<_> =
            read.query.filters.iter().map(|filter| (filter.name, filter.values.len())).collect();
        assert_eq!(filters, [("status", 1), ("companyId", 2)]);
        assert_eq!(read.ignored, ["x"]);
    }

    #[test]
    fn only_what_is_selected_is_returned() {
        let record = || {
            Document::parse(br#"{"_id":"1","name":"A","mrr":5,"custom":{"a":1,"b":2}}"#).unwrap()
        };
        let check = |select: &str, expect: &str, ignored: &[&str]| {
            let read = read(&PRODUCT, &format!("select={select}")).unwrap();
            assert_eq!(read.query.select(record()).to_text(), expect);
            assert_eq!(read.ignored, ignored);
        };
        check("name, mrr", r#"{"_id":"1","name":"A","mrr":5}"#, &[]);
        check("Name,custom.b", r#"{"_id":"1","custom":{"b":2}}"#, &["Name"]);
        check("ALL", &record().to_text(), &[]);
        check("", &record().to_text(), &[]);
    }

    #[test]
    fn a_filter_compares_by_kind() {
        let record = Document::parse(br#"{"name":"A","mrr":5,"fixedPeriod":true,"packages":["x","y"],"createdAt":"2026-01-01T00:00:00.000Z"}"#).unwrap();
        let text = record.to_text();
        let admits = |query: &str| {
            let query = read(&PRODUCT, query).unwrap().query;
            let admitted = query.admits(&PRODUCT, &record);
            assert_eq!(query.admits(&PRODUCT, &JsonRef::of_stored(&text)), admitted);
            admitted
        };
        for query in [
            "name=A",
            "mrr=5.0",
            "fixedPeriod=true",
            "createdAt=2026-01-01",
            "packages=y",
            "name=A&mrr=5",
        ] {
            assert!(admits(query), "{query}");
        }
        for query in [
            "name=a",
            "mrr=6",
            "mrr=x",
            "fixedPeriod=false",
            "createdAt=2026",
            "packages=z",
            "externalId=1",
        ] {
            assert!(!admits(query), "{query}");
        }
    }
}

//! The query of a list (R13, R14, R27, R49, R50).

use std::borrow::Cow;

use super::{
    field::FieldDef,
    filter::{Filter, parse_date, split_operator, unreadable},
    list_limits::{ListLimits, parse_limit},
    order::{Sort, SortKey},
    parameter_reader::{ParameterReader, ReadQuery, is_property},
    resource::ResourceDef,
    search::Search,
};
use crate::value::{
    Document, Members, ObjectId, Timestamp, ValidationError, near_name, validation_error::DATE_FORM,
};

/// Longest text of a `search`, in characters (R27).
pub const MAX_SEARCH_CHARS: usize = 256;

/// Page, order and filters of a list of records.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// Maximum number of records on the page.
    pub limit: usize,
    /// Number of records that are skipped first.
    pub offset: usize,
    /// Only records with a higher id, or a lower one when the order is descending (R14).
    pub after: Option<ObjectId>,
    /// Order of the records; by `_id` when not given.
    pub sort: Option<Sort>,
    /// Properties to return; all of them when not given.
    pub select: Option<Vec<String>>,
    /// Only records that were changed at this time or later.
    pub updated_since: Option<Timestamp>,
    /// Only records that meet all of these filters.
    pub filters: Vec<Filter>,
    /// Only records with this text, in any case.
    pub search: Option<Search>,
    /// Whether to return the total number of records (R50).
    pub count: bool,
}

/// Parameters of every list of records; `search` only where there is a text to search.
const PARAMETERS: [&str; 7] =
    ["limit", "offset", "after", "sort", "select", "updatedSince", "count"];

/// Names of the company in all resources that have one (R49).
pub const COMPANY_NAMES: [&str; 3] = ["companyId", "cId", "c"];

impl ListQuery {
    /// Reads a query over `def`.
    ///
    /// # Errors
    /// Every parameter that cannot be read; a `limit` above the maximum is one of them (R13).
    pub fn parse(
        def: &ResourceDef,
        pairs: &[(String, String)],
    ) -> Result<ReadQuery<Self>, Vec<ValidationError>> {
        Self::parse_within(def, def.list, pairs)
    }

    /// Reads the query of a list with other limits for its number of records.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_within(
        def: &ResourceDef,
        limits: ListLimits,
        pairs: &[(String, String)],
    ) -> Result<ReadQuery<Self>, Vec<ValidationError>> {
        let mut query = Self {
            limit: limits.default,
            offset: 0,
            after: None,
            sort: None,
            select: None,
            updated_since: None,
            filters: Vec::new(),
            search: None,
            count: false,
        };
        let mut reader = ParameterReader::default();
        for (name, value) in pairs {
            query.read(def, limits, &long_name(def, name), value, &mut reader);
        }
        query.check_after(&mut reader);
        reader.finish(query)
    }

    fn read(
        &mut self,
        def: &ResourceDef,
        limits: ListLimits,
        name: &str,
        value: &str,
        reader: &mut ParameterReader,
    ) {
        match name {
            "limit" => reader.set(name, &mut self.limit, parse_limit(value, limits)),
            "offset" => reader.set(name, &mut self.offset, parse_offset(value)),
            "after" => reader.set(name, &mut self.after, parse_after(value).map(Some)),
            "sort" => reader.set(name, &mut self.sort, parse_sort(def, value)),
            "select" => reader.select(def.fields, &mut self.select, value),
            "updatedSince" => {
                reader.set(name, &mut self.updated_since, parse_time(name, value).map(Some))
            }
            "search" if !def.searched.is_empty() => {
                reader.set(name, &mut self.search, parse_search(value).map(Some));
            }
            "count" => reader.set(name, &mut self.count, parse_bool(name, value)),
            _ if !reader.filter(def.fields, &mut self.filters, name, value) => {
                let search = (!def.searched.is_empty()).then_some("search");
                let short = def.short_names.iter().map(|(short, _)| *short);
                let company = company_field(def).into_iter().flat_map(|_| COMPANY_NAMES);
                let known = PARAMETERS.into_iter().chain(search).chain(short).chain(company);
                reader.unknown(name, known, def.fields);
            }
            _ => {}
        }
    }

    /// Rejects `after` with another order: keyset paging follows ids only (R14).
    fn check_after(&self, reader: &mut ParameterReader) {
        let by_id = self.sort.as_ref().is_none_or(|sort| sort.path == "_id");
        if self.after.is_some() && !by_id {
            let message = "`after` works only with the order by `_id`";
            reader.issues.push(ValidationError::of_member("after", "invalid_parameter", message));
        }
    }

    /// Whether the order is by falling ids.
    pub fn is_descending_by_id(&self) -> bool {
        self.sort.as_ref().is_some_and(|sort| sort.path == "_id" && sort.descending)
    }

    /// Order of the list, unless it is by ids.
    pub fn sort_by_value(&self) -> Option<&Sort> {
        self.sort.as_ref().filter(|sort| sort.path != "_id")
    }

    /// Whether the query excludes records.
    pub fn is_filtered(&self) -> bool {
        !self.filters.is_empty() || self.search.is_some() || self.updated_since.is_some()
    }

    /// Whether a record, as it is returned, matches the query. References in filters have been resolved to ids.
    pub fn matches(&self, def: &ResourceDef, record: &dyn Members) -> bool {
        self.matches_where(def, record, |_| true)
    }

    /// Whether a record passes the filters by some fields.
    pub fn matches_where(
        &self,
        def: &ResourceDef,
        record: &dyn Members,
        is: impl Fn(&FieldDef) -> bool,
    ) -> bool {
        let mut filters = self.filters.iter().filter(|filter| is(filter.field));
        let updated = || Timestamp::parse(&record.get("updatedAt")?.as_str()?);
        filters.all(|filter| filter.matches(record))
            && !self.leaves_out(def, record)
            && self
                .updated_since
                .is_none_or(|since| updated().is_some_and(|updated| updated >= since))
            && self.search.as_ref().is_none_or(|search| contains(def, record, search))
    }

    /// Whether a record is omitted: some records are listed only by a filter for them (R57).
    fn leaves_out(&self, def: &ResourceDef, record: &dyn Members) -> bool {
        let Some(mark) = def.left_out else { return false };
        let is_asked_for = self.filters.iter().any(|filter| filter.field.name == mark);
        !is_asked_for && record.get(mark).is_some_and(|value| value.text() == "true")
    }

    /// A page of records that are all in memory, as they are returned, lowest id first.
    pub fn page(&self, def: &ResourceDef, records: Vec<Document>) -> ListedRecords {
        let id = |record: &Document| record.text("_id").and_then(|id| ObjectId::parse(&id));
        let mut found: Vec<_> =
            records.into_iter().filter(|record| self.matches(def, record)).collect();
        let total = found.len();
        found.retain(|record| self.after.is_none_or(|after| self.is_behind(id(record), after)));
        if let Some(sort) = &self.sort {
            // A stable sort: ties stay in the order of ids, or reversed in the descending order.
            let mut keyed: Vec<(SortKey, Document)> =
                found.into_iter().map(|record| (sort.key(&record), record)).collect();
            keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
            if sort.descending {
                keyed.reverse();
            }
            found = keyed.into_iter().map(|(_, record)| record).collect();
        }
        let is_last = found.len() <= self.offset.saturating_add(self.limit);
        let page = found.into_iter().skip(self.offset).take(self.limit);
        ListedRecords { records: page.map(|record| self.select(record)).collect(), total, is_last }
    }

    fn is_behind(&self, id: Option<ObjectId>, after: ObjectId) -> bool {
        id.is_some_and(|id| if self.is_descending_by_id() { id < after } else { id > after })
    }

    /// The record with the requested properties; `_id` is always among them (R13).
    pub fn select(&self, record: Document) -> Document {
        selected(self.select.as_deref(), record)
    }
}

/// A record with some of its properties; `_id` is always among them (R13).
pub fn selected(select: Option<&[String]>, record: Document) -> Document {
    let Some(select) = select else {
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

/// A page of records that were all at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRecords {
    /// Records of the page, with the properties that were requested.
    pub records: Vec<Document>,
    /// Total number of records.
    pub total: usize,
    /// Whether no further page follows.
    pub is_last: bool,
}

/// Long form of a short name; an operator stays after it.
fn long_name<'n>(def: &ResourceDef, name: &'n str) -> Cow<'n, str> {
    let (path, operator) = split_operator(name);
    let short = def.short_names.iter().find(|(short, _)| *short == path).map(|(_, long)| *long);
    let long = short.or_else(|| COMPANY_NAMES.contains(&path).then(|| company_field(def))?);
    match (long, operator) {
        (None, _) => Cow::Borrowed(name),
        (Some(long), None) => Cow::Borrowed(long),
        (Some(long), Some(operator)) => Cow::Owned(format!("{long}[{operator}]")),
    }
}

fn company_field(def: &ResourceDef) -> Option<&'static str> {
    let field = if def.name == "company" { "_id" } else { "companyId" };
    def.field(field).map(|field| field.name)
}

/// Keys of `custom` that were requested separately.
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

fn contains(def: &ResourceDef, record: &dyn Members, search: &Search) -> bool {
    let texts = def.searched.iter().filter_map(|name| record.get(name)?.as_str());
    texts.into_iter().any(|text| search.is_in(&text))
}

fn parse_offset(value: &str) -> Result<usize, ValidationError> {
    value.parse().map_err(|_| unreadable("offset", "a whole number", value))
}

/// A public property, or `custom.x`; a leading `-` reverses the order (R13).
fn parse_sort(def: &ResourceDef, value: &str) -> Result<Option<Sort>, ValidationError> {
    if value.is_empty() {
        return Ok(None);
    }
    let (path, descending) = match value.strip_prefix('-') {
        Some(path) => (path, true),
        None => (value, false),
    };
    if is_property(def.fields, path) {
        return Ok(Some(Sort { path: path.to_owned(), descending }));
    }
    let expected = "a property, with a leading `-` to reverse the order";
    let mut issue = unreadable("sort", expected, value);
    issue.message.push_str(&near_name(path, def.fields.iter().map(|field| field.name)));
    Err(issue)
}

fn parse_search(value: &str) -> Result<Search, ValidationError> {
    if value.chars().count() <= MAX_SEARCH_CHARS {
        return Ok(Search::new(value));
    }
    Err(unreadable("search", &format!("at most {MAX_SEARCH_CHARS} characters long"), value))
}

/// The id after which a page begins.
pub(crate) fn parse_after(value: &str) -> Result<ObjectId, ValidationError> {
    ObjectId::parse(value).ok_or_else(|| unreadable("after", "an `_id`", value))
}

/// A point in time.
pub(crate) fn parse_time(name: &str, value: &str) -> Result<Timestamp, ValidationError> {
    parse_date(value).ok_or_else(|| unreadable(name, DATE_FORM, value))
}

/// A yes or no.
pub(crate) fn parse_bool(name: &str, value: &str) -> Result<bool, ValidationError> {
    value.parse().map_err(|_| unreadable(name, "`true` or `false`", value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        resources::{company::COMPANY, product::PRODUCT, ticket::TICKET},
        value::JsonRef,
    };

    fn read(def: &ResourceDef, query: &str) -> Result<ReadQuery<ListQuery>, Vec<ValidationError>> {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let pairs: Vec<_> =
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        ListQuery::parse(def, &pairs)
    }

    #[track_caller]
    fn check_rejected(query: &str, message: &str) {
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
            check_rejected(&format!("limit={bad}"), &text);
        }
        check_rejected("offset=x", "`offset` must be a whole number; found `x`");
        check_rejected("after=x", "`after` must be an `_id`; found `x`");
        check_rejected(
            "sort=-colour",
            "`sort` must be a property, with a leading `-` to reverse the order; found `-colour`; did you mean `color`?",
        );
        check_rejected(
            "sort=sunshine",
            "`sort` must be a property, with a leading `-` to reverse the order; found `sunshine`",
        );
        check_rejected(
            "sort=name&after=6553f1000102030405ffffff",
            "`after` works only with the order by `_id`",
        );
        let date = "`updatedSince` must be an ISO 8601 date from 1970 to 9999; found `now`";
        check_rejected("updatedSince=now", date);
    }

    #[test]
    fn short_names_are_aliases_of_long_ones() {
        let read = read(&TICKET, "l=7&o=2&s=open&cid=extid-a,extid-b&x=1").unwrap();
        assert_eq!((read.query.limit, read.query.offset), (7, 2));
        let name_and_count = |filter: &Filter| (filter.field.name, filter.texts().unwrap().len());
        let filters: Vec<_> = read.query.filters.iter().map(name_and_count).collect();
        assert_eq!(filters, [("status", 1), ("companyId", 2)]);
        assert_eq!(read.unknown.iter().map(|unknown| &unknown.name).collect::<Vec<_>>(), ["x"]);
    }

    #[test]
    fn a_company_has_three_names_wherever_there_is_one() {
        for name in COMPANY_NAMES {
            let field = |def| {
                let read = read(def, &format!("{name}[ne]=extid-a")).unwrap();
                read.query.filters.first().map(|filter| filter.field.name)
            };
            assert_eq!(field(&TICKET), Some("companyId"));
            assert_eq!(field(&COMPANY), Some("_id"));
            assert_eq!(field(&PRODUCT), None);
        }
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
    fn filters_hold_together() {
        let record = Document::parse(br#"{"name":"A","mrr":5,"fixedPeriod":true,"packages":["x","y"],"createdAt":"2026-01-01T00:00:00.000Z"}"#).unwrap();
        let text = record.to_text();
        let matches = |query: &str| {
            let query = read(&PRODUCT, query).unwrap().query;
            let admitted = query.matches(&PRODUCT, &record);
            assert_eq!(query.matches(&PRODUCT, &JsonRef::of_stored(&text)), admitted);
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
            assert!(matches(query), "{query}");
        }
        for query in ["name=a", "mrr=6", "fixedPeriod=false", "packages=z", "externalId=1"] {
            assert!(!matches(query), "{query}");
        }
    }
}

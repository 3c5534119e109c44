//! Filters of a list (R50): a condition on a property from one query parameter, such as `mrr[gte]=500` or
//! `status=customer,lost`.
//!
//! Values are compared by the kind of their field, and below `custom` in the order of values (R13). Absent and null
//! match `null` and `[exists]=false`, but no comparison.

use std::{borrow::Cow, cmp::Ordering};

use super::{
    field::{FieldDef, FieldKind, OnMissing},
    filter_text::{split_values, unescaped},
    index::key_of,
    order::SortKey,
    search::Search,
};
use crate::value::{
    Json, JsonRef, Members, Number, NumberSortKey, RecordRef, Timestamp, ValidationError,
    quoted::{quoted, quoted_list},
    validation_error::DATE_FORM,
};

/// Operators that can follow the name of a property in brackets.
pub const OPERATORS: [&str; 8] = ["gte", "gt", "lte", "lt", "ne", "exists", "contains", "prefix"];

/// Word for no value.
const NULL: &str = "null";

/// Condition on a property.
#[derive(Clone, Debug)]
pub struct Filter {
    /// The property that is compared.
    pub field: &'static FieldDef,
    /// For a free-form object, the key below it: `x` of `custom.x`, `EUR` of `mrrByCurrency.EUR`.
    pub key: Option<String>,
    /// Condition on the value.
    pub condition: Condition,
}

/// Condition on a value.
#[derive(Clone, Debug)]
pub enum Condition {
    /// Equal to one of these values.
    OneOf(Vec<Operand>),
    /// Equal to none of these values.
    NoneOf(Vec<Operand>),
    /// Less or greater than a value.
    Compared(Comparison, Operand),
    /// Whether the property has a value.
    Exists(bool),
    /// A text that contains another one, in any case.
    Contains(Box<Search>),
    /// A text that begins with another one, in any case.
    Prefix(Box<Search>),
    /// An e-mail or a domain that begins with a text, both in lower case, as an index has them.
    PrefixInLowerCase(String),
}

/// On which side of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `gte`: the value or greater.
    AtLeast,
    /// `gt`: greater than the value.
    Above,
    /// `lte`: the value or less.
    AtMost,
    /// `lt`: less than the value.
    Below,
}

/// A value of a query.
#[derive(Clone, Debug)]
pub enum Operand {
    /// `null`: no value is stored.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, by its place among all numbers.
    Number(NumberSortKey),
    /// A point in time, with its stored form.
    Date(Timestamp, String),
    /// A text in the form in which it is compared; a reference, until it is resolved.
    Text(String),
    /// A value of any kind, with its text in the query.
    Free(SortKey, String),
}

impl Filter {
    /// Filter of a parameter; none where it names no property.
    ///
    /// # Errors
    /// When the operator is unknown, or the value does not fit the property.
    pub fn parse(
        fields: &'static [FieldDef],
        name: &str,
        value: &str,
    ) -> Option<Result<Self, ValidationError>> {
        let (path, operator) = split_operator(name);
        let (field, key) = property(fields, path)?;
        let reading = ParameterReading { name, field, is_free: key.is_some() };
        let condition = reading.condition(operator, value);
        Some(condition.map(|condition| Self { field, key: key.map(str::to_owned), condition }))
    }

    /// Property that the name of a parameter filters by, whatever its value is.
    pub(crate) fn field_of(fields: &'static [FieldDef], name: &str) -> Option<&'static FieldDef> {
        property(fields, split_operator(name).0).map(|(field, _)| field)
    }

    /// Adds the filter to others; filters of the same property accept the values of each.
    pub(crate) fn join(self, filters: &mut Vec<Self>) {
        match filters.iter_mut().find(|known| known.is_alike(&self)) {
            Some(known) => known.add(self),
            None => filters.push(self),
        }
    }

    /// Whether a record meets the condition.
    pub fn matches(&self, record: &dyn Members) -> bool {
        let value = record.get(self.field.name);
        let value = match &self.key {
            Some(key) => value.and_then(|object| object.member(key)),
            None => value,
        };
        let value = value.filter(|value| !value.is_null());
        match &self.condition {
            Condition::Exists(wanted) => value.is_some() == *wanted,
            Condition::OneOf(operands) => self.is_one_of(value, operands),
            Condition::NoneOf(operands) => !self.is_one_of(value, operands),
            Condition::Compared(side, operand) => any_value(value, &|value| {
                operand.order_of(self.field, value).is_some_and(|order| side.matches(order))
            }),
            Condition::Contains(_) | Condition::Prefix(_) => {
                any_value(value, &|value| self.is_met_by(&text_of(value)))
            }
            Condition::PrefixInLowerCase(start) => any_value(value, &|value| {
                key_of(self.field, &text_of(value)).starts_with(start.as_str())
            }),
        }
    }

    fn is_one_of(&self, value: Option<JsonRef<'_>>, operands: &[Operand]) -> bool {
        operands.iter().any(|operand| match operand {
            Operand::Null => value.is_none(),
            // A mark that only the service sets is false where it is absent.
            Operand::Bool(false) if value.is_none() => {
                self.field.kind == FieldKind::Bool && !self.field.is_sent()
            }
            _ => any_value(value, &|value| {
                operand.order_of(self.field, value) == Some(Ordering::Equal)
            }),
        })
    }

    /// The only texts that meet the condition, if their number is limited.
    pub fn texts(&self) -> Option<Vec<&str>> {
        let Condition::OneOf(operands) = &self.condition else { return None };
        operands.iter().map(Operand::as_text).collect()
    }

    /// The beginning of all texts that meet the condition, where an index compares it as the filter does.
    pub fn beginning(&self) -> Option<&str> {
        match &self.condition {
            Condition::PrefixInLowerCase(start) => Some(start),
            _ => None,
        }
    }

    /// Whether the condition is on a part of a text, so that an index of whole texts can be searched for it.
    pub fn is_on_part(&self) -> bool {
        self.key.is_none()
            && matches!(self.condition, Condition::Contains(_) | Condition::Prefix(_))
    }

    /// Whether a text meets a condition on a part of it.
    pub fn is_met_by(&self, text: &str) -> bool {
        match &self.condition {
            Condition::Contains(search) => search.is_in(text),
            Condition::Prefix(start) => start.is_prefix_of(text),
            _ => false,
        }
    }

    /// The first and the last value that a date may have, as dates are stored.
    pub fn dates(&self) -> (Option<&str>, Option<&str>) {
        match &self.condition {
            Condition::Compared(side, Operand::Date(_, text)) => match side {
                Comparison::AtLeast | Comparison::Above => (Some(text), None),
                Comparison::AtMost | Comparison::Below => (None, Some(text)),
            },
            Condition::OneOf(operands) => match operands.as_slice() {
                [Operand::Date(_, text)] => (Some(text), Some(text)),
                _ => (None, None),
            },
            _ => (None, None),
        }
    }

    /// Whether another filter asks for one of several values of the same property.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        let are_values = matches!(
            (&self.condition, &other.condition),
            (Condition::OneOf(_), Condition::OneOf(_))
        );
        are_values && self.field.name == other.field.name && self.key == other.key
    }

    /// Adds the values of another filter of the same property.
    pub(super) fn add(&mut self, other: Self) {
        if let (Condition::OneOf(known), Condition::OneOf(more)) =
            (&mut self.condition, other.condition)
        {
            known.extend(more);
        }
    }

    /// The values of the condition.
    pub fn operands_mut(&mut self) -> &mut [Operand] {
        match &mut self.condition {
            Condition::OneOf(operands) | Condition::NoneOf(operands) => operands,
            Condition::Compared(_, operand) => std::slice::from_mut(operand),
            _ => &mut [],
        }
    }
}

impl Comparison {
    fn matches(self, order: Ordering) -> bool {
        match self {
            Self::AtLeast => order.is_ge(),
            Self::Above => order.is_gt(),
            Self::AtMost => order.is_le(),
            Self::Below => order.is_lt(),
        }
    }
}

impl Operand {
    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Order of a value relative to the operand; none where they cannot be compared.
    fn order_of(&self, field: &FieldDef, value: JsonRef<'_>) -> Option<Ordering> {
        match self {
            Self::Null => None,
            Self::Bool(asked) => Some(value.as_bool()?.cmp(asked)),
            Self::Number(asked) => {
                Some(NumberSortKey::from_text(value.as_number_text()?).cmp(asked))
            }
            Self::Date(asked, text) => {
                let found = value.as_str()?;
                // Dates have one stored form, which sorts by its bytes.
                if found.len() == text.len() {
                    return Some(found.as_bytes().cmp(text.as_bytes()));
                }
                Some(Timestamp::parse(&found)?.cmp(asked))
            }
            Self::Text(asked) => {
                let found = value.as_str()?;
                let key = if field.folded { Cow::Owned(key_of(field, &found)) } else { found };
                Some(key.as_bytes().cmp(asked.as_bytes()))
            }
            Self::Free(asked, text) => Some(match SortKey::from_value(Some(value)) {
                SortKey::Text(found) => found.as_bytes().cmp(text.as_bytes()),
                found => found.cmp(asked),
            }),
        }
    }
}

/// Whether a value, or one of the items of an array, meets the condition.
fn any_value(value: Option<JsonRef<'_>>, is: &dyn Fn(JsonRef<'_>) -> bool) -> bool {
    value.is_some_and(|value| match value.text().starts_with('[') {
        true => value.items().is_some_and(|items| items.iter().any(|item| is(item.as_ref()))),
        false => is(value),
    })
}

fn text_of(value: JsonRef<'_>) -> Cow<'_, str> {
    value.as_str().unwrap_or(Cow::Borrowed(value.text()))
}

/// The property that a path names, and the key below a free-form object.
fn property<'p>(
    fields: &'static [FieldDef],
    path: &'p str,
) -> Option<(&'static FieldDef, Option<&'p str>)> {
    let field = |name: &str| fields.iter().find(|field| field.name == name);
    match path.split_once('.') {
        Some((name, key)) if !key.is_empty() => field(name)
            .filter(|field| field.kind == FieldKind::Object)
            .map(|field| (field, Some(key))),
        _ => Some((field(path)?, None)),
    }
}

/// `mrr[gte]` as `mrr` and `gte`.
pub fn split_operator(name: &str) -> (&str, Option<&str>) {
    match name.strip_suffix(']').and_then(|name| name.rsplit_once('[')) {
        Some((path, operator)) => (path, Some(operator)),
        None => (name, None),
    }
}

/// A parameter while its value is read.
struct ParameterReading<'a> {
    name: &'a str,
    field: &'static FieldDef,
    is_free: bool,
}

impl ParameterReading<'_> {
    fn condition(&self, operator: Option<&str>, value: &str) -> Result<Condition, ValidationError> {
        let compared = |side| Ok(Condition::Compared(side, self.bound(value)?));
        match operator {
            None => Ok(Condition::OneOf(self.operands(value)?)),
            Some("ne") => Ok(Condition::NoneOf(self.operands(value)?)),
            Some("gte") => compared(Comparison::AtLeast),
            Some("gt") => compared(Comparison::Above),
            Some("lte") => compared(Comparison::AtMost),
            Some("lt") => compared(Comparison::Below),
            Some("exists") => match value {
                "true" => Ok(Condition::Exists(true)),
                "false" => Ok(Condition::Exists(false)),
                _ => Err(unreadable(self.name, "`true` or `false`", value)),
            },
            Some("prefix") if self.field.has_objects() => Err(self.not_compared(value)),
            Some("contains") => Ok(Condition::Contains(Search::new(&unescaped(value)).into())),
            Some("prefix") if self.field.folded => {
                Ok(Condition::PrefixInLowerCase(key_of(self.field, &unescaped(value))))
            }
            Some("prefix") => Ok(Condition::Prefix(Search::new(&unescaped(value)).into())),
            Some(other) => {
                let expected = format!("followed by one of {}", quoted_list(&OPERATORS));
                let path = split_operator(self.name).0;
                Err(ValidationError {
                    pointer: format!("/{}", self.name),
                    ..unreadable(path, &expected, other)
                })
            }
        }
    }

    /// The values between commas.
    fn operands(&self, value: &str) -> Result<Vec<Operand>, ValidationError> {
        split_values(value).into_iter().map(|one| self.operand(one)).collect()
    }

    /// Value that others are compared with.
    fn bound(&self, value: &str) -> Result<Operand, ValidationError> {
        if (self.field.kind == FieldKind::Bool && !self.is_free) || self.field.has_objects() {
            return Err(self.not_compared(value));
        }
        match self.operand(value)? {
            Operand::Null => Err(unreadable(self.name, "a value with an order", value)),
            operand => Ok(operand),
        }
    }

    fn not_compared(&self, value: &str) -> ValidationError {
        let others = if self.field.has_objects() {
            "`ne`, `exists` or `contains`"
        } else {
            "`ne` or `exists`"
        };
        unreadable(self.name, &format!("without an operator, or with {others}"), value)
    }

    fn operand(&self, value: &str) -> Result<Operand, ValidationError> {
        if value.trim() == NULL {
            return Ok(Operand::Null);
        }
        let text = unescaped(value);
        if self.is_free {
            return Ok(Operand::Free(free_key(&text), text));
        }
        let (trimmed, field) = (text.trim(), self.field);
        let (read, expected) = match field.kind {
            FieldKind::Number | FieldKind::Integer => {
                (place_of(trimmed).map(Operand::Number), "a number")
            }
            FieldKind::Bool => (trimmed.parse().ok().map(Operand::Bool), "`true` or `false`"),
            FieldKind::Date => {
                let date = parse_date(trimmed);
                (date.map(|date| Operand::Date(date, date.to_string())), DATE_FORM)
            }
            FieldKind::Id | FieldKind::Reference | FieldKind::References => {
                let is_one = is_loose(field) || RecordRef::parse(trimmed).is_some();
                (is_one.then(|| Operand::Text(trimmed.to_owned())), RecordRef::FORMS)
            }
            FieldKind::Object => (None, "`null`, or a key below it, as in `custom.x`"),
            FieldKind::Values if self.field.has_objects() => {
                (None, "`null`: its items are objects")
            }
            _ if !field.values.is_empty() => return self.choice(trimmed),
            _ => return Ok(Operand::Text(key_of(field, &text))),
        };
        read.ok_or_else(|| unreadable(self.name, expected, trimmed))
    }

    /// A value among the few that the field takes.
    fn choice(&self, text: &str) -> Result<Operand, ValidationError> {
        let alias = self.field.aliases.iter().find(|(alias, _)| *alias == text);
        let meant = alias.map_or(text, |(_, meant)| meant);
        if self.field.values.contains(&meant) {
            return Ok(Operand::Text(meant.to_owned()));
        }
        let expected = format!("one of {}", quoted_list(self.field.values));
        Err(unreadable(self.name, &expected, text))
    }
}

/// Whether a malformed plain id may be stored in the field.
fn is_loose(field: &FieldDef) -> bool {
    field.refers.is_some_and(|refers| refers.on_missing == OnMissing::Keep)
}

/// Key by which a value of any kind is compared.
fn free_key(text: &str) -> SortKey {
    match (text.parse(), place_of(text)) {
        (Ok(value), _) => SortKey::Bool(value),
        (_, Some(place)) => SortKey::Number(place),
        _ => SortKey::Text(text.to_owned()),
    }
}

/// Place of a text that is a number among others: as JSON writes numbers, however large, or as Rust does.
fn place_of(text: &str) -> Option<NumberSortKey> {
    let json = Json::parse(text.as_bytes()).ok();
    let exact =
        json.as_ref().and_then(|json| json.as_ref().as_number_text()).map(NumberSortKey::from_text);
    exact
        .or_else(|| Number::parse(text).map(|number| NumberSortKey::from_text(&number.to_string())))
}

/// A parameter that cannot be read.
pub(crate) fn unreadable(name: &str, expected: &str, found: &str) -> ValidationError {
    let message = format!("`{name}` must be {expected}; found {}", quoted(found));
    ValidationError::of_member(name, "invalid_parameter", message)
}

/// Reads a date; a `+` before its offset that was not encoded has become a blank.
pub(crate) fn parse_date(text: &str) -> Option<Timestamp> {
    Timestamp::parse(text).or_else(|| {
        let (date, offset) = text.rsplit_once(' ')?;
        Timestamp::parse(&format!("{date}+{offset}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        resources::{company::COMPANY, license::LICENSE},
        schema::ResourceDef,
        value::Document,
    };

    const RECORD: &str = r#"{"_id":"6553f1000102030405000001","name":"A, B","mrr":500.5,"status":"customer","domains":["Acme.example","b.example"],"renewalDate":"2026-12-01T00:00:00.000Z","autoRenews":true,"noticePeriod":null,"custom":{"n":10,"t":"b","a":[1,"x"],"f":true,"d":"2026-01-05","id":12345678901234567890}}"#;

    #[track_caller]
    fn check(def: &ResourceDef, query: &str, expect: bool) {
        let (name, value) = query.split_once('=').unwrap();
        let filter = Filter::parse(def.fields, name, value).unwrap().unwrap();
        let document = Document::parse(RECORD.as_bytes()).unwrap();
        assert_eq!(filter.matches(&document), expect, "{query}");
        assert_eq!(filter.matches(&JsonRef::of_stored(RECORD)), expect, "{query}");
    }

    #[test]
    fn a_value_is_compared_by_its_kind() {
        for query in [
            "mrr=500.50",
            "mrr[gte]=500.5",
            "mrr[gt]=9",
            "mrr[lte]=1000",
            "mrr[lt]=500.51",
            "mrr[ne]=500,501",
            "mrr=1,500.5",
            "name=A\\, B",
            "name[prefix]=a\\, ",
            "name[contains]= b",
            "domains=acme.EXAMPLE",
            "domains[prefix]=b.",
            "domains[prefix]=ACME.ex",
            "status=customer,lost",
            "status[ne]=lost",
            "_id=6553f1000102030405000001",
            "owner=null",
            "owner=x,null",
            "owner[ne]=x",
            "owner[exists]=false",
            "custom.n[gte]=9",
            "custom.n=10.0",
            "custom.id=12345678901234567890",
            "custom.id[gt]=1e19",
            "custom.t[gt]=a",
            "custom.a=x",
            "custom.a=1",
            "custom.f=true",
            "custom.d[lt]=2026-02",
            "custom.none=null",
            "custom[exists]=true",
        ] {
            check(&COMPANY, query, true);
        }
        for query in [
            "mrr[gt]=500.5",
            "mrr[ne]=500.5",
            "mrr=null",
            "name=A",
            "name[prefix]=b",
            "domains[ne]=b.example",
            "owner[gte]=a",
            "owner[lt]=z",
            "owner[ne]=null",
            "owner[contains]=",
            "custom.n[lt]=9",
            "custom.id=12345678901234567891",
            "custom.id[ne]=12345678901234567890",
            "custom.id[gt]=2e19",
            "custom.t=10",
            "custom.none[lt]=5",
            "custom.f=false",
            "_id=extid-a",
        ] {
            check(&COMPANY, query, false);
        }
    }

    #[test]
    fn a_date_is_compared_in_any_form() {
        for (query, expect) in [
            ("renewalDate=2026-12-01", true),
            ("renewalDate[gte]=2026-12-01T01:00:00 01:00", true),
            ("renewalDate[gt]=2026-12-01", false),
            ("renewalDate[lt]=2026-12-01T00:00:00.001Z", true),
            ("renewalDate[prefix]=2026-12", true),
            ("autoRenews=true", true),
            ("autoRenews[ne]=true,null", false),
            ("noticePeriod[exists]=false", true),
            ("noticePeriod[lte]=1", false),
        ] {
            check(&LICENSE, query, expect);
        }
    }

    #[track_caller]
    fn check_rejected(query: &str, message: &str) {
        let (name, value) = query.split_once('=').unwrap();
        let issue = Filter::parse(LICENSE.fields, name, value).unwrap().unwrap_err();
        assert_eq!((issue.code, issue.message.as_str()), ("invalid_parameter", message));
    }

    #[test]
    fn a_value_that_the_property_cannot_have_is_named() {
        check_rejected("mrr[gte]=abc", "`mrr[gte]` must be a number; found `abc`");
        check_rejected("mrr[gte]=null", "`mrr[gte]` must be a value with an order; found `null`");
        check_rejected(
            "renewalDate[lt]=soon",
            "`renewalDate[lt]` must be an ISO 8601 date from 1970 to 9999; found `soon`",
        );
        check_rejected(
            "renewalStatus=ongoing,activ",
            "`renewalStatus` must be one of `ongoing`, `renewed`, `lost`; found `activ`",
        );
        check_rejected(
            "issues[prefix]=mrr",
            "`issues[prefix]` must be without an operator, or with `ne`, `exists` or `contains`; found `mrr`",
        );
        check_rejected("autoRenews=yes", "`autoRenews` must be `true` or `false`; found `yes`");
        check_rejected("mrr[exists]=1", "`mrr[exists]` must be `true` or `false`; found `1`");
        check_rejected(
            "mrr[above]=1",
            "`mrr` must be followed by one of `gte`, `gt`, `lte`, `lt`, `ne`, `exists`, `contains`, `prefix`; found `above`",
        );
        let forms = RecordRef::FORMS;
        check_rejected("companyId=acme", &format!("`companyId` must be {forms}; found `acme`"));
        assert!(Filter::parse(LICENSE.fields, "colour", "red").is_none());
        assert!(Filter::parse(LICENSE.fields, "custom.", "red").is_none());
    }
}

//! Operators by which a list can be filtered, as a form offers them: those that fit the kind of a field, each with the
//! parameter and the value that [`Filter`](super::Filter) reads.

use super::{
    field::{FieldDef, FieldKind},
    filter::split_operator,
    filter_text::{escaped, split_values},
};

/// How a filter compares a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Equal to a value.
    Is,
    /// Not equal to a value.
    IsNot,
    /// Equal to one of several values.
    OneOf,
    /// Equal to none of several values.
    NoneOf,
    /// The value or greater.
    AtLeast,
    /// Greater than the value.
    Above,
    /// The value or less.
    AtMost,
    /// Less than the value.
    Below,
    /// A text that contains another one.
    Contains,
    /// A text that begins with another one.
    Prefix,
    /// A property that has a value.
    Present,
    /// A property without a value.
    Absent,
}

use Operator::{
    Above, Absent, AtLeast, AtMost, Below, Contains, Is, IsNot, NoneOf, OneOf, Prefix, Present,
};

const ALL: [Operator; 12] =
    [Is, IsNot, OneOf, NoneOf, AtLeast, Above, AtMost, Below, Contains, Prefix, Present, Absent];

impl Operator {
    /// Operators that fit a field, the most usual one first; none where a person has no value to compare with.
    pub fn of_field(field: &FieldDef) -> &'static [Self] {
        match field.kind {
            _ if !field.values.is_empty() => &[OneOf, NoneOf, Present, Absent],
            FieldKind::Number | FieldKind::Integer => {
                &[AtLeast, AtMost, Above, Below, Is, IsNot, OneOf, Present, Absent]
            }
            // A day is a point in time, so that it is compared with, and not equal to, most dates.
            FieldKind::Date => &[AtLeast, Below, Present, Absent],
            FieldKind::Bool => &[Is, IsNot],
            FieldKind::Text | FieldKind::Texts | FieldKind::Key | FieldKind::Email => {
                &[Contains, Prefix, Is, IsNot, OneOf, NoneOf, Present, Absent]
            }
            // A form takes the name of the record.
            FieldKind::Reference => &[Is, IsNot, Present, Absent],
            // Users of a form do not know ids.
            FieldKind::Id | FieldKind::References => &[],
            FieldKind::Object | FieldKind::Values => &[],
        }
    }

    /// Operator of a filter in an address.
    pub fn of_parameter(name: &str, value: &str) -> Option<Self> {
        let is_list = split_values(value).len() > 1;
        let found = match (split_operator(name).1, is_list) {
            (None, false) => Is,
            (None, true) => OneOf,
            (Some("ne"), false) => IsNot,
            (Some("ne"), true) => NoneOf,
            (Some("exists"), _) if value == "false" => Absent,
            (Some(sent), _) => ALL.into_iter().find(|known| known.suffix() == Some(sent))?,
        };
        Some(found)
    }

    /// Name of the operator in a form.
    pub fn name(self) -> &'static str {
        match self {
            Is => "is",
            OneOf => "in",
            NoneOf => "notin",
            Absent => "absent",
            other => other.suffix().unwrap_or_default(),
        }
    }

    /// The operator with this name, as a form sends it; none where there is no such operator.
    pub fn by_name(name: &str) -> Option<Self> {
        ALL.into_iter().find(|known| known.name() == name)
    }

    /// Operator of a parameter, in brackets after the property.
    fn suffix(self) -> Option<&'static str> {
        match self {
            Is | OneOf => None,
            IsNot | NoneOf => Some("ne"),
            AtLeast => Some("gte"),
            Above => Some("gt"),
            AtMost => Some("lte"),
            Below => Some("lt"),
            Contains => Some("contains"),
            Prefix => Some("prefix"),
            Present | Absent => Some("exists"),
        }
    }

    /// Whether the operator compares with a value.
    pub fn has_value(self) -> bool {
        !matches!(self, Present | Absent)
    }

    /// Parameter of a filter by a property, and its value; none without a value where the operator needs one.
    pub fn parameter(self, property: &str, values: &[&str]) -> Option<(String, String)> {
        let name = match self.suffix() {
            Some(suffix) => format!("{property}[{suffix}]"),
            None => property.to_owned(),
        };
        let value = match self {
            Present => "true".to_owned(),
            Absent => "false".to_owned(),
            OneOf | NoneOf => {
                let each = values.iter().flat_map(|value| split_values(value)).map(str::trim);
                each.filter(|value| !value.is_empty()).collect::<Vec<_>>().join(",")
            }
            _ => values.first().map(|value| escaped(value.trim())).unwrap_or_default(),
        };
        (!value.is_empty()).then_some((name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        resources::REGISTRY,
        schema::{Filter, filter::OPERATORS},
    };

    /// Example of a value that the field takes.
    fn value(field: &FieldDef) -> &'static str {
        match field.kind {
            _ if !field.values.is_empty() => field.values[0],
            FieldKind::Number | FieldKind::Integer => "5",
            FieldKind::Date => "2026-01-31",
            FieldKind::Bool => "true",
            FieldKind::Reference => "extid-acme",
            _ => "a, b",
        }
    }

    #[test]
    fn a_list_takes_each_filter_that_a_form_offers() {
        let mut offered = Vec::new();
        for def in REGISTRY {
            for field in def.fields {
                for operator in Operator::of_field(field) {
                    let (name, text) = operator.parameter(field.name, &[value(field)]).unwrap();
                    let read = Filter::parse(def.fields, &name, &text).unwrap();
                    assert!(read.is_ok(), "{name}={text}: {read:?}");
                    assert_eq!(Operator::by_name(operator.name()), Some(*operator));
                    offered.push(*operator);
                }
            }
        }
        assert!(ALL.iter().all(|operator| offered.contains(operator)));
    }

    #[test]
    fn a_form_offers_every_operator_that_a_list_takes() {
        let mut offered: Vec<_> = ALL.iter().filter_map(|operator| operator.suffix()).collect();
        let mut taken = OPERATORS.to_vec();
        offered.sort_unstable();
        offered.dedup();
        taken.sort_unstable();
        assert_eq!(offered, taken);
    }

    #[test]
    fn a_filter_in_an_address_has_the_operator_that_wrote_it() {
        let check = |operator: Operator, values: &[&str], expect: Option<(&str, &str)>| {
            let written = operator.parameter("name", values);
            let borrowed = written.as_ref().map(|(name, value)| (name.as_str(), value.as_str()));
            assert_eq!(borrowed, expect, "{operator:?}");
            if let Some((name, value)) = borrowed {
                assert_eq!(Operator::of_parameter(name, value), Some(operator));
            }
        };
        check(Is, &[" Acme, Inc "], Some(("name", r"Acme\, Inc")));
        check(IsNot, &["Acme"], Some(("name[ne]", "Acme")));
        check(OneOf, &["Acme, Beta", "", "C"], Some(("name", "Acme,Beta,C")));
        check(NoneOf, &["Acme", "Beta"], Some(("name[ne]", "Acme,Beta")));
        check(AtLeast, &["5"], Some(("name[gte]", "5")));
        check(Prefix, &["a"], Some(("name[prefix]", "a")));
        check(Present, &[], Some(("name[exists]", "true")));
        check(Absent, &["x"], Some(("name[exists]", "false")));
        check(Contains, &[""], None);
        check(OneOf, &[" , "], None);
        assert_eq!(Operator::of_parameter("name[like]", "x"), None);
    }
}

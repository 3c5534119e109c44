//! One field of a resource's table: its name, kind and rules, and a typed handle to read it.
//!
//! Fields are written with [`fields!`](crate::fields), in the order in which responses show them. The doc sentence of a field is its
//! rustdoc and its text in the API's description.

use std::{borrow::Cow, marker::PhantomData};

use super::lookup::{FillCtx, LookupError, ReadCtx};
use rust_decimal::Decimal;

use crate::value::{self, Document, Json, JsonRef, Members, ObjectId, Timestamp};

/// Kind of the value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// The record's own id.
    Id,
    /// The id of another record, in any form of R2.
    Reference,
    /// Ids of other records: each as for [`FieldKind::Reference`], or an object with an `_id`.
    References,
    /// An id from the caller: 1 to 512 bytes, no control characters.
    Key,
    /// An e-mail address, compared in lower case.
    Email,
    /// A string; `long` allows a longer one.
    Text,
    /// An array of strings.
    Texts,
    /// An array of free-form values.
    Values,
    /// A free-form object, merged key by key (R5).
    Object,
    /// A point in time (R8).
    Date,
    /// A whole number, within the field's `range`.
    Integer,
    /// A decimal number; money has this kind (R7).
    Number,
    /// `true` or `false`.
    Bool,
}

/// Computes the stored value of a field from the rest of the document; `None` leaves it out.
pub type FillOnWrite = fn(&Document, FillCtx) -> Option<Json>;
/// Computes the returned value of a field when the record is read.
pub type FillOnRead = fn(&Document, &ReadCtx<'_>) -> Result<Option<Json>, LookupError>;

/// Source of the value of a field, and when it is set.
#[derive(Clone, Copy, Debug)]
pub enum Fill {
    /// The caller sends the value.
    Sent,
    /// The caller sends the value; until then, it is computed each time the record is written (R3, R23).
    IfAbsent(FillOnWrite),
    /// The service: ids, versions, dates of change. Ignored in a body (R3).
    Service,
    /// Always recomputed when the record is written, stored, sortable. Ignored in a body.
    OnWrite(FillOnWrite),
    /// The value depends on the current time or on another record: computed when read, never stored. Ignored in a body.
    OnRead(FillOnRead),
    /// The `name` of the record that another field, of this name, refers to: looked up when read, never stored. Ignored
    /// in a body.
    NameOf(&'static str),
    /// The names of the properties that are computed because they are not set. Ignored in a body, but an import restores
    /// a record by them; in a response only if it is selected.
    Derived,
}

/// Source of the value of a field that is computed at read.
#[derive(Clone, Copy, Debug)]
pub enum ComputedOnRead {
    /// A function of the record and of the records that it refers to.
    Computed(FillOnRead),
    /// The `name` of the record that the field of this name refers to.
    NameOf(&'static str),
    /// The names of the properties that are computed because they are not set.
    Derived,
}

/// Reference of a field to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceDef {
    /// Name of the resource.
    pub resource: &'static str,
    /// Effect of a reference to a record that does not exist.
    pub on_missing: OnMissing,
}

/// Effect of a reference to a record that does not exist (R2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMissing {
    /// The reference is rejected, and a record that is referred to cannot be deleted.
    Reject,
    /// A plain id is stored as given; only a form that names a key must find its record.
    Keep,
    /// The resource resolves the reference by rules of its own; the record that it finds cannot be deleted.
    Own,
}

/// Currency of an amount of money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurrencyOf {
    /// The value of the field of this name of the same record.
    Field(&'static str),
    /// The base currency of the tenant; without rates, the only currency of the licenses that are added up (R28).
    Base,
}

/// One field of a resource's table.
#[derive(Clone, Copy, Debug)]
pub struct FieldDef {
    /// Property name in the API.
    pub name: &'static str,
    /// Kind of the value.
    pub kind: FieldKind,
    /// Description of the field, one or a few sentences.
    pub doc: &'static str,
    /// Whether a create needs the field.
    pub required: bool,
    /// Source of the value: the caller, or the service.
    pub fill: Fill,
    /// Function that completes a stored value when it is read: with values that depend on now or on other records.
    pub at_read: Option<FillOnRead>,
    /// Resource whose records the field refers to.
    pub refers: Option<ReferenceDef>,
    /// Members of each value, where the values are objects of a known form.
    pub members: &'static [FieldDef],
    /// Allowed values, if there are few.
    pub values: &'static [&'static str],
    /// Other words for these values, each with the value that it means.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Least and greatest number.
    pub range: Option<(i64, i64)>,
    /// Whether a caller must send more than the least number, which only the service sets.
    pub above_least: bool,
    /// Least value in tenths, where it is no whole number; 0 where it is the beginning of the range.
    pub least_tenths: u8,
    /// Whether the text of the field may be as long as a ticket's description (R9).
    pub long_text: bool,
    /// Unit of the number.
    pub unit: Option<&'static str>,
    /// Currency of the number, where it is an amount of money.
    pub currency: Option<CurrencyOf>,
    /// Whether a body may have the field although the service fills it: the resource's `prepare` reads it.
    pub prepared: bool,
    /// Whether an import restores the value although the service sets it.
    pub importable: bool,
    /// Whether a value that was sent is stored in some states of the record only (R49).
    pub conditional: bool,
    /// Whether at most one record of a tenant may hold a value.
    pub unique: bool,
    /// Unique field under which the values are claimed and found as well, as for an end user's other e-mails.
    pub claims_as: Option<&'static str>,
    /// Whether an index finds records by the field; other fields are found by reading all records. Only new fields can
    /// be indexed: records that were stored before the index have no entries and would not be found.
    pub indexed: bool,
    /// Whether records are found by ranges of the field: each record has an entry in the index, also without a value.
    pub ordered: bool,
    /// Whether values are compared in lower case: e-mails and domains.
    pub folded: bool,
    /// Whether the field is personal data.
    pub personal: bool,
}

/// The function; without the feature `records` one that computes nothing: a form that is checked needs neither it nor
/// the code that it calls.
const fn on_write(fill: FillOnWrite) -> FillOnWrite {
    if cfg!(feature = "records") { fill } else { |_, _| None }
}

/// The function that computes at read; without the feature `records` one that returns nothing.
const fn on_read(fill: FillOnRead) -> FillOnRead {
    if cfg!(feature = "records") { fill } else { |_, _| Ok(None) }
}

impl FieldDef {
    /// A field that the caller may set, with no further rule.
    pub const fn new(name: &'static str, kind: FieldKind, doc: &'static str) -> Self {
        Self {
            name,
            kind,
            doc: if cfg!(feature = "records") { doc.trim_ascii() } else { "" },
            required: false,
            fill: Fill::Sent,
            at_read: None,
            refers: None,
            members: &[],
            values: &[],
            aliases: &[],
            range: None,
            above_least: false,
            least_tenths: 0,
            long_text: false,
            unit: None,
            currency: None,
            prepared: false,
            importable: false,
            conditional: false,
            unique: false,
            claims_as: None,
            indexed: false,
            ordered: false,
            folded: matches!(kind, FieldKind::Email),
            personal: false,
        }
    }

    /// Requires the field in a create.
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// Reserves the field for the service, which sets it.
    pub const fn service(mut self) -> Self {
        self.fill = Fill::Service;
        self
    }

    /// Recomputes the field on every write.
    pub const fn on_write(mut self, fill: FillOnWrite) -> Self {
        self.fill = Fill::OnWrite(on_write(fill));
        self
    }

    /// Computes the field on every write as long as the caller does not set it.
    pub const fn if_absent(mut self, fill: FillOnWrite) -> Self {
        self.fill = Fill::IfAbsent(on_write(fill));
        self
    }

    /// Allows the field in a body although the service fills it.
    pub const fn prepared(mut self) -> Self {
        self.prepared = true;
        self
    }

    /// Lets an import restore the value although the service sets it.
    pub const fn importable(mut self) -> Self {
        self.importable = true;
        self
    }

    /// Stores the value in some states of the record only.
    pub const fn conditional(mut self) -> Self {
        self.conditional = true;
        self
    }

    /// Limits each value to an object with these members.
    pub const fn each_with(mut self, members: &'static [Self]) -> Self {
        self.members = members;
        self
    }

    /// Limits the field to these values.
    pub const fn one_of(mut self, values: &'static [&'static str]) -> Self {
        self.values = values;
        self
    }

    /// Limits the field to numbers from `least` to `greatest`.
    pub const fn range(mut self, range: (i64, i64)) -> Self {
        self.range = Some(range);
        self
    }

    /// Limits the field to numbers above `least`, up to `greatest`; the resource rejects `least` itself where it is not
    /// what the service has set.
    pub const fn above(mut self, range: (i64, i64)) -> Self {
        self.above_least = true;
        self.range(range)
    }

    /// Limits the field to numbers from a number of tenths to `greatest`.
    pub const fn from_tenths(mut self, (tenths, greatest): (u8, i64)) -> Self {
        self.least_tenths = tenths;
        self.range((0, greatest))
    }

    /// Allows text as long as a ticket's description.
    pub const fn long_text(mut self) -> Self {
        self.long_text = true;
        self
    }

    /// Sets the unit of the number.
    pub const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = Some(unit);
        self
    }

    /// Declares the number an amount in the currency that another field, of this name, has.
    pub const fn amount_in(mut self, field: &'static str) -> Self {
        self.currency = Some(CurrencyOf::Field(field));
        self
    }

    /// Declares the number an amount in the base currency.
    pub const fn amount_in_base(mut self) -> Self {
        self.currency = Some(CurrencyOf::Base);
        self
    }

    /// Computes the field on every read.
    pub const fn on_read(mut self, fill: FillOnRead) -> Self {
        self.fill = Fill::OnRead(on_read(fill));
        self
    }

    /// Computes the field as the `name` of the record that `field` refers to.
    pub const fn name_of(mut self, field: &'static str) -> Self {
        self.fill = Fill::NameOf(field);
        self
    }

    /// Lists in the field the properties that are computed because they are not set.
    pub const fn derived(mut self) -> Self {
        self.fill = Fill::Derived;
        self
    }

    /// Completes the stored value on every read.
    pub const fn at_read(mut self, complete: FillOnRead) -> Self {
        self.at_read = Some(on_read(complete));
        self
    }

    /// Declares the field a reference to a record of another resource, which must exist.
    pub const fn refers(mut self, resource: &'static str) -> Self {
        self.refers = Some(ReferenceDef { resource, on_missing: OnMissing::Reject });
        self.indexed = true;
        self
    }

    /// Declares the field a reference to a record of another resource; a plain id is stored as given.
    pub const fn refers_loosely(mut self, resource: &'static str) -> Self {
        self.refers = Some(ReferenceDef { resource, on_missing: OnMissing::Keep });
        self
    }

    /// Declares the field a reference to a record of another resource, which the resource resolves by rules of its own.
    pub const fn refers_by_own_rules(mut self, resource: &'static str) -> Self {
        self.refers = Some(ReferenceDef { resource, on_missing: OnMissing::Own });
        self.indexed = true;
        self
    }

    /// Adds other words for the values, each with the value that it means.
    pub const fn with_aliases(mut self, aliases: &'static [(&'static str, &'static str)]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Allows a value in at most one record of a tenant.
    pub const fn unique(mut self) -> Self {
        self.unique = true;
        self
    }

    /// Claims and finds the values as those of a unique field of e-mails.
    pub const fn claims_as(mut self, field: &'static str) -> Self {
        self.claims_as = Some(field);
        self.folded = true;
        self
    }

    /// Indexes the field: only for new fields, see [`FieldDef::indexed`].
    pub const fn indexed(mut self) -> Self {
        self.indexed = true;
        self
    }

    /// Indexes the field for ranges. It must be a date, whose stored form sorts by its bytes.
    pub const fn ordered(mut self) -> Self {
        self.ordered = true;
        self
    }

    /// Compares the values in lower case.
    pub const fn folded(mut self) -> Self {
        self.folded = true;
        self
    }

    /// Marks the field as personal data.
    pub const fn personal(mut self) -> Self {
        self.personal = true;
        self
    }

    /// Whether the field is an array of objects of a known form: no value of a query is compared with them.
    pub fn has_objects(&self) -> bool {
        self.kind == FieldKind::Values && !self.members.is_empty()
    }

    /// Whether a caller can set the field.
    pub fn is_sent(&self) -> bool {
        self.prepared || matches!(self.fill, Fill::Sent | Fill::IfAbsent(_))
    }

    /// Whether an import reads the field: callers can set it, it finds the record, or an export restores it.
    pub fn is_imported(&self) -> bool {
        self.is_sent() || self.importable || self.name == "_id"
    }

    /// Whether the field is part of the stored record.
    pub fn is_stored(&self) -> bool {
        !matches!(self.fill, Fill::OnRead(_) | Fill::NameOf(_) | Fill::Derived)
    }

    /// Whether a response has the field only if it is selected.
    pub fn is_on_request(&self) -> bool {
        matches!(self.fill, Fill::Derived)
    }

    /// Source of the value when it is read, if not all of it is stored.
    pub fn computed_at_read(&self) -> Option<ComputedOnRead> {
        match self.fill {
            Fill::OnRead(compute) => Some(ComputedOnRead::Computed(compute)),
            Fill::NameOf(field) => Some(ComputedOnRead::NameOf(field)),
            Fill::Derived => Some(ComputedOnRead::Derived),
            _ => self.at_read.map(ComputedOnRead::Computed),
        }
    }
}

/// Rust types of the values of a kind.
pub trait FieldType {
    /// Kind of the fields whose values have this type.
    const KIND: FieldKind;
    /// Rust type of a value.
    type Value<'a>;
    /// Reads a stored value.
    fn read(value: JsonRef<'_>) -> Option<Self::Value<'_>>;
}

/// A typed handle to a field.
#[derive(Debug)]
pub struct Field<T> {
    /// Property name in the API.
    pub name: &'static str,
    kind: PhantomData<T>,
}

impl<T: FieldType> Field<T> {
    /// A handle to the field `name`.
    pub const fn new(name: &'static str) -> Self {
        Self { name, kind: PhantomData }
    }

    /// Value in `record`, if it is set.
    pub fn get<'a>(&self, record: &'a impl Members) -> Option<T::Value<'a>> {
        record.get(self.name).filter(|value| !value.is_null()).and_then(T::read)
    }
}

macro_rules! field_types {
    ($($(#[doc = $doc:literal])* $name:ident => $value:ty, $read:expr;)*) => {
        $(
            $(#[doc = $doc])*
            #[derive(Clone, Copy, Debug)]
            pub enum $name {}

            impl FieldType for $name {
                const KIND: FieldKind = FieldKind::$name;
                type Value<'a> = $value;
                fn read(value: JsonRef<'_>) -> Option<Self::Value<'_>> {
                    let read: for<'a> fn(JsonRef<'a>) -> Option<Self::Value<'a>> = $read;
                    read(value)
                }
            }
        )*
    };
}

field_types! {
    /// Values of [`FieldKind::Id`], read as [`ObjectId`].
    Id => ObjectId, |value| ObjectId::parse(&value.as_str()?);
    /// Values of [`FieldKind::Reference`], read as the [`ObjectId`] of the record that they refer to.
    Reference => ObjectId, |value| ObjectId::parse(&value.as_str()?);
    /// Values of [`FieldKind::References`], read as a list of ids in their text form.
    References => Vec<String>, texts_of;
    /// Values of [`FieldKind::Key`], read as text, borrowed from the record if possible.
    Key => Cow<'a, str>, |value| value.as_str();
    /// Values of [`FieldKind::Email`], read as text, borrowed from the record if possible.
    Email => Cow<'a, str>, |value| value.as_str();
    /// Values of [`FieldKind::Text`], read as text, borrowed from the record if possible.
    Text => Cow<'a, str>, |value| value.as_str();
    /// Values of [`FieldKind::Texts`], read as owned strings; items of another kind are skipped.
    Texts => Vec<String>, texts_of;
    /// Values of [`FieldKind::Values`], read as one [`Json`] for each item.
    Values => Vec<Json>, |value| value.items();
    /// Values of [`FieldKind::Object`], read as a [`Document`] with all members.
    Object => Document, |value| value.to_document();
    /// Values of [`FieldKind::Date`], read as a [`Timestamp`] in milliseconds.
    Date => Timestamp, |value| Timestamp::parse(&value.as_str()?);
    /// Values of [`FieldKind::Integer`], read as `i64`; none where it does not fit.
    Integer => i64, |value| value.as_number_text()?.parse().ok();
    /// Values of [`FieldKind::Number`], read as an exact [`Decimal`].
    Number => Decimal, |value| value.as_number().map(value::Number::as_decimal);
    /// Values of [`FieldKind::Bool`], read as `bool`.
    Bool => bool, |value| value.as_bool();
}

fn texts_of(value: JsonRef<'_>) -> Option<Vec<String>> {
    let items = value.items()?;
    let texts = items.iter().filter_map(|item| item.as_ref().as_str());
    Some(texts.map(Cow::into_owned).collect())
}

/// Writes the fields of a resource: a handle for each, and the table `FIELDS`.
///
/// ```
/// use svctrack_core::{fields, value::Document};
/// fields! {
///     /// Name of the company.
///     NAME: Text = "name", required;
/// }
/// assert!(FIELDS[0].required);
/// assert_eq!(FIELDS[0].doc, "Name of the company.");
/// let company = Document::parse(br#"{"name":"Initech"}"#).unwrap();
/// assert_eq!(NAME.get(&company).unwrap(), "Initech");
/// ```
#[macro_export]
macro_rules! fields {
    ($(
        $(#[doc = $doc:literal])+
        $handle:ident: $kind:ident = $name:literal $(, $option:ident $(($argument:expr))?)*;
    )*) => {
        $(
            $(#[doc = $doc])+
            pub const $handle: $crate::schema::field::Field<$crate::schema::field::$kind> =
                $crate::schema::field::Field::new($name);
        )*

        /// The fields, in the order of the contract.
        pub static FIELDS: &[$crate::schema::field::FieldDef] = &[
            $(
                $crate::schema::field::FieldDef::new($name, $crate::schema::field::FieldKind::$kind, concat!($($doc),+))
                    $(.$option($($argument)?))*,
            )*
        ];
    };
}

/// Names fields of a resource that is defined above the file, so that functions that compute fields read a record
/// without the resource. A test compares `HANDLES` with the fields of the resource.
macro_rules! handles {
    ($($handle:ident: $kind:ident = $name:literal;)*) => {
        $(
            pub(super) const $handle: $crate::schema::field::Field<$crate::schema::field::$kind> =
                $crate::schema::field::Field::new($name);
        )*

        #[cfg(test)]
        pub(super) const HANDLES: &[(&str, $crate::schema::field::FieldKind)] =
            &[$(($name, $crate::schema::field::FieldKind::$kind)),*];
    };
}

pub(crate) use handles;

//! Segments: companies by one of their properties.

use super::{
    error::ReportError,
    mrr_movements::{NONE, REST},
};
use crate::{
    resources::company::COMPANY,
    schema::FieldKind,
    value::{Members, nearest},
};

/// Prefix of properties of free form.
const CUSTOM: &str = "custom";

/// A property of companies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentBy {
    property: &'static str,
    /// The key below `custom`.
    key: Option<String>,
}

impl SegmentBy {
    /// Reads `phase` or `custom.plan`: a property that is stored, and has one value.
    ///
    /// ```
    /// use svctrack_core::{revenue::SegmentBy, value::Document};
    /// let company = Document::parse(br#"{"phase":"live","custom":{"plan":"pro"}}"#).unwrap();
    /// let plan = SegmentBy::parse("custom.plan").unwrap();
    /// assert_eq!(plan.segment_of(&company).as_deref(), Some("pro"));
    /// let reserved = Document::parse(br#"{"custom":{"plan":"(rest)"}}"#).unwrap();
    /// assert_eq!(plan.segment_of(&reserved), None);
    /// assert!(SegmentBy::parse("tags").is_err());
    /// ```
    ///
    /// # Errors
    /// [`ReportError::UnknownSegment`].
    pub fn parse(name: &str) -> Result<Self, ReportError> {
        let unknown = || ReportError::UnknownSegment(name.to_owned());
        if let Some((CUSTOM, key)) = name.split_once('.') {
            let key = Some(key.to_owned()).filter(|key| !key.is_empty()).ok_or_else(unknown)?;
            return Ok(Self { property: CUSTOM, key: Some(key) });
        }
        let row = COMPANY.field(name).filter(|row| row.is_stored()).ok_or_else(unknown)?;
        let has_one_value = !matches!(
            row.kind,
            FieldKind::References
                | FieldKind::Texts
                | FieldKind::Values
                | FieldKind::Object
                | FieldKind::Date
        );
        has_one_value.then_some(Self { property: row.name, key: None }).ok_or_else(unknown)
    }

    /// The property that is most like a name.
    pub(super) fn nearest(name: &str) -> Option<&'static str> {
        let names = COMPANY.fields.iter().map(|row| row.name);
        nearest(name, names.filter(|name| Self::parse(name).is_ok()))
    }

    /// Segment of a company; none where the property is empty, or is one of the names `(none)` and `(rest)` of reports.
    pub fn segment_of(&self, company: &impl Members) -> Option<String> {
        let value = company.get(self.property)?;
        let value = match &self.key {
            Some(key) => value.member(key)?,
            None => value,
        };
        let text = match value.as_str() {
            Some(text) => text.into_owned(),
            None if value.is_null() || value.text().starts_with(['[', '{']) => return None,
            None => value.text().to_owned(),
        };
        (!text.is_empty() && text != NONE && text != REST).then_some(text)
    }
}

//! The input of reports: the facts of a license (R23), from its record or created by hand.

use std::borrow::Cow;

use rust_decimal::Decimal;

use super::calendar::Unit;
use crate::{
    resources::{license, license_period},
    value::{Members, ObjectId, Timestamp, Zone},
};

/// Decision about the renewal of a license: its `renewalStatus`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RenewalStatus {
    /// Undecided: the license may be renewed.
    #[default]
    Ongoing,
    /// The renewal is agreed, whether or not a successor is stored.
    Renewed,
    /// The license is not renewed.
    Lost,
}

impl RenewalStatus {
    fn parse(text: &str) -> Self {
        match text {
            "renewed" => Self::Renewed,
            "lost" => Self::Lost,
            _ => Self::Ongoing,
        }
    }
}

/// Facts of a license that reports read.
///
/// The fields are stored in this order ([`LicenseFacts::as_written`]): a new one goes to the end.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct LicenseFacts<'f> {
    /// `_id` of the license.
    pub id: ObjectId,
    /// `_id` of the company that has the license.
    pub company: ObjectId,
    /// Product of the license; empty for none.
    pub product: Cow<'f, str>,
    /// Currency of the license; empty for none.
    pub currency: Cow<'f, str>,
    /// Beginning of the license; a license without a beginning does not count.
    pub from: Option<Timestamp>,
    /// End of the license, as [`Period`](crate::value::period::Period) reads it; none for one without end.
    pub end: Option<Timestamp>,
    /// Monthly value, in the license's currency.
    #[serde(with = "super::money_units::exact")]
    pub mrr: Option<Decimal>,
    /// Annual amount, where it is not 12 times the monthly one.
    #[serde(with = "super::money_units::exact")]
    pub arr: Option<Decimal>,
    /// Whether the license has a fixed term.
    pub fixed: bool,
    /// Whether the license renews automatically.
    pub auto_renews: bool,
    /// Whether the license is to be renewed, as decided so far.
    pub status: RenewalStatus,
    /// Period of notice before the end.
    pub notice: Option<(u32, Unit)>,
    /// Monthly value after the renewal.
    #[serde(with = "super::money_units::exact")]
    pub renewal_mrr: Option<Decimal>,
    /// Monthly forecast, in the license's currency.
    #[serde(with = "super::money_units::exact")]
    pub forecast: Option<Decimal>,
    /// Optimistic monthly forecast, in the license's currency.
    #[serde(with = "super::money_units::exact")]
    pub optimistic: Option<Decimal>,
    /// Pessimistic monthly forecast, in the license's currency.
    #[serde(with = "super::money_units::exact")]
    pub pessimistic: Option<Decimal>,
    /// Id of the first of the licenses that renewed each other.
    pub parent: Option<ObjectId>,
}

impl<'f> LicenseFacts<'f> {
    /// A license without any other facts.
    pub fn new(id: ObjectId, company: ObjectId) -> Self {
        Self {
            id,
            company,
            product: Cow::Borrowed(""),
            currency: Cow::Borrowed(""),
            from: None,
            end: None,
            mrr: None,
            arr: None,
            fixed: false,
            auto_renews: false,
            status: RenewalStatus::Ongoing,
            notice: None,
            renewal_mrr: None,
            forecast: None,
            optimistic: None,
            pessimistic: None,
            parent: None,
        }
    }

    /// Facts that borrow nothing.
    pub fn into_owned(self) -> LicenseFacts<'static> {
        let (product, currency) = (self.product.into_owned(), self.currency.into_owned());
        LicenseFacts {
            product: product.into(),
            currency: currency.into(),
            id: self.id,
            company: self.company,
            from: self.from,
            end: self.end,
            mrr: self.mrr,
            arr: self.arr,
            fixed: self.fixed,
            auto_renews: self.auto_renews,
            status: self.status,
            notice: self.notice,
            renewal_mrr: self.renewal_mrr,
            forecast: self.forecast,
            optimistic: self.optimistic,
            pessimistic: self.pessimistic,
            parent: self.parent,
        }
    }

    /// Facts of a stored license, with the values that are derived when it is written; none of a record without id or
    /// company.
    ///
    /// ```
    /// use svctrack_core::{revenue::LicenseFacts, value::{Document, Zone}};
    /// let stored = br#"{"_id":"000000000000000000000001","companyId":"000000000000000000000002",
    ///     "_currency":"EUR","fromDate":"2024-01-01","toDate":"2024-12-31","mrr":100}"#;
    /// let stored = Document::parse(stored).unwrap();
    /// let facts = LicenseFacts::from_record(&stored, Zone::UTC).unwrap();
    /// assert_eq!(facts.end.unwrap().to_string(), "2025-01-01T00:00:00.000Z");
    /// ```
    pub fn from_record(license: &'f impl Members, zone: Zone) -> Option<Self> {
        Some(Self::as_written(license)?.ending_in(zone))
    }

    /// Facts of a license, with the end as it is written: the time that this is depends on a zone
    /// ([`LicenseFacts::ending_in`]). A store may keep them, so a change of their meaning needs a new version there.
    pub fn as_written(license: &'f impl Members) -> Option<Self> {
        let id = license::ID.get(license)?;
        let product = license::PRODUCT_NAME.get(license).unwrap_or_default();
        let currency = license::CURRENCY.get(license).unwrap_or_default();
        let company = license::COMPANY_ID.get(license)?;
        Some(Self {
            product,
            currency,
            from: license::FROM_DATE.get(license),
            end: license_period::to_date(license),
            fixed: license_period::is_fixed(license),
            mrr: license::MRR.get(license),
            arr: license::ARR.get(license),
            renewal_mrr: license::RENEWAL_MRR.get(license),
            forecast: license::FC_NEW_MRR.get(license),
            optimistic: license::FC_NEW_MRR_OPTIMISTIC.get(license),
            pessimistic: license::FC_NEW_MRR_PESSIMISTIC.get(license),
            status: RenewalStatus::parse(&license::RENEWAL_STATUS.get(license).unwrap_or_default()),
            auto_renews: license::AUTO_RENEWS.get(license) == Some(true),
            notice: notice_of(license),
            parent: license::PARENT.get(license),
            ..Self::new(id, company)
        })
    }

    /// The facts with the end that they have in a zone.
    #[must_use]
    pub fn ending_in(self, zone: Zone) -> Self {
        Self { end: license_period::end_between(self.from, self.end, zone), ..self }
    }
}

fn notice_of(license: &impl Members) -> Option<(u32, Unit)> {
    let count = license::NOTICE_PERIOD.get(license)?.try_into().ok()?;
    Some((count, Unit::parse(&license::NOTICE_UNIT.get(license)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Document;

    #[test]
    fn a_license_has_a_fixed_term_and_an_end_where_its_record_does() {
        let end = Some("2025-01-01T00:00:00.000Z".to_owned());
        for (terms, facts) in [
            (r#""toDate":"2024-12-31","fixedPeriod":true"#, (end.clone(), true)),
            (r#""toDate":"2024-12-31","fixedPeriod":false"#, (end, false)),
            (r#""fixedPeriod":true"#, (None, true)),
            (r#""toDate":"9999-12-31","fixedPeriod":true"#, (None, false)),
        ] {
            let stored = format!(
                r#"{{"_id":"000000000000000000000001","companyId":"000000000000000000000002","fromDate":"2024-01-01",{terms}}}"#
            );
            let stored = Document::parse(stored.as_bytes()).unwrap();
            let found = LicenseFacts::from_record(&stored, Zone::UTC).unwrap();
            assert_eq!((found.end.map(|end| end.to_string()), found.fixed), facts, "{terms}");
        }
    }
}

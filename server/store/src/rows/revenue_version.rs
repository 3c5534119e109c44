//! A row of `revenue_versions`: the facts of a license or of settings that reports read, before a change, under the
//! sequence of that change. The data at a point in time is the data that is stored now, without the changes since.

use serde::{Deserialize, Serialize};
use svctrack_core::{
    revenue::LicenseFacts,
    value::{ObjectId, Timestamp},
};

/// Value that a change has replaced.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct VersionRow {
    /// Time of the change, as in the change log.
    pub(crate) at: Timestamp,
    pub(crate) replaced: ReplacedValue,
}

/// Value before the change.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum ReplacedValue {
    /// The license did not exist, or had no facts that reports read.
    NoLicense(ObjectId),
    /// Facts of the license, as they are written.
    License(Box<LicenseFacts<'static>>),
    /// The settings that reports read, as JSON.
    Settings(String),
}

impl ReplacedValue {
    /// A license with these facts.
    pub(crate) fn of_license(facts: LicenseFacts<'_>) -> Self {
        Self::License(Box::new(facts.into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use svctrack_core::value::{Document, TenantId};

    use super::*;
    use crate::rows::{keys, stored_value};

    /// A license with the usual facts.
    fn license() -> ReplacedValue {
        let text = br#"{"_id":"000000000000000000000001","product":"Suite","_currency":"EUR",
            "companyId":"000000000000000000000002","fromDate":"2024-01-01T00:00:00.000Z",
            "toDate":"2024-12-31T00:00:00.000Z","fixedPeriod":true,"mrr":100.5,"arr":1206,"renewalMrr":100.5,
            "renewalStatus":"renewed","autoRenews":true,"noticePeriod":3,"noticeUnit":"month"}"#;
        let document = Document::parse(text).unwrap();
        ReplacedValue::of_license(LicenseFacts::as_written(&document).unwrap())
    }

    /// Bytes of a version, with its key and its header.
    fn stored(replaced: ReplacedValue) -> (Vec<u8>, Vec<u8>) {
        let key = keys::change(TenantId::from_bytes([0xaa; 16]), 258);
        let at = Timestamp::parse("2025-01-01").unwrap();
        let value = stored_value::seal_row(&key, &VersionRow { at, replaced }).unwrap();
        (key, value)
    }

    #[test]
    fn a_version_takes_some_hundred_bytes_and_is_read_back() {
        let (key, value) = stored(license());
        let row: VersionRow = stored_value::unseal_row(&key, &value).unwrap();
        assert_eq!(row.replaced, license());
        assert_eq!((key.len(), value.len()), (24, 82));
        let none = stored(ReplacedValue::NoLicense(ObjectId::MAX));
        assert_eq!((none.0.len(), none.1.len()), (24, 24));
    }

    #[test]
    fn the_fields_of_a_version_are_stored_in_their_order() {
        let hex =
            |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
        let expected = [
            // Time of the change, kind (a license), its id, its company, and "Suite" and "EUR".
            "80f0cbf28365",
            "01",
            "000000000000000000000001",
            "000000000000000000000002",
            "055375697465",
            "03455552",
            // Beginning, end as it is written, 1005 with one decimal, 1206 with none.
            "0180d08fa59863",
            "01808099a08365",
            "01da0f01",
            "01ec1200",
            // The license is fixed, renews automatically, is renewed, after a notice of 3 months, for 1005 with one
            // decimal.
            "01",
            "01",
            "01",
            "010302",
            "01da0f01",
            // No forecasts, and no parent.
            "00000000",
        ];
        assert_eq!(hex(&stored(license()).1[5..]), expected.concat());
    }
}

//! The figures of usage that can be explained.

use super::{
    error::ReportError,
    usage_days::{MONTH, WEEK},
};

/// Figure of the usage report whose users can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum UsageLine {
    /// Active in the period.
    Active,
    /// Users who are active in the period for the first time ever.
    New,
    /// Users who are active in the period and in the period before.
    Returning,
    /// Users who are active in the period and earlier, but not in the period before.
    Resurrecting,
    /// Users who were active in the period before, and not in this one.
    Dormant,
    /// Active on the last day of the period.
    Daily,
    /// Active in the 7 days that end with the period.
    Weekly,
    /// Active in the 28 days that end with the period.
    Monthly,
    /// Active in a week, of a cohort.
    Kept,
}

impl UsageLine {
    /// Values of the parameter `explain` for the report of usage, in the order of the variants.
    pub const NAMES: &'static [&'static str] = &[
        "active",
        "new",
        "returning",
        "resurrecting",
        "dormant",
        "daily",
        "weekly",
        "monthly",
        "kept",
    ];
    const ALL: [Self; 9] = [
        Self::Active,
        Self::New,
        Self::Returning,
        Self::Resurrecting,
        Self::Dormant,
        Self::Daily,
        Self::Weekly,
        Self::Monthly,
        Self::Kept,
    ];

    /// The line with this name.
    ///
    /// # Errors
    /// [`ReportError::UnknownChoice`] where there is none.
    pub fn parse(name: &str) -> Result<Self, ReportError> {
        let known = Self::NAMES.iter().zip(Self::ALL).find(|(known, _)| **known == name);
        let unknown = || ReportError::UnknownChoice("explain", Self::NAMES, name.to_owned());
        known.map(|(_, line)| line).ok_or_else(unknown)
    }

    /// Name of the line in `explain`.
    pub fn name(self) -> &'static str {
        let known = Self::ALL.iter().zip(Self::NAMES).find(|(line, _)| **line == self);
        known.map_or("", |(_, name)| name)
    }

    /// Days over which the figure is counted, where these do not depend on the period.
    pub(super) fn trailing_days(self) -> Option<usize> {
        match self {
            Self::Daily => Some(1),
            Self::Weekly => Some(WEEK),
            Self::Monthly => Some(MONTH),
            _ => None,
        }
    }
}

//! Status of a company, derived from its licenses (R29, R55): one rule for records and reports.

/// How many days before or after the end of a license its successor begins: a month, since renewals
/// are often signed late, or begin with the next month.
pub(crate) const SUCCESSOR_DAYS: i64 = 31;

/// The status of a company as a customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "records", derive(serde::Serialize))]
#[cfg_attr(feature = "records", serde(rename_all = "camelCase"))]
pub enum CompanyStatus {
    /// The company has an ongoing license, active or overdue, or one that is renewed.
    Customer,
    /// The company will have a license.
    Coming,
    /// The licenses of the company run out.
    Canceled,
    /// All of its licenses have ended.
    Lost,
    /// The company has no license with a beginning.
    Prospect,
}

impl CompanyStatus {
    /// The first status that applies, by the states of a company's licenses; and whether one of them is renewed, has
    /// begun and has no successor yet.
    pub(crate) fn derive(states: &[LicenseState], awaits_successor: bool) -> Self {
        let any = |state| states.contains(&state);
        let renews = any(LicenseState::Renewed) && any(LicenseState::Ahead);
        if any(LicenseState::Held) || renews || awaits_successor {
            Self::Customer
        } else if any(LicenseState::Ahead) {
            Self::Coming
        } else if any(LicenseState::Renewed) || any(LicenseState::RunningOut) {
            Self::Canceled
        } else if any(LicenseState::Ended) {
            Self::Lost
        } else {
            Self::Prospect
        }
    }

    /// Value of the property `status`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Coming => "coming",
            Self::Canceled => "canceled",
            Self::Lost => "lost",
            Self::Prospect => "prospect",
        }
    }
}

/// The state of a license at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LicenseState {
    /// The license is ongoing and active now, or fixed and past its end.
    Held,
    /// Ongoing or renewed, and begins later.
    Ahead,
    /// The license is renewed, and active until its successor begins.
    Renewed,
    /// Not ended, though neither ongoing nor renewed.
    RunningOut,
    Ended,
    /// The license has no `fromDate`, so it does not count.
    Undated,
}

/// The members of a license with a beginning that determine its state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LicenseTerm {
    pub(crate) is_ongoing: bool,
    pub(crate) is_renewed: bool,
    pub(crate) is_fixed: bool,
    pub(crate) has_begun: bool,
    pub(crate) has_ended: bool,
}

impl LicenseTerm {
    pub(crate) fn state(self) -> LicenseState {
        match (self.is_ongoing, self.has_begun, self.has_ended) {
            (true, true, false) => LicenseState::Held,
            (true, _, true) if self.is_fixed => LicenseState::Held,
            (true, false, _) => LicenseState::Ahead,
            (_, false, false) if self.is_renewed => LicenseState::Ahead,
            (false, true, false) if self.is_renewed => LicenseState::Renewed,
            (_, _, false) => LicenseState::RunningOut,
            (_, _, true) => LicenseState::Ended,
        }
    }
}

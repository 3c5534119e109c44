//! What is wrong with an event: the checks of the browser and of the server, each with its code and its message.

use super::event::{Event, MAX_MESSAGE_ID_BYTES, name as event_member};
use crate::value::{email, key};

/// Reason why an event is invalid, the same in the browser and on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventFault {
    /// Neither an e-mail nor an id of the user is given.
    IdentityMissing,
    /// The user's id is too long or has control characters.
    ExternalIdInvalid,
    /// The e-mail cannot be used.
    EmailInvalid,
    /// The customer id is too long or has control characters.
    CompanyInvalid,
    /// The extra data is not a JSON object.
    InfoInvalid,
    /// The weight is negative or not finite (R36).
    WeightInvalid,
    /// The sender's id of the event is too long (R39).
    MessageIdTooLong,
}

impl EventFault {
    /// Stable code of the fault, the same in the browser and on the server.
    pub fn code(self) -> &'static str {
        match self {
            Self::IdentityMissing => "identity_missing",
            Self::ExternalIdInvalid => "external_id_invalid",
            Self::EmailInvalid => "email_invalid",
            Self::CompanyInvalid => "company_invalid",
            Self::InfoInvalid => "info_invalid",
            Self::WeightInvalid => "weight_invalid",
            Self::MessageIdTooLong => "message_id_too_long",
        }
    }

    /// Member of the fault; none for the event as a whole.
    pub fn member(self) -> Option<&'static str> {
        match self {
            Self::IdentityMissing => None,
            Self::ExternalIdInvalid => Some(event_member::EXTERNAL_ID),
            Self::EmailInvalid => Some(event_member::EMAIL),
            Self::CompanyInvalid => Some(event_member::COMPANY),
            Self::InfoInvalid => Some(event_member::INFO),
            Self::WeightInvalid => Some(event_member::WEIGHT),
            Self::MessageIdTooLong => Some(event_member::MESSAGE_ID),
        }
    }

    /// Message of the fault: what was expected.
    pub fn message(self) -> &'static str {
        match self {
            Self::IdentityMissing => "expected `email` or `externalId`; found neither",
            Self::ExternalIdInvalid => {
                "`externalId` must be 1 to 512 bytes without control characters"
            }
            Self::EmailInvalid => "`email` must be an e-mail address of at most 254 bytes",
            Self::CompanyInvalid => {
                "`companyExternalId` must be 1 to 512 bytes without control characters"
            }
            Self::InfoInvalid => "`info` must be a JSON object",
            Self::WeightInvalid => "`weight` must be a finite number, not negative",
            Self::MessageIdTooLong => "`messageId` must be at most 128 bytes",
        }
    }
}

impl Event {
    /// All faults of the event, in the order of its members.
    pub fn faults(&self) -> impl Iterator<Item = EventFault> {
        let who = &self.identity;
        let bad_key = |id: &Option<String>| id.as_deref().is_some_and(|id| !key::is_key(id));
        let bad_email = who.email.as_deref().is_some_and(|address| !email::is_usable(address));
        let bad_info = self.info.as_deref().is_some_and(|info| !info.trim_start().starts_with('{'));
        let bad_weight = self.weight.is_some_and(|weight| !weight.is_finite() || weight < 0.0);
        let long_id = self.message_id.as_deref().is_some_and(|id| id.len() > MAX_MESSAGE_ID_BYTES);
        let checks = [
            (who.external_id.is_none() && who.email.is_none(), EventFault::IdentityMissing),
            (bad_key(&who.external_id), EventFault::ExternalIdInvalid),
            (bad_email, EventFault::EmailInvalid),
            (bad_key(&who.company), EventFault::CompanyInvalid),
            (bad_info, EventFault::InfoInvalid),
            (bad_weight, EventFault::WeightInvalid),
            (long_id, EventFault::MessageIdTooLong),
        ];
        checks.into_iter().filter(|(wrong, _)| *wrong).map(|(_, fault)| fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracking::event::{Identity, MAX_EVENT_BYTES};

    fn check(event: Event, expect: &[&str]) {
        let codes: Vec<_> = event.faults().map(EventFault::code).collect();
        assert_eq!(codes, expect);
    }

    fn event_from(external_id: &str, email: &str) -> Event {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let identity =
            Identity { external_id: some(external_id), email: some(email), ..Identity::default() };
        Event { identity, ..Event::default() }
    }

    #[test]
    fn an_event_needs_a_way_to_find_its_user() {
        check(event_from("", ""), &["identity_missing"]);
        check(event_from("7", ""), &[]);
        check(event_from("", "ada@example.com"), &[]);
    }

    #[test]
    fn every_fault_is_found() {
        let mut event = event_from("\n", "nobody");
        event.identity.company = Some("x".repeat(513));
        event.info = Some("[]".to_owned());
        event.weight = Some(-1.0);
        event.message_id = Some("x".repeat(129));
        check(
            event,
            &[
                "external_id_invalid",
                "email_invalid",
                "company_invalid",
                "info_invalid",
                "weight_invalid",
                "message_id_too_long",
            ],
        );
        check(Event { weight: Some(f64::NAN), ..event_from("7", "") }, &["weight_invalid"]);
    }

    #[test]
    fn what_is_just_within_the_limits_is_no_fault() {
        let message_id = Some("x".repeat(MAX_MESSAGE_ID_BYTES));
        check(Event { weight: Some(0.0), message_id, ..event_from("7", "") }, &[]);
        assert_eq!(MAX_EVENT_BYTES, 65_536);
    }
}

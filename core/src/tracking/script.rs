//! Route 2: the rules of the script in the browser. `identify` sets an identity, which is stored and sent with every
//! later event.

use super::event::{Identity, name};
use crate::value::{email, key};

/// `text`, unless it is blank: a blank counts as not given, as it does on the server (R32).
pub fn given(text: String) -> Option<String> {
    (!text.trim().is_empty()).then_some(text)
}

/// Whether `id` is a word that programs send where they have no id.
///
/// ```
/// use svctrack_core::tracking::script::is_placeholder;
/// assert!(is_placeholder("undefined") && is_placeholder("0") && !is_placeholder("7"));
/// ```
pub fn is_placeholder(id: &str) -> bool {
    let words = ["undefined", "null", "[object Object]"];
    words.contains(&id.trim()) || id.bytes().all(|byte| matches!(byte, b'0' | b'-'))
}

impl Identity {
    /// Reads an identity from its members, by their names on the wire.
    pub fn read(mut member: impl FnMut(&'static str) -> Option<String>) -> Self {
        Self {
            external_id: member(name::EXTERNAL_ID).and_then(given),
            email: member(name::EMAIL).and_then(given),
            name: member(name::NAME).and_then(given),
            company: member(name::COMPANY).and_then(given),
            asset: member(name::ASSET).and_then(given),
            project: member(name::PROJECT).and_then(given),
        }
    }

    /// Members with their names on the wire.
    pub fn members(&self) -> [(&'static str, Option<&str>); 6] {
        [
            (name::EXTERNAL_ID, self.external_id.as_deref()),
            (name::EMAIL, self.email.as_deref()),
            (name::NAME, self.name.as_deref()),
            (name::COMPANY, self.company.as_deref()),
            (name::ASSET, self.asset.as_deref()),
            (name::PROJECT, self.project.as_deref()),
        ]
    }

    /// Only members that pass the checks of an event: a cookie that was changed must not make every later event
    /// invalid.
    #[must_use]
    pub fn usable(self) -> Self {
        Self {
            external_id: self.external_id.filter(|id| key::is_key(id)),
            email: self.email.filter(|address| email::is_usable(address)),
            company: self.company.filter(|id| key::is_key(id)),
            ..self
        }
    }

    /// Whether the identity has neither an id nor an e-mail.
    pub fn is_anonymous(&self) -> bool {
        self.external_id.is_none() && self.email.is_none()
    }

    /// Identity after an `identify` of `given`, which identifies a person. For the same person, given values replace
    /// known ones, and the rest stays; another person begins again.
    ///
    /// ```
    /// use svctrack_core::tracking::Identity;
    /// let identity = |id: &str| Identity { external_id: Some(id.into()), ..Identity::default() };
    /// let known = Identity { name: Some("Ada".into()), ..identity("7") };
    /// assert_eq!(known.clone().identify(identity("7")), known);
    /// assert_eq!(known.identify(identity("8")), identity("8"));
    /// ```
    #[must_use]
    pub fn identify(self, given: Self) -> Self {
        if self.is_same_person(&given) { self.with(given) } else { given }
    }

    /// Whether `given`, which identifies a person, is the known person. Ids decide; without two ids to compare the
    /// e-mails do.
    fn is_same_person(&self, given: &Self) -> bool {
        let is_known_email =
            |email: &String| self.email.as_ref().is_some_and(|known| is_same_email(known, email));
        match (&self.external_id, &given.external_id) {
            (Some(known), Some(given)) => known == given,
            (Some(_), None) => given.email.as_ref().is_some_and(is_known_email),
            (None, _) => self.email.is_some() && given.email.as_ref().is_none_or(is_known_email),
        }
    }

    /// The identity with the values of `extra` in place of its own, as `track` uses it for one event: the person is the
    /// same.
    #[must_use]
    pub fn with(self, extra: Identity) -> Self {
        Self {
            external_id: extra.external_id.or(self.external_id),
            email: extra.email.or(self.email),
            name: extra.name.or(self.name),
            company: extra.company.or(self.company),
            asset: extra.asset.or(self.asset),
            project: extra.project.or(self.project),
        }
    }
}

/// Whether two addresses are the same, as the server compares them (R34).
fn is_same_email(known: &str, given: &str) -> bool {
    known.trim().eq_ignore_ascii_case(given.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity_of(external_id: Option<&str>, email: Option<&str>, name: Option<&str>) -> Identity {
        Identity {
            external_id: external_id.map(Into::into),
            email: email.map(Into::into),
            name: name.map(Into::into),
            ..Identity::default()
        }
    }

    /// Checks the identity after `identify`; each identity is an id, an e-mail and a name.
    fn check(known: [&str; 3], given: [&str; 3], expect: [&str; 3]) {
        let identity = |texts: [&str; 3]| {
            let [id, email, name] = texts.map(|text| Some(text).filter(|text| !text.is_empty()));
            identity_of(id, email, name)
        };
        let now = identity(known).identify(identity(given));
        assert_eq!(now, identity(expect), "{known:?}, then {given:?}");
    }

    const ADA: &str = "ada@example.com";
    const BOB: &str = "bob@example.com";

    #[test]
    fn the_same_id_retains_what_was_known() {
        check(["7", "", "Ada"], ["7", ADA, ""], ["7", ADA, "Ada"]);
        check(["7", ADA, "Ada"], ["7", "", ""], ["7", ADA, "Ada"]);
        check(["7", ADA, "Ada"], ["7", BOB, ""], ["7", BOB, "Ada"]);
    }

    #[test]
    fn another_id_starts_a_new_identity() {
        check(["7", ADA, "Ada"], ["8", "", ""], ["8", "", ""]);
        check(["7", ADA, "Ada"], ["8", ADA, ""], ["8", ADA, ""]);
    }

    #[test]
    fn another_e_mail_starts_a_new_identity() {
        check(["", ADA, "Ada"], ["", BOB, ""], ["", BOB, ""]);
        check(["", ADA, "Ada"], ["8", BOB, ""], ["8", BOB, ""]);
        check(["7", ADA, "Ada"], ["", BOB, ""], ["", BOB, ""]);
    }

    #[test]
    fn an_e_mail_that_the_known_id_may_not_have_starts_a_new_identity() {
        check(["7", "", "Ada"], ["", BOB, ""], ["", BOB, ""]);
    }

    #[test]
    fn a_user_known_by_e_mail_gets_their_id() {
        check(["", ADA, "Ada"], ["7", "", ""], ["7", ADA, "Ada"]);
        check(["", ADA, "Ada"], ["7", ADA, ""], ["7", ADA, "Ada"]);
    }

    #[test]
    fn an_e_mail_is_the_same_in_any_case_and_with_blanks() {
        let spelled = " Ada@Example.com ";
        check(["7", ADA, "Ada"], ["", spelled, ""], ["7", spelled, "Ada"]);
        check(["", ADA, "Ada"], ["7", spelled, ""], ["7", spelled, "Ada"]);
    }

    #[test]
    fn nobody_hands_nothing_on() {
        check(["", "", "Ada"], ["7", "", ""], ["7", "", ""]);
        check(["", "", "Ada"], ["", ADA, ""], ["", ADA, ""]);
    }

    #[test]
    fn the_extras_of_an_event_start_no_new_identity() {
        let known = identity_of(Some("7"), Some(ADA), Some("Ada"));
        let extra = identity_of(None, Some(BOB), None);
        assert_eq!(known.with(extra), identity_of(Some("7"), Some(BOB), Some("Ada")));
    }

    #[test]
    fn a_changed_cookie_spoils_no_event() {
        let changed = identity_of(Some("a\nb"), Some("nobody"), Some("Ada"));
        assert_eq!(changed.usable(), identity_of(None, None, Some("Ada")));
        let company = Some("a\nb".to_owned());
        assert_eq!(Identity { company, ..Identity::default() }.usable(), Identity::default());
        let sound = identity_of(Some("7"), Some("ada@example.com"), None);
        assert_eq!(sound.clone().usable(), sound);
    }

    #[test]
    fn a_programs_word_for_nothing_is_known() {
        for word in
            ["undefined", "null", "[object Object]", "0", "00000000-0000-0000-0000-000000000000"]
        {
            assert!(is_placeholder(word), "{word}");
        }
        for id in ["7", "nullable", "00000000-0000-0000-0000-000000000001"] {
            assert!(!is_placeholder(id), "{id}");
        }
    }

    #[test]
    fn an_identity_is_read_as_it_is_written() {
        let known = identity_of(Some("7"), Some("ada@example.com"), None);
        let members = known.members();
        let member = |name: &str| members.iter().find(|member| member.0 == name)?.1;
        let read = Identity::read(|name| member(name).map(str::to_owned));
        assert_eq!(read, known);
        assert_eq!(Identity::read(|_| Some(" ".to_owned())), Identity::default());
    }
}

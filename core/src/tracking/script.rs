//! Route 2: what the script adds in the browser. `identify` makes an identity, a cookie keeps it, and
//! every later event carries it.

use super::{Identity, event::name};
use crate::value::{Timestamp, email, key};

/// Name of the cookie that keeps the identity.
pub const COOKIE_NAME: &str = "_svctrack";
/// How long the cookie lasts, in seconds: 365 days. A text, for a browser that formats no numbers.
pub const COOKIE_MAX_AGE_SECONDS: &str = "31536000";
/// Name of the cookie that finds out which domains a browser accepts; it is removed at once.
pub const PROBE_NAME: &str = "_svctrack_probe";
/// The longest cookie value that is written or read, in bytes; browsers take about 4 KB with the
/// name and the attributes, and the rest belongs to the host page.
pub const MAX_COOKIE_BYTES: usize = 3 * 1024;
/// How much may be under way at once that outlives its page, in bytes: a browser refuses what goes
/// over 64 KiB, and the rest of that belongs to the host page.
pub const MAX_KEEPALIVE_BYTES: usize = 48 * 1024;
/// The code of a `track` without an action: on the wire it would be taken for an `identify`.
pub const ACTION_MISSING: &str = "action_missing";

/// `text` if it says something: blank counts as not given, as it does on the server (R32).
pub fn given(text: String) -> Option<String> {
    (!text.trim().is_empty()).then_some(text)
}

impl Identity {
    /// An identity from its members, asked for by their names on the wire.
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

    /// The members with their names on the wire.
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

    /// Only what passes the checks of an event: a cookie that somebody has changed must not make
    /// every later event faulty.
    #[must_use]
    pub fn usable(self) -> Self {
        Self {
            external_id: self.external_id.filter(|id| key::is_key(id)),
            email: self.email.filter(|address| email::is_usable(address)),
            company: self.company.filter(|id| key::is_key(id)),
            ..self
        }
    }

    /// Whether neither an id nor an e-mail says who it is.
    pub fn names_nobody(&self) -> bool {
        self.external_id.is_none() && self.email.is_none()
    }

    /// The identity after `identify(user_id, extra)`; none when that names nobody. Of the same person,
    /// what is given replaces what was known, and the rest stays; another person begins anew.
    ///
    /// ```
    /// use svctrack_core::tracking::Identity;
    /// let known = Identity { external_id: Some("7".into()), name: Some("Ada".into()), ..Identity::default() };
    /// let other = known.identify(Some("8".into()), Identity::default()).unwrap();
    /// assert_eq!(other.name, None);
    /// ```
    #[must_use]
    pub fn identify(self, user_id: Option<String>, extra: Identity) -> Option<Self> {
        let given = Self { external_id: user_id.or(extra.external_id), ..extra };
        if given.names_nobody() {
            return None;
        }
        let known = if self.is_same_person(&given) { self } else { Self::default() };
        Some(known.with(given))
    }

    /// Whether `given`, which names somebody, means the person who is known. An id decides; without
    /// two ids to compare the e-mails do.
    fn is_same_person(&self, given: &Self) -> bool {
        let is_known_email =
            |email: &String| self.email.as_ref().is_some_and(|known| is_same_email(known, email));
        match (&self.external_id, &given.external_id) {
            (Some(known), Some(given)) => known == given,
            (Some(_), None) => given.email.as_ref().is_some_and(is_known_email),
            (None, _) => self.email.is_some() && given.email.as_ref().is_none_or(is_known_email),
        }
    }

    /// The identity with the values of `extra` in place of its own, as `track` uses it for one event:
    /// it stays the same person's.
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

/// Whether the two addresses are one, as the server matches them (R34).
fn is_same_email(known: &str, given: &str) -> bool {
    known.trim().eq_ignore_ascii_case(given.trim())
}

/// The values of the cookie `name` in `document.cookie`, still encoded. There can be several, of
/// different domains; what is too long is none of ours.
pub fn cookie_values<'a>(cookies: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    cookies
        .split(';')
        .filter_map(|cookie| cookie.split_once('='))
        .filter(move |(found, value)| found.trim() == name && value.len() <= MAX_COOKIE_BYTES)
        .map(|(_, value)| value)
}

/// What is assigned to `document.cookie` to set the cookie `name`; `max_age_seconds` `0` removes it.
/// Without a domain it is the host's alone.
pub fn cookie(
    name: &str,
    value: &str,
    max_age_seconds: &str,
    domain: Option<&str>,
    is_https: bool,
) -> String {
    let mut text = String::new();
    let (of, domain) = domain.map_or(("", ""), |domain| ("; Domain=", domain));
    let secure = if is_https { "; Secure" } else { "" };
    let attributes = "; Path=/; SameSite=Lax; Max-Age=";
    // `concat` would be a kilobyte of the download.
    for part in [name, "=", value, attributes, max_age_seconds, of, domain, secure] {
        text.push_str(part);
    }
    text
}

/// The domains that a cookie of `host` could have, the widest first. The browser knows which of
/// them are public (`co.uk`) and refuses these.
pub fn cookie_domains(host: &str) -> impl Iterator<Item = &str> {
    let dots = host.rmatch_indices('.').skip(1);
    let parents = dots.filter_map(|(at, _)| host.get(at + 1..));
    parents.chain([host])
}

/// The id of an event (R39): a UUIDv7 of the time of the call, so that ids sort as their events do.
/// `random` gives all bits that are neither time nor version.
pub fn message_id(called_at: Timestamp, random: [u8; 16]) -> String {
    const VERSION: u128 = 7 << 76;
    const VARIANT: u128 = 0b10 << 62;
    const RANDOM_BITS: u128 = (0xfff << 64) | (u128::MAX >> 66);
    let time = u128::from(called_at.as_ms().unsigned_abs()) << 80;
    let id = time | VERSION | VARIANT | (u128::from_be_bytes(random) & RANDOM_BITS);
    let mut text = String::with_capacity(36);
    for byte_at in 0..16 {
        if matches!(byte_at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        for nibble_at in [byte_at * 2, byte_at * 2 + 1] {
            let nibble = (id >> (124 - nibble_at * 4)) as u32 & 0xf;
            text.extend(char::from_digit(nibble, 16));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(external_id: Option<&str>, email: Option<&str>, name: Option<&str>) -> Identity {
        Identity {
            external_id: external_id.map(Into::into),
            email: email.map(Into::into),
            name: name.map(Into::into),
            ..Identity::default()
        }
    }

    /// What is known after `identify`; each identity is an id, an e-mail and a name.
    fn check(known: [&str; 3], given: [&str; 3], expect: Option<[&str; 3]>) {
        let identity = |texts: [&str; 3]| {
            let [id, email, name] = texts.map(|text| Some(text).filter(|text| !text.is_empty()));
            of(id, email, name)
        };
        let mut extra = identity(given);
        let user_id = extra.external_id.take();
        let now = identity(known).identify(user_id, extra);
        assert_eq!(now, expect.map(identity), "{known:?}, then {given:?}");
    }

    const ADA: &str = "ada@example.com";
    const BOB: &str = "bob@example.com";

    #[test]
    fn the_same_id_keeps_what_was_known() {
        check(["7", "", "Ada"], ["7", ADA, ""], Some(["7", ADA, "Ada"]));
        check(["7", ADA, "Ada"], ["7", "", ""], Some(["7", ADA, "Ada"]));
        check(["7", ADA, "Ada"], ["7", BOB, ""], Some(["7", BOB, "Ada"]));
    }

    #[test]
    fn another_id_begins_anew() {
        check(["7", ADA, "Ada"], ["8", "", ""], Some(["8", "", ""]));
        check(["7", ADA, "Ada"], ["8", ADA, ""], Some(["8", ADA, ""]));
    }

    #[test]
    fn another_e_mail_begins_anew() {
        check(["", ADA, "Ada"], ["", BOB, ""], Some(["", BOB, ""]));
        check(["", ADA, "Ada"], ["8", BOB, ""], Some(["8", BOB, ""]));
        check(["7", ADA, "Ada"], ["", BOB, ""], Some(["", BOB, ""]));
    }

    #[test]
    fn an_e_mail_that_the_known_id_may_not_have_begins_anew() {
        check(["7", "", "Ada"], ["", BOB, ""], Some(["", BOB, ""]));
    }

    #[test]
    fn a_user_known_by_e_mail_gets_their_id() {
        check(["", ADA, "Ada"], ["7", "", ""], Some(["7", ADA, "Ada"]));
        check(["", ADA, "Ada"], ["7", ADA, ""], Some(["7", ADA, "Ada"]));
    }

    #[test]
    fn an_e_mail_is_the_same_in_any_case_and_with_blanks() {
        let spelled = " Ada@Example.com ";
        check(["7", ADA, "Ada"], ["", spelled, ""], Some(["7", spelled, "Ada"]));
        check(["", ADA, "Ada"], ["7", spelled, ""], Some(["7", spelled, "Ada"]));
    }

    #[test]
    fn nobody_is_named_without_id_and_e_mail() {
        check(["7", ADA, "Ada"], ["", "", ""], None);
        check(["7", ADA, "Ada"], ["", "", "Bob"], None);
    }

    #[test]
    fn nobody_hands_nothing_on() {
        check(["", "", "Ada"], ["7", "", ""], Some(["7", "", ""]));
        check(["", "", "Ada"], ["", ADA, ""], Some(["", ADA, ""]));
    }

    #[test]
    fn the_extras_of_an_event_begin_nothing_anew() {
        let known = of(Some("7"), Some(ADA), Some("Ada"));
        let extra = of(None, Some(BOB), None);
        assert_eq!(known.with(extra), of(Some("7"), Some(BOB), Some("Ada")));
    }

    #[test]
    fn a_changed_cookie_spoils_no_event() {
        let changed = of(Some("a\nb"), Some("nobody"), Some("Ada"));
        assert_eq!(changed.usable(), of(None, None, Some("Ada")));
        let sound = of(Some("7"), Some("ada@example.com"), None);
        assert_eq!(sound.clone().usable(), sound);
    }

    #[test]
    fn an_identity_is_read_as_it_is_written() {
        let known = of(Some("7"), Some("ada@example.com"), None);
        let members = known.members();
        let member = |name: &str| members.iter().find(|member| member.0 == name)?.1;
        let read = Identity::read(|name| member(name).map(str::to_owned));
        assert_eq!(read, known);
        assert_eq!(Identity::read(|_| Some(" ".to_owned())), Identity::default());
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let long = "x".repeat(MAX_COOKIE_BYTES + 1);
        let cookies = format!("a=1; _svctrack={long}; _svctrack_x=2; _svctrack=%7B%7D; b");
        assert_eq!(cookie_values(&cookies, COOKIE_NAME).collect::<Vec<_>>(), ["%7B%7D"]);
    }

    #[test]
    fn the_cookie_is_written_with_its_attributes() {
        assert_eq!(
            cookie(COOKIE_NAME, "v", COOKIE_MAX_AGE_SECONDS, Some("example.com"), true),
            "_svctrack=v; Path=/; SameSite=Lax; Max-Age=31536000; Domain=example.com; Secure"
        );
        assert_eq!(cookie("a", "", "0", None, false), "a=; Path=/; SameSite=Lax; Max-Age=0");
    }

    #[test]
    fn the_widest_domain_is_tried_first() {
        let of = |host| cookie_domains(host).collect::<Vec<_>>();
        assert_eq!(of("a.b.example.com"), ["example.com", "b.example.com", "a.b.example.com"]);
        assert_eq!(of("example.com"), ["example.com"]);
        assert_eq!(of("localhost"), ["localhost"]);
    }

    #[test]
    fn a_message_id_is_a_uuid_of_its_time() {
        let time = Timestamp::from_ms_clamped(0x0192_3456_789a);
        assert_eq!(message_id(time, [0xff; 16]), "01923456-789a-7fff-bfff-ffffffffffff");
        assert_eq!(message_id(time, [0; 16]), "01923456-789a-7000-8000-000000000000");
    }
}

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
/// The longest body that is sent so that it outlives its page, in bytes: all such bodies of a page
/// share 64 KiB, and a browser refuses what goes over.
pub const MAX_KEEPALIVE_BYTES: usize = 16 * 1024;
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

    /// The identity after `identify(user_id, extra)`. Another user's id, or another e-mail where no id
    /// is given, begins anew; otherwise what is given replaces what was known, and the rest stays.
    ///
    /// ```
    /// use svctrack_core::tracking::Identity;
    /// let known = Identity { external_id: Some("7".into()), name: Some("Ada".into()), ..Identity::default() };
    /// let other = known.identify(Some("8".into()), Identity::default());
    /// assert_eq!(other.name, None);
    /// ```
    #[must_use]
    pub fn identify(self, user_id: Option<String>, extra: Identity) -> Self {
        let id = user_id.or(extra.external_id);
        let another_id = differs(&self.external_id, &id);
        let another_email = id.is_none() && differs(&self.email, &extra.email);
        let known = if another_id || another_email {
            Self::default()
        } else {
            self
        };
        Self {
            external_id: id.or(known.external_id),
            email: extra.email.or(known.email),
            name: extra.name.or(known.name),
            company: extra.company.or(known.company),
            asset: extra.asset.or(known.asset),
            project: extra.project.or(known.project),
        }
    }
}

/// Whether both are known and not the same.
fn differs(known: &Option<String>, given: &Option<String>) -> bool {
    known.is_some() && given.is_some() && known != given
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
    for part in [
        name,
        "=",
        value,
        attributes,
        max_age_seconds,
        of,
        domain,
        secure,
    ] {
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

    #[test]
    fn the_same_user_keeps_what_was_known() {
        let known = of(Some("7"), None, Some("Ada"));
        let now = known.identify(Some("7".into()), of(None, Some("ada@example.com"), None));
        assert_eq!(now, of(Some("7"), Some("ada@example.com"), Some("Ada")));
    }

    #[test]
    fn a_user_known_by_e_mail_gets_their_id() {
        let known = of(None, Some("ada@example.com"), Some("Ada"));
        let now = known.identify(Some("7".into()), Identity::default());
        assert_eq!(now, of(Some("7"), Some("ada@example.com"), Some("Ada")));
    }

    #[test]
    fn another_user_takes_nothing_over() {
        let known = of(Some("7"), Some("ada@example.com"), Some("Ada"));
        assert_eq!(
            known
                .clone()
                .identify(Some("8".into()), Identity::default()),
            of(Some("8"), None, None)
        );
        let by_email = known.identify(None, of(None, Some("bob@example.com"), None));
        assert_eq!(by_email, of(None, Some("bob@example.com"), None));
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
        assert_eq!(
            Identity::read(|_| Some(" ".to_owned())),
            Identity::default()
        );
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let long = "x".repeat(MAX_COOKIE_BYTES + 1);
        let cookies = format!("a=1; _svctrack={long}; _svctrack_x=2; _svctrack=%7B%7D; b");
        assert_eq!(
            cookie_values(&cookies, COOKIE_NAME).collect::<Vec<_>>(),
            ["%7B%7D"]
        );
    }

    #[test]
    fn the_cookie_is_written_with_its_attributes() {
        assert_eq!(
            cookie(
                COOKIE_NAME,
                "v",
                COOKIE_MAX_AGE_SECONDS,
                Some("example.com"),
                true
            ),
            "_svctrack=v; Path=/; SameSite=Lax; Max-Age=31536000; Domain=example.com; Secure"
        );
        assert_eq!(
            cookie("a", "", "0", None, false),
            "a=; Path=/; SameSite=Lax; Max-Age=0"
        );
    }

    #[test]
    fn the_widest_domain_is_tried_first() {
        let of = |host| cookie_domains(host).collect::<Vec<_>>();
        assert_eq!(
            of("a.b.example.com"),
            ["example.com", "b.example.com", "a.b.example.com"]
        );
        assert_eq!(of("example.com"), ["example.com"]);
        assert_eq!(of("localhost"), ["localhost"]);
    }

    #[test]
    fn a_message_id_is_a_uuid_of_its_time() {
        let time = Timestamp::from_ms_clamped(0x0192_3456_789a);
        assert_eq!(
            message_id(time, [0xff; 16]),
            "01923456-789a-7fff-bfff-ffffffffffff"
        );
        assert_eq!(
            message_id(time, [0; 16]),
            "01923456-789a-7000-8000-000000000000"
        );
    }
}

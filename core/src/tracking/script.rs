//! Route 2: what the script adds in the browser. `identify` makes an identity, a cookie keeps it, and
//! every later event carries it.

use super::Identity;

/// Name of the cookie that keeps the identity.
pub const COOKIE_NAME: &str = "_svctrack";
/// How long the cookie lasts, in seconds: 365 days.
pub const COOKIE_MAX_AGE_SECONDS: u32 = 365 * 24 * 60 * 60;
/// The longest cookie value that is written or read, in bytes; browsers take about 4 KB with the
/// name and the attributes, and the rest belongs to the host page.
pub const MAX_COOKIE_BYTES: usize = 3 * 1024;

impl Identity {
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
}

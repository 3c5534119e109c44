//! E-mail addresses: which are valid, how two are compared, and domains of public mail providers (R34, R35).

/// The longest usable address in bytes, the limit of a mail path (RFC 5321, 4.5.3.1.3).
pub const MAX_EMAIL_BYTES: usize = 254;

/// Domains of public mail providers. They belong to no company, so they never map a user to one (R35).
#[cfg(feature = "forms")]
const PUBLIC_MAIL_DOMAINS: &[&str] = &[
    "aol.com",
    "fastmail.com",
    "free.fr",
    "gmail.com",
    "gmx.at",
    "gmx.ch",
    "gmx.com",
    "gmx.de",
    "gmx.net",
    "googlemail.com",
    "hotmail.com",
    "hotmail.fi",
    "hotmail.fr",
    "icloud.com",
    "live.com",
    "luukku.com",
    "mac.com",
    "mail.com",
    "mail.ru",
    "me.com",
    "msn.com",
    "outlook.com",
    "pm.me",
    "proton.me",
    "protonmail.com",
    "qq.com",
    "t-online.de",
    "web.de",
    "yahoo.co.uk",
    "yahoo.com",
    "yandex.ru",
    "ymail.com",
    "zoho.com",
];

/// Whether `address` can be used at all: at most [`MAX_EMAIL_BYTES`], split at the last `@` into
/// two parts that are not empty, without control characters. Odd but valid addresses pass.
///
/// ```
/// use svctrack_core::value::email::is_usable;
/// assert!(is_usable("ada@example.com"));
/// assert!(is_usable("\"a@b\"@example.com"));
/// assert!(!is_usable("ada@"));
/// ```
pub fn is_usable(address: &str) -> bool {
    let controls = address.bytes().any(|byte| byte < b' ' || byte == 0x7f);
    let parts = address.trim().rsplit_once('@');
    !controls
        && address.len() <= MAX_EMAIL_BYTES
        && parts.is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty())
}

/// The form in which addresses are compared: trimmed and in lower case (R34).
#[cfg(feature = "forms")]
pub fn folded(address: &str) -> String {
    address.trim().to_lowercase()
}

/// Domain of an address in lower case, or `None` where it determines no company: the address has none, or it is that of
/// a public mail provider (R35).
#[cfg(feature = "forms")]
pub fn company_domain(address: &str) -> Option<String> {
    let domain = folded(address.rsplit_once('@')?.1);
    let public = PUBLIC_MAIL_DOMAINS.binary_search(&domain.as_str()).is_ok();
    (!domain.is_empty() && !public).then_some(domain)
}

#[cfg(all(test, feature = "records"))]
mod tests {
    use super::*;

    #[test]
    fn the_public_domains_are_sorted_so_that_they_can_be_searched() {
        assert!(PUBLIC_MAIL_DOMAINS.is_sorted());
    }

    #[test]
    fn an_address_needs_two_parts_and_no_controls() {
        for usable in ["a@b", " a@b ", "a@b@c", "å@ß.example"] {
            assert!(is_usable(usable), "{usable}");
        }
        let long = format!("{}@b", "a".repeat(MAX_EMAIL_BYTES));
        for unusable in ["", "@", "a@", "@b", "ab", "a\n@b", "a@b\n", "a@b\u{7f}", &long] {
            assert!(!is_usable(unusable), "{unusable:?}");
        }
    }

    #[test]
    fn a_public_mail_domain_names_no_company() {
        assert_eq!(company_domain("Ada@Example.COM"), Some("example.com".to_owned()));
        assert_eq!(company_domain("ada@GMail.com"), None);
        assert_eq!(company_domain("ada"), None);
    }
}

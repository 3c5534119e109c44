//! From when until when a certificate is valid (RFC 5280, 4.1.2.5).

use std::time::{SystemTime, UNIX_EPOCH};

use der::{
    Decode as _, Reader, SliceReader, Tag, Tagged as _,
    asn1::{AnyRef, GeneralizedTime, UtcTime},
};

/// Times in seconds after 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValidityPeriod {
    pub(crate) not_before: u64,
    pub(crate) not_after: u64,
}

/// Validity of a certificate at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CertificateState {
    Valid,
    NotYetValid,
    /// The certificate should have been renewed, as tools do with a third of its lifetime left.
    ExpiresSoon,
    Expired,
}

impl ValidityPeriod {
    /// Share of its lifetime, as a denominator, with which a certificate expires soon.
    const LAST_PART: u64 = 5;

    /// Validity of a certificate, if it can be read.
    pub(super) fn from_certificate(certificate: &[u8]) -> Option<Self> {
        read(certificate).ok()
    }

    pub(super) fn state(self, now: u64) -> CertificateState {
        let lifetime = self.not_after.saturating_sub(self.not_before);
        match now {
            now if now < self.not_before => CertificateState::NotYetValid,
            now if now > self.not_after => CertificateState::Expired,
            now if self.not_after - now < lifetime / Self::LAST_PART => {
                CertificateState::ExpiresSoon
            }
            _ => CertificateState::Valid,
        }
    }
}

/// The time of the clock, in seconds after 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn read(certificate: &[u8]) -> der::Result<ValidityPeriod> {
    let certificate = AnyRef::from_der(certificate)?;
    let signed = next(&mut SliceReader::new(certificate.value())?)?;
    let fields = &mut SliceReader::new(signed.value())?;
    // The version precedes the serial number, if it is there; the algorithm and the issuer follow it.
    if next(fields)?.tag().is_context_specific() {
        next(fields)?;
    }
    let (_algorithm, _issuer) = (next(fields)?, next(fields)?);
    let validity = next(fields)?;
    let times = &mut SliceReader::new(validity.value())?;
    Ok(ValidityPeriod { not_before: seconds(next(times)?)?, not_after: seconds(next(times)?)? })
}

fn next<'r>(reader: &mut impl Reader<'r>) -> der::Result<AnyRef<'r>> {
    AnyRef::decode(reader)
}

fn seconds(time: AnyRef<'_>) -> der::Result<u64> {
    let since_1970 = match time.tag() {
        Tag::UtcTime => time.decode_as::<UtcTime>()?.to_unix_duration(),
        _ => time.decode_as::<GeneralizedTime>()?.to_unix_duration(),
    };
    Ok(since_1970.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 24 * 60 * 60;

    #[test]
    fn a_certificate_expires_soon_in_the_last_fifth_of_its_lifetime() {
        let validity = ValidityPeriod { not_before: DAY, not_after: 91 * DAY };
        for (day, expect) in [
            (0, CertificateState::NotYetValid),
            (1, CertificateState::Valid),
            (73, CertificateState::Valid),
            (74, CertificateState::ExpiresSoon),
            (91, CertificateState::ExpiresSoon),
            (92, CertificateState::Expired),
        ] {
            assert_eq!(validity.state(day * DAY), expect, "{day}");
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_validity() {
        for bytes in [&b""[..], b"text", &[0x30, 0x80], &[0x30, 0x02, 0x30, 0x00]] {
            assert_eq!(ValidityPeriod::from_certificate(bytes), None, "{bytes:?}");
        }
    }
}

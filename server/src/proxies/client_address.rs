//! Address of the client of a request, which proxies name in a header.

use std::{borrow::Cow, net::IpAddr};

use poem::http::{HeaderMap, HeaderName, header};

use super::{Proxies, forwarded, settings::ClientAddressFrom};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

impl Proxies {
    /// Client of a request that came from `peer`. Each proxy adds an entry with the address from which a request came
    /// to it: the client is the last entry that is not a proxy itself, or that of the outermost trusted hop, and
    /// entries before that may be forged by the client. A proxy that sends no valid entry is the client.
    pub fn client_of(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.have(peer) {
            return peer;
        }
        // A byte that the client has sent and that is no ASCII spoils its own entry alone.
        let lines = |name| -> Vec<Cow<'_, str>> {
            let lines = headers.get_all(name).iter().rev();
            lines.map(|line| String::from_utf8_lossy(line.as_bytes())).collect()
        };
        let named = match self.source {
            ClientAddressFrom::XForwardedFor => {
                let lines = lines(FORWARDED_FOR);
                self.client_among(lines.iter().flat_map(|line| forwarded::x_forwarded_for(line)))
            }
            ClientAddressFrom::Forwarded => {
                let lines = lines(header::FORWARDED);
                self.client_among(lines.iter().flat_map(|line| forwarded::forwarded(line)))
            }
            // It was named at the beginning of the connection.
            ClientAddressFrom::ProxyProtocol => None,
        };
        named.unwrap_or(peer)
    }

    /// The client among the entries of proxies, in reverse order.
    fn client_among(&self, mut entries: impl Iterator<Item = Option<IpAddr>>) -> Option<IpAddr> {
        match self.hops {
            Some(hops) => entries.nth(usize::from(hops.get()) - 1).flatten(),
            None => self.last_that_is_none(entries),
        }
    }

    /// The first of these that is no proxy.
    fn last_that_is_none(&self, entries: impl Iterator<Item = Option<IpAddr>>) -> Option<IpAddr> {
        let mut first = None;
        for entry in entries {
            let address = entry?;
            if !self.have(address) {
                return Some(address);
            }
            first = Some(address);
        }
        // A proxy, or a client on its machine, calls for itself.
        first
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU8;

    use super::*;
    use crate::proxies::settings::ProxyConfig;

    #[test]
    fn the_client_is_the_last_entry_that_is_no_proxy() {
        let proxies = ["10.0.0.0/8", "fd00::/8"].map(|text| text.parse().unwrap());
        let proxies = Proxies::from(proxies.to_vec());
        for (peer, lines, expected) in [
            ("127.0.0.1", &["192.0.2.9, 192.0.2.1"][..], "192.0.2.1"),
            ("::1", &["2001:db8::4"], "2001:db8::4"),
            ("10.0.0.5", &["192.0.2.1"], "192.0.2.1"),
            ("::ffff:10.0.0.5", &["192.0.2.1"], "192.0.2.1"),
            ("10.0.0.5", &["1.1.1.1, 192.0.2.1, 10.0.0.6, fd12::1"], "192.0.2.1"),
            ("10.0.0.5", &["1.1.1.1", "192.0.2.1 ,10.0.0.6"], "192.0.2.1"),
            ("10.0.0.5", &["192.0.2.1", "192.0.2.2"], "192.0.2.2"),
            ("10.0.0.5", &["192.0.2.1:4711, ::ffff:10.0.0.6"], "192.0.2.1"),
            ("10.0.0.5", &["[2001:db8::4]:443"], "2001:db8::4"),
            ("10.0.0.5", &["10.1.1.1, 10.0.0.6"], "10.1.1.1"),
            ("10.0.0.5", &["\u{e9}\u{e9}, 192.0.2.1"], "192.0.2.1"),
            // Nothing that can be read.
            ("10.0.0.5", &[], "10.0.0.5"),
            ("10.0.0.5", &[""], "10.0.0.5"),
            ("10.0.0.5", &["192.0.2.1, unknown"], "10.0.0.5"),
            ("10.0.0.5", &["192.0.2.1, "], "10.0.0.5"),
            ("10.0.0.5", &["192.0.2.1", "nobody, 10.0.0.6"], "10.0.0.5"),
            // A peer that is no proxy is not believed.
            ("192.0.2.7", &["192.0.2.1"], "192.0.2.7"),
            ("::ffff:192.0.2.7", &["192.0.2.1"], "192.0.2.7"),
        ] {
            let lines = lines.iter().map(|line| (FORWARDED_FOR, line.parse().unwrap()));
            let client = proxies.client_of(peer.parse().unwrap(), &lines.collect());
            assert_eq!(client.to_string(), expected, "{peer}");
        }
    }

    /// The client of a request of a proxy with both headers.
    #[track_caller]
    fn check(hops: u8, source: ClientAddressFrom, expect: &str) {
        let proxies = Proxies::from(ProxyConfig {
            trusted_hops: NonZeroU8::new(hops),
            client_address_from: source,
            ..ProxyConfig::default()
        });
        let lines = [
            (FORWARDED_FOR, "192.0.2.1, 192.0.2.2"),
            (FORWARDED_FOR, "192.0.2.3"),
            (header::FORWARDED, "for=198.51.100.1, for=198.51.100.2;proto=https"),
        ];
        let lines = lines.map(|(name, line)| (name, line.parse().unwrap()));
        let client = proxies.client_of("127.0.0.1".parse().unwrap(), &lines.into_iter().collect());
        assert_eq!(client.to_string(), expect, "{hops} {source:?}");
    }

    #[test]
    fn the_client_is_the_entry_of_the_outermost_trusted_hop_and_one_header_is_read() {
        for (hops, x_forwarded_for, forwarded) in [
            (0, "192.0.2.3", "198.51.100.2"),
            (1, "192.0.2.3", "198.51.100.2"),
            (2, "192.0.2.2", "198.51.100.1"),
            (3, "192.0.2.1", "127.0.0.1"),
            (4, "127.0.0.1", "127.0.0.1"),
        ] {
            check(hops, ClientAddressFrom::XForwardedFor, x_forwarded_for);
            check(hops, ClientAddressFrom::Forwarded, forwarded);
        }
        check(0, ClientAddressFrom::ProxyProtocol, "127.0.0.1");
    }
}

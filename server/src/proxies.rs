//! Trusted proxies: they represent many clients, so they have no limit of connections, and their `X-Forwarded-For`
//! names the client.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    str::FromStr,
    sync::Arc,
};

use ipnet::IpNet;
use poem::http::{HeaderMap, HeaderName};
use serde::{Deserialize, Serialize};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address of a proxy, or the network that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Proxy(IpNet);

impl FromStr for Proxy {
    type Err = String;

    /// # Errors
    /// A message that says what to write instead.
    fn from_str(text: &str) -> Result<Self, String> {
        let address = || text.parse::<IpAddr>().map(IpNet::from);
        let read = text.parse::<IpNet>().or_else(|_| address()).map(Self);
        read.map_err(|_| {
            format!(
                "expected an address or a network, such as 10.0.0.5 or 10.0.0.0/8; found `{text}`"
            )
        })
    }
}

impl TryFrom<String> for Proxy {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Proxy> for String {
    fn from(proxy: Proxy) -> Self {
        proxy.to_string()
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The proxies of a server; those on the same machine are always among them.
#[derive(Clone, Debug, Default)]
pub struct Proxies(Arc<[Proxy]>);

impl From<Vec<Proxy>> for Proxies {
    fn from(proxies: Vec<Proxy>) -> Self {
        Self(proxies.into())
    }
}

impl Proxies {
    /// Whether an address is that of one.
    pub(crate) fn have(&self, address: IpAddr) -> bool {
        address.is_loopback() || self.0.iter().any(|proxy| proxy.0.contains(&address))
    }

    /// The client of a request that came from `peer`. Each proxy adds to `X-Forwarded-For` from where a request came to
    /// it: the client is the last entry that is no proxy itself, and entries before that may be forged by the client. A
    /// proxy that sends no valid entry is the client.
    pub(crate) fn client_of(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if self.have(peer) { self.forwarded_for(headers).unwrap_or(peer) } else { peer }
    }

    fn forwarded_for(&self, headers: &HeaderMap) -> Option<IpAddr> {
        let mut first = None;
        for line in headers.get_all(FORWARDED_FOR).iter().rev() {
            for entry in line.to_str().ok()?.rsplit(',') {
                let address = read_entry(entry.trim())?;
                if !self.have(address) {
                    return Some(address);
                }
                first = Some(address);
            }
        }
        // A proxy, or a client next to one, asks for itself.
        first
    }
}

/// An address, perhaps with a port, which some proxies add.
fn read_entry(entry: &str) -> Option<IpAddr> {
    let with_port = || entry.parse::<SocketAddr>().map(|address| address.ip());
    entry.parse().or_else(|_| with_port()).ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_an_address_or_a_network() {
        let proxies = ["10.0.0.0/8", "192.0.2.7", "fd00::/8"].map(|text| text.parse().unwrap());
        let proxies = Proxies::from(proxies.to_vec());
        let has = |text: &str| proxies.have(text.parse().unwrap());
        for address in ["127.0.0.1", "::1", "10.255.1.2", "192.0.2.7", "fd12::1"] {
            assert!(has(address), "{address}");
        }
        for address in ["11.0.0.1", "192.0.2.8", "fe80::1"] {
            assert!(!has(address), "{address}");
        }
        for text in ["", "10.0.0.0/33", "proxy.example", "10.0.0.1:80"] {
            assert!(text.parse::<Proxy>().unwrap_err().contains("10.0.0.0/8"), "{text}");
        }
    }
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
            // Nothing that can be read.
            ("10.0.0.5", &[], "10.0.0.5"),
            ("10.0.0.5", &[""], "10.0.0.5"),
            ("10.0.0.5", &["192.0.2.1, unknown"], "10.0.0.5"),
            ("10.0.0.5", &["192.0.2.1, "], "10.0.0.5"),
            ("10.0.0.5", &["192.0.2.1", "nobody, 10.0.0.6"], "10.0.0.5"),
            // One who is no proxy says nothing about others.
            ("192.0.2.7", &["192.0.2.1"], "192.0.2.7"),
            ("::ffff:192.0.2.7", &["192.0.2.1"], "192.0.2.7"),
        ] {
            let lines = lines.iter().map(|line| (FORWARDED_FOR, line.parse().unwrap()));
            let client = proxies.client_of(peer.parse().unwrap(), &lines.collect());
            assert_eq!(client.to_string(), expected, "{peer}");
        }
    }
}

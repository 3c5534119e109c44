//! Proxies that the operator trusts: what they pass on comes from many, so that they have no cap on their connections.

use std::{fmt, net::IpAddr, str::FromStr, sync::Arc};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

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
}

//! The address of a proxy, or the network that it is in.

use std::{fmt, net::IpAddr, str::FromStr};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// The address of a proxy, or the network that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Proxy(pub(super) IpNet);

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

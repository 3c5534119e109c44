//! Address of a proxy, or its network.

use std::{fmt, net::IpAddr, str::FromStr};

use ipnet::IpNet;

use crate::config::setting_text::setting_as_text;

/// Address of a proxy, or its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proxy(pub(super) IpNet);

setting_as_text!(Proxy);

impl FromStr for Proxy {
    type Err = String;

    /// # Errors
    /// A message with the expected form.
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

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

//! Trusted proxies: their requests come from many clients, so that their connections have no limit, and they name the
//! client.

mod client_address;
mod forwarded;
mod network;
mod proxy_protocol;
pub mod settings;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    num::NonZeroU8,
    sync::Arc,
};

use tokio::{net::TcpStream, time::timeout};

use self::settings::{ClientAddressFrom, ProxyConfig};
pub use self::{network::Proxy, proxy_protocol::read_header as read_proxy_header};
use crate::limits::PROXY_HEADER_TIMEOUT;

/// The proxies of a server; those on the same machine are always among them.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    networks: Arc<[Proxy]>,
    hops: Option<NonZeroU8>,
    source: ClientAddressFrom,
}

impl From<Vec<Proxy>> for Proxies {
    fn from(proxies: Vec<Proxy>) -> Self {
        Self { networks: proxies.into(), ..Self::default() }
    }
}

impl From<ProxyConfig> for Proxies {
    fn from(config: ProxyConfig) -> Self {
        let ProxyConfig { trusted_proxies, trusted_hops, client_address_from } = config;
        Self { networks: trusted_proxies.into(), hops: trusted_hops, source: client_address_from }
    }
}

impl Proxies {
    /// Whether an address is that of a proxy.
    pub(crate) fn have(&self, address: IpAddr) -> bool {
        address.is_loopback() || self.networks.iter().any(|proxy| proxy.0.contains(&address))
    }

    /// Whether connections of an address begin with a header of the PROXY protocol.
    pub(crate) fn expect_header(&self, address: IpAddr) -> bool {
        self.source == ClientAddressFrom::ProxyProtocol && self.have(address.to_canonical())
    }

    /// Other end of a connection of a proxy that sends a header: the client that it names, or the proxy itself.
    ///
    /// # Errors
    /// When there is no header in time, or it cannot be read.
    pub(crate) async fn read_header(
        &self,
        stream: &mut TcpStream,
        peer: SocketAddr,
    ) -> io::Result<SocketAddr> {
        let read = proxy_protocol::read_client(stream, peer.ip().to_canonical());
        Ok(timeout(PROXY_HEADER_TIMEOUT, read).await??.unwrap_or(peer))
    }
}

#[cfg(test)]
mod tests {
    use super::{network::Proxy, *};

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

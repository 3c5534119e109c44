//! The settings of trusted proxies.

use std::num::NonZeroU8;

use serde::{Deserialize, Serialize};

use super::network::Proxy;
use crate::config::setting_text::whole_number;

/// Source of the client's address behind a trusted proxy. One is accepted alone: a client may send what the proxy does
/// not set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ClientAddressFrom {
    /// The header X-Forwarded-For, which most proxies set
    #[default]
    XForwardedFor,
    /// The header Forwarded (RFC 7239)
    Forwarded,
    /// The PROXY protocol, version 1 or 2, at the beginning of each connection
    ProxyProtocol,
}

/// Settings of proxies, by flag, environment or file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", default)]
pub struct ProxySettings {
    /// Addresses or networks of proxies on other machines, separated by commas; their connections are not limited, and
    /// their header gives the client's address [default: none]
    #[arg(long, env = "SVCTRACK_TRUSTED_PROXIES", value_name = "ADDRESSES", value_delimiter = ',')]
    pub trusted_proxies: Option<Vec<Proxy>>,
    /// Number of proxies before the server, if the outer ones have no fixed address; the client is the Nth entry from
    /// the end [default: none; the last entry that is not a trusted proxy]
    #[arg(long, env = "SVCTRACK_TRUSTED_HOPS", value_name = "NUMBER", value_parser = whole_number::<u8>)]
    pub trusted_hops: Option<u8>,
    /// Source of the client's address behind a trusted proxy [default: x-forwarded-for]
    #[arg(long, env = "SVCTRACK_CLIENT_ADDRESS_FROM", value_name = "SOURCE", value_enum)]
    pub client_address_from: Option<ClientAddressFrom>,
}

/// The settings in force.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ProxyConfig {
    /// Proxies on other machines, whose connections have no limit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trusted_proxies: Vec<Proxy>,
    /// Number of proxies that add an entry, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted_hops: Option<NonZeroU8>,
    /// Source of the client's address.
    pub client_address_from: ClientAddressFrom,
}

impl ProxySettings {
    /// Settings in force when `self` wins over `file`.
    ///
    /// # Errors
    /// A message for a setting that cannot be used, or has no effect.
    pub(crate) fn over(self, file: Self) -> Result<ProxyConfig, &'static str> {
        let source = self.client_address_from.or(file.client_address_from);
        let hops = self.trusted_hops.or(file.trusted_hops).map(NonZeroU8::new);
        let trusted_hops = hops.map(|hops| hops.ok_or("trusted-hops must be at least 1"));
        let trusted_hops = trusted_hops.transpose()?;
        let config = ProxyConfig {
            trusted_proxies: self.trusted_proxies.or(file.trusted_proxies).unwrap_or_default(),
            trusted_hops,
            client_address_from: source.unwrap_or_default(),
        };
        let has_entries = config.client_address_from != ClientAddressFrom::ProxyProtocol;
        match config.trusted_hops {
            Some(_) if !has_entries => {
                Err("trusted-hops has no effect with the PROXY protocol, which names one client")
            }
            _ => Ok(config),
        }
    }
}

//! The address to listen on, as people write it (D12): `host:port`, or a port alone for the loopback address. Names are
//! resolved at the start.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::FromStr,
};

use poem::http::uri::Scheme;
use serde::{Deserialize, Deserializer, Serialize, de};

/// A host and a port to listen on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListenAddress(String);

/// Default port of the service.
const DEFAULT_PORT: u16 = 8080;

impl Default for ListenAddress {
    fn default() -> Self {
        Self::on_loopback(DEFAULT_PORT)
    }
}

impl ListenAddress {
    pub(crate) fn on_loopback(port: u16) -> Self {
        Self(format!("127.0.0.1:{port}"))
    }

    /// Host and port, as an address is resolved from.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Address at which programs on this machine reach a server that listens here, as far as it is known before.
    pub fn own_url(&self, scheme: &Scheme) -> String {
        let of_name = |_| format!("{scheme}://{self}");
        self.0.parse().map_or_else(of_name, |address| own_url(scheme, address))
    }
}

/// Address at which programs on the same machine reach a server that listens on `address`.
pub fn own_url(scheme: &Scheme, address: SocketAddr) -> String {
    let host: IpAddr = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    format!("{scheme}://{}", SocketAddr::new(host, address.port()))
}

impl FromStr for ListenAddress {
    type Err = String;

    /// # Errors
    /// A message with the expected form.
    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text, DEFAULT_PORT)
    }
}

impl ListenAddress {
    /// Reads an address; `port` is the one that a message suggests.
    ///
    /// # Errors
    /// A message with the expected form.
    pub(crate) fn parse(text: &str, port: u16) -> Result<Self, String> {
        let expected = || {
            format!(
                "expected a host and a port, such as 127.0.0.1:{port} or localhost:{port}, or a port from 0 to 65535"
            )
        };
        if let Ok(port) = text.parse() {
            return Ok(Self::on_loopback(port));
        }
        if text.parse::<SocketAddr>().is_ok() {
            return Ok(Self(text.to_owned()));
        }
        if let Some((_, rest)) = text.split_once("://") {
            return Err(format!("leave out the scheme: {}", rest.trim_end_matches('/')));
        }
        if text.parse::<Ipv6Addr>().is_ok() {
            return Err(format!(
                "an IPv6 address has brackets, and a port after them: [::1]:{port}"
            ));
        }
        let Some((host, port)) = text.rsplit_once(':') else {
            let is_host = !text.bytes().all(|byte| byte.is_ascii_digit()) && is_host(text);
            return Err(match is_host {
                true => format!("the port is missing: {text}:{port}"),
                false => expected(),
            });
        };
        if port.parse::<u16>().is_err() {
            return Err(format!("`{port}` is not a port, which is a number from 0 to 65535"));
        }
        if host.is_empty() || host == "*" {
            return Err(format!(
                "name the host: 127.0.0.1:{port} for this machine alone, 0.0.0.0:{port} for all addresses"
            ));
        }
        if is_host(host) { Ok(Self(text.to_owned())) } else { Err(expected()) }
    }
}

/// Whether a text can be the name of a host.
fn is_host(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(is_plain)
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ListenAddress {
    /// A text, or a number, which is a port.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = ListenAddress;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(r#""127.0.0.1:8080", or a port"#)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ListenAddress, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<ListenAddress, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<ListenAddress, E> {
                self.visit_str(&number.to_string())
            }
        }
        from.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<&str, &str>) {
        match (text.parse::<ListenAddress>(), expect) {
            (Ok(listen), Ok(expect)) => assert_eq!(listen.as_str(), expect),
            (Err(message), Err(expect)) => assert!(message.contains(expect), "{text}: {message}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }

    #[test]
    fn hosts_ports_and_both_are_understood() {
        check("8080", Ok("127.0.0.1:8080"));
        check("localhost:8080", Ok("localhost:8080"));
        check("0.0.0.0:80", Ok("0.0.0.0:80"));
        check("[::]:80", Ok("[::]:80"));
        check("db-1.example:9000", Ok("db-1.example:9000"));
    }

    #[test]
    fn what_is_wrong_is_explained() {
        check(":8080", Err("0.0.0.0:8080 for all addresses"));
        check("*:8080", Err("127.0.0.1:8080 for this machine alone"));
        check("localhost", Err("the port is missing: localhost:8080"));
        check("127.0.0.1", Err("the port is missing: 127.0.0.1:8080"));
        check("::1", Err("brackets, and a port after them: [::1]:8080"));
        check("::1:8080", Err("brackets, and a port after them: [::1]:8080"));
        check("http://localhost:8080/", Err("leave out the scheme: localhost:8080"));
        check("localhost:http", Err("`http` is not a port"));
        check("localhost:80800", Err("`80800` is not a port"));
        for text in ["", "80800", "a b:80", "-1"] {
            check(text, Err("expected a host and a port"));
        }
    }

    #[test]
    fn a_server_on_all_addresses_is_reached_on_the_loopback() {
        for (text, expect) in [
            ("0.0.0.0:80", "http://127.0.0.1:80"),
            ("[::]:80", "http://[::1]:80"),
            ("192.0.2.1:80", "http://192.0.2.1:80"),
            ("localhost:80", "http://localhost:80"),
        ] {
            assert_eq!(text.parse::<ListenAddress>().unwrap().own_url(&Scheme::HTTP), expect);
        }
    }
}

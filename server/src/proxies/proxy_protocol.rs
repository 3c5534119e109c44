//! PROXY protocol, versions 1 and 2: the header that a proxy sends first names the source of the connection. It is read
//! to its last byte and no further.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ppp::{HeaderResult, v1, v2};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    net::TcpStream,
    time::sleep,
};

/// Beginning of a header of version 2.
const V2_PREFIX: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// Beginning of a header of version 1.
const V1_PREFIX: &[u8; 6] = b"PROXY ";
/// Longest header of version 1, in bytes, by its specification.
const MAX_V1_BYTES: usize = 107;
/// Length of the fixed part of version 2, in bytes; it ends with the length of the rest.
const V2_FIXED_BYTES: usize = 16;
/// Longest rest of version 2, in bytes: the longest addresses take 216, and additions of proxies less than that again.
const MAX_V2_REST_BYTES: usize = 520;
/// Timeout for the next piece of a possible header; much shorter than the timeout of the whole header.
const PIECE_PAUSE: Duration = Duration::from_millis(5);

/// Reads the header of a connection; returns the client that it names, if it names one. A peer on the same machine may
/// not be a proxy, and then sends none.
///
/// # Errors
/// When there is no header, or it cannot be read.
pub(super) async fn read_client(
    stream: &mut TcpStream,
    peer: IpAddr,
) -> io::Result<Option<SocketAddr>> {
    if peer.is_loopback() && !begins_with_header(stream).await? {
        return Ok(None);
    }
    read_header(stream).await
}

/// Reads a header to its last byte; returns the client that it names, if it names one.
///
/// # Errors
/// When there is no header, or it cannot be read.
pub async fn read_header(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<SocketAddr>> {
    let mut header = vec![0; V2_PREFIX.len()];
    stream.read_exact(&mut header).await?;
    match header == V2_PREFIX {
        true => read_v2_rest(stream, &mut header).await?,
        false if header.starts_with(V1_PREFIX) => read_v1_rest(stream, &mut header).await?,
        false => return Err(malformed()),
    }
    client_in(&header)
}

/// Whether a header comes next, as far as its beginning shows. That may arrive in pieces.
async fn begins_with_header(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0; V1_PREFIX.len()];
    loop {
        let count = stream.peek(&mut first).await?;
        let begun = first.get(..count).unwrap_or_default();
        let may_be_one = V1_PREFIX.starts_with(begun) || V2_PREFIX.starts_with(begun);
        if begun.is_empty() || !may_be_one {
            return Ok(false);
        }
        if count == first.len() {
            return Ok(true);
        }
        // There is no notification of the next piece: the bytes that are there can be read at any time.
        sleep(PIECE_PAUSE).await;
    }
}

/// Byte by byte: what comes after the end of the line is not the proxy's.
async fn read_v1_rest(
    stream: &mut (impl AsyncRead + Unpin),
    header: &mut Vec<u8>,
) -> io::Result<()> {
    while !header.ends_with(b"\r\n") {
        if header.len() == MAX_V1_BYTES {
            return Err(malformed());
        }
        header.push(stream.read_u8().await?);
    }
    Ok(())
}

async fn read_v2_rest(
    stream: &mut (impl AsyncRead + Unpin),
    header: &mut Vec<u8>,
) -> io::Result<()> {
    read_up_to(stream, header, V2_FIXED_BYTES).await?;
    let length = header.last_chunk().map_or(0, |length| u16::from_be_bytes(*length).into());
    if length > MAX_V2_REST_BYTES {
        return Err(malformed());
    }
    read_up_to(stream, header, V2_FIXED_BYTES + length).await
}

/// Reads on until the header has a length.
async fn read_up_to(
    stream: &mut (impl AsyncRead + Unpin),
    header: &mut Vec<u8>,
    length: usize,
) -> io::Result<()> {
    let before = header.len();
    header.resize(length, 0);
    stream.read_exact(header.get_mut(before..).unwrap_or_default()).await.map(drop)
}

/// Client of a complete header; none where the proxy speaks for itself, as for a health check.
fn client_in(header: &[u8]) -> io::Result<Option<SocketAddr>> {
    let client = match HeaderResult::parse(header) {
        HeaderResult::V1(Ok(header)) => match header.addresses {
            v1::Addresses::Unknown => return Ok(None),
            v1::Addresses::Tcp4(ip) => SocketAddr::new(ip.source_address.into(), ip.source_port),
            v1::Addresses::Tcp6(ip) => SocketAddr::new(ip.source_address.into(), ip.source_port),
        },
        HeaderResult::V2(Ok(header)) => match header.addresses {
            _ if header.command == v2::Command::Local => return Ok(None),
            v2::Addresses::IPv4(ip) => SocketAddr::new(ip.source_address.into(), ip.source_port),
            v2::Addresses::IPv6(ip) => SocketAddr::new(ip.source_address.into(), ip.source_port),
            v2::Addresses::Unspecified | v2::Addresses::Unix(_) => return Ok(None),
        },
        HeaderResult::V1(Err(_)) | HeaderResult::V2(Err(_)) => return Err(malformed()),
    };
    Ok(Some(client))
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "no valid header")
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::{io::AsyncWriteExt as _, net::TcpListener};

    use super::*;

    const V1: &[u8] = b"PROXY TCP6 2001:db8::7 ::1 4660 80\r\n";
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

    /// A header of version 2 with a command, a family and addresses, and additions of a proxy.
    fn v2(command: u8, family: u8, addresses: &[u8]) -> Vec<u8> {
        let length = u8::try_from(addresses.len() + 5).unwrap();
        let fixed = [0x20 | command, family, 0, length];
        [V2_PREFIX.as_slice(), &fixed, addresses, &[4, 0, 2, 0, 0]].concat()
    }

    /// Reads a header that arrives in these pieces, with a pause after each; returns the result and the unread rest.
    async fn read(peer: &str, pieces: &[&[u8]]) -> (io::Result<Option<SocketAddr>>, Vec<u8>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        sender.set_nodelay(true).unwrap();
        let send = async {
            for piece in pieces {
                sender.write_all(piece).await.unwrap();
                sleep(2 * PIECE_PAUSE).await;
            }
            drop(sender);
        };
        let (client, ()) = tokio::join!(read_client(&mut stream, peer.parse().unwrap()), send);
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        (client, rest)
    }

    #[tokio::test]
    async fn a_header_may_come_in_pieces_and_what_follows_it_is_left() {
        let ip_4 = v2(1, 0x11, &[203, 0, 113, 7, 127, 0, 0, 1, 0x12, 0x34, 0, 80]);
        let ip_6 = v2(1, 0x21, &[[0x20; 16].as_slice(), &[0; 16], &[0, 9, 0, 80]].concat());
        for (header, expect) in [
            (V1.to_vec(), Some("[2001:db8::7]:4660")),
            (ip_4, Some("203.0.113.7:4660")),
            (ip_6, Some("[2020:2020:2020:2020:2020:2020:2020:2020]:9")),
            (v2(1, 0x31, &[b'/'; 216]), None),
            (v2(1, 0, &[]), None),
            (v2(0, 0, &[]), None),
            (b"PROXY UNKNOWN\r\n".to_vec(), None),
        ] {
            let expect = expect.map(|client| client.parse().unwrap());
            for peer in ["127.0.0.1", "10.0.0.5"] {
                for at in [1, 5, 13, header.len()] {
                    let (first, second) = header.split_at(at);
                    let second = [second, REQUEST].concat();
                    let (client, rest) = read(peer, &[first, &second]).await;
                    assert_eq!(client.unwrap(), expect, "{peer} {at} {header:?}");
                    assert_eq!(rest, REQUEST, "{peer} {at} {header:?}");
                }
            }
        }
    }

    #[tokio::test]
    async fn a_proxy_elsewhere_must_send_a_header_and_one_here_may_be_a_client() {
        for request in [REQUEST, b"P", b"POST / HTTP/1.1\r\n", b"\r\nGET / HTTP/1.1\r\n", b""] {
            assert!(read("10.0.0.5", &[request]).await.0.is_err(), "{request:?}");
        }
        for request in [REQUEST, b"POST / HTTP/1.1\r\n", b"\r\nGET / HTTP/1.1\r\n", b""] {
            for at in [0, request.len().min(1)] {
                let (first, second) = request.split_at(at);
                let (client, rest) = read("::1", &[first, second]).await;
                assert_eq!(client.unwrap(), None, "{request:?}");
                assert_eq!(rest, request);
            }
        }
    }

    #[tokio::test]
    async fn what_only_looks_like_a_header_is_an_error() {
        let mut other_version = v2(1, 0x11, &[0; 12]);
        other_version[12] = 0x11;
        let too_short_for_its_family = v2(1, 0x21, &[0; 12]);
        for header in [other_version, too_short_for_its_family, b"PROXY TCP4 \xff\r\n".to_vec()] {
            for peer in ["127.0.0.1", "10.0.0.5"] {
                assert!(read(peer, &[&header, REQUEST]).await.0.is_err(), "{header:?}");
            }
        }
    }
}

//! The PROXY protocol, versions 1 and 2: what a proxy sends before anything else says from where the connection came to
//! it. It is read to its last byte and no further.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use ppp::{HeaderResult, v1, v2};
use tokio::{io::AsyncReadExt as _, net::TcpStream};

/// How a header of version 2 begins.
const V2_PREFIX: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// How one of version 1 begins.
const V1_PREFIX: &[u8; 6] = b"PROXY ";
/// Longest header of version 1, in bytes, by its specification.
const MAX_V1_BYTES: usize = 107;
/// What version 2 has before the rest, whose length comes last, in bytes.
const V2_FIXED_BYTES: usize = 16;
/// Longest rest of version 2, in bytes: the longest addresses take 216, and what proxies add less than that again.
const MAX_V2_REST_BYTES: usize = 520;

/// Reads the header of a connection; returns the client that it names, if it names one. A peer on the same machine may
/// be no proxy, and then sends none.
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
    let mut header = vec![0; V2_PREFIX.len()];
    stream.read_exact(&mut header).await?;
    match header == V2_PREFIX {
        true => read_v2_rest(stream, &mut header).await?,
        false if header.starts_with(V1_PREFIX) => read_v1_rest(stream, &mut header).await?,
        false => return Err(malformed()),
    }
    client_in(&header)
}

async fn begins_with_header(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0; V1_PREFIX.len()];
    let count = stream.peek(&mut first).await?;
    Ok(count == first.len() && (first == *V1_PREFIX || V2_PREFIX.starts_with(&first)))
}

/// Byte by byte: what comes after the end of the line is not the proxy's.
async fn read_v1_rest(stream: &mut TcpStream, header: &mut Vec<u8>) -> io::Result<()> {
    while !header.ends_with(b"\r\n") {
        if header.len() == MAX_V1_BYTES {
            return Err(malformed());
        }
        header.push(stream.read_u8().await?);
    }
    Ok(())
}

async fn read_v2_rest(stream: &mut TcpStream, header: &mut Vec<u8>) -> io::Result<()> {
    read_up_to(stream, header, V2_FIXED_BYTES).await?;
    let length = header.last_chunk().map_or(0, |length| u16::from_be_bytes(*length).into());
    if length > MAX_V2_REST_BYTES {
        return Err(malformed());
    }
    read_up_to(stream, header, V2_FIXED_BYTES + length).await
}

/// Reads on until the header has a length.
async fn read_up_to(stream: &mut TcpStream, header: &mut Vec<u8>, length: usize) -> io::Result<()> {
    let before = header.len();
    header.resize(length, 0);
    stream.read_exact(header.get_mut(before..).unwrap_or_default()).await.map(drop)
}

/// The client that a whole header names; none where the proxy speaks for itself, as when it checks the health.
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
    io::Error::new(io::ErrorKind::InvalidData, "no header of the PROXY protocol")
}

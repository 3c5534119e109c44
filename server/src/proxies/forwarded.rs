//! Entries of proxies, each with the address of the proxy's client: of `X-Forwarded-For`, and of `Forwarded`
//! (RFC 7239).

use std::net::{IpAddr, SocketAddr};

/// The entries of a line of `X-Forwarded-For`, the last one first; none for one that cannot be read.
pub(super) fn x_forwarded_for(line: &str) -> impl Iterator<Item = Option<IpAddr>> {
    line.rsplit(',').map(|entry| read_address(entry.trim()))
}

/// The entries of a line of `Forwarded`, the last one first; none for one that names no address.
pub(super) fn forwarded(line: &str) -> impl Iterator<Item = Option<IpAddr>> {
    split_outside_quotes(line, ',').map(client_of_entry)
}

/// Address of `for` in an entry such as `for="[2001:db8::1]:4711";proto=https`.
fn client_of_entry(entry: &str) -> Option<IpAddr> {
    let pairs = split_outside_quotes(entry, ';').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("for")).last()?;
    let value = value.trim();
    let quoted = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    read_address(quoted.unwrap_or(value))
}

/// Splits a text at separators outside quotes, the last part first. It reads from the end, which a proxy wrote: a quote
/// that the client opened earlier and never closed has no effect there.
fn split_outside_quotes(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let (mut rest, mut is_quoted) = (text, false);
    let separates = move |character: char| {
        rest = rest.strip_suffix(character).unwrap_or_default();
        if character == '"' && !escapes_what_follows(rest) {
            is_quoted = !is_quoted;
        }
        character == separator && !is_quoted
    };
    text.rsplit(separates)
}

/// Whether the backslashes at the end of a text escape the next character.
fn escapes_what_follows(text: &str) -> bool {
    let backslashes = text.bytes().rev().take_while(|byte| *byte == b'\\').count();
    backslashes % 2 == 1
}

/// An address, perhaps in brackets, and perhaps with a port, which some proxies add.
fn read_address(entry: &str) -> Option<IpAddr> {
    let with_port = || entry.parse::<SocketAddr>().map(|address| address.ip());
    let in_brackets = entry.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address = in_brackets.unwrap_or(entry).parse().or_else(|_| with_port());
    address.ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: &[Option<&str>]) {
        let expect: Vec<_> =
            expect.iter().map(|text| text.map(|text| text.parse().unwrap())).collect();
        assert_eq!(forwarded(line).collect::<Vec<_>>(), expect, "{line}");
    }

    #[test]
    fn the_last_entry_of_forwarded_comes_first_and_quotes_hold_no_separators() {
        let (v4, v6) = (Some("192.0.2.1"), Some("2001:db8::1"));
        check("for=192.0.2.1", &[v4]);
        check("For=192.0.2.1:4711; Proto=https ,for=\"[2001:db8::1]:80\"", &[v6, v4]);
        check("proto=http;for=\"[2001:db8::1]\"", &[v6]);
        check("for=\"192.0.2.1:80\";by=\"a,b;for=10.0.0.1\"", &[v4]);
        check(r#"host="a\",for=10.0.0.1";for=192.0.2.1"#, &[v4]);
        check("for=::ffff:192.0.2.1", &[v4]);
    }

    #[test]
    fn what_names_no_address_is_an_entry_that_cannot_be_read() {
        for line in ["", "for=unknown", "for=_hidden", "proto=https", "for=", "by=192.0.2.1", "for"]
        {
            check(line, &[None]);
        }
        check("for=192.0.2.1, ", &[None, Some("192.0.2.1")]);
    }

    #[test]
    fn what_a_client_has_left_open_does_not_hide_the_entry_of_its_proxy() {
        let v6 = "for=\"[2001:db8::1]:80\";host=\"a\\\";for=192.0.2.9\"";
        for opened in ["for=\"192.0.2.1", "for=192.0.2.1, for=\"", "for=\"\\", "\u{fffd}\"\\\""] {
            for (added, expect) in [("for=192.0.2.2", "192.0.2.2"), (v6, "2001:db8::1")] {
                let line = format!("{opened}, {added}");
                assert_eq!(forwarded(&line).next(), Some(Some(expect.parse().unwrap())), "{line}");
            }
        }
    }
}

//! What the page on storage draws is what is stored: each row of a backup fits the drawing of its table.

use std::{collections::BTreeSet, fs, io::Read as _, str};

use flate2::read::GzDecoder;
use hyper::Method;
use serde_json::{Value, json};
use svctrack_tests::{
    docs::{block_with, read},
    in_process::InProcess,
    project,
};

const PAGE: &str = "server/docs/storage.md";
/// Before each value but the format in `meta`: a format of one byte and a checksum of four.
const SEAL: [usize; 2] = [1, 4];
/// Tables whose rows are removed as soon as their work is done, or that need more activities than are sent here.
const NOT_MET: [&str; 4] = ["activity_marks", "due", "erasures", "usage"];

/// A row, of a table or as it is drawn.
struct LayoutRow<T> {
    table: String,
    key: T,
    value: T,
}

fn drawn() -> Vec<LayoutRow<String>> {
    let block = block_with(PAGE, "text", "tenants ");
    let mut lines = block.lines();
    let head = lines.next().unwrap();
    let (key, value) = (head.find("key").unwrap(), head.find("value").unwrap());
    let cell = |text: &str| text.trim().to_owned();
    lines
        .map(|line| LayoutRow {
            table: cell(&line[..key]),
            key: cell(&line[key..value]),
            value: cell(&line[value..]),
        })
        .collect()
}

/// Whether bytes are as they are drawn.
fn fits(drawn: &str, bytes: &[u8]) -> bool {
    if let Some((text, rest)) = drawn.strip_prefix('`').and_then(|drawn| drawn.split_once('`')) {
        let after = bytes.strip_prefix(text.as_bytes());
        return after.is_some_and(|after| fits(rest.trim_start(), after));
    }
    let (part, rest) = drawn.split_once(' ').unwrap_or((drawn, ""));
    if let Some((_, length)) = part.split_once(':') {
        let split = bytes.split_at_checked(length.parse().unwrap());
        return split.is_some_and(|(_, after)| fits(rest, after));
    }
    match part {
        "" | "(empty)" => bytes.is_empty(),
        "NUL" => bytes.split_first().is_some_and(|(first, after)| *first == 0 && fits(rest, after)),
        "json" => serde_json::from_slice::<Value>(bytes).is_ok(),
        // What follows is whatever its type or its kind says.
        "postcard" | "message" => !bytes.is_empty(),
        _ => {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            str::from_utf8(&bytes[..end]).is_ok() && fits(rest, &bytes[end..])
        }
    }
}

fn is_as_drawn(drawn: &LayoutRow<String>, row: &LayoutRow<Vec<u8>>) -> bool {
    let is_sealed = !(row.value.is_empty() || drawn.key == "`format`");
    let seal: usize = if is_sealed { SEAL.iter().sum() } else { 0 };
    drawn.table == row.table
        && fits(&drawn.key, &row.key)
        && (!is_sealed || row.value[0] == 1)
        && fits(&drawn.value, &row.value[seal..])
}

/// The rows of a backup, which are read as the page says.
fn rows(backup: &[u8]) -> Vec<LayoutRow<Vec<u8>>> {
    let mut bytes = Vec::new();
    GzDecoder::new(backup).read_to_end(&mut bytes).unwrap();
    let mut rest = &bytes[bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1..];
    let mut take = |count: usize| {
        let (taken, after) = rest.split_at(count);
        rest = after;
        taken.to_vec()
    };
    let number = |bytes: Vec<u8>| bytes.iter().fold(0, |all, byte| all << 8 | usize::from(*byte));
    let (mut rows, mut table) = (Vec::new(), String::new());
    loop {
        match take(1)[0] {
            1 => {
                let length = number(take(2));
                table = String::from_utf8(take(length)).unwrap();
            }
            2 => {
                let [key, value] = [take(4), take(4)].map(number);
                rows.push(LayoutRow { table: table.clone(), key: take(key), value: take(value) });
            }
            _ => return rows,
        }
    }
}

/// The backup of a store with a row in nearly every table.
async fn backup() -> Vec<u8> {
    let server = InProcess::start().await;
    let headers = [("content-type", "application/json"), ("idempotency-key", "k")];
    let acme = json!({"name": "Acme", "externalId": "acme", "domains": ["acme.example"]});
    let made = server.client.send(Method::POST, "/companies", &headers, acme.to_string()).await;
    assert_eq!(made.unwrap().status, 200);
    let settings = json!({"maxNewEndUsersPerHour": 10}).to_string();
    let headers = [("content-type", "application/json")];
    let set = server.client.send(Method::PUT, "/settings", &headers, settings).await;
    assert_eq!(set.unwrap().status, 200);
    let license = json!({"companyId": "extid-acme", "externalId": "acme-1", "product": "Suite"});
    assert_eq!(server.client.post("/licenses", &license).await.status, 200);
    let event = |company: &str, user: &str| json!({"companyExternalId": company, "externalId": user, "action": "x", "messageId": user});
    let uuid = "11111111-1111-4111-8111-111111111111";
    for event in [event("acme", "ada"), event("acme", uuid), event("nobody", "bob")] {
        assert_eq!(server.client.track(&event).await.unwrap().status, 200);
    }
    let closed = server.client.post("/reports/closings", &json!({"month": "2020-01"})).await;
    assert_eq!(closed.status, 200, "{}", closed.text());
    let backup = server.operator.get("/backup").await;
    assert_eq!(backup.status, 200);
    backup.body.to_vec()
}

#[tokio::test]
async fn each_row_of_a_backup_is_as_the_page_draws_it() {
    let drawn = drawn();
    let mut met = BTreeSet::new();
    let golden = fs::read(project().join("tests/golden/backup-1.gz")).unwrap();
    for row in rows(&golden).into_iter().chain(rows(&backup().await)) {
        let fitting = drawn.iter().position(|drawn| is_as_drawn(drawn, &row));
        let fitting = fitting.unwrap_or_else(|| {
            panic!("{}: {} {}", row.table, row.key.escape_ascii(), row.value.escape_ascii())
        });
        met.insert(fitting);
    }
    for (line, row) in drawn.iter().enumerate() {
        let is_met = met.contains(&line);
        assert_eq!(is_met, !NOT_MET.contains(&&*row.table), "{} {}", row.table, row.key);
    }
}

#[test]
fn what_is_drawn_fits_its_like_alone() {
    let check = |drawn, bytes: &[u8], expect| assert_eq!(fits(drawn, bytes), expect, "{drawn}");
    check("id:2", b"ab", true);
    check("id:2", b"abc", false);
    check("id:2", b"a", false);
    check("`new users`", b"new users", true);
    check("`new users`", b"new user", false);
    check("row NUL value NUL id:1", b"a\0b\0c", true);
    check("row NUL value NUL id:1", b"a\0b\0", false);
    check("(empty)", b"", true);
    check("(empty)", b"a", false);
    check("shown:1 json", b"1{}", true);
    check("shown:1 json", b"1{", false);
}

#[test]
fn the_page_names_the_format_in_the_header_of_a_store() {
    let page = read(PAGE);
    let golden = fs::File::open(project().join("tests/golden/store-1.redb.gz")).unwrap();
    let mut head = [0; 20];
    GzDecoder::new(golden).read_exact(&mut head).unwrap();
    let (magic, format) = head.split_at(16);
    let format = u32::from_be_bytes(format.try_into().unwrap());
    assert_eq!(magic, b"svctrack store\r\n");
    assert!(page.contains(&format!("### The file: store format {format}\n")));
}

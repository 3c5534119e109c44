//! Imports over HTTP, and the outcome of one that breaks off.

use std::time::Duration;

use flate2::{Compression, write::GzEncoder};
use futures_util::future::join_all;
use serde_json::json;
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::Client,
    disk::{Disk, Fault},
    in_process::InProcess,
    process::{PATIENCE, Server, peak_memory},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    faults::settle,
    transfer::{folder_with, import_from},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_any_length_is_imported_and_one_that_breaks_off_says_how_far_it_came() {
    let server = InProcess::start().await;
    let csv = [("content-type", "text/csv")];
    let post = async |headers: &[(&str, &str)], body: Vec<u8>| {
        let path = "/import/companies";
        server.client.send(hyper::Method::POST, path, headers, body).await.unwrap()
    };
    // More than the longest body that any other route takes.
    let lines = 33 * 1024 * 1024;
    let body = [b"externalId,name\na,A\n".to_vec(), vec![b'\n'; lines], b"b,\n".to_vec()].concat();
    let answer = post(&csv, body).await.json();
    assert_eq!((&answer["created"], &answer["refused"]), (&json!(1), &json!(1)), "{answer}");
    assert_eq!(answer["refusals"][0]["line"], lines + 3, "{answer}");

    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    std::io::Write::write_all(&mut encoder, b"externalId,name\nz,Z\n").unwrap();
    let packed = [csv[0], ("content-encoding", "gzip")];
    assert_eq!(post(&packed, encoder.finish().unwrap()).await.json()["created"], 1);

    let rows: String = (0..1_200).map(|n| format!("c{n},C\n")).collect();
    let request = format!(
        "POST /import/companies HTTP/1.1\r\nHost: x\r\nAuthorization: {}\r\nContent-Type: text/csv\r\n\
         Content-Length: 1000000\r\n\r\nexternalId,name\n{rows}half of a",
        server.client.authorization().unwrap_or_default(),
    );
    // Nothing more comes.
    let answer = server.client.raw(request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(answer.contains("of the rows before, 1200 were created"), "{answer}");
    let found = server.client.get("/companies/extid-c1199").await;
    assert_eq!(found.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_meets_a_full_disk_says_how_much_is_stored() {
    let disk = Disk::with_store();
    let server = InProcess::with_file(Box::new(disk.clone())).await;
    let token = server.client.authorization().unwrap().trim_start_matches("Bearer ").to_owned();
    let table = |name: &str| {
        let rows: String = (0..1_500).map(|n| format!("{name}{n},C\n")).collect();
        format!("externalId,name\n{rows}")
    };
    let csv = [("content-type", "text/csv")];
    let post =
        |name| server.client.send(hyper::Method::POST, "/import/companies", &csv, table(name));
    let total = async || {
        let list = server.client.get("/companies?limit=1&count=true").await;
        list.headers["svctrack-total"].to_str().unwrap().parse::<usize>().unwrap()
    };
    let before = disk.operations();
    assert_eq!(post("a").await.unwrap().status, 200);
    let operations = disk.operations() - before;
    let fill = || disk.fail(Fault::Full(disk.operations() + operations * 2 / 3));
    let make_room = async || {
        disk.mend();
        settle(&server, "ok").await;
    };
    fill();
    let answer = post("b").await.unwrap();
    assert_eq!(answer.status, 507, "{}", answer.text());
    make_room().await;
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    let (_, after) = detail.split_once("of the rows before, ").unwrap();
    let created: usize = after.split_once(" were created").unwrap().0.parse().unwrap();
    assert!(created > 0, "{detail}");
    assert_eq!(total().await, 1_500 + created);

    let files = folder_with("companies.csv", table("c").as_bytes());
    fill();
    let reach = ["--server", &server.base, "--token", &token];
    let (code, _, said) = import_from(files.path(), &reach, files.path(), &[]).await;
    make_room().await;
    assert_eq!(code, Some(1), "{said}");
    let (_, stays) = said.split_once("what was imported before stays: ").unwrap();
    let imported: usize = stays.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(total().await, 1_500 + created + imported);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_is_there_is_found_by_who_cannot_read_it() {
    let server = InProcess::with_token(|record| {
        record.scopes = vec!["companies:create".to_owned(), "companies:update".to_owned()];
    })
    .await;
    let token = server.client.authorization().unwrap().trim_start_matches("Bearer ").to_owned();
    let there = server.client.post("/companies", &json!({"name": "A"})).await.json();
    let keyless = format!("{{\"_id\":{},\"name\":\"B\"}}\n", there["_id"]);
    let files = folder_with("companies.ndjson", keyless.as_bytes());
    let reach = ["--server", &server.base, "--token", &token];
    let (code, told, said) = import_from(files.path(), &reach, files.path(), &[]).await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(
        (&told["companies"]["created"], &told["companies"]["updated"]),
        (&json!(0), &json!(1))
    );
}

/// Imports that run as long as a test does.
const SLOW_IMPORTS: usize = 64;

#[tokio::test(flavor = "multi_thread")]
async fn imports_that_come_slowly_keep_no_events_and_no_import_of_another_tenant_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
    let server = Server::start_with_operator(folder.path(), &token, &operator, &[]).await;
    let operator = server.client.with_token(operator.reveal());
    let made = operator.post("/tenants", &json!({"name": "other"})).await.json();
    let other = server.client.with_token(made["token"]["token"].as_str().unwrap());
    let anonymous = Client::new(&server.base, None);
    let begin = async |number: usize| {
        let path = ["/import/companies", "/import/companies?dryRun=true"][number % 2];
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {}\r\nContent-Type: text/csv\r\n\
             Content-Length: 1000000\r\nExpect: 100-continue\r\n\r\n",
            server.client.authorization().unwrap(),
        );
        let mut stream = TcpStream::connect(server.client.address()).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    };
    let mut slow = join_all((0..SLOW_IMPORTS).map(begin)).await;
    // The turn of some of them has come.
    let mut status = [0; 12];
    let (first, rest) = slow.split_at_mut(1);
    let begun = first[0].read_exact(&mut status);
    tokio::time::timeout(PATIENCE, begun).await.expect("no import begins").unwrap();
    assert_eq!(&status, b"HTTP/1.1 100");
    let go_on = async {
        loop {
            for stream in first.iter_mut().chain(rest.iter_mut()) {
                // Some were asked to retry later.
                let _ = stream.write_all(&[b'n'; 110]).await;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let path = format!("/analytics/bulk/{TENANT}");
    let others = async {
        let called = anonymous.send(hyper::Method::POST, &path, &[], "[]");
        let answer = tokio::time::timeout(PATIENCE, called).await.expect("events wait");
        assert_eq!(answer.unwrap().text(), "OK");
        for path in ["/import/companies?dryRun=true", "/import/companies"] {
            let csv = [("content-type", "text/csv")];
            let body = "externalId,name\na,A\n";
            let imported = other.send(hyper::Method::POST, path, &csv, body).await.unwrap();
            assert_eq!(imported.json()["created"], 1, "{}", imported.text());
        }
    };
    tokio::select! {
        () = go_on => {}
        () = others => {}
    }
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_comes_slowly_gives_way_to_one_that_waits_and_says_how_far_it_came() {
    let (folder, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let server = Server::start(folder.path(), &token).await;
    let rows: String = (0..1_200).map(|n| format!("c{n},C\n")).collect();
    let head = format!(
        "POST /import/companies HTTP/1.1\r\nHost: x\r\nAuthorization: {}\r\nContent-Type: text/csv\r\n\
         Content-Length: 1000000\r\n\r\nexternalId,name\n{rows}",
        server.client.authorization().unwrap(),
    );
    let mut slow = TcpStream::connect(server.client.address()).await.unwrap();
    slow.write_all(head.as_bytes()).await.unwrap();
    while server.client.get("/companies/extid-c999").await.status != 200 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let next = async {
        let csv = [("content-type", "text/csv")];
        let body = "externalId,name\nz,Z\n";
        let next = server.client.send(hyper::Method::POST, "/import/companies", &csv, body).await;
        assert_eq!(next.unwrap().json()["created"], 1);
    };
    let ended = async {
        let mut answer = String::new();
        while slow.write_all(b"n").await.is_ok() {
            let mut some = [0; 4_096];
            match slow.try_read(&mut some) {
                Ok(0) => break,
                Ok(read) => answer.push_str(std::str::from_utf8(&some[..read]).unwrap()),
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
            if answer.contains('}') {
                break;
            }
        }
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(answer.contains("of the rows before, 1000 were created"), "{answer}");
    };
    tokio::time::timeout(PATIENCE, async { tokio::join!(next, ended) }).await.unwrap();
    server.kill().await;
}

/// Rows of a dry run, and what it may take of memory however many they are, in bytes.
const MANY_ROWS: usize = 60_000;
const DRY_RUN_BYTES: u64 = 20 * 1024 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_of_many_rows_counts_what_their_import_counts_and_takes_little_memory() {
    let (folder, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let server = Server::start(folder.path(), &token).await;
    let import = async |query: &str, rows: String| {
        let path = format!("/import/companies{query}");
        let csv = [("content-type", "text/csv")];
        let body = format!("externalId,name\n{rows}");
        let answer = server.client.send(hyper::Method::POST, &path, &csv, body).await.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        let mut summary = answer.json();
        summary.as_object_mut().unwrap().remove("dryRun");
        summary
    };
    let row = |n: usize| format!("c{n},C\n");
    import("", (0..1_000).map(row).collect()).await;
    // Of those that are stored some are changed, and of the new ones the first and the last come again.
    let last = MANY_ROWS - 1;
    let again = format!("c0,D\nc999,C\nc1000,D\nc1000,D\nc{last},D\nx,\nc{last},\n");
    let rows: String = (0..MANY_ROWS).map(row).chain([again]).collect();
    let before = peak_memory(server.id());
    let judged = import("?dryRun=true", rows.clone()).await;
    let more = peak_memory(server.id()) - before;
    println!("{more} bytes more");
    assert!(more < DRY_RUN_BYTES, "{more} bytes more");
    assert_eq!(judged["created"], MANY_ROWS - 1_000, "{judged}");
    let counts = ["updated", "unchanged", "refused"].map(|name| &judged[name]);
    assert_eq!(counts, [3, 1_003, 1], "{judged}");
    assert_eq!(judged, import("", rows).await);
    server.kill().await;
}

//! Imports over HTTP, and the outcome of one that breaks off.

use std::time::Duration;

use flate2::{Compression, write::GzEncoder};
use futures_util::future::join_all;
use serde_json::json;
use svctrack_tests::{
    TENANT,
    disk::{Disk, Fault},
    in_process::InProcess,
    process::PATIENCE,
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
async fn a_body_of_any_length_is_imported_and_one_that_breaks_off_reports_how_far_it_came() {
    let server = InProcess::start().await;
    let csv = [("content-type", "text/csv")];
    let post = async |headers: &[(&str, &str)], body: Vec<u8>| {
        let path = "/import/companies";
        server.client.send(hyper::Method::POST, path, headers, body).await.unwrap()
    };
    // More than the longest body that any other route takes.
    let lines = 33 * 1024 * 1024;
    let body = [b"externalId,name\na,A\n".to_vec(), vec![b'\n'; lines], b"b,\n".to_vec()].concat();
    let response = post(&csv, body).await.json();
    assert_eq!((&response["created"], &response["refused"]), (&json!(1), &json!(1)), "{response}");
    assert_eq!(response["refusals"][0]["line"], lines + 3, "{response}");

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
    let response = server.client.raw(request.as_bytes()).await;
    assert!(response.starts_with("HTTP/1.1 400"), "{response}");
    assert!(response.contains("of the rows before, 1200 were created"), "{response}");
    let found = server.client.get("/companies/extid-c1199").await;
    assert_eq!(found.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_meets_a_full_disk_reports_how_much_is_stored() {
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
    let response = post("b").await.unwrap();
    assert_eq!(response.status, 507, "{}", response.text());
    make_room().await;
    let detail = response.json()["detail"].as_str().unwrap().to_owned();
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
    let (_, stays) = said.split_once("already imported: ").unwrap();
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
async fn slow_imports_do_not_delay_events() {
    let server = InProcess::start().await;
    let head = format!(
        "POST /import/companies HTTP/1.1\r\nHost: x\r\nAuthorization: {}\r\nContent-Type: text/csv\r\n\
         Content-Length: 1000000\r\nExpect: 100-continue\r\n\r\n",
        server.client.authorization().unwrap(),
    );
    let begin = async |_| {
        let mut stream = TcpStream::connect(server.client.address()).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        // Its turn has come, or is not to be waited for.
        let mut status = [0; 12];
        stream.read_exact(&mut status).await.unwrap();
        let status = str::from_utf8(&status).unwrap();
        assert!(["HTTP/1.1 100", "HTTP/1.1 503"].contains(&status), "{status}");
        stream
    };
    let mut slow = join_all((0..SLOW_IMPORTS).map(begin)).await;
    let go_on = async {
        loop {
            for stream in &mut slow {
                // Some were asked to retry later.
                let _ = stream.write_all(b"n").await;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let path = format!("/analytics/bulk/{TENANT}");
    let events = async {
        let called = server.anonymous.send(hyper::Method::POST, &path, &[], "[]");
        let response = tokio::time::timeout(PATIENCE, called).await.expect("events wait");
        assert_eq!(response.unwrap().text(), "OK");
    };
    tokio::select! {
        () = go_on => {}
        () = events => {}
    }
}

//! Those who ask for much and take nothing, and those who know nothing but a tenant's UUID: what they use up is theirs, and
//! others are served meanwhile.

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use flate2::{Compression, write::GzEncoder};
use futures_util::{StreamExt as _, stream};
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    attack::{fill_with_large, unread, unread_in, unread_sent, unread_with},
    client::{Client, Response},
    process::{PATIENCE, Server, peak_memory},
    reader::sign_in,
};
use tempfile::TempDir;

const CSV: (&str, &str) = ("content-type", "text/csv");
const JSON: (&str, &str) = ("content-type", "application/json");
/// What the server may have of memory with a cache of 64 MiB, in bytes.
const MEMORY_BYTES: u64 = 256 * 1024 * 1024;
/// Large records of a list: 62 MB.
const LARGE: usize = 66;

/// A server with two tenants that do not know of each other.
struct Two {
    server: Server,
    /// A client of the first.
    one: Client,
    /// A client of the second, and where its events are sent.
    other: Client,
    other_events: String,
    _folder: TempDir,
}

impl Two {
    async fn start(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
        let server = Server::start_with_operator(folder.path(), &token, &operator, flags).await;
        let operator = server.client.with_token(operator.reveal());
        let made = operator.post("/tenants", &json!({"name": "other"})).await.json();
        let other = server.client.with_token(made["token"]["token"].as_str().unwrap());
        let other_events = format!("/analytics/{}", made["_id"].as_str().unwrap());
        for client in [&server.client, &other] {
            let acme = json!({"name": "Acme", "externalId": "acme"});
            assert_eq!(client.post("/companies", &acme).await.status, StatusCode::OK);
        }
        let one = server.client.clone();
        Self { server, one, other, other_events, _folder: folder }
    }

    /// What the other tenant does every day; none of it is rejected.
    async fn other_is_served(&self) {
        let list = self.other.get("/companies?limit=2000").await;
        assert_eq!((list.status, list.json().as_array().unwrap().len()), (StatusCode::OK, 2_000));
        self.other_is_served_alone().await;
    }

    /// The same without a list.
    async fn other_is_served_alone(&self) {
        assert_eq!(self.other.get("/companies/extid-acme").await.status, StatusCode::OK);
        let event = json!({"externalId": "7", "companyExternalId": "acme", "action": "x"});
        assert_eq!(self.other.post(&self.other_events, &event).await.text(), "OK");
    }
}

/// Stores companies with names of `name_bytes` bytes.
async fn fill(client: &Client, count: usize, name_bytes: usize) {
    let name = "x".repeat(name_bytes);
    let item = |number| json!({"name": name, "externalId": format!("c{number}")});
    let items: Vec<_> = (0..count).map(item).collect();
    let sent = client.send(Method::PUT, "/companies", &[JSON], json!(items).to_string()).await;
    assert_eq!(sent.unwrap().json()["created"], count);
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers[name].to_str().unwrap()
}

fn many(statuses: &[u16], status: u16) -> usize {
    statuses.iter().filter(|one| **one == status).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn large_lists_that_nobody_reads_take_little_memory_and_hold_up_no_other_tenant() {
    let two = Two::start(&["--cache-mb", "64"]).await;
    fill(&two.other, 2_000, 500).await;
    fill_with_large(&two.one, LARGE).await;
    two.other_is_served().await;
    let (held, statuses) = unread(&two.one, "/companies?limit=2000", 8).await;
    // A tenant has half of the responses' room alone: about seven of them.
    assert!(many(&statuses, 200) >= 6, "{statuses:?}");
    for _ in 0..5 {
        two.other_is_served().await;
    }
    let (other_held, statuses) = unread(&two.one, "/companies/extid-1", 64).await;
    // There is room for some of them, as those before are read or dropped.
    assert_eq!(many(&statuses, 200) + many(&statuses, 503), 64, "{statuses:?}");
    for _ in 0..5 {
        two.other_is_served().await;
    }
    let peak = peak_memory(two.server.id());
    println!("at most {peak} bytes of memory");
    assert!(peak < MEMORY_BYTES, "{peak} bytes");
    drop((held, other_held));
    whole_list_is_read(&two.one).await;
    two.server.kill().await;
}

/// A list whose records are read as they are sent is the same as one that is held.
async fn whole_list_is_read(client: &Client) {
    let path = "/companies?limit=2000&count=true";
    let list = client.get(path).await;
    assert_eq!(list.status, StatusCode::OK, "{}", list.body.len());
    let names = |list: &Response| -> Vec<String> {
        let list = list.json();
        let names = list.as_array().unwrap().iter();
        names.map(|company| company["name"].as_str().unwrap().to_owned()).collect()
    };
    let expected = ["Acme".to_owned()].into_iter().chain((0..LARGE).map(|name| name.to_string()));
    assert_eq!(names(&list), expected.collect::<Vec<_>>());
    assert_eq!(list.headers["svctrack-total"], (LARGE + 1).to_string().as_str());
    let etag = header(&list, "etag");
    let known = client.send(Method::GET, path, &[("if-none-match", etag)], "").await.unwrap();
    assert_eq!((known.status, known.body.len()), (StatusCode::NOT_MODIFIED, 0));
    let packed = [("accept-encoding", "gzip")];
    let packed = client.send(Method::GET, path, &packed, "").await.unwrap();
    assert_eq!((header(&packed, "content-encoding"), header(&packed, "etag")), ("gzip", etag));
    let mut unpacked = Vec::new();
    std::io::copy(&mut flate2::read::MultiGzDecoder::new(&packed.body[..]), &mut unpacked).unwrap();
    assert!(unpacked == list.body);
    let first = client.get("/companies?limit=1").await.json();
    let csv = client.send(Method::GET, path, &[("accept", "text/csv")], "").await.unwrap();
    let mut lines = csv.text().lines();
    assert!(lines.next().unwrap().starts_with("_id,"));
    assert!(lines.next().unwrap().starts_with(first[0]["_id"].as_str().unwrap()));
    assert_eq!(
        (lines.count(), header(&csv, "content-length")),
        (LARGE, csv.body.len().to_string().as_str())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_whose_lists_nobody_reads_leaves_room_to_others() {
    let two = Two::start(&["--cache-mb", "64"]).await;
    fill(&two.other, 2_000, 500).await;
    fill(&two.one, 2_000, 1_500).await;
    let (_held, statuses) = unread(&two.one, "/companies?limit=2000", 150).await;
    // Each has 3 MB or more; the system takes some of it.
    assert!(many(&statuses, 200) >= 4 && many(&statuses, 503) > 0, "{statuses:?}");
    assert_eq!(many(&statuses, 200) + many(&statuses, 503), 150);
    for _ in 0..5 {
        two.other_is_served().await;
    }
    // What is small needs no room.
    assert_eq!(two.one.get("/companies?limit=10").await.status, StatusCode::OK);
    let peak = peak_memory(two.server.id());
    assert!(peak < MEMORY_BYTES, "{peak} bytes");
    two.server.kill().await;
}

/// Maximum memory of all compressors, and of what the allocator retains of it, in bytes.
const COMPRESSORS_BYTES: u64 = 32 * 1024 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn compressed_responses_that_nobody_reads_take_little_memory() {
    let two = Two::start(&["--cache-mb", "64"]).await;
    fill(&two.one, 2_000, 500).await;
    for coding in ["br", "zstd", "gzip"] {
        two.one
            .send(Method::GET, "/openapi.json", &[("accept-encoding", coding)], "")
            .await
            .unwrap();
    }
    let before = peak_memory(two.server.id());
    let mut held = Vec::new();
    for (path, count) in
        [("/openapi.json", 64), ("/docs/specification", 64), ("/companies?limit=2000", 2)]
    {
        for coding in ["br", "zstd", "gzip"] {
            let (some, statuses) = unread_in(&two.one, path, coding, count).await;
            assert_eq!(many(&statuses, 200), count, "{path} {coding}");
            held.push(some);
        }
    }
    let more = peak_memory(two.server.id()) - before;
    println!("{more} bytes of memory more");
    assert!(more < COMPRESSORS_BYTES, "{more} bytes");
    two.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_to_bulk_upserts_that_nobody_reads_take_a_share_of_the_room() {
    let two = Two::start(&["--cache-mb", "64"]).await;
    let long = "x".repeat(500);
    let items = json!(vec![json!({"externalId": long, "sourceId": long}); 5_000]).to_string();
    let put = |number: usize| {
        let (one, items) = (&two.one, &items);
        async move {
            unread_sent(
                one,
                Method::PUT,
                &format!("/products?n={number}"),
                JSON.1,
                items.as_bytes(),
            )
            .await
        }
    };
    let (_held, statuses): (Vec<_>, Vec<_>) =
        stream::iter(0..40).map(put).buffer_unordered(2).unzip().await;
    assert!(many(&statuses, 200) >= 2 && many(&statuses, 503) > 0, "{statuses:?}");
    two.other_is_served_alone().await;
    let peak = peak_memory(two.server.id());
    println!("at most {peak} bytes of memory");
    assert!(peak < MEMORY_BYTES, "{peak} bytes");
    two.server.kill().await;
}

/// Gives a company 3.4 MB of custom data; returns it without that.
async fn enlarge(client: &Client) -> Value {
    let mut company = Value::Null;
    for part in 0..4 {
        let text = "x".repeat(60_000);
        let members = (0..14).map(|number| (format!("{part} {number}"), json!(text)));
        let large = json!({"custom": Value::Object(members.collect())}).to_string();
        let sent = client.send(Method::PUT, "/companies/extid-acme", &[JSON], large).await;
        company = sent.unwrap().json();
    }
    company["custom"].take();
    company
}

#[tokio::test(flavor = "multi_thread")]
async fn records_returned_by_writes_that_nobody_reads_take_a_share_and_without_room_nothing_is_written()
 {
    const WRITES: usize = 60;
    let two = Two::start(&["--cache-mb", "64"]).await;
    let version = enlarge(&two.one).await["__v"].as_u64().unwrap();
    let write = |number: usize| {
        let (one, name) = (&two.one, json!({"name": number.to_string()}).to_string());
        let path = "/companies/extid-acme";
        async move { unread_sent(one, Method::PUT, path, JSON.1, name.as_bytes()).await }
    };
    let (held, statuses): (Vec<_>, Vec<_>) =
        stream::iter(0..WRITES).map(write).buffer_unordered(4).unzip().await;
    let (written, rejected) = (many(&statuses, 200), many(&statuses, 503));
    assert!(written >= 3 && rejected > 0, "{statuses:?}");
    assert_eq!(written + rejected, WRITES, "{statuses:?}");
    two.other_is_served_alone().await;
    let peak = peak_memory(two.server.id());
    println!("at most {peak} bytes of memory");
    assert!(peak < MEMORY_BYTES, "{peak} bytes");
    drop(held);
    let read = async {
        loop {
            let read = two.one.get("/companies/extid-acme").await;
            if read.status == StatusCode::OK {
                return read.json()["__v"].as_u64().unwrap();
            }
        }
    };
    let now = tokio::time::timeout(PATIENCE, read).await.unwrap();
    assert_eq!(now, version + written as u64);
    two.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_nobody_reads_take_a_share_of_the_room() {
    let two = Two::start(&["--cache-mb", "64"]).await;
    let token = two.one.authorization().unwrap().trim_start_matches("Bearer ").to_owned();
    let anybody = Client::new(&two.server.base, None);
    let reader = sign_in(&anybody, &token).await;
    let company = enlarge(&two.one).await;
    let path = format!("/app/records/companies/{}", company["_id"].as_str().unwrap());
    let headers = [("Cookie", reader.cookie.as_str())];
    let (mut held, mut statuses) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        let (stream, status) = unread_with(&two.one, Method::GET, &path, &headers, b"").await;
        held.push(stream);
        statuses.push(status);
    }
    assert!(statuses.first() == Some(&200) && many(&statuses, 503) > 0, "{statuses:?}");
    two.other_is_served_alone().await;
    let peak = peak_memory(two.server.id());
    println!("at most {peak} bytes of memory");
    assert!(peak < MEMORY_BYTES, "{peak} bytes");
    two.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_to_imports_that_nobody_reads_take_little_memory() {
    let two = Two::start(&["--cache-mb", "64"]).await;
    let row = json!({"email": "\u{1f642}".repeat(64)}).to_string() + "\n";
    let body = row.repeat(10_000);
    let import = |_| {
        let (one, body) = (&two.one, body.as_bytes());
        let path = "/import/endusers?refusals=10000";
        async move { unread_sent(one, Method::POST, path, "application/x-ndjson", body).await }
    };
    let imports = stream::iter(0..40).map(import).buffer_unordered(2);
    let (_held, statuses): (Vec<_>, Vec<_>) = imports.unzip().await;
    assert!(many(&statuses, 200) >= 4, "{statuses:?}");
    assert_eq!(many(&statuses, 200) + many(&statuses, 503), statuses.len(), "{statuses:?}");
    two.other_is_served_alone().await;
    let peak = peak_memory(two.server.id());
    println!("at most {peak} bytes of memory");
    assert!(peak < MEMORY_BYTES, "{peak} bytes");
    // All rows are counted; of long messages fewer are listed.
    let path = "/import/endusers?refusals=10000";
    let ndjson = [("content-type", "application/x-ndjson")];
    let summary = two.other.send(Method::POST, path, &ndjson, body).await.unwrap();
    assert!(summary.body.len() < 3 * 1024 * 1024, "{} bytes", summary.body.len());
    let summary = summary.json();
    assert_eq!(summary["refused"], 10_000);
    let listed = summary["refusals"].as_array().unwrap().len();
    assert!((1_000..10_000).contains(&listed), "{listed}");
    let too_many = two.one.send(Method::POST, "/import/endusers?refusals=10001", &[CSV], "").await;
    assert_eq!(too_many.unwrap().status, StatusCode::BAD_REQUEST);
    two.server.kill().await;
}

/// Rejected rows after which a body is read no further, and how many rows are stored at a time.
const MAX_REJECTED: usize = 131_072;
const PART: usize = 125;

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_rows_that_are_all_rejected_is_read_no_further_at_some_point() {
    let two = Two::start(&["--cache-mb", "64"]).await;
    let row = json!({"euExtId": "7", "cId": "acme", "action": "x"}).to_string();
    let body = format!("[{row},{}{row}]", "{},".repeat(11_000_000));
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(body.as_bytes()).unwrap();
    let (packed, anybody) = (packed.finish().unwrap(), Client::new(&two.server.base, None));
    let path = format!("/analytics/bulk/{TENANT}");
    let send = async || {
        let headers = [("content-encoding", "gzip")];
        anybody.send(Method::POST, &path, &headers, packed.clone()).await.unwrap()
    };
    let others = async {
        let row = json!({"euExtId": "7", "cId": "acme", "action": "y".repeat(1_500_000)});
        let body = json!([row]).to_string();
        let started = Instant::now();
        for _ in 0..5 {
            let path = two.other_events.replace("/analytics/", "/analytics/bulk/");
            let sent = two.other.send(Method::POST, &path, &[JSON], body.clone()).await.unwrap();
            assert_eq!(sent.status, StatusCode::OK, "{}", sent.text());
        }
        started.elapsed()
    };
    let (first, _, _, took) = tokio::join!(send(), send(), send(), others);
    let read = (MAX_REJECTED + 1).next_multiple_of(PART);
    let expected = format!(
        "the rows before index {read} were read: 1 of them are stored, {} rejected; send those from index {read} on again",
        read - 1
    );
    assert_eq!(first.json()["code"], "too_many_rejected", "{}", first.text());
    assert!(first.text().contains(&expected), "{}", first.text());
    println!("others waited for {took:?}");
    // None of what was not read is stored.
    assert_eq!(two.one.actions().await.len(), 3);
    two.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_beyond_the_daily_limit_reports_which_rows_are_stored() {
    let two = Two::start(&["--tracking-daily-mb", "1"]).await;
    let row = |number: usize| json!({"euExtId": "7", "cId": "acme", "action": number.to_string(), "info": {"x": "x".repeat(1_000)}});
    let rows: Vec<_> = (0..2_000).map(row).collect();
    let path = format!("/analytics/bulk/{TENANT}");
    let sent = two.one.post(&path, &json!(rows)).await;
    let problem = sent.json();
    assert_eq!(
        (sent.status, problem["code"].as_str()),
        (StatusCode::TOO_MANY_REQUESTS, Some("daily_limit_reached"))
    );
    assert!(sent.headers.contains_key("retry-after"));
    let (_, read) =
        problem["detail"].as_str().unwrap().split_once("the rows before index ").unwrap();
    let read: usize = read.split_once(' ').unwrap().0.parse().unwrap();
    assert!(read > 0 && read < rows.len(), "{problem}");
    let stored = two.one.get("/activities?limit=2000").await.json();
    assert_eq!(stored.as_array().unwrap().len(), read, "{problem}");
    two.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_that_listens_to_many_streams_leaves_some_to_others() {
    let two = Two::start(&[]).await;
    let (_held, statuses) = unread(&two.one, "/activities/stream", 256).await;
    assert_eq!((many(&statuses, 200), many(&statuses, 503)), (128, 128));
    let (_other, statuses) = unread(&two.other, "/activities/stream", 50).await;
    assert_eq!(many(&statuses, 200), 50);
    two.server.kill().await;
}

async fn keyed(client: &Client, path: &str, key: &str, body: &Value) -> Response {
    client
        .send(Method::POST, path, &[JSON, ("idempotency-key", key)], body.to_string())
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_events_push_out_none_of_those_of_calls() {
    let two = Two::start(&[]).await;
    let product = json!({"name": "Plan"});
    let first = keyed(&two.one, "/products", "k", &product).await;
    let anybody = Client::new(&two.server.base, None);
    let path = format!("/analytics/{TENANT}");
    let event = json!({"externalId": "7", "companyExternalId": "acme"});
    let send = |number: usize| {
        let (anybody, path, event) = (&anybody, &path, &event);
        async move {
            assert_eq!(keyed(anybody, path, &number.to_string(), event).await.text(), "OK");
        }
    };
    stream::iter(0..10_050).map(send).buffer_unordered(64).collect::<Vec<()>>().await;
    let again = keyed(&two.one, "/products", "k", &product).await;
    assert!(again.headers.contains_key("idempotent-replayed"));
    assert_eq!(again.text(), first.text());
    let again = keyed(&anybody, &path, "0", &event).await;
    assert!(again.headers.contains_key("idempotent-replayed"));
    two.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_waits_makes_room_for_no_other_one() {
    let two = Two::start(&[]).await;
    let event = |action: &str, company: &str| json!({"externalId": action, "companyExternalId": company, "action": action});
    assert_eq!(two.one.track(&event("first", "late")).await.unwrap().text(), "OK");
    let row = |number: usize| json!({"euExtId": number.to_string(), "cId": "never", "action": "x"});
    let rows: Vec<_> = (0..10_100).map(row).collect();
    let path = format!("/analytics/bulk/{TENANT}");
    let sent = two.one.post(&path, &json!(rows)).await;
    assert_eq!((sent.status, header(&sent, "svctrack-rejected-count")), (StatusCode::OK, "101"));
    assert!(header(&sent, "svctrack-rejected").starts_with("9999,10000,"));
    let row = json!([row(0)]);
    for rejected in
        [two.one.track(&event("second", "late")).await.unwrap(), two.one.post(&path, &row).await]
    {
        assert_eq!(
            (rejected.status, rejected.json()["code"].as_str()),
            (StatusCode::TOO_MANY_REQUESTS, Some("too_many_parked"))
        );
        assert!(rejected.headers.contains_key("retry-after"));
    }
    let acme = json!({"name": "Late", "externalId": "late"});
    assert_eq!(two.one.post("/companies", &acme).await.status, StatusCode::OK);
    let started = std::time::Instant::now();
    while two.one.actions().await != ["first"] {
        assert!(started.elapsed() < PATIENCE, "it does not go on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(two.one.track(&event("second", "late")).await.unwrap().text(), "OK");
    assert_eq!(two.one.actions().await, ["second", "first"]);
    two.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_rejected_use_up_nothing_of_a_tenants_rate() {
    let two = Two::start(&["--tracking-rate-limit", "30"]).await;
    let anybody = Client::new(&two.server.base, None);
    let path = format!("/analytics/{TENANT}");
    let rejected = async |body: &'static str, path: String| {
        for _ in 0..200 {
            let response = anybody.send(Method::POST, &path, &[], body).await.unwrap();
            assert!([400, 422].contains(&response.status.as_u16()), "{}", response.text());
        }
    };
    // The key of another event.
    let reused = async || {
        for number in 0..200 {
            let event = json!({"externalId": "7", "companyExternalId": "acme", "action": number.to_string()});
            let response = keyed(&anybody, &path, "k", &event).await;
            assert_eq!(response.status.is_success(), number == 0, "{}", response.text());
        }
    };
    // Their rows are rejected, and calls without a user ignored.
    let nothing_stored = async |body: &'static str, path: &str| {
        for _ in 0..200 {
            let pipeline = anybody.as_pipeline();
            let response = pipeline.send(Method::POST, path, &[JSON], body).await.unwrap();
            assert_eq!(response.status, StatusCode::OK, "{}", response.text());
        }
    };
    let bulk = format!("/analytics/bulk/{TENANT}");
    tokio::join!(
        rejected("{", path.clone()),
        rejected(r#"{"action": "x"}"#, path.clone()),
        rejected("[{}, ", bulk.clone()),
        reused(),
        nothing_stored("[{}]", &bulk),
        nothing_stored(r#"{"type": "track", "event": "x"}"#, "/dock/segment"),
    );
    let event = json!({"externalId": "7", "companyExternalId": "acme", "action": "x"});
    for _ in 0..60 {
        assert_eq!(two.one.track(&event).await.unwrap().text(), "OK");
    }
    two.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_of_rejected_and_repeated_calls_do_not_count_against_the_daily_limit() {
    let two = Two::start(&["--tracking-daily-mb", "1"]).await;
    let anybody = Client::new(&two.server.base, None);
    let event = |action: &str| json!({"externalId": "7", "companyExternalId": "acme", "action": action, "info": {"note": "x".repeat(50_000)}});
    let row = |action: &str| json!([{"euExtId": "7", "cId": "acme", "action": action, "info": {"note": "x".repeat(50_000)}}]);
    let (path, bulk) = (format!("/analytics/{TENANT}"), format!("/analytics/bulk/{TENANT}"));
    for (path, first, other) in [(path, event("a"), event("b")), (bulk, row("a"), row("b"))] {
        for _ in 0..50 {
            assert_eq!(keyed(&anybody, &path, "k", &first).await.text(), "OK");
            let reused = keyed(&anybody, &path, "k", &other).await;
            assert_eq!(reused.json()["code"], "idempotency_key_reused", "{}", reused.text());
        }
    }
    two.server.kill().await;
}

/// How many events of each sender, by its `X-Forwarded-For`, are taken until the limit of the day is reached.
async fn taken_in_a_day(two: &Two, event: &Value, senders: &[&str]) -> Vec<usize> {
    let path = format!("/analytics/{TENANT}");
    let mut taken = Vec::new();
    for sender in senders {
        let mut count = 0;
        let rejected = loop {
            let headers = [("x-forwarded-for", *sender)];
            let sent = two.one.send(Method::POST, &path, &headers, event.to_string());
            let response = sent.await.unwrap();
            if response.status != StatusCode::OK {
                break response;
            }
            count += 1;
        };
        taken.push(count);
        assert_eq!(
            (rejected.status, rejected.json()["code"].as_str()),
            (StatusCode::TOO_MANY_REQUESTS, Some("daily_limit_reached"))
        );
        let seconds: u64 = header(&rejected, "retry-after").parse().unwrap();
        assert!((1..=86_401).contains(&seconds));
    }
    taken
}

#[tokio::test(flavor = "multi_thread")]
async fn what_senders_may_have_stored_in_a_day_is_limited_for_a_tenant_and_an_address() {
    let note = "x".repeat(60_000);
    let event = json!({"externalId": "7", "companyExternalId": "acme", "action": "x", "info": {"note": note}});
    // A proxy on the same machine says for whom it speaks, and one on another machine, that it trusts, before it.
    for senders in [
        ["192.0.2.1", "192.0.2.1, 192.0.2.2", "192.0.2.3"],
        ["192.0.2.1, 10.0.0.4", "192.0.2.1, 192.0.2.2, 10.0.0.4", "192.0.2.3,10.0.0.5,10.0.0.4"],
    ] {
        let flags = ["--tracking-daily-mb", "1", "--trusted-proxies", "10.0.0.0/8"];
        let two = Two::start(&flags).await;
        // Of the 17 that there is room for.
        assert_eq!(taken_in_a_day(&two, &event, &senders).await, [8, 4, 2], "{senders:?}");
        assert_eq!(two.other.post(&two.other_events, &event).await.text(), "OK");
        let product = json!({"name": "Plan"});
        assert_eq!(two.one.post("/products", &product).await.status, StatusCode::OK);
        two.server.kill().await;
    }
}

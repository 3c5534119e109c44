//! What a server has to do on a day, for a build that is to be good at it: events one by one and in bodies of
//! thousands, records written and read, lists and searches, and a mix of all that changes anything.
//!
//! `SVCTRACK_BINARY` names the server. It is ended by a signal, as a program that counts writes its counts
//! when it ends.

use futures_util::future::join_all;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::Client,
    data::{self, BULK, COMPANIES, USERS, scattered},
    model::Random,
    process::{Remote, Server},
    workload::{self, Sender},
};

/// Connections that events come on, one by one: enough of them for a commit to have many.
const CONNECTIONS: usize = 256;
/// Events of each. What is done most must be what is meant to be fast, and a body or a list does much at once.
const EVENTS: usize = 800;
/// Connections that records are read on, and how many of them.
const READERS: usize = 64;
const READS: usize = 1_500;
/// Bodies of many events, and rows of each.
const BODIES: usize = 10;
const ROWS: usize = 5_000;
/// Those who change a bit of everything, with all commands that there are, and how many requests each of them makes.
const MIXERS: usize = 8;
const MIXED: usize = 200;
/// How often what reads much is requested.
const LONG_READS: usize = 3;

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
    let server = Server::start_with_operator(folder.path(), &token, &operator, &[]).await;
    let client = server.client.clone();
    write_records(&client).await;
    join_all((0..CONNECTIONS).map(|number| spawned(send_events(client.clone(), number)))).await;
    join_all((0..READERS).map(|number| spawned(read_records(client.clone(), number)))).await;
    send_bodies(&client).await;
    read_much(&client).await;
    let remote = Remote::for_server(&server, &operator);
    workload::found(&remote).await;
    join_all((0..MIXERS).map(|number| spawned(mix(remote.clone(), number)))).await;
    server.stop().await;
}

/// Runs concurrently with the others.
async fn spawned(work: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(work).await.unwrap();
}

/// New records, and the same once more with other values.
async fn write_records(client: &Client) {
    data::load(client, "/companies", COMPANIES, data::company).await;
    data::load(client, "/endusers", USERS, data::user).await;
    data::load(client, "/licenses", BULK, data::license).await;
    data::load(client, "/tickets", BULK, data::ticket).await;
    for mrr in [100, 100, 120] {
        data::upsert(client, "/products", &data::products(0, mrr)).await;
    }
}

/// An event with an id that ascends.
fn event(number: usize) -> Value {
    let user = scattered(number, USERS);
    json!({"externalId": format!("u{user}"), "companyExternalId": format!("c{}", user % COMPANIES),
           "action": "Opened report", "info": {"pages": 3},
           "messageId": format!("01997f3c-{:04x}-7000-8000-{:012x}", number >> 16, number)})
}

async fn send_events(client: Client, connection: usize) {
    for round in 0..EVENTS {
        let sent = client.track(&event(round * CONNECTIONS + connection)).await.unwrap();
        assert_eq!(sent.status, StatusCode::OK, "{}", sent.text());
    }
}

/// Reads a record by one id and by the other, and the page of a list now and then.
async fn read_records(client: Client, connection: usize) {
    for round in 0..READS {
        let number = scattered(round * READERS + connection, BULK);
        let record = get(&client, &format!("/products/extid-ext-{number}")).await;
        get(&client, &format!("/products/{}", record["_id"].as_str().unwrap())).await;
        if round % 100 == 0 {
            get(&client, &format!("/endusers/extid-u{number}")).await;
            get(&client, &format!("/products?limit=100&offset={number}")).await;
        }
    }
}

async fn get(client: &Client, path: &str) -> Value {
    let response = client.get(path).await;
    assert_eq!(response.status, StatusCode::OK, "{path}: {}", response.text());
    response.json()
}

async fn send_bodies(client: &Client) {
    let first = CONNECTIONS * EVENTS;
    for body in 0..BODIES {
        let numbers = first + body * ROWS..first + (body + 1) * ROWS;
        let rows: Value = numbers.map(event).collect();
        let path = format!("/analytics/bulk/{TENANT}");
        let json = [("content-type", "application/json")];
        let sent = client.send(Method::POST, &path, &json, rows.to_string()).await.unwrap();
        assert_eq!(sent.status, StatusCode::OK, "{}", sent.text());
    }
}

/// Lists that are sorted, filtered and searched, and those of one user.
async fn read_much(client: &Client) {
    for number in 0..LONG_READS {
        for path in [
            "/tickets?search=zebra".to_owned(),
            "/licenses?sort=-value&limit=100".to_owned(),
            format!("/licenses?companyId=extid-c{number}"),
            "/products?limit=2000".to_owned(),
            "/activities?limit=2000".to_owned(),
            format!("/activities?endUserId=extid-u{number}"),
        ] {
            get(client, &path).await;
        }
    }
}

/// All that changes anything.
async fn mix(remote: Remote, number: usize) {
    Sender::new(number, Random::seeded(number as u64)).send(&remote, MIXED).await;
}

//! The audit log: what is written down of each write, in the same commit, and who may read it.

use std::{collections::BTreeSet, fs, sync::Arc};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_core::value::{TenantId, Timestamp};
use svctrack_store::{Actor, Tenant};
use svctrack_tests::{
    TENANT,
    client::Client,
    direct::Direct,
    disk::{Disk, Fault, UnsyncedChanges},
    in_process::{InProcess, StillClock},
    model::Random,
    project,
};

const AUDIT: &str = "/audit";

async fn entries(client: &Client, query: &str) -> Vec<Value> {
    let response = client.get(&format!("{AUDIT}?{query}")).await;
    assert_eq!(response.status, StatusCode::OK, "{}", response.text());
    response.json().as_array().unwrap().clone()
}

async fn create(client: &Client, name: &str) -> String {
    let made = client.post("/companies", &json!({"name": name, "mrr": 5})).await;
    assert_eq!(made.status, StatusCode::OK, "{}", made.text());
    made.json()["_id"].as_str().unwrap().to_owned()
}

async fn rename(client: &Client, id: &str, name: &str) {
    let body = json!({"name": name}).to_string();
    let json = [("content-type", "application/json")];
    let done = client.send(Method::PUT, &format!("/companies/{id}"), &json, body).await.unwrap();
    assert_eq!(done.status, StatusCode::OK, "{}", done.text());
}

/// The hashes of the name before and after, of the entries of a company, newest first.
async fn hashes(client: &Client, id: &str) -> Vec<(Value, Value)> {
    let found = entries(client, &format!("resource=companies&id={id}&action=company.update")).await;
    let names = found.iter().map(|entry| &entry["changes"][0]["properties"]["name"]);
    names.map(|name| (name["beforeHash"].clone(), name["afterHash"].clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_documented_action_is_a_filter() {
    let server = InProcess::start().await;
    let text = fs::read_to_string(project().join("server/docs/audit.md")).unwrap();
    let rows = text.lines().skip_while(|line| !line.starts_with("| Action |")).skip(2);
    let cells = rows.map_while(|row| row.strip_prefix("| ")?.split(" | ").next());
    let actions: Vec<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert!(actions.len() > 20, "{actions:?}");
    for action in actions {
        entries(&server.client, &format!("action={action}")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_values_have_equal_hashes_in_one_tenant_and_others_in_another() {
    let server = InProcess::start().await;
    let made = server.operator.post("/tenants", &json!({"name": "other"})).await.json();
    let other = server.client.with_token(made["token"]["token"].as_str().unwrap());
    let mut of_tenants = Vec::new();
    for client in [&server.client, &other] {
        let id = create(client, "Acme").await;
        rename(client, &id, "Bar").await;
        rename(client, &id, "Acme").await;
        let found = hashes(client, &id).await;
        let [(before, after), (first_before, first_after)] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((before, after), (first_after, first_before));
        assert_ne!(before, after);
        assert_eq!(after.as_str().map(str::len), Some(32));
        of_tenants.push(found);
    }
    assert_ne!(of_tenants[0], of_tenants[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_has_the_id_of_its_request_and_only_what_changed() {
    let server = InProcess::start().await;
    let id = create(&server.client, "Acme").await;
    let body = json!({"name": "Acme", "description": "new"}).to_string();
    let json = [("content-type", "application/json")];
    let path = format!("/companies/{id}");
    let done = server.client.send(Method::PATCH, &path, &json, body).await.unwrap();
    let request = done.headers["x-request-id"].to_str().unwrap();
    let found = entries(&server.client, &format!("requestId={request}")).await;
    assert_eq!(found.len(), 1);
    let properties = found[0]["changes"][0]["properties"].as_object().unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["description"]);
    assert!(properties["description"].get("beforeHash").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_write_of_a_tenant_has_a_number_of_its_own_and_no_tenant_sees_anothers() {
    let server = InProcess::start().await;
    let made = server.operator.post("/tenants", &json!({"name": "other"})).await.json();
    let other = server.client.with_token(made["token"]["token"].as_str().unwrap());
    let mut own = BTreeSet::new();
    for number in 0..20 {
        own.insert(create(&server.client, &format!("c{number}")).await);
        create(&other, &format!("d{number}")).await;
    }
    let found = entries(&server.client, "action=company.create").await;
    let ids: BTreeSet<String> =
        found.iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, own);
    let numbers: Vec<u64> = found.iter().map(|entry| entry["sequence"].as_u64().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] > pair[1]), "{numbers:?}");
    let id = own.first().unwrap();
    assert!(entries(&other, &format!("resource=companies&id={id}")).await.is_empty());
    assert!(entries(&server.operator, "action=company.create").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_together_are_the_whole_log() {
    let server = InProcess::start().await;
    let id = create(&server.client, "c").await;
    for number in 0..7 {
        rename(&server.client, &id, &format!("c{number}")).await;
    }
    for query in ["limit=1000".to_owned(), format!("limit=1000&resource=companies&id={id}")] {
        let all = entries(&server.client, &query).await;
        let mut paged = Vec::new();
        let mut path = format!("{AUDIT}?{}", query.replace("limit=1000", "limit=3"));
        loop {
            let page = server.client.get(&path).await;
            paged.extend(page.json().as_array().unwrap().clone());
            let Some(link) = page.headers.get("link") else { break };
            let link = link.to_str().unwrap();
            path = link[1..link.find('>').unwrap()].to_owned();
        }
        assert_eq!(paged, all);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn denied_access_is_written_once_a_minute_with_a_count() {
    let clock = Arc::new(StillClock::at(Timestamp::parse("2026-11-20T12:00:30Z").unwrap()));
    let server = InProcess::with_clock(clock.clone()).await;
    let made = json!({"label": "reader", "scopes": ["companies:read"]});
    let reader = server.client.post("/tokens", &made).await.json();
    let with_reader = server.client.with_token(reader["token"].as_str().unwrap());
    let stranger = server.client.with_token("svt_stranger");
    for _ in 0..5 {
        assert_eq!(with_reader.get(AUDIT).await.status, StatusCode::FORBIDDEN);
        assert_eq!(stranger.get("/companies").await.status, StatusCode::UNAUTHORIZED);
        assert_eq!(with_reader.get("/companies").await.status, StatusCode::OK);
    }
    server.app.write_denials(false).await;
    assert!(entries(&server.client, "outcome=denied").await.is_empty());
    clock.set(Timestamp::parse("2026-11-20T12:01:00Z").unwrap());
    server.app.write_denials(false).await;
    let of_tenant = entries(&server.client, "outcome=denied").await;
    let of_operator = entries(&server.operator, "outcome=denied").await;
    let [own] = &of_tenant[..] else { panic!("{of_tenant:?}") };
    let [strangers] = &of_operator[..] else { panic!("{of_operator:?}") };
    assert_eq!((&own["tokenId"], &own["cause"]), (&reader["_id"], &json!("admin")));
    assert_eq!((&own["count"], &own["action"]), (&json!(5), &json!("access.deny")));
    assert_eq!((&strangers["actor"], &strangers["count"]), (&json!("unknown"), &json!(5)));
    assert_eq!(strangers["address"], "127.0.0.1");
    server.app.write_denials(true).await;
    assert_eq!(entries(&server.client, "outcome=denied").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn old_entries_go_and_those_of_records_with_them() {
    let clock = Arc::new(StillClock::at(Timestamp::parse("2026-11-20T12:00:00Z").unwrap()));
    let server = InProcess::with_clock(clock.clone()).await;
    let json = [("content-type", "application/json")];
    let settings = json!({"auditRetentionDays": 2}).to_string();
    server.client.send(Method::PUT, "/settings", &json, settings).await.unwrap();
    let id = create(&server.client, "old").await;
    let many: Vec<_> =
        (0..600).map(|at| json!({"name": "x", "externalId": at.to_string()})).collect();
    let many = Value::from(many).to_string();
    server.client.send(Method::PUT, "/companies", &json, many).await.unwrap();
    clock.set(Timestamp::parse("2026-11-22T11:59:00Z").unwrap());
    rename(&server.client, &id, "new").await;
    let of_it = format!("resource=companies&id={id}");
    sweep(&server).await;
    assert_eq!(entries(&server.client, &of_it).await.len(), 2);
    clock.set(Timestamp::parse("2026-11-22T12:00:00Z").unwrap());
    sweep(&server).await;
    let left = entries(&server.client, "limit=1000").await;
    let actions: Vec<_> = left.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["company.update"]);
    assert_eq!(entries(&server.client, &of_it).await.len(), 1);
    assert!(entries(&server.client, "resource=companies&id=extid-7").await.is_empty());
}

async fn sweep(server: &InProcess) {
    let tenant = Tenant::assume_authorized(TenantId::parse(TENANT).unwrap());
    while server.store.sweep(Actor::service(tenant)).await.unwrap() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_person_is_in_no_entry_of_a_ticket_either() {
    let server = InProcess::start().await;
    let client = &server.client;
    let json = [("content-type", "application/json")];
    let settings = json!({"auditValues": true}).to_string();
    client.send(Method::PUT, "/settings", &json, settings).await.unwrap();
    create(client, "Acme").await;
    let company = json!({"name": "Acme", "externalId": "acme", "domains": ["acme.example"]});
    client.post("/companies", &company).await;
    let ada = json!({"externalId": "ada", "email": "Ada@acme.example", "companyId": "extid-acme"});
    client.post("/endusers", &ada).await;
    let mut ids = Vec::new();
    for source in ["kept", "deleted"] {
        let ticket = json!({"sourceId": source, "email": "Ada@acme.example", "description": "my number is 7"});
        let made = client.post("/tickets", &ticket).await;
        assert_eq!(made.status, StatusCode::OK, "{}", made.text());
        ids.push(made.json()["_id"].as_str().unwrap().to_owned());
        let body = json!({"description": "my number is 8"}).to_string();
        let path = format!("/tickets/srcid-{source}");
        client.send(Method::PUT, &path, &json, body).await.unwrap();
    }
    client.send(Method::DELETE, "/tickets/srcid-deleted", &[], "").await.unwrap();
    let log = client.get("/audit?limit=1000").await.text().to_owned();
    assert!(log.contains("Ada@acme") && log.contains("number is 8"), "{log}");
    let erased =
        client.send(Method::DELETE, "/endusers/extid-ada?erase=true", &[], "").await.unwrap();
    assert_eq!(erased.status, StatusCode::OK);
    let log = client.get("/audit?limit=1000").await.text().to_lowercase();
    for gone in ["ada@acme", "number is", "\"ada\""] {
        assert!(!log.contains(gone), "{gone}: {log}");
    }
    for id in ids {
        let found =
            entries(client, &format!("resource=tickets&id={id}&action=ticket.create")).await;
        assert_eq!(found.len(), 1);
    }
}

/// Writes before and after which the power goes, and operations on the disk from one cut to the next: a write takes
/// some ten.
const WRITES: usize = 12;
const OPERATIONS_BETWEEN: u64 = 7;

/// Sends creates, updates and bulk upserts until one is not acknowledged; returns the `externalId`s of those that were.
async fn write_until_cut(server: &Direct) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for number in 0..WRITES {
        let name = format!("c{number}");
        let body = json!({"name": name, "externalId": name});
        let (method, path, body) = match number % 3 {
            0 => (Method::POST, "/companies".to_owned(), body),
            1 => (
                Method::PUT,
                "/companies".to_owned(),
                json!([body, {"name": "Acme 2", "externalId": "c0"}]),
            ),
            _ => (Method::PATCH, "/companies/extid-c0".to_owned(), json!({"name": name})),
        };
        let (status, _) = server.send(method, &path, None, &body).await;
        if status != StatusCode::OK {
            break;
        }
        if number % 3 != 2 {
            acknowledged.push(name);
        }
    }
    acknowledged
}

/// Each version of a record is that of an entry, and each entry is that of a version.
async fn check_entries(server: &Direct, acknowledged: &[String]) {
    let companies = server.get("/companies?limit=2000").await;
    let companies = companies.as_array().unwrap();
    let stored: BTreeSet<&str> =
        companies.iter().map(|company| company["externalId"].as_str().unwrap()).collect();
    assert!(
        acknowledged.iter().all(|name| stored.contains(&**name)),
        "{acknowledged:?} {stored:?}"
    );
    let mut versions = 0;
    for company in companies {
        let path = format!("/audit?resource=companies&id={}", company["_id"].as_str().unwrap());
        let found = server.get(&path).await;
        let changes: Vec<&str> = found
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|entry| entry["changes"].as_array().unwrap())
            .map(|change| change["change"].as_str().unwrap())
            .collect();
        let count = |kind| changes.iter().filter(|change| **change == kind).count() as u64;
        assert_eq!((count("created"), count("updated")), (1, company["__v"].as_u64().unwrap()));
        versions += 1 + count("updated");
    }
    let all = server.get("/audit?resource=companies&limit=1000").await;
    let of_entries = |name| {
        all.as_array().unwrap().iter().map(|entry| entry[name].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(of_entries("created") + of_entries("updated"), versions);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_power_cut_each_write_has_its_entry_and_each_entry_its_write() {
    let clock = Arc::new(StillClock::at(Timestamp::parse("2026-11-20T12:00:00Z").unwrap()));
    let empty = Disk::with_store();
    let tokens = Direct::found(Box::new(empty.clone()), clock.clone()).await;
    let (mut random, mut cuts, mut at) = (Random::seeded(26), 0, OPERATIONS_BETWEEN);
    loop {
        let disk = empty.after_power_cut(UnsyncedChanges::All, &mut random);
        disk.fail(Fault::Power(disk.operations() + at));
        let opened = Direct::open(Box::new(disk.clone()), clock.clone(), tokens.clone());
        let acknowledged = match &opened {
            Ok(server) => write_until_cut(server).await,
            Err(_) => Vec::new(),
        };
        let is_over = !disk.is_off();
        for left in UnsyncedChanges::ALL {
            let found = disk.after_power_cut(left, &mut random);
            let server = Direct::open(Box::new(found), clock.clone(), tokens.clone()).unwrap();
            check_entries(&server, &acknowledged).await;
        }
        drop(opened);
        cuts += 1;
        at += OPERATIONS_BETWEEN;
        if is_over {
            break;
        }
    }
    assert!(cuts > WRITES, "only {cuts} power cuts");
}

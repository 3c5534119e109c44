//! The audit log: what is written down of each write, in the same commit, and who may read it.

use std::collections::BTreeSet;

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_tests::{client::Client, in_process::InProcess};

const AUDIT: &str = "/audit";

async fn entries(client: &Client, query: &str) -> Vec<Value> {
    let answer = client.get(&format!("{AUDIT}?{query}")).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    answer.json().as_array().unwrap().clone()
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
        let mut path = format!("{AUDIT}?{}", query.replace("1000", "3"));
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

//! Records out of a store and into another one: the same records, whatever the file.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};
use svctrack_core::resources::REGISTRY;
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::Client,
    process::{Server, command},
};

/// What a store gives a record by itself.
const OF_THE_STORE: [&str; 5] = ["_id", "__v", "createdAt", "updatedAt", "lastActive"];

async fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = command(folder).args(arguments).output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

async fn post(client: &Client, path: &str, body: Value) -> String {
    let answer = client.post(path, &body).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()["_id"].as_str().unwrap().to_owned()
}

/// Records of every resource: with keys and without, with references to each other, and with odd texts.
async fn fill(client: &Client) {
    let settings =
        json!({"currencies": {"base": "EUR", "rates": {"USD": 0.92}}, "timeZone": "Europe/Berlin"});
    let headers = [("content-type", "application/json")];
    let put = client.send(hyper::Method::PUT, "/settings", &headers, settings.to_string());
    assert_eq!(put.await.unwrap().status, 200);
    let custom = json!({"a": [1.10, "=x"], "b": {"c": null}, "1": -5});
    for n in 0..30 {
        let company = json!({"name": format!("=Company {n}"), "externalId": format!("c'{n}/ä"), "domains": [format!("c{n}.example")], "custom": custom, "tags": ["-a", "b,c"]});
        post(client, "/companies", company).await;
    }
    let keyless = post(client, "/companies", json!({"name": "without keys"})).await;
    post(client, "/products", json!({"name": "Plan", "externalId": "plan", "mrr": 100, "currency": "EUR", "fixedPeriod": true, "length": 12})).await;
    let user = post(client, "/users", json!({"name": "'Uma", "email": "uma@us.example"})).await;
    for n in 0..20 {
        let person = json!({"email": format!("p{n}@c{n}.example"), "firstName": "+P", "lastName": "\"q\"\n", "custom": {"n": n}});
        post(client, "/endusers", person).await;
    }
    post(client, "/endusers", json!({"externalId": "loner", "companyId": keyless})).await;
    for path in ["/assets", "/projects"] {
        post(client, path, json!({"name": "Thing", "externalId": "thing", "companyId": keyless}))
            .await;
    }
    let first = post(client, "/licenses", json!({"companyId": keyless, "product": "Plan", "externalId": "l1", "fromDate": "2026-01-01", "custom": custom})).await;
    post(client, "/licenses", json!({"companyId": "extid-c'3/ä", "_currency": "USD", "mrr": 33.33, "fromDate": "2026-02-01", "sourceId": "l2", "parent": first})).await;
    let entry = post(client, "/timeentries", json!({"date": "2026-03-01", "hours": 1.5})).await;
    let sheet = post(client, "/timesheets", json!({"dateFrom": 20_000, "dateTo": 20_006, "timeEntries": [entry], "assignedModel": "User", "assignedId": user})).await;
    let approved = json!({"status": "approved"}).to_string();
    let path = format!("/timesheets/{sheet}");
    assert_eq!(
        client.send(hyper::Method::PUT, &path, &headers, approved).await.unwrap().status,
        200
    );
    let ticket = json!([{"sourceId": "t1", "email": "p1@c1.example", "domains": ["c1.example"], "title": "@slow", "description": "<b>It</b> is", "status": "open", "type": "bug"}]);
    let put = client.send(hyper::Method::PUT, "/tickets", &headers, ticket.to_string());
    assert_eq!(put.await.unwrap().status, 200);
}

/// What a record is called, whatever its id.
fn name_of(record: &Value) -> String {
    let names = ["externalId", "sourceId", "email", "name", "date", "dateFrom"];
    let name = names.iter().map(|name| &record[*name]).find(|value| !value.is_null());
    name.map(ToString::to_string).unwrap_or_default()
}

/// The records of a tenant, without what the store gives them, and with names for ids.
async fn records(client: &Client) -> BTreeMap<&'static str, Vec<String>> {
    let mut lists = BTreeMap::new();
    for def in REGISTRY {
        let list = client.get(&format!("/{}?limit=2000", def.path)).await.json();
        lists.insert(def.path, list.as_array().unwrap().clone());
    }
    let names: Vec<(String, String)> = lists
        .iter()
        .flat_map(|(path, list)| list.iter().map(move |record| (path, record)))
        .map(|(path, record)| {
            (
                record["_id"].as_str().unwrap().to_owned(),
                format!("{path}:{}", name_of(record).replace('"', "")),
            )
        })
        .collect();
    let plain = |record: &Value| {
        let mut record = record.clone();
        for name in OF_THE_STORE {
            record.as_object_mut().unwrap().remove(name);
        }
        names.iter().fold(record.to_string(), |text, (id, name)| text.replace(id, name))
    };
    let plain = |list: Vec<Value>| {
        let mut texts: Vec<String> = list.iter().map(plain).collect();
        texts.sort();
        texts
    };
    lists.into_iter().map(|(path, list)| (path, plain(list))).collect()
}

/// The first token of a tenant that an import has made.
fn token_in(said: &str, tenant: &str) -> Token {
    let line = said.lines().find(|line| line.contains(tenant)).unwrap();
    Token::parse(line.rsplit(' ').next().unwrap()).unwrap()
}

async fn check(format: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (data, files, other) =
        (folder.path().join("data"), folder.path().join("files"), folder.path().join("other"));
    fs::create_dir(&data).unwrap();
    let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
    let flags = ["--bootstrap-operator-token", operator.reveal()];
    let server = Server::start_with(&data, &token, &flags).await;
    fill(&server.client).await;
    let second = server
        .client
        .with_token(operator.reveal())
        .post("/tenants", &json!({"name": "two"}))
        .await
        .json();
    let (second_id, second_token) =
        (second["_id"].as_str().unwrap(), second["token"]["token"].as_str().unwrap());
    post(&server.client.with_token(second_token), "/companies", json!({"name": "of the second"}))
        .await;
    let before =
        [records(&server.client).await, records(&server.client.with_token(second_token)).await];
    server.kill().await;

    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let arguments = [
        "export",
        "--all-tenants",
        "--format",
        format,
        "--data",
        &text(&data),
        "--to",
        &text(&files),
    ];
    let (code, _, said) = run(folder.path(), &arguments).await;
    assert_eq!(code, Some(0), "{said}");
    let import = ["import", "--all-tenants", "--data", &text(&other), "--from", &text(&files)];
    let (code, told, said) = run(folder.path(), &import).await;
    assert_eq!(code, Some(0), "{told} {said}");
    let tokens = [token_in(&said, TENANT), token_in(&said, second_id)];
    let server = Server::start(&other, &tokens[0]).await;
    for (before, token) in before.iter().zip(&tokens) {
        let after = records(&server.client.with_token(token.reveal())).await;
        for (path, records) in before {
            for record in records {
                assert!(
                    after[path].contains(record),
                    "{path}: {record} is none of {:#?}",
                    after[path]
                );
            }
            // The token that the import makes has a user of its own.
            let own = usize::from(*path == "users");
            assert_eq!(after[path].len(), records.len() + own, "{path}: {:#?}", after[path]);
        }
    }
    let settings = server.client.get("/settings").await.json();
    assert_eq!(settings["timeZone"], "Europe/Berlin");
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_exported_as_ndjson_is_the_same_when_it_is_imported_elsewhere() {
    check("ndjson").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_exported_as_csv_is_the_same_when_it_is_imported_elsewhere() {
    check("csv").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_is_refused_is_told_with_its_line_and_stops_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start(folder.path(), &token).await;
    let files = folder.path().join("files");
    fs::create_dir(&files).unwrap();
    let companies = "{\"name\":\"A\",\"externalId\":\"a\"}\n\n{\"externalId\":\"b\"}\n{\"name\":\"C\",\"colour\":1}\n{\n{\"name\":\"D\",\"externalId\":\"d\"}\n";
    fs::write(files.join("companies.ndjson"), companies).unwrap();
    fs::write(files.join("tickets.csv"), "sourceId,email,companyId\nt1,nobody,\nt2,x@y.example,\n")
        .unwrap();
    let from = files.to_str().unwrap();
    let arguments =
        ["import", "--json", "--server", &server.base, "--token", token.reveal(), "--from", from];
    let (code, told, said) = run(folder.path(), &arguments).await;
    assert_eq!(code, Some(2), "{said}");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["companies"], json!({"taken": 2, "refused": 3}), "{said}");
    for part in [
        "companies.ndjson line 3: `name` is required",
        "companies.ndjson line 4: `colour` is not known",
        "companies.ndjson line 5: ",
        "tickets.csv line 2: `email`",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(server.client.get("/companies/extid-d").await.status, 200);
    fs::remove_file(files.join("companies.ndjson")).unwrap();
    fs::write(files.join("tickets.csv"), "sourceId,colour\nt1,red\n").unwrap();
    let (code, _, said) = run(folder.path(), &arguments).await;
    assert!(code == Some(1) && said.contains("the column `colour` is not known"), "{said}");
    server.kill().await;
}

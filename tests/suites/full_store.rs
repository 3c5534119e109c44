//! A store with every field of every resource set, exported, imported into an empty one, and exported again: both
//! exports have the same content, except for properties that a store sets (R51).

use std::{collections::BTreeMap, fs, path::Path};

use hyper::Method;
use serde_json::{Value, json};
use svctrack_core::{
    resources::{self, REGISTRY},
    schema::{FieldDef, FieldKind},
};
use svctrack_server::auth::Token;
use svctrack_tests::{
    client::Client,
    process::{Server, command},
};

/// Properties that a store sets, or computes from activities, which are not exported, or from the current time.
const OF_THE_STORE: &[&str] = &[
    "_id",
    "__v",
    "updatedAt",
    "lastActive",
    "beats",
    "beatsTotal",
    "beatTrend",
    "activityState",
    "experience",
    "renewalDaysFromNow",
];
const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

/// A record as a file has it: the text of each property.
type Record = BTreeMap<String, String>;

/// Any value that a row takes.
fn value_of(row: &FieldDef) -> Value {
    match row.kind {
        FieldKind::Text if !row.values.is_empty() => json!(row.values[0]),
        FieldKind::Text => json!(full_text(row.name)),
        FieldKind::Key => json!(format!("'{}/ä", row.name)),
        FieldKind::Email => json!(format!("{}@c.example", row.name)),
        FieldKind::Texts => json!(["a,b", "-c|d"]),
        FieldKind::Values => json!([{"k": 1.5}, "v"]),
        FieldKind::Object => json!({"a": [1.5, "=x"], "b": {"c": null}, "1": -5}),
        FieldKind::Date => json!("2021-05-04T03:02:01.006Z"),
        FieldKind::Integer | FieldKind::Number => json!(3),
        FieldKind::Bool => json!(true),
        FieldKind::Id | FieldKind::Reference | FieldKind::References => Value::Null,
    }
}

/// A body with every row that a caller sets; `own` are the values that have to fit together.
fn full(name: &str, own: Value) -> Value {
    let def = resources::by_name(name).unwrap();
    let sent = def.fields.iter().filter(|row| row.is_sent() && !row.prepared);
    let mut body: BTreeMap<&str, Value> = sent.map(|row| (row.name, value_of(row))).collect();
    let own = own.as_object().unwrap();
    body.extend(own.iter().map(|(name, value)| (name.as_str(), value.clone())));
    json!(body)
}

async fn send(client: &Client, method: Method, path: &str, body: Value) -> Value {
    let response = client.send(method, path, JSON, body.to_string()).await.unwrap();
    assert_eq!(response.status, 200, "{path}: {}", response.text());
    response.json()
}

async fn post(client: &Client, path: &str, body: Value) -> String {
    send(client, Method::POST, path, body).await["_id"].as_str().unwrap().to_owned()
}

/// A record of each resource with all its rows, and one with as few as there can be.
async fn fill(client: &Client) {
    let company = full("company", json!({"domains": ["c.example"], "externalId": "c"}));
    let company = post(client, "/companies", company).await;
    post(client, "/companies", json!({"name": "Plain", "externalId": "plain"})).await;
    let user = post(client, "/users", full("user", json!({}))).await;
    post(client, "/users", json!({"email": "plain@us.example", "externalId": "plain"})).await;
    post(client, "/users", json!({"firstName": "Uma", "lastName": "Thor", "externalId": "u"}))
        .await;
    post(client, "/products", full("product", json!({"mrr": 12.5}))).await;
    post(client, "/products", json!({"name": "Plain", "externalId": "plain"})).await;
    let person = json!({"companyId": company, "otherEmails": ["Other@home.example"]});
    post(client, "/endusers", full("enduser", person)).await;
    post(client, "/endusers", json!({"companyId": "extid-plain", "externalId": "plain"})).await;
    let of_company = || json!({"companyId": company});
    post(client, "/assets", full("asset", of_company())).await;
    post(client, "/assets", json!({"name": "Plain", "externalId": "plain"})).await;
    let project = post(client, "/projects", full("project", of_company())).await;
    post(client, "/projects", json!({"name": "Plain", "externalId": "plain"})).await;
    fill_licenses(client, &company).await;
    let entry = json!({"companyId": company, "userId": user, "projectId": project, "hours": 1.5});
    let entry = post(client, "/timeentries", full("timeentry", entry)).await;
    let plain = json!({"date": "2026-03-01", "hours": 2, "externalId": "plain"});
    post(client, "/timeentries", plain).await;
    let sheet = json!({"timeEntries": [entry], "assignedId": user, "approvedBy": user, "status": "approved"});
    let sheet = full("timesheet", sheet);
    let id = post(client, "/timesheets", sheet.clone()).await;
    send(client, Method::PUT, &format!("/timesheets/{id}"), sheet).await;
    post(client, "/timesheets", json!({"externalId": "plain"})).await;
    fill_tickets(client, &company, &user).await;
    let event = json!({"externalId": "plain", "action": "Login"});
    assert_eq!(client.track(&event).await.unwrap().text(), "OK");
}

async fn fill_licenses(client: &Client, company: &str) {
    let plain = json!({"companyId": "extid-plain", "_currency": "USD", "mrr": 33.33, "fromDate": "2026-02-01", "externalId": "plain"});
    let parent = post(client, "/licenses", plain).await;
    let own = json!({
        "companyId": company, "parent": parent, "_currency": "EUR", "fixedPeriod": true,
        "fromDate": "2026-01-01T00:00:00.000Z", "toDate": "2027-01-01T00:00:00.000Z", "length": 12,
        "mrr": 100, "arr": 1200, "value": 1200, "renewalMrr": 110, "renewalArr": 1320,
        "fcNewMrr": 10, "fcNewArr": 120, "fcNewMrrOptimistic": 20, "fcNewArrOptimistic": 240,
        "fcNewMrrPessimistic": 5, "fcNewArrPessimistic": 60,
        "invoiceCycle": "custom", "invoiceCycleInterval": 5,
    });
    post(client, "/licenses", full("license", own)).await;
    let (from, to) = ("2026-01-01", "2027-01-01");
    for (number, own) in [
        json!({}),
        json!({"fixedPeriod": true, "fromDate": from, "toDate": to, "mrr": 0}),
        json!({"fixedPeriod": true, "fromDate": from, "toDate": "2026-01-01T00:00:30Z", "value": 9}),
        json!({"fixedPeriod": true, "fromDate": from, "toDate": "3100-01-01", "mrr": 1}),
        json!({"fromDate": "2999-01-01", "mrr": 1, "renewalStatus": "lost"}),
        json!({"renewalStatus": "lost", "product": full_text("name")}),
    ]
    .into_iter()
    .enumerate()
    {
        let mut license = json!({"companyId": company, "externalId": format!("odd {number}")});
        license.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        post(client, "/licenses", license).await;
    }
    // Nothing but its id names it, and another license.
    let keyless = json!({"companyId": company, "parent": parent, "custom": {"name": "keyless"}});
    post(client, "/licenses", keyless).await;
}

/// A text that a row has in every record with all rows.
fn full_text(name: &str) -> String {
    format!("=\"{name}\", a text\nof two lines")
}

async fn fill_tickets(client: &Client, company: &str, user: &str) {
    let own = json!({
        "companyId": company, "companyExternalId": "c", "users": [user], "domains": ["c.example"],
        "history": [
            {"status": "new", "time": "2021-06-21T08:00:00.000Z"},
            {"status": "open", "time": "2021-06-22T08:00:00.000Z"},
        ],
        "createDate": "2021-05-01T00:00:00.000Z", "date": "2021-05-02T00:00:00.000Z",
        "inDate": "2021-05-03T00:00:00.000Z", "description": "<p>R&amp;D</p>".repeat(10_000),
    });
    post(client, "/tickets", full("ticket", own)).await;
    post(client, "/tickets", json!({"sourceId": "plain", "email": "a@nowhere.example"})).await;
    let late = json!({"email": "a@nowhere.example", "companyId": company, "externalId": "late"});
    post(client, "/endusers", late).await;
    fill_end_users_of_tickets(client).await;
}

/// Tickets whose submitters have another e-mail now, or were deleted.
async fn fill_end_users_of_tickets(client: &Client) {
    for name in ["renamed", "deleted"] {
        let email = format!("{name}@c.example");
        let person = json!({"email": email, "externalId": name, "companyId": "extid-plain"});
        let id = post(client, "/endusers", person).await;
        let ticket = json!({"sourceId": name, "email": email, "companyId": "extid-plain"});
        post(client, "/tickets", ticket).await;
        let path = format!("/endusers/{id}");
        match name {
            "deleted" => send(client, Method::DELETE, &path, Value::Null).await,
            _ => send(client, Method::PUT, &path, json!({"email": "other@c.example"})).await,
        };
    }
}

/// That no row of any resource is left out above.
async fn check_full(client: &Client) {
    for def in REGISTRY {
        let records = client.get(&format!("/{}?limit=100", def.path)).await.json();
        for row in def.fields.iter().filter(|row| row.is_sent()) {
            let is_set =
                records.as_array().unwrap().iter().any(|record| !record[row.name].is_null());
            assert!(is_set, "no record of {} has `{}`", def.path, row.name);
        }
    }
}

/// What a command prints, as JSON.
async fn run(folder: &Path, arguments: &[&str]) -> Value {
    let output = command(folder).args(arguments).output().await.unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

async fn export(server: &Server, token: &Token, format: &str, to: &Path) {
    let to = to.to_str().unwrap();
    let server = ["export", "--server", &server.base, "--token", token.reveal()];
    run(Path::new("."), &[&server[..], &["--format", format, "--to", to]].concat()).await;
}

fn ndjson(text: &str) -> Vec<Record> {
    let record = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        let members = record.as_object().unwrap().iter();
        members.map(|(name, value)| (name.clone(), value.to_string())).collect()
    };
    text.lines().map(record).collect()
}

fn csv(text: &str) -> Vec<Record> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().collect::<Result<_, _>>().unwrap()
}

/// The records of all files of a folder, each with its file's name, without what the store gives them, and
/// with their keys for ids.
fn records_in(folder: &Path) -> Vec<String> {
    let mut records = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let read = if name.ends_with(".csv") { csv(&text) } else { ndjson(&text) };
        records.extend(read.into_iter().map(|record| (name.clone(), record)));
    }
    let key = |record: &Record| {
        let mut keys = ["externalId", "email"].into_iter().filter_map(|name| record.get(name));
        keys.find(|key| !key.is_empty()).cloned().unwrap_or_default()
    };
    let keys: Vec<(String, String)> = records
        .iter()
        .filter_map(|(file, record)| {
            Some((
                record.get("_id")?.trim_matches('"').to_owned(),
                format!("{file}:{}", key(record)),
            ))
        })
        .collect();
    let mut texts: Vec<String> = records
        .into_iter()
        .map(|(file, mut record)| {
            // The settings of a tenant are as old as the tenant.
            let is_other = |name: &str| name == "createdAt" && file.starts_with("settings");
            record.retain(|name, _| !OF_THE_STORE.contains(&name.as_str()) && !is_other(name));
            keys.iter().fold(format!("{file}: {record:?}"), |text, (id, key)| text.replace(id, key))
        })
        .collect();
    texts.sort();
    texts
}

async fn check(format: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let token = Token::generate().unwrap();
    fs::create_dir(path("one")).unwrap();
    let server = Server::start(&path("one"), &token).await;
    fill(&server.client).await;
    check_full(&server.client).await;
    export(&server, &token, format, &path("before")).await;
    server.kill().await;
    fs::create_dir(path("other")).unwrap();
    let server = Server::start(&path("other"), &token).await;
    let from = path("before");
    let from = ["--from", from.to_str().unwrap()];
    let import = ["import", "--json", "--server", &server.base, "--token", token.reveal()];
    let import = [&import[..], &from].concat();
    run(folder.path(), &import).await;
    // What has a key is found again.
    for (resource, counts) in run(folder.path(), &import).await.as_object().unwrap() {
        // An export has all that the service sets: these members are not expected to be read.
        assert_eq!(counts["ignoredColumns"], json!([]), "{resource}");
        let counts = ["created", "updated", "refused"].map(|name| counts[name].as_u64().unwrap());
        let keyless = u64::from(resource == "licenses");
        assert_eq!(counts, [keyless, 0, 0], "{resource}");
    }
    let keyless = server.client.get("/licenses?custom.name=keyless").await.json();
    assert_eq!(keyless.as_array().unwrap().len(), 2);
    let twice = format!("/licenses/{}", keyless[1]["_id"].as_str().unwrap());
    send(&server.client, Method::DELETE, &twice, Value::Null).await;
    export(&server, &token, format, &path("after")).await;
    server.kill().await;
    let (before, after) = (records_in(&path("before")), records_in(&path("after")));
    assert!(before.len() > REGISTRY.len());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after);
    }
    assert_eq!(before.len(), after.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_store_is_the_same_after_an_export_as_ndjson_and_an_import() {
    check("ndjson").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_store_is_the_same_after_an_export_as_csv_and_an_import() {
    check("csv").await;
}

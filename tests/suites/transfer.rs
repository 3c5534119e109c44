//! Records out of a store and into another one: the same records, whatever the file.

use std::{collections::BTreeMap, fs, os::unix::fs::MetadataExt as _, path::Path, process::Stdio};

use hyper::Method;
use serde_json::{Value, json};
use svctrack_core::resources::REGISTRY;
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::Client,
    process::{Server, binary, command},
};
use tempfile::TempDir;

/// Properties that a store sets on a record.
const OF_THE_STORE: [&str; 4] = ["_id", "__v", "updatedAt", "lastActive"];

async fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = command(folder).args(arguments).output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

async fn post(client: &Client, path: &str, body: Value) -> String {
    let response = client.post(path, &body).await;
    assert_eq!(response.status, 200, "{path}: {}", response.text());
    response.json()["_id"].as_str().unwrap().to_owned()
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

/// Checks the files of an export and of the folders in it.
fn check_that_its_owner_alone_reads(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            check_that_its_owner_alone_reads(&entry.path());
            continue;
        }
        let mode = entry.metadata().unwrap().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", entry.path().display());
    }
}

/// The first token of a tenant that an import has created.
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
    let server = Server::start_with_operator(&data, &token, &operator, &[]).await;
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
    check_that_its_owner_alone_reads(&files);
    let import = ["import", "--all-tenants", "--data", &text(&other), "--from", &text(&files)];
    let (code, told, said) = run(folder.path(), &import).await;
    assert_eq!(code, Some(0), "{told} {said}");
    assert!(told.contains("  companies  31 created, 0 updated, 0 unchanged, 0 rejected"), "{told}");
    assert!(!said.contains("read-only"), "{said}");
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
            // Users of tokens are not among people.
            assert_eq!(after[path].len(), records.len(), "{path}: {:#?}", after[path]);
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
async fn a_record_that_is_rejected_is_reported_with_its_line_and_does_not_affect_others() {
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
    assert_eq!(outcome(&told["companies"]), json!([2, 3, 0, []]), "{said}");
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
    assert!(code == Some(1) && said.contains("unknown column `colour`"), "{said}");
    server.kill().await;
}

/// A folder with one file.
pub(crate) fn folder_with(name: &str, bytes: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), bytes).unwrap();
    folder
}

/// Imports a folder into a server; the exit code, the counts, and the messages besides them.
async fn import(server: &Server, token: &Token, files: &TempDir) -> (Option<i32>, Value, String) {
    let from = files.path().to_str().unwrap();
    let arguments =
        ["import", "--json", "--server", &server.base, "--token", token.reveal(), "--from", from];
    let (code, told, said) = run(files.path(), &arguments).await;
    (code, serde_json::from_str(&told).unwrap_or_else(|_| panic!("{said}")), said)
}

/// How many records of a file are there, were rejected, and have no key; and what was not read of them.
fn outcome(told: &Value) -> Value {
    json!([told["taken"], told["refused"], told["withoutKey"], told["ignoredColumns"]])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_reports_how_many_were_created_and_updated_and_which_row_repeats_a_key() {
    let (data, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let server = Server::start(data.path(), &token).await;
    let files = folder_with("companies.csv", b"name,externalId\nA,a\nB,b\nA again,a\nC,\n");
    let expect = "companies: 1 row with a key of an earlier row, whose record they update; the first is line 4, which repeats line 2";
    let counts = |told: &Value| {
        let names = ["created", "updated", "unchanged", "repeatedKeys"];
        names.map(|name| told["companies"][name].as_u64().unwrap())
    };
    let from = files.path().to_str().unwrap();
    let arguments = ["import", "--json", "--server", &server.base, "--token", token.reveal()];
    let dry = [&arguments[..], &["--from", from, "--dry-run"]].concat();
    let (_, told, said) = run(files.path(), &dry).await;
    assert_eq!(counts(&serde_json::from_str(&told).unwrap()), [3, 1, 0, 1], "{said}");
    assert!(said.contains(expect), "{said}");
    let (_, told, said) = import(&server, &token, &files).await;
    assert_eq!(counts(&told), [3, 1, 0, 1], "{said}");
    assert!(said.contains(expect), "{said}");
    let files = folder_with("companies.csv", b"name,externalId\nA,a\nB,b\n");
    let (_, told, said) = import(&server, &token, &files).await;
    assert_eq!(counts(&told), [0, 1, 1, 0], "{said}");
    let headers = [("content-type", "text/csv")];
    let table = "name,externalId\nD,d\nD,d\n";
    let summary = server.client.send(Method::POST, "/import/companies", &headers, table).await;
    let summary = summary.unwrap().json();
    assert_eq!(
        (&summary["created"], &summary["unchanged"], &summary["repeatedKeys"]),
        (&json!(1), &json!(1), &json!(1))
    );
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_cannot_be_read_is_reported_with_its_line_and_does_not_affect_others() {
    let (data, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let server = Server::start(data.path(), &token).await;
    for end in ["\n", "\r\n"] {
        let lines: [&[u8]; 10] = [
            b"externalId,name,sourceId",
            b"a,A,",
            b"b,B",
            b"",
            b"c,\xff,",
            b"d,\"D",
            b"of two lines\",",
            b"e,E,,",
            b"f,F,",
            b"g",
        ];
        let table = lines.map(|line| [line, end.as_bytes()].concat()).concat();
        let files = folder_with("products.csv", &table);
        let (code, told, said) = import(&server, &token, &files).await;
        assert_eq!(code, Some(2), "{said}");
        assert_eq!(outcome(&told["products"]), json!([3, 4, 0, []]), "{said}");
        for part in [
            "products.csv line 3: it has 2 cells, the first line 3",
            "products.csv line 5: it is not UTF-8 but probably Windows-1252: save it as UTF-8",
            "products.csv line 8: it has 4 cells, the first line 3",
            "products.csv line 10: it has 1 cell, the first line 3",
        ] {
            assert!(said.contains(part), "{end:?}: {part}: {said}");
        }
    }
    let long = format!("{{\"name\": \"{}\"}}", "x".repeat(9 * 1024 * 1024));
    let rows =
        [long.as_bytes(), b"\n{\"name\": \"\xff\"}\n{\"name\": \"H\", \"externalId\": \"h\"}\n"];
    let files = folder_with("products.ndjson", &rows.concat());
    let (code, told, said) = import(&server, &token, &files).await;
    assert_eq!(code, Some(2), "{said}");
    assert_eq!(outcome(&told["products"]), json!([1, 2, 0, []]), "{said}");
    assert!(said.contains("line 1: it has over") && said.contains("line 2: "), "{said}");
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_reports_what_it_leaves_and_what_would_come_twice() {
    let (data, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let server = Server::start(data.path(), &token).await;
    let companies = b"{\"name\": \"A\"}\n{\"name\": \"B\", \"externalId\": \"b\"}\n";
    let files = folder_with("companies.ndjson", companies);
    fs::write(files.path().join("company.csv"), "name\nC\n").unwrap();
    fs::write(files.path().join(".hidden"), "").unwrap();
    for count in [2, 3] {
        let (code, told, said) = import(&server, &token, &files).await;
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(outcome(&told["companies"]), json!([2, 0, 1, []]), "{said}");
        assert!(said.contains("company.csv: not imported"), "{said}");
        assert!(
            said.contains("companies: 1 new record without a key") && !said.contains("hidden"),
            "{said}"
        );
        let there = server.client.get("/companies").await.json();
        assert_eq!(there.as_array().unwrap().len(), count);
    }
    // Errors in one file are reported before another is imported.
    let files = folder_with("companies.ndjson", b"{\"name\": \"D\", \"externalId\": \"d\"}\n");
    fs::write(files.path().join("tickets.csv"), "colour\nred\n").unwrap();
    let from = files.path().to_str().unwrap();
    let arguments = ["import", "--server", &server.base, "--token", token.reveal(), "--from", from];
    assert_eq!(run(files.path(), &arguments).await.0, Some(1));
    assert_eq!(server.client.get("/companies/extid-d").await.status, 404);
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_needs_to_read_the_output_of_a_command() {
    let (data, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let server = Server::start(data.path(), &token).await;
    let rejected = "{}\n".repeat(100);
    let files = folder_with("companies.ndjson", rejected.as_bytes());
    let from = files.path().to_str().unwrap();
    let import = ["import", "--server", &server.base, "--token", token.reveal(), "--from", from];
    let list = ["token", "list", "--server", &server.base, "--token", token.reveal()];
    let wrong = ["import", "--data", "nowhere", "--from", "nowhere"];
    for (arguments, expect) in [(import.as_slice(), 2), (&list, 0), (&wrong, 1)] {
        let mut command = command(files.path());
        let mut child =
            command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        assert_eq!(child.wait().await.unwrap().code(), Some(expect), "{arguments:?}");
    }
    server.kill().await;
}

/// Runs an import of `from`, with what reaches the tenant before it; the exit code, the counts and the messages.
pub(crate) async fn import_from(
    folder: &Path,
    reach: &[&str],
    from: &Path,
    more: &[&str],
) -> (Option<i32>, Value, String) {
    let from = ["import", "--json", "--from", from.to_str().unwrap()];
    let (code, told, said) = run(folder, &[&from, reach, more].concat()).await;
    (code, serde_json::from_str(&told).unwrap_or_default(), said)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_names_what_the_import_then_rejects_and_writes_nothing() {
    let (data, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let server = Server::start_with_acme(data.path(), &token).await;
    let (keyless, keyed) = ("65f000000000000000000001", "65f000000000000000000002");
    let companies = format!(
        "{{\"_id\":\"{keyless}\",\"name\":\"A\"}}\n{{\"_id\":\"{keyed}\",\"name\":\"B\",\"externalId\":\"b\"}}\n\
         {{\"externalId\":\"c\"}}\n{{\"name\":\"D\",\"colour\":1}}\n"
    );
    let files = folder_with("companies.ndjson", companies.as_bytes());
    let licenses = format!(
        "externalId,companyId,_currency,mrr,parent\nl1,{keyless},EUR,1,\nl2,{keyed},EUR,2,extid-l3\n\
         l3,extid-nobody,EUR,1,\nl4,extid-acme,EUR,1 000,\nl5,extid-acme,EUR,5,extid-l1\n"
    );
    fs::write(files.path().join("licenses.csv"), licenses).unwrap();
    fs::write(files.path().join("settings.ndjson"), "{\"timeZone\":\"Nowhere\"}\n").unwrap();
    let reach = ["--server", &server.base, "--token", token.reveal()];
    let from = files.path();
    let dry = import_from(data.path(), &reach, from, &["--dry-run"]).await;
    assert_eq!(dry.0, Some(2), "{}", dry.2);
    assert!(dry.2.contains("dry run: nothing was written"), "{}", dry.2);
    for path in ["/companies", "/licenses"] {
        let there = server.client.get(path).await.json();
        assert!(there.as_array().unwrap().len() <= 1, "{there}");
    }
    server.signal("TERM");
    assert_eq!(server.wait().await, Some(0));
    let reach = ["--data", data.path().to_str().unwrap()];
    let stopped = import_from(data.path(), &reach, from, &["--dry-run"]).await;
    assert_eq!((&stopped.0, &stopped.1), (&dry.0, &dry.1), "{}", stopped.2);

    let real = import_from(data.path(), &reach, from, &[]).await;
    let lines = |said: &str| {
        let mut lines: Vec<_> =
            said.lines().filter(|line| line.contains(" line ")).map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&dry.2), lines(&real.2), "{}\n{}", dry.2, real.2);
    assert!(lines(&dry.2).len() >= 5, "{}", dry.2);
    assert_eq!(outcome(&dry.1["companies"]), outcome(&real.1["companies"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_of_an_export_reports_what_its_import_into_the_same_store_then_does() {
    let (data, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let server = Server::start(data.path(), &token).await;
    fill(&server.client).await;
    let reach = ["--server", &server.base, "--token", token.reveal()];
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("export");
    let export = [&["export", "--to", to.to_str().unwrap()], &reach[..]].concat();
    let (code, _, said) = run(folder.path(), &export).await;
    assert_eq!(code, Some(0), "{said}");
    for def in REGISTRY {
        let file = to.join(format!("{}.ndjson", def.path));
        let mut dry = import_from(data.path(), &reach, &file, &["--dry-run"]).await;
        let real = import_from(data.path(), &reach, &file, &[]).await;
        if def.path == "licenses" {
            // A dry run counts a license that has a parent twice.
            dry.1[def.path]["unchanged"] = real.1[def.path]["unchanged"].clone();
        }
        assert_eq!(dry.1, real.1, "{}\n{}", dry.2, real.2);
        assert_eq!(real.1[def.path]["withoutKey"], 0, "{}", real.2);
        assert!(!dry.2.contains("twice"), "{}", dry.2);
    }
    let dry = import_from(data.path(), &reach, &to, &["--dry-run"]).await;
    assert_eq!(dry.0, Some(0), "{}", dry.2);
    assert!(!dry.2.contains("twice"), "{}", dry.2);
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_of_another_program_is_imported_from_a_file_of_any_name() {
    let (data, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let server = Server::start(data.path(), &token).await;
    let table = "\u{feff}Company name;Nr;domains;custom.seats;created_at\r\n\"A; B\";a;a.example|b.example;5;2020\r\n;;;;\r\n";
    let files = folder_with("customers.csv", table.as_bytes());
    let file = files.path().join("customers.csv");
    let reach = ["--server", &server.base, "--token", token.reveal()];
    let (code, _, said) = import_from(data.path(), &reach, &file, &[]).await;
    assert!(code == Some(1) && said.contains("set the resource with --resource"), "{said}");
    let known = ["--resource", "companies", "--map", "Company name=name", "--map", "nr=externalId"];
    let (code, told, said) = import_from(data.path(), &reach, &file, &known).await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(outcome(&told["companies"]), json!([1, 0, 0, ["createdAt"]]), "{said}");
    assert!(said.contains("companies: read-only properties ignored: createdAt"), "{said}");
    let made = server.client.get("/companies/extid-a").await.json();
    assert_eq!(made["name"], "A; B");
    assert_eq!(made["domains"], json!(["a.example", "b.example"]));
    assert_eq!(made["custom"], json!({"seats": 5}));
    let wrong = [&known[..], &["--map", "Ort=city"]].concat();
    let (code, _, said) = import_from(data.path(), &reach, &file, &wrong).await;
    assert!(code == Some(1) && said.contains("--map: no column is called `Ort`"), "{said}");
    for (mapped, says) in [
        (vec!["--map", "Company name=name,nr=externalId"], ": write each mapping on its own"),
        (vec!["--map", "Company name=name", "--map", "company name=web"], "` is mapped twice"),
    ] {
        let asked = [&known[..2], &mapped].concat();
        let (code, _, said) = import_from(data.path(), &reach, &file, &asked).await;
        assert!(code == Some(1) && said.contains(says), "{said}");
    }
    let (code, _, said) = import_from(data.path(), &reach, &file, &known[..4]).await;
    assert!(code == Some(1) && said.contains("unknown column `Nr`: map it with --map"), "{said}");
    let (code, _, said) = import_from(data.path(), &reach, &file, &["--resource", "company"]).await;
    assert!(code == Some(1) && said.contains("there are settings, "), "{said}");
    let (code, _, said) =
        import_from(data.path(), &reach, &file, &[&known[..], &["--separator", ","]].concat())
            .await;
    assert!(code == Some(1) && said.contains("unknown column"), "{said}");
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_how_far_a_large_file_is_read() {
    let (data, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let server = Server::start(data.path(), &token).await;
    let shown = async |bytes: usize| {
        let table = format!("externalId,name\na,\nb,B\n{}", "\n".repeat(bytes));
        let files = folder_with("companies.csv", table.as_bytes());
        let import = format!(
            "'{}' import --server {} --token {} --from '{}'",
            binary().display(),
            server.base,
            token.reveal(),
            files.path().display(),
        );
        // It gives the command a terminal.
        let mut script = tokio::process::Command::new("script");
        script.args(["--quiet", "--return", "--command", &import, "/dev/null"]);
        let output = script.stdin(Stdio::null()).output().await.unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stdout).unwrap()
    };
    let large = shown(1024 * 1024).await;
    assert!(large.contains("companies.csv  100 %  ####################"), "{large}");
    assert!(large.contains("\u{1b}[K") && large.contains("line 2: `name` is required"), "{large}");
    assert!(!shown(0).await.contains('%'));
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_over_another_one_needs_force() {
    let (data, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let server = Server::start_with_acme(data.path(), &token).await;
    let files = tempfile::tempdir().unwrap();
    let to = files.path().to_str().unwrap();
    let export = ["export", "--server", &server.base, "--token", token.reveal(), "--to", to];
    assert_eq!(run(data.path(), &export).await.0, Some(0));
    post(&server.client, "/companies", json!({"name": "B", "externalId": "b"})).await;
    for more in [&[][..], &["--format", "csv"], &["--resources", "companies"]] {
        let (code, _, said) = run(data.path(), &[&export, more].concat()).await;
        assert!(code == Some(1) && said.contains("already exists: replace the files"), "{said}");
    }
    let forced = [&export[..], &["--force", "--format", "csv"]].concat();
    let (code, _, said) = run(data.path(), &forced).await;
    assert_eq!(code, Some(0), "{said}");
    let companies = fs::read_to_string(files.path().join("companies.csv")).unwrap();
    assert_eq!(companies.lines().count(), 3, "{companies}");
    assert!(!files.path().join("companies.ndjson").exists());
    server.kill().await;
}

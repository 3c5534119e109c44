//! Cases as data: every file in `tests/cases` is one sentence of the contract, as
//! `{given, request, expect}`, sent over HTTP to a server with an empty store.
//!
//! `given` is a list of requests that come before; `{{tenant}}` stands for the tenant, `{{id:0}}` for the
//! `_id` in the answer to the first of them. `expect.json` names the members that must be there with
//! just these values, with `null` for one that must be absent or null; `expect.list` the same for each
//! item of an array; `expect.headers` values of headers, `null` for one that must be absent;
//! `expect.text` the whole body, `expect.contains` a part of it.

use std::{fs, path::PathBuf};

use hyper::Method;
use serde_json::Value;
use svctrack_tests::{
    TENANT,
    client::{Answer, Client},
    in_process::InProcess,
    project,
};

fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![project().join("tests/cases")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

#[tokio::test(flavor = "multi_thread")]
async fn every_case_comes_out_as_it_says() {
    let mut failed = Vec::new();
    let files = files();
    assert!(files.len() >= 40, "only {} cases were found", files.len());
    for file in &files {
        let case: Value = serde_json::from_str(&fs::read_to_string(file).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        if let Err(reason) = run(&case).await {
            let name = file.strip_prefix(project()).unwrap().display();
            failed.push(format!("{name}: {reason}"));
        }
    }
    assert!(failed.is_empty(), "{} of {} cases:\n{}", failed.len(), files.len(), failed.join("\n"));
}

async fn run(case: &Value) -> Result<(), String> {
    let server = InProcess::start().await;
    let mut ids = Vec::new();
    for request in case["given"].as_array().into_iter().flatten() {
        let answer = send(&server, request, &ids).await;
        if !answer.status.is_success() {
            return Err(format!("given: {} {}", answer.status, answer.text()));
        }
        let id = serde_json::from_slice::<Value>(&answer.body).ok();
        ids.push(id.and_then(|body| Some(body["_id"].as_str()?.to_owned())).unwrap_or_default());
    }
    let answer = send(&server, &case["request"], &ids).await;
    check(&answer, &fill(&case["expect"], &ids))
}

/// Sends the request that a case describes.
async fn send(server: &InProcess, request: &Value, ids: &[String]) -> Answer {
    let request = fill(request, ids);
    let method: Method = request["method"].as_str().unwrap_or("GET").parse().unwrap();
    let client: &Client = match request["as"].as_str() {
        Some("operator") => &server.operator,
        _ if request["anonymous"] == true => &server.anonymous,
        _ => &server.client,
    };
    let mut headers = Vec::new();
    for (name, value) in request["headers"].as_object().into_iter().flatten() {
        headers.push((name.as_str(), value.as_str().unwrap()));
    }
    let body = match &request["text"] {
        Value::String(text) => text.clone(),
        _ if request["body"].is_null() => String::new(),
        _ => request["body"].to_string(),
    };
    client.send(method, request["path"].as_str().unwrap(), &headers, body).await.unwrap()
}

/// The case with its placeholders filled.
fn fill(value: &Value, ids: &[String]) -> Value {
    let mut text = value.to_string().replace("{{tenant}}", TENANT);
    for (index, id) in ids.iter().enumerate() {
        text = text.replace(&format!("{{{{id:{index}}}}}"), id);
    }
    serde_json::from_str(&text).unwrap()
}

fn check(answer: &Answer, expect: &Value) -> Result<(), String> {
    let found = format!("{} {}", answer.status, answer.text());
    if expect["status"].as_u64() != Some(answer.status.as_u16().into()) {
        return Err(format!("expected {}, found {found}", expect["status"]));
    }
    for (name, value) in expect["headers"].as_object().into_iter().flatten() {
        let header = answer.headers.get(name).and_then(|header| header.to_str().ok());
        if header != value.as_str() {
            return Err(format!("expected {name}: {value}, found {header:?}"));
        }
    }
    if let Some(text) = expect["text"].as_str()
        && answer.text() != text
    {
        return Err(format!("expected {text}, found {found}"));
    }
    if let Some(part) = expect["contains"].as_str()
        && !answer.text().contains(part)
    {
        return Err(format!("expected {part} in {found}"));
    }
    if expect.get("json").is_some() {
        check_members(&expect["json"], &answer.json())
            .map_err(|path| format!("{path} in {found}"))?;
    }
    if let Some(list) = expect["list"].as_array() {
        let items = answer.json();
        let items = items.as_array().ok_or(format!("expected an array, found {found}"))?;
        if items.len() != list.len() {
            return Err(format!("expected {} items, found {found}", list.len()));
        }
        for (expected, item) in list.iter().zip(items) {
            check_members(expected, item).map_err(|path| format!("{path} in {found}"))?;
        }
    }
    Ok(())
}

/// The members that are named must be there with just these values.
fn check_members(expect: &Value, found: &Value) -> Result<(), String> {
    match expect {
        Value::Object(members) => members.iter().try_for_each(|(name, value)| {
            check_members(value, &found[name]).map_err(|path| format!("{name}/{path}"))
        }),
        Value::Array(items) if found.as_array().is_some_and(|found| found.len() == items.len()) => {
            (0..items.len()).try_for_each(|at| {
                check_members(&items[at], &found[at]).map_err(|path| format!("{at}/{path}"))
            })
        }
        _ if expect == found => Ok(()),
        _ => Err(format!(": expected {expect}, found {found}")),
    }
}

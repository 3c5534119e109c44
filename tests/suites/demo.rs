//! Demo data: a small demo is stored whole, and its stories show in the reports.

use std::fs;

use serde_json::Value;
use svctrack_core::value::TenantId;
use svctrack_server::{api_client::ApiClient, auth::Token, demo::Demo};
use svctrack_store::{Clock as _, SystemClock};
use svctrack_tests::{
    TENANT,
    in_process::InProcess,
    process::{Server, command},
};

use crate::command_line::run;

#[tokio::test(flavor = "multi_thread")]
async fn a_demo_is_stored_whole_and_its_stories_show() {
    let server = InProcess::start().await;
    let token = server.client.authorization().unwrap().trim_start_matches("Bearer ");
    let client = ApiClient::running(&server.base, token, None).unwrap();
    let tenant = TenantId::parse(TENANT).unwrap();
    let demo = Demo { tenant, now: SystemClock.now(), customers: 20 };
    let filled = demo.fill(async |call| {
        let response = client.send_again(call.method, &call.path, call.body).await?;
        Ok(response.into())
    });
    filled.await.unwrap();

    let get = async |path: &str| -> Value { server.client.get(path).await.json() };
    let customers = get("/reports/customers?limit=1").await;
    let first = &customers["rows"][0];
    assert_eq!((&first["name"], &first["days"]), (&"Halcyon Freight".into(), &20.into()));
    for points in ["usersPoints", "beatsPoints", "ticketPoints"] {
        assert!(first["atStake"][points].as_f64() > Some(3.0), "{points}: {first}");
    }
    let expanded = get("/licenses?companyId=extid-c-001&select=mrr,product").await;
    assert_eq!(expanded.as_array().unwrap().len(), 3, "{expanded}");
    assert_eq!(get("/companies/extid-c-002?select=status").await["status"], "customer");
    let overdue = get("/licenses?companyId=extid-c-003&select=isOverdue").await;
    assert_eq!(overdue[0]["isOverdue"], true);
    let issues = get("/integrationissues").await;
    assert_eq!(issues.as_array().unwrap().len(), 1, "{issues}");
    assert_eq!(issues[0]["sample"]["companyExternalId"], "lumen-staging");
    let long = get("/timeentries?hours=23&select=_id").await;
    let waiting = get("/timesheets?status=submitted&select=timeEntries").await;
    let is_in = |sheet: &Value| sheet["timeEntries"].as_array().unwrap().contains(&long[0]["_id"]);
    assert!(waiting.as_array().unwrap().iter().any(is_in), "{long} {waiting}");

    let licenses = get("/licenses?limit=2000").await;
    let licenses = licenses.as_array().unwrap();
    assert!(licenses.len() > 30);
    assert!(licenses.iter().all(|license| license["issues"].is_null()), "{licenses:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_one_demo_until_it_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("svctrack-data");
    fs::create_dir(&data).unwrap();
    let token = Token::generate().unwrap();
    Server::start_with_acme(&data, &token).await.stop().await;
    let made = run(folder.path(), &["demo", "--customers", "10", "--json"]).await;
    let made: Value = serde_json::from_str(&made).unwrap();
    assert_eq!(made["stories"].as_array().unwrap().len(), 6);
    let again = command(folder.path()).arg("demo").output().await.unwrap();
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(!again.status.success() && said.contains("already exists"), "{said}");
    assert_eq!(run(folder.path(), &["demo", "--delete"]).await, "deleted\n");
    assert_eq!(run(folder.path(), &["demo", "--delete"]).await, "there is no demo\n");
    let tenants = run(folder.path(), &["tenant", "list", "--json"]).await;
    assert!(!tenants.contains(made["_id"].as_str().unwrap()), "{tenants}");
}

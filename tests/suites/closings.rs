//! Closed months: figures that stay, what has changed in them since, and the order in which months are closed.

use std::sync::Arc;

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_core::value::Timestamp;
use svctrack_tests::{
    client::{Answer, Client},
    in_process::{InProcess, StillClock},
};

use super::reports::{put, server, store_twelve};

const CLOSINGS: &str = "/reports/closings";

async fn close(client: &Client, body: &Value) -> Answer {
    client.post(CLOSINGS, body).await
}

async fn closed(client: &Client, month: &str) -> Value {
    let answer = close(client, &json!({"month": month, "gapDays": 7})).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    answer.json()
}

async fn reopen(client: &Client, month: &str) -> Answer {
    client.send(Method::DELETE, &format!("{CLOSINGS}/{month}"), &[], "").await.unwrap()
}

/// The lines that are not 0, of months that a report compares.
fn differences(report: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for month in report["closings"].as_array().into_iter().flatten() {
        let converted = [("converted", &month["converted"])];
        let currencies = month["currencies"].as_array().unwrap().iter().map(|of| ("", of));
        for (scope, of) in currencies.chain(converted) {
            for (line, value) in of["difference"].as_object().into_iter().flatten() {
                if value.as_f64().is_some_and(|value| value != 0.0) {
                    let currency = of["currency"].as_str().unwrap();
                    found.push(format!("{}{scope} {currency} {line} {value}", month["month"]));
                }
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_correction_is_shown_beside_the_closed_figures() {
    let clock = Arc::new(StillClock::at(Timestamp::parse("2024-05-03T09:00:00Z").unwrap()));
    let server = InProcess::with_clock(clock.clone()).await;
    let client = &server.client;
    store_twelve(client).await;
    let april = closed(client, "2024-04").await;
    assert_eq!(
        (&april["closedAt"], &april["timeZone"]),
        (&json!("2024-05-03T09:00:00.000Z"), &json!("UTC"))
    );
    assert!(april["closedBy"].is_string());
    let lines = &april["converted"];
    assert_eq!(
        (&lines["start"], &lines["expansion"], &lines["contraction"], &lines["end"]),
        (&json!(2020), &json!(90), &json!(150), &json!(1960))
    );
    let path = "/reports/mrr?from=2024-04-01&to=2024-05-01&gapDays=7";
    let report = async || client.get(path).await.json();
    let before = report().await;
    assert_eq!(before["closings"][0]["month"], "2024-04");
    assert!(differences(&before).is_empty(), "{before}");
    assert_eq!(before["closings"][0]["changedLicenseCount"], 0);

    clock.set(Timestamp::parse("2024-06-10T09:00:00Z").unwrap());
    put(client, "/licenses/extid-T02", &json!({"mrr": 1050})).await;
    put(client, "/licenses/extid-T04", &json!({"mrr": 150})).await;
    // One that does not last in April, and one of which nothing changes that reports read.
    put(client, "/licenses/extid-T06", &json!({"mrr": 241})).await;
    put(client, "/licenses/extid-T10", &json!({"custom": {"note": "x"}})).await;
    let after = report().await;
    assert_eq!(
        differences(&after),
        [
            r#""2024-04" EUR end -50"#,
            r#""2024-04" EUR start -50"#,
            r#""2024-04" USD end 50"#,
            r#""2024-04" USD expansion 50"#,
            r#""2024-04"converted EUR end -5"#,
            r#""2024-04"converted EUR expansion 45"#,
            r#""2024-04"converted EUR start -50"#,
        ]
    );
    let month = &after["closings"][0];
    assert_eq!(month["currencies"][0]["closed"]["end"], april["currencies"][0]["end"]);
    let id =
        async |name: &str| client.get(&format!("/licenses/{name}")).await.json()["_id"].clone();
    assert_eq!(month["changedLicenses"], json!([id("extid-T02").await, id("extid-T04").await]));
    // What is closed stays, as a report as of that time does.
    assert_eq!(client.get(&format!("{CLOSINGS}/2024-04")).await.json(), april);
    let then = client.get(&format!("{path}&asOf=2024-05-03T09:00:00Z")).await.json();
    assert_eq!(then["converted"]["rows"][0]["end"], april["converted"]["end"]);
    // Other figures are not comparable.
    for other in
        ["&product=Suite", "&companyId=extid-Acorn", "&view=activities", "&timeZone=Asia/Tokyo"]
    {
        let report = client.get(&format!("{path}{other}")).await.json();
        assert_eq!(report["closings"], Value::Null, "{other}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_license_that_is_deleted_or_added_later_is_a_difference() {
    let server = server().await;
    let client = &server.client;
    put(client, "/companies", &json!([{"name": "Acme", "externalId": "acme"}])).await;
    let license = |name: &str, currency: &str| json!({"externalId": name, "companyId": "extid-acme", "_currency": currency, "fromDate": "2024-01-15", "mrr": 100});
    put(client, "/licenses", &json!([license("eur", "EUR")])).await;
    closed(client, "2024-01").await;
    let gone = client.send(Method::DELETE, "/licenses/extid-eur", &[], "").await.unwrap();
    assert_eq!(gone.status, StatusCode::OK);
    put(client, "/licenses", &json!([license("usd", "USD")])).await;
    let report = client.get("/reports/mrr?from=2024-01-01&to=2024-03-01&gapDays=7").await.json();
    assert_eq!(
        differences(&report),
        [
            r#""2024-01" EUR customers -1"#,
            r#""2024-01" EUR end -100"#,
            r#""2024-01" EUR new -100"#,
            r#""2024-01" USD customers 1"#,
            r#""2024-01" USD end 100"#,
            r#""2024-01" USD new 100"#,
        ]
    );
    assert_eq!(report["closings"][0]["changedLicenseCount"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn months_are_closed_in_order_once_and_after_their_end() {
    let server = server().await;
    let client = &server.client;
    store_twelve(client).await;
    let february = closed(client, "2024-02").await;
    assert_eq!(closed(client, "2024-02").await, february);
    let code = async |body: Value| {
        let answer = close(client, &body).await;
        (answer.status.as_u16(), answer.json()["code"].as_str().unwrap().to_owned())
    };
    let expected = |status: u16, code: &str| (status, code.to_owned());
    assert_eq!(code(json!({"month": "2024-02"})).await, expected(409, "month_closed"));
    let said = close(client, &json!({"month": "2024-02"})).await.json()["detail"].take();
    assert_eq!(
        said,
        "the month is closed with another `gapDays`: reopen it first, with `DELETE /reports/closings/2024-02`"
    );
    assert_eq!(code(json!({"month": "2024-01"})).await, expected(409, "not_the_next_month"));
    assert_eq!(code(json!({"month": "2024-04"})).await, expected(409, "not_the_next_month"));
    // The clock shows August.
    assert_eq!(code(json!({"month": "2024-08"})).await, expected(422, "month_not_ended"));
    for (body, expect) in [
        (json!({}), "invalid_month"),
        (json!({"month": "2024-13"}), "invalid_month"),
        (json!({"month": 7}), "invalid_month"),
        (json!({"month": "2024-03", "gapDays": 400}), "invalid_number"),
        (json!({"month": "2024-03", "view": "both"}), "unknown_choice"),
    ] {
        assert_eq!(code(body).await, expected(422, expect));
    }
    closed(client, "2024-03").await;
    let csv = client.send(Method::GET, CLOSINGS, &[("accept", "text/csv")], "").await.unwrap();
    let march =
        csv.text().lines().find(|line| line.starts_with("2024-03,") && line.contains("converted"));
    assert!(
        march.unwrap().ends_with(",EUR,2330.00,90.00,0.00,0.00,0.00,400.00,0.00,2020.00,4"),
        "{}",
        csv.text()
    );
    let months = client.get(CLOSINGS).await.json();
    let months: Vec<_> = months.as_array().unwrap().iter().map(|of| of["month"].clone()).collect();
    assert_eq!(months, ["2024-02", "2024-03"]);
    let refused = reopen(client, "2024-02").await.json();
    assert_eq!(refused["code"], "not_the_last_month");
    let expect = "beginning with `DELETE /reports/closings/2024-03`";
    assert!(refused["detail"].as_str().unwrap().ends_with(expect), "{refused}");
    assert_eq!(reopen(client, "2024-01").await.json()["deletedCount"], 0);
    assert_eq!(reopen(client, "2024-03").await.json()["deletedCount"], 1);
    assert_eq!(client.get(&format!("{CLOSINGS}/2024-03")).await.status, StatusCode::NOT_FOUND);
    let report = client.get("/reports/mrr?from=2024-02-01&to=2024-04-01&gapDays=7").await.json();
    assert_eq!(report["closings"].as_array().unwrap().len(), 1);
    assert_eq!(reopen(client, "2024-02").await.json()["deletedCount"], 1);
    // A cached report is computed again.
    let report = client.get("/reports/mrr?from=2024-02-01&to=2024-04-01&gapDays=7").await.json();
    assert_eq!(report["closings"], Value::Null);
    let unknown = json!({"month": "2024-02", "gapdays": 7});
    assert_eq!(close(client, &unknown).await.headers["svctrack-ignored"], "gapdays");
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_needs_admin_and_shows_one_tenant_alone() {
    let server = server().await;
    store_twelve(&server.client).await;
    closed(&server.client, "2024-02").await;
    let asked = json!({"label": "reads", "scopes": ["reports:read"]});
    let made = server.client.post("/tokens", &asked).await.json();
    let reads = server.client.with_token(made["token"].as_str().unwrap());
    assert_eq!(reads.get(CLOSINGS).await.json().as_array().unwrap().len(), 1);
    assert_eq!(close(&reads, &json!({"month": "2024-03"})).await.status, StatusCode::FORBIDDEN);
    assert_eq!(reopen(&reads, "2024-02").await.status, StatusCode::FORBIDDEN);
    let made = server.operator.post("/tenants", &json!({"name": "other"})).await.json();
    let theirs = server.operator.with_token(made["token"]["token"].as_str().unwrap());
    assert_eq!(theirs.get(CLOSINGS).await.json(), json!([]));
    assert_eq!(theirs.get(&format!("{CLOSINGS}/2024-02")).await.status, StatusCode::NOT_FOUND);
}

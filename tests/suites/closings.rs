//! Closed months: figures that stay, what has changed in them since, and the order in which months are closed.

use std::sync::Arc;

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_core::value::Timestamp;
use svctrack_tests::{
    client::{Client, Response},
    in_process::{InProcess, StillClock},
};

use super::reports::{put, server, store_twelve};

const CLOSINGS: &str = "/reports/closings";

async fn close(client: &Client, body: &Value) -> Response {
    client.post(CLOSINGS, body).await
}

async fn closed(client: &Client, month: &str) -> Value {
    let response = close(client, &json!({"month": month, "gapDays": 7})).await;
    assert_eq!(response.status, StatusCode::OK, "{}", response.text());
    response.json()
}

async fn reopen(client: &Client, month: &str) -> Response {
    let path = format!("{CLOSINGS}/{month}?reason=late%20invoice");
    client.send(Method::DELETE, &path, &[], "").await.unwrap()
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
async fn a_correction_is_shown_next_to_the_closed_figures() {
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
    // One that does not last in April, and one whose change no report reads.
    put(client, "/licenses/extid-T06", &json!({"mrr": 241})).await;
    put(client, "/licenses/extid-T10", &json!({"custom": {"note": "x"}})).await;
    // A renewal moves no figure of April.
    put(client, "/licenses/extid-T10", &json!({"renewalStatus": "renewed"})).await;
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
async fn companies_that_differ_are_named_where_the_sum_does_not() {
    let server = server().await;
    let client = &server.client;
    let company = |name: &str| json!({"name": name, "externalId": name});
    put(client, "/companies", &json!([company("ada"), company("bo")])).await;
    let license = |company: &str, name: &str, from: &str, to: &str| json!({"externalId": name, "companyId": format!("extid-{company}"), "_currency": "EUR", "fromDate": from, "toDate": to, "mrr": 100});
    let january = |company| license(company, company, "2023-06-01", "2024-01-25");
    // It bridges the gap of seven days, so that the company does not churn in January.
    let february = |company, name| license(company, name, "2024-02-01", "2024-12-31");
    put(client, "/licenses", &json!([january("ada"), january("bo"), february("bo", "bridge")]))
        .await;
    closed(client, "2024-01").await;
    client.send(Method::DELETE, "/licenses/extid-bridge", &[], "").await.unwrap();
    put(client, "/licenses", &json!([february("ada", "other")])).await;
    let report = client.get("/reports/mrr?from=2024-01-01&to=2024-03-01&gapDays=7").await.json();
    assert!(differences(&report).is_empty(), "{report}");
    assert_eq!(report["closings"][0]["companyCount"], 2, "{report}");
    assert_eq!(report["closings"][0]["changedLicenseCount"], 2, "{report}");
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
        let response = close(client, &body).await;
        (response.status.as_u16(), response.json()["code"].as_str().unwrap().to_owned())
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
    let rejected = reopen(client, "2024-02").await.json();
    assert_eq!(rejected["code"], "not_the_last_month");
    let expect = "beginning with `DELETE /reports/closings/2024-03`";
    assert!(rejected["detail"].as_str().unwrap().ends_with(expect), "{rejected}");
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

/// A license of Acme in euros, of a year that begins on a day.
async fn year_of_acme(client: &Client, name: &str, from: &str, to: &str) {
    put(client, "/companies", &json!([{"name": "Acme", "externalId": "acme"}])).await;
    let license = json!({"externalId": name, "companyId": "extid-acme", "_currency": "EUR", "product": "Suite",
        "fixedPeriod": true, "fromDate": from, "toDate": to, "mrr": 100});
    put(client, "/licenses", &json!([license])).await;
}

async fn id(client: &Client, path: &str) -> Value {
    client.get(path).await.json()["_id"].clone()
}

/// What the monthly report says of the last closed month.
async fn since_closing(client: &Client, month: &str) -> Value {
    let path = format!("/reports/mrr?from={month}-01&to=2024-08-01&gapDays=7");
    client.get(&path).await.json()["closings"][0].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_difference_has_a_reason() {
    let server = server().await;
    let client = &server.client;
    // The first license is bridged into April, in which it does not last.
    year_of_acme(client, "first", "2023-03-29", "2024-03-28").await;
    year_of_acme(client, "second", "2024-04-03", "2025-04-02").await;
    let (first, acme) =
        (id(client, "/licenses/extid-first").await, id(client, "/companies/extid-acme").await);
    closed(client, "2024-04").await;
    let gone = client.send(Method::DELETE, "/licenses/extid-first", &[], "").await.unwrap();
    assert_eq!(gone.status, StatusCode::OK);
    let month = since_closing(client, "2024-04").await;
    assert_eq!(month["changedLicenses"], json!([first]), "{month}");
    let company = json!({"company": acme, "currencies": [month["currencies"][0]]});
    assert_eq!((&month["companies"], &month["companyCount"]), (&json!([company]), &json!(1)));
    let differences = &month["currencies"][0]["difference"];
    assert_eq!((&differences["start"], &differences["new"]), (&json!(-100), &json!(100)));
    assert_eq!((&month["ratesChanged"], &month["timeZoneChanged"]), (&json!(false), &json!(false)));

    // One that ended long before makes a reactivation of what was new.
    assert_eq!(reopen(client, "2024-04").await.json()["deletedCount"], 1);
    closed(client, "2024-04").await;
    assert_eq!(since_closing(client, "2024-04").await["changedLicenses"], json!([]));
    year_of_acme(client, "older", "2020-01-01", "2020-12-31").await;
    let month = since_closing(client, "2024-04").await;
    assert_eq!(month["currencies"][0]["difference"]["reactivation"], 100, "{month}");
    assert_eq!(month["changedLicenses"], json!([id(client, "/licenses/extid-older").await]));
}

#[tokio::test(flavor = "multi_thread")]
async fn rates_and_a_time_zone_that_were_changed_are_reasons() {
    let server = server().await;
    let client = &server.client;
    store_twelve(client).await;
    closed(client, "2024-07").await;
    let month = async || since_closing(client, "2024-07").await;
    let reasons = |month: &Value| {
        ["changedLicenseCount", "companyCount", "ratesChanged", "timeZoneChanged"]
            .map(|name| month[name].to_string())
            .join(" ")
    };
    assert_eq!(reasons(&month().await), "0 0 false false");
    let set = async |settings: Value| put(client, "/settings", &settings).await;
    set(json!({"currencies": {"base": "EUR", "rates": {"USD": {"2023-01-01": 0.9, "2024-08-01": 0.7}}}})).await;
    assert_eq!(reasons(&month().await), "0 0 false false", "a rate of a later day");
    set(json!({"currencies": {"base": "EUR", "rates": {"USD": {"2023-01-01": 0.8}}}})).await;
    let changed = month().await;
    assert_eq!(reasons(&changed), "0 0 true false");
    assert_eq!(changed["converted"]["difference"]["end"], -30);
    // Without rates nothing is converted.
    set(json!({"currencies": null})).await;
    assert_eq!(reasons(&month().await), "0 0 true false");
    set(json!({"currencies": {"base": "EUR", "rates": {"USD": 0.9}}, "timeZone": "Asia/Tokyo"}))
        .await;
    let path = "/reports/mrr?from=2024-07-01&to=2024-08-01&gapDays=7&timeZone=UTC";
    let report = client.get(path).await.json();
    assert_eq!(reasons(&report["closings"][0]), "0 0 false true");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_currency_that_converts_nothing_otherwise_is_no_reason() {
    let server = server().await;
    let client = &server.client;
    year_of_acme(client, "first", "2023-04-01", "2024-03-31").await;
    closed(client, "2024-03").await;
    put(client, "/licenses/extid-first", &json!({"mrr": 90})).await;
    let rates_changed = async |currencies: Value| {
        put(client, "/settings", &json!({"currencies": currencies})).await;
        let month = since_closing(client, "2024-03").await;
        assert_eq!(month["changedLicenseCount"], 1, "{month}");
        month["ratesChanged"].clone()
    };
    // Euros alone are euros, with or without them as the base, and whatever dollars are worth.
    assert_eq!(rates_changed(json!({"base": "EUR"})).await, false);
    assert_eq!(rates_changed(json!({"base": "EUR", "rates": {"USD": 0.9}})).await, false);
    assert_eq!(rates_changed(json!({"base": "USD", "rates": {"EUR": 1.1}})).await, true);
}

#[tokio::test(flavor = "multi_thread")]
async fn differences_are_the_same_whatever_a_report_is_converted_into() {
    let server = server().await;
    let client = &server.client;
    let set = async |rates: Value| {
        let currencies = json!({"currencies": {"base": "EUR", "rates": rates}});
        put(client, "/settings", &currencies).await;
    };
    set(json!({"USD": 0.9})).await;
    year_of_acme(client, "first", "2023-01-01", "2024-12-31").await;
    let dollars = json!({"externalId": "second", "companyId": "extid-acme", "_currency": "USD", "fromDate": "2024-01-10", "mrr": 40});
    put(client, "/licenses", &json!([dollars])).await;
    closed(client, "2024-01").await;
    put(client, "/licenses/extid-first", &json!({"mrr": 80})).await;
    // A rate that converts nothing of the month.
    set(json!({"USD": 0.9, "SEK": 0.1})).await;
    let path = "/reports/mrr?from=2024-01-01&to=2024-02-01&gapDays=7";
    let plain = client.get(path).await.json();
    let expect = ["", "converted"].map(|scope| ["end", "start"].map(|line| (scope, line))).concat();
    let expect: Vec<String> = expect
        .into_iter()
        .map(|(scope, line)| format!("\"2024-01\"{scope} EUR {line} -20"))
        .collect();
    assert_eq!(differences(&plain), expect);
    let report = async |base: &str| client.get(&format!("{path}&baseCurrency={base}")).await.json();
    let in_euros = report("EUR").await;
    assert_eq!(in_euros["closings"], plain["closings"]);
    assert_eq!(in_euros["currencies"], json!([]));
    for base in ["USD", "CHF"] {
        let mut closings = report(base).await["closings"].take();
        assert_eq!(closings[0]["converted"].take(), Value::Null, "{base}");
        let mut plain = plain["closings"].clone();
        plain[0]["converted"].take();
        assert_eq!(closings, plain, "{base}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn companies_are_ranked_by_what_differs_in_the_base_currency() {
    let server = server().await;
    let client = &server.client;
    let currencies = ["EUR", "JPY", "SEK", "USD"];
    for currency in currencies {
        put(client, "/companies", &json!([{"name": currency, "externalId": currency}])).await;
        let license = json!({"externalId": currency, "companyId": format!("extid-{currency}"),
            "_currency": currency, "fromDate": "2024-01-01", "mrr": 5_000});
        put(client, "/licenses", &json!([license])).await;
    }
    closed(client, "2024-04").await;
    for (currency, mrr) in currencies.iter().zip([4_900, 2_000, 0, 4_500]) {
        put(client, &format!("/licenses/extid-{currency}"), &json!({"mrr": mrr})).await;
    }
    let ranked = async || {
        let month = since_closing(client, "2024-04").await;
        let companies = month["companies"].as_array().unwrap().iter();
        let currency = |of: &Value| of["currencies"][0]["currency"].as_str().unwrap().to_owned();
        companies.map(currency).collect::<Vec<_>>()
    };
    // Amounts of different currencies are not compared.
    assert_eq!(ranked().await, ["EUR", "JPY", "SEK", "USD"]);
    let rates = json!({"currencies": {"base": "EUR", "rates": {"USD": 0.9, "JPY": 0.01}}});
    put(client, "/settings", &rates).await;
    // 450, 100 and 30 euros, and krones without a rate.
    assert_eq!(ranked().await, ["USD", "EUR", "JPY", "SEK"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_month_lists_its_companies_as_they_were() {
    let server = server().await;
    let client = &server.client;
    store_twelve(client).await;
    let april = closed(client, "2024-04").await;
    put(client, "/licenses/extid-T02", &json!({"mrr": 1050})).await;
    put(client, "/settings", &json!({"currencies": null})).await;
    let path = format!("{CLOSINGS}/2024-04?by=company");
    let found = client.get(&path).await.json();
    assert_eq!(found["converted"], april["converted"]);
    let companies = found["companies"].as_array().unwrap();
    let acorn = id(client, "/companies/extid-Acorn").await;
    let acorn = companies.iter().find(|of| of["company"] == acorn).unwrap();
    assert_eq!(
        (&acorn["converted"]["start"], &acorn["converted"]["end"]),
        (&json!(1100), &json!(1100))
    );
    for line in ["start", "expansion", "contraction", "churn", "end", "customers"] {
        let sum: f64 = companies.iter().filter_map(|of| of["converted"][line].as_f64()).sum();
        assert_eq!(Some(sum), april["converted"][line].as_f64(), "{line}");
    }
    let etag = client.get(&path).await.headers["etag"].to_str().unwrap().to_owned();
    let same = client.send(Method::GET, &path, &[("if-none-match", &etag)], "").await.unwrap();
    assert_eq!(same.status, StatusCode::NOT_MODIFIED);
    let csv = client.send(Method::GET, &path, &[("accept", "text/csv")], "").await.unwrap();
    let text = csv.text();
    let head = "month,company,scope,currency,start,new,reactivation,expansion,contraction,churn,negative,end,customers\n";
    assert!(text.replace('\r', "").starts_with(head), "{text}");
    assert!(
        text.contains(",currency,USD,200.00,0.00,0.00,100.00,0.00,0.00,0.00,300.00,1"),
        "{text}"
    );
    for (path, status) in
        [("2024-04?by=owner", 422), ("2024-04?from=2024-01-01", 400), ("2024-05?by=company", 404)]
    {
        assert_eq!(
            client.get(&format!("{CLOSINGS}/{path}")).await.status.as_u16(),
            status,
            "{path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reopening_records_who_when_and_why() {
    let server = server().await;
    let client = &server.client;
    store_twelve(client).await;
    let first = closed(client, "2024-04").await;
    assert_eq!(first["reopened"], Value::Null);
    let path = format!("{CLOSINGS}/2024-04");
    for (query, status, code) in [
        ("", 422, "required"),
        ("?reason=%20", 422, "required"),
        ("?why=late", 400, "unknown_parameter"),
        ("?reason=a&reason=b", 400, "sent_twice"),
    ] {
        let rejected =
            client.send(Method::DELETE, &format!("{path}{query}"), &[], "").await.unwrap();
        assert_eq!(
            (rejected.status.as_u16(), &rejected.json()["code"]),
            (status, &json!(code)),
            "{query}"
        );
    }
    assert_eq!(client.get(&path).await.json(), first);
    assert_eq!(reopen(client, "2024-04").await.json()["deletedCount"], 1);
    assert_eq!(reopen(client, "2024-04").await.json()["deletedCount"], 0);
    let open = client.get(CLOSINGS).await.json()[0].take();
    assert_eq!(open.as_object().unwrap().len(), 2, "{open}");
    assert_eq!(
        (&open["month"], &open["reopened"][0]["reason"]),
        (&json!("2024-04"), &json!("late invoice"))
    );
    assert_eq!(client.get(&path).await.status, StatusCode::NOT_FOUND);
    let again = closed(client, "2024-04").await;
    let reopened = &again["reopened"];
    assert_eq!(reopened, &open["reopened"]);
    assert_eq!(reopened.as_array().unwrap().len(), 1);
    assert_eq!(
        (&reopened[0]["reason"], &reopened[0]["by"], &reopened[0]["at"]),
        (&json!("late invoice"), &first["closedBy"], &json!("2024-08-01T09:30:00.000Z"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_month_is_reopened_only_in_the_version_that_was_read() {
    let clock = Arc::new(StillClock::at(Timestamp::parse("2024-06-03T09:00:00Z").unwrap()));
    let server = InProcess::with_clock(clock.clone()).await;
    let client = &server.client;
    store_twelve(client).await;
    closed(client, "2024-04").await;
    let path = format!("{CLOSINGS}/2024-04");
    let etag = async |headers: &[(&str, &str)]| {
        let read = client.send(Method::GET, &path, headers, "").await.unwrap();
        read.headers["etag"].to_str().unwrap().to_owned()
    };
    let reopen_in = async |etag: &str| {
        let path = format!("{path}?reason=late%20invoice");
        client.send(Method::DELETE, &path, &[("if-match", etag)], "").await.unwrap()
    };
    let first = etag(&[]).await;
    assert_eq!(reopen_in(&first).await.json()["deletedCount"], 1);
    clock.set(Timestamp::parse("2024-06-03T09:00:00.001Z").unwrap());
    closed(client, "2024-04").await;
    let late = reopen_in(&first).await;
    assert_eq!(
        (late.status, &late.json()["code"]),
        (StatusCode::PRECONDITION_FAILED, &json!("version_mismatch"))
    );
    let current = etag(&[("accept", "text/csv")]).await;
    assert_ne!(current, etag(&[]).await);
    // The precondition is checked before the order of the months, and a later month has another tag.
    closed(client, "2024-05").await;
    assert_eq!(reopen_in(&first).await.status, StatusCode::PRECONDITION_FAILED);
    assert_eq!(reopen_in(&current).await.json()["code"], "not_the_last_month");
    assert_eq!(reopen(client, "2024-05").await.json()["deletedCount"], 1);
    assert_eq!(reopen_in(&format!("W/{current}")).await.json()["deletedCount"], 1);
    assert_eq!(reopen_in(&current).await.json()["deletedCount"], 0);
}

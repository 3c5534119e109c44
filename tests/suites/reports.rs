//! Revenue reports over HTTP: the worked example, and what is rejected.

use std::{fs, sync::Arc};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_core::value::Timestamp;
use svctrack_tests::{
    client::{Client, Response},
    in_process::{InProcess, StillClock},
    project,
};

const JSON: (&str, &str) = ("content-type", "application/json");
const REPORTS: [&str; 5] = ["mrr", "retention", "renewals", "forecast", "customers"];
pub(super) const NOW: &str = "2024-08-01T09:30:00Z";

pub(super) fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

pub(super) async fn server() -> InProcess {
    InProcess::with_clock(Arc::new(StillClock::at(at(NOW)))).await
}

pub(super) async fn send(client: &Client, method: Method, path: &str, body: &Value) -> Response {
    client.send(method, path, &[JSON], body.to_string()).await.unwrap()
}

pub(super) async fn put(client: &Client, path: &str, body: &Value) {
    let response = send(client, Method::PUT, path, body).await;
    assert_eq!(response.status, StatusCode::OK, "{path}: {}", response.text());
    assert!(!response.text().contains("\"errors\":[{"), "{path}: {}", response.text());
}

async fn csv(client: &Client, path: &str) -> Response {
    client.send(Method::GET, path, &[("accept", "text/csv")], "").await.unwrap()
}

/// Checks that a report is rejected with this code, for this parameter.
pub(super) async fn check_rejected(client: &Client, query: &str, code: &str, pointer: &str) {
    let response = client.get(&format!("/reports/{query}")).await;
    let said = response.text();
    assert_eq!(response.status, StatusCode::UNPROCESSABLE_ENTITY, "{query}: {said}");
    let problem = response.json();
    let first = (&problem["code"], &problem["errors"][0]["pointer"]);
    assert_eq!(first, (&json!(code), &json!(pointer)), "{query}");
}

/// The twelve licenses of seven companies that core's tests and the docs have.
pub(super) async fn store_twelve(client: &Client) {
    let path = project().join("core/tests/revenue/twelve.csv");
    let text = fs::read_to_string(path).unwrap();
    let rows = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let rows: Vec<Vec<&str>> = rows.collect();
    let mut companies: Vec<&str> = rows.iter().map(|row| row[1]).collect();
    companies.dedup();
    let phase = |name: &str| if name < "D" { "live" } else { "onboarding" };
    let companies: Vec<Value> = companies
        .into_iter()
        .map(|name| json!({"name": name, "externalId": name, "phase": phase(name), "custom": {"plan": name.len()}}))
        .collect();
    put(client, "/companies", &companies.into()).await;
    let licenses = rows.iter().map(|row| {
        let mut license = json!({
            "externalId": row[0], "companyId": format!("extid-{}", row[1]), "product": row[2], "_currency": row[3],
            "fromDate": row[4], "fixedPeriod": row[6] == "true", "renewalStatus": row[7],
            "mrr": row[8].parse::<i64>().unwrap(),
        });
        if !row[5].is_empty() {
            license["toDate"] = row[5].into();
        }
        license
    });
    put(client, "/licenses", &licenses.collect()).await;
    put(
        client,
        "/settings",
        &json!({"currencies": {"base": "EUR", "rates": {"USD": {"2023-01-01": 0.9}}}}),
    )
    .await;
}

const SPAN: &str = "from=2024-01-01&to=2024-08-01&gapDays=7";

/// Some members of the rows of a report, each row as a line.
fn lines(rows: &Value, members: &[&str]) -> Vec<String> {
    let line = |row: &Value| {
        let cells = members.iter().map(|name| row[*name].to_string().replace('"', ""));
        cells.collect::<Vec<_>>().join(" ")
    };
    rows.as_array().unwrap().iter().map(line).collect()
}

/// What the worked example comes to: names of members, and a line per month.
fn expected() -> (Vec<String>, Vec<String>) {
    let path = project().join("core/tests/revenue/twelve-mrr.txt");
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(str::to_owned);
    let names = lines.next().unwrap().split(' ').map(str::to_owned).collect();
    (names, lines.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn mrr_of_twelve_licenses_shows_every_movement() {
    let server = server().await;
    store_twelve(&server.client).await;
    let report = server.client.get(&format!("/reports/mrr?{SPAN}")).await.json();
    let (names, months) = expected();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(lines(&report["converted"]["rows"], &names), months);
    assert_eq!((&report["baseCurrency"], &report["timeZone"]), (&json!("EUR"), &json!("UTC")));
    assert_eq!(
        (&report["now"], &report["excluded"]),
        (&json!("2024-08-01T00:00:00.000Z"), &json!([]))
    );
    assert_eq!(lines(&report["overdue"], &["end", "mrr"]), ["2024-07-01 500"]);
    // A start at midnight in Berlin is of June there, of the parameter as of the setting.
    let june = |report: Value| lines(&report["converted"]["rows"], &names)[5].clone();
    let berlin = format!("/reports/mrr?{SPAN}&timeZone=Europe/Berlin");
    assert_eq!(june(server.client.get(&berlin).await.json()), "1940 0 240 0 30 0 0 2150 5");
    put(&server.client, "/settings", &json!({"timeZone": "Europe/Berlin"})).await;
    let report = server.client.get(&format!("/reports/mrr?{SPAN}")).await.json();
    assert_eq!(june(report), "1940 0 240 0 30 0 0 2150 5");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_figure_is_explained_by_its_companies_and_licenses() {
    let server = server().await;
    store_twelve(&server.client).await;
    let path = format!("/reports/mrr?{SPAN}&explain=expansion&period=2024-04&currency=USD");
    let found = server.client.get(&path).await.json();
    assert_eq!(
        lines(&json!([found]), &["line", "from", "to", "currency", "amount"]),
        ["expansion 2024-04-01 2024-05-01 USD 100"]
    );
    assert_eq!(
        lines(&found["companies"], &["amount", "formula"]),
        ["100 200 -> 300: expansion 100"]
    );
    let licenses =
        lines(&found["companies"][0]["licenses"], &["product", "mrr", "atStart", "atEnd"]);
    assert_eq!(licenses, ["Addon 100 false true", "Suite 200 true true"]);
    let whole = format!("/reports/retention?{SPAN}&explain=kept");
    assert_eq!(server.client.get(&whole).await.json()["amount"], json!(1000));
    let text = csv(&server.client, &path).await;
    assert!(
        text.text().starts_with("company,companyName,companyAmount,currency,formula,license,"),
        "{}",
        text.text()
    );
    let cohort = "interval=quarter&explain=end&cohort=2023-Q3&period=2024-Q2";
    let found = server.client.get(&format!("/reports/retention?{SPAN}&{cohort}")).await.json();
    assert_eq!(found["formula"], "end = 500 = 500");
    let forecast = "/reports/forecast?from=2024-08-01&to=2025-04-01&assumeRenewed=true&explain=base&period=2025-02";
    let found = server.client.get(forecast).await.json();
    // Acorn's T02 is over on 2 February, and Dune's T07 since July.
    assert_eq!(
        lines(&found["companies"], &["formula"]),
        [
            "base: mrr 1100 = 1100",
            "base: mrr 500 = 500",
            "base: mrr 90 + mrr 180 = 270",
            "base: mrr 240 = 240",
            "base: mrr 90 + mrr -30 = 60",
            "base: mrr -20 = -20",
        ]
    );
    assert_eq!(found["companies"][0]["licenses"][0]["isConfirmed"], false);
    let text = csv(&server.client, forecast).await;
    assert_eq!(text.text().lines().count(), 1 + 8);
    let over = ",Suite,EUR,2024-02-02,2025-02-02,false,mrr,1100.00,1,1100.00";
    assert!(text.text().contains(over), "{}", text.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_reports_of_twelve_licenses_are_as_they_add_up() {
    let server = server().await;
    let client = &server.client;
    store_twelve(client).await;
    let retention = client.get(&format!("/reports/retention?{SPAN}")).await.json();
    let span = &retention["converted"]["span"];
    // Acorn 1000 -> 1100, Dune 650 -> 0, Elm 400 -> 0.
    assert_eq!(
        lines(&json!([span]), &["base", "kept", "retained", "customers", "lostCustomers"]),
        ["2050 1000 1100 3 2"]
    );
    let cohorts = &retention["cohorts"]["converted"]["rows"];
    assert_eq!(
        lines(cohorts, &["cohort"]),
        ["2022-03", "2023-01", "2023-07", "2024-01", "2024-03"]
    );
    assert_eq!(
        client.get("/reports/retention?interval=week&from=2024-01-01&to=2024-02-01").await.json()["cohorts"],
        Value::Null
    );

    let renewals = client.get(&format!("/reports/renewals?{SPAN}&interval=year")).await.json();
    // T01 1000, T05 300, T07 500, T08 150, T09 400; T02 follows T01.
    let figures =
        ["base", "renewed", "upgrade", "downgrade", "churned", "overdue", "open", "licenses"];
    assert_eq!(lines(&renewals["converted"]["rows"], &figures), ["2350 1000 100 0 850 500 0 5"]);
    assert_eq!(lines(&renewals["licenses"], &["end", "outcome"]).len(), 5);
    assert_eq!(renewals["licensesTotal"], 5);
    let upgrade = format!("/reports/renewals?{SPAN}&interval=year&explain=upgrade&period=2024");
    let upgrade = client.get(&upgrade).await.json();
    assert_eq!(lines(&upgrade["companies"], &["formula"]), ["upgrade: 1000 -> 1100 = 100"]);
    let of_license = &upgrade["companies"][0]["licenses"];
    assert_eq!(lines(of_license, &["outcome", "mrr", "rate", "amount"]), ["renewed 1000 1 100"]);

    let forecast = client
        .get("/reports/forecast?from=2024-08-01&to=2025-04-01&assumeRenewed=true")
        .await
        .json();
    let rows = forecast["converted"]["rows"].as_array().unwrap();
    // Confirmed: Acorn 1100, Birch 270, Cedar 240, Fern 60, Gale -20; T07 adds 500; from February on Acorn is unconfirmed.
    let amounts_at = |at: usize| {
        (rows[at]["confirmed"].to_string(), rows[at]["unconfirmed"]["base"].to_string())
    };
    assert_eq!(
        [amounts_at(0), amounts_at(7)],
        [("1650".into(), "500".into()), ("550".into(), "1600".into())]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn customers_are_sorted_filtered_and_paged() {
    let server = server().await;
    let client = &server.client;
    store_twelve(client).await;
    let names = async |query: &str| {
        let report = client.get(&format!("/reports/customers?{query}")).await.json();
        let rows = lines(&report["rows"], &["name"]);
        (rows.join(" "), report["total"].as_u64().unwrap())
    };
    let all = client.get("/reports/customers").await.json();
    let first = &all["rows"][0];
    // Without usage: 5 points of 100. Dune is overdue by 31 days, with 500.
    assert_eq!(lines(&json!([first]), &["name", "mrr", "overdue", "days"]), ["Acorn 1100 0 185"]);
    assert_eq!(all["usage"], "unknown");
    assert_eq!(all["rows"][1]["atStake"]["amount"], json!(25));
    assert_eq!(names("").await.1, 7);
    assert_eq!(names("sort=-mrr&limit=2").await, ("Acorn Birch".into(), 7));
    assert_eq!(names("sort=name&limit=2&offset=1").await, ("Birch Cedar".into(), 7));
    assert_eq!(names("phase=live&sort=-name").await, ("Cedar Birch Acorn".into(), 3));
    assert_eq!(names("custom.plan=3").await, ("Elm".into(), 1));
    // As lists are.
    assert_eq!(
        names("custom.plan=3,4&sort=name").await.1,
        names("custom.plan=3&custom.plan=4").await.1
    );
    assert_eq!(names("custom.plan=3,nothing").await, ("Elm".into(), 1));
    assert_eq!(names("name[prefix]=el").await, ("Elm".into(), 1));
    assert_eq!(names("phase[ne]=live").await.1, 4);
    assert_eq!(
        names("phase[exists]=false&custom.plan[ne]=3").await.1,
        names("phase=null&custom.plan[ne]=3").await.1
    );
    assert_eq!(names("status=lost").await, ("Elm".into(), 1));
    assert_eq!(names("companyId=extid-Fern").await, ("Fern".into(), 1));
    // A user who is active is seen at once.
    client.post("/endusers", &json!({"externalId": "u", "companyId": "extid-Birch"})).await;
    client.track(&json!({"externalId": "u", "action": "Login"})).await.unwrap();
    client
        .post(
            "/tickets",
            &json!({"companyId": "extid-Birch", "email": "u@birch.example", "status": "open", "sourceId": "t"}),
        )
        .await;
    let used = client.get("/reports/customers?companyId=extid-Birch").await.json();
    let line = lines(
        &used["rows"],
        &["lastActive", "activityState", "usersActive", "beats", "openTickets"],
    );
    assert_eq!(line, ["2024-08-01 new 1 1 1"]);
    let acorn = async |query: &str| {
        let rows = client.get(&format!("/reports/customers?{query}")).await.json()["rows"].take();
        lines(&rows, &["name", "atStake"]).into_iter().find(|line| line.starts_with("Acorn"))
    };
    for query in ["companyId=extid-Acorn", "name=Acorn", "product=Suite"] {
        assert_eq!(acorn(query).await, acorn("").await, "it depends on {query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn segments_are_those_of_a_property_of_companies() {
    let server = server().await;
    store_twelve(&server.client).await;
    let path = format!("/reports/mrr?{SPAN}&interval=year&by=phase");
    let segments = async || {
        let report = server.client.get(&path).await.json();
        let segments = report["segments"].as_array().unwrap().iter();
        let segment = |segment: &Value| {
            format!(
                "{} {} {}",
                segment["segment"], segment["companies"], segment["converted"]["rows"][0]["end"]
            )
        };
        segments.map(segment).collect::<Vec<_>>()
    };
    assert_eq!(segments().await, [r#""live" 3 1610"#, r#""onboarding" 4 40"#]);
    // A filter reports the same companies alone.
    let report = server.client.get(&path.replace("by=", "phase[ne]=live&by=")).await.json();
    let end = &report["segments"][0]["converted"]["rows"][0]["end"];
    assert_eq!((&report["converted"]["rows"][0]["end"], end), (&json!(40), &json!(40)));
    let explained = path.replace("by=phase", "phase=live&explain=end");
    let explained = server.client.get(&explained).await.json();
    let companies = explained["companies"].as_array().unwrap().len();
    assert_eq!((&explained["amount"], companies), (&json!(1610), 3));
    // A company that moves is in its new segment at once.
    put(&server.client, "/companies/extid-Acorn", &json!({"phase": "onboarding"})).await;
    assert_eq!(segments().await, [r#""onboarding" 5 1140"#, r#""live" 2 510"#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rest_beyond_the_largest_segments_is_explained() {
    let server = server().await;
    let client = &server.client;
    let names: Vec<String> = (10..70).map(|number| format!("c{number}")).collect();
    let companies =
        names.iter().map(|name| json!({"name": name, "externalId": name, "owner": name}));
    put(client, "/companies", &companies.collect()).await;
    let licenses = names.iter().enumerate().map(|(at, name)| {
        json!({"companyId": format!("extid-{name}"), "_currency": "EUR", "fromDate": "2024-01-15", "mrr": 10 + at})
    });
    put(client, "/licenses", &licenses.collect()).await;
    let path = "/reports/mrr?from=2024-01-01&to=2024-03-01&by=owner";
    let report = client.get(path).await.json();
    let rest = &report["segments"][50];
    assert_eq!((&rest["isRest"], &rest["companies"]), (&json!(true), &json!(10)));
    let path = format!("{path}&explain=new&period=2024-01&segment=(rest)");
    let found = client.get(&path).await.json();
    assert_eq!(found["amount"], rest["converted"]["rows"][0]["new"], "{found}");
    assert_eq!(found["companies"].as_array().unwrap().len(), 10);
    // With fewer segments than the limit there is no rest.
    let few = client.get(&format!("{path}&companyId=extid-c10")).await;
    assert_eq!((few.status.as_u16(), &few.json()["code"]), (422, &json!("unknown_cell")));
    // Companies without a value are named as in the table.
    put(client, "/companies/extid-c10", &json!({"owner": null})).await;
    let none = client.get(&path.replace("(rest)", "(none)")).await.json();
    assert_eq!((&none["amount"], none["companies"].as_array().unwrap().len()), (&json!(10), 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_currency_without_a_rate_leaves_no_converted_total() {
    let server = server().await;
    store_twelve(&server.client).await;
    let report = async || server.client.get(&format!("/reports/mrr?{SPAN}")).await.json();
    put(
        &server.client,
        "/settings",
        &json!({"currencies": {"base": "EUR", "rates": {"USD": {"2024-08-01": 0.9}}}}),
    )
    .await;
    let missing = report().await;
    assert_eq!(missing["converted"], Value::Null);
    assert_eq!(missing["missingRates"], json!([{"currency": "USD", "day": "2024-07-31"}]));
    assert_eq!(lines(&missing["currencies"], &["currency"]), ["EUR", "USD"]);
    put(
        &server.client,
        "/settings",
        &json!({"currencies": {"base": "EUR", "rates": {"USD": 0.5}}}),
    )
    .await;
    let found = report().await;
    assert_eq!(
        (&found["missingRates"], &found["converted"]["rows"][6]["end"]),
        (&json!([]), &json!(1530))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_base_without_rates_converts_what_is_in_it() {
    let server = server().await;
    let client = &server.client;
    put(client, "/companies", &json!([{"name": "Acme", "externalId": "acme"}])).await;
    let license = json!({"companyId": "extid-acme", "_currency": "EUR", "fromDate": "2024-01-01", "mrr": 100});
    put(client, "/licenses", &json!([license])).await;
    let report = async || client.get("/reports/mrr?from=2024-07-01&to=2024-08-01").await.json();
    put(client, "/settings", &json!({"currencies": {"base": "EUR"}})).await;
    let found = report().await;
    assert_eq!(
        (&found["missingRates"], &found["converted"]["rows"][0]["end"]),
        (&json!([]), &json!(100))
    );
    // A second currency is missing, and not both.
    let second =
        json!({"companyId": "extid-acme", "_currency": "USD", "fromDate": "2024-01-01", "mrr": 9});
    put(client, "/licenses", &json!([second])).await;
    let found = report().await;
    assert_eq!(found["missingRates"], json!([{"currency": "USD", "day": "2024-07-31"}]));
    assert_eq!((&found["baseCurrency"], &found["converted"]), (&json!("EUR"), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn licenses_that_do_not_count_are_named() {
    let server = server().await;
    store_twelve(&server.client).await;
    let trial = json!({"companyId": "extid-Acorn", "_currency": "EUR", "fromDate": "2024-01-01"});
    let trial = server.client.post("/licenses", &trial).await.json();
    for report in REPORTS {
        let found = server.client.get(&format!("/reports/{report}")).await.json();
        assert_eq!(
            found["excluded"],
            json!([{"reason": "no_money", "licenses": [trial["_id"]], "total": 1}]),
            "{report}"
        );
        let others = format!("/reports/{report}?phase=onboarding&owner[exists]=false");
        assert_eq!(server.client.get(&others).await.json()["excluded"], json!([]), "{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_parameters_are_rejected_with_their_codes() {
    let server = server().await;
    for (query, code, pointer) in [
        ("mrr?from=2024-02-01&to=2024-01-01", "from_after_to", "/from"),
        ("mrr?from=2024-02-30", "invalid_day", "/from"),
        ("mrr?from=2000-01-01&to=2024-01-01&interval=day", "too_many_intervals", "/interval"),
        ("mrr?interval=hour", "unknown_interval", "/interval"),
        ("mrr?timeZone=Mars/Base", "unknown_time_zone", "/timeZone"),
        ("mrr?by=colour", "unknown_segment", "/by"),
        ("mrr?by=tags", "unknown_segment", "/by"),
        ("mrr?by=custom.", "unknown_segment", "/by"),
        ("mrr?gapDays=-1", "invalid_number", "/gapDays"),
        ("mrr?gapDays=367", "invalid_number", "/gapDays"),
        ("mrr?gapDays=%2B1", "invalid_number", "/gapDays"),
        ("mrr?view=both", "unknown_choice", "/view"),
        ("mrr?rates=live", "unknown_choice", "/rates"),
        ("mrr?companyId=x", "invalid_id", "/companyId"),
        ("mrr?companyId=extid-nosuch", "company_not_found", "/companyId"),
        ("forecast?companyId=0123456789abcdef01234567", "company_not_found", "/companyId"),
        ("usage?companyId=extid-nosuch", "company_not_found", "/companyId"),
        ("usage?phase=live", "unknown_parameter", "/phase"),
        ("customers?companyId=extid-nosuch", "company_not_found", "/companyId"),
        ("mrr?explain=profit", "unknown_choice", "/explain"),
        ("mrr?explain=churn&period=2024-13", "unknown_cell", "/period"),
        ("mrr?explain=churn&currency=XYZ", "unknown_cell", "/currency"),
        ("mrr?explain=end&cohort=2024-01", "unknown_parameter", "/cohort"),
        ("forecast?explain=churn", "unknown_choice", "/explain"),
        ("forecast?explain=actual", "unknown_cell", "/period"),
        ("mrr?explain=churn&segment=live", "no_effect", "/segment"),
        ("mrr?by=phase&segment=live", "no_effect", "/segment"),
        ("mrr?currency=EUR", "no_effect", "/currency"),
        ("forecast?currency=EUR", "no_effect", "/currency"),
        ("renewals?period=2024-01", "no_effect", "/period"),
        ("retention?cohort=2024-01", "no_effect", "/cohort"),
        ("usage?action=Login", "no_effect", "/action"),
        ("mrr?rates=dated&rateDate=2024-01-01", "no_effect", "/rateDate"),
        ("mrr?frm=2024-01-01", "unknown_parameter", "/frm"),
        ("mrr?from=2024-01-01&from=2024-02-01", "sent_twice", "/from"),
        ("retention?by=phase", "unknown_parameter", "/by"),
        ("retention?interval=week&part=cohorts", "unknown_choice", "/interval"),
        ("renewals?by=owner", "unknown_choice", "/by"),
        ("renewals?explain=kept", "unknown_choice", "/explain"),
        ("forecast?assumeRenewed=yes", "unknown_choice", "/assumeRenewed"),
        ("customers?sort=size", "unknown_choice", "/sort"),
        ("customers?limit=5001", "invalid_number", "/limit"),
        ("customers?status=prospect", "unknown_choice", "/status"),
        ("customers?activityState=idle", "unknown_choice", "/activityState"),
        ("customers?beats=1", "unknown_parameter", "/beats"),
    ] {
        check_rejected(&server.client, query, code, pointer).await;
    }
    // All errors are reported at once.
    let many = server.client.get("/reports/mrr?interval=hour&view=both&nonsense=1").await.json();
    assert_eq!(many["errors"].as_array().unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_need_their_scope_and_show_one_tenant_alone() {
    let server = server().await;
    store_twelve(&server.client).await;
    let made = server.operator.post("/tenants", &json!({"name": "other"})).await.json();
    let theirs = server.operator.with_token(made["token"]["token"].as_str().unwrap());
    let token = async |scope: &str| {
        let asked = json!({"label": scope, "scopes": [scope]});
        let made = server.client.post("/tokens", &asked).await.json();
        server.client.with_token(made["token"].as_str().unwrap())
    };
    let (reads, other) = (token("reports:read").await, token("licenses:read").await);
    for report in REPORTS {
        let path = format!("/reports/{report}");
        assert_eq!(server.anonymous.get(&path).await.status, StatusCode::UNAUTHORIZED);
        assert_eq!(other.get(&path).await.status, StatusCode::FORBIDDEN);
        assert_eq!(reads.get(&path).await.status, StatusCode::OK);
        let of_others = theirs.get(&path).await.json();
        assert!(!of_others.to_string().contains("EUR"), "{of_others}");
        assert_eq!(of_others["rows"].as_array().map_or(0, Vec::len), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_report_is_a_304() {
    let clock = Arc::new(StillClock::at(at(NOW)));
    let server = InProcess::with_clock(clock.clone()).await;
    let client = &server.client;
    store_twelve(client).await;
    for report in REPORTS {
        let path = format!("/reports/{report}");
        let first = client.get(&path).await;
        let etag = first.headers["etag"].to_str().unwrap().to_owned();
        let again = async || {
            client.send(Method::GET, &path, &[("if-none-match", &etag)], "").await.unwrap().status
        };
        assert_eq!(again().await, StatusCode::NOT_MODIFIED, "{report}");
        // No license begins or ends within the day.
        clock.set(at("2024-08-01T23:59:59Z"));
        assert_eq!(again().await, StatusCode::NOT_MODIFIED, "{report}");
        clock.set(at("2024-08-02T00:00:01Z"));
        assert_eq!(again().await, StatusCode::OK, "{report}");
        clock.set(at(NOW));
        assert_eq!(again().await, StatusCode::NOT_MODIFIED, "{report}");
        put(client, "/licenses/extid-T02", &json!({"mrr": 1101})).await;
        assert_eq!(again().await, StatusCode::OK, "{report}");
        put(client, "/licenses/extid-T02", &json!({"mrr": 1100})).await;
        assert_eq!(again().await, StatusCode::NOT_MODIFIED, "{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_report_is_a_table_for_spreadsheets() {
    let server = server().await;
    store_twelve(&server.client).await;
    put(&server.client, "/companies/extid-Elm", &json!({"name": "=1+1", "phase": "@SUM(A1)"}))
        .await;
    for (path, head) in [
        ("mrr?by=phase", "segment,scope,currency,period,"),
        ("retention", "scope,currency,over,period,"),
        ("retention?part=cohorts", "scope,currency,cohort,period,"),
        ("renewals", "scope,currency,period,"),
        ("renewals?part=licenses", "license,company,companyName,product,"),
        ("renewals?explain=base", "company,companyName,companyAmount,currency,formula,license,"),
        ("forecast", "scope,currency,period,"),
        ("forecast?explain=base", "company,companyName,companyAmount,currency,formula,license,"),
        ("customers", "company,name,status,"),
    ] {
        let response = csv(&server.client, &format!("/reports/{path}")).await;
        assert_eq!(response.status, StatusCode::OK, "{path}");
        assert_eq!(response.headers["content-type"], "text/csv; charset=utf-8; header=present");
        assert!(response.text().starts_with(head), "{path}: {}", response.text());
    }
    let customers = csv(&server.client, "/reports/customers").await;
    assert!(
        customers.text().contains(",'=1+1,") && !customers.text().contains(",=1"),
        "{}",
        customers.text()
    );
    // A negative amount stays a number.
    assert!(customers.text().contains(",EUR,-20.00,"), "{}", customers.text());
    let segments = csv(&server.client, "/reports/mrr?by=phase").await;
    assert!(segments.text().contains("\n'@SUM(A1),"), "{}", segments.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_notes_in_each_row_what_its_figures_leave_out() {
    let server = server().await;
    let client = &server.client;
    store_twelve(client).await;
    let notes = async |path: &str| {
        let text = csv(client, &format!("/reports/{path}")).await.text().replace('\r', "");
        let (head, rows) = text.split_once('\n').unwrap();
        assert!(head.ends_with(",note"), "{path}: {head}");
        let last = |row: &str| row.rsplit_once(',').unwrap().1.to_owned();
        rows.lines().map(last).collect::<std::collections::BTreeSet<_>>()
    };
    const TABLES: [&str; 7] = [
        "mrr?by=phase",
        "retention",
        "retention?part=cohorts",
        "renewals",
        "renewals?part=licenses",
        "forecast",
        "customers",
    ];
    for table in TABLES {
        assert_eq!(notes(table).await.into_iter().collect::<Vec<_>>(), [""], "{table}");
    }
    put(client, "/settings", &json!({"currencies": {"base": "EUR", "rates": {"SEK": 0.1}}})).await;
    let trial = json!({"companyId": "extid-Acorn", "_currency": "EUR", "fromDate": "2024-01-01"});
    client.post("/licenses", &trial).await;
    for table in TABLES {
        let found = notes(table).await;
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, ["no rate for USD; 1 license excluded"], "{table}");
    }
    // A note is no license: a table without rows has none.
    let quiet = "renewals?part=licenses&from=2030-01-01&to=2030-02-01";
    assert!(notes(quiet).await.is_empty());
}

#[test]
fn the_formulas_of_the_docs_are_those_of_the_spreadsheet() {
    let read = |path: &str| fs::read_to_string(project().join(path)).unwrap();
    let docs = read("server/docs/revenue.md");
    let formulas: Vec<&str> = docs.split('`').filter(|code| code.starts_with('=')).collect();
    let sheet = read("core/tests/revenue/twelve.sheet.csv");
    assert_eq!(formulas.len(), 2);
    formulas.iter().for_each(|formula| assert!(sheet.contains(formula), "{formula}"));
}

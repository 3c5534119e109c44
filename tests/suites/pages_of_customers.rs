//! The page of customers: who is one now, filters, owners, and the file of all of them.

use std::collections::BTreeSet;

use hyper::StatusCode;
use serde_json::{Value, json};
use svctrack_core::revenue::CustomerPage;
use svctrack_tests::in_process::InProcess;

use crate::{
    pages::{attribute, page, sign_in, token},
    pages_of_figures::server,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_customers_has_all_of_them_and_a_page_of_the_report_names_the_next_one() {
    let server = server().await;
    let client = &server.client;
    let more = u64::from(CustomerPage::MAX_LIMIT);
    let put = async |path: &str, item: &dyn Fn(u64) -> Value| {
        let items: Vec<_> = (1..=more).map(item).collect();
        let put = client.send(hyper::Method::PUT, path, &[], json!(items).to_string()).await;
        assert_eq!(put.unwrap().status, StatusCode::OK, "{path}");
    };
    put("/companies", &|at| json!({"name": format!("Company {at}"), "externalId": at.to_string()}))
        .await;
    let license = |at: u64| {
        json!({
            "externalId": at.to_string(), "companyId": format!("extid-{at}"), "_currency": "EUR",
            "fromDate": "2025-01-01", "mrr": at,
        })
    };
    put("/licenses", &license).await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let html = page(&reader, "/app/customers").await;
    let file = attribute(&html, "href").find(|path| path.contains("form=csv")).unwrap();
    let file = page(&reader, &file.replace("&amp;", "&")).await;
    let companies: BTreeSet<_> =
        file.lines().skip(1).filter_map(|it| it.split(',').next()).collect();
    assert_eq!(companies.len() as u64, more + 1);
    let csv = [("accept", "text/csv")];
    for (offset, next) in [(0, Some("offset=5000")), (1, None)] {
        let path = format!("/reports/customers?limit={more}&offset={offset}");
        let found = client.send(hyper::Method::GET, &path, &csv, "").await.unwrap();
        let sent = found.headers.get("svctrack-next").map(|next| next.to_str().unwrap());
        assert_eq!(sent, next);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn customers_are_those_of_now_by_default_with_filters_and_their_owners() {
    let server = InProcess::start().await;
    let client = &server.client;
    for (name, owner, phase) in
        [("Acme", "Ada", "at risk, soon"), ("Beta", "Bob", "live"), ("Gone", "Ada", "live")]
    {
        let company = json!({"name": name, "externalId": name, "owner": owner, "phase": phase, "csmScore": 2});
        client.post("/companies", &company).await;
        let license = match name {
            "Gone" => {
                json!({"companyId": "extid-Gone", "_currency": "EUR", "mrr": 50, "fixedPeriod": true,
                "fromDate": "2020-01-01", "toDate": "2021-01-01", "renewalStatus": "lost"})
            }
            name => json!({"companyId": format!("extid-{name}"), "_currency": "EUR", "mrr": 100.5,
                "fromDate": "2025-01-01"}),
        };
        assert_eq!(client.post("/licenses", &license).await.status, StatusCode::OK);
    }
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let home = page(&reader, "/").await;
    let card = home.split("href=\"/app/customers\"").find(|rest| rest.contains("figure-label"));
    assert!(card.is_some(), "{home}");
    for (query, names) in [
        ("", vec!["Acme", "Beta"]),
        ("?status=", vec!["Acme", "Beta", "Gone"]),
        ("?status=lost", vec!["Gone"]),
        ("?owner=Ada", vec!["Acme"]),
        ("?name=bet", vec!["Beta"]),
        ("?phase=at+risk,+soon", vec!["Acme"]),
        ("?activityState=never", vec!["Acme", "Beta"]),
        ("?owner=Nobody", vec![]),
    ] {
        let html = page(&reader, &format!("/app/customers{query}")).await;
        for name in ["Acme", "Beta", "Gone"] {
            let is_listed = html.contains(&format!(">{name}</a>"));
            assert_eq!(is_listed, names.contains(&name), "{query} {name}: {html}");
        }
        assert_eq!(html.contains("No matching customers."), names.is_empty(), "{query}");
    }
    for (query, has_status) in [("", false), ("?status=", true)] {
        let html = page(&reader, &format!("/app/customers{query}")).await;
        assert_eq!(html.contains("data-label=\"Status\""), has_status, "{query}: {html}");
    }
    let html = page(&reader, "/app/customers?sort=name").await;
    for text in ["Owner: Ada</small>", "data-label=\"At stake\"", "Name, Z to A"] {
        assert!(html.contains(text), "{text}: {html}");
    }
    let path = attribute(&html, "href").find(|link| link.contains("/records/companies/")).unwrap();
    let company = page(&reader, path).await;
    for text in ["Owner <strong>Ada</strong>", "Phase <strong>at risk, soon<", "EUR 100.50"] {
        assert!(company.contains(text), "{text}: {company}");
    }
    let audit = page(&reader, "/app/audit").await;
    assert!(audit.contains(">Acme</a>") && audit.contains("Company created"), "{audit}");
    assert!(page(&reader, "/app/reports/renewals").await.contains("<h1>Renewal rates</h1>"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_of_the_customers_is_saved_under_a_name_shown_to_all_and_removed() {
    let server = InProcess::start().await;
    let client = &server.client;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let scopes = json!({"label": "success", "scopes": ["reports:read", "companies:read"]});
    let other = client.post("/tokens", &scopes).await.json();
    let other = sign_in(&server.anonymous, other["token"].as_str().unwrap()).await;
    let views = "/app/customers/views";
    // What is as by default is no part of a view.
    let shown = "/app/customers?name=&status=&owner=Ada&phase=&sort=name&activityState=";
    assert!(!page(&reader, "/app/customers?sort=-atStake").await.contains("Save this view"));
    assert!(!page(&other, shown).await.contains("Save this view"));
    let html = page(&reader, shown).await;
    let query = attribute(&html, "name=\"query\" value").next().unwrap().replace("&amp;", "&");
    assert_eq!(query, "status=&owner=Ada&sort=name");
    let saved = reader.submit(views, &[("name", "Ada's <b>"), ("query", &query)]).await;
    assert_eq!(saved.status, StatusCode::SEE_OTHER, "{}", saved.text());
    assert_eq!(saved.headers["location"], format!("/app/customers?{query}"));
    let link = "href=\"/app/customers?status=&amp;owner=Ada&amp;sort=name\"";
    let html = page(&other, "/app/customers").await;
    assert!(html.contains(link) && html.contains("Ada's &lt;b&gt;</a>"), "{html}");
    assert!(!page(&other, "/app/records/companies").await.contains("Ada's"));
    let html = page(&reader, shown).await;
    assert!(html.contains("Remove this view") && html.contains("aria-current=\"page\">Ada"));
    let nameless = reader.submit(views, &[("name", ""), ("query", &query)]).await;
    assert_eq!(nameless.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(nameless.text().contains("a name of 1 to 80") && nameless.text().contains("Ada"));
    let mine = other.submit(views, &[("name", "Mine"), ("query", &query)]).await;
    assert_eq!(mine.status, StatusCode::FORBIDDEN);
    let remove = [("name", "Ada's <b>"), ("query", &query), ("step", "remove")];
    assert_eq!(reader.submit(views, &remove).await.status, StatusCode::SEE_OTHER);
    assert!(!page(&reader, "/app/customers").await.contains("Ada's"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_parameter_of_a_page_is_named_by_its_label() {
    let server = InProcess::start().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    for (path, message) in [
        ("/app/records/companies?nothing=3", "Nothing is not a known parameter"),
        ("/app/records/companies?limit=x", "Limit is not a parameter of this page"),
        ("/app/records/companies?mrr[gte]=abc", "MRR must be a number; found abc"),
        ("/app/records/licenses?companyId=abc&sort=none", "Company must be"),
        ("/app/reports/mrr?interval=decade", "Interval must be one of"),
        ("/app/reports/mrr?to=x", "Before must be a day"),
        ("/app/reports/mrr?nothing=1", "Nothing is not a parameter of this page"),
        ("/app/customers?sort=none", "Sort must be one of"),
        ("/app/audit?from=x", "From must be"),
    ] {
        let response = reader.get(path).await;
        assert_eq!(response.status, StatusCode::BAD_REQUEST, "{path}");
        let html = response.text();
        let (_, problems) = html.split_once("<div class=\"problems\"").unwrap();
        let problems = problems.split("</div>").next().unwrap();
        assert!(problems.contains(message), "{path}: {problems}");
        assert!(!problems.contains("href="), "{path}: {problems}");
        assert!(!html.contains("Save this view"), "{path}");
        assert_eq!(html.matches("<h1").count(), 1, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_rejects_a_parameter_that_it_does_not_have() {
    let server = InProcess::start().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    for (page, unknown, nearest) in [
        ("/app/tickets", "stauts", "status"),
        ("/app/renewals", "ownr", "owner"),
        ("/app/timesheets", "sttus", "status"),
        ("/app/customers", "phse", "phase"),
        ("/app/audit", "tokenid", "tokenId"),
        ("/app/issues", "codes", "code"),
        ("/app/live", "actoin", "action"),
        ("/app/search", "query", ""),
        ("/app/closings", "monht", "month"),
    ] {
        let path = format!("{page}?{unknown}=1");
        let response = reader.get(&path).await;
        assert_eq!(response.status, StatusCode::BAD_REQUEST, "{path}");
        let html = response.text();
        assert!(html.contains(&format!("{unknown} is not a known parameter")), "{path}: {html}");
        let names = html.contains(&format!("did you mean {nearest}?"));
        assert_eq!(names, !nearest.is_empty(), "{path}");
        // An empty field of a form is not sent to find something.
        assert_eq!(reader.get(&format!("{page}?{unknown}=")).await.status, StatusCode::OK);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_past_the_end_leads_to_the_last_and_customers_name_excluded_licenses() {
    let server = InProcess::start().await;
    let client = &server.client;
    client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    assert!(page(&reader, "/app/customers").await.contains("No customers yet."));
    for currency in [json!("EUR"), Value::Null] {
        let license = json!({"companyId": "extid-acme", "_currency": currency, "mrr": 5,
            "fromDate": "2025-01-01"});
        assert_eq!(client.post("/licenses", &license).await.status, StatusCode::OK);
    }
    let html = page(&reader, "/app/customers").await;
    let note = "1 license</a> is excluded from the reports: 1 without a currency.";
    assert!(html.contains(">Acme</a>") && html.contains(note), "{html}");
    for path in [
        "/app/customers?sort=name&offset=500",
        "/app/records/companies?sort=name&offset=500",
        "/app/reports/mrr/explain?from=2025-01-01&to=2026-01-01&explain=end&currency=EUR&offset=500",
    ] {
        let html = page(&reader, path).await;
        assert!(html.contains("This page is past the end of the list."), "{path}: {html}");
        let first = path.replace("&offset=500", "&offset=0").replace('&', "&amp;");
        let last = format!("href=\"{first}\">Show the last page</a>");
        assert!(html.contains(&last), "{last} in {html}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn live_activities_that_match_nothing_lead_to_all_of_them() {
    let server = InProcess::start().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    for (query, text) in [("", "Nothing has arrived."), ("?action=none", "No matching activities.")]
    {
        let html = page(&reader, &format!("/app/live{query}")).await;
        assert!(html.contains(text), "{query}: {html}");
    }
}

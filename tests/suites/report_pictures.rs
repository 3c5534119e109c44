//! Revenue reports as pictures: each can be read as XML, and is legible alone.

use hyper::{Method, StatusCode};
use serde_json::json;
use svctrack_tests::{client::Client, in_process::InProcess};

use super::reports::{put, server, store_twelve};

/// The texts of a picture that can be read as XML.
async fn picture(client: &Client, path: &str) -> Vec<String> {
    let accept = [("accept", "image/svg+xml")];
    let answer = client.send(Method::GET, path, &accept, "").await.unwrap();
    assert_eq!(
        (answer.status, &answer.headers["content-type"]),
        (StatusCode::OK, &"image/svg+xml".parse().unwrap())
    );
    assert_eq!(answer.headers["content-security-policy"], "default-src 'none'; sandbox");
    let document = roxmltree::Document::parse(answer.text()).unwrap();
    assert!(document.root_element().attribute("role") == Some("img"), "{path}");
    let names: Vec<&str> = document.descendants().map(|node| node.tag_name().name()).collect();
    assert!(!names.contains(&"script") && !names.contains(&"b"), "{path}");
    let texts = document.descendants().filter(|node| node.is_text());
    let texts = texts.filter_map(|node| Some(node.text()?.trim().to_owned()));
    texts.filter(|text| !text.is_empty()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_report_is_a_picture_that_is_legible_alone() {
    let server = server().await;
    let client = &server.client;
    store_twelve(client).await;
    put(client, "/companies/extid-Dune", &json!({"name": "<b>Dune</b> & \"co\"<script>"})).await;
    for (path, title, labels) in [
        (
            "mrr?from=2024-01-01&to=2024-08-01",
            "MRR and its movements, EUR, UTC",
            &["2024-01", "expansion", "churn", "end"][..],
        ),
        (
            "retention?from=2024-01-01&to=2024-08-01",
            "Retention of the year before, percent of EUR, UTC",
            &["2024-07", "NRR", "GRR"],
        ),
        (
            "retention?part=cohorts&interval=quarter",
            "Share that cohorts keep, percent of EUR, UTC",
            &["2024-Q1"],
        ),
        (
            "renewals?from=2024-01-01&to=2024-08-01",
            "MRR of licenses that end, EUR, UTC",
            &["2024-02", "renewed", "overdue"],
        ),
        (
            "forecast",
            "MRR to come, in scenarios, EUR, UTC",
            &["2024-08", "confirmed", "optimistic"],
        ),
        ("customers", "MRR at stake, EUR, UTC", &["Acorn", "<b>Dune</b> & \"co\"<script>"]),
        (
            "usage?from=2024-01-01&to=2024-08-01",
            "Active users, UTC",
            &["2024-01", "new", "dormant", "28 days"],
        ),
        (
            "usage?from=2024-01-01&to=2024-02-01&part=cohorts",
            "Users active by weeks since their first, in percent, UTC",
            &["2024-W01", "all"],
        ),
        ("usage?part=actions", "Activities by action, UTC", &["activities"]),
        ("usage?explain=active", "Activities of users, active", &["activities"]),
        ("mrr?explain=end", "end by company, EUR", &["end"]),
        ("forecast?explain=confirmed", "confirmed by company, EUR", &["confirmed"]),
        ("renewals?explain=base", "base by company, EUR", &["base"]),
    ] {
        let texts = picture(client, &format!("/reports/{path}")).await;
        // As its title for machines, and for people.
        assert_eq!(texts.iter().filter(|text| *text == title).count(), 2, "{path}: {texts:?}");
        for label in labels {
            assert!(texts.iter().any(|text| text == label), "{path} has no {label}: {texts:?}");
        }
    }
    let form = async |path: &str| {
        let accept = [("accept", "image/svg+xml")];
        client.send(Method::GET, path, &accept, "").await.unwrap().text().to_owned()
    };
    assert_ne!(form("/reports/mrr?theme=dark").await, form("/reports/mrr?theme=light").await);
    let empty = InProcess::start().await;
    let nothing = picture(&empty.client, "/reports/mrr").await;
    assert!(nothing.iter().any(|text| text == "no data"), "{nothing:?}");
}

//! What a token may not do is not shown: no link of a page leads to one that the token may not open.

use serde_json::json;
use svctrack_core::resources::REGISTRY;
use svctrack_tests::{client::Client, in_process::InProcess};

use crate::{
    access::another_tenant,
    pages::{page, sign_in, store_samples, token, walk},
};

/// A token of these scopes.
async fn token_of(client: &Client, scopes: &[&str]) -> String {
    let made = client.post("/tokens", &json!({"label": "reader", "scopes": scopes})).await.json();
    made["token"].as_str().unwrap().to_owned()
}

/// Stores a record of every resource, and a license that is up for renewal.
async fn store_all(client: &Client) {
    store_samples(client, "Sample").await;
    let license = json!({
        "companyId": client.get("/companies").await.json()[0]["_id"], "product": "Suite",
        "_currency": "EUR", "mrr": 10, "fromDate": "2026-01-01", "length": 12, "fixedPeriod": true,
    });
    assert_eq!(client.post("/licenses", &license).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_links_to_one_that_the_token_may_not_open() {
    let server = InProcess::start().await;
    store_all(&server.client).await;
    let of_resources: Vec<String> =
        REGISTRY.iter().map(|def| format!("{}:read", def.path)).collect();
    let alone = of_resources.iter().map(|scope| vec![scope.as_str()]);
    let with_others = [
        vec!["reports:read"],
        vec!["activities:read"],
        vec!["reports:read", "companies:read"],
        vec!["reports:read", "licenses:read", "activities:read"],
        vec!["reports:read", "licenses:create", "licenses:update"],
        vec!["licenses:read", "licenses:create", "licenses:update"],
        vec!["tickets:read", "tickets:update"],
        vec!["admin"],
    ];
    for scopes in alone.chain(with_others) {
        let token = token_of(&server.client, &scopes).await;
        let pages = walk(&sign_in(&server.anonymous, &token).await).await;
        assert!(pages.len() > 1, "{scopes:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_named_without_links_for_a_token_that_may_not_read_them() {
    let server = InProcess::start().await;
    store_all(&server.client).await;
    let all = sign_in(&server.anonymous, &token(&server)).await;
    let reports = token_of(&server.client, &["reports:read"]).await;
    let reports = sign_in(&server.anonymous, &reports).await;
    for path in ["/", "/app/customers", "/app/renewals?from=2026-12-01&to=2027-02-01"] {
        let link = "href=\"/app/records/";
        let (linked, named) = (page(&all, path).await, page(&reports, path).await);
        let main = |html: &str| html.split_once("<main").unwrap().1.to_owned();
        assert!(main(&linked).contains(link) && main(&linked).contains("Sample"), "{path}");
        assert!(!main(&named).contains(link) && main(&named).contains("Sample"), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_links_no_token_of_an_operator() {
    let server = InProcess::start().await;
    let (tenant, client) = another_tenant(&server).await;
    let token = client.authorization().unwrap().strip_prefix("Bearer ").unwrap().to_owned();
    let reader = sign_in(&server.anonymous, &token).await;
    let log = page(&reader, "/app/audit").await;
    assert!(log.contains("Tenant created") && log.contains(&tenant), "{log}");
    assert!(walk(&reader).await.contains_key("/app/audit"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_token_names_its_user_and_the_tokens_before_and_after_it() {
    let server = InProcess::start().await;
    let user = json!({"name": "Ada <Lovelace>", "externalId": "ada"});
    assert_eq!(server.client.post("/users", &user).await.status, 200);
    let own = server.client.get("/tokens").await.json()[0]["label"].as_str().unwrap().to_owned();
    let asked = json!({"label": "sync", "scopes": ["companies:read"], "userId": "extid-ada"});
    let issued = server.client.post("/tokens", &asked).await.json();
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let path = format!("/app/tokens/{}", issued["_id"].as_str().unwrap());
    let html = page(&reader, &path).await;
    for text in [">Ada &lt;Lovelace&gt;</a>", &format!(">{own}</a>")] {
        assert!(html.contains(text), "{text}: {html}");
    }
    assert!(!html.contains("Replaced by"), "{html}");
    reader.submit(&format!("{path}/rotate"), &[]).await;
    let html = page(&reader, &path).await;
    assert!(html.contains("Replaced by</dt><dd><a href=\"/app/tokens/"), "{html}");
    let no_page = sign_in(&server.anonymous, issued["token"].as_str().unwrap()).await;
    let rejected = no_page.get("/app/tokens").await;
    let text = rejected.text();
    assert_eq!(rejected.status, 403, "{text}");
    assert!(text.contains("<p>The token") && !text.contains('`'), "{text}");
    // A token that may not read users shows the id of the user.
    let admin = token_of(&server.client, &["admin"]).await;
    let html = page(&sign_in(&server.anonymous, &admin).await, &path).await;
    assert!(
        html.contains(&format!("Acts as</dt><dd>{}", issued["userId"].as_str().unwrap())),
        "{html}"
    );
}

//! The whole way of an event: a page in a real browser, the running server, the disk, and back.

use std::{
    collections::HashSet,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use fantoccini::Locator;
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    browser::{Browser, Kind, Setup},
    docs,
    process::{PATIENCE, Server},
};
use svctrack_web::{Addresses, SnippetScript, snippet};

/// The activities, once there are as many as expected.
async fn activities(server: &Server, count: usize) -> Vec<Value> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = server.client.get("/activities").await.json();
        let found = found.as_array().unwrap().clone();
        if found.len() >= count {
            assert_eq!(found.len(), count, "{found:?}");
            return found;
        }
        assert!(Instant::now() < deadline, "{} of {count} activities: {found:?}", found.len());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_page_reach_the_disk_and_are_read_back_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_with_acme(folder.path(), &token).await;
    let browser = Browser::start().await;
    let demo = format!("{}/demo#token={}", server.base, token.reveal());
    browser.page.goto(&demo).await.unwrap();

    browser.fill("#user-id", "7").await;
    browser.fill("#email", "ada@acme.example").await;
    browser.fill("#name", "Ada Lovelace").await;
    browser.fill("#company", "acme").await;
    browser.click("#identify").await;
    browser.wait_for("#identify-status", "Sent, and arrived: Ada Lovelace of Acme").await;
    browser.fill("#action", "Opened report").await;
    browser.fill("#info", r#"{"pages": 3}"#).await;
    browser.click("#track").await;
    browser.wait_for("#arrived", "Opened report").await;
    browser.wait_for("#arrived", "Ada Lovelace").await;
    check_cookie(&browser).await;

    // The page is left in the same breath as its last event.
    browser.run("svctrack.track('Left the page'); location.href = '/health'").await;
    let found = activities(&server, 2).await;
    assert_eq!(found[0]["action"], "Left the page");
    assert_eq!(found[0]["externalId"], "7");
    assert_eq!(found[1]["info"], json!({"pages": 3}));
    let ids: HashSet<_> =
        found.iter().map(|activity| activity["messageId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2);

    server.kill().await;
    let server = Server::start(folder.path(), &token).await;
    assert_eq!(activities(&server, 2).await, found);
    browser.close().await;
    server.kill().await;
}

/// The cookie's attributes, and what it keeps.
async fn check_cookie(browser: &Browser) {
    let cookie = browser.page.get_named_cookie("_svctrack").await.unwrap();
    assert_eq!(cookie.path(), Some("/"));
    assert_eq!(cookie.same_site().map(|site| site.to_string()).as_deref(), Some("Lax"));
    assert_eq!(cookie.secure(), Some(false), "the page is not on https");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let ends = cookie.expires_datetime().unwrap().unix_timestamp();
    let days = (ends - i64::try_from(now).unwrap()) as f64 / 86_400.0;
    assert!((364.9..=365.1).contains(&days), "it lasts {days} days");
    let kept = browser.run("return JSON.parse(decodeURIComponent(document.cookie.split('_svctrack=')[1].split(';')[0]))").await;
    assert_eq!(kept["externalId"], "7");
    assert_eq!(kept["companyExternalId"], "acme");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_made_before_the_script_is_there_arrive_in_order_with_their_time() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_with_acme(folder.path(), &token).await;
    let browser = Browser::start().await;
    // A page of another origin, with nothing but the snippet and four calls.
    let snippet = snippet(&Addresses::new(&server.base), TENANT, SnippetScript::Newest);
    let page = format!(
        "<!doctype html><head>{snippet}<script>svctrack.identify('8', {{companyExternalId: 'acme'}});\
         const later = () => {{ const now = Date.now(); while (Date.now() < now + 5); }};\
         svctrack.track('One'); later(); svctrack.track('Two', {{weight: 2, passive: true}}); later();\
         svctrack.track('Three');</script></head>"
    );
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("index.html"), page).unwrap();
    let path = other.path().join("index.html");
    browser.page.goto(&format!("file://{}", path.display())).await.unwrap();

    let mut found = activities(&server, 3).await;
    found.sort_by_key(|activity| activity["date"].as_str().unwrap().to_owned());
    let actions: Vec<_> =
        found.iter().map(|activity| activity["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["One", "Two", "Three"]);
    let two = found.iter().find(|activity| activity["action"] == "Two").unwrap();
    assert_eq!((&two["weight"], &two["passive"]), (&json!(2), &json!(true)));
    for activity in &found {
        assert!(activity["date"].as_str() <= activity["receivedAt"].as_str(), "{activity}");
    }
    browser.close().await;
    server.kill().await;
}

/// A block of the page about the script, for the tenant of a server.
pub(crate) fn shown(language: &str, mark: &str, server: &Server) -> String {
    const PAGE: &str = "web/docs/tracking-script.md";
    const ENDPOINT: &str = "http://127.0.0.1:8080/analytics/8a8e1c2c-6c0c-4f0e-9f6e-5d0f1f3c7a11";
    let endpoint = format!("{}/analytics/{TENANT}", server.base);
    docs::block_with(PAGE, language, mark).replace(ENDPOINT, &endpoint)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_calls_and_options_that_the_docs_show_work_in_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with_acme(folder.path(), &Token::generate().unwrap()).await;
    let browser = Browser::start().await;
    let snippet = snippet(&Addresses::new(&server.base), TENANT, SnippetScript::Newest);
    let (before, _) = snippet.rsplit_once("svctrack.load(").unwrap();
    let load = shown("js", "svctrack.load(", &server);
    let calls = shown("html", "svctrack.identify(", &server);
    let page = folder.path().join("index.html");
    std::fs::write(&page, format!("<!doctype html><head>{before}{load}</script>{calls}</head>"))
        .unwrap();
    browser.page.goto(&format!("file://{}", page.display())).await.unwrap();
    // The options ask for consent first.
    assert_eq!(server.client.get("/activities").await.json(), json!([]));
    let grant = "const at = new Date().toISOString(); svctrack.consent('granted'); return at";
    let granted = browser.run(grant).await;
    let opened = wait_for_activity(&server, "Opened report").await;
    assert!(opened["receivedAt"].as_str() >= granted.as_str(), "{opened} before {granted}");
    assert_eq!((&opened["info"], &opened["weight"]), (&json!({"pages": 3}), &json!(2)));
    assert_eq!(opened["externalId"], "user-1");
    assert_eq!(
        (&opened["endUserName"], &opened["companyName"]),
        (&json!("Ada Lovelace"), &json!("Acme"))
    );
    let kept = browser.run("return document.cookie").await;
    assert!(!kept.to_string().contains("user-1"), "`reset` forgets the user: {kept}");
    browser.close().await;
    server.kill().await;
}

/// The first activity with this action, once there is one.
pub(crate) async fn wait_for_activity(server: &Server, action: &str) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let all = server.client.get("/activities").await.json();
        if let Some(found) = all.as_array().unwrap().iter().find(|it| it["action"] == action) {
            return found.clone();
        }
        assert!(Instant::now() < deadline, "no {action}: {all}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_tracked_before_the_user_is_identified_wait_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_with_acme(folder.path(), &token).await;
    let browser = Browser::start().await;
    browser.page.goto(&format!("{}/demo", server.base)).await.unwrap();
    browser.run("document.cookie = '_svctrack=; Max-Age=0; Path=/'").await;
    browser
        .run("svctrack.track('Before'); svctrack.identify(); svctrack.track('Still before')")
        .await;
    browser
        .run("svctrack.identify('7', {companyExternalId: 'acme'}); svctrack.track('After')")
        .await;
    let mut found = activities(&server, 3).await;
    found.sort_by_key(|activity| activity["date"].as_str().unwrap().to_owned());
    assert!(found.iter().all(|activity| activity["externalId"] == "7"), "{found:?}");
    assert_eq!(found[2]["action"], "After");

    // Another person takes nothing over from the one before.
    browser
        .run("svctrack.identify('8', {email: 'bob@acme.example', companyExternalId: 'acme'})")
        .await;
    // A call that breaks a rule is not sent.
    browser.run("svctrack.track('Faulty', {weight: -1}); svctrack.track('As another')").await;
    let found = activities(&server, 4).await;
    let another = found.iter().find(|activity| activity["action"] == "As another").unwrap();
    assert_eq!((&another["externalId"], &another["endUserName"]), (&json!("8"), &Value::Null));
    browser.close().await;
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_is_read_and_searched_without_a_script() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &Token::generate().unwrap()).await;
    let browser = Browser::start_as(Kind::Chromium, Setup::Scriptless).await;
    browser.page.goto(&format!("{}/docs/api", server.base)).await.unwrap();
    for def in svctrack_core::resources::REGISTRY {
        browser.wait_for("main", &format!("/{}/{{id}}", def.path)).await;
    }
    browser.fill("input[type=search]", "renew a license").await;
    browser
        .page
        .find(Locator::Css("input[type=search]"))
        .await
        .unwrap()
        .send_keys("\u{e007}")
        .await
        .unwrap();
    browser.wait_for("h1", "Search").await;
    browser.click(".results a[href*='#post_licenses_id_renew']").await;
    browser.wait_for("h1", "Licenses").await;
    browser.wait_for("main", "curl -s \"$BASE/licenses/extid-example-license/renew\"").await;
    browser.close().await;
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_docs_are_searched_and_their_code_is_copied() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &Token::generate().unwrap()).await;
    let browser = Browser::start().await;
    browser.page.goto(&format!("{}/docs/operations", server.base)).await.unwrap();
    browser
        .run(
            "let field = document.querySelector('input[type=search]'); field.focus(); \
             field.value = 'idempot key'; field.dispatchEvent(new Event('input'))",
        )
        .await;
    browser.wait_for("#found", "Concurrency, caching and idempotency").await;
    browser.run("document.querySelector('#found a').click()").await;
    browser.wait_for("h1", "API guide").await;
    // From a page of the reference too.
    browser.page.goto(&format!("{}/docs/api/companies", server.base)).await.unwrap();
    browser
        .run(
            "let field = document.querySelector('input[type=search]'); \
             field.value = 'upsert tickets'; field.dispatchEvent(new Event('input'))",
        )
        .await;
    browser.wait_for("#found", "Upsert records in bulk: PUT /tickets").await;
    browser.run("document.querySelector('#found a').click()").await;
    browser.wait_for("h1", "Tickets").await;
    // Each block has a button, and of a transcript the commands are copied alone.
    browser.page.goto(&format!("{}/docs/upgrade", server.base)).await.unwrap();
    browser.wait_for(".code", "Copy").await;
    let copied = browser
        .run(
            "navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve() }; \
             document.querySelector('.copy').click(); return window.copied",
        )
        .await;
    let copied = copied.as_str().unwrap().to_owned();
    assert!(copied.starts_with("svctrack backup --to"), "{copied}");
    assert!(copied.ends_with("svctrack --version"), "{copied}");
    // Nothing that the pages do is against their policy.
    let logged =
        browser.run("return performance.getEntriesByType('resource').map(e => e.name)").await;
    assert!(logged.to_string().contains("/theme.css"), "{logged}");
    browser.close().await;
    server.kill().await;
}

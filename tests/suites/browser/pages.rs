//! The web application in real browsers: a walk through it, what axe finds on each of its pages, and pictures of them.

use std::{collections::BTreeMap, fs, path::Path};

use fantoccini::Locator;
use serde_json::{Value, json};
use svctrack_core::value::TenantId;
use svctrack_server::{admin::Admin, auth::Token, demo::Demo};
use svctrack_store::{Clock as _, SystemClock};
use svctrack_tests::{
    TENANT,
    browser::{Browser, Kind, Setup},
    demand::{self, TOOLS},
    process::Server,
    project,
};

use crate::pages::{sign_in, store_samples, walk};

/// What axe checks: all of WCAG 2.2 AA, and its own advice.
const RULES: &str = r#"["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]"#;

/// A server with the samples of all resources, and somebody who has signed in in a browser.
struct Visit {
    server: Server,
    browser: Browser,
    token: String,
    _folder: tempfile::TempDir,
}

impl Visit {
    async fn begin(kind: Kind, setup: Setup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let token = Token::generate().unwrap();
        let server = Server::start_with_acme(folder.path(), &token).await;
        let token = token.reveal().to_owned();
        let browser = Browser::start_as(kind, setup).await;
        let visit = Self { server, browser, token, _folder: folder };
        visit.open("/").await;
        visit.browser.fill("#token", &visit.token).await;
        visit.browser.click("button.main").await;
        visit.browser.wait_for("h1", "Today").await;
        visit
    }

    async fn open(&self, path: &str) {
        self.browser.page.goto(&format!("{}{path}", self.server.base)).await.unwrap();
    }

    async fn text(&self, selector: &str) -> String {
        self.browser.page.find(Locator::Css(selector)).await.unwrap().text().await.unwrap()
    }
}

/// One path for each kind of page.
fn kinds(paths: impl Iterator<Item = String>) -> Vec<String> {
    let mut kinds = BTreeMap::new();
    for path in paths {
        kinds.entry(kind(&path)).or_insert(path);
    }
    kinds.into_values().collect()
}

/// The path of a page without its query, with `id` for each id.
fn kind(path: &str) -> String {
    let part = |part: &str| if part.len() == 24 { "id".to_owned() } else { part.to_owned() };
    let plain = path.split('?').next().unwrap();
    plain.split('/').map(part).collect::<Vec<_>>().join("/")
}

async fn check_barriers(setup: Setup, width: u32) {
    let Ok(axe) = fs::read_to_string(project().join("target/axe/node_modules/axe-core/axe.min.js"))
    else {
        return demand::not_tried(TOOLS, "pages with axe, which tests/axe/install installs");
    };
    let visit = Visit::begin(Kind::Chromium, setup).await;
    store_samples(&visit.server.client, "Sample").await;
    let anonymous = visit.server.client.without_token();
    let reader = sign_in(&anonymous, &visit.token).await;
    let paths = kinds(walk(&reader).await.into_keys());
    assert!(paths.len() > 30, "{paths:?}");
    visit.browser.page.set_window_size(width, 900).await.unwrap();
    let mut found = Vec::new();
    for path in ["/sign-in".to_owned()].into_iter().chain(paths) {
        visit.open(&path).await;
        let script = format!(
            "{axe}; const done = arguments[arguments.length - 1];\
             axe.run(document, {{runOnly: {RULES}}}).then((report) => done(report.violations.map((violation) =>\
             `${{violation.id}}: ${{violation.nodes.slice(0, 3).map((node) => node.html).join(\" \")}}`)));"
        );
        let violations = visit.browser.page.execute_async(&script, Vec::new()).await.unwrap();
        found.extend(violations.as_array().unwrap().iter().map(|it| format!("{path}: {it}")));
        let is_wide = "return document.documentElement.scrollWidth > innerWidth";
        if visit.browser.run(is_wide).await == json!(true) {
            found.push(format!("{path}: wider than the window"));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    visit.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_no_barrier_on_any_page() {
    check_barriers(Setup::Usual, 1280).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_no_barrier_on_any_page_in_the_dark_on_a_phone() {
    check_barriers(Setup::Dark, 390).await;
}

/// How pictures are taken: the name of each, how the browser is set up, and how wide its window is.
const LOOKS: [(&str, Setup, u32); 3] =
    [("light", Setup::Usual, 1280), ("dark", Setup::Dark, 1280), ("phone", Setup::Usual, 390)];
/// Pages to which no link of the application leads.
const OTHER_PAGES: [&str; 4] = ["/docs", "/docs/first-event", "/docs/api", "/sign-in?once=x"];
/// What the window of a browser is higher than its page, and how high a picture is at the most.
const FRAME: u64 = 150;
const MAX_HEIGHT: u64 = 3_000;

async fn take_pictures(folder: &Path, (look, setup, width): (&str, Setup, u32)) {
    let visit = Visit::begin(Kind::Chromium, setup).await;
    let admin = Admin::running(&visit.server.base, &visit.token);
    let tenant = TenantId::parse(TENANT).unwrap();
    let demo = Demo { tenant, now: SystemClock.now(), customers: 40 };
    let filled = demo.fill(async |call| {
        let answered = admin.send_again(call.method, &call.path, call.body).await?;
        Ok(answered.into())
    });
    filled.await.unwrap();
    let anonymous = visit.server.client.without_token();
    let reader = sign_in(&anonymous, &visit.token).await;
    let paths = kinds(walk(&reader).await.into_keys()).into_iter();
    let page = &visit.browser.page;
    for path in paths.chain(OTHER_PAGES.map(str::to_owned)) {
        page.set_window_size(width, 900).await.unwrap();
        visit.open(&path).await;
        let height = visit.browser.run("return document.documentElement.scrollHeight").await;
        let height = height.as_u64().unwrap().saturating_add(FRAME).min(MAX_HEIGHT);
        page.set_window_size(width, height.try_into().unwrap()).await.unwrap();
        let plain = kind(&path).trim_start_matches('/').replace('/', "-");
        let name = if plain.is_empty() { "today" } else { &plain };
        let picture = page.screenshot().await.unwrap();
        fs::write(folder.join(format!("{name}-{look}.png")), picture).unwrap();
    }
    visit.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "`tests/run pages` takes them, for people to look at"]
async fn every_page_is_taken_as_a_picture() {
    let folder = project().join("target/pages");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for look in LOOKS {
        take_pictures(&folder, look).await;
    }
}

async fn walk_through(kind: Kind) {
    let visit = Visit::begin(kind, Setup::Usual).await;
    let browser = &visit.browser;
    // What arrives is seen.
    let event = json!({"action": "Opened report", "externalId": "7", "name": "Ada Lovelace", "companyExternalId": "acme"});
    let path = format!("/analytics/{TENANT}");
    visit.server.client.post(&path, &event).await;
    visit.open("/app/records/endusers").await;
    browser.wait_for("table", "Ada Lovelace").await;
    // A form with a mistake says so at the field, and is saved once it is right.
    visit.open("/app/records/companies").await;
    browser.click("a.button.main").await;
    browser.fill("#f-name", "Ember Works").await;
    browser.fill("#f-csmScore", "9").await;
    browser.click("form.record button.main").await;
    browser.wait_for(".problems", "csmScore").await;
    assert!(visit.text("#p-csmScore").await.contains("csmScore"));
    browser.fill("#f-csmScore", "4").await;
    browser.click("form.record button.main").await;
    browser.wait_for("h1", "Ember Works").await;
    // A report shows its picture.
    visit.open("/app/reports/mrr").await;
    let loaded =
        "return [...document.images].every((image) => image.complete && image.naturalWidth > 0)";
    assert_eq!(browser.run(loaded).await, Value::Bool(true));
    browser.click(".side form[action='/sign-out'] button").await;
    browser.wait_for("h1", "svctrack").await;
    visit.open("/app/customers").await;
    browser.wait_for("label[for=token]", "API token").await;
    visit.browser.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_walks_through_the_pages_in_chromium() {
    walk_through(Kind::Chromium).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_walks_through_the_pages_in_firefox() {
    walk_through(Kind::Firefox).await;
}

//! The web application in real browsers: a walk through it, what axe finds on each of its pages, and pictures of them.

use std::{collections::BTreeMap, fs, path::Path};

use fantoccini::Locator;
use hyper::StatusCode;
use serde_json::{Value, json};
use svctrack_core::{resources::REGISTRY, value::TenantId};
use svctrack_server::{api_client::ApiClient, auth::Token, demo::Demo};
use svctrack_store::{Clock as _, SystemClock};
use svctrack_tests::{
    TENANT,
    browser::{Browser, Kind, Setup},
    client::Client,
    process::Server,
    project,
    required_tools::{self, TOOLS},
};

use crate::pages::{sign_in, store_samples, walk};

/// What axe checks: all of WCAG 2.2 AA, and its own advice.
const RULES: &str = r#"["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]"#;

/// A server, and a user who has signed in in a browser.
struct Visit {
    server: Server,
    browser: Browser,
    tenant: String,
    token: String,
    /// Token of the operator; none of a server that was started by its first start.
    operator: String,
    _folder: tempfile::TempDir,
}

impl Visit {
    async fn begin(kind: Kind, setup: Setup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
        let server = Server::start_with_operator(folder.path(), &token, &operator, &[]).await;
        let acme = json!({"name": "Acme", "externalId": "acme"});
        assert_eq!(server.client.post("/companies", &acme).await.status, StatusCode::OK);
        let [token, operator] = [token, operator].map(|token| token.reveal().to_owned());
        let browser = Browser::start_as(kind, setup).await;
        let tenant = TENANT.to_owned();
        let visit = Self { server, browser, tenant, token, operator, _folder: folder };
        visit.sign_in(&visit.token, "Today").await;
        visit
    }

    /// Signs in with a token, in place of another one.
    async fn sign_in(&self, token: &str, title: &str) {
        self.open("/sign-in").await;
        self.browser.page.delete_all_cookies().await.unwrap();
        self.open("/").await;
        self.browser.fill("#token", token).await;
        self.browser.click("button.main").await;
        self.browser.wait_for("h1", title).await;
    }

    /// A path for each kind of page that a token sees, by the links of the first one.
    async fn kinds_of_pages(&self, token: &str) -> Vec<String> {
        let anonymous = self.server.client.without_token();
        kinds(walk(&sign_in(&anonymous, token).await).await.into_keys())
    }

    /// The same by the link that the first start of a server prints, which signs in once.
    async fn begin_by_link(kind: Kind, setup: Setup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (mut server, printed) = Server::start_first(folder.path(), &[]).await;
        let after = |mark: &str| {
            let rest = printed.split(mark).nth(1).unwrap();
            rest.split_whitespace().next().unwrap().to_owned()
        };
        let [tenant, token, once] = ["Tenant ", "API token ", "/sign-in?once="].map(after);
        server.client = Client::new(&server.base, Some(&token));
        let browser = Browser::start_as(kind, setup).await;
        let operator = String::new();
        let visit = Self { server, browser, tenant, token, operator, _folder: folder };
        for expected in ["Nothing has arrived yet.", "This link was already used"] {
            visit.open(&format!("/sign-in?once={once}")).await;
            visit.browser.click("button.main").await;
            visit.browser.wait_for("main", expected).await;
        }
        visit.open("/").await;
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
    let parts: Vec<&str> = path.split('?').next().unwrap().split('/').collect();
    let plain = parts.iter().enumerate().map(|(at, part)| {
        let owner = at.checked_sub(1).map_or("", |at| parts[at]);
        let is_id = matches!(owner, "tokens" | "tenants") && *part != "new";
        if is_id || part.len() == 24 { "id" } else { part }
    });
    plain.collect::<Vec<_>>().join("/")
}

/// A flaw of a page that the browser can measure.
async fn flaw(browser: &Browser) -> Option<&'static str> {
    let flaws = [
        ("wider than the window", "return document.documentElement.scrollWidth > innerWidth"),
        (
            "with a cell whose text lies on the next one",
            "return [...document.querySelectorAll('main :is(td, th)')].some((cell) =>\
               cell.scrollWidth > cell.clientWidth + 1 && getComputedStyle(cell).overflowX === 'visible')",
        ),
        (
            "without a heading",
            "return !document.querySelector('main :is(h1, h2)')?.innerText.trim()",
        ),
        (
            "with a button or a chart that is cut off",
            "return [...document.querySelectorAll('main :is(button, .button, .chart)')]\
               .some((whole) => whole.getBoundingClientRect().right > innerWidth)",
        ),
        (
            "with rows that are cut off",
            "return [...document.querySelectorAll('main .scroll:has(.stacked)')]\
               .some((rows) => innerWidth < 760 && rows.scrollWidth > rows.clientWidth)",
        ),
        (
            "with a broken image",
            "return [...document.images].some((image) => image.complete && !image.naturalWidth)",
        ),
    ];
    for (flaw, is_there) in flaws {
        if browser.run(is_there).await == json!(true) {
            return Some(flaw);
        }
    }
    None
}

async fn check_barriers(setup: Setup, width: u32) {
    let Ok(axe) = fs::read_to_string(project().join("target/axe/node_modules/axe-core/axe.min.js"))
    else {
        return required_tools::not_tried(
            TOOLS,
            "pages with axe, which tests/axe/install installs",
        );
    };
    let visit = Visit::begin(Kind::Chromium, setup).await;
    store_samples(&visit.server.client, "Sample").await;
    let paths = visit.kinds_of_pages(&visit.token).await;
    assert!(paths.len() > 30, "{paths:?}");
    visit.browser.page.set_window_size(width, 900).await.unwrap();
    let mut found = Vec::new();
    for path in OTHER_PAGES.map(str::to_owned).iter().chain(&paths) {
        found.extend(barriers(&visit, &axe, path).await);
    }
    let paths = visit.kinds_of_pages(&visit.operator).await;
    assert!(paths.len() >= OPERATOR_PAGES, "{paths:?}");
    visit.sign_in(&visit.operator, "Tenants").await;
    for path in &paths {
        found.extend(barriers(&visit, &axe, path).await);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    visit.browser.close().await;
}

/// What axe finds on a page, and its flaw.
async fn barriers(visit: &Visit, axe: &str, path: &str) -> Vec<String> {
    visit.open(path).await;
    let script = format!(
        "{axe}; const done = arguments[arguments.length - 1];\
         axe.run(document, {{runOnly: {RULES}}}).then((report) => done(report.violations.map((violation) =>\
         `${{violation.id}}: ${{violation.nodes.slice(0, 3).map((node) => node.html).join(\" \")}}`)));"
    );
    let violations = visit.browser.page.execute_async(&script, Vec::new()).await.unwrap();
    let violations = violations.as_array().unwrap().iter().map(ToString::to_string);
    let flaw = flaw(&visit.browser).await.map(str::to_owned);
    violations.chain(flaw).map(|found| format!("{path}: {found}")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_no_barrier_on_any_page() {
    check_barriers(Setup::Usual, 1280).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn axe_finds_no_barrier_on_any_page_in_the_dark_on_a_phone() {
    check_barriers(Setup::Dark, 390).await;
}

/// A name without a blank, as of a function, an address or a compound noun.
const LONG_NAME: &str = "project_settings_integrations_webhook_created_successfully";

#[tokio::test(flavor = "multi_thread")]
async fn pages_with_long_names_are_no_wider_than_their_window() {
    let visit = Visit::begin(Kind::Chromium, Setup::Usual).await;
    store_samples(&visit.server.client, LONG_NAME).await;
    let paths = visit.kinds_of_pages(&visit.token).await;
    let mut found = Vec::new();
    for width in [1280, 390] {
        visit.browser.page.set_window_size(width, 900).await.unwrap();
        for path in &paths {
            visit.open(path).await;
            let flaw = flaw(&visit.browser).await;
            found.extend(flaw.map(|flaw| format!("{path} at {width}: {flaw}")));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    visit.browser.close().await;
}

/// How pictures are taken: the name of each, how the browser is set up, and how wide its window is.
const LOOKS: [(&str, Setup, u32); 3] =
    [("light", Setup::Usual, 1280), ("dark", Setup::Dark, 1280), ("phone", Setup::Usual, 390)];
/// Pages to which no link of the application leads, once a tenant has licenses.
const OTHER_PAGES: [&str; 7] = [
    "/app/demo",
    "/docs",
    "/docs/first-event",
    "/docs/operations",
    "/docs/api",
    "/docs/api/companies",
    "/sign-in?once=x",
];
/// How many kinds of pages an operator has at least.
const OPERATOR_PAGES: usize = 4;
/// What the window of a browser is higher than its page, and how high a picture is at the most.
const FRAME: u64 = 150;
const MAX_HEIGHT: u64 = 3_000;
/// Size of the window for the pictures of the README.
const README_SIZE: (u32, u32) = (1_200, 1_000);

/// Takes a picture of every page of a tenant with demo data; returns what is wrong with pages.
async fn take_pictures(folder: &Path, (look, setup, width): (&str, Setup, u32)) -> Vec<String> {
    let visit = Visit::begin(Kind::Chromium, setup).await;
    let client = ApiClient::running(&visit.server.base, &visit.token, None).unwrap();
    let tenant = TenantId::parse(TENANT).unwrap();
    let demo = Demo { tenant, now: SystemClock.now(), customers: 40 };
    let filled = demo.fill(async |call| {
        let response = client.send_again(call.method, &call.path, call.body).await?;
        Ok(response.into())
    });
    filled.await.unwrap();
    // A walk through this many records ends before it has seen all forms.
    let forms = REGISTRY
        .iter()
        .map(|def| def.path)
        .flat_map(|path| [format!("/app/records/{path}/new"), format!("/app/import/{path}")]);
    let paths = kinds(visit.kinds_of_pages(&visit.token).await.into_iter().chain(forms));
    let mut flaws = Vec::new();
    for path in paths.into_iter().chain(OTHER_PAGES.map(str::to_owned)) {
        flaws.extend(take_picture(&visit, folder, (look, width), &path).await);
    }
    if look == "light" {
        take_pictures_of_readme(&visit, folder).await;
    }
    let paths = visit.kinds_of_pages(&visit.operator).await;
    visit.sign_in(&visit.operator, "Tenants").await;
    for path in paths.iter().filter(|path| *path != "/") {
        flaws.extend(take_picture(&visit, folder, (look, width), path).await);
    }
    visit.browser.close().await;
    flaws
}

/// Takes a picture of a page; returns what is wrong with it.
async fn take_picture(
    visit: &Visit,
    folder: &Path,
    (look, width): (&str, u32),
    path: &str,
) -> Option<String> {
    let page = &visit.browser.page;
    page.set_window_size(width, 900).await.unwrap();
    visit.open(path).await;
    page.wait().for_element(Locator::Css("main :is(h1, h2)")).await.unwrap();
    let height = visit.browser.run("return document.documentElement.scrollHeight").await;
    let height = height.as_u64().unwrap().saturating_add(FRAME).min(MAX_HEIGHT);
    page.set_window_size(width, height.try_into().unwrap()).await.unwrap();
    let plain = kind(path).trim_start_matches('/').replace('/', "-");
    let name = if plain.is_empty() { "today" } else { &plain };
    let picture = page.screenshot().await.unwrap();
    fs::write(folder.join(format!("{name}-{look}.png")), picture).unwrap();
    flaw(&visit.browser).await.map(|flaw| format!("{path}, {look}: {flaw}"))
}

/// Takes the pictures of the README, which `web/docs/shrink` makes small: the first page, a company, and a report.
async fn take_pictures_of_readme(visit: &Visit, folder: &Path) {
    let (width, height) = README_SIZE;
    visit.browser.page.set_window_size(width, height).await.unwrap();
    let largest = visit.server.client.get("/reports/customers?sort=-mrr&limit=1").await.json();
    let company = largest["rows"][0]["company"].as_str().unwrap();
    let company = format!("/app/records/companies/{company}");
    let no_bars = "for (const element of [document.documentElement, document.querySelector('.side')]) \
        element.style.scrollbarWidth = 'none';";
    for (name, path) in [("today", "/"), ("company", &company), ("report", "/app/reports/mrr")] {
        visit.open(path).await;
        visit.browser.run(no_bars).await;
        let picture = visit.browser.page.screenshot().await.unwrap();
        fs::write(folder.join(format!("readme-{name}.png")), picture).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_with_demo_data_fits_its_window_and_is_taken_as_a_picture() {
    let folder = project().join("target/pages");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let mut flaws = Vec::new();
    for look in LOOKS {
        flaws.extend(take_pictures(&folder, look).await);
    }
    assert!(flaws.is_empty(), "{}", flaws.join("\n"));
}

/// A walk through the application, as a new user goes. Without script all is the same, but what changes
/// while one looks on.
async fn walk_through(kind: Kind, setup: Setup) {
    let visit = Visit::begin_by_link(kind, setup).await;
    see_first_event(&visit, setup).await;
    correct_a_form(&visit, setup).await;
    choose_by_name(&visit, setup).await;
    decide(&visit).await;
    import_with_a_mistake(&visit, setup).await;
    let browser = &visit.browser;
    // A report shows its picture.
    visit.open("/app/reports/mrr").await;
    browser.wait_for("h1", "MRR").await;
    if setup != Setup::Scriptless {
        let loaded = "return [...document.images].every((image) => image.complete && image.naturalWidth > 0)";
        assert_eq!(browser.run(loaded).await, Value::Bool(true));
    }
    browser.click(".side form[action='/sign-out'] button").await;
    browser.wait_for("h1", "svctrack").await;
    visit.open("/app/customers").await;
    browser.wait_for("label[for=token]", "API token").await;
    visit.browser.close().await;
}

/// What arrives is seen: at set-up, and of its person and company.
async fn see_first_event(visit: &Visit, setup: Setup) {
    let browser = &visit.browser;
    browser.click("main a[href='/app/setup']").await;
    browser.wait_for("main", &visit.tenant).await;
    let event = json!({"action": "Opened report", "externalId": "7", "name": "Ada Lovelace", "companyExternalId": "demo"});
    visit.server.client.post(&format!("/analytics/{}", visit.tenant), &event).await;
    if setup == Setup::Scriptless {
        visit.open("/app/setup").await;
    }
    browser.wait_for("#arrival", "Events arrive").await;
    visit.open("/").await;
    browser.wait_for("main", "Add licenses to see MRR").await;
    visit.open("/app/records/endusers").await;
    browser.wait_for("table", "Ada Lovelace").await;
    browser.click("tbody a").await;
    browser.wait_for("h1", "Ada Lovelace").await;
    browser.click("main a[href^='/app/records/companies/']").await;
    browser.wait_for("h1", "Demo company").await;
    browser.wait_for("main", "Ada Lovelace").await;
}

/// A form with a mistake says so at the field, and is saved once it is right.
async fn correct_a_form(visit: &Visit, setup: Setup) {
    let browser = &visit.browser;
    visit.open("/app/records/companies").await;
    browser.click("a.button.main").await;
    browser.fill("#f-name", "Ember Works").await;
    browser.fill("#f-csmScore", "9").await;
    if !svctrack_web::IS_BUNDLE_SKIPPED && setup != Setup::Scriptless {
        // The browser shows it before the form is sent.
        browser.wait_for("#p-csmScore", "from 1 to 5; found 9").await;
        assert_eq!(browser.run("return document.querySelector('.problems')").await, Value::Null);
    }
    browser.click("form.record button.main").await;
    browser.wait_for(".problems", "CSM score").await;
    assert!(visit.text("#p-csmScore").await.contains("CSM score"));
    browser.fill("#f-csmScore", "4").await;
    if setup != Setup::Scriptless {
        // A second click sends nothing.
        let sends = "const form = document.querySelector('form.record'); \
            const send = () => form.dispatchEvent(new SubmitEvent('submit', { bubbles: true, cancelable: true })); \
            const sent = [send(), send()]; delete form.dataset.isSent; return sent;";
        assert_eq!(browser.run(sends).await, json!([true, false]));
    }
    browser.click("form.record button.main").await;
    browser.wait_for("h1", "Ember Works").await;
}

/// A license belongs to a company that is chosen by its name, which a script suggests.
async fn choose_by_name(visit: &Visit, setup: Setup) {
    let (browser, client) = (&visit.browser, &visit.server.client);
    for number in 0..25 {
        client.post("/companies", &json!({"name": format!("Newer {number}")})).await;
    }
    visit.open("/app/records/licenses/new").await;
    browser.fill("#f-companyId", "demo").await;
    if setup != Setup::Scriptless {
        let found = "const done = arguments[0], list = document.querySelector('#f-companyId').list; \
            const look = () => list.options.length === 1 && done(list.options[0].value); \
            new MutationObserver(look).observe(list, { childList: true }); look();";
        let found = browser.page.execute_async(found, Vec::new()).await.unwrap();
        assert_eq!(found, json!("Demo company (demo)"));
    }
    for (field, text) in
        [("companyId", "Demo company"), ("_currency", "EUR"), ("externalId", "named")]
    {
        browser.fill(&format!("#f-{field}"), text).await;
    }
    browser.click("form.record button.main").await;
    browser.wait_for("main", "Demo company").await;
    assert_eq!(client.get("/licenses/extid-named").await.json()["companyName"], "Demo company");
}

/// A license is renewed, and a timesheet approved.
async fn decide(visit: &Visit) {
    let (browser, client) = (&visit.browser, &visit.server.client);
    let license = json!({
        "companyId": "extid-demo", "externalId": "l-1", "_currency": "EUR", "fixedPeriod": true, "mrr": 100,
        "fromDate": "2025-01-01", "toDate": "2026-01-01",
    });
    client.post("/licenses", &license).await;
    visit.open("/").await;
    browser.click("main a[href='/app/renewals']").await;
    browser.wait_for("main", "Demo company").await;
    browser.click("main a[href$='/renew']").await;
    browser.click("button[value=do]").await;
    browser.wait_for("h1", "Renewals").await;
    assert_eq!(client.get("/licenses/extid-l-1").await.json()["renewalStatus"], "renewed");
    let sheet = json!({"externalId": "t-1", "dateFrom": 20454, "dateTo": 20460});
    client.post("/timesheets", &sheet).await;
    visit.open("/app/timesheets").await;
    browser.click("input[name=sheet]").await;
    browser.click("button[value=approved]").await;
    browser.wait_for("main", "1 timesheet was approved").await;
    assert_eq!(client.get("/timesheets/extid-t-1").await.json()["status"], "approved");
}

/// A table with a wrong row is imported without it; a script shows how far that is, and stays on the page.
async fn import_with_a_mistake(visit: &Visit, setup: Setup) {
    let browser = &visit.browser;
    visit.open("/app/import/companies").await;
    if setup != Setup::Scriptless {
        browser.run("window.stays = true").await;
    }
    browser.fill("#f-table", "name,csmScore\nGood Works,4\nBad Works,9").await;
    browser.click("button[value=check]").await;
    browser.wait_for("main table", "from 1 to 5; found 9").await;
    browser.click("button[value=import]").await;
    browser.wait_for(".outcome", "Imported").await;
    if setup != Setup::Scriptless {
        assert_eq!(browser.run("return window.stays").await, Value::Bool(true));
    }
    visit.open("/app/records/companies").await;
    browser.wait_for("table", "Good Works").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_walks_through_the_pages_in_chromium() {
    walk_through(Kind::Chromium, Setup::Usual).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_walks_through_the_pages_in_firefox() {
    walk_through(Kind::Firefox, Setup::Usual).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_walks_through_the_pages_without_script_in_chromium() {
    walk_through(Kind::Chromium, Setup::Scriptless).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_walks_through_the_pages_without_script_in_firefox() {
    walk_through(Kind::Firefox, Setup::Scriptless).await;
}

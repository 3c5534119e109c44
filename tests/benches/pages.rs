//! The web application with 100,000 licenses and 5 million activities: how long each page takes after an event and a
//! change of a license, the bytes of the first one, and when Chromium has painted the largest part of it.

use std::time::Instant;

use fantoccini::Locator;
use hyper::{Method, StatusCode};
use svctrack_server::auth::Token;
use svctrack_tests::{
    browser::{Browser, Kind, Setup},
    client::{Client, Response},
    data::{self, USERS},
    process::Server,
    reader::{Reader, attribute, sign_in},
};

use crate::{
    folder,
    report::{Case, Report, Target},
    reports::{LICENSES, OF_COMPANY, change, company, license},
    rows::Sender,
};

const ACTIVITIES: usize = 5_000_000;
/// Rows of a bulk body.
const BODY_ROWS: usize = 20_000;
/// How often each page is requested; the median counts.
const ROUNDS: usize = 11;
const HOME: &str = "/";
/// Milliseconds that the first page may take, any other, and a search.
const HOME_MS: f64 = 100.0;
const PAGE_MS: f64 = 150.0;
const SEARCH_MS: f64 = 50.0;
/// KB that the first page may take with all that it loads, in gzip.
const HOME_KB: f64 = 50.0;
/// Pages with a picture or long tables, which are shown in a browser as well.
const PAINTED_PAGES: [&str; 5] =
    [HOME, "/app/customers", "/app/renewals", "/app/reports/mrr", "/app/records/licenses"];
/// Layout shift that nobody notices; up to 0.1 counts as good.
const MOST_SHIFT: f64 = 0.01;
const SEARCHES: [&str; 4] = ["Company 77", "u1234@", "c77.example", "nowhere to be found"];
/// When the largest part of the page was painted, in milliseconds from its request, and by how much what was
/// shown moved.
const PAINTED: &str = "const done = arguments[0]; let moved = 0;\
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) moved += entry.value; })\
      .observe({type: 'layout-shift', buffered: true});\
    new PerformanceObserver((list) => { const painted = list.getEntries().at(-1).startTime;\
      setTimeout(() => done({painted, moved}), 200); }).observe({type: 'largest-contentful-paint', buffered: true})";

pub(crate) async fn measure(report: &mut Report) {
    let folder = folder();
    let token = Token::generate().unwrap();
    let server = Server::start(folder.path(), &token).await;
    let mut sender = fill(&server.client).await;
    let reader = sign_in(&server.client, token.reveal()).await;
    first_page_bytes(report, &server.client, &reader).await;
    for (path, limit) in paths(&reader).await {
        let mut times = Vec::with_capacity(ROUNDS);
        for round in 0..ROUNDS {
            // No report that was cached is still valid.
            change(&server.client, round).await;
            sender.send_rows(1).await;
            let started = Instant::now();
            let response = reader.get(&path).await;
            times.push(started.elapsed().as_secs_f64() * 1e3);
            assert_eq!(response.status, StatusCode::OK, "{path}: {}", response.text());
        }
        let what = format!("page `{}`, after changes", without_ids(&path));
        report.note(&case(&what), "ms", Target::Below(limit), times);
    }
    painted(report, &server, &token).await;
    server.kill().await;
}

async fn fill(client: &Client) -> Sender<'_> {
    data::load(client, "/companies", LICENSES / OF_COMPANY, company).await;
    data::load(client, "/licenses", LICENSES, license).await;
    data::load(client, "/endusers", USERS, data::user).await;
    let mut sender = Sender::new(client);
    while sender.sent() < ACTIVITIES {
        sender.send_rows(BODY_ROWS).await;
    }
    sender
}

fn case(what: &str) -> Case<'_> {
    let body = format!("{LICENSES} licenses, {USERS} users, {ACTIVITIES} activities");
    Case { what, baseline: "", connections: 1, body, durable: None }
}

/// The pages, by the links of the first one, with the milliseconds that each may take: those of the menu, a company, a
/// person, the reports, and searches.
async fn paths(reader: &Reader<'_>) -> Vec<(String, f64)> {
    let mut paths = vec![(HOME.to_owned(), HOME_MS)];
    let mut add = |found: Vec<String>, limit| {
        for path in found {
            if paths.iter().all(|(known, _)| without_ids(known) != without_ids(&path)) {
                paths.push((path, limit));
            }
        }
    };
    add(links(reader, HOME).await, PAGE_MS);
    for list in ["/app/records/companies", "/app/records/endusers", "/app/reports"] {
        add(links(reader, list).await, PAGE_MS);
    }
    let search = |text: &str| {
        let query: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
        format!("/app/search?q={query}")
    };
    paths.extend(SEARCHES.map(|text| (search(text), SEARCH_MS)));
    paths
}

/// Links to pages of the application in a page.
async fn links(reader: &Reader<'_>, path: &str) -> Vec<String> {
    let response = reader.get(path).await;
    if response.status != StatusCode::OK {
        return Vec::new();
    }
    let links = attribute(response.text(), "href").map(|link| link.replace("&amp;", "&"));
    let pages = links.filter(|link| link.starts_with("/app/") && !link.contains('#'));
    pages.filter(|link| !["csv", "svg", "live/"].iter().any(|part| link.contains(part))).collect()
}

/// A path with what names a record left out, and without its query.
fn without_ids(path: &str) -> String {
    if path.starts_with("/app/search?") {
        return path.to_owned();
    }
    let path = path.split('?').next().unwrap();
    let is_id = |part: &&str| part.len() == 24 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    path.split('/')
        .map(|part| if is_id(&part) { "{id}" } else { part })
        .collect::<Vec<_>>()
        .join("/")
}

/// The first page and all that it loads, in gzip.
async fn first_page_bytes(report: &mut Report, client: &Client, reader: &Reader<'_>) {
    let html = reader.get(HOME).await;
    let loaded = attribute(html.text(), "href").filter(|link| {
        [".css", ".svg", ".js"].iter().any(|end| link.split('?').next().unwrap().ends_with(end))
    });
    let loaded = loaded.chain(attribute(html.text(), " src"));
    let mut bytes = 0;
    for path in [HOME].into_iter().chain(loaded) {
        bytes += packed(client, reader, &path.replace("&amp;", "&")).await.body.len();
    }
    let kilobytes = vec![bytes as f64 / 1e3];
    report.note(
        &case("first page with all that it loads"),
        "KB",
        Target::Below(HOME_KB),
        kilobytes,
    );
}

async fn packed(client: &Client, reader: &Reader<'_>, path: &str) -> Response {
    let headers = [("cookie", reader.cookie.as_str()), ("accept-encoding", "gzip")];
    let response = client.send(Method::GET, path, &headers, "").await.unwrap();
    assert_eq!(response.status, StatusCode::OK, "{path}");
    response
}

/// What Chromium shows of some pages, and when.
async fn painted(report: &mut Report, server: &Server, token: &Token) {
    let browser = Browser::start_as(Kind::Chromium, Setup::Usual).await;
    let at = |path: &str| format!("{}{path}", server.base);
    browser.page.goto(&at("/sign-in")).await.unwrap();
    browser.fill("input[name=token]", token.reveal()).await;
    browser.click("button[type=submit]").await;
    browser.page.wait().for_element(Locator::Css("nav")).await.unwrap();
    for path in PAINTED_PAGES {
        let (mut times, mut shifts) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            browser.page.goto(&at(path)).await.unwrap();
            let found = browser.page.execute_async(PAINTED, Vec::new()).await.unwrap();
            times.push(found["painted"].as_f64().unwrap());
            shifts.push(found["moved"].as_f64().unwrap());
        }
        let what = format!("largest contentful paint of `{path}`, Chromium");
        report.note(&case(&what), "ms", Target::None, times);
        let what = format!("layout shift of `{path}`, Chromium");
        report.note(&case(&what), "", Target::Below(MOST_SHIFT), shifts);
    }
    browser.close().await;
}

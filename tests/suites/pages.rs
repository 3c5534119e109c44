//! The web application, as a browser without script sees it: who may see a page, what a form takes, and that nothing
//! that is stored becomes a part of a page. All pages are found by their links, as a reader finds them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_core::{
    resources::REGISTRY,
    schema::{FieldKind, ResourceDef},
};
pub(crate) use svctrack_tests::reader::{Reader, attribute, sign_in};
use svctrack_tests::{
    client::Client,
    in_process::InProcess,
    reader::{FORM, OWN_PAGE, csrf_in, encoded},
};

/// How many pages a walk visits at most.
const MAX_PAGES: usize = 400;
/// Text that would be an element, leave an attribute, or be a link, if a page did not escape it.
const NAUGHTY: &str = "\"'><x-naughty onclick=alert(1)>&amp;{{csp}}\u{202e}javascript:alert(1)";

/// Text of a page, or of a file, that a reader opens.
pub(crate) async fn page(reader: &Reader<'_>, path: &str) -> String {
    let response = reader.get(path).await;
    assert_eq!(response.status, StatusCode::OK, "{path}: {}", response.text());
    response.text().to_owned()
}

/// The test tenant's token.
pub(crate) fn token(server: &InProcess) -> String {
    server.client.authorization().unwrap().strip_prefix("Bearer ").unwrap().to_owned()
}

/// All pages that links lead to from the first one, which may lead elsewhere, each with its HTML.
pub(crate) async fn walk(reader: &Reader<'_>) -> BTreeMap<String, String> {
    let (mut found, mut seen) = (BTreeMap::new(), BTreeSet::from(["/".to_owned()]));
    // Each with the page that leads to it.
    let mut ahead = VecDeque::from([("/".to_owned(), String::new())]);
    while let Some((path, from)) = ahead.pop_front() {
        let response = reader.get(&path).await;
        if path == "/" && response.status == StatusCode::SEE_OTHER {
            ahead.push_back((response.headers["location"].to_str().unwrap().to_owned(), path));
            continue;
        }
        assert_eq!(response.status, StatusCode::OK, "{path}, from {from}: {}", response.text());
        if response.headers["content-type"] != "text/html; charset=utf-8" {
            continue;
        }
        let html = response.text().to_owned();
        for link in attribute(&html, "href").chain(attribute(&html, " src")) {
            let link = link.replace("&amp;", "&").split('#').next().unwrap().to_owned();
            let is_own = link == "/" || link.starts_with("/app/");
            if is_own && seen.len() < MAX_PAGES && seen.insert(link.clone()) {
                ahead.push_back((link, path.clone()));
            }
        }
        found.insert(path, html);
    }
    found
}

/// Stores a record of every resource with `text` in all that takes any text.
pub(crate) async fn store_samples(client: &Client, text: &str) {
    let company = json!({"name": text, "externalId": "sample", "custom": {text: text}});
    let company = client.post("/companies", &company).await.json();
    let id = company["_id"].as_str().unwrap();
    let product = json!({"name": text, "externalId": "sample"});
    assert_eq!(client.post("/products", &product).await.status, StatusCode::OK);
    for def in REGISTRY.iter().filter(|def| !matches!(def.path, "companies" | "products")) {
        let response = client.post(&format!("/{}", def.path), &sample(def, id, text)).await;
        assert_eq!(response.status, StatusCode::OK, "{}: {}", def.path, response.text());
    }
    let view = json!({"views": {"companies": {text: "sort=name"}}}).to_string();
    let json_type = [("content-type", "application/json")];
    let saved = client.send(Method::PUT, "/settings", &json_type, view).await.unwrap();
    assert_eq!(saved.status, StatusCode::OK, "{}", saved.text());
    let event = json!({
        "action": text, "name": text, "externalId": "sample-user",
        "companyExternalId": "sample", "info": {"note": text},
    });
    client.track(&event).await.unwrap();
    client.track(&json!({"action": text, "externalId": text})).await.unwrap();
}

fn sample(def: &ResourceDef, company: &str, text: &str) -> Value {
    // These name what has to be there.
    const NAMES: &[&str] = &["_currency", "product"];
    let mut record: Value = serde_json::from_str(def.example).unwrap();
    for field in def.fields.iter().filter(|field| field.is_sent()) {
        if field.refers.is_some_and(|refers| refers.resource == "company") {
            record[field.name] = json!(company);
        } else if field.kind == FieldKind::Text
            && field.values.is_empty()
            && !NAMES.contains(&field.name)
        {
            record[field.name] = json!(text);
        }
    }
    record
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_opens_escapes_what_is_stored_and_runs_no_script_of_others() {
    let server = InProcess::start().await;
    store_samples(&server.client, NAUGHTY).await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let pages = walk(&reader).await;
    assert!(pages.len() > 40, "only {:?}", pages.keys());
    let mut shown = 0;
    for (path, html) in &pages {
        assert!(!html.contains("<x-naughty"), "{path} does not escape");
        shown += usize::from(html.contains("&lt;x-naughty"));
        assert!(!html.contains("<script>") && !html.contains(" style=\""), "{path}");
        for link in attribute(html, "href").chain(attribute(html, "action")) {
            assert!(link.starts_with(['/', '#', '?']), "{path} leads to {link}");
        }
        let ids: Vec<&str> = attribute(html, " id").collect();
        let different: BTreeSet<_> = ids.iter().collect();
        assert_eq!(ids.len(), different.len(), "{path} has an id twice");
        assert_eq!(html.matches("<h1").count(), 1, "{path}");
        let response = reader.get(path).await;
        let policy = response.headers["content-security-policy"].to_str().unwrap();
        // WebAssembly checks forms.
        let is_checked = html.contains(" data-check=\"");
        let scripts = if is_checked { "'self' 'wasm-unsafe-eval';" } else { "'self';" };
        assert!(
            policy.starts_with(&format!("default-src 'none'; script-src {scripts}")),
            "{policy}"
        );
        assert_eq!(response.headers["cache-control"], "no-store", "{path}");
    }
    assert!(shown > 20, "the texts are on {shown} pages alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_is_sent_after_the_sign_out_reports_that_it_was_not_saved() {
    let server = InProcess::start().await;
    let form = "http://svctrack.example/app/records/companies/new?x=1#name";
    let headers = [FORM, OWN_PAGE, ("referer", form)];
    let path = "/app/records/companies/new";
    let sent = server.anonymous.send(Method::POST, path, &headers, "name=Acme").await.unwrap();
    assert_eq!(sent.status, StatusCode::SEE_OTHER);
    let there = sent.headers["location"].to_str().unwrap().to_owned();
    assert!(
        there.starts_with("/sign-in?next=%2Fapp%2Frecords%2Fcompanies%2Fnew%3Fx%3D1"),
        "{there}"
    );
    let page = server.anonymous.get(&there).await;
    assert!(page.text().contains("what you sent was not saved"), "{}", page.text());
    assert!(page.text().contains("value=\"/app/records/companies/new?x=1#name\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_sees_a_page_without_signing_in_and_no_tenant_sees_anothers() {
    let server = InProcess::start().await;
    store_samples(&server.client, NAUGHTY).await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let other = server.operator.post("/tenants", &json!({"name": "other"})).await.json();
    let other = sign_in(&server.anonymous, other["token"]["token"].as_str().unwrap()).await;
    for path in walk(&reader).await.keys() {
        let response = server.anonymous.get(path).await;
        assert_eq!(response.status, StatusCode::SEE_OTHER, "{path}");
        assert!(response.headers["location"].to_str().unwrap().starts_with("/sign-in"), "{path}");
        let theirs = other.get(path).await;
        // What a filter asks for is shown to who asks.
        let is_asked_for = path.contains("x-naughty");
        assert!(
            is_asked_for || !theirs.text().contains("x-naughty"),
            "{path} shows another tenant's records"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_taken_from_a_page_of_the_same_session_alone() {
    let server = InProcess::start().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let second = sign_in(&server.anonymous, &token(&server)).await;
    let (path, body) = ("/app/records/companies/new", [("name", "Acme")]);
    assert_eq!(reader.send(path, &body).await.status, StatusCode::FORBIDDEN);
    let of_second = csrf_in(second.get("/").await.text());
    let with = [("name", "Acme"), ("csrf", of_second.as_str())];
    assert_eq!(reader.send(path, &with).await.status, StatusCode::FORBIDDEN);
    let own = csrf_in(reader.get("/").await.text());
    let with = encoded(&[("name", "Acme"), ("csrf", &own)]);
    for site in ["cross-site", "same-site", "none"] {
        let headers = [("cookie", reader.cookie.as_str()), FORM, ("sec-fetch-site", site)];
        let response = server.anonymous.send(Method::POST, path, &headers, with.clone()).await;
        assert_eq!(response.unwrap().status, StatusCode::FORBIDDEN, "{site}");
    }
    assert_eq!(server.client.get("/companies").await.json(), json!([]));
    assert_eq!(reader.submit(path, &body).await.status, StatusCode::SEE_OTHER);
    assert_eq!(server.client.get("/companies").await.json()[0]["name"], "Acme");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_is_created_changed_and_deleted_by_forms() {
    let server = InProcess::start().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let missing = reader.submit("/app/records/companies/new", &[("city", "Zürich")]).await;
    assert_eq!(missing.status, StatusCode::UNPROCESSABLE_ENTITY);
    let text = missing.text();
    assert!(text.contains("href=\"#f-name\"") && text.contains("value=\"Zürich\""), "{text}");

    let pairs = [("name", "Acme"), ("tags", "a, b"), ("csmScore", "3")];
    let made = reader.submit("/app/records/companies/new", &pairs).await;
    let path = made.headers["location"].to_str().unwrap().to_owned();
    let record = server.client.get("/companies").await.json()[0].clone();
    assert_eq!((&record["tags"], &record["csmScore"]), (&json!(["a", "b"]), &json!(3)));

    let edit = format!("{path}/edit");
    let version = reader.get(&edit).await.text().to_owned();
    let version = attribute(&version, "name=\"version\" value").next().unwrap();
    let version = version.replace("&quot;", "\"");
    let pairs = [("name", "Acme Ltd"), ("tags", "a, b"), ("csmScore", ""), ("version", &version)];
    assert_eq!(reader.submit(&edit, &pairs).await.status, StatusCode::SEE_OTHER);
    let record = server.client.get("/companies").await.json()[0].clone();
    assert_eq!((&record["name"], record.get("csmScore")), (&json!("Acme Ltd"), None));
    let stale = reader
        .submit(&edit, &pairs.map(|(name, text)| (name, if name == "name" { "X" } else { text })))
        .await;
    assert_eq!(stale.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(stale.text().contains("changed the record in the meantime"), "{}", stale.text());

    let deleted = reader.submit(&format!("{path}/delete"), &[]).await;
    let after = reader.get(deleted.headers["location"].to_str().unwrap()).await;
    assert!(after.text().contains("The record was deleted."), "{}", after.text());
    assert_eq!(reader.get(&path).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_with_sign_out_and_with_its_token() {
    let server = InProcess::start().await;
    let read = json!({"label": "reader", "scopes": ["companies:read"]});
    let read = server.client.post("/tokens", &read).await.json();
    let (id, text) = (read["_id"].as_str().unwrap(), read["token"].as_str().unwrap());
    let reader = sign_in(&server.anonymous, text).await;
    let home = reader.get("/").await;
    for shown in ["/app/records/companies", "name=\"everywhere\""] {
        assert!(home.text().contains(shown), "{shown}: {}", home.text());
    }
    for hidden in ["/app/records/licenses", "/app/reports/mrr", "/app/customers"] {
        assert!(!home.text().contains(hidden), "{hidden}");
        assert_eq!(reader.get(hidden).await.status, StatusCode::FORBIDDEN, "{hidden}");
    }
    // A form whose contents could not be saved is not shown.
    for form in ["/app/records/companies/new", "/app/records/companies/extid-acme/edit"] {
        assert_eq!(reader.get(form).await.status, StatusCode::FORBIDDEN, "{form}");
    }
    // What is in the cookie grants nothing to a call of the API.
    let cookie = reader.cookie.split_once('=').unwrap().1;
    let as_token = server.client.with_token(cookie).get("/companies").await;
    assert_eq!(as_token.status, StatusCode::FORBIDDEN);
    let as_sign_in = encoded(&[("token", cookie)]);
    let again =
        server.anonymous.send(Method::POST, "/sign-in", &[FORM, OWN_PAGE], as_sign_in).await;
    assert_eq!(again.unwrap().status, StatusCode::UNAUTHORIZED);

    let path = format!("/tokens/{id}");
    server.client.send(Method::DELETE, &path, &[], "").await.unwrap();
    assert_eq!(reader.get("/").await.status, StatusCode::SEE_OTHER);

    let (one, two) = (
        sign_in(&server.anonymous, &token(&server)).await,
        sign_in(&server.anonymous, &token(&server)).await,
    );
    assert_eq!(one.submit("/sign-out", &[]).await.status, StatusCode::SEE_OTHER);
    assert_eq!(one.get("/").await.status, StatusCode::SEE_OTHER);
    assert_eq!(two.get("/").await.status, StatusCode::OK);
    let three = sign_in(&server.anonymous, &token(&server)).await;
    three.submit("/sign-out", &[("everywhere", "true")]).await;
    assert_eq!(two.get("/").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_does_not_sign_in_and_many_are_slowed() {
    let server = InProcess::start().await;
    let mut statuses = Vec::new();
    for _ in 0..12 {
        let body = encoded(&[("token", "svt_wrong"), ("next", "/app/customers")]);
        let sent = server.anonymous.send(Method::POST, "/sign-in", &[FORM, OWN_PAGE], body).await;
        let response = sent.unwrap();
        assert!(!response.headers.contains_key("set-cookie"));
        assert!(response.text().contains("value=\"/app/customers\""), "{}", response.text());
        statuses.push(response.status);
    }
    assert_eq!(statuses[0], StatusCode::UNAUTHORIZED);
    assert_eq!(statuses[11], StatusCode::TOO_MANY_REQUESTS);
    sign_in(&server.anonymous, &token(&server)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_has_few_sessions_and_the_oldest_give_way() {
    let server = InProcess::start().await;
    let first = sign_in(&server.anonymous, &token(&server)).await;
    for _ in 0..20 {
        sign_in(&server.anonymous, &token(&server)).await;
    }
    let tokens = server.client.get("/tokens").await.json();
    let is_session = |token: &&Value| token["scopes"] == json!(["session"]);
    assert_eq!(tokens.as_array().unwrap().iter().filter(is_session).count(), 20);
    assert_eq!(first.get("/").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_cannot_use_a_session_can_sign_in_with_another_token() {
    let server = InProcess::start().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let path = format!("/tenants/{}", svctrack_tests::TENANT);
    let json_type = [("content-type", "application/json")];
    let suspended = json!({"suspended": true}).to_string();
    server.operator.send(Method::PUT, &path, &json_type, suspended).await.unwrap();
    assert_eq!(reader.get("/").await.status, StatusCode::FORBIDDEN);
    assert_eq!(reader.get("/sign-in").await.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_leaves_what_nobody_touched_as_it_is() {
    let server = InProcess::start().await;
    let company = json!({"name": "A\nB", "tags": ["x, y"], "externalId": "a"}).to_string();
    let company = company.replace('}', r#","custom":{"ref":12345678901234567890123,"x":1}}"#);
    let json_type = [("content-type", "application/json")];
    let made = server.client.send(Method::POST, "/companies", &json_type, company).await.unwrap();
    assert_eq!(made.status, StatusCode::OK, "{}", made.text());
    let path = "/app/records/companies/extid-a/edit";
    let page = reader_of(&server).await.get(path).await.text().replace("&quot;", "\"");
    let (_, shown) = page.split_once("\n{\"ref\":").unwrap();
    let custom = format!("{{\"ref\":{},\"x\":2}}", shown.split_once(',').unwrap().0);
    let pairs =
        [("name", "AB"), ("tags", "[\"x, y\"]"), ("custom", &custom), ("city", "'s-Hertogenbosch")];
    assert_eq!(reader_of(&server).await.submit(path, &pairs).await.status, StatusCode::SEE_OTHER);
    let kept = server.client.get("/companies/extid-a").await;
    let kept = kept.text();
    for part in [
        r#""name":"A\nB""#,
        r#""tags":["x, y"]"#,
        r#""ref":12345678901234567890123"#,
        r#""x":2"#,
        "'s-H",
    ] {
        assert!(kept.contains(part), "{part} is not in {kept}");
    }
}

async fn reader_of(server: &InProcess) -> Reader<'_> {
    sign_in(&server.anonymous, &token(server)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_taken_away_whole_and_a_far_page_is_empty() {
    let server = InProcess::start().await;
    let companies: Vec<Value> =
        (0..150).map(|number| json!({"name": format!("C {number}")})).collect();
    let json_type = [("content-type", "application/json")];
    let body = Value::from(companies).to_string();
    server.client.send(Method::PUT, "/companies", &json_type, body).await.unwrap();
    let reader = reader_of(&server).await;
    let page = reader.get("/app/records/companies").await;
    let csv = attribute(page.text(), "href").find(|link| link.contains("form=csv")).unwrap();
    let csv = reader.get(&csv.replace("&amp;", "&")).await;
    assert_eq!(csv.text().lines().count(), 151);
    let far = format!("/app/records/companies?offset={}", usize::MAX);
    assert_eq!(reader.get(&far).await.status, StatusCode::OK);
    let not_allowed = reader.send("/app/live", &[]).await;
    assert_eq!(not_allowed.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(not_allowed.headers["allow"], "GET");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_retains_its_columns_filters_and_order_from_page_to_page() {
    let server = InProcess::start().await;
    let companies: Vec<Value> = (0..60)
        .map(|number| json!({"name": format!("C {number}"), "city": "Bern", "country": "CH"}))
        .collect();
    let json_type = [("content-type", "application/json")];
    let body = Value::from(companies).to_string();
    server.client.send(Method::PUT, "/companies", &json_type, body).await.unwrap();
    let reader = reader_of(&server).await;
    let heads = |html: &str| -> Vec<String> {
        let row = html.split("<thead>").nth(1).unwrap().split("</thead>").next().unwrap();
        let cells = row.split("</a>").filter_map(|cell| cell.rsplit('>').next());
        cells.map(str::to_owned).filter(|cell| !cell.is_empty()).collect()
    };
    let view = "city=Bern&sort=-name&columns=country&columns=name&columns=no-such-column";
    let first = reader.get(&format!("/app/records/companies?{view}")).await;
    assert_eq!(heads(first.text()), ["Name", "Country"]);
    let follow = |name: &str| {
        let links: Vec<String> =
            attribute(first.text(), name).map(|link| link.replace("&amp;", "&")).collect();
        links.into_iter().find(|link| link.contains("columns=")).unwrap()
    };
    for (link, shown) in [("rel=\"next\" href", "51 to 60 of 60"), ("<a href", "1 to 50 of 60")] {
        let page = reader.get(&follow(link)).await;
        assert_eq!(heads(page.text()), ["Name", "Country"], "{}", follow(link));
        assert!(page.text().contains(shown), "{}", follow(link));
    }
    // What the form of filters sends keeps the columns, and what that of columns sends keeps the filter.
    let kept = "name=\"columns\" value=\"name,country\"";
    assert!(first.text().contains(kept), "{}", first.text());
    let of_columns = first.text().split("<details class=\"columns\">").nth(1).unwrap();
    assert!(of_columns.contains("name=\"city\" value=\"Bern\""), "{of_columns}");
    let unknown = reader.get("/app/records/companies?columns=no-such-column").await;
    assert!(heads(unknown.text()).contains(&"Name".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_with_more_fields_than_any_has_is_rejected() {
    let server = InProcess::start().await;
    let reader = reader_of(&server).await;
    let pairs = vec![("name", ""); 10_001];
    let response = reader.submit("/app/records/companies/new", &pairs).await;
    assert_eq!(response.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(response.text().contains("at most 10000 fields"), "{}", response.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_has_a_page_of_each_part_and_the_first_page_shows_who_was_active() {
    let server = InProcess::start().await;
    server.client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    let event =
        json!({"companyExternalId": "acme", "externalId": "ada", "action": "Opened <b>report"});
    assert_eq!(server.client.track(&event).await.unwrap().status, StatusCode::OK);
    let reader = reader_of(&server).await;
    let home = reader.get("/").await;
    let active = home.text().matches("in 7 days, 0 in the 7 before").count();
    assert_eq!(active, 2, "{}", home.text());
    // The figure leads to those whom it counts.
    let explained = |link: &&str| link.contains("explain=weekly");
    let link = attribute(home.text(), "href").find(explained).unwrap().replace("&amp;", "&");
    assert!(page(&reader, &link).await.contains(">ada</a>"), "{link}");
    for (part, expect) in
        [("figures", "Users active"), ("cohorts", "-W"), ("actions", "Opened &lt;b&gt;report")]
    {
        let page = reader.get(&format!("/app/reports/usage?part={part}")).await;
        assert_eq!(page.status, StatusCode::OK);
        assert!(page.text().contains(expect), "{part}: {}", page.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_does_not_exist_is_a_page_for_browsers() {
    let server = InProcess::start().await;
    let reader = reader_of(&server).await;
    let missing = reader.get("/app/nothing").await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
    assert!(missing.text().contains("This page does not exist."), "{}", missing.text());
    let has_menu = |page: &str| page.contains("aria-label=\"Sections\"");
    assert!(has_menu(missing.text()), "{}", missing.text());
    let get = async |path: &str, accept: &str| {
        let accept = [("accept", accept)];
        server.anonymous.send(Method::GET, path, &accept, String::new()).await.unwrap()
    };
    let browser = "text/html,application/xhtml+xml,*/*;q=0.8";
    let unsigned = get("/app/nothing", browser).await;
    assert_eq!(unsigned.status, StatusCode::NOT_FOUND);
    assert!(!has_menu(unsigned.text()), "{}", unsigned.text());
    // Nor is one without a place among the pages.
    let signed_in = [("accept", browser), ("cookie", reader.cookie.as_str())];
    let other = server.anonymous.send(Method::GET, "/nothing", &signed_in, "").await.unwrap();
    assert_eq!(other.status, StatusCode::NOT_FOUND);
    assert!(has_menu(other.text()), "{}", other.text());
    let send = async |method: Method, path: &str, headers: &[(&str, &str)]| {
        server.anonymous.send(method, path, headers, String::new()).await.unwrap()
    };
    let token = format!("Bearer {}", token(&server));
    for (method, path, headers) in [
        (Method::GET, "/nothing", &[("accept", "*/*")][..]),
        (Method::GET, "/nothing", &[("accept", "application/json")]),
        (Method::GET, "/nothing", &[("accept", browser), ("authorization", &token)]),
        (Method::POST, "/nothing", &[("accept", browser)]),
        (Method::GET, "/analytics/a/b/c", &[("accept", browser)]),
    ] {
        let program = send(method, path, headers).await;
        assert_eq!(program.status, StatusCode::NOT_FOUND, "{path} {headers:?}");
        assert_eq!(program.headers["content-type"], "application/problem+json", "{headers:?}");
    }
    let known = get("/companies", browser).await;
    assert_eq!(known.status, StatusCode::UNAUTHORIZED);
    assert_eq!(known.headers["content-type"], "application/problem+json");
    let docs = get("/docs/nothing", browser).await;
    assert_eq!(docs.status, StatusCode::NOT_FOUND);
    let is_page = docs.text().contains("This page does not exist.");
    assert!(is_page && docs.text().contains("aria-label=\"Docs\""), "{}", docs.text());
    let program = get("/docs/nothing", "*/*").await;
    assert_eq!(program.headers["content-type"], "application/problem+json");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_page_shows_what_a_token_may_see_and_what_a_new_tenant_may_begin_with() {
    let server = InProcess::start().await;
    let home = reader_of(&server).await.get("/").await;
    assert!(home.text().contains("href=\"/app/import/licenses\""), "{}", home.text());
    let scopes = json!({"label": "few", "scopes": ["companies:read", "tickets:read"]});
    let issued = server.client.post("/tokens", &scopes).await.json();
    let reader = sign_in(&server.anonymous, issued["token"].as_str().unwrap()).await;
    let home = reader.get("/").await;
    let home = home.text().split("<main").nth(1).unwrap();
    for text in ["Your token shows", ">Companies</a>", ">Tickets</a>", "<code>reports:read</code>"]
    {
        assert!(home.contains(text), "{text}: {home}");
    }
    assert!(!home.contains(">Docs</a>"), "{home}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_without_a_label_or_a_scope_is_rejected_in_words_for_people() {
    let server = InProcess::start().await;
    let reader = reader_of(&server).await;
    let rejected = reader.submit("/app/tokens/new", &[("label", "")]).await;
    assert_eq!(rejected.status, StatusCode::UNPROCESSABLE_ENTITY);
    for text in ["Enter a label.", "Choose at least one scope."] {
        assert!(rejected.text().contains(text), "{text}: {}", rejected.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_menu_has_no_page_that_the_token_may_not_open() {
    let server = InProcess::start().await;
    // A tenant with the name of the demo has the demo in its menu.
    let demo = json!({"name": DEMO});
    let demo = server.operator.post("/tenants", &demo).await.json();
    let demo = server.client.with_token(demo["token"]["token"].as_str().unwrap());
    let resources = REGISTRY.iter().map(|def| format!("{}:read", def.path));
    let others = ["activities:read", "reports:read", "admin", "*:read", "*"].map(str::to_owned);
    for scope in resources.chain(others) {
        let issued = demo.post("/tokens", &json!({"label": scope, "scopes": [scope]})).await.json();
        let reader = sign_in(&server.anonymous, issued["token"].as_str().unwrap()).await;
        check_menu(&reader, &scope).await;
    }
    let operator = server.operator.authorization().unwrap().strip_prefix("Bearer ").unwrap();
    check_menu(&sign_in(&server.anonymous, operator).await, "operator").await;
}

/// Name of the demo's tenant.
const DEMO: &str = "Demo: Lumen Analytics";

async fn check_menu(reader: &Reader<'_>, scope: &str) {
    let page = reader.get("/app/health").await;
    let menu = page.text().split("<nav aria-label=\"Sections\">").nth(1).unwrap();
    let menu = menu.split("</nav>").next().unwrap();
    let labels: Vec<&str> = menu.split("</a>").filter_map(|link| link.rsplit('>').next()).collect();
    let different: BTreeSet<_> = labels.iter().collect();
    assert_eq!(labels.len(), different.len(), "{scope} has a label twice: {labels:?}");
    if scope == "*" {
        assert!(menu.contains("Records</p><ul><li><a href=\"/app/records/companies\""), "{menu}");
        assert!(labels.contains(&"Docs"), "{labels:?}");
    }
    let links: Vec<&str> = attribute(menu, "href").collect();
    assert!(!links.is_empty(), "{scope}");
    assert_eq!(links.contains(&"/app/demo"), matches!(scope, "admin" | "*"), "{scope}");
    for link in links {
        let status = reader.get(link).await.status;
        let is_shown = status == StatusCode::OK || link == "/" && status == StatusCode::SEE_OTHER;
        assert!(is_shown, "{scope} opens {link}: {status}");
    }
}

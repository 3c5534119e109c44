//! Who may do what, over every route that the description of the API names: whatever is added to the
//! route table is tried here too.

use std::{collections::BTreeSet, sync::Arc};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_core::{
    access::{ACTIONS, OTHER_SCOPES},
    resources::REGISTRY,
    value::Timestamp,
};
use svctrack_server::auth::Token;
use svctrack_tests::{
    client::{Client, Response},
    description::{Route, routes},
    good_calls::GoodCalls,
    in_process::{InProcess, StillClock},
};

/// Every route that needs a token.
async fn guarded(client: &Client) -> Vec<Route> {
    routes(client).await.into_iter().filter(|route| route.scope.is_some()).collect()
}

/// The scopes that open a route: all of them, or any for one in bulk.
fn scopes_of(route: &Route) -> Vec<String> {
    let scope = route.scope.clone().unwrap_or_default();
    // Tickets need both, since their response has no place for what was not permitted (R21).
    if route.is_bulk() && route.subject() != "tickets" {
        return vec![format!("{}:create", route.subject()), scope];
    }
    scope.split(' ').map(str::to_owned).collect()
}

async fn call(client: &Client, method: &Method, path: &str, body: &Value) -> Response {
    let json = [("content-type", "application/json")];
    let body = if method == Method::GET { String::new() } else { body.to_string() };
    client.send(method.clone(), path, &json, body).await.unwrap()
}

async fn token(server: &InProcess, body: Value) -> String {
    let made = server.client.post("/tokens", &body).await;
    assert_eq!(made.status, StatusCode::OK, "{}", made.text());
    made.json()["token"].as_str().unwrap().to_owned()
}

/// Another tenant of the same server, with a token that may do everything.
pub(crate) async fn another_tenant(server: &InProcess) -> (String, Client) {
    let made = server.operator.post("/tenants", &json!({"name": "other"})).await.json();
    let client = server.client.with_token(made["token"]["token"].as_str().unwrap());
    (made["_id"].as_str().unwrap().to_owned(), client)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_route_is_open_to_a_token_that_does_not_count() {
    let clock = Arc::new(StillClock::at(Timestamp::parse("2026-11-20").unwrap()));
    let server = InProcess::with_clock(clock.clone()).await;
    let good = token(&server, json!({"label": "good", "scopes": ["*"]})).await;
    let revoked = token(&server, json!({"label": "revoked", "scopes": ["*"]})).await;
    let id = Token::parse(&revoked).unwrap().id().to_owned();
    server.client.send(Method::DELETE, &format!("/tokens/{id}"), &[], "").await.unwrap();
    let ended = json!({"label": "expired", "scopes": ["*"], "expiresAt": "2026-11-21"});
    let expired = token(&server, ended).await;
    clock.set(Timestamp::parse("2026-11-21").unwrap());
    let unknown = Token::generate().unwrap().reveal().to_owned();
    let swapped = if good.ends_with('0') { "1" } else { "0" };
    let wrong_sum = format!("{}{swapped}", &good[..good.len() - 1]);
    let callers = [
        ("token_missing", server.anonymous.clone()),
        ("token_malformed", server.client.with_token("sesame")),
        ("token_malformed", server.client.with_token(&wrong_sum)),
        ("token_unknown", server.client.with_token(&unknown)),
        ("token_unknown", server.client.with_token(&revoked)),
        ("token_expired", server.client.with_token(&expired)),
    ];
    for route in guarded(&server.client).await {
        for (code, client) in &callers {
            let path = route.path_to("extid-x");
            let response = call(client, &route.method, &path, &route.body()).await;
            assert_eq!(response.status, StatusCode::UNAUTHORIZED, "{} {path} {code}", route.method);
            assert_eq!(response.json()["code"], *code, "{} {path}", route.method);
            assert!(response.headers.contains_key("www-authenticate"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_opens_with_its_scope_and_with_no_other() {
    let server = InProcess::start().await;
    let calls = GoodCalls::prepare(&server).await;
    let resources = REGISTRY.iter().flat_map(|def| {
        ACTIONS.iter().map(|action| format!("{}:{action}", def.path)).collect::<Vec<_>>()
    });
    let others = OTHER_SCOPES.iter().map(|scope| (*scope).to_owned());
    let every: BTreeSet<String> = resources.chain(others).collect();
    let of_tenant = |scope: &&String| !["*", "*:read", "operator"].contains(&scope.as_str());
    for route in guarded(&server.client).await {
        let opens = scopes_of(&route);
        let (with, without): (Vec<_>, Vec<_>) =
            every.iter().filter(of_tenant).partition(|scope| opens.contains(scope));
        let path = route.path_to("extid-x");
        let without = token(&server, json!({"label": "without", "scopes": without})).await;
        let rejected =
            call(&server.client.with_token(&without), &route.method, &path, &route.body()).await;
        let said = "is open to a token with every scope but those of its entry; does the handler ask for another?";
        assert_eq!(
            rejected.status,
            StatusCode::FORBIDDEN,
            "{} {path} {said} {opens:?}",
            route.method
        );
        if route.scope.as_deref() == Some("operator") {
            assert_served(&calls, &route, &server.operator).await;
            continue;
        }
        let enough: Vec<Vec<&String>> = match with.as_slice() {
            // One of both is enough.
            [create, update] if route.is_bulk() => vec![vec![create], vec![update]],
            _ if route.is_bulk() => {
                vec![every.iter().filter(|scope| scope.starts_with("tickets:")).collect()]
            }
            scopes => vec![scopes.to_vec()],
        };
        for scopes in enough {
            let with = token(&server, json!({"label": "with", "scopes": scopes})).await;
            assert_served(&calls, &route, &server.client.with_token(&with)).await;
            revoke(&server, &with).await;
        }
        revoke(&server, &without).await;
    }
}

/// A call that succeeds wherever the route is open.
async fn assert_served(calls: &GoodCalls<'_>, route: &Route, client: &Client) {
    let served = calls.next(route).await.send(client, route).await;
    let said = format!("{} {}: {:?}", route.method, route.path, served.body);
    assert_eq!(served.status, StatusCode::OK, "{said}");
}

async fn revoke(server: &InProcess, token: &str) {
    let path = format!("/tokens/{}", Token::parse(token).unwrap().id());
    server.client.send(Method::DELETE, &path, &[], "").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wildcard_scope_opens_the_routes_that_it_covers_and_no_more() {
    let server = InProcess::start().await;
    let calls = GoodCalls::prepare(&server).await;
    let reader = token(&server, json!({"label": "x", "scopes": ["*:read"]})).await;
    let products = token(&server, json!({"label": "x", "scopes": ["products:*"]})).await;
    let (reader, products) =
        (server.client.with_token(&reader), server.client.with_token(&products));
    for route in guarded(&server.client).await {
        let scope = route.scope.clone().unwrap_or_default();
        for (client, opens) in
            [(&reader, scope.ends_with(":read")), (&products, scope.starts_with("products:"))]
        {
            let status = calls.next(&route).await.send(client, &route).await.status;
            let expected = if opens { StatusCode::OK } else { StatusCode::FORBIDDEN };
            assert_eq!(status, expected, "{} {}", route.method, route.path);
        }
    }
}

/// A body that creates a record of a resource.
fn record_of(path: &str) -> Value {
    let mut body = json!({
        "name": "secret", "externalId": "shared", "sourceId": "shared", "email": "eve@secret.example",
        "companyId": "extid-shared", "date": "2026-01-01", "hours": 1, "domains": ["secret.example"],
    });
    match path {
        "companies" => drop(body.as_object_mut().unwrap().remove("companyId")),
        // A ticket creates its submitter as an end user, who must be another one.
        "tickets" => body["email"] = json!("mallory@secret.example"),
        _ => {}
    }
    body
}

/// One record of each resource; companies come first, since others refer to them.
pub(crate) async fn fill(client: &Client) -> Vec<(String, Value)> {
    let mut paths: Vec<&str> = REGISTRY.iter().map(|def| def.path).collect();
    paths.sort_by_key(|path| *path != "companies");
    let mut records = Vec::new();
    for path in paths {
        let made = client.post(&format!("/{path}"), &record_of(path)).await;
        assert_eq!(made.status, StatusCode::OK, "{path}: {}", made.text());
        records.push((path.to_owned(), made.json()));
    }
    records
}

/// All that a tenant sees of its own.
pub(crate) async fn all_of(client: &Client) -> String {
    let mut seen = String::new();
    for path in REGISTRY.iter().map(|def| def.path).chain(["activities", "settings"]) {
        seen.push_str(client.get(&format!("/{path}")).await.text());
    }
    for token in client.get("/tokens").await.json().as_array().unwrap() {
        seen.push_str(&format!("{} {}", token["_id"], token["scopes"]));
    }
    seen
}

/// A response without what differs each time: its request, and the words of the caller.
fn likeness(response: &Response, id: &str) -> String {
    let text = response.text().replace(id, "<id>");
    let body: Value = serde_json::from_str(&text).unwrap_or(Value::String(text));
    let mut body = body;
    if let Some(problem) = body.as_object_mut() {
        problem.remove("requestId");
    }
    format!("{} {body}", response.status)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_route_shows_or_changes_anything_of_another_tenant() {
    let server = InProcess::start().await;
    let (_, victim) = another_tenant(&server).await;
    let records = fill(&victim).await;
    let before = all_of(&victim).await;
    let intruder = &server.client;
    for route in guarded(intruder).await.iter().filter(|route| route.path.contains("{id}")) {
        let theirs = records.iter().find(|(of, _)| of == route.subject());
        let id = match theirs {
            Some((_, record)) => record["_id"].as_str().unwrap().to_owned(),
            None => victim.get("/tokens").await.json()[0]["_id"].as_str().unwrap().to_owned(),
        };
        let nobodys = if theirs.is_some() { "0123456789abcdef01234567" } else { "zzzzzzzz" };
        for (theirs, nobodys) in [
            (id.as_str(), nobodys),
            ("extid-shared", "extid-nobody"),
            ("srcid-shared", "srcid-nobody"),
        ] {
            let body = json!({"name": "taken over"});
            let found = call(intruder, &route.method, &route.path_to(theirs), &body).await;
            let missing = call(intruder, &route.method, &route.path_to(nobodys), &body).await;
            assert_eq!(
                likeness(&found, theirs),
                likeness(&missing, nobodys),
                "{} {} {theirs}",
                route.method,
                route.path
            );
        }
    }
    for (path, record) in &records {
        let id = record["_id"].as_str().unwrap();
        for key in
            [json!({"_id": id}), json!({"externalId": "shared"}), json!({"sourceId": "shared"})]
        {
            let mut item = key;
            item["custom"] = json!({"taken": "over"});
            let json = [("content-type", "application/json")];
            let body = json!([item]).to_string();
            let response =
                intruder.send(Method::PUT, &format!("/{path}"), &json, body).await.unwrap();
            let response = response.json();
            assert_eq!(response["updated"], 0, "{path}: {response}");
        }
        let listed = intruder.get(&format!("/{path}")).await;
        assert!(!listed.text().contains(id) && !listed.text().contains("secret"), "{path}");
    }
    let company = records[0].1["_id"].as_str().unwrap();
    let rejected = intruder.post("/licenses", &json!({"companyId": company})).await;
    assert_eq!(rejected.json()["code"], "company_not_found");
    for path in ["licenses", "activities"] {
        let listed = intruder.get(&format!("/{path}?companyId={company}")).await;
        assert_eq!(listed.text(), "[]", "{path}");
    }
    assert_eq!(all_of(&victim).await, before);
}

/// Creates a company; the count at the end of its id.
async fn count_of_new(client: &Client) -> u32 {
    let made = client.post("/companies", &json!({"name": "x"})).await.json();
    u32::from_str_radix(&made["_id"].as_str().unwrap()[18..], 16).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_reveals_nothing_about_what_another_tenant_writes() {
    let clock = StillClock::at(Timestamp::parse("2026-11-20").unwrap());
    let server = InProcess::with_clock(Arc::new(clock)).await;
    let (other, writer) = another_tenant(&server).await;
    let (first, second) = (count_of_new(&server.client).await, count_of_new(&server.client).await);
    for _ in 0..20 {
        count_of_new(&writer).await;
        let event = json!({"externalId": "x", "action": "x"}).to_string();
        let path = format!("/analytics/{other}");
        server.anonymous.send(Method::POST, &path, &[], event).await.unwrap();
    }
    let third = count_of_new(&server.client).await;
    assert_eq!(third - second, second - first);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_goes_to_the_tenant_in_its_path_alone() {
    let server = InProcess::start().await;
    let (other, victim) = another_tenant(&server).await;
    for client in [&server.client, &victim] {
        fill(client).await;
    }
    let event = json!({"externalId": "shared", "action": "Peeked"});
    let path = format!("/analytics/{other}");
    let sent = server.anonymous.send(Method::POST, &path, &[], event.to_string()).await.unwrap();
    assert_eq!(sent.text(), "OK");
    assert_eq!(server.client.actions().await, [""; 0]);
    assert_eq!(victim.actions().await, ["Peeked"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_rate_limit_holds_for_its_own_tokens_and_events() {
    let server = InProcess::start().await;
    let (_, other) = another_tenant(&server).await;
    let limits = json!({"rateLimits": {"requestsPerSecond": 1, "trackingPerSecond": 1}});
    let json = [("content-type", "application/json")];
    server.client.send(Method::PUT, "/settings", &json, limits.to_string()).await.unwrap();
    let mut rejected = None;
    for _ in 0..20 {
        let response = server.client.get("/products").await;
        assert_eq!(other.get("/products").await.status, StatusCode::OK);
        rejected = rejected.or(Some(response).filter(|response| response.status == 429));
    }
    let rejected = rejected.expect("one of twenty requests is too many");
    assert_eq!(rejected.json()["code"], "too_many_requests");
    for name in ["retry-after", "ratelimit", "ratelimit-policy"] {
        assert!(rejected.headers.contains_key(name), "{name}");
    }
    let event = json!({"externalId": "x", "companyExternalId": "y"});
    let mut statuses = BTreeSet::new();
    for _ in 0..20 {
        let response = server.anonymous.track(&event).await.unwrap();
        assert!(response.headers.contains_key("access-control-allow-origin"));
        statuses.insert(response.status.as_u16());
    }
    assert_eq!(statuses, [200, 429].into());
}

//! A server that serves some of its routes: the others are not there.

use hyper::{Method, StatusCode};
use serde_json::json;
use svctrack_server::auth::Token;
use svctrack_tests::{TENANT, client::Client, process::Server, reader::sign_in};

/// The path of a route with something in the place of its parameters.
fn filled(path: &str) -> String {
    let parts = path.split('/').map(|part| match part {
        "{call}" => "track",
        "{page}" => "operations",
        "{group}" => "companies",
        part if part.starts_with('{') => TENANT,
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Whether a client finds a route.
async fn finds(client: &Client, method: &Method, path: &str) -> bool {
    let response = client.send(method.clone(), path, &[], "").await.unwrap();
    let text = String::from_utf8_lossy(&response.body);
    !(response.status == StatusCode::NOT_FOUND && text.contains("route_not_found"))
}

async fn start(routes: &str) -> (tempfile::TempDir, Token, Server) {
    let (folder, token) = (tempfile::tempdir().unwrap(), Token::generate().unwrap());
    let server = Server::start_with(folder.path(), &token, &["--routes", routes]).await;
    (folder, token, server)
}

/// Paths that are no part of the description.
const PAGES: [&str; 4] = ["/", "/app", "/sign-in", "/app/records/companies"];

#[tokio::test(flavor = "multi_thread")]
async fn each_route_is_there_where_its_part_is_served_and_nowhere_else() {
    const DOCS: &[&str] = &["docs", "openapi.json"];
    const TRACKING: &[&str] = &["analytics", "dock", "v1", "script.json"];
    let (_folder, _, whole) = start("tracking,api,pages,docs,demo").await;
    let description = whole.client.get("/openapi.json").await.json();
    let paths = description["paths"].as_object().unwrap();
    for (routes, served) in
        [("tracking", TRACKING), ("docs", DOCS), ("demo", &["demo"]), ("tracking,docs", &[])]
    {
        let (_folder, _, server) = start(routes).await;
        let client = server.client.without_token();
        for (path, operations) in paths {
            let first = path.split('/').nth(1).unwrap();
            let is_served = match served {
                [] => TRACKING.contains(&first) || DOCS.contains(&first),
                served => served.contains(&first),
            };
            for method in operations.as_object().unwrap().keys() {
                let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
                let found = finds(&client, &method, &filled(path)).await;
                assert_eq!(found, is_served || first == "health", "{routes}: {method} {path}");
            }
        }
        for path in PAGES {
            assert!(!finds(&client, &Method::GET, path).await, "{routes}: {path}");
        }
        assert!(finds(&client, &Method::GET, "/svctrack.js").await);
        server.kill().await;
    }
    whole.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_work_where_the_api_is_not_served() {
    let (folder, token, server) = start("api").await;
    let acme = json!({"name": "Acme", "externalId": "acme"});
    assert_eq!(server.client.post("/companies", &acme).await.status, StatusCode::OK);
    server.stop().await;
    let flags = ["--routes", "pages"];
    let server = Server::start_with(folder.path(), &token, &flags).await;
    let reader = sign_in(&server.client, token.reveal()).await;
    let page = reader.get("/app/records/companies").await;
    assert!(page.text().contains("Acme"), "{}", page.text());
    assert!(!finds(&server.client, &Method::GET, "/companies").await);
    server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_start_names_no_route_that_is_not_served() {
    for (routes, named) in [
        ("tracking", &["svctrack.load("][..]),
        ("api", &["Read back"]),
        ("demo,docs", &[]),
        ("tracking,demo", &["svctrack.load(", "Try it"]),
        ("pages", &["/sign-in"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (server, printed) = Server::start_first(folder.path(), &["--routes", routes]).await;
        let says = |words: &str| printed.contains(words);
        assert!(says("API token"), "{printed}");
        for words in ["svctrack.load(", "Try it", "Read back", "/sign-in"] {
            assert_eq!(says(words), named.contains(&words), "{words}: {printed}");
        }
        server.kill().await;
    }
}

//! Every route, as the description of the API has it: what is added to the route table is tried by the
//! tests that go over all routes.

use hyper::Method;
use serde_json::Value;
use svctrack_core::resources::REGISTRY;

use crate::{TENANT, client::Client};

#[derive(Clone, Debug)]
pub struct Route {
    pub method: Method,
    /// Its path, with `{id}` in the place of ids.
    pub path: String,
    /// The scopes that it needs, separated by blanks, if it needs a token.
    pub scope: Option<String>,
    /// Whether it takes a body of JSON.
    pub takes_body: bool,
    /// Whether it has parameters in the query.
    pub has_parameters: bool,
}

/// Every route that a server describes.
pub async fn routes(client: &Client) -> Vec<Route> {
    let document = client.get("/openapi.json").await.json();
    let mut routes = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            routes.push(Route {
                method: method.to_uppercase().parse().unwrap(),
                path: path.clone(),
                scope: operation["x-scope"].as_str().map(str::to_owned),
                takes_body: operation["requestBody"]["content"].get("application/json").is_some(),
                has_parameters: operation["parameters"]
                    .as_array()
                    .is_some_and(|all| all.iter().any(|parameter| parameter["in"] == "query")),
            });
        }
    }
    assert!(routes.len() > 70, "{} routes", routes.len());
    routes
}

impl Route {
    /// The path, with an id in its place, the test tenant, a pipeline and a call of it.
    pub fn path_to(&self, id: &str) -> String {
        let path = self.path.replace("{id}", id).replace("{tenant}", TENANT);
        let path = path.replace("{month}", "2024-01");
        path.replace("{pipeline}", "segment").replace("{call}", "track")
    }

    /// The first part of the path: the name of a resource, or of what else it is about.
    pub fn subject(&self) -> &str {
        let path = self.path.strip_prefix("/import").unwrap_or(&self.path);
        path[1..].split('/').next().unwrap_or_default()
    }

    /// Whether it is the bulk upsert of a resource, or its import.
    pub fn is_bulk(&self) -> bool {
        let is_import = self.path.starts_with("/import/");
        let is_upsert =
            self.method == Method::PUT && REGISTRY.iter().any(|def| self.path[1..] == *def.path);
        is_import || is_upsert
    }

    /// Whether it takes events in.
    pub fn is_tracking(&self) -> bool {
        ["analytics", "dock", "v1"].contains(&self.subject())
    }

    /// A body that is well formed, where one is taken.
    pub fn body(&self) -> Value {
        if self.is_bulk() { serde_json::json!([]) } else { serde_json::json!({}) }
    }
}

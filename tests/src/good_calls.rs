//! A call of each route that succeeds: it names something that is stored, and sends a body that is accepted. With it,
//! tests of all routes distinguish a route that works from one that rejects the call.

use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::StatusCode;
use serde_json::{Value, json};

use crate::{
    client::{Client, Response},
    description::Route,
    in_process::InProcess,
};

/// What is sent to a route.
pub struct GoodCall {
    pub path: String,
    /// The media type of its body.
    pub content_type: &'static str,
    /// Its body, empty where none is taken.
    pub body: String,
}

impl GoodCall {
    pub async fn send(&self, client: &Client, route: &Route) -> Response {
        let headers = [("content-type", self.content_type)];
        client.send(route.method.clone(), &self.path, &headers, self.body.clone()).await.unwrap()
    }
}

/// Makes calls that succeed on one server, each with names of its own.
pub struct GoodCalls<'s> {
    server: &'s InProcess,
    made: AtomicUsize,
}

impl<'s> GoodCalls<'s> {
    /// Creates the company to which all records belong.
    pub async fn prepare(server: &'s InProcess) -> Self {
        let company = json!({"name": "Acme", "externalId": "acme"});
        assert_eq!(server.client.post("/companies", &company).await.status, StatusCode::OK);
        Self { server, made: AtomicUsize::new(0) }
    }

    /// The next call of a route, on something that is created for it.
    pub async fn next(&self, route: &Route) -> GoodCall {
        let id = if route.path.contains("{id}") {
            self.make(route.subject()).await
        } else {
            String::new()
        };
        if route.path.contains("{month}") {
            let closed = self.server.client.post("/reports/closings", &closing()).await;
            assert_eq!(closed.status, StatusCode::OK, "{}", closed.text());
        }
        let (content_type, body) = self.body_of(route);
        let mut path = route.path_to(&id);
        if (route.method.as_str(), &*route.path) == ("DELETE", "/reports/closings/{month}") {
            path.push_str("?reason=correction");
        }
        GoodCall { path, content_type, body }
    }

    /// Creates something that a route is about; its id.
    async fn make(&self, subject: &str) -> String {
        let (client, operator) = (&self.server.client, &self.server.operator);
        let made = match subject {
            "tenants" => operator.post("/tenants", &json!({"name": "Other"})).await,
            "tokens" => client.post("/tokens", &self.record("tokens")).await,
            "integrationissues" => {
                let event =
                    json!({"externalId": "7", "companyExternalId": self.name(), "action": "Login"});
                self.server.anonymous.track(&event).await.unwrap();
                client.get("/integrationissues").await
            }
            path => client.post(&format!("/{path}"), &self.record(path)).await,
        };
        assert_eq!(made.status, StatusCode::OK, "{subject}: {}", made.text());
        let made = made.json();
        made.get(0).unwrap_or(&made)["_id"].as_str().unwrap().to_owned()
    }

    fn name(&self) -> String {
        format!("n{}", self.made.fetch_add(1, Ordering::Relaxed))
    }

    /// What is sent to create a record, a token or a tenant.
    fn record(&self, path: &str) -> Value {
        let name = self.name();
        match path {
            "companies" | "tenants" => json!({"name": name}),
            "tokens" => json!({"label": name, "scopes": ["admin"]}),
            "licenses" => json!({
                "sourceId": name, "companyId": "extid-acme", "_currency": "EUR", "mrr": 1, "fixedPeriod": true,
                "fromDate": "2026-01-01", "length": 1,
            }),
            _ => json!({
                "name": name, "sourceId": name, "email": format!("{name}@acme.example"), "companyId": "extid-acme",
                "date": "2026-01-01", "hours": 1,
            }),
        }
    }

    fn body_of(&self, route: &Route) -> (&'static str, String) {
        const JSON: &str = "application/json";
        let event = || json!({"externalId": "7", "companyExternalId": "acme", "action": "Login"});
        let call = || json!({"type": "track", "userId": "7", "event": "Login"});
        let body = match (route.path.as_str(), route.subject()) {
            (path, _) if path.starts_with("/import/") => {
                let key = if path.ends_with("/tickets") { "sourceId" } else { "externalId" };
                return ("text/csv", format!("{key}\n{}\n", self.name()));
            }
            _ if !route.takes_body => return (JSON, String::new()),
            ("/analytics/bulk/{tenant}", _) => {
                json!([{"euExtId": "7", "cId": "acme", "action": "Login"}])
            }
            (_, "analytics") => event(),
            ("/v1/batch" | "/dock/{pipeline}/v1/batch", _) => json!({"batch": [call()]}),
            (_, "dock" | "v1") => call(),
            ("/endusers/unsuppress", _) => json!({"email": "ada@acme.example"}),
            ("/licenses/{id}/lose", _) => json!({"lostReason": "price"}),
            ("/tokens/{id}/rotate" | "/licenses/{id}/renew", _) | (_, "settings") => json!({}),
            ("/reports/closings", _) => closing(),
            (_, subject) if route.is_bulk() => json!([self.record(subject)]),
            (_, subject) => self.record(subject),
        };
        (JSON, body.to_string())
    }
}

/// What is sent to close the month of the paths.
fn closing() -> Value {
    json!({"month": "2024-01"})
}

//! Pages and forms with ids of another tenant: they respond as to ids that nobody has, and change nothing.

use hyper::StatusCode;
use serde_json::json;
use svctrack_core::resources::REGISTRY;
use svctrack_tests::{
    client::{Client, Response},
    in_process::InProcess,
    reader::Reader,
};

use crate::{
    access::{all_of, another_tenant, fill},
    pages::{sign_in, token},
};

/// An id that no record has, and a token's that nobody has.
const NOBODYS: (&str, &str) = ("0123456789abcdef01234567", "zzzzzzzz");

/// Pages of a record, by its resource.
fn pages_of(resource: &str) -> Vec<String> {
    let mut pages = vec![
        format!("/app/records/{resource}/{{id}}"),
        format!("/app/records/{resource}/{{id}}/edit"),
    ];
    let more: &[&str] = match resource {
        "licenses" => &["/app/licenses/{id}/renew", "/app/licenses/{id}/lose"],
        "tickets" => &["/app/tickets/{id}"],
        "endusers" => &["/app/files/endusers/{id}/export", "/app/live?endUserId={id}"],
        "companies" => &[
            "/app/live?companyId={id}",
            "/app/reports/mrr?companyId={id}",
            "/app/reports/usage?companyId={id}",
            "/app/records/licenses?companyId={id}",
        ],
        _ => &[],
    };
    pages.extend(more.iter().map(|page| (*page).to_owned()));
    pages
}

/// Forms that change a record, by its resource, each with what it sends.
fn forms_of(resource: &str) -> Vec<(String, Vec<(&'static str, &'static str)>)> {
    let with = |path: &str| path.replace("{resource}", resource);
    let mut forms = vec![
        (with("/app/records/{resource}/{id}/edit"), vec![("name", "taken over")]),
        (with("/app/records/{resource}/{id}/delete"), vec![]),
    ];
    let more: &[(&str, &[(&str, &str)])] = match resource {
        "licenses" => &[
            ("/app/licenses/{id}/renew", &[("step", "do")]),
            ("/app/licenses/{id}/lose", &[("step", "do"), ("lostReason", "taken over")]),
        ],
        "tickets" => &[("/app/tickets/{id}", &[("status", "closed")])],
        "endusers" => {
            &[("/app/records/endusers/{id}/erase", &[("confirmation", "eve@secret.example")])]
        }
        "timesheets" => &[("/app/timesheets", &[("sheet", "{id}"), ("status", "approved")])],
        _ => &[],
    };
    forms.extend(more.iter().map(|(path, pairs)| ((*path).to_owned(), pairs.to_vec())));
    forms
}

/// A response without the id that it was requested with, and without its own.
fn likeness(response: &Response, id: &str) -> (StatusCode, Option<String>, String) {
    let anonymous = |text: &str| text.replace(id, "<id>");
    let location = response.headers.get("location").map(|to| anonymous(to.to_str().unwrap()));
    let text = anonymous(response.text());
    let (before, after) = text.split_once("Request <code>").unwrap_or((&text, ""));
    let after = after.split_once("</code>").map_or("", |(_, after)| after);
    (response.status, location, format!("{before}{after}"))
}

/// Whether a response to an id of another tenant is that to an id of nobody.
async fn check_page(reader: &Reader<'_>, page: &str, theirs: &str, nobodys: &str) {
    let found = reader.get(&page.replace("{id}", theirs)).await;
    let missing = reader.get(&page.replace("{id}", nobodys)).await;
    assert!(!found.text().contains("secret"), "{page}: {}", found.text());
    assert_eq!(likeness(&found, theirs), likeness(&missing, nobodys), "{page}");
}

async fn check_form(
    reader: &Reader<'_>,
    form: &(String, Vec<(&str, &str)>),
    theirs: &str,
    nobodys: &str,
) {
    let (path, pairs) = form;
    let send = async |id: &str| {
        let pairs: Vec<_> =
            pairs.iter().map(|(name, text)| (*name, text.replace("{id}", id))).collect();
        let pairs: Vec<_> = pairs.iter().map(|(name, text)| (*name, text.as_str())).collect();
        reader.submit(&path.replace("{id}", id), &pairs).await
    };
    let (found, missing) = (send(theirs).await, send(nobodys).await);
    assert!(!found.text().contains("secret"), "{path}: {}", found.text());
    assert_eq!(likeness(&found, theirs), likeness(&missing, nobodys), "{path}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_and_forms_with_ids_of_another_tenant_are_those_of_ids_that_nobody_has() {
    let server = InProcess::start().await;
    let (_, victim) = another_tenant(&server).await;
    let records = fill(&victim).await;
    let before = all_of(&victim).await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    for (resource, record) in &records {
        let theirs = record["_id"].as_str().unwrap();
        for page in pages_of(resource) {
            check_page(&reader, &page, theirs, NOBODYS.0).await;
        }
        for form in forms_of(resource) {
            check_form(&reader, &form, theirs, NOBODYS.0).await;
        }
    }
    assert_eq!(records.len(), REGISTRY.len());
    check_tokens(&reader, &victim).await;
    check_references(&server, &reader, &records[0].1).await;
    assert_eq!(all_of(&victim).await, before);
}

/// Pages and forms of a token.
async fn check_tokens(reader: &Reader<'_>, victim: &Client) {
    let token = victim.get("/tokens").await.json()[0]["_id"].as_str().unwrap().to_owned();
    check_page(reader, "/app/tokens/{id}", &token, NOBODYS.1).await;
    for path in ["/app/tokens/{id}/rotate", "/app/tokens/{id}/revoke"] {
        check_form(reader, &(path.to_owned(), Vec::new()), &token, NOBODYS.1).await;
    }
}

/// Forms and suggestions that refer to a company, and the pages of tenants, which are an operator's.
async fn check_references(server: &InProcess, reader: &Reader<'_>, company: &serde_json::Value) {
    let theirs = company["_id"].as_str().unwrap();
    let with = [("companyId", theirs), ("_currency", "EUR"), ("externalId", "own")];
    let rejected = reader.submit("/app/records/licenses/new", &with).await;
    assert_eq!(rejected.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", rejected.text());
    assert_eq!(server.client.get("/licenses").await.json(), json!([]));
    for path in ["/app/suggestions/companies?q=secret", "/app/search?q=secret.example"] {
        let found = reader.get(path).await;
        assert_eq!(found.status, StatusCode::OK, "{path}");
        assert!(!found.text().contains(theirs), "{path}: {}", found.text());
    }
    for path in ["rename", "suspend", "delete"] {
        let path = format!("/app/tenants/{}/{path}", svctrack_tests::TENANT);
        assert_eq!(reader.submit(&path, &[]).await.status, StatusCode::FORBIDDEN, "{path}");
    }
}

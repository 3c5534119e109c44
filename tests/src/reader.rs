//! A user who reads the pages with a browser that runs no script.

use hyper::{Method, StatusCode};

use crate::client::{Client, Response};

pub const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
pub const OWN_PAGE: (&str, &str) = ("sec-fetch-site", "same-origin");

/// A user with a browser.
pub struct Reader<'s> {
    client: &'s Client,
    pub cookie: String,
}

impl<'s> Reader<'s> {
    /// A user with the cookie of a session.
    pub fn signed_in(client: &'s Client, cookie: &str) -> Self {
        Self { client, cookie: cookie.to_owned() }
    }

    pub async fn get(&self, path: &str) -> Response {
        let headers = [("cookie", self.cookie.as_str())];
        self.client.send(Method::GET, path, &headers, "").await.unwrap()
    }

    /// Sends a form as a page of this server does.
    pub async fn send(&self, path: &str, pairs: &[(&str, &str)]) -> Response {
        let headers = [("cookie", self.cookie.as_str()), FORM, OWN_PAGE];
        self.client.send(Method::POST, path, &headers, encoded(pairs)).await.unwrap()
    }

    /// Sends a form with what shows that it comes from a page of the session.
    pub async fn submit(&self, path: &str, pairs: &[(&str, &str)]) -> Response {
        let csrf = csrf_in(self.get("/").await.text());
        self.send(path, &[pairs, &[("csrf", &csrf)]].concat()).await
    }
}

/// Pairs as a form sends them.
#[must_use]
pub fn encoded(pairs: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// The text in a page that shows that a form comes from it.
#[must_use]
pub fn csrf_in(html: &str) -> String {
    attribute(html, "name=\"csrf\" value").next().unwrap().to_owned()
}

/// The values of an attribute.
pub fn attribute<'h>(html: &'h str, name: &str) -> impl Iterator<Item = &'h str> {
    let begin = format!("{name}=\"");
    html.match_indices(&begin)
        .map(|(at, found)| &html[at + found.len()..])
        .filter_map(|rest| rest.split('"').next())
        .collect::<Vec<_>>()
        .into_iter()
}

pub async fn sign_in<'s>(client: &'s Client, token: &str) -> Reader<'s> {
    let body = encoded(&[("token", token)]);
    let response = client.send(Method::POST, "/sign-in", &[FORM, OWN_PAGE], body).await.unwrap();
    assert_eq!(response.status, StatusCode::SEE_OTHER, "{}", response.text());
    let cookie = response.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    Reader::signed_in(client, cookie.split(';').next().unwrap())
}

//! The handlers, one file a group of routes. Each reads its request at the edge, asks the store, and
//! answers; no rule lives here.

pub(crate) mod activities;
pub(crate) mod activity_stream;
pub(crate) mod backup;
pub(crate) mod calls;
mod conditions;
pub(crate) mod files;
pub(crate) mod health;
pub(crate) mod import;
pub(crate) mod integration_issues;
pub(crate) mod lean_companies;
mod lists;
mod once;
pub(crate) mod pages;
pub(crate) mod people;
pub(crate) mod records;
mod rows;
pub(crate) mod settings;
mod strict;
pub(crate) mod tenants;
pub(crate) mod tokens;
pub(crate) mod tracking;

use crate::{
    compression::Secret,
    error::Error,
    limits::{MAX_IGNORED_BYTES, MAX_IGNORED_NAME_BYTES, MAX_IGNORED_NAMES},
};
use poem::{
    Body, Request, Response,
    http::{HeaderName, HeaderValue, header},
};
use svctrack_core::{
    schema::Unknown,
    value::{Issue, issue::quoted},
};

/// What cannot stand for itself in a list of names in a header.
const ENCODED_IN_NAMES: &percent_encoding::AsciiSet =
    &percent_encoding::CONTROLS.add(b' ').add(b'"').add(b'%').add(b',');

const IGNORED: HeaderName = HeaderName::from_static("svctrack-ignored");

/// The pairs of the query, decoded.
fn query_pairs(request: &Request) -> Vec<(String, String)> {
    let query = request.uri().query().unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

/// Whether the only parameter that a delete takes is `true`; it is not where it is absent. Another one may be it, misspelt,
/// after which a part of what is to go could no longer be found.
///
/// # Errors
/// [`Error::BadRequest`] for another parameter, and for a value that is neither `true` nor `false`.
fn only_flag(request: &Request, flag: &str) -> Result<bool, Error> {
    let mut is_set = false;
    for (name, value) in query_pairs(request) {
        is_set = match value.as_str() {
            _ if name != flag => {
                return Err(Error::BadRequest(vec![Unknown::among(&name, [flag]).issue()]));
            }
            "true" => true,
            "false" => false,
            other => {
                let message =
                    format!("`{flag}` must be `true` or `false`; found {}", quoted(other));
                return Err(Error::BadRequest(vec![Issue::of_member(
                    flag,
                    "invalid_value",
                    message,
                )]));
            }
        };
    }
    Ok(is_set)
}

/// A JSON answer; what it says belongs to one caller, so nobody keeps it.
fn json(text: String) -> Response {
    json_body(text.into())
}

fn json_body(body: Body) -> Response {
    Response::builder()
        .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
        .header(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))
        .body(body)
}

/// A response that holds a secret: how well it can be compressed may tell it to who sees how long it is.
fn uncompressed(mut response: Response) -> Response {
    response.extensions_mut().insert(Secret);
    response
}

/// Names what was sent and not known, so that it does not vanish without a trace (R6).
fn name_ignored(response: &mut Response, ignored: &[String]) {
    if ignored.is_empty() {
        return;
    }
    let mut text = String::new();
    for (index, name) in ignored.iter().enumerate() {
        let name = encoded_start(name);
        let separator = if index == 0 { "" } else { ", " };
        if index == MAX_IGNORED_NAMES
            || text.len() + separator.len() + name.len() > MAX_IGNORED_BYTES
        {
            text.push_str(", ...");
            break;
        }
        text.push_str(separator);
        text.push_str(&name);
    }
    if let Ok(value) = HeaderValue::try_from(text) {
        response.headers_mut().insert(IGNORED, value);
    }
}

/// The percent-encoded beginning of a name, cut between two characters.
fn encoded_start(name: &str) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4];
    for char in name.chars() {
        let char =
            percent_encoding::utf8_percent_encode(char.encode_utf8(&mut buffer), ENCODED_IN_NAMES)
                .to_string();
        if text.len() + char.len() > MAX_IGNORED_NAME_BYTES {
            break;
        }
        text.push_str(&char);
    }
    text
}

/// A part of the path, percent-decoded once; none when it is not UTF-8.
fn path_part<'r>(request: &'r Request, name: &str) -> Option<&'r str> {
    request.raw_path_param(name)
}

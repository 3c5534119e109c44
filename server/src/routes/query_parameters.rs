//! The query parameters of a request: all pairs, the only one that a route takes, and those that no handler reads (R6).

use poem::Request;
use svctrack_core::{
    schema::{UnknownParameter, sent_twice, unread_query},
    value::{ValidationError, quoted::quoted},
};

use super::strict::Strictness;
use crate::error::Error;

/// The pairs of the query, decoded.
pub(crate) fn query_pairs(request: &Request) -> Vec<(String, String)> {
    let query = request.uri().query().unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

/// The names in the query of a request to a route that has no parameters, for the header (R6).
///
/// # Errors
/// [`Error::BadRequest`], as [`unread_query`].
pub(crate) fn unread_names(request: &Request) -> Result<Vec<String>, Error> {
    let (is_write, handling) =
        (!request.method().is_safe(), Strictness::from_request(request).handling());
    unread_query(&query_pairs(request), is_write, handling).map_err(Error::BadRequest)
}

/// The value of the only parameter that a route takes, where it was sent. Another name is an error, since it may be a
/// misspelled one.
///
/// # Errors
/// [`Error::BadRequest`] for another parameter, or one that is sent twice.
pub(super) fn only_parameter(request: &Request, known: &str) -> Result<Option<String>, Error> {
    let mut sent = None;
    for (name, value) in query_pairs(request) {
        if name != known {
            return Err(Error::BadRequest(vec![UnknownParameter::among(&name, [known]).issue()]));
        }
        if sent.replace(value).is_some() {
            return Err(Error::BadRequest(vec![sent_twice(known)]));
        }
    }
    Ok(sent)
}

/// Whether the only parameter that a delete takes is `true`; it is not where it is absent. With another one in its place, a
/// part of what is to go could no longer be found.
///
/// # Errors
/// [`Error::BadRequest`] as [`only_parameter`], and for a value that is neither `true` nor `false`.
pub(super) fn only_flag(request: &Request, flag: &str) -> Result<bool, Error> {
    let sent = only_parameter(request, flag)?;
    match sent.as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => {
            let message = format!("`{flag}` must be `true` or `false`; found {}", quoted(other));
            Err(Error::BadRequest(vec![ValidationError::of_member(flag, "invalid_value", message)]))
        }
    }
}

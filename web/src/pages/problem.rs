//! The page of a request that failed.

use hypertext::prelude::*;

use super::{
    page,
    shell::{Shell, document, layout},
};
use crate::page::Page;

/// Says what went wrong; within the application for who is signed in.
pub fn problem_page(shell: Option<&Shell>, title: &str, detail: &str, request_id: &str) -> Page {
    let told = maud! {
        h1 { (title) }
        p { (detail) }
        p.muted { "Request " code { (request_id) } }
        p { a href="/" { "Go to the start page" } }
    };
    match shell {
        Some(shell) => page(layout(shell, title, told)),
        None => page(document(title, maud! { body.alone { main { (told) } } })),
    }
}

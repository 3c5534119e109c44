//! The page of a request that failed.

use hypertext::prelude::*;

use super::{
    page,
    shell::{Shell, document, layout},
};
use crate::page::Page;

/// Page of an error; with the frame of the application for a signed-in user.
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

//! Demo: a tenant of its own with two years of an invented company.

use hypertext::prelude::*;
use svctrack_core::value::counted;

use super::{
    format::grouped,
    page,
    shell::{Shell, csrf, layout, title_bar},
};
use crate::page::Page;

/// Progress of the demo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DemoState {
    /// No demo was requested, or it was deleted.
    #[default]
    None,
    /// The demo has a number of records and events, and more to come.
    Filling(usize),
    /// All data of the demo is stored.
    There,
    /// The demo could not be filled, and why.
    Incomplete(String),
}

/// The page of the demo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DemoView {
    pub state: DemoState,
    /// Whether the signed-in user is in the demo itself.
    pub is_inside: bool,
    /// Number of customers of the invented company.
    pub customers: usize,
}

pub fn demo_page(shell: &Shell, view: &DemoView) -> Page {
    let main = maud! {
        (title_bar("Demo", ""))
        p {
            "Two years of data of an invented company with " (view.customers) " customers, in a separate tenant: every page has "
            "data to show, and your data is not changed."
        }
        @match &view.state {
            DemoState::None => (button(shell, "/app/demo", "Create the demo", true)),
            DemoState::Filling(stored) => {
                p role="status" {
                    @if *stored > 0 {
                        strong { (counted(grouped(&stored.to_string()), "record")) } " stored, events included. "
                    }
                    "The demo is being filled. This page updates when it is complete."
                }
            }
            DemoState::There => (there(shell, view)),
            DemoState::Incomplete(cause) => {
                div.problems role="alert" tabindex="-1" {
                    p { strong { "The demo is incomplete." } }
                    p { (cause) }
                }
                (deletion(shell))
            }
        }
    };
    page(layout(shell, "Demo", main))
}

fn there<'v>(shell: &'v Shell, view: &'v DemoView) -> impl Renderable + 'v {
    maud! {
        @if view.is_inside {
            p { "You are signed in to the demo." }
        } @else {
            p { "The demo is ready. Opening it signs you in to its tenant; its page \"Demo\" takes you back." }
        }
        div.actions {
            @if view.is_inside {
                (button(shell, "/app/demo/leave", "Leave the demo", true))
            } @else {
                (button(shell, "/app/demo/open", "Open the demo", true))
            }
        }
        (deletion(shell))
    }
}

/// Deletion of the demo, in one click: another one can be created.
fn deletion(shell: &Shell) -> impl Renderable {
    maud! {
        section {
            p.muted { "The tenant of the demo is deleted with all its data and tokens; everybody in it is signed out." }
            (button(shell, "/app/demo/delete", "Delete the demo", false))
        }
    }
}

fn button<'v>(
    shell: &'v Shell,
    action: &'v str,
    label: &'v str,
    is_main: bool,
) -> impl Renderable + 'v {
    maud! {
        form method="post" action=(action) {
            (csrf(shell))
            button type="submit" class=(if is_main { "main" } else { "bad" }) { (label) }
        }
    }
}

//! Sign-in: with an API token, or by the link that the first start prints.

use hypertext::prelude::*;

use super::{page, shell::document};
use crate::page::Page;

/// Contents of the sign-in page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignInView {
    /// Address to show after signing in.
    pub next: String,
    /// Reason for which the sign-in failed.
    pub problem: Option<String>,
    /// The secret of a link that signs in once.
    pub once: Option<String>,
}

pub fn sign_in_page(view: &SignInView) -> Page {
    let main = maud! {
        body.alone {
            main {
                h1 { "svctrack" }
                @if let Some(problem) = &view.problem { p.problems role="alert" { (problem) } }
                @match &view.once {
                    Some(once) => {
                        p { "This link works once." }
                        form method="post" action="/sign-in" {
                            input type="hidden" name="once" value=(once);
                            button.main type="submit" { "Sign in" }
                        }
                    }
                    None => {
                        form.stack method="post" action="/sign-in" {
                            input type="hidden" name="next" value=(view.next);
                            label for="token" { "API token" }
                            input #token type="password" name="token" required autocomplete="current-password"
                                spellcheck="false" autocapitalize="off" aria-describedby="token-help";
                            p #token-help .muted {
                                "A token begins with " code { "svt_" } ". The first start printed one; "
                                code { "svctrack token create" } " issues a new one."
                            }
                            button.main type="submit" { "Sign in" }
                        }
                    }
                }
                p.muted { a href="/docs" { "Documentation" } }
            }
        }
    };
    page(document("Sign in", main))
}

//! Licenses that figures leave out: how many, why, and what to do about it.

use hypertext::prelude::*;
use svctrack_core::value::counted;

use super::shell::Shell;

/// The licenses that MRR leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExcludedTotal {
    pub licenses: usize,
    /// How many for which reason, as text.
    pub reasons: String,
    pub path: String,
}

/// Sentence on licenses that count in no report.
pub(super) fn excluded_note<'v>(
    shell: &'v Shell,
    excluded: &'v ExcludedTotal,
) -> impl Renderable + 'v {
    maud! {
        p.hint {
            (shell.link("licenses", &excluded.path, counted(excluded.licenses, "license")))
            @if excluded.licenses == 1 { " is" } @else { " are" }
            " excluded from the reports: " (excluded.reasons) "."
        }
    }
}

/// Licenses that are not up for renewal though they end, and what to do about it.
pub(super) fn not_fixed<'v>(shell: &'v Shell, licenses: &'v ExcludedTotal) -> impl Renderable + 'v {
    maud! {
        p.muted {
            (shell.link("licenses", &licenses.path, counted(licenses.licenses, "ongoing license")))
            " without a fixed period ended, or will end: set " em { "Fixed period" }
            " to renew, or mark as lost."
        }
    }
}

/// Licenses that never end though their period is fixed, and what to do about it.
pub(super) fn endless<'v>(shell: &'v Shell, licenses: &'v ExcludedTotal) -> impl Renderable + 'v {
    maud! {
        p.muted {
            (shell.link("licenses", &licenses.path, counted(licenses.licenses, "ongoing license")))
            " with a fixed period, but without an end: set " em { "To date" } " or " em { "Length" }
            " for a renewal date."
        }
    }
}

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

/// Sentence on licenses that count in no figure.
pub(super) fn excluded_note<'v>(
    shell: &'v Shell,
    excluded: &'v ExcludedTotal,
) -> impl Renderable + 'v {
    excluded_from("MRR and renewals", shell, excluded)
}

/// Sentence on licenses of a company that count in no report, though its record adds them up.
pub(super) fn excluded_from_reports<'v>(
    shell: &'v Shell,
    excluded: &'v ExcludedTotal,
) -> impl Renderable + 'v {
    excluded_from("the reports", shell, excluded)
}

fn excluded_from<'v>(
    what: &'v str,
    shell: &'v Shell,
    excluded: &'v ExcludedTotal,
) -> impl Renderable + 'v {
    maud! {
        p.hint {
            (shell.link("licenses", &excluded.path, counted(excluded.licenses, "license")))
            @if excluded.licenses == 1 { " is" } @else { " are" }
            " excluded from " (what) ": " (excluded.reasons) "."
        }
    }
}

/// Licenses that are not up for renewal though they end, and what to do about it.
pub(super) fn not_fixed<'v>(shell: &'v Shell, licenses: &'v ExcludedTotal) -> impl Renderable + 'v {
    maud! {
        p.muted {
            (shell.link("licenses", &licenses.path, counted(licenses.licenses, "ongoing license")))
            " without a fixed period ended, or will end: set " code { "fixedPeriod" }
            " to renew, or mark as lost."
        }
    }
}

/// Licenses that never end though their period is fixed, and what to do about it.
pub(super) fn endless<'v>(shell: &'v Shell, licenses: &'v ExcludedTotal) -> impl Renderable + 'v {
    maud! {
        p.muted {
            (shell.link("licenses", &licenses.path, counted(licenses.licenses, "ongoing license")))
            " with a fixed period, but without an end: set " code { "toDate" } " or " code { "length" }
            " to see when they renew."
        }
    }
}

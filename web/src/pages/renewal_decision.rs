//! The page that renews a license or marks it as lost, which first previews the result.

use hypertext::prelude::*;
use serde_json::{Map, Value};
use svctrack_core::{
    resources::{
        license::{
            COMPANY_NAME, CURRENCY, FROM_DATE, LICENSE, MRR, PARENT, RENEWAL_DATE, RENEWAL_STATUS,
            TO_DATE,
        },
        settings::BaseCurrency,
    },
    schema::{FieldDef, FieldKind},
    value::{Timestamp, Zone, counted},
};

use super::{
    address::address,
    format::{cents, day_in, day_text, label_of},
    page_with_form,
    parts::{Problem, problems, scroll},
    record::text,
    record_cells::text_in,
    record_form::{FormValues, checks, input, shown},
    shell::{Shell, csrf, hidden, layout, record_address},
};
use crate::page::Page;

/// Page of the renewals.
const RENEWALS: &str = "/app/renewals";

/// Decision on a license.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decision {
    #[default]
    Renew,
    Lose,
}

impl Decision {
    /// Last part of the paths of the page and of the API route.
    pub fn path(self) -> &'static str {
        match self {
            Self::Renew => "renew",
            Self::Lose => "lose",
        }
    }

    /// What the decision did, where this is the license that it led to.
    pub fn notice(self, license: &Map<String, Value>, zone: Zone) -> Option<String> {
        let day = |name| day_in(zone, text(license, name));
        let what = match self {
            Self::Renew if !text(license, PARENT.name).is_empty() => {
                let mrr = license.get(MRR.name).and_then(Value::as_f64).unwrap_or_default();
                let mrr = format!("{} {}", text(license, CURRENCY.name), cents(mrr));
                let (from, to) = (day(FROM_DATE.name), day(TO_DATE.name));
                format!("renewed from {from} to {to}, {} a month", mrr.trim())
            }
            Self::Lose if text(license, RENEWAL_STATUS.name) == "lost" => {
                format!("marked as lost, with {} as its end", day(TO_DATE.name))
            }
            _ => return None,
        };
        Some(format!("{}, {}: {what}.", text(license, COMPANY_NAME.name), product(license)))
    }

    /// The properties that the form asks for.
    fn asked(self) -> &'static [&'static str] {
        match self {
            Self::Renew => &["fromDate", "length", "mrr"],
            Self::Lose => &["lostReason", "toDate"],
        }
    }

    /// Those of them that it needs.
    fn required(self) -> &'static [&'static str] {
        match self {
            Self::Renew => &[],
            Self::Lose => &["lostReason"],
        }
    }

    /// The properties that are compared.
    fn compared(self) -> &'static [&'static str] {
        match self {
            Self::Renew => &[
                "product",
                "fromDate",
                "toDate",
                "length",
                "mrr",
                "arr",
                "value",
                "autoRenews",
                "noticePeriod",
            ],
            Self::Lose => &["renewalStatus", "fromDate", "toDate", "mrr", "autoRenews"],
        }
    }
}

/// A decision on a license, with its result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecisionView {
    pub decision: Decision,
    pub license: Map<String, Value>,
    /// Version of the license, as its `ETag`.
    pub version: String,
    /// License that is created, or this one after the loss; none where that is not possible.
    pub shown: Option<Map<String, Value>>,
    /// Terms of the preview `shown`, as text: the form sends them back.
    pub previewed: String,
    /// Whether a decision became a preview, since its terms differ from those of the last one.
    pub is_changed: bool,
    /// Terms that the form is filled with.
    pub terms: Map<String, Value>,
    /// Values that were filled in, by property.
    pub sent: Vec<(String, String)>,
    pub problems: Vec<Problem>,
}

/// The page of a decision on a license.
pub fn decision_page(shell: &Shell, view: &DecisionView) -> Page {
    let title = match view.decision {
        Decision::Renew => "Renew a license",
        Decision::Lose => "Mark a license as lost",
    };
    let (license, id) = (&view.license, text(&view.license, "_id"));
    let back = &page_after(shell, id);
    let main = maud! {
        p.crumbs { a href=(back) { @if back == RENEWALS { "Renewals" } @else { "License" } } }
        h1 { (title) }
        p {
            (shell.record_link("companies", text(license, "companyId"), text(license, "companyName")))
            ", " (shell.record_link("licenses", id, product(license)))
        }
        @if let Some(shown) = &view.shown {
            (problems(&view.problems))
            @if view.is_changed {
                p.notice role="status" {
                    "Nothing is stored yet: you changed the terms. This is what they lead to."
                }
            }
            (scroll(title, comparison(view, shown)))
            @if let Some(warning) = distance_of_next(view, shown) { p.hint { (warning) } }
            (form(shell, view, back))
        } @else {
            (obstacle(&view.problems, back))
        }
    };
    page_with_form(layout(shell, title, main))
}

/// The page after a decision on a license: the renewals, where the token may see them, or else the license.
pub fn page_after(shell: &Shell, license: &str) -> String {
    if shell.has(RENEWALS) { RENEWALS.to_owned() } else { record_address("licenses", license) }
}

fn product(license: &Map<String, Value>) -> &str {
    match text(license, "product") {
        "" => "License",
        product => product,
    }
}

/// Reason for which no decision is possible.
fn obstacle<'v>(found: &'v [Problem], back: &'v str) -> impl Renderable + 'v {
    maud! {
        div.problems role="alert" tabindex="-1" {
            p { strong { "This license cannot be renewed or lost." } }
            ul { @for problem in found { li { (problem.message) } } }
        }
        p { a.button href=(back) { "Back" } }
    }
}

/// How far the next license is from the end of this one; none where it follows without a gap.
fn distance_of_next(view: &DecisionView, shown: &Map<String, Value>) -> Option<String> {
    let day = |record, name| Some(Timestamp::parse(&day_text(text(record, name)))?.epoch_days());
    let begins = day(shown, FROM_DATE.name).filter(|_| view.decision == Decision::Renew)?;
    let days = begins - day(&view.license, RENEWAL_DATE.name)?;
    let apart = counted(days.abs(), "day");
    match days {
        0 => None,
        ..0 => Some(format!("The next license starts {apart} before this one ends.")),
        _ => Some(format!("The next license starts {apart} after this one ends.")),
    }
}

fn comparison<'v>(view: &'v DecisionView, shown: &'v Map<String, Value>) -> impl Renderable + 'v {
    let after = match view.decision {
        Decision::Renew => "Next license",
        Decision::Lose => "Lost",
    };
    let names = view.decision.compared().iter();
    let fields: Vec<&'static FieldDef> = names.filter_map(|name| LICENSE.field(name)).collect();
    maud! {
        table.comparison {
            caption.hidden-label { "Before and after" }
            thead {
                tr {
                    th scope="col" { "Property" }
                    th scope="col" { "Now" }
                    th scope="col" { (after) }
                }
            }
            tbody {
                @for field in &fields { (compared(field, &view.license, shown)) }
            }
        }
    }
}

fn compared(
    field: &'static FieldDef,
    now: &Map<String, Value>,
    after: &Map<String, Value>,
) -> impl Renderable {
    let value = |record: &Map<String, Value>| text_in(field, record, &BaseCurrency::default());
    let (now, after) = (value(now), value(after));
    let (is_changed, is_shown) = (now != after, !(now.is_empty() && after.is_empty()));
    let whole = matches!(field.kind, FieldKind::Date | FieldKind::Number).then_some("nowrap");
    maud! {
        @if is_shown {
            tr {
                th scope="row" {
                    (label_of(field.name))
                    @if let Some(unit) = field.unit { span.muted { " (" (unit) ")" } }
                }
                td class=[whole] { (now) }
                td class=[whole] { @if is_changed { strong { (after) } } @else { (after) } }
            }
        }
    }
}

fn form<'v>(shell: &'v Shell, view: &'v DecisionView, back: &'v str) -> impl Renderable + 'v {
    let (id, verb) = (text(&view.license, "_id"), view.decision.path());
    let action = address("/app/licenses/{}/{}", &[id, verb], &[]);
    let fields: Vec<&'static FieldDef> =
        view.decision.asked().iter().filter_map(|name| LICENSE.field(name)).collect();
    let filled = FormValues {
        record: &view.terms,
        sent: &view.sent,
        problems: &view.problems,
        references: None,
        required: view.decision.required(),
        left_out: &[],
    };
    maud! {
        form.record method="post" action=(action) data-check=(LICENSE.path) {
            (csrf(shell))
            (hidden("shown", &shown(&LICENSE, &view.terms)))
            (hidden("version", &view.version))
            (hidden("previewed", &view.previewed))
            @for field in &fields { (input(filled, field)) }
            div.actions {
                button type="submit" name="step" value="show" { "Update preview" }
                button.main type="submit" name="step" value="do" {
                    @match view.decision { Decision::Renew => "Renew", Decision::Lose => "Mark as lost" }
                }
                a.button href=(back) { "Cancel" }
            }
        }
        (checks())
    }
}

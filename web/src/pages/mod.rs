//! The pages of the web application: each a pure function from a plain struct, which the server fills, to HTML. No page
//! knows a store, a request or a clock.
//!
//! The macro of `hypertext` escapes every value, and checks the names of elements and attributes when it is compiled.
//! Addresses are written by [`address`] alone, so that no stored text becomes one.

mod address;
mod closings;
mod customers;
mod format;
mod home;
mod import;
mod parts;
mod problem;
mod record;
mod records;
mod renewals;
mod report;
mod shell;
mod sign_in;
mod tickets;
mod timesheets;

use hypertext::prelude::*;

pub use self::{
    address::address,
    closings::{ClosedLine, ClosingLine, ClosingsView, closings_page},
    customers::{CustomerLine, CustomersView, customers_page},
    format::{label_of, money},
    home::{Figure, HomeView, RenewalsAhead, home_page},
    import::{ImportColumn, ImportSummary, ImportView, ImportedRow, Refusal, import_page},
    parts::{Paging, Problem},
    problem::problem_page,
    record::{RecordView, RelatedList, filled, record_form, record_page},
    records::{RecordsView, records_page},
    renewals::{
        Decision, DecisionView, RenewalGroup, RenewalLine, RenewalsView, decision_page,
        renewals_page,
    },
    report::{Choice, ReportView, report_page},
    shell::{Section, Shell},
    sign_in::{SignInView, sign_in_page},
    tickets::{TicketView, TicketsView, ticket_page, tickets_page},
    timesheets::{TimeEntryLine, TimesheetLine, TimesheetsView, timesheets_page},
};
use crate::page::Page;

/// What a page may do: its own scripts, styles and pictures, and forms that go to this server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types 'none'";

/// The HTML of a page, with its policy.
fn page(html: impl Renderable) -> Page {
    Page { html: html.render().into_inner(), csp: POLICY.to_owned() }
}

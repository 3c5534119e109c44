//! The pages of the web application: each a pure function from a plain struct, which the server fills, to HTML. No page
//! knows a store, a request or a clock.
//!
//! The macro of `hypertext` escapes every value, and checks the names of elements and attributes when it is compiled.
//! Only [`address`] writes addresses, so that no stored text becomes one.

mod activity;
mod address;
mod audit;
mod closings;
mod customers;
mod demo;
mod excluded;
mod explanation;
mod format;
mod health;
mod home;
mod import;
mod issues;
mod list_filters;
mod live;
mod parts;
mod problem;
mod rates;
mod record;
mod record_cells;
mod record_form;
mod record_sections;
mod records;
mod references;
mod renewal_decision;
mod renewals;
mod report;
mod samples;
mod saved_views;
mod search;
mod settings;
mod setup;
mod shell;
mod sign_in;
mod svg_elements;
mod tenants;
mod tickets;
mod timeline;
mod timesheets;
mod tokens;

use hypertext::prelude::*;

pub use self::{
    activity::{ActivityColumns, ActivityLine, DayCount},
    address::address,
    audit::{AuditLine, AuditView, RecordChange, audit_page},
    closings::{
        ClosingLine, ClosingsView, CompanyDifference, Differences, FigureChange, MonthFigures,
        NextMonth, Reopening, closings_page,
    },
    customers::{CustomerLine, CustomersView, UnrankedCustomers, customers_page},
    demo::{DemoState, DemoView, demo_page},
    excluded::ExcludedTotal,
    explanation::{
        ActiveCompany, ActivitySums, Breakdown, CompanyShare, ExplanationView, LicenseShare, Ratio,
        RatioFormula, RatioValue, UserShare, explanation_page,
    },
    format::{capitalized, epoch_day, grouped, label_of, money, percent, property_label},
    health::{
        BackupState, ClockState, HealthReport, HealthView, RequestRates, RouteGroup, Scrubbed,
        StoreSizes, health_page,
    },
    home::{Figure, HomeView, RenewalsAhead, SetupStep, home_page},
    import::{ImportColumn, ImportSummary, ImportView, ImportedRow, RejectedRow, import_page},
    issues::{IssueLine, IssuesView, issues_page},
    list_filters::ListFilter,
    live::{LiveView, live_page},
    parts::{Paging, Problem},
    problem::problem_page,
    rates::{RateLine, RatesView, SetRates, field_of_line, rates_page},
    record::{RecordView, RelatedList, record_page, title_of},
    record_form::{document_of, record_form},
    record_sections::RecordSection,
    records::{RecordsView, is_offered, records_page},
    references::{References, choice_of, ids_of, listed_target, target_of},
    renewal_decision::{Decision, DecisionView, decision_page, page_after},
    renewals::{RenewalGroup, RenewalKind, RenewalLine, RenewalsView, distance, renewals_page},
    report::{
        Choice, FiguresLeftOut, MissingRates, ReportCell, ReportTable, ReportView, parameter_label,
        report_page,
    },
    samples::{LANGUAGES, SampleValues},
    saved_views::{SavedView, SavedViews},
    search::{HitGroup, SearchHit, SearchView, search_page},
    settings::{SettingsView, settings_page},
    setup::{LastActivity, Policy, ScriptFile, ScriptInfo, SetupStatus, SetupView, setup_page},
    shell::{Section, Shell},
    sign_in::{SignInView, sign_in_page},
    tenants::{TenantLine, TenantView, TenantsView, tenant_page, tenants_page},
    tickets::{TicketView, TicketsView, ticket_page, tickets_page},
    timeline::{LicenseLine, Timeline},
    timesheets::{TimeEntryLine, TimesheetLine, TimesheetsView, UserLink, timesheets_page},
    tokens::{
        CreatedToken, NewTokenView, TokenLine, TokenNames, TokenView, TokensView,
        created_token_page, new_token_page, token_page, tokens_page,
    },
};
use crate::{
    content_security_policy::{PAGES_POLICY, policy_with_wasm},
    page::Page,
};

/// The HTML of a page, with its policy.
fn page(html: impl Renderable) -> Page {
    Page { html: html.render().into_inner(), csp: PAGES_POLICY.to_owned() }
}

/// A page with a form, which WebAssembly checks.
fn page_with_form(html: impl Renderable) -> Page {
    Page { csp: policy_with_wasm(), ..page(html) }
}

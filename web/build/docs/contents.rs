//! Pages of the docs, in the order of the sidebar. A new page is one line here.

/// A page of the docs.
pub(crate) struct Page {
    /// Last part of the page's address, `/docs/{slug}`; empty for `/docs` itself.
    pub(crate) slug: &'static str,
    /// Path of the page's Markdown, from the top of the project.
    pub(crate) file: &'static str,
    /// Label of the page in the sidebar.
    pub(crate) label: &'static str,
}

const fn page(slug: &'static str, file: &'static str, label: &'static str) -> Page {
    Page { slug, file, label }
}

/// The sections of the sidebar.
#[rustfmt::skip]
pub(crate) const SECTIONS: &[(&str, &[Page])] = &[
    ("Start", &[
        page("", "README.md", "Overview"),
        page("first-event", "web/docs/first-event.md", "First event"),
        page("import-customers", "server/docs/import-customers.md", "From a spreadsheet"),
        page("migrate", "server/docs/migrate.md", "Migrate from a hosted service"),
    ]),
    ("Track", &[
        page("tracking-script", "web/docs/tracking-script.md", "Tracking script"),
        page("events", "server/docs/events.md", "Events over HTTP"),
    ]),
    ("Use", &[
        page("web-application", "web/docs/web-application.md", "Web application"),
        page("api-guide", "server/docs/api.md", "API guide"),
        page("import-export", "server/docs/import-export.md", "Import and export"),
        page("revenue", "server/docs/revenue.md", "Revenue reports"),
        page("closing", "server/docs/closing.md", "History and closings"),
        page("usage", "server/docs/usage.md", "Usage reports"),
        page("metrics", "core/docs/metrics.md", "Engagement and MRR"),
        page("privacy", "server/docs/privacy.md", "Privacy requests"),
    ]),
    ("Operate", &[
        page("operations", "server/docs/operations.md", "Operations"),
        page("deploy", "server/docs/deploy.md", "Deploy with TLS"),
        page("observe", "server/docs/observe.md", "Observability"),
        page("upgrade", "server/docs/upgrade.md", "Upgrade and roll back"),
        page("audit", "server/docs/audit.md", "Audit log"),
        page("capacity", "server/docs/capacity.md", "Capacity"),
        page("security", "server/docs/security.md", "Security"),
    ]),
    ("Reference", &[
        page("glossary", "core/docs/glossary.md", "Glossary"),
        page("specification", "core/docs/specification.md", "Specification"),
        page("decisions", "core/docs/decisions.md", "Decisions"),
        page("decisions-records", "core/docs/decisions-records.md", "… on records"),
        page("decisions-tracking", "core/docs/decisions-tracking.md", "… on tracking"),
        page("decisions-further", "core/docs/decisions-further.md", "… on lists and fields"),
        page("decisions-service", "core/docs/decisions-service.md", "… beyond the contract"),
    ]),
    ("Develop", &[
        page("contributing", "tests/contributing.md", "Contributing"),
        page("architecture", "server/docs/architecture.md", "Architecture"),
        page("storage", "server/docs/storage.md", "Storage"),
        page("tests", "tests/README.md", "Tests"),
        page("changelog", "CHANGELOG.md", "Changelog"),
    ]),
];

/// Addresses below `/docs` that are no Markdown: the reference of the API, and the search.
pub(crate) const RESERVED: [&str; 2] = ["api", "search"];

/// All pages, in order.
pub(crate) fn pages() -> impl Iterator<Item = &'static Page> {
    SECTIONS.iter().flat_map(|(_, pages)| *pages)
}

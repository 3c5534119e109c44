//! Definition of a route, from which the table of routes and the OpenAPI description are generated.

use poem::http::Method;
use svctrack_core::{revenue::ReportKind, schema::ResourceDef};

/// A route: its description, and its handler.
pub(crate) struct RouteDef<H> {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) doc: RouteDoc,
    pub(crate) handler: H,
}

/// A route for the OpenAPI description.
pub(crate) struct DescribedRoute {
    pub(crate) method: Method,
    /// Path of the route, with `:id` for the variable part.
    pub(crate) path: String,
    pub(crate) doc: RouteDoc,
    /// Resource of the route, if it has one.
    pub(crate) def: Option<&'static ResourceDef>,
}

/// Description of a route.
#[derive(Clone, Copy)]
pub(crate) struct RouteDoc {
    /// Summary of the route, in a few words.
    pub(crate) summary: &'static str,
    /// Description for callers, in Markdown.
    pub(crate) description: &'static str,
    pub(crate) access: RouteAccess,
    pub(crate) takes: BodyKind,
    pub(crate) gives: BodyKind,
}

/// Permission that a route needs.
#[derive(Clone, Copy)]
pub(crate) enum RouteAccess {
    /// None; tracking routes have the tenant in their path.
    Anyone,
    /// The tenant as the user of HTTP Basic.
    TenantAsUser,
    /// A token with this scope.
    Scope(&'static str),
    /// A token with all of these scopes.
    Scopes(&'static [&'static str]),
    /// A token with this action on the resource.
    OfResource(&'static str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Nothing,
    Record,
    NewRecord,
    Renewal,
    /// A successor of a license, which a dry run shows without an `_id`.
    Successor,
    Loss,
    Records,
    Items,
    BulkResult,
    Deleted,
    Event,
    Events,
    Calls,
    Batch,
    Call,
    Success,
    Ok,
    Report,
    Replayed,
    Activities,
    LeanCompanies,
    NewToken,
    Token,
    Tokens,
    Audit,
    Revoked,
    Rotation,
    NewTenant,
    CreatedTenant,
    TenantChange,
    Tenant,
    DeletedTenant,
    Tenants,
    Settings,
    Keys,
    Unsuppressed,
    Export,
    Object,
    Page,
    Table,
    Imported,
    Script,
    Stream,
    Archive,
    Health,
    Mrr,
    Retention,
    Renewals,
    Forecast,
    Customers,
    Usage,
    NewClosing,
    Closing,
    Closings,
    Reopened,
}

impl BodyKind {
    /// Whether a request with this body accepts an `Idempotency-Key`.
    pub(crate) fn is_idempotent(self) -> bool {
        matches!(self, Self::NewRecord | Self::Renewal | Self::Loss | Self::Items)
            || self.is_events()
    }

    /// Whether the body is of events.
    pub(crate) fn is_events(self) -> bool {
        matches!(self, Self::Event | Self::Call) || self.is_many_events()
    }

    /// Whether the body has many events, and some can be rejected while the others are accepted.
    pub(crate) fn is_many_events(self) -> bool {
        matches!(self, Self::Events | Self::Calls | Self::Batch)
    }

    /// Revenue report of the response.
    pub(crate) fn report(self) -> Option<ReportKind> {
        Some(match self {
            Self::Mrr => ReportKind::Mrr,
            Self::Retention => ReportKind::Retention,
            Self::Renewals => ReportKind::Renewals,
            Self::Forecast => ReportKind::Forecast,
            Self::Customers => ReportKind::Customers,
            Self::Usage => ReportKind::Usage,
            _ => return None,
        })
    }

    /// Whether the body is a list, as JSON or CSV.
    pub(crate) fn is_list(self) -> bool {
        use BodyKind as K;
        matches!(
            self,
            K::Records
                | K::LeanCompanies
                | K::Activities
                | K::Report
                | K::Tokens
                | K::Tenants
                | K::Audit
        )
    }
}

impl RouteDoc {
    /// Whether the route accepts `If-Match`: it does not change a record with another version.
    pub(crate) fn takes_if_match(&self, def: Option<&ResourceDef>) -> bool {
        match self.takes {
            BodyKind::Record
            | BodyKind::Settings
            | BodyKind::Renewal
            | BodyKind::Loss
            | BodyKind::TenantChange => true,
            _ => match self.gives {
                BodyKind::Deleted => def.is_some(),
                gives => matches!(gives, BodyKind::DeletedTenant | BodyKind::Reopened),
            },
        }
    }

    /// Whether the route returns 304 to clients with the current version.
    pub(crate) fn is_conditional(&self) -> bool {
        let has_tag = matches!(
            self.gives,
            BodyKind::Record
                | BodyKind::Settings
                | BodyKind::Tenant
                | BodyKind::Closing
                | BodyKind::Closings
        );
        let gives = has_tag || self.gives.is_list() || self.gives.report().is_some();
        self.takes == BodyKind::Nothing && gives
    }
}

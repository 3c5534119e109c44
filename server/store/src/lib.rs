//! Stores for the rules of [`svctrack_core`]: records, events, tokens and tenants, without HTTP.
//!
//! A [`Store`] applies commands, each atomically, and reads snapshots. Use it in programs that need its guarantees in
//! their own process: unique keys, detection of lost updates, parked events, and MRR as of any point in time.
//!
//! | Engine | Storage | Use |
//! |---|---|---|
//! | [`embedded`] | one file with a checksum for each block and value | servers: acknowledged writes survive crashes and power loss |
//! | [`memory`] | in memory, lost at the end of the process | tests, trials, and programs that need no disk |
//!
//! Both engines apply the same rules and pass the same tests. The types here do not depend on the engine.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//! use svctrack_core::{
//!     resources::company::COMPANY,
//!     schema::checked_body,
//!     value::{Document, RecordRef, TenantId, Timestamp},
//! };
//! use svctrack_store::{
//!     Actor, Store, SystemClock, Tenant, TenantRecord, TokenDigest, TokenRecord, memory::Memory,
//! };
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let store: Arc<dyn Store> = Arc::new(Memory::new(Arc::new(SystemClock))?);
//!
//! // A tenant has at least one token; a store has only its hash.
//! let id = TenantId::from_bytes([7; 16]);
//! let digest = TokenDigest { id: "01234567", sha256: [0; 32] };
//! let token = TokenRecord::of_everything(digest, id, "trial", Timestamp::MIN);
//! let record = TenantRecord::new(id, "Acme".to_owned(), Timestamp::MIN);
//! store.add_tenant(Actor::operator(), record, token).await?;
//!
//! // The shape of a body is checked before it is passed to a store.
//! let sent = Document::parse(br#"{"name": "Acme", "externalId": "acme"}"#).unwrap();
//! let body = checked_body::check_create(&COMPANY, &sent);
//! let tenant = Tenant::assume_authorized(id);
//! let actor = Actor::service(tenant);
//! store.create(actor, None, &COMPANY, body).await?;
//!
//! let acme = RecordRef::External("acme".to_owned());
//! let found = store.record(&tenant, &COMPANY, &acme).await?;
//! assert!(found.is_some_and(|found| found.text.contains("Acme")));
//! # Ok::<_, svctrack_store::StoreError>(()) }).unwrap();
//! ```
//!
//! `server/store/examples/embed.rs` tracks an event as well: `cargo run -p svctrack-store --example embed`.
//!
//! [`Store`] has a method for each read and each [`Command`], such as `create` and `track`, and [`StoreError`] is the
//! error of all of them. `server/docs/storage.md` describes the bytes on disk.
//!
//! Invariant: every call takes a [`Tenant`], which is created only explicitly ([`Tenant::assume_authorized`]).

#![warn(missing_docs)]

mod audit_note;
mod calls;
mod clock;
mod command_size;
mod corruption;
mod disk_full;
#[allow(missing_docs, reason = "an engine is not part of the contract")]
pub mod embedded;
mod error;
mod error_conversions;
mod health;
pub mod histogram;
mod identity;
mod log_query;
mod manifest;
pub mod memory;
pub mod metrics;
mod page;
mod parallel;
mod parked_today;
mod precondition;
mod queueing;
mod reads;
mod reply;
mod response_memory;
mod revenue;
mod rows;
mod rules;
#[doc(hidden)]
pub mod support;
mod times;

use std::{fs::File, sync::Arc};

use futures_util::{
    FutureExt as _, TryFutureExt as _,
    future::{BoxFuture, Either, Ready},
};
use svctrack_core::{
    access::TenantChange,
    plan::{
        Finding, KnownPerson, RenewalDecision, Route,
        overlay::Overlay,
        upsert::{Item, UpsertAccess, UpsertOutcome},
    },
    revenue::ListedMonth,
    schema::{CheckedBody, ListQuery, ResourceDef, UnknownMemberPolicy},
    tracking::{Event, activity_query::ActivityQuery},
    value::{IdSequence, ObjectId, RecordRef, TenantId, Timestamp},
};
use tokio::sync::watch;

pub use self::{
    audit_note::AuditNote,
    calls::IdempotentOutcome,
    clock::{Clock, SystemClock, WRONG_CLOCK, is_too_late},
    error::StoreError,
    health::{Health, ScrubProgress, ScrubReport, StoreStatus, as_text},
    identity::{
        Actor, CommandOrigin, KnownTenant, KnownToken, RateLimits, Tenant, TenantRecord,
        TenantState, TokenDigest, TokenRecord,
    },
    log_query::LogQuery,
    manifest::{BackupHead, Manifest, StoreId, TableSum},
    metrics::StoreMetrics,
    page::{JsonRewrite, MAX_PIECE_BYTES, Page, PageDigest, PageOptions, PageStart, RecordStream},
    parked_today::ParkedToday,
    precondition::{Precondition, id_in_tag},
    reply::{AutoRenewal, RecordResponse, Reply, TrackedEvents, Upserted},
    response_memory::{ResponseMemory, ResponseMemoryBudget, UNCOUNTED_BYTES},
    revenue::{NewClosing, ReportJob, WriteReport, WrittenReport},
    rows::backup_archive::{ArchiveError, check_archive, read_head},
    times::{ClockState, MAX_DRIFT_MS},
};

/// A command, which is carried out as a whole or not at all.
#[derive(Debug)]
pub enum Command {
    /// Create a record from a body whose shape has been checked.
    Create {
        /// The resource that the record is of.
        def: &'static ResourceDef,
        /// The body, whose shape has been checked.
        body: CheckedBody,
    },
    /// A body merged into a record.
    Update {
        /// The resource that the record is of.
        def: &'static ResourceDef,
        /// Reference to the record.
        reference: RecordRef,
        /// The body, whose shape has been checked.
        body: CheckedBody,
        /// Versions that the record must have.
        precondition: Precondition,
    },
    /// Renew a license, which creates its successor and marks the license as renewed; or mark it as lost.
    DecideRenewal {
        /// The decision: renew or lose.
        decision: RenewalDecision,
        /// Reference to the license.
        reference: RecordRef,
        /// Terms that override those of the license; or reason and end of the loss.
        body: CheckedBody,
        /// Versions that the record must have.
        precondition: Precondition,
        /// Whether this is a dry run: nothing is stored.
        dry_run: bool,
    },
    /// Delete a record with its index entries.
    Delete {
        /// The resource that the record is of.
        def: &'static ResourceDef,
        /// Reference to the record.
        reference: RecordRef,
        /// Versions that the record must have.
        precondition: Precondition,
    },
    /// Close a month with its current figures.
    CloseMonth(Box<NewClosing>),
    /// Reopens the last closed month.
    ReopenMonth {
        /// Name of the month, such as `2026-01`.
        month: String,
        /// Reason of the reopening, as it was sent.
        reason: String,
        /// Versions that the month must have.
        precondition: Precondition,
    },
    /// Applies a bulk upsert: each body creates or updates a record (R17).
    Upsert {
        /// The resource that the records are of.
        def: &'static ResourceDef,
        /// The bodies, in the order of the request.
        items: Vec<Item>,
        /// Whether the caller may create, update, or both.
        access: UpsertAccess,
        /// Handling of unknown members.
        handling: UnknownMemberPolicy,
    },
    /// An import; the reply has the outcome of each body.
    Import(Upserts),
    /// Create a tenant with its first token.
    AddTenant {
        /// The tenant to create.
        tenant: TenantRecord,
        /// The tenant's first token.
        token: Box<TokenRecord>,
    },
    /// Renames, suspends or resumes a tenant.
    ChangeTenant {
        /// Id of the tenant.
        id: TenantId,
        /// The new name or state.
        change: TenantChange,
        /// Required version of the tenant.
        precondition: Precondition,
    },
    /// Delete a tenant. It does not exist from the next request on; [`Command::ContinueDeletion`] removes its data.
    DeleteTenant {
        /// Id of the tenant.
        id: TenantId,
        /// Required version of the tenant.
        precondition: Precondition,
    },
    /// Removes the next rows of a deleted tenant, a limited number.
    ContinueDeletion,
    /// Stores a new token of the tenant.
    AddToken {
        /// The token to store.
        token: Box<TokenRecord>,
        /// User that the token acts as; if none is named, one is created.
        user: Option<RecordRef>,
    },
    /// Rotates a token of the tenant.
    RotateToken {
        /// Id of the token.
        id: String,
        /// Token that succeeds the old one.
        successor: Box<TokenRecord>,
        /// The latest time until which the old token is valid.
        old_until: Timestamp,
    },
    /// Revokes a token of the tenant, from the next request on.
    RevokeToken {
        /// Id of the token.
        id: String,
        /// Which derived tokens are revoked too.
        with: RevocationScope,
    },
    /// Ingests events, in order.
    Track(Tracking),
    /// Process parked events whose user or company now exists.
    Replay,
    /// Replays the parked events of an integration issue.
    ReplayEntry(ObjectId),
    /// Deletes an integration issue.
    DeleteEntry(ObjectId),
    /// Erase the record of a person and suppress the person. [`Command::ContinueErasure`] removes their other data.
    Erase {
        /// Reference to the end user.
        reference: RecordRef,
        /// The versions that the record may have.
        precondition: Precondition,
    },
    /// Removes the next rows of an erased person, a limited number.
    ContinueErasure(ObjectId),
    /// Lifts the suppression of keys of erased people.
    Unsuppress(Vec<(&'static str, String)>),
    /// Adds audit entries about actions that change no data.
    Audit(Vec<AuditNote>),
    /// Remove data whose retention period has ended.
    Sweep,
    /// Renews the next licenses that renew automatically, a limited number.
    AutoRenew(AutoRenewal),
    /// Applies a command once per idempotency key.
    Idempotent {
        /// The idempotency key of the call.
        key: IdempotencyKey,
        /// The command to apply.
        command: Box<Command>,
    },
}

impl Command {
    /// Raises the times of new data to the newest stored time, if the clock is before it.
    pub(crate) fn not_before(&mut self, stored: Timestamp) {
        match self {
            Self::Track(tracking) => tracking.not_before(stored),
            Self::Idempotent { command, .. } => command.not_before(stored),
            Self::AddTenant { tenant, token } => {
                tenant.created_at = tenant.created_at.max(stored);
                token.created_at = token.created_at.max(stored);
            }
            Self::AddToken { token, .. } | Self::RotateToken { successor: token, .. } => {
                token.created_at = token.created_at.max(stored);
            }
            _ => {}
        }
    }
}

/// Tokens that a revocation includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevocationScope {
    /// Only the token itself.
    Alone,
    /// All tokens of its rotation line, and all tokens derived from them.
    Line,
}

/// The bodies of a bulk upsert or an import.
#[derive(Debug)]
pub struct Upserts {
    /// The resource that the records are of.
    pub def: &'static ResourceDef,
    /// The bodies, in the order of the request.
    pub items: Vec<Item>,
    /// Whether the caller may create, update, or both.
    pub access: UpsertAccess,
}

/// A dry run: the changes of the bodies so far, over which the next bodies are planned.
#[derive(Debug, Default)]
pub struct DryRunState {
    pub(crate) overlay: Overlay,
    pub(crate) ids: Option<IdSequence>,
}

impl DryRunState {
    /// Approximate size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        self.overlay.bytes()
    }
}

/// The events of one request.
#[derive(Debug)]
pub struct Tracking {
    /// The events, in the order of the request.
    pub events: Vec<Event>,
    /// Issues for the sender: rejected or ignored events, unknown members.
    pub findings: Vec<Finding>,
    /// Time of receipt of the events.
    pub received_at: Timestamp,
    /// Route of the request.
    pub route: Route,
    /// Whether the events are one part of a body whose parts are stored in order.
    pub is_part: bool,
    /// Whether another part of the body follows.
    pub has_more: bool,
    /// Today's parked events of the sender, if the sender is known.
    pub sender: Option<ParkedToday>,
}

impl Tracking {
    /// Events that have no issues to report.
    pub fn without_findings(events: Vec<Event>, received_at: Timestamp, route: Route) -> Self {
        Self {
            events,
            findings: Vec::new(),
            received_at,
            route,
            is_part: false,
            has_more: false,
            sender: None,
        }
    }

    /// Raises times to `stored` or later. An event without a date gets its time of receipt.
    fn not_before(&mut self, stored: Timestamp) {
        for event in &mut self.events {
            event.date.get_or_insert(self.received_at);
        }
        for finding in &mut self.findings {
            finding.at = finding.at.max(stored);
        }
        self.received_at = self.received_at.max(stored);
    }

    /// An empty part of a body.
    pub fn part(received_at: Timestamp, route: Route) -> Self {
        Self { is_part: true, ..Self::without_findings(Vec::new(), received_at, route) }
    }
}

/// Identity of a call for idempotency (R16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// SHA-256 of the caller, the request, and its key.
    pub key: [u8; 32],
    /// SHA-256 of the body.
    pub body: [u8; 32],
    /// Part of the call that the command carries out, where a call has several: parts count from 0, and each is carried
    /// out after the one before.
    pub part: Option<u32>,
}

/// Data of a person besides their record and activities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonData {
    /// Tickets that the person submitted.
    Tickets,
    /// Parked events of the person.
    Parked,
    /// Integration issues that name the person.
    Report,
}

/// New activities of a stream.
#[derive(Clone, Debug)]
pub struct ActivityBatch {
    /// The activities as JSON, oldest first.
    pub items: Vec<(ObjectId, String)>,
    /// Id of the last activity that was read.
    pub cursor: ObjectId,
    /// Whether all stored activities were read.
    pub is_caught_up: bool,
}

/// Destination of a backup.
#[derive(Debug)]
pub enum BackupFile {
    /// A file of the caller.
    Given {
        /// The file, open for writing.
        file: File,
        /// Position among the backups of its folder, in the order in which they were created.
        sequence: u64,
    },
    /// A file without a name, in the folder of the store; it is deleted when it is closed.
    Unnamed,
}

/// A read of one value, usually from memory.
pub type PointRead<'s, T> =
    Either<Ready<Result<T, StoreError>>, BoxFuture<'s, Result<T, StoreError>>>;

/// Stores records, activities and tenants. A call that needs the disk waits some seconds for a disk that does not
/// respond ([`StoreError::Stalled`]).
pub trait Store: Send + Sync {
    /// Applies a command. When this returns `Ok`, the command is on disk. It waits while other commands are applied.
    fn write(&self, actor: Actor, command: Command) -> BoxFuture<'_, Result<Reply, StoreError>>;

    /// A dry run: the outcomes of bodies, planned over those of the bodies before; nothing is written.
    fn dry_run(
        &self,
        tenant: &Tenant,
        dry_run: DryRunState,
        upserts: Upserts,
    ) -> BoxFuture<'_, Result<(DryRunState, Vec<UpsertOutcome>), StoreError>>;

    /// The current state of a record.
    fn record(
        &self,
        tenant: &Tenant,
        def: &'static ResourceDef,
        reference: &RecordRef,
    ) -> PointRead<'_, Option<RecordResponse>>;

    /// A page of records, lowest id first.
    fn list(
        &self,
        tenant: &Tenant,
        def: &'static ResourceDef,
        query: ListQuery,
        page_options: PageOptions,
    ) -> BoxFuture<'_, Result<Page, StoreError>>;

    /// A page of a log, newest entries first.
    fn log(
        &self,
        tenant: &Tenant,
        query: LogQuery,
        page_options: PageOptions,
    ) -> BoxFuture<'_, Result<Page, StoreError>>;

    /// Activities stored after `query.page.after`, oldest first; without it none, only the end of the log.
    fn activities_since(
        &self,
        tenant: &Tenant,
        query: ActivityQuery,
    ) -> BoxFuture<'_, Result<ActivityBatch, StoreError>>;

    /// Counts commits that added activities of a tenant, or changed who may read them.
    fn commits(&self, tenant: &Tenant) -> watch::Receiver<u64>;

    /// A report as of now, or of the time or the closed month that it asks for.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] where that month is not closed.
    fn report(
        &self,
        tenant: &Tenant,
        job: ReportJob,
    ) -> BoxFuture<'_, Result<WrittenReport, StoreError>>;

    /// A page of the data of a person, oldest first; an empty page may have a next one.
    fn person_data(
        &self,
        tenant: &Tenant,
        person: KnownPerson,
        part: PersonData,
        after: Option<ObjectId>,
    ) -> BoxFuture<'_, Result<Page, StoreError>>;

    /// State of a tenant; none if it does not exist or is being deleted.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn known_tenant(&self, tenant: TenantId) -> PointRead<'_, Option<KnownTenant>>;

    /// A tenant, including one that is being deleted.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn tenant(&self, tenant: TenantId) -> PointRead<'_, Option<TenantRecord>>;

    /// Whether the tenant exists and is not being deleted.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn has_tenant(&self, tenant: TenantId) -> BoxFuture<'_, Result<bool, StoreError>> {
        self.known_tenant(tenant).map_ok(|known| known.is_some()).boxed()
    }

    /// At most `limit` tenants, ordered by UUID.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn tenants(&self, limit: usize) -> BoxFuture<'_, Result<Vec<TenantRecord>, StoreError>>;

    /// State of a token.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn token(&self, id: &str) -> PointRead<'_, Option<Arc<KnownToken>>>;

    /// The tokens of a tenant, ordered by id.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn tokens(&self, tenant: &Tenant) -> BoxFuture<'_, Result<Vec<TokenRecord>, StoreError>>;

    /// The months of a tenant that are closed, or were until they were reopened, in order.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn closings(&self, tenant: &Tenant) -> BoxFuture<'_, Result<Vec<ListedMonth>, StoreError>>;

    /// Records that a token was used; this is written with a later commit (R43).
    fn note_token_use(&self, token: &TokenRecord, now: Timestamp);

    /// Id of the store, which stays the same when it is compacted or restored.
    fn id(&self) -> StoreId;

    /// The health of the store.
    fn status(&self) -> StoreStatus;

    /// Metrics of the running store.
    fn metrics(&self) -> StoreMetrics;

    /// Each table with the number of its rows, which takes no scan.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn table_rows(&self) -> BoxFuture<'_, Result<Vec<(&'static str, u64)>, StoreError>>;

    /// Continues a scrub by a limited number of rows.
    fn scrub(&self, from: ScrubProgress) -> BoxFuture<'_, Result<ScrubProgress, StoreError>>;

    /// Writes a backup, a snapshot of all data, to a file. The file is complete and on disk when this returns.
    fn back_up(&self, to: BackupFile) -> BoxFuture<'_, Result<(File, Manifest), StoreError>>;

    /// Completes queued commands and stops; later commands are rejected. Returns whether this succeeded: it does not
    /// if the disk does not respond.
    fn close(&self) -> bool;
}

//! Stores for the rules of [`svctrack_core`]: records, events, tokens and tenants, without HTTP.
//!
//! A [`Store`] carries out commands, each whole or not at all, and reads points in time. It is for the server, and for
//! programs that want its guarantees in their own process: unique keys, lost updates detected, events that wait for
//! their company, MRR at any past point in time.
//!
//! | Engine | Stores in | For |
//! |---|---|---|
//! | [`embedded`] | one file, each block and value with a checksum | a server: what was acknowledged survives a crash and power loss |
//! | [`memory`] | maps that nothing outlives | tests, trials, and programs that need no disk |
//!
//! Both carry out the same rules, and one suite of tests runs on both. No type of an engine shows in this module.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//! use svctrack_core::{
//!     resources::company::COMPANY,
//!     schema::shape,
//!     value::{Document, RecordRef, TenantId, Timestamp},
//! };
//! use svctrack_store::{
//!     Actor, Store, SystemClock, Tenant, TenantRecord, TokenDigest, TokenRecord, memory::Memory,
//! };
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let store: Arc<dyn Store> = Arc::new(Memory::new(Arc::new(SystemClock))?);
//!
//! // A tenant has at least one token, of which a store knows the hash alone.
//! let id = TenantId::from_bytes([7; 16]);
//! let digest = TokenDigest { id: "01234567", sha256: [0; 32] };
//! let token = TokenRecord::of_everything(digest, id, "trial", Timestamp::MIN);
//! let record = TenantRecord::new(id, "Acme".to_owned(), Timestamp::MIN);
//! store.add_tenant(Actor::operator(), record, token).await?;
//!
//! // The shape of a body is checked before it is sent to a store.
//! let sent = Document::parse(br#"{"name": "Acme", "externalId": "acme"}"#).unwrap();
//! let body = shape::check_create(&COMPANY, &sent);
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
//! [`Store`] has all that can be read and written, each [`Command`] with a method of its own, such as `create` and
//! `track`; [`StoreError`] what can go wrong. Which bytes are on disk is drawn in `server/docs/storage.md`.
//!
//! Invariant: every call takes a [`Tenant`], which nobody creates unnoticed ([`Tenant::assume_authorized`]).

#![warn(missing_docs)]

mod at_once;
mod audit_note;
mod calls;
mod clock;
mod corruption;
mod disk_full;
#[allow(missing_docs, reason = "an engine is no part of the contract")]
pub mod embedded;
mod error;
mod error_conversions;
mod health;
mod identity;
mod log_query;
mod manifest;
pub mod memory;
pub mod metrics;
mod page;
pub mod panics;
mod parked_today;
pub mod private_folder;
mod queueing;
mod reads;
pub mod regular_file;
mod reply;
mod revenue;
mod room;
mod rows;
mod rules;
pub mod shares;
mod size;
mod times;

use std::{fs::File, sync::Arc};

use futures_util::future::BoxFuture;
use svctrack_core::{
    access::TenantChange,
    plan::{
        Finding, Person, RenewalDecision, Route,
        overlay::Overlay,
        upsert::{Access, Item, Outcome},
    },
    revenue::Closing,
    schema::{Handling, ListQuery, ResourceDef, Shaped},
    tracking::{Event, activity::ActivityQuery},
    value::{IdSequence, ObjectId, RecordRef, TenantId, Timestamp},
};
use tokio::sync::watch;

pub use self::{
    audit_note::AuditNote,
    calls::Done,
    clock::{Clock, SystemClock, WRONG_CLOCK, is_too_late},
    error::StoreError,
    health::{Health, Scrub, ScrubReport, StoreStatus, as_text},
    identity::{
        Actor, KnownTenant, KnownToken, Origin, RateLimits, Tenant, TenantRecord, TenantState,
        TokenDigest, TokenRecord,
    },
    log_query::LogQuery,
    manifest::{BackupHead, Manifest, StoreId, TableSum},
    metrics::StoreMetrics,
    page::{Digest, Later, Next, Page, PageFor, Rewrite},
    parked_today::ParkedToday,
    reply::{Answer, AutoRenewal, Reply, Tracked, Upserted},
    revenue::{NewClosing, ReportJob, WriteReport, WrittenReport},
    room::{Room, RoomOf, UNCOUNTED_BYTES},
    rows::archive::{ArchiveError, check_archive, read_head},
    times::{ClockState, MAX_DRIFT_MS},
};

/// One thing to be written, all of it or nothing.
#[derive(Debug)]
pub enum Command {
    /// A new record from a body whose shape has been checked.
    Create {
        /// The resource that the record is of.
        def: &'static ResourceDef,
        /// The body, whose shape has been checked.
        body: Shaped,
    },
    /// A body merged into a record.
    Update {
        /// The resource that the record is of.
        def: &'static ResourceDef,
        /// Reference to the record.
        reference: RecordRef,
        /// The body, whose shape has been checked.
        body: Shaped,
        /// The versions that it may have.
        precondition: Precondition,
    },
    /// A license renewed, its successor created and itself marked; or lost.
    DecideRenewal {
        /// Which of the two.
        decision: RenewalDecision,
        /// The license that it is about.
        reference: RecordRef,
        /// Terms in the place of its own; why and when it is lost.
        body: Shaped,
        /// The versions that it may have.
        precondition: Precondition,
        /// Whether it is planned alone, and nothing is stored.
        dry_run: bool,
    },
    /// A record, to be removed with its index entries.
    Delete {
        /// The resource that the record is of.
        def: &'static ResourceDef,
        /// Reference to the record.
        reference: RecordRef,
        /// The versions that it may have.
        precondition: Precondition,
    },
    /// A month closed with the figures that it has.
    CloseMonth(Box<NewClosing>),
    /// The last closed month opened again.
    ReopenMonth(String),
    /// Many bodies, each of which creates or changes a record (R17).
    Upsert {
        /// The resource that the records are of.
        def: &'static ResourceDef,
        /// The bodies, in the order of the request.
        items: Vec<Item>,
        /// What the caller may do.
        access: Access,
        /// How members are handled that are not stored.
        handling: Handling,
    },
    /// The same, with the outcome of each body as the reply.
    Import(Upserts),
    /// A new tenant, with its first token.
    AddTenant {
        /// The tenant to create.
        tenant: TenantRecord,
        /// The tenant's first token.
        token: Box<TokenRecord>,
    },
    /// Another name for a tenant, or another state.
    ChangeTenant {
        /// Id of the tenant.
        id: TenantId,
        /// The new name or state.
        change: TenantChange,
    },
    /// A tenant that is not there from the next request on. What is stored of it goes with
    /// [`Command::ContinueDeletion`].
    DeleteTenant(TenantId),
    /// More of what is stored of a deleted tenant removed, a limited number of rows.
    ContinueDeletion,
    /// A token of the tenant, to be stored.
    AddToken {
        /// The token to store.
        token: Box<TokenRecord>,
        /// The user that it acts as; one of its own where none is named.
        user: Option<RecordRef>,
    },
    /// A token of the tenant, to be replaced.
    RotateToken {
        /// Id of the token.
        id: String,
        /// The one that is issued in its place.
        successor: Box<TokenRecord>,
        /// Until when it is valid at the most.
        old_until: Timestamp,
    },
    /// Revokes a token of the tenant, from the next request on.
    RevokeToken {
        /// Id of the token.
        id: String,
        /// What is revoked with it.
        with: Revoked,
    },
    /// Events to ingest, in order.
    Track(Tracking),
    /// Processes parked events that are marked for it.
    Replay,
    /// Parked events of a report entry.
    ReplayEntry(ObjectId),
    /// An entry of the report, to be removed.
    DeleteEntry(ObjectId),
    /// A person to erase and suppress from now on. Their data besides the record is removed by
    /// [`Command::ContinueErasure`].
    Erase {
        /// Reference to the end user.
        reference: RecordRef,
        /// The versions that the record may have.
        precondition: Precondition,
    },
    /// More stored data of an erased person to remove, a limited number of rows.
    ContinueErasure(ObjectId),
    /// Keys of erased persons to unsuppress, each with its row.
    Unsuppress(Vec<(&'static str, String)>),
    /// Entries of the audit log about what changes no data.
    Audit(Vec<AuditNote>),
    /// Data whose retention period has ended, to be removed.
    Sweep,
    /// More licenses to be renewed that renew by themselves, a limited number.
    AutoRenew(AutoRenewal),
    /// A command that is carried out once for all who send it with the same key.
    Idempotent {
        /// What it is known by.
        key: IdempotencyKey,
        /// The command to carry out.
        command: Box<Command>,
    },
}

impl Command {
    /// Gives new data no earlier time than what is stored, where the clock is set before that.
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

/// What is revoked with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// Only the token itself.
    Alone,
    /// Those that were rotated into it or out of it, and all that these issued, and so on.
    Line,
}

/// Bodies, each of which creates or changes a record.
#[derive(Debug)]
pub struct Upserts {
    /// The resource that the records are of.
    pub def: &'static ResourceDef,
    /// The bodies, in the order of the request.
    pub items: Vec<Item>,
    /// What the caller may do.
    pub access: Access,
}

/// What bodies would have changed so far, and what the next ones are judged upon.
#[derive(Debug, Default)]
pub struct Rehearsal {
    pub(crate) overlay: Overlay,
    pub(crate) ids: Option<IdSequence>,
}

impl Rehearsal {
    /// About how many bytes of memory it holds.
    pub fn bytes(&self) -> usize {
        self.overlay.bytes()
    }
}

/// Events that came in with one request.
#[derive(Debug)]
pub struct Tracking {
    /// The events, in the order of the request.
    pub events: Vec<Event>,
    /// What their sender should fix: rejected or ignored events, unknown members.
    pub findings: Vec<Finding>,
    /// When they were received.
    pub received_at: Timestamp,
    /// How they came in.
    pub route: Route,
    /// Whether they are a part of a body, whose parts are stored in their order.
    pub is_part: bool,
    /// Whether the next part of the body is about to come.
    pub goes_on: bool,
    /// The parked events of their sender today, where the sender is known.
    pub sender: Option<ParkedToday>,
}

impl Tracking {
    /// Events of which there is nothing to report.
    pub fn of(events: Vec<Event>, received_at: Timestamp, route: Route) -> Self {
        Self {
            events,
            findings: Vec::new(),
            received_at,
            route,
            is_part: false,
            goes_on: false,
            sender: None,
        }
    }

    /// Sets times to no earlier than `stored`. An event without a date happened when it was received.
    fn not_before(&mut self, stored: Timestamp) {
        for event in &mut self.events {
            event.date.get_or_insert(self.received_at);
        }
        for finding in &mut self.findings {
            finding.at = finding.at.max(stored);
        }
        self.received_at = self.received_at.max(stored);
    }

    /// A part of a body, with nothing in it yet.
    pub fn part(received_at: Timestamp, route: Route) -> Self {
        Self { is_part: true, ..Self::of(Vec::new(), received_at, route) }
    }
}

/// What a call that may be sent again is known by (R16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// SHA-256 of the caller, the request, and its key.
    pub key: [u8; 32],
    /// SHA-256 of its body.
    pub body: [u8; 32],
    /// Which part of the call a command is, where it takes several: they count from 0, and each is carried
    /// out after the one before.
    pub part: Option<u32>,
}

/// The versions of a record that a write is meant for (R16).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Any version of any record.
    Anything,
    /// One of these records, each in this version.
    OneOf(Vec<(ObjectId, i64)>),
}

/// What is stored of a person besides their record and their activities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Tickets that they submitted.
    Tickets,
    /// Events that wait for them.
    Parked,
    /// Entries of the report that name them.
    Report,
}

/// What has been added to the log of activities.
#[derive(Clone, Debug)]
pub struct ActivityBatch {
    /// The activities as JSON, oldest first.
    pub items: Vec<(ObjectId, String)>,
    /// The last one that was read.
    pub cursor: ObjectId,
    /// Whether nothing follows it.
    pub is_caught_up: bool,
}

/// Where a backup is written.
#[derive(Debug)]
pub enum BackupFile {
    /// A file of the caller.
    Given {
        /// The file, open for writing.
        file: File,
        /// Its place among the backups of its folder, in the order in which they were created.
        sequence: u64,
    },
    /// Into one without a name, in the folder of the store; it is deleted when it is closed.
    Unnamed,
}

/// Stores records, activities and tenants. A call that needs the disk waits some seconds for a disk that does not
/// respond ([`StoreError::Stalled`]).
pub trait Store: Send + Sync {
    /// Carries out a command. When this returns `Ok`, the command is on disk. It waits while others are carried out.
    fn write(&self, actor: Actor, command: Command) -> BoxFuture<'_, Result<Reply, StoreError>>;

    /// The outcomes that bodies would have after those before them; nothing is written.
    fn rehearse(
        &self,
        tenant: &Tenant,
        rehearsal: Rehearsal,
        upserts: Upserts,
    ) -> BoxFuture<'_, Result<(Rehearsal, Vec<Outcome>), StoreError>>;

    /// One record as it is now.
    fn record(
        &self,
        tenant: &Tenant,
        def: &'static ResourceDef,
        reference: &RecordRef,
    ) -> BoxFuture<'_, Result<Option<Answer>, StoreError>>;

    /// A page of records, lowest id first.
    fn list(
        &self,
        tenant: &Tenant,
        def: &'static ResourceDef,
        query: ListQuery,
        page_for: PageFor,
    ) -> BoxFuture<'_, Result<Page, StoreError>>;

    /// A page of a log, newest entries first.
    fn log(
        &self,
        tenant: &Tenant,
        query: LogQuery,
        page_for: PageFor,
    ) -> BoxFuture<'_, Result<Page, StoreError>>;

    /// Activities stored after `query.page.after`, oldest first; without it none, but where the log ends.
    fn activities_since(
        &self,
        tenant: &Tenant,
        query: ActivityQuery,
    ) -> BoxFuture<'_, Result<ActivityBatch, StoreError>>;

    /// Counts commits that have added activities of a tenant, or have changed who may read them.
    fn commits(&self, tenant: &Tenant) -> watch::Receiver<u64>;

    /// A revenue report, as it is now.
    fn revenue(
        &self,
        tenant: &Tenant,
        job: ReportJob,
    ) -> BoxFuture<'_, Result<WrittenReport, StoreError>>;

    /// A page of what is stored of a person, oldest first; it may be empty and have a next one.
    fn about(
        &self,
        tenant: &Tenant,
        person: Person,
        part: Part,
        after: Option<ObjectId>,
    ) -> BoxFuture<'_, Result<Page, StoreError>>;

    /// What is known of a tenant; none where there is no such tenant, or it is being deleted.
    ///
    /// # Errors
    /// When the store cannot say.
    fn known_tenant(
        &self,
        tenant: TenantId,
    ) -> BoxFuture<'_, Result<Option<KnownTenant>, StoreError>>;

    /// A tenant, also one that is being deleted.
    ///
    /// # Errors
    /// When the store cannot say.
    fn tenant(&self, tenant: TenantId) -> BoxFuture<'_, Result<Option<TenantRecord>, StoreError>>;

    /// Whether there is such a tenant, and it is not being deleted.
    ///
    /// # Errors
    /// When the store cannot say.
    fn has_tenant(&self, tenant: TenantId) -> BoxFuture<'_, Result<bool, StoreError>>;

    /// The tenants, at most `limit`, in the order of their UUIDs.
    ///
    /// # Errors
    /// When the store cannot say.
    fn tenants(&self, limit: usize) -> BoxFuture<'_, Result<Vec<TenantRecord>, StoreError>>;

    /// What is known of a token.
    ///
    /// # Errors
    /// When the store cannot say.
    fn token(&self, id: &str) -> BoxFuture<'_, Result<Option<Arc<KnownToken>>, StoreError>>;

    /// The tokens of a tenant, in the order of their ids.
    ///
    /// # Errors
    /// When the store cannot say.
    fn tokens(&self, tenant: &Tenant) -> BoxFuture<'_, Result<Vec<TokenRecord>, StoreError>>;

    /// The closed months of a tenant, in their order.
    ///
    /// # Errors
    /// When the store cannot say.
    fn closings(&self, tenant: &Tenant) -> BoxFuture<'_, Result<Vec<Closing>, StoreError>>;

    /// Notes that a token was used; it is written along with another commit (R43).
    fn token_used(&self, token: &TokenRecord, now: Timestamp);

    /// Which store it is.
    fn id(&self) -> StoreId;

    /// The health of the store.
    fn status(&self) -> StoreStatus;

    /// The figures of the store as it runs.
    fn metrics(&self) -> StoreMetrics;

    /// Continues a scrub by a limited number of rows.
    fn scrub(&self, from: Scrub) -> BoxFuture<'_, Result<Scrub, StoreError>>;

    /// Writes a snapshot of all data into a file, as a backup that is whole on disk when this returns.
    fn back_up(&self, to: BackupFile) -> BoxFuture<'_, Result<(File, Manifest), StoreError>>;

    /// Finishes what is queued and stops; later commands are rejected. Says whether that came to its end: it does not
    /// where the disk does not respond.
    fn close(&self) -> bool;
}

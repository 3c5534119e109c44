//! The state that requests share: store, clock, configuration, limits.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU64,
    sync::{Arc, OnceLock},
};

use parking_lot::Mutex;
use serde_json::Value;
use svctrack_core::value::TenantId;
use svctrack_store::{
    Actor, Clock, RateLimits, Store,
    support::{fair_shares::Shares, tenant_permits::TenantPermits},
};
use svctrack_web::{Addresses, Reference, ReferenceIndex, ServedFile};
use tokio::sync::{Semaphore, watch};

use crate::{
    auth::{
        denials::Denials, failed_sign_ins::FailedSignIns, one_time_link::OneTimeLink,
        session_uses::SessionUses,
    },
    backup_folder::Backups,
    bodies::{
        compression::{CompressedText, Compressions},
        read_body::BodyBudget,
        response_budget::ResponseBudget,
    },
    demo::filling::DemoFilling,
    error::Error,
    form_keys::FormKeys,
    limits::{
        MAX_BODY_READERS, MAX_CONNECTIONS, MAX_DOWNLOADS, MAX_DRY_RUNS, MAX_IMPORTS,
        MAX_LARGE_UPSERTS, MAX_LARGE_UPSERTS_OF_TENANT, MAX_STREAMS, MIN_STREAMS, STREAM_SHARE,
    },
    observe::Observability,
    rate_limit::RateLimiting,
    rejected_events::RejectedEvents,
    request_id::RequestIds,
    routing::served_parts::ServedParts,
    sender_limits::Senders,
};

#[cfg(test)]
use svctrack_store::{SystemClock, embedded::Embedded};

/// Limits that the operator sets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Requests a second that are served.
    pub rates: RateLimits,
    /// Maximum size of the data that callers without a token may store for each tenant, in bytes a day; unlimited when
    /// not given.
    pub daily_bytes: Option<NonZeroU64>,
    /// Parts of the API and the pages that are served.
    pub parts: ServedParts,
    /// Maximum number of open connections, which limits streams to a share of them; 4,096 by default.
    pub connections: Option<usize>,
}

/// Maximum number of listeners to streams, where there may be a number of connections.
fn max_streams(connections: Option<usize>) -> usize {
    let share = connections.unwrap_or(MAX_CONNECTIONS) / STREAM_SHARE;
    share.clamp(MIN_STREAMS, MAX_STREAMS)
}

/// Running calls, by the hash of their `Idempotency-Key`; at most one a connection.
#[derive(Debug, Default)]
pub(crate) struct CallsUnderWay(Mutex<BTreeSet<[u8; 32]>>);

impl CallsUnderWay {
    /// Notes a call; returns whether it may continue, because no other with its key is running.
    pub(crate) fn begin(&self, key: [u8; 32]) -> bool {
        self.0.lock().insert(key)
    }

    /// Forgets a call that has ended.
    pub(crate) fn end(&self, key: &[u8; 32]) {
        self.0.lock().remove(key);
    }
}

/// Writes the description of the API for a public URL. Its examples name the tenant if there is exactly one.
pub(crate) type DescribeApi = fn(&str, Option<TenantId>) -> Value;

/// Texts that are the same for all callers, each written at the first request.
#[derive(Default)]
pub(crate) struct CachedTexts {
    /// OpenAPI description, written again when it names another tenant.
    description: Mutex<Option<(Option<TenantId>, Arc<CompressedText>)>>,
    /// Pages of the docs, by name.
    pages: Mutex<BTreeMap<&'static str, Arc<CompressedText>>>,
    reference: OnceLock<Result<ReferenceTexts, String>>,
}

/// The reference of the API: the pages by their groups, and what a search finds in them.
pub(crate) struct ReferenceTexts {
    pub(crate) pages: BTreeMap<String, Arc<CompressedText>>,
    pub(crate) index: ReferenceIndex,
}

impl ReferenceTexts {
    fn new(description: &Value) -> Result<Self, String> {
        let Reference { pages, index } = Reference::new(description)?;
        let pages =
            pages.into_iter().map(|page| (page.group, CompressedText::new(page.html.into())));
        Ok(Self { pages: pages.collect(), index })
    }
}

impl CachedTexts {
    pub(crate) fn description(
        &self,
        tenant: Option<TenantId>,
        addresses: &Addresses,
        describe: DescribeApi,
    ) -> Arc<CompressedText> {
        // Other callers wait meanwhile, since each would write the description too.
        let mut kept = self.description.lock();
        match &*kept {
            Some((named, text)) if *named == tenant => text.clone(),
            _ => {
                let text =
                    CompressedText::new(describe(addresses.base_url(), tenant).to_string().into());
                kept.insert((tenant, text)).1.clone()
            }
        }
    }

    /// Whether the reference is written.
    pub(crate) fn has_reference(&self) -> bool {
        self.reference.get().is_some()
    }

    /// The reference, which names no tenant.
    pub(crate) fn reference(
        &self,
        addresses: &Addresses,
        describe: DescribeApi,
    ) -> Result<&ReferenceTexts, Error> {
        let written = self
            .reference
            .get_or_init(|| ReferenceTexts::new(&describe(addresses.base_url(), None)));
        written.as_ref().map_err(|cause| Error::Internal(cause.clone()))
    }

    pub(crate) fn page(&self, name: &'static str, html: String) -> Arc<CompressedText> {
        self.pages.lock().entry(name).or_insert_with(|| CompressedText::new(html.into())).clone()
    }
}

/// The application, shared by all requests.
pub struct App {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) addresses: Addresses,
    pub(crate) texts: CachedTexts,
    /// The files that browsers load, by the path at which each is served.
    pub(crate) files: BTreeMap<String, ServedFile>,
    pub(crate) bodies: BodyBudget,
    pub(crate) response_budget: ResponseBudget,
    pub(crate) compressions: Compressions,
    /// Permits for bodies of many events that are being read.
    pub(crate) body_readers: Semaphore,
    /// Permits for large bulk upserts, from the reading of their items on.
    pub(crate) large_upserts: TenantPermits,
    /// Permits for imports, whose bodies take as long as they are.
    pub(crate) imports: Semaphore,
    /// Permits for dry runs of imports.
    pub(crate) dry_runs: Semaphore,
    pub(crate) request_ids: RequestIds,
    pub(crate) running: CallsUnderWay,
    pub(crate) rates: RateLimiting,
    pub(crate) parts: ServedParts,
    pub(crate) senders: Senders,
    pub(crate) rejected: RejectedEvents,
    pub(crate) one_time_link: OneTimeLink,
    pub(crate) failed_sign_ins: FailedSignIns,
    pub(crate) session_uses: SessionUses,
    /// Access that was denied and is not in the audit log yet.
    pub(crate) denials: Denials,
    pub(crate) demo: DemoFilling,
    pub(crate) form_keys: FormKeys,
    /// Shares of the listeners to streams.
    pub(crate) streams: Arc<Shares<TenantId>>,
    /// Permits for downloads of backups.
    pub(crate) downloads: Arc<Semaphore>,
    /// The state of scheduled backups.
    pub(crate) backups: Arc<Backups>,
    /// Whether the server is about to stop, so that streams must end.
    pub(crate) stopping: watch::Sender<bool>,
    pub(crate) observe: Arc<Observability>,
}

impl App {
    /// An application over a store. `addresses` are those at which browsers reach it; `limits` apply to all callers.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        addresses: Addresses,
        limits: Limits,
    ) -> Arc<Self> {
        Self::observed(store, clock, addresses, limits, Observability::default())
    }

    /// An app whose requests are observed.
    pub fn observed(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        addresses: Addresses,
        limits: Limits,
        observe: Observability,
    ) -> Arc<Self> {
        Arc::new(Self {
            store,
            clock,
            texts: CachedTexts::default(),
            files: addresses.files(),
            addresses,
            bodies: BodyBudget::default(),
            response_budget: ResponseBudget::default(),
            compressions: Compressions::default(),
            body_readers: Semaphore::new(MAX_BODY_READERS),
            large_upserts: TenantPermits::new(MAX_LARGE_UPSERTS, MAX_LARGE_UPSERTS_OF_TENANT),
            imports: Semaphore::new(MAX_IMPORTS),
            dry_runs: Semaphore::new(MAX_DRY_RUNS),
            request_ids: RequestIds::default(),
            running: CallsUnderWay::default(),
            rates: RateLimiting::new(limits.rates),
            parts: limits.parts,
            senders: Senders::new(limits.daily_bytes),
            rejected: RejectedEvents::default(),
            one_time_link: OneTimeLink::default(),
            failed_sign_ins: FailedSignIns::default(),
            session_uses: SessionUses::default(),
            denials: Denials::default(),
            demo: DemoFilling::default(),
            form_keys: FormKeys::default(),
            streams: Shares::new(max_streams(limits.connections)),
            downloads: Arc::new(Semaphore::new(MAX_DOWNLOADS)),
            backups: Arc::default(),
            stopping: watch::Sender::new(false),
            observe: Arc::new(observe),
        })
    }

    /// An app over a new store in a folder.
    #[cfg(test)]
    pub(crate) fn for_test(folder: &std::path::Path) -> Arc<Self> {
        let clock = Arc::new(SystemClock);
        let store = Embedded::open(folder, 1024 * 1024, clock.clone()).unwrap();
        let addresses = Addresses::new("http://localhost");
        Self::new(Arc::new(store), clock, addresses, Limits::default())
    }

    /// Writes denied access to the audit log: also the current counts, where the server stops. Where the store cannot
    /// be written, it is logged.
    pub async fn write_denials(&self, is_last: bool) {
        for (tenant, notes) in self.denials.take(self.clock.now(), is_last) {
            let count = notes.len();
            if let Err(cause) = self.store.write_audit(Actor::service(tenant), notes).await {
                tracing::warn!(tenant = %tenant.id(), count, %cause, "denied access not audited");
            }
        }
    }

    /// Ends the streams, which have no end of their own.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }
}

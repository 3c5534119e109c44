//! Import of a CSV or NDJSON body, streamed: rows are applied in commands of a limited size, each on disk before the
//! next, so that an interrupted body leaves complete rows and can be sent again.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use http_body_util::{BodyExt as _, combinators::BoxBody};
use poem::{Request, Response};
use serde::Serialize;
use svctrack_core::{
    plan::upsert::{Item, UpsertAccess, UpsertOutcome},
    schema::{BodyOrigin, ResourceDef, sent_twice},
    value::{Document, Malformed, ValidationError, near_name},
};
use svctrack_store::{DryRunState, Upserts};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout, timeout_at},
};

use super::{
    idempotency_key,
    query_parameters::query_pairs,
    records::{access_of, authorize_upsert},
    respond::json_body,
};
use crate::{
    app::App,
    auth::Caller,
    bodies::{
        pace::BodyProgress,
        read_body::{is_gzip, require_utf8, unread},
    },
    error::Error,
    heavy_work,
    interchange::{
        ByteSource, Format, ReadOptions, RecordRows, RepeatedKeys, Separator, parse_mapping,
        unknown_head,
    },
    limits::{
        BODY_BUDGET_WAIT, DEFAULT_LISTED_REJECTED_ROWS, IMPORT_BYTES, IMPORT_ROWS,
        MAX_DRY_RUN_BYTES, MAX_LISTED_REJECTED_ROWS, MAX_NAMED_RECORDS, MAX_NOTED_KEYS,
        MAX_REJECTED_ROWS_BYTES, SMALL_BODY_PACE,
    },
    observe::trace::note_received,
};

/// Pieces of a body that wait to be read.
const PIECES: usize = 4;
/// Parameters of the query.
const PARAMETERS: [&str; 5] = ["dryRun", "ids", "map", "refusals", "separator"];

/// The outcome of a body.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ImportSummary {
    created: usize,
    updated: usize,
    unchanged: usize,
    refused: usize,
    /// Created records without a key: nothing finds them when the body is sent again.
    without_key: usize,
    /// Rows with a key of an earlier row, whose record they update.
    repeated_keys: usize,
    refusals: Vec<RejectedRow>,
    ignored_columns: Vec<String>,
    dry_run: bool,
    /// Record of each row, none where it was rejected; only where this is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Vec<Option<String>>>,
}

#[derive(Debug, Serialize)]
struct RejectedRow {
    line: u64,
    code: String,
    message: String,
}

/// Options of an import.
struct ImportRequest {
    is_dry_run: bool,
    names_records: bool,
    max_listed: usize,
    is_packed: bool,
    /// Format of the body, if its media type names one.
    format: Option<Format>,
    options: ReadOptions,
}

/// Rows of one resource that are applied by one command.
struct ImportBatch {
    upserts: Upserts,
    lines: Vec<u64>,
    read_only: Vec<String>,
    /// Rows so far with a key of an earlier one.
    repeated_keys: usize,
}

/// `POST /import/{resource}`.
pub(crate) async fn import(
    app: &App,
    request: &mut Request,
    def: &'static ResourceDef,
) -> Result<Response, Error> {
    let (caller, access) = authorize_upsert(app, request, def).await?;
    let asked = ImportRequest::from_request(request)?;
    idempotency_key::reject(request, "rows are matched by their keys")?;
    let turns = if asked.is_dry_run { &app.dry_runs } else { &app.imports };
    let turn = timeout(BODY_BUDGET_WAIT, turns.acquire()).await.map_err(|_| Error::Overloaded)?;
    let turn = turn.map_err(|error| Error::Internal(error.to_string()))?;
    let (is_dry_run, max_listed) = (asked.is_dry_run, asked.max_listed);
    let ids = asked.names_records.then(Vec::new);
    let (pieces, source) = mpsc::channel(PIECES);
    let (batches, mut next) = mpsc::channel(1);
    let received = Arc::<AtomicU64>::default();
    let pump = tokio::spawn(pump(request.take_body().into(), pieces, received.clone()));
    let reading = RowReader { caller: caller.clone(), def, access };
    let reader = heavy_work::spawn(move || reading.send(&asked, source, &batches));
    let summary = ImportSummary { dry_run: is_dry_run, ids, ..ImportSummary::default() };
    let dry_run = DryRunState::default();
    let mut import = Import { app, caller, dry_run, max_listed, listed_bytes: 0, summary };
    let mut applied = Ok(());
    while let Some(batch) = next.recv().await {
        applied = import.apply(batch).await;
        if applied.is_err() {
            break;
        }
    }
    // The rest is not read.
    drop(next);
    pump.abort();
    note_received(received.load(Ordering::Relaxed));
    let read = reader.await.map_err(|error| Error::Internal(error.to_string()))?;
    applied.and(read).map_err(|error| import.cut_short(error))?;
    let text = serde_json::to_string(&import.summary);
    let text = text.map_err(|error| Error::Internal(error.to_string()))?;
    // The memory of the response is taken before the turn ends: else no limit would count it.
    let held = app.response_budget.hold(import.caller.tenant.id(), text);
    let body = held.map_err(|error| import.cut_short(error))?;
    drop(turn);
    Ok(json_body(body))
}

/// Passes the pieces of a body on, until it ends or their receiver is dropped.
async fn pump(
    mut body: BoxBody<Bytes, io::Error>,
    to: mpsc::Sender<io::Result<Bytes>>,
    received: Arc<AtomicU64>,
) {
    let mut progress = BodyProgress::begin();
    loop {
        let piece = match timeout_at(progress.deadline(&SMALL_BODY_PACE), body.frame()).await {
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the body arrived too slowly")),
            Ok(None) => return,
            Ok(Some(Err(error))) => Err(error),
            Ok(Some(Ok(frame))) => match frame.into_data() {
                Ok(piece) => Ok(piece),
                Err(_) => continue,
            },
        };
        let is_over = piece.is_err();
        let bytes = piece.as_ref().map_or(0, Bytes::len);
        progress.count(bytes, &SMALL_BODY_PACE);
        received.fetch_add(bytes as u64, Ordering::Relaxed);
        let sent = Instant::now();
        if to.send(piece).await.is_err() || is_over {
            return;
        }
        progress.pause(sent.elapsed());
    }
}

/// Pieces of a body, as bytes that are read one after the other.
struct BodyChunks {
    from: mpsc::Receiver<io::Result<Bytes>>,
    piece: Bytes,
}

impl From<mpsc::Receiver<io::Result<Bytes>>> for BodyChunks {
    fn from(from: mpsc::Receiver<io::Result<Bytes>>) -> Self {
        Self { from, piece: Bytes::new() }
    }
}

impl io::Read for BodyChunks {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.from.blocking_recv() {
                None => return Ok(0),
                Some(piece) => self.piece = piece?,
            }
        }
        let count = self.piece.len().min(to.len());
        let part = self.piece.split_to(count);
        if let Some(to) = to.get_mut(..count) {
            to.copy_from_slice(&part);
        }
        Ok(count)
    }
}

impl ImportRequest {
    fn from_request(request: &Request) -> Result<Self, Error> {
        require_utf8(request)?;
        let mut asked = Self {
            is_dry_run: false,
            names_records: false,
            max_listed: DEFAULT_LISTED_REJECTED_ROWS,
            is_packed: is_gzip(request)?,
            format: format_of(request)?,
            options: ReadOptions::for_a_body(),
        };
        let pairs = query_pairs(request);
        for (at, (name, text)) in pairs.iter().enumerate() {
            let is_again = pairs.iter().take(at).any(|(before, _)| before == name);
            if is_again && name != "map" {
                return Err(Error::BadRequest(vec![sent_twice(name)]));
            }
            let invalid = |message: String| {
                Error::BadRequest(vec![ValidationError::of_member(
                    name,
                    "invalid_parameter",
                    message,
                )])
            };
            match name.as_str() {
                "dryRun" | "ids" => {
                    let flag = text.parse();
                    let flag =
                        flag.map_err(|_| invalid(format!("`{name}` must be true or false")))?;
                    match name.as_str() {
                        "ids" => asked.names_records = flag,
                        _ => asked.is_dry_run = flag,
                    }
                }
                "refusals" => {
                    let most = text.parse().ok().filter(|most| *most <= MAX_LISTED_REJECTED_ROWS);
                    asked.max_listed = most.ok_or_else(|| {
                        invalid(format!("`refusals` must be from 0 to {MAX_LISTED_REJECTED_ROWS}"))
                    })?;
                }
                "separator" => {
                    let separator = text.parse::<Separator>();
                    asked.options.separator =
                        Some(separator.map_err(|error| invalid(format!("`separator`: {error}")))?);
                }
                "map" => asked
                    .options
                    .map
                    .push(parse_mapping(text).map_err(|error| invalid(format!("`map`: {error}")))?),
                _ => {
                    let near = near_name(name, PARAMETERS);
                    return Err(invalid(format!("`{name}` is not known{near}")));
                }
            }
        }
        Ok(asked)
    }
}

/// Format of a body, by its media type; none for bytes of any type.
fn format_of(request: &Request) -> Result<Option<Format>, Error> {
    let kind = request.content_type().and_then(|kind| kind.split(';').next()).unwrap_or_default();
    match kind.trim().to_ascii_lowercase().as_str() {
        "text/csv" | "text/tab-separated-values" => Ok(Some(Format::Csv)),
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" => {
            Ok(Some(Format::Ndjson))
        }
        "application/octet-stream" => Ok(None),
        _ => Err(Error::Unsupported(
            "the media type must be text/csv, application/x-ndjson or application/octet-stream"
                .to_owned(),
        )),
    }
}

/// Reader of the rows of a body.
struct RowReader {
    caller: Caller,
    def: &'static ResourceDef,
    access: UpsertAccess,
}

impl RowReader {
    /// Reads rows and passes them on in batches, until their receiver is dropped.
    fn send(
        mut self,
        asked: &ImportRequest,
        pieces: mpsc::Receiver<io::Result<Bytes>>,
        batches: &mpsc::Sender<ImportBatch>,
    ) -> Result<(), Error> {
        let pieces = BodyChunks::from(pieces);
        let source: ByteSource = match asked.is_packed {
            true => Box::new(MultiGzDecoder::new(pieces)),
            false => Box::new(pieces),
        };
        let rows = RecordRows::open(self.def, asked.format, source, &asked.options);
        let mut rows = rows.map_err(|message| {
            Error::BadRequest(vec![ValidationError::of_body("unreadable", message)])
        })?;
        if let Some((head, _)) = asked.options.map.iter().find(|(head, _)| !rows.has_head(head)) {
            let message = format!("`map`: {}", unknown_head(head));
            return Err(Error::BadRequest(vec![ValidationError::of_member(
                "map",
                "invalid_parameter",
                message,
            )]));
        }
        let mut batch = self.batch();
        let mut bytes = 0;
        let mut repeated = RepeatedKeys::among(MAX_NOTED_KEYS);
        loop {
            // Rows before a body breaks off are applied.
            let next = rows.next_record();
            let is_over = !matches!(next, Ok(Some(_)));
            let switches = rows.def() != self.def;
            if is_over || switches || batch.lines.len() >= IMPORT_ROWS || bytes >= IMPORT_BYTES {
                (batch.read_only, batch.repeated_keys) = (rows.read_only().to_vec(), repeated.rows);
                if batches.blocking_send(batch).is_err() {
                    return Ok(());
                }
                if switches {
                    (self.def, self.access) = (rows.def(), access_of(&self.caller, rows.def())?);
                }
                (batch, bytes) = (self.batch(), 0);
            }
            let Some((line, read)) = next.map_err(unreadable)? else { return Ok(()) };
            batch.lines.push(line);
            batch.upserts.items.push(match read {
                Ok(record) => {
                    bytes += record.to_text().len();
                    repeated.note(self.def, &record, line);
                    Ok(record)
                }
                Err(message) => Err(Malformed { code: "unreadable", message, offset: 0 }),
            });
        }
    }

    fn batch(&self) -> ImportBatch {
        let upserts = Upserts { def: self.def, items: Vec::new(), access: self.access };
        ImportBatch { upserts, lines: Vec::new(), read_only: Vec::new(), repeated_keys: 0 }
    }
}

/// Error of a body that was interrupted, or after whose fault nothing can be read.
fn unreadable(error: io::Error) -> Error {
    let message = match error.kind() {
        io::ErrorKind::InvalidData => error.to_string(),
        _ => format!("the body ended early: {error}"),
    };
    unread(&error, message)
}

/// An import that is running.
struct Import<'a> {
    app: &'a App,
    caller: Caller,
    dry_run: DryRunState,
    max_listed: usize,
    /// Text of the rejected rows until now.
    listed_bytes: usize,
    summary: ImportSummary,
}

impl Import<'_> {
    async fn apply(&mut self, batch: ImportBatch) -> Result<(), Error> {
        let ImportBatch { upserts, lines, read_only, repeated_keys } = batch;
        (self.summary.ignored_columns, self.summary.repeated_keys) = (read_only, repeated_keys);
        if upserts.items.is_empty() {
            return Ok(());
        }
        let has_key: Vec<bool> =
            upserts.items.iter().map(|item| has_key(upserts.def, item)).collect();
        let outcomes = self.outcomes(upserts).await?;
        for ((line, has_key), outcome) in lines.into_iter().zip(has_key).zip(outcomes) {
            self.count(line, has_key, outcome);
        }
        Ok(())
    }

    async fn outcomes(&mut self, upserts: Upserts) -> Result<Vec<UpsertOutcome>, Error> {
        if !self.summary.dry_run {
            let imported = self.app.store.import(self.caller.clone().into(), upserts).await;
            return Ok(imported?);
        }
        let dry_run = std::mem::take(&mut self.dry_run);
        let tenant = &self.caller.tenant;
        let (dry_run, outcomes) = self.app.store.dry_run(tenant, dry_run, upserts).await?;
        self.dry_run = dry_run;
        if self.dry_run.bytes() > MAX_DRY_RUN_BYTES {
            let message = format!(
                "a dry run can hold at most {MAX_DRY_RUN_BYTES} bytes of changes: try fewer rows"
            );
            return Err(Error::Invalid(vec![ValidationError::of_body(
                "dry_run_too_large",
                message,
            )]));
        }
        Ok(outcomes)
    }

    fn count(&mut self, line: u64, has_key: bool, outcome: UpsertOutcome) {
        let id = match outcome {
            UpsertOutcome::Created(id, _) => {
                self.summary.created += 1;
                self.summary.without_key += usize::from(!has_key);
                // A dry run makes its ids up.
                (!self.summary.dry_run).then_some(id)
            }
            UpsertOutcome::Updated(id) => {
                self.summary.updated += 1;
                Some(id)
            }
            UpsertOutcome::Unchanged(id) => {
                self.summary.unchanged += 1;
                Some(id)
            }
            UpsertOutcome::Dropped => {
                self.reject(RejectedRow {
                    line,
                    code: "dropped".to_owned(),
                    message: "a ticket needs an `email`".to_owned(),
                });
                None
            }
            UpsertOutcome::Failed(_, element) => {
                let text = |name: &str| element.text(name).unwrap_or_default().into_owned();
                self.reject(RejectedRow { line, code: text("code"), message: text("message") });
                None
            }
        };
        if let Some(ids) = self.summary.ids.as_mut().filter(|ids| ids.len() < MAX_NAMED_RECORDS) {
            ids.push(id.map(|id| id.to_string()));
        }
    }

    /// Counts a rejected row, and lists it where there is room.
    fn reject(&mut self, row: RejectedRow) {
        self.summary.refused += 1;
        self.listed_bytes += row.code.len() + row.message.len();
        if self.summary.refusals.len() < self.max_listed
            && self.listed_bytes <= MAX_REJECTED_ROWS_BYTES
        {
            self.summary.refusals.push(row);
        }
    }

    /// Adds the progress of the import to an error.
    fn cut_short(&self, error: Error) -> Error {
        let ImportSummary { created, updated, unchanged, refused, dry_run, .. } = &self.summary;
        if created + updated + unchanged + refused == 0 {
            return error;
        }
        let (verb, advice) = match dry_run {
            true => ("would be", ""),
            false => ("were", "; sent again, rows with a key are not created twice"),
        };
        let done = format!(
            "of the rows before, {created} {verb} created, {updated} updated, {unchanged} unchanged and \
             {refused} rejected{advice}"
        );
        Error::PartDone(Box::new(error), done)
    }
}

/// Whether a row that creates a record finds it when it is sent again: its `_id` is that of another store.
fn has_key(def: &ResourceDef, item: &Item) -> bool {
    let mut keys = def.keys_of(BodyOrigin::Row).filter(|key| *key != "_id");
    let has = |sent: &Document| keys.any(|key| sent.text(key).is_some());
    item.as_ref().is_ok_and(has)
}

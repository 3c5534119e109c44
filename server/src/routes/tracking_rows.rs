//! Ingests the rows of a body: parsed as a whole first, then stored in order, in parts (R31).

use std::{iter::Peekable, sync::Arc};

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _, stream::FuturesOrdered};
use poem::{
    Request, Response,
    http::{HeaderName, HeaderValue},
};
use svctrack_core::{
    plan::Route,
    tracking::{
        Unreadable, bulk, integration_issues,
        pipeline::{self, ReadCall},
        unknown_members::UnreadMembers,
    },
    value::{
        Document, Timestamp,
        json_rows::{Envelope, JsonRow, JsonRows},
    },
};
use svctrack_store::{IdempotentOutcome, StoreError, TrackedEvents, Tracking};
use tokio::sync::mpsc;

use super::{
    idempotency_key::{IdempotentCall, Replayed, hash_of, is_asked},
    respond::name_ignored,
    strict::Strictness,
};
use crate::{
    app::App,
    auth::Caller,
    error::Error,
    heavy_work,
    limits::{
        MAX_IGNORED_NAMES, MAX_PART_BYTES, MAX_PART_ROWS, MAX_PARTS_UNDER_WAY,
        MAX_REJECTED_INDEXES, MAX_REJECTED_ROWS,
    },
    observe::running_request::ProblemCode,
    sender_limits::Sender,
};

const PARKED: HeaderName = HeaderName::from_static("svctrack-parked");
const REJECTED_COUNT: HeaderName = HeaderName::from_static("svctrack-rejected-count");
const REJECTED: HeaderName = HeaderName::from_static("svctrack-rejected");

/// Options for reading the rows of a body.
#[derive(Clone)]
pub(super) struct RowsReader {
    pub(super) received_at: Timestamp,
    pub(super) form: RowsFormat,
    pub(super) strictness: Strictness,
}

/// Form of the rows in the body.
#[derive(Clone)]
pub(super) enum RowsFormat {
    /// Rows of a bulk call.
    Bulk,
    /// Calls of a pipeline.
    Calls,
    /// Calls of a pipeline in an envelope, which has been checked.
    Batch(Arc<CallBatch>),
}

/// An envelope around calls.
pub(super) struct CallBatch {
    pub(super) envelope: Envelope,
    /// `context` of the envelope, which replaces that of a call.
    pub(super) context: Document,
    /// Unknown members of the envelope.
    pub(super) unread: Vec<String>,
}

/// Ingests the rows of a body: checked as a whole first, then stored in order, in parts. The next ones are read while
/// earlier ones are written to disk.
pub(super) async fn take_rows(
    app: &App,
    request: &Request,
    sender: Sender,
    body: Bytes,
    reading: RowsReader,
    mut response: Response,
) -> Result<Response, Error> {
    let caller = Caller::of_events(sender.tenant);
    let place = app.body_readers.acquire().await;
    let _place = place.map_err(|error| Error::Internal(error.to_string()))?;
    let (bytes, keyed) = (body.clone(), is_asked(request));
    let hash = heavy_work::spawn(move || if keyed { hash_of(&bytes) } else { [0; 32] });
    let hash = hash.await.map_err(|error| Error::Internal(error.to_string()))?;
    let once = IdempotentCall::of_sender(app, request, &sender, || hash)?;
    let mut limits = BodyLimits { app, sender, at: reading.received_at, is_counted: false };
    let (parts, mut next) = mpsc::channel(1);
    let reader = heavy_work::spawn(move || reading.send_parts(&body, &parts));
    let (mut notes, mut outcome, mut replayed) =
        (Notes::default(), TrackingOutcome::default(), Vec::new());
    let mut under_way = FuturesOrdered::new();
    let mut number = 0..;
    let (mut taken, mut is_cut) = (Ok(()), false);
    loop {
        tokio::select! {
            Some(part) = next.recv(), if taken.is_ok() && under_way.len() < MAX_PARTS_UNDER_WAY => {
                let part = limits.take(part).map_err(|error| taken = Err(error));
                let Ok(RowBatch { tracking, rows }) = part else { continue };
                let key = once.key_of_part(number.next().unwrap_or_default());
                let written = app.store.track(caller.clone().into(), key, tracking);
                under_way.push_back(written.map(|written| (written, rows)));
            }
            Some((written, rows)) = under_way.next() => match limits.settle(written, &rows) {
                // Parts that are stored after a failed one are sent again with it.
                Ok(_) if is_cut => {}
                Ok(IdempotentOutcome { reply: tracked, is_repeated }) => {
                    notes.add(rows, &outcome.add(tracked));
                    replayed.push(Replayed(is_repeated));
                }
                Err(error) => {
                    (taken, is_cut) = (taken.and(Err(error.into())), true);
                }
            },
            else => break,
        }
    }
    // The rest is not read.
    drop(next);
    let read = reader.await.map_err(|error| Error::Internal(error.to_string()))?;
    let replayed = Replayed::all(&replayed);
    if notes.read == 0 || replayed.0 {
        once.give_back_key();
    }
    let done = notes.end(taken.and(read), keyed);
    done.inspect_err(|_| limits.reject(&notes))?;
    notes.name_in(&mut response);
    outcome.name_in(&mut response);
    replayed.mark(&mut response);
    Ok(response)
}

/// Limits of the sender of a body, and what it uses up of them: only what is stored.
struct BodyLimits<'a> {
    app: &'a App,
    sender: Sender,
    at: Timestamp,
    /// Whether the call counts against the rate: it does from its first event on.
    is_counted: bool,
}

impl BodyLimits<'_> {
    /// Counts a part of the body, which is known to be valid by then.
    fn take(&mut self, mut part: RowBatch) -> Result<RowBatch, Error> {
        if !self.is_counted && !part.rows.taken.is_empty() {
            self.app.rates.count_tracking(&self.sender)?;
            self.is_counted = true;
        }
        part.tracking.sender =
            self.app.senders.take_events(&self.sender, part.rows.size(), self.at)?;
        Ok(part)
    }

    /// Gives back the bytes of a part that was rejected, or stored before; returns its outcome.
    fn settle(
        &self,
        written: Result<IdempotentOutcome<TrackedEvents>, StoreError>,
        rows: &BatchOutcome,
    ) -> Result<IdempotentOutcome<TrackedEvents>, StoreError> {
        if written.as_ref().map_or(true, |written| written.is_repeated) {
            self.app.senders.give_back_events(&self.sender, rows.size(), self.at);
        }
        written
    }

    /// Gives back the call, if it is rejected as a whole.
    fn reject(&self, notes: &Notes) {
        if self.is_counted && notes.stored == 0 {
            self.app.rates.give_back_tracking(&self.sender);
        }
    }
}

/// Rows that are stored by one command.
struct RowBatch {
    tracking: Tracking,
    rows: BatchOutcome,
}

/// Counts and indexes of the rows of a batch.
#[derive(Default)]
struct BatchOutcome {
    /// Number of rows, and their bytes.
    count: usize,
    bytes: usize,
    /// Indexes of the rows that are events.
    taken: Vec<usize>,
    /// Indexes of the rejected rows.
    rejected: Vec<usize>,
    /// Unknown members of the rows.
    unread: UnreadMembers,
    /// Number of rows with an invalid `count`.
    other_counts: u64,
}

impl BatchOutcome {
    /// Number of events, and bytes of all rows.
    fn size(&self) -> (usize, usize) {
        (self.taken.len(), self.bytes)
    }
}

impl RowsReader {
    /// Reads rows and passes them on in parts, until their receiver is dropped.
    fn send_parts(self, body: &[u8], parts: &mpsc::Sender<RowBatch>) -> Result<(), Error> {
        let rows = match &self.form {
            RowsFormat::Bulk | RowsFormat::Calls => JsonRows::check(body)?,
            RowsFormat::Batch(batch) => batch.envelope.rows(body),
        };
        let mut rows = rows.enumerate().peekable();
        let mut rejected = 0;
        while let Some(mut part) = self.part(&mut rows) {
            rejected += part.rows.rejected.len();
            let is_read_on = rejected < MAX_REJECTED_ROWS;
            part.tracking.has_more &= is_read_on;
            let is_followed = rows.peek().is_some();
            if parts.blocking_send(part).is_err() {
                return Ok(());
            }
            if is_followed && !is_read_on {
                return Err(Error::TooManyRejected(MAX_REJECTED_ROWS));
            }
        }
        Ok(())
    }

    fn part(
        &self,
        rows: &mut Peekable<impl Iterator<Item = (usize, JsonRow)>>,
    ) -> Option<RowBatch> {
        let mut of_part = BatchOutcome::default();
        if let (RowsFormat::Batch(batch), Some((0, _))) = (&self.form, rows.peek()) {
            of_part.unread.add(batch.unread.clone());
        }
        let mut tracking = Tracking::part(self.received_at, self.route());
        while of_part.count < MAX_PART_ROWS && of_part.bytes < MAX_PART_BYTES {
            let Some((index, row)) = rows.next() else { break };
            of_part.count += 1;
            of_part.bytes += row.bytes;
            match self.read(row) {
                Ok(ReadCall::Taken(read)) => {
                    of_part.unread.add(read.unread);
                    of_part.other_counts += u64::from(read.has_other_count);
                    of_part.taken.push(index);
                    tracking.events.push(read.event);
                }
                Ok(ReadCall::Ignored(ignored)) => {
                    let finding =
                        integration_issues::ignored(self.route(), &ignored, self.received_at);
                    tracking.findings.push(finding);
                }
                Err(problem) => {
                    of_part.rejected.push(index);
                    let issue = problem.into_issue();
                    let finding =
                        integration_issues::rejected(self.route(), index, &issue, self.received_at);
                    tracking.findings.push(finding);
                }
            }
        }
        tracking.findings.extend(of_part.unread.findings(self.route(), self.received_at));
        if of_part.other_counts > 0 {
            let (rows, at) = (of_part.other_counts, self.received_at);
            tracking.findings.push(integration_issues::count_out_of_range(self.route(), rows, at));
        }
        tracking.has_more = rows.peek().is_some();
        (of_part.count > 0).then_some(RowBatch { tracking, rows: of_part })
    }

    fn route(&self) -> Route {
        match self.form {
            RowsFormat::Bulk => Route::Bulk,
            RowsFormat::Calls | RowsFormat::Batch(_) => Route::Pipeline,
        }
    }

    fn read(&self, row: JsonRow) -> Result<ReadCall, Unreadable> {
        let read = match &self.form {
            RowsFormat::Bulk => bulk::read(row).map(ReadCall::Taken),
            RowsFormat::Calls => pipeline::read_row(row, &Document::default()),
            RowsFormat::Batch(batch) => pipeline::read_row(row, &batch.context),
        }?;
        if let ReadCall::Taken(taken) = &read {
            let checked = self.strictness.check_members(self.route(), &taken.unread);
            checked.map_err(Unreadable::Invalid)?;
        }
        Ok(read)
    }
}

/// Outcome of stored events: why some are parked, by codes of the report, and names of members that are not stored;
/// each once.
#[derive(Default)]
pub(super) struct TrackingOutcome {
    parked: Vec<String>,
    ignored: Vec<String>,
}

impl TrackingOutcome {
    /// Adds the outcome of a command; returns which of its events are not stored.
    pub(super) fn add(
        &mut self,
        TrackedEvents { parked, rejected, ignored }: TrackedEvents,
    ) -> Vec<usize> {
        for (names, known) in [(parked, &mut self.parked), (ignored, &mut self.ignored)] {
            for name in names {
                if !known.contains(&name) {
                    known.push(name);
                }
            }
        }
        rejected
    }

    /// Adds the outcome to the response.
    pub(super) fn name_in(&self, response: &mut Response) {
        name_ignored(response, &self.ignored);
        let Some(code) = self.parked.first() else { return };
        response.extensions_mut().insert(ProblemCode(code.clone().into()));
        if let Ok(codes) = HeaderValue::try_from(self.parked.join(", ")) {
            response.headers_mut().insert(PARKED, codes);
        }
    }
}

/// Counts of the rows, for the headers of the response.
#[derive(Default)]
struct Notes {
    /// Rows that were read.
    read: usize,
    /// Rows that were stored.
    stored: usize,
    /// Number of events that cannot be parked, since the limit is reached.
    not_parked: usize,
    rejected: usize,
    indexes: Vec<usize>,
    /// Unknown members: at most one more than are named.
    unread: Vec<String>,
}

impl Notes {
    /// Adds the rows of a part; `not_parked` are those that are not stored.
    fn add(&mut self, rows: BatchOutcome, not_parked: &[usize]) {
        self.read += rows.count;
        self.stored += rows.taken.len() - not_parked.len();
        self.not_parked += not_parked.len();
        let mut rejected = rows.rejected;
        rejected.extend(not_parked.iter().filter_map(|at| rows.taken.get(*at)));
        rejected.sort_unstable();
        self.rejected += rejected.len();
        let room = MAX_REJECTED_INDEXES - self.indexes.len();
        self.indexes.extend(rejected.iter().take(room));
        for name in rows.unread.names() {
            if self.unread.len() <= MAX_IGNORED_NAMES
                && !self.unread.iter().any(|known| known == name)
            {
                self.unread.push(name.to_owned());
            }
        }
    }

    /// Outcome of a call whose rows were read with this one.
    fn end(&self, read: Result<(), Error>, keyed: bool) -> Result<(), Error> {
        read.map_err(|error| self.cut_short(error))?;
        if self.is_nothing_stored() && !keyed {
            return Err(StoreError::ParkedFull.into());
        }
        Ok(())
    }

    /// Adds to an error how far the body was read, so that its sender knows which rows to send again.
    fn cut_short(&self, error: Error) -> Error {
        let Self { read, stored, rejected, .. } = self;
        if *read == 0 {
            return error;
        }
        let done = format!(
            "the rows before index {read} were read: {stored} of them are stored, {rejected} rejected; send those from \
             index {read} on again"
        );
        Error::PartDone(Box::new(error), done)
    }

    /// Whether nothing of the call is stored that would be there twice if it was sent again.
    fn is_nothing_stored(&self) -> bool {
        self.stored == 0 && self.not_parked > 0
    }

    fn name_in(&self, response: &mut Response) {
        name_ignored(response, &self.unread);
        if self.rejected == 0 {
            return;
        }
        let mut names: Vec<String> = self.indexes.iter().map(usize::to_string).collect();
        if self.rejected > names.len() {
            names.push("...".to_owned());
        }
        let headers = response.headers_mut();
        headers.insert(REJECTED_COUNT, HeaderValue::from(self.rejected));
        if let Ok(names) = HeaderValue::try_from(names.join(",")) {
            headers.insert(REJECTED, names);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_marked_when_another_one_follows() {
        let body = |rows| format!("[{}]", vec![r#"{"id":"7"}"#; rows].join(","));
        let strictness = Strictness::Lenient;
        let reading =
            RowsReader { received_at: Timestamp::MIN, form: RowsFormat::Bulk, strictness };
        for (rows, expected) in [
            (0, vec![]),
            (MAX_PART_ROWS, vec![false]),
            (2 * MAX_PART_ROWS + 1, vec![true, true, false]),
        ] {
            let (parts, mut sent) = mpsc::channel(9);
            reading.clone().send_parts(body(rows).as_bytes(), &parts).unwrap();
            drop(parts);
            let sent = std::iter::from_fn(|| sent.blocking_recv());
            let has_more: Vec<_> = sent.map(|part| part.tracking.has_more).collect();
            assert_eq!(has_more, expected, "{rows} rows");
        }
    }
}

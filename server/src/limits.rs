//! Every limit of the HTTP side, with its unit and its reason, except rates: requests a second are limited in
//! `rate_limit`, and their defaults are in `config`. Limits of a rule are in `core`, those of the store in its package.
//!
//! The memory for requests is bounded: the budgets of this file, summed up in [`MEMORY_BUDGET_BYTES`], with the cache
//! and the rest of the program stay below 256 MiB at `--cache-mb 64`.

use std::{num::NonZeroU32, time::Duration};

use svctrack_core::tracking::bulk::{MAX_BODY_BYTES, MAX_ROWS_PER_COMMIT};

use crate::bodies::pace::MinimumRate;

/// Maximum memory of all requests, in bytes: bodies, large responses, compressors, imports and streams.
pub(crate) const MEMORY_BUDGET_BYTES: usize = SMALL_BODY_BUDGET_BYTES
    + LARGE_BODY_BUDGET_BYTES
    + PACKED_BODY_BUDGET_BYTES
    + ANSWER_BUDGET_BYTES
    + MAX_COMPRESSIONS * ENCODER_BYTES
    + MAX_IMPORTS * IMPORT_HELD_BYTES
    + MAX_DRY_RUNS * MAX_DRY_RUN_BYTES
    + MAX_STREAMS * STREAM_HELD_BYTES;
/// Asserts that the budgets leave enough of 256 MiB to the cache of 64 MiB and the program: 16 MiB at rest, and the
/// memory that the writer, the readers of bodies and the allocator hold for a short time.
const _: () = assert!(MEMORY_BUDGET_BYTES <= (256 - 64 - 24) * 1024 * 1024);

/// Largest body of one record, in bytes: its longest strings have 64 KiB, and custom data many of them (R9).
pub(crate) const MAX_RECORD_BODY_BYTES: usize = 1024 * 1024;
/// Largest body of a record with a field of up to 1 MiB, which may double where JSON escapes it, in bytes: a ticket
/// (R56).
pub(crate) const MAX_LONG_RECORD_BODY_BYTES: usize = 2 * 1024 * 1024;
/// Largest body of a bulk upsert, in bytes: 5,000 items of more than 6 KB each.
pub(crate) const MAX_BULK_BYTES: usize = 32 * 1024 * 1024;
/// Longest address of a request, in bytes; a list filter names many ids.
pub(crate) const MAX_URI_BYTES: usize = 8 * 1024;
/// Longest head of a request, in bytes: the headers of a browser with its cookies, and the address.
pub(crate) const MAX_HEAD_BYTES: usize = 16 * 1024 + MAX_URI_BYTES;

/// Maximum number of headers of a request: the default of hyper.
pub(crate) const MAX_HEADERS: usize = 100;

/// Largest body, in bytes, that needs no memory in the budget, as most events: for all connections that is 16 MiB, and
/// most of it is the read buffer of the connections anyway.
pub(crate) const FREE_BODY_BYTES: usize = 4 * 1024;
/// Budget of small bodies, of records and single events, in the whole process, in bytes: the memory that all their
/// senders together can take.
pub(crate) const SMALL_BODY_BUDGET_BYTES: usize = 8 * 1024 * 1024;
/// Share of this budget for one tenant, and for one address, in bytes, so that there is some for others.
pub(crate) const SMALL_BODY_SHARE_BYTES: usize = 6 * 1024 * 1024;
/// Budget of large bodies, in bytes: one of the largest, and more than that for others. It is separate, so that waiting
/// for it delays no single event.
pub(crate) const LARGE_BODY_BUDGET_BYTES: usize = 36 * 1024 * 1024;
pub(crate) const LARGE_BODY_SHARE_BYTES: usize = MAX_BULK_BYTES;
/// Budget of compressed bodies, as they arrive, in bytes; one may be as large as a share. A compressed body may wait for
/// memory for its decompressed form, but not the other way round.
pub(crate) const PACKED_BODY_BUDGET_BYTES: usize = 14 * 1024 * 1024;
pub(crate) const MAX_PACKED_BYTES: usize = 12 * 1024 * 1024;
/// Bytes that a connection reads of a body before the reader of the body asks for more: memory for these is taken ahead.
pub(crate) const READ_AHEAD_BYTES: usize = 16 * 1024;
/// How long a sender may make no progress before it gives way to others that need its memory: a good line sends
/// [`LARGE_BODY_PACE`]'s bytes in that time. Waiting bodies check in this interval for a slow sender.
pub(crate) const GIVES_WAY_AFTER: Duration = Duration::from_millis(250);
/// How long a small body waits for memory in the budget before its sender is asked to retry.
pub(crate) const BODY_BUDGET_WAIT: Duration = Duration::from_secs(5);
/// How long a large body waits for memory: fifty of the largest, one after the other, are read in this time.
pub(crate) const LARGE_BODY_BUDGET_WAIT: Duration = Duration::from_secs(180);

/// Longest time of the head of a request.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection stays open for the next request: longer than with nginx (60 s) and Caddy (120 s), so that
/// mostly these end it, and do not send a request just then. If its slot is needed, it ends earlier.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(130);
/// Longest time of a body in all.
pub(crate) const BODY_TIMEOUT: Duration = Duration::from_secs(60);

/// Pace of a KiB a second, which every line reaches.
pub(crate) const SMALL_BODY_PACE: MinimumRate =
    MinimumRate { bytes: 10 * 1024, within: Duration::from_secs(10) };
/// Pace of a body that takes much of the memory for large ones: a slow mobile line keeps to it.
pub(crate) const LARGE_BODY_PACE: MinimumRate =
    MinimumRate { bytes: 192 * 1024, within: Duration::from_secs(3) };

/// The rest of a body after its response is read and discarded, so that the next request can follow: up to this size in
/// bytes, as of an event, and within this time.
pub(crate) const MAX_DISCARDED_BYTES: u64 = 64 * 1024;
pub(crate) const DISCARD_TIMEOUT: Duration = Duration::from_millis(100);
/// What a client still sends after a response that closes its connection is read and discarded, so that a client
/// that writes before it reads gets the response (RFC 9112, 9.6): as much as two of the largest bulk upserts, and for
/// as long as nginx does.
pub(crate) const MAX_LINGER_BYTES: usize = 2 * MAX_BULK_BYTES;
pub(crate) const LINGER_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a response may wait for its reader to accept more of it: as long as a disk may be busy to which a backup is
/// sent. A slower reader loses the connection, and its memory is released. Tests do not wait as long.
pub(crate) const ANSWER_STALL: Duration =
    Duration::from_millis(if cfg!(test) { 200 } else { 120_000 });

/// Memory budget of the process for large responses, collected or being sent, in bytes. A tenant takes no more than it
/// leaves free, so one alone takes half: four of the largest lists that are held, or fifteen that are read as they are
/// sent (D7).
pub(crate) const ANSWER_BUDGET_BYTES: usize = 32 * 1024 * 1024;
/// Least rate at which a large response must be read, in bytes a second, after its start: the same as for large bodies.
/// An unread response is dropped when the buffers of the system, some MB at most, count for no more.
pub(crate) const MIN_ANSWER_BYTES_PER_SECOND: usize = 64 * 1024;
pub(crate) const ANSWER_START: Duration = Duration::from_secs(10);
/// Interval of the checks of this rate.
pub(crate) const ANSWER_LOOKS_EVERY: Duration = Duration::from_secs(5);

/// Maximum number of bulk upserts of more than [`MAX_RECORD_BODY_BYTES`] whose items are read and stored at a time, in
/// all: the items are held in addition to the texts of the bodies that wait. The writer stores one after the other.
pub(crate) const MAX_LARGE_UPSERTS: usize = 4;
/// The same of one tenant: one is read while another is stored, and others are left to other tenants.
pub(crate) const MAX_LARGE_UPSERTS_OF_TENANT: usize = 2;
/// Size of an item of a bulk upsert in its response besides its keys, in bytes: an error with its message, or two ids.
pub(crate) const BULK_ANSWER_BYTES: usize = 256;

/// Largest response, in bytes, that is not compressed: it fits into a packet, or nearly.
pub(crate) const MIN_COMPRESSED_BYTES: u64 = 1024;
/// Largest response, in bytes, that is compressed on the thread that serves it, in a fraction of a millisecond; longer
/// ones on other threads.
pub(crate) const MAX_COMPRESSED_AT_ONCE_BYTES: u64 = 32 * 1024;
/// Size of a piece that a compressor is given, in bytes. Its memory was measured with it: brotli 0.75 MiB, zstd 0.7
/// MiB, gzip 0.4 MiB, with their output.
pub(crate) const ENCODER_PIECE_BYTES: usize = 64 * 1024;
pub(crate) const ENCODER_BYTES: usize = 1024 * 1024;
/// Maximum number of long responses that are compressed at a time, each for as long as its reader takes. Further ones
/// are sent as they are.
pub(crate) const MAX_COMPRESSIONS: usize = 4;

/// Largest response, in bytes, that is copied to be sent in one piece: most records with their heads are smaller, and
/// copying more would cost more than it saves.
pub(crate) const SHORT_WRITE_BYTES: usize = 2 * 1024;

/// Maximum number of open connections in all, where the process may have that many open files.
pub(crate) const MAX_CONNECTIONS: usize = 4_096;
/// Maximum number of open connections of one address (D6). A proxy on the same machine speaks for many and is not
/// counted.
pub(crate) const MAX_CONNECTIONS_PER_ADDRESS: usize = 256;
/// Maximum number of listeners to streams in all: each keeps a connection for as long as it likes. One tenant has at
/// most as many as are left to others then.
pub(crate) const MAX_STREAMS: usize = 256;
/// Part of all connections that streams may take: a quarter, so that most are left to others where few files may be
/// open.
pub(crate) const STREAM_SHARE: usize = 4;
/// Listeners that there may be at least: one of each of two tenants.
pub(crate) const MIN_STREAMS: usize = 2;
/// Usual memory of a listener, in bytes: what was read for it, and the piece before that.
pub(crate) const STREAM_HELD_BYTES: usize = 64 * 1024;
/// Maximum number of connections to the admin address: Prometheus, one or two probes, and a person.
pub(crate) const MAX_ADMIN_CONNECTIONS: usize = 8;
/// Maximum number of downloads of backups at a time: each keeps a file as large as one.
pub(crate) const MAX_DOWNLOADS: usize = 2;
/// Files that the process reserves for itself, besides those of its workers, when it derives its limit of connections.
pub(crate) const RESERVED_FILES: usize = 64;
/// Maximum number of workers that serve connections: their open files must leave room in the number that a process may
/// have on most systems before it asks for more.
pub(crate) const MAX_WORKERS: usize = 64;
/// How long a connection must have waited for its client before it gives way to another: data that came with it is read
/// first.
pub(crate) const MIN_WAIT_FOR_CLIENT: Duration = Duration::from_millis(50);
/// The same of a write that waits for its client to read, beyond the time that the bytes read since should take: a slow
/// mobile line reads a third of a send buffer at once, and takes a second for it. Tests do not wait as long.
pub(crate) const MIN_WAIT_FOR_READER: Duration =
    Duration::from_millis(if cfg!(test) { 50 } else { 2_000 });
/// Pace of a byte of a body or a response, in microseconds: a connection with a slower one counts as waiting. A slow
/// mobile line transfers 64 KB a second.
pub(crate) const TRANSFERRED_BYTE_US: u64 = 15;
/// Handshakes that an address may begin in a second, and twice as many at once, which is its maximum of connections. A
/// signature with an RSA key of 2,048 bits takes 0.7 ms, so they take a tenth of a processor. A proxy speaks for many
/// clients and is not counted.
pub(crate) const MAX_HANDSHAKES_PER_SECOND: NonZeroU32 = NonZeroU32::MIN.saturating_add(127);
/// How long a trusted proxy may take for its header of the PROXY protocol: it sends that at once.
pub(crate) const PROXY_HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time of a TLS handshake: as of a head.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = HEAD_TIMEOUT;
/// Interval in which the files of the certificate are checked: a new one is in use within twice that.
pub(crate) const CERTIFICATE_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Interval in which a connection that needs a slot checks whether a busy one waits for its client now.
pub(crate) const CROWDED_CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// Pause after a failed accept: without it, a process out of files would spin.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long a first start waits until its tokens are printed: the reader of a pipe may be busy for that long.
pub(crate) const PRINT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a stop waits for requests in flight, and again for the reads that these have begun.
pub(crate) const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// How long, once the server stops, a response waits for its reader to accept more of it, and a request for its sender
/// to complete it. Tests do not wait as long.
pub(crate) const STOP_STALL: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 5_000 });

/// Largest revenue report, in bytes: 1,000 intervals of a few segments.
pub(crate) const MAX_REPORT_BYTES: usize = 16 * 1024 * 1024;

/// Longest address in a header of a response, in bytes: nginx accepts 4 KiB of headers from an upstream server, and the
/// others have less than half of that.
pub(crate) const MAX_SENT_ADDRESS_BYTES: usize = 2 * 1024;

/// The `Retry-After` of a rejected write while the store cannot take it, in seconds.
pub(crate) const RETRY_AFTER_SECONDS: u32 = 1;
/// The `Retry-After` for a sender whose tenant is suspended, in seconds: hours may pass, and the browser script waits
/// no longer than this.
pub(crate) const SUSPENDED_RETRY_AFTER_SECONDS: u32 = 300;
/// Longest `Idempotency-Key`, in bytes: a UUID has 36.
pub(crate) const MAX_IDEMPOTENCY_KEY_BYTES: usize = 255;
/// Largest body of a pipeline's call that names its tenant only in the body, in bytes: eight times the batches of SDKs,
/// and little to read for a sender without permission.
pub(crate) const MAX_UNNAMED_BODY_BYTES: usize = 4 * 1024 * 1024;
/// Longest name in `Svctrack-Ignored`, in bytes (R6).
pub(crate) const MAX_IGNORED_NAME_BYTES: usize = 64;
/// Maximum number of names in `Svctrack-Ignored` (R6).
pub(crate) const MAX_IGNORED_NAMES: usize = 20;
/// Longest `Svctrack-Ignored` in all, in bytes (R6).
pub(crate) const MAX_IGNORED_BYTES: usize = 1024;
/// Maximum number of bodies of many events that are read row by row at a time; each has a thread of its own, and a
/// worker has several hundred for long work.
pub(crate) const MAX_BODY_READERS: usize = 64;
/// Maximum number of rows of a body that are stored in one command, so that a commit that others wait for has few of
/// them. The stored outcome of a body with an `Idempotency-Key` counts its parts, so a change of this limit affects
/// these.
pub(crate) const MAX_PART_ROWS: usize = 125;
/// Largest text of these rows, in bytes: a commit of many large rows holds up others.
pub(crate) const MAX_PART_BYTES: usize = 256 * 1024;
/// Maximum number of parts of a body that wait for the disk at a time: twice the rows of the body in a commit (R31), so
/// that the next ones are ready when it is done.
pub(crate) const MAX_PARTS_UNDER_WAY: usize = 2 * MAX_ROWS_PER_COMMIT / MAX_PART_ROWS;
/// Rejected rows after which a body is not read further: each counts as an event of the largest body at least, since
/// reading and reporting it takes more than its text.
pub(crate) const MAX_REJECTED_ROWS: usize = MAX_BODY_BYTES / EVENT_BYTES;
/// Maximum number of row indexes in `Svctrack-Rejected` (R31).
pub(crate) const MAX_REJECTED_INDEXES: usize = 100;
/// Maximum number of rows of an import that one command applies, and maximum size of their text, in bytes: a part of a
/// commit, so that others do not wait for it, and few enough to be held in memory for each import.
pub(crate) const IMPORT_ROWS: usize = 500;
pub(crate) const IMPORT_BYTES: usize = 1024 * 1024;
/// Usual memory of an import, in bytes: batches that are read, wait and are applied, and its rejected rows.
pub(crate) const IMPORT_HELD_BYTES: usize = 9 * 1024 * 1024;
/// Keys of an import that are compared with later rows: some 2 MB of hashes.
pub(crate) const MAX_NOTED_KEYS: usize = 100_000;
/// Maximum number of rows whose records the summary of an import names, where that is requested: the items of a bulk
/// call.
pub(crate) const MAX_NAMED_RECORDS: usize = 5_000;
/// Rejected rows that the summary of an import lists by default: enough to find the problem.
pub(crate) const DEFAULT_LISTED_REJECTED_ROWS: usize = 100;
/// Maximum number of rejected rows that can be requested, and maximum size of their text, in bytes, 200 each, which an
/// import holds twice at its end.
pub(crate) const MAX_LISTED_REJECTED_ROWS: usize = 10_000;
pub(crate) const MAX_REJECTED_ROWS_BYTES: usize = 2 * 1024 * 1024;
/// Maximum size of the rows that a dry run would write, in bytes of text: it is held until the run ends.
pub(crate) const MAX_DRY_RUN_BYTES: usize = 32 * 1024 * 1024;
/// Maximum number of fields in a form of a page: each takes more memory than its bytes, and no form has a tenth of
/// these.
pub(crate) const MAX_FORM_PAIRS: usize = 10_000;
/// Longest table that is imported on a page, in bytes: 20,000 rows of 250 bytes, which the form holds between the dry
/// run and the import.
pub(crate) const MAX_PAGE_IMPORT_BYTES: usize = 5 * 1024 * 1024;
/// Maximum number of imports at a time, in all: each holds some rows, and one row can have the maximum length of a
/// line.
pub(crate) const MAX_IMPORTS: usize = 2;
/// Dry runs at a time, in all.
pub(crate) const MAX_DRY_RUNS: usize = 1;
/// Size of an event in the store besides its own text, in bytes: its row, and its entries in indexes.
pub(crate) const EVENT_BYTES: usize = 256;
/// Maximum number of calls of a day with an `Idempotency-Key` and without a token, for a tenant: as many as the store
/// keeps of them.
pub(crate) const MAX_KEYS_A_DAY: u64 = 100_000;
/// Maximum number of addresses of a tenant's senders that are counted separately in a day, some 100 bytes each.
pub(crate) const MAX_ADDRESSES: usize = 10_000;
/// The `Retry-After` of an event that cannot be parked, since the limit is reached: parked events are processed when
/// their users or companies appear, or removed after days.
pub(crate) const PARKED_FULL_WAIT: Duration = Duration::from_secs(10 * 60);

/// Lifetime of a session of the pages, in milliseconds: 30 days.
pub(crate) const SESSION_MS: i64 = 30 * 24 * 60 * 60 * 1_000;
/// Longest idle time of a session, in milliseconds: 12 hours, so that a machine left open overnight is signed out.
pub(crate) const SESSION_IDLE_MS: i64 = 12 * 60 * 60 * 1_000;
/// Maximum number of sessions of a token: more than a user has browsers, and few among the tokens of a tenant.
pub(crate) const MAX_SESSIONS: usize = 20;
/// Largest form of a sign-in, in bytes: a token and a path.
pub(crate) const MAX_SIGN_IN_BYTES: usize = 4 * 1024;
/// How many sign-ins of an address may fail in a minute before the next gets a 429, which shows in the log of a proxy:
/// a token cannot be guessed.
pub(crate) const MAX_SIGN_IN_FAILURES: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);
/// How long the link of the first start is valid, in seconds: 15 minutes.
pub(crate) const ONE_TIME_LINK_SECONDS: u64 = 15 * 60;

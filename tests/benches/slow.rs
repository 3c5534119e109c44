//! How long ordinary calls of another tenant wait during senders that try to block the server, and the memory that
//! these can cause it to take, and room on its disk.

use std::{iter::repeat_n, os::unix::fs::MetadataExt as _, time::Duration};

use svctrack_server::auth::Token;
use svctrack_tests::{
    attack::{Attack, Neighbour, Slow, Unread, fill_with_large},
    process::Server,
};
use tempfile::TempDir;

use crate::{
    disk, folder, process,
    report::{Case, Report, Target},
};

/// Highest ratio of the p99 of ordinary calls during an attack, and the p99 that is always low enough, in milliseconds.
const MAX_SLOWER: f64 = 2.0;
const SOON_MS: f64 = 20.0;
/// What the server may take of memory, in MiB, with [`CACHE`].
const MAX_MIB: f64 = 256.0;
const CACHE: [&str; 2] = ["--cache-mb", "64"];
/// By how much the attacked store's file may be larger than the other's, in MiB: what is written while a snapshot is
/// held for a reader, and half as much again for the attacker's own records and reports.
const MAX_GROWN_MIB: f64 = 1_536.0;
/// Large records of the attacked tenant: 62 MB.
const LARGE: usize = 66;
/// Calls of a round.
const CALLS: usize = 1_000;
const BULK_CALLS: usize = 20;
const ROUNDS: usize = 5;

/// A server with another tenant than the one that is attacked.
struct World {
    server: Server,
    neighbour: Neighbour,
    token: Token,
    folder: TempDir,
}

#[derive(Clone, Copy)]
enum Kind {
    /// A number of slow clients of a kind.
    Slow(Slow, usize),
    /// Slow clients of all kinds, and bombs.
    All,
    /// Those who do not read what they ask for.
    Unread(Unread),
}

impl World {
    async fn start() -> Self {
        let folder = folder();
        let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
        let server = Server::start_with_operator(folder.path(), &token, &operator, &CACHE).await;
        let neighbour = Neighbour::create(&server.client.with_token(operator.reveal())).await;
        Self { server, neighbour, token, folder }
    }

    /// Begins an attack on another tenant.
    async fn begin(&self, kind: Kind) -> Attack {
        let client = &self.server.client;
        match kind {
            Kind::Slow(slow, count) => {
                Attack::begin_slow(client, &self.token, repeat_n(slow, count)).await
            }
            Kind::All => Attack::begin(client, &self.token).await,
            Kind::Unread(what) => Attack::begin_unread(client, what, what.count()).await,
        }
    }

    /// What the store's file takes on the disk, in MiB; its length doubles at a time.
    fn store_mib(&self) -> f64 {
        let file = self.folder.path().join("svctrack.redb");
        file.metadata().unwrap().blocks() as f64 / 2_048.0
    }

    /// p99 of events, small and large, and reads, one after the other.
    async fn calls(&self) -> f64 {
        let mut times = Vec::with_capacity(CALLS);
        for number in 0..CALLS {
            times.push(self.neighbour.calls(number).await);
        }
        p99_ms(times)
    }

    /// The longest of some bulk calls.
    async fn bulk_calls(&self) -> f64 {
        let mut times = Vec::with_capacity(BULK_CALLS);
        for _ in 0..BULK_CALLS {
            times.push(self.neighbour.calls_in_bulk().await);
        }
        p99_ms(times)
    }
}

fn p99_ms(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() * 99 / 100].as_secs_f64() * 1e3
}

pub(crate) async fn measure(report: &mut Report) {
    let (attacked, quiet) = (World::start().await, World::start().await);
    let sync = disk::sync_times(attacked.folder.path());
    process::forget_peak(attacked.server.id());
    let large = Kind::Slow(Slow::Large, 8);
    let half_events = Kind::Slow(Slow::HalfEvent, 1_000);
    fill_with_large(&attacked.server.client, LARGE).await;
    let [lists, packed, streams, upserts, imports, rejected] = Unread::ALL.map(Kind::Unread);
    for (what, kinds) in [
        ("8 senders of 32 MiB at 70 KB/s", &[large][..]),
        ("1,000 senders that stall in an event", &[half_events]),
        ("1,000 slow clients of all kinds and bombs", &[Kind::All]),
        ("8 lists of 62 MB that nobody reads", &[lists]),
        ("64 responses in brotli that nobody reads", &[packed]),
        ("128 streams that nobody reads", &[streams]),
        ("16 bulk upserts whose responses nobody reads", &[upserts]),
        ("16 imports whose responses nobody reads", &[imports]),
        ("16 bodies of 11 million rejected rows", &[rejected]),
        (
            "all of these at once",
            &[large, half_events, Kind::All, lists, packed, streams, upserts, imports, rejected],
        ),
    ] {
        let mut attacks = Vec::new();
        for kind in kinds {
            attacks.push(attacked.begin(*kind).await);
        }
        let mut found = [const { Vec::new() }; 4];
        for _ in 0..ROUNDS {
            found[0].push(attacked.calls().await);
            found[1].push(quiet.calls().await);
            found[2].push(attacked.bulk_calls().await);
            found[3].push(quiet.bulk_calls().await);
        }
        attacks.into_iter().for_each(Attack::end);
        let peak = process::memory_mib(attacked.server.id(), "VmHWM:");
        println!("{what}: at most {peak:.0} MiB until then");
        let [calls, calls_alone, bulk, bulk_alone] = found;
        let body = "events of 100 B and 20 KB and reads of a record, in turn";
        add(report, ("calls", what), (body, &sync), calls, calls_alone);
        add(report, ("bulk calls", what), ("2 MB, 100 rows", &sync), bulk, bulk_alone);
    }
    let peak = vec![process::memory_mib(attacked.server.id(), "VmHWM:")];
    let body = "each of these and all at once, with `--cache-mb 64`".to_owned();
    let case = Case {
        what: "memory, slow clients",
        baseline: "",
        connections: 1_000,
        body,
        durable: None,
    };
    report.note(&case, "MiB", Target::Below(MAX_MIB), peak);
    let grown = vec![attacked.store_mib() - quiet.store_mib()];
    let case = Case { what: "growth of the store file during slow clients", ..case };
    report.note(&case, "MiB", Target::Below(MAX_GROWN_MIB), grown);
    attacked.server.kill().await;
    quiet.server.kill().await;
}

/// Adds what calls of another tenant took, with an attack and without.
fn add(
    report: &mut Report,
    (calls, attack): (&str, &str),
    (body, sync): (&str, &str),
    beside: Vec<f64>,
    alone: Vec<f64>,
) {
    let what = format!("p99 of another tenant's {calls} during {attack}");
    let body = body.to_owned();
    let case = Case { what: &what, baseline: "without", connections: 1, body, durable: Some(sync) };
    let mut sorted = alone.clone();
    sorted.sort_by(f64::total_cmp);
    let most = SOON_MS.max(MAX_SLOWER * sorted[sorted.len() / 2]);
    report.compare(&case, "ms", Target::Below(most), beside, alone);
}

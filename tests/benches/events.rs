//! Events, each on disk before its response, against nginx, which accepts and discards them.

use std::{fs, path::Path};

use svctrack_server::auth::Token;
use svctrack_tests::{TENANT, process::Server};

use crate::{
    data::{self, COMPANIES, USERS},
    disk, folder,
    load::Load,
    nginx::Nginx,
    raw::Raw,
    report::{Case, Report, Target},
};

const ROUNDS: usize = 3;
const CONNECTIONS: [usize; 2] = [64, 512];

/// What of nginx's rate is to be reached with ids that ascend.
const MIN_OF_NGINX: [f64; 2] = [0.12, 0.4];
/// Highest p99 of events in milliseconds, at half of the highest rate.
const P99_MS: f64 = 30.0;

/// Commits of a round of redb alone, and bytes of an event in the log.
const RAW_COMMITS: usize = 200;
const STORED_BYTES: usize = 120;

/// Every event has a message id of its own. The arguments: a number that identifies the round, the kind of ids, and the
/// longest pause before a request in milliseconds.
const SCRIPT: &str = r#"
local second, within, kind = 0, 0, ""
function init(args)
  math.randomseed(tonumber(args[1]))
  kind = args[2]
  local pause = tonumber(args[3])
  if pause > 0 then function delay() return math.random(0, pause) end end
end
local function hex(digits) return string.format("%0" .. digits .. "x", math.random(0, 16 ^ digits - 1)) end
local function ascending()
  local now = os.time()
  if now ~= second then second, within = now, 0 end
  within = within + 1
  local ms = now * 1000 + math.min(999, math.floor(within / 30))
  return string.format("%08x-%04x-7", math.floor(ms / 65536), ms % 65536)
end
function request()
  local user = math.random(0, USERS - 1)
  local front = kind == "ascending" and ascending() or (hex(4) .. hex(4) .. "-" .. hex(4) .. "-4")
  local body = string.format(
    '{"externalId":"u%d","companyExternalId":"c%d","action":"Opened report","info":{"pages":3},"messageId":"%s-8%s-%s%s"}',
    user, user % COMPANIES, front .. hex(3), hex(3), hex(6), hex(6))
  return wrk.format("POST", nil, {["Content-Type"] = "text/plain"}, body)
end
"#;

/// The kind of message ids.
#[derive(Clone, Copy)]
pub(crate) enum Ids {
    /// UUIDv7: in the order of time.
    Ascending,
    /// UUIDv4: in no order.
    Random,
}

/// Arguments of the script: the seed of a round, the kind of ids, and the rate to keep to.
pub(crate) fn arguments(
    seed: usize,
    ids: Ids,
    rate: Option<f64>,
    connections: usize,
) -> Vec<String> {
    let kind = match ids {
        Ids::Ascending => "ascending",
        Ids::Random => "random",
    };
    // Pauses from nothing to this are half of it on average.
    let pause_ms = rate.map_or(0.0, |rate| 2.0 * 1e3 * connections as f64 / rate);
    vec![seed.to_string(), kind.to_owned(), format!("{pause_ms:.0}")]
}

pub(crate) async fn measure(report: &mut Report) {
    let folder = folder();
    let server = Server::start(folder.path(), &Token::generate().unwrap()).await;
    data::load(&server.client, "/companies", COMPANIES, data::company).await;
    data::load(&server.client, "/endusers", USERS, data::user).await;
    let nginx = Nginx::start(folder.path(), "OK", "OK").await;
    let script = write_script(folder.path());
    let url = format!("{}/analytics/{TENANT}", server.base);
    let mut raw = Raw::create(folder.path());
    let mut seed = 0;
    for (connections, least) in CONNECTIONS.into_iter().zip(MIN_OF_NGINX) {
        for (ids, what, target) in [
            (Ids::Ascending, "events, route 1, UUIDv7 ids", Target::AtLeast(least)),
            (Ids::Random, "events, route 1, random ids", Target::None),
        ] {
            let sync = disk::sync_times(folder.path());
            let case = |what, baseline| Case {
                what,
                baseline,
                connections,
                body: format!("150 B, {USERS} users, {COMPANIES} companies"),
                durable: Some(&sync),
            };
            let (mut ours, mut theirs, mut raws) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                seed += 1;
                let arguments = arguments(seed, ids, None, connections);
                let load = Load { connections, token: None, script: Some((&script, &arguments)) };
                theirs.push(load.round(&format!("{}/return", nginx.base)).await);
                ours.push(load.round(&url).await);
                raws.push(raw.round(RAW_COMMITS * connections, connections, STORED_BYTES));
            }
            let alone = format!("redb alone, ascending ids, {connections} a commit");
            report.compare(&case(what, &alone), "events/s", Target::None, ours.clone(), raws);
            let highest = ours.iter().copied().fold(0.0, f64::max);
            report.compare(&case(what, "nginx, return 200"), "events/s", target, ours, theirs);
            let mut rounds = Vec::new();
            let mut rates = Vec::new();
            for _ in 0..ROUNDS {
                seed += 1;
                let arguments = arguments(seed, ids, Some(highest / 2.0), connections);
                let load = Load { connections, token: None, script: Some((&script, &arguments)) };
                let found = load.latencies(&url).await;
                rounds.push(found.p99_ms);
                rates.push(found.rate);
            }
            let mean = rates.iter().sum::<f64>() / ROUNDS as f64;
            let at = format!("at {mean:.0} events/s, paced; highest {highest:.0}");
            let what = format!("p99 of {what}");
            report.note(&case(&what, &at), "ms", Target::Below(P99_MS), rounds);
        }
    }
    server.kill().await;
}

pub(crate) fn write_script(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("events.lua");
    let script =
        SCRIPT.replace("USERS", &USERS.to_string()).replace("COMPANIES", &COMPANIES.to_string());
    fs::write(&path, script).unwrap();
    path
}

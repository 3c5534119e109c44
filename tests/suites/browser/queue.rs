//! What waits in the queue: how much of it, for how long, and how often it is tried.

use super::{
    scenario::{
        Do::{Offline, Open, Respond, Run, Says, Stored, Until},
        Scenario,
    },
    scenarios::{ONE, ONLINE, TRACK_TWO},
};

pub const QUEUE: &[Scenario] = &[
    Scenario {
        steps: &[
            Open("/"),
            Offline(true),
            Run(
                "svctrack.identify('7', {companyExternalId: 'acme'}); for (let n = 0; n < 150; n++) svctrack.track('Event ' + n)",
            ),
            Until("Object.keys(localStorage).length === 100"),
            Until("lines.some((line) => line.endsWith('not sent: the queue is full'))"),
        ],
        ..Scenario::named("the queue has an end")
    },
    Scenario {
        steps: &[
            Open("/"),
            Offline(true),
            Run(
                "svctrack.identify('7', {companyExternalId: 'acme'}); for (let n = 0; n < 80; n++) svctrack.track('Early ' + n)",
            ),
            Until("Object.keys(localStorage).length === 81"),
            Open("/other"),
            Run("for (let n = 0; n < 60; n++) svctrack.track('Late ' + n)"),
            Until("Object.keys(localStorage).length === 100"),
            Says("track(Early 39) not sent: the queue is full"),
            Until(
                "lines.filter((line) => line.endsWith('not sent: the queue is full')).length === 41",
            ),
        ],
        ..Scenario::named("what earlier pages have left and has no room is reported")
    },
    Scenario {
        head: OLD,
        script: ONE,
        steps: &[Open("/"), Stored(&["One"]), Says("track(Old) not sent: older than 12 hours")],
        ..Scenario::named("a message that is older than twelve hours is given up")
    },
    Scenario {
        head: HASTE,
        script: "var heard = []; svctrack.init({debug: false, onWarning: (line) => heard.push(line)});",
        steps: &[
            Open("/"),
            Offline(true),
            Run(ONE),
            Until("failed === 10"),
            Says("; 2 events queued, retries paused until the next call, or until online"),
            Until(
                "pauses.length === 9 && pauses.every((ms, n) => ms >= Math.min(60000, 500 * 2 ** n) / 2 && ms <= Math.min(60000, 500 * 2 ** n))",
            ),
            Until("new Set(pauses.map((ms, n) => ms / 2 ** n)).size > 2"),
            Offline(false),
            Run(ONLINE),
            Stored(&["One"]),
            Offline(true),
            Run(TRACK_TWO),
            Until("failed === 20 && pauses.length === 18 && heard.length === 1"),
        ],
        ..Scenario::named(
            "pauses double up to a minute, and after ten tries the queue rests, which is reported once",
        )
    },
    Scenario {
        head: HASTE,
        steps: &[
            Open("/"),
            Offline(true),
            Run(ONE),
            Until("failed === 10 && pauses.length === 9"),
            Run(TRACK_TWO),
            Until(
                "failed === 11 && pauses.length === 10 && pauses[9] >= 30000 && pauses[9] <= 60000",
            ),
            Run("history.pushState(0, '', '/a'); svctrack.track('Three')"),
            Until("failed === 12 && pauses.length === 11"),
            Offline(false),
            Run("svctrack.track('Four')"),
            Stored(&["One", "Two", "Three", "Four"]),
            Until("failed === 12 && pauses.length === 12"),
        ],
        ..Scenario::named("after ten tries each call has the queue tried once more, slowly")
    },
    Scenario {
        head: HASTE,
        steps: &[
            Open("/"),
            Respond(&[(429, 9999)]),
            Run(ONE),
            Stored(&["One"]),
            Until("pauses.length === 1 && pauses[0] > 300000 && pauses[0] <= 300500"),
        ],
        ..Scenario::named("no server has a page wait for more than five minutes")
    },
];

const OLD: &str = "<script nonce=watch>localStorage.setItem('_svctrack ' + location.origin + '/analytics/{{tenant}} ' +\
     '01800000-0000-7000-8000-000000000000', JSON.stringify({externalId: '7', action: 'Old'}))</script>";
/// Pauses that the tracker requests are recorded, and shortened. Failed requests are counted in the page: a browser
/// retries a request where a reused connection was closed.
const HASTE: &str = "<script nonce=watch>var pauses = [], failed = 0; const wait = setTimeout, ask = fetch;\
     window.setTimeout = (action, ms) => { const isPause = ms >= 250 && ms !== 5000 && ms !== 30000; if (isPause) pauses.push(ms);\
     return wait(action, isPause ? 1 : ms) };\
     window.fetch = (...given) => ask(...given).catch((error) => { failed++; throw error })</script>";

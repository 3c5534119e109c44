//! How much time the script takes: of the page's thread, and from `track` to the server's `OK`. Measured on
//! demand, on a machine with nothing else to do:
//! `cargo test -p svctrack-tests --test suites -- --ignored --nocapture browser::speed`

use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    browser::{Browser, Kind, Setup},
    process::Server,
    site::{Page, Site},
};
use svctrack_web::{Addresses, Loads, snippet};

/// How long a task of the script may have the page's thread, in milliseconds: what a page with the script takes
/// more than the same page without it.
const MAX_TASK_MS: f64 = 10.0;
/// What 50 calls of `track` in one breath may take the page, in milliseconds.
const MAX_BURST_MS: f64 = 10.0;
/// How often each page is opened. The median counts, so that one pause of the machine does not decide.
const RUNS: usize = 5;
/// Notes the longest time for which the page's thread was not free, and when the server has stored what.
const WATCH: &str = "<script>let last = performance.now(); window.longest = 0; window.stored = [];\
    const beat = () => { const now = performance.now(); longest = Math.max(longest, now - last - 4); last = now; setTimeout(beat) };\
    setTimeout(beat); console.info = (line) => line.includes('is stored') && stored.push(performance.now());\
    window.sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));\
    window.middle = (times) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)];</script>";
/// Tracks fifty times, each when the one before is stored; then fifty times in one breath.
const TRACK: &str = "const done = arguments[0]; (async () => {\
    while (stored.length < 2) await sleep(); await sleep(500);\
    const first = stored[1]; const atStart = longest; longest = 0; const answered = []; const calls = [];\
    for (let n = 0; n < 50; n++) { const before = stored.length; const start = performance.now(); svctrack.track('A');\
      calls.push(performance.now() - start); while (stored.length === before) await sleep(); answered.push(stored[before] - start); }\
    const during = longest; await sleep(100); const before = stored.length; const start = performance.now();\
    for (let n = 0; n < 50; n++) svctrack.track('B');\
    const burst = performance.now() - start; longest = 0;\
    while (stored.length < before + 50) await sleep();\
    done({first, atStart, during, after: longest, call: middle(calls), burst, answered: middle(answered)}) })()";
/// Sends as many without the script.
const SEND: &str = "const done = arguments[0]; (async () => {\
    await sleep(1000); const atStart = longest; longest = 0; const answered = [];\
    const send = async () => { const start = performance.now();\
      await fetch(location.origin + '/analytics/{{tenant}}', {method: 'POST', body: '{\"externalId\":\"7\",\"action\":\"B\"}'});\
      answered.push(performance.now() - start); };\
    for (let n = 0; n < 50; n++) await send();\
    const during = longest; longest = 0;\
    for (let n = 0; n < 50; n++) await send();\
    done({atStart, during, after: longest, answered: middle(answered)}) })()";
/// The parts of a page's life in which the longest task is looked for.
const PARTS: &[&str] = &["atStart", "during", "after"];

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement, for a machine with nothing else to do"]
async fn the_script_is_never_in_the_way() {
    println!(
        "| browser | engine | longest task at the start, with and without the script, ms | while 50 events are sent | after 50 calls in one breath | a call of `track` | 50 calls in one breath | page to first event stored | `track` to `OK` | bare fetch |"
    );
    let mut too_long = Vec::new();
    for kind in [Kind::Chromium, Kind::Firefox] {
        let bare = measure(kind, "", SEND).await;
        for (engine, head) in ENGINES {
            let head = format!("{head}{{{{snippet}}}}");
            let found = measure(kind, &head, TRACK).await;
            let tasks: Vec<_> =
                PARTS.iter().map(|part| (median(&found, part), median(&bare, part))).collect();
            let shown: Vec<_> =
                tasks.iter().map(|(with, without)| format!("{with:.1}, {without:.1}")).collect();
            let of = |name| median(&found, name);
            println!(
                "| {kind:?} | {engine} | {} | {:.2} | {:.1} | {:.0} | {:.1} | {:.1} |",
                shown.join(" | "),
                of("call"),
                of("burst"),
                of("first"),
                of("answered"),
                median(&bare, "answered")
            );
            if tasks.iter().any(|(with, without)| with - without > MAX_TASK_MS)
                || of("burst") > MAX_BURST_MS
            {
                too_long.push((kind, engine));
            }
        }
    }
    assert!(too_long.is_empty(), "{too_long:?}");
}

/// Each engine, and what a page has before the snippet for it.
const ENGINES: [(&str, &str); 2] =
    [("WebAssembly", ""), ("JavaScript", "<script>delete window.WebAssembly</script>")];

fn median(runs: &[serde_json::Value], name: &str) -> f64 {
    let mut all: Vec<_> = runs.iter().map(|run| run[name].as_f64().unwrap()).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// What a script finds in a page with such a head, each time in a browser of its own.
async fn measure(kind: Kind, head: &str, script: &str) -> Vec<serde_json::Value> {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with_acme(folder.path(), &Token::generate().unwrap()).await;
    let site = Site::start(&server).await;
    let snippet = format!(
        "{}<script>svctrack.init({{debug: true}});\
         svctrack.identify('7', {{companyExternalId: 'acme'}}); svctrack.track('First');</script>",
        snippet(&Addresses::new(&site.base), TENANT, Loads::Newest)
    );
    let html =
        format!("<!doctype html><head>{WATCH}{}</head>", head.replace("{{snippet}}", &snippet));
    site.put("/", Page { html, csp: String::new() });
    let script = script.replace("{{tenant}}", TENANT);
    let mut runs = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let browser = Browser::start_as(kind, Setup::Usual).await;
        browser.page.goto(&format!("{}/", site.base)).await.unwrap();
        runs.push(browser.page.execute_async(&script, Vec::new()).await.unwrap());
        browser.close().await;
    }
    server.kill().await;
    runs
}

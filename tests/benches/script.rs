//! How much time the script takes: of the page's thread, and from `track` to the server's `OK`.

use std::time::Duration;

use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    browser::{Browser, Kind, Setup},
    process::Server,
    site::{Page, Site},
};
use svctrack_web::{Addresses, SnippetScript, snippet};

use crate::report::{Case, Report, Target, median};

/// How long a task of the script may have the page's thread, in milliseconds: what a page with the script takes
/// more than the same page without it.
const MAX_TASK_MS: f64 = 10.0;
/// What 50 calls of `track` in one breath may take the page, in milliseconds.
const MAX_BURST_MS: f64 = 10.0;
/// How often each page is opened. The median counts, so that one pause of the machine does not decide.
const RUNS: usize = 5;
/// How long a browser has to come to rest after its start.
const SETTLED_AFTER: Duration = Duration::from_secs(3);
/// The storage of a page that keeps much in it, which is none of the script's business.
const FILLED: &str = "<script>for (let n = 0; n < 4000; n++) localStorage.setItem('own ' + n, 'x'.repeat(500))</script>";
/// Notes the longest time for which the page's thread was not free, and when the server has stored what.
const WATCH: &str = "<script>let last = performance.now(); window.longest = 0; window.stored = [];\
    const beat = () => { const now = performance.now(); longest = Math.max(longest, now - last - 4); last = now; setTimeout(beat) };\
    setTimeout(beat); console.info = (line) => line.endsWith(' stored') && stored.push(performance.now());\
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
const PARTS: [(&str, &str); 3] = [
    ("atStart", "at the start"),
    ("during", "while 50 events are sent"),
    ("after", "after 50 calls in one breath"),
];

pub(crate) async fn measure(report: &mut Report) {
    for kind in [Kind::Chromium, Kind::Firefox] {
        let bare = runs(kind, "", SEND).await;
        for (engine, head) in ENGINES {
            let found = runs(kind, &format!("{head}{{{{snippet}}}}"), TRACK).await;
            let mut row = |what: &str, baseline: &str, target, figures| {
                let body = format!("{kind:?}, {engine}");
                let case = Case { what, baseline, connections: 1, body, durable: None };
                report.note(&case, "ms", target, figures);
            };
            for (part, when) in PARTS {
                let without = median(&mut all(&bare, part));
                let more = all(&found, part).into_iter().map(|with| with - without).collect();
                let what = format!("script: longest task {when}, beyond that of a page without it");
                row(&what, &format!("{without:.1} ms without"), Target::Below(MAX_TASK_MS), more);
            }
            let what = "script: 50 calls of `track` in one breath";
            row(what, "", Target::Below(MAX_BURST_MS), all(&found, "burst"));
            row("script: a call of `track`", "", Target::None, all(&found, "call"));
            row("script: page to first event stored", "", Target::None, all(&found, "first"));
            let fetch = format!("{:.1} ms a bare fetch", median(&mut all(&bare, "answered")));
            row("script: `track` to `OK`", &fetch, Target::None, all(&found, "answered"));
        }
    }
}

/// Each engine, and what a page has before the snippet for it.
const ENGINES: [(&str, &str); 2] =
    [("WebAssembly", ""), ("JavaScript", "<script>delete window.WebAssembly</script>")];

/// A figure of each run.
fn all(runs: &[serde_json::Value], name: &str) -> Vec<f64> {
    runs.iter().map(|run| run[name].as_f64().unwrap()).collect()
}

/// What a script finds in a page with such a head, each time in a browser of its own.
async fn runs(kind: Kind, head: &str, script: &str) -> Vec<serde_json::Value> {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with_acme(folder.path(), &Token::generate().unwrap()).await;
    let site = Site::start(&server).await;
    let snippet = format!(
        "{}<script>svctrack.init({{debug: true}});\
         svctrack.identify('7', {{companyExternalId: 'acme'}}); svctrack.track('First');</script>",
        snippet(&Addresses::new(&site.base), TENANT, SnippetScript::Newest)
    );
    let html =
        format!("<!doctype html><head>{WATCH}{}</head>", head.replace("{{snippet}}", &snippet));
    site.put("/", Page { html, csp: String::new() });
    site.put("/blank", Page { html: format!("<!doctype html>{FILLED}"), csp: String::new() });
    let script = script.replace("{{tenant}}", TENANT);
    let mut runs = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let browser = Browser::start_as(kind, Setup::Usual).await;
        // What a browser does when it starts is not the page's.
        browser.page.goto(&format!("{}/blank", site.base)).await.unwrap();
        tokio::time::sleep(SETTLED_AFTER).await;
        browser.page.goto(&format!("{}/", site.base)).await.unwrap();
        runs.push(browser.page.execute_async(&script, Vec::new()).await.unwrap());
        browser.close().await;
    }
    server.kill().await;
    runs
}

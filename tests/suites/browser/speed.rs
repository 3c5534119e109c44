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

/// How long a task may have the page's thread, in milliseconds, beyond what the machine itself takes.
const MAX_TASK_MS: f64 = 10.0;
/// Notes each time at which the page's thread is free, about every 4 ms, and when the server has stored what.
const WATCH: &str = "<script>let last = performance.now(); window.longest = 0; window.stored = [];\
    const beat = () => { const now = performance.now(); longest = Math.max(longest, now - last - 4); last = now; setTimeout(beat) };\
    setTimeout(beat); console.info = (line) => line.includes('is stored') && stored.push(performance.now());</script>";
/// Tracks fifty times, each when the one before is stored; then sends fifty times without the script.
const MEASURE: &str = "const done = arguments[0]; (async () => {\
    const sleep = () => new Promise((resolve) => setTimeout(resolve));\
    const middle = (times) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)];\
    while (stored.length < 2) await sleep();\
    const first = stored[1]; const atStart = longest; longest = 0; const tracked = []; const bare = []; let call = 0;\
    for (let n = 0; n < 50; n++) { const before = stored.length; const start = performance.now(); svctrack.track('A'); call = Math.max(call, performance.now() - start);\
      while (stored.length === before) await sleep(); tracked.push(stored[before] - start); }\
    const during = longest; longest = 0;\
    for (let n = 0; n < 50; n++) { const start = performance.now();\
      await fetch(location.origin + '/analytics/{{tenant}}', {method: 'POST', body: '{\"externalId\":\"7\",\"action\":\"B\"}'});\
      bare.push(performance.now() - start); }\
    done({first, atStart, during, call, without: longest, tracked: middle(tracked), bare: middle(bare)}) })()";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement, for a machine with nothing else to do"]
async fn the_script_is_never_in_the_way() {
    println!(
        "| browser | engine | longest task until the first event is stored, ms | while 50 events are sent | while 50 are sent without the script | longest call of `track` | page to first event stored | `track` to `OK`, median | bare fetch, median |"
    );
    let mut longest: f64 = 0.0;
    for kind in [Kind::Chromium, Kind::Firefox] {
        for engine in ["", "<script>delete window.WebAssembly</script>"] {
            let found = measure(kind, engine).await;
            let ms = |name: &str| found[name].as_f64().unwrap();
            let engine = if engine.is_empty() { "WebAssembly" } else { "JavaScript" };
            println!(
                "| {kind:?} | {engine} | {:.1} | {:.1} | {:.1} | {:.1} | {:.0} | {:.1} | {:.1} |",
                ms("atStart"),
                ms("during"),
                ms("without"),
                ms("call"),
                ms("first"),
                ms("tracked"),
                ms("bare")
            );
            longest = longest.max(ms("during") - ms("without"));
        }
    }
    assert!(longest <= MAX_TASK_MS, "{longest} ms");
}

async fn measure(kind: Kind, head: &str) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with_acme(folder.path(), &Token::generate().unwrap()).await;
    let site = Site::start(&server).await;
    let html = format!(
        "<!doctype html><head>{WATCH}{head}{}<script>svctrack.init({{debug: true}});\
         svctrack.identify('7', {{companyExternalId: 'acme'}}); svctrack.track('First');</script></head>",
        snippet(&Addresses::new(&site.base), TENANT, Loads::Newest)
    );
    site.put("/", Page { html, csp: String::new() });
    let browser = Browser::start_as(kind, Setup::Usual).await;
    browser.page.goto(&format!("{}/", site.base)).await.unwrap();
    let script = MEASURE.replace("{{tenant}}", TENANT);
    let found = browser.page.execute_async(&script, Vec::new()).await.unwrap();
    browser.close().await;
    server.kill().await;
    found
}

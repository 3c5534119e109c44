//! A scenario: a page with the snippet, what befalls it, and which events are on disk in the end.

use std::{
    collections::{BTreeSet, HashSet},
    panic::AssertUnwindSafe,
    time::{Duration, Instant},
};

use fantoccini::wd::WindowHandle;
use futures_util::FutureExt as _;
use serde_json::Value;
use svctrack_core::value::Timestamp;
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    browser::{Browser, Kind, Setup},
    process::{PATIENCE, Server},
    site::{Page, Site},
};
use svctrack_web::{Addresses, SnippetScript, snippet};

/// Which engine makes the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    WebAssembly,
    JavaScript,
}

/// What a scenario does, one step after the other.
#[derive(Clone, Copy, Debug)]
pub enum Do {
    /// Opens a page of the site. The paths `/` and `/other` have the snippet and the scenario's script.
    Open(&'static str),
    /// Opens one under a name of its own.
    OpenAt(&'static str, &'static str),
    /// Leaves the page once an expression in it is true, and comes back, until the browser has retained the page
    /// meanwhile, which counts this in `kept`. Now and then a browser loads it again: Firefox once in fifty times, when
    /// it has not heard yet that the page's last request is over. Each time one more of these actions is on disk.
    LeaveUntilKept(&'static str, &'static str),
    /// Opens a page in another tab.
    Tab(&'static str),
    /// Closes the tab, and continues in the first one.
    CloseTab,
    /// Runs a script in the page.
    Run(&'static str),
    /// Waits until an expression in the page is true.
    Until(&'static str),
    /// Whether the server cannot be reached from now on.
    Offline(bool),
    /// The responses to the next events: a status and a `Retry-After`.
    Respond(&'static [(u16, u64)]),
    /// The server says of the next events that it has parked them, and why.
    Park(&'static str),
    /// Waits until a number of events have come to the server or were lost on the way.
    Calls(usize),
    /// These actions are on disk, each once, in the order of their dates; nothing waits any more.
    Stored(&'static [&'static str]),
    /// The same, while the page cannot know that they are, so that it keeps them.
    Arrived(&'static [&'static str]),
    /// These messages were sent, in this order: JSON, without the members that differ each time.
    Sent(&'static [&'static str]),
    /// The console says this of one of the calls.
    Says(&'static str),
    /// The events came no faster than this, in milliseconds.
    Apart(u64),
    /// No event has left the browser, and nothing is stored in it.
    Nothing,
}

/// A scenario, by default of a plain page.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub name: &'static str,
    pub setup: Setup,
    /// The engines with which it is run.
    pub engines: &'static [Engine],
    /// The policy of the pages.
    pub csp: &'static str,
    /// HTML before the snippet.
    pub head: &'static str,
    /// A script after it, on every page.
    pub script: &'static str,
    /// Files of the bundle that are not there.
    pub missing: &'static [&'static str],
    /// Files of the bundle that never come.
    pub slow: &'static [&'static str],
    /// Whether the pages are of another site than the server.
    pub is_third_party: bool,
    pub steps: &'static [Do],
}

pub const BOTH: &[Engine] = &[Engine::WebAssembly, Engine::JavaScript];

impl Scenario {
    /// One on a plain page, with both engines.
    pub const fn named(name: &'static str) -> Self {
        Self {
            name,
            setup: Setup::Usual,
            engines: BOTH,
            csp: "",
            head: "",
            script: "",
            missing: &[],
            slow: &[],
            is_third_party: false,
            steps: &[],
        }
    }
}

/// Before everything else in a page: what the console says, what is thrown and that the hint is due is written down.
const WATCH: &str = "<script nonce=watch>window.lines = []; window.faults = [];\
    for (const name of ['info', 'warn']) console[name] = (...said) => lines.push(said.join(' '));\
    addEventListener('error', (event) => faults.push(String(event.message)));\
    addEventListener('unhandledrejection', (event) => faults.push(String(event.reason)));\
    window.hasHinted = false; { const wait = setTimeout;\
    window.setTimeout = (action, ms) => wait(() => { action(); window.hasHinted ||= ms === 5000 }, ms) }</script>";
/// The page has had its chance to say why nothing is sent: the first timer of five seconds, which is that of the hint,
/// has fired.
pub const HAS_HINTED: &str = "hasHinted";
/// How many entries of the tracker the page's storage has.
const ENTRIES: &str = "(() => { try { return Object.keys(localStorage).filter((key) => key.startsWith('_svctrack')).length }\
    catch { return 0 } })()";
/// How long nothing must come for there to be nothing to come: longer than the tracker waits for the page to
/// be idle, and than its first tries.
const SILENCE: Duration = Duration::from_millis(2_500);

/// Runs the scenarios in a browser, each with each of its engines, and names all that do not hold.
pub async fn run_all(kind: Kind, scenarios: &[Scenario]) {
    let only = std::env::var("SCENARIO").unwrap_or_default();
    let setups = [Setup::Usual, Setup::Cookieless, Setup::Private];
    let mut failed = Vec::new();
    for setup in setups {
        let scenarios: Vec<_> = scenarios
            .iter()
            .filter(|scenario| scenario.setup == setup && scenario.name.contains(&only))
            .collect();
        if scenarios.is_empty() {
            continue;
        }
        let browser = Browser::start_as(kind, setup).await;
        for scenario in scenarios {
            for engine in scenario.engines {
                let run = AssertUnwindSafe(run(&browser, scenario, *engine)).catch_unwind();
                if run.await.is_err() {
                    failed.push((scenario.name, *engine));
                }
            }
        }
        browser.close().await;
    }
    assert!(failed.is_empty(), "in {kind:?}: {failed:#?}");
}

/// A message without its id and its times, once they are what they should be.
fn without_changing(message: &Value) -> Value {
    let mut message = message.clone();
    let members = message.as_object_mut().unwrap();
    for name in ["date", "sentAt"] {
        let time = members.remove(name).unwrap();
        assert!(Timestamp::parse(time.as_str().unwrap()).is_some(), "{name}: {time}");
    }
    let id = members.remove("messageId").unwrap().as_str().unwrap().to_owned();
    let digits: String = id.split('-').collect();
    assert_eq!((id.len(), digits.len(), digits.get(12..13)), (36, 32, Some("7")), "{id}");
    assert!(digits.chars().all(|digit| digit.is_ascii_hexdigit()), "{id}");
    message
}

/// A scenario that is on.
struct Stage<'a> {
    browser: &'a Browser,
    scenario: &'a Scenario,
    site: Site,
    server: Server,
    first: WindowHandle,
}

async fn run(browser: &Browser, scenario: &Scenario, engine: Engine) {
    eprintln!("{} ({engine:?})", scenario.name);
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with_acme(folder.path(), &Token::generate().unwrap()).await;
    let site = Site::start(&server).await;
    let owned = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    site.weather().missing = owned(scenario.missing);
    site.weather().slow = owned(scenario.slow);
    for path in ["/", "/other"] {
        site.put(path, page(&site, scenario, engine));
    }
    let blank = Page { html: "<!doctype html>".to_owned(), csp: String::new() };
    site.put("/blank", blank);
    let first = browser.page.window().await.unwrap();
    let stage = Stage { browser, scenario, site, server, first };
    let steps = AssertUnwindSafe(stage.run(engine)).catch_unwind().await;
    stage.clean().await;
    stage.server.kill().await;
    if let Err(panic) = steps {
        std::panic::resume_unwind(panic);
    }
}

fn page(site: &Site, scenario: &Scenario, engine: Engine) -> Page {
    let plain = match engine {
        Engine::JavaScript if scenario.engines == BOTH => {
            "<script nonce=watch>delete window.WebAssembly</script>"
        }
        _ => "",
    };
    let snippet = snippet(&Addresses::new(&site.base), TENANT, SnippetScript::Newest)
        .replace("<script>", "<script nonce=watch>");
    let html = format!(
        "<!doctype html><html><head>{WATCH}{plain}{}{snippet}<script nonce=watch>svctrack.init({{debug: true}});{}</script>\
         </head><body></body></html>",
        scenario.head, scenario.script
    );
    let html = html.replace("{{tenant}}", TENANT);
    Page { html, csp: scenario.csp.to_owned() }
}

impl Stage<'_> {
    async fn run(&self, engine: Engine) {
        for (number, step) in self.scenario.steps.iter().enumerate() {
            let step_done = AssertUnwindSafe(self.step(*step)).catch_unwind().await;
            if let Err(panic) = step_done {
                let said =
                    self.browser.page.execute("return [window.lines, window.faults]", vec![]).await;
                eprintln!("step {number} {step:?}; the page said: {said:#?}");
                for call in self.site.calls() {
                    eprintln!("  {:?} {}", call.status, call.message);
                }
                std::panic::resume_unwind(panic);
            }
        }
        // Nothing is thrown into the page.
        self.until("!window.faults?.length").await;
        let lines = self.browser.run("return window.lines || []").await.to_string();
        let other = if engine == Engine::JavaScript { "WebAssembly" } else { "JavaScript" };
        assert!(!lines.contains(&format!("engine: {other}")), "{lines}");
    }

    async fn step(&self, step: Do) {
        let Self { browser, site, .. } = self;
        match step {
            Do::Open(path) => browser.page.goto(&self.address(path)).await.unwrap(),
            Do::OpenAt(host, path) => {
                let address = self.address(path).replace("127.0.0.1", host);
                browser.page.goto(&address).await.unwrap();
            }
            Do::LeaveUntilKept(expression, action) => {
                let deadline = Instant::now() + PATIENCE;
                let mut shown = vec![action];
                while browser.run("return window.kept > 0").await != Value::Bool(true) {
                    assert!(Instant::now() < deadline, "the browser never kept the page");
                    self.until(expression).await;
                    browser.page.goto(&self.address("/blank")).await.unwrap();
                    browser.page.back().await.unwrap();
                    shown.push(action);
                }
                self.until(expression).await;
                self.check_arrived(&shown).await;
            }
            Do::Tab(path) => {
                let tab = browser.page.new_window(true).await.unwrap();
                browser.page.switch_to_window(tab.handle).await.unwrap();
                browser.page.goto(&self.address(path)).await.unwrap();
            }
            Do::CloseTab => {
                browser.page.close_window().await.unwrap();
                browser.page.switch_to_window(self.first.clone()).await.unwrap();
            }
            Do::Run(script) => drop(browser.run(script).await),
            Do::Until(expression) => self.until(expression).await,
            Do::Offline(is_offline) => site.weather().is_offline = is_offline,
            Do::Respond(responses) => site.weather().responses.extend(responses),
            Do::Park(code) => site.weather().parked = Some(code),
            Do::Calls(count) => {
                let deadline = Instant::now() + PATIENCE;
                while site.calls().len() < count {
                    assert!(Instant::now() < deadline, "{} of {count} calls", site.calls().len());
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            Do::Arrived(actions) => self.check_arrived(actions).await,
            Do::Stored(actions) => {
                self.check_arrived(actions).await;
                self.until(&format!("{ENTRIES} === 0")).await;
                self.check_arrived(actions).await;
            }
            Do::Sent(messages) => self.check_sent(messages).await,
            Do::Says(text) => self.until(&format!("lines.join().includes({text:?})")).await,
            Do::Apart(ms) => {
                let calls = site.calls();
                for pair in calls.windows(2) {
                    let apart = pair[1].at - pair[0].at;
                    assert!(apart >= Duration::from_millis(ms), "{apart:?}");
                }
            }
            Do::Nothing => {
                tokio::time::sleep(SILENCE).await;
                let calls = site.calls();
                assert!(calls.is_empty(), "{calls:?}");
                self.until(&format!("{ENTRIES} === 0")).await;
                let cookies =
                    browser.run("try { return document.cookie } catch { return '' }").await;
                assert!(!cookies.as_str().unwrap().contains("_svctrack"), "{cookies}");
            }
        }
    }

    fn address(&self, path: &str) -> String {
        let host = if self.scenario.is_third_party { "localhost" } else { "127.0.0.1" };
        format!("{}{path}", self.site.base.replace("127.0.0.1", host))
    }

    async fn until(&self, expression: &str) {
        let deadline = Instant::now() + PATIENCE;
        let script = format!("return Boolean({expression})");
        while self.browser.run(&script).await != Value::Bool(true) {
            assert!(Instant::now() < deadline, "never: {expression}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn check_arrived(&self, actions: &[&str]) {
        let deadline = Instant::now() + PATIENCE;
        let mut found = self.stored().await;
        while found.len() < actions.len() {
            assert!(Instant::now() < deadline, "{found:?} of {actions:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
            found = self.stored().await;
        }
        assert_eq!(found, actions);
        let calls = self.site.calls();
        let ids: HashSet<_> =
            calls.iter().map(|call| call.message["messageId"].to_string()).collect();
        let dates: BTreeSet<_> =
            calls.iter().map(|call| call.message["date"].to_string()).collect();
        assert_eq!(ids.len(), dates.len(), "each message has a date and an id of its own");
    }

    async fn check_sent(&self, expected: &[&str]) {
        // A message is sent again where its page was left before the response came.
        let messages = || {
            let mut ids = HashSet::new();
            let mut calls = self.site.calls();
            calls.retain(|call| ids.insert(call.message["messageId"].to_string()));
            calls
        };
        let deadline = Instant::now() + PATIENCE;
        while messages().len() < expected.len() {
            assert!(Instant::now() < deadline, "{:?} of {expected:?}", messages());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let sent: Vec<_> = messages().iter().map(|call| without_changing(&call.message)).collect();
        let expected: Vec<Value> =
            expected.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        assert_eq!(sent, expected);
    }

    /// The actions on disk, in the order of their dates.
    async fn stored(&self) -> Vec<String> {
        let found = self.server.client.get("/activities?limit=2000").await.json();
        let mut found = found.as_array().unwrap().clone();
        found.sort_by_key(|activity| activity["date"].as_str().unwrap().to_owned());
        found.iter().map(|activity| activity["action"].as_str().unwrap().to_owned()).collect()
    }

    /// Leaves the browser as if nothing had been.
    async fn clean(&self) {
        let page = &self.browser.page;
        for window in page.windows().await.unwrap() {
            if window != self.first {
                page.switch_to_window(window).await.unwrap();
                page.close_window().await.unwrap();
            }
        }
        page.switch_to_window(self.first.clone()).await.unwrap();
        self.site.weather().is_offline = true;
        let _ = page.goto(&format!("{}/blank", self.site.base)).await;
        let _ = page.delete_all_cookies().await;
        let _ = page.goto("about:blank").await;
    }
}

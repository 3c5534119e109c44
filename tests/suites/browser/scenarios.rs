//! Faults on the way of an event to the server. In each scenario every event is on disk once, in the order of its page,
//! or is not sent for the reason that is given.

use svctrack_tests::browser::{Kind, Setup};
use svctrack_web::{GLUE_PATH, WASM_PATH};

use super::{
    queue::QUEUE,
    scenario::{
        BOTH,
        Do::{
            Apart, Arrived, Calls, CloseTab, LeaveUntilKept, Nothing, Offline, Open, OpenAt,
            Respond, Run, Says, Sent, Stored, Tab, Until,
        },
        Engine, HAS_HINTED, Scenario, run_all,
    },
    wire::WIRE,
};

/// Identifies the user and tracks an event.
pub const ONE: &str = "svctrack.identify('7', {companyExternalId: 'acme'}); svctrack.track('One');";
const IDENTIFY: &str = "svctrack.identify('7', {companyExternalId: 'acme'})";
pub const TRACK_TWO: &str = "svctrack.track('Two')";
/// That the engine has come.
const HAS_ENGINE: &str = "lines.some((line) => line.includes('engine: '))";
/// That the queue has been tried and waits.
const IS_WAITING: &str = "lines.some((line) => line.includes(' queued, '))";
/// That an `identify` is stored, and a view for each time that the page was shown.
const ALL_STORED: &str = "lines.filter((line) => line.endsWith(' stored')).length === 2 + kept";
pub const ONLINE: &str = "dispatchEvent(new Event('online'))";
const HIDE: &str = "Object.defineProperty(document, 'hidden', {value: true, configurable: true}); \
     document.dispatchEvent(new Event('visibilitychange'))";
const SHOW: &str = "delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))";
/// Leaves the page in the same breath.
const LEAVE: &str = "location.href = '/blank'";

/// A strict policy, without and with what WebAssembly needs.
const CSP: &str = "default-src 'none'; script-src 'self' 'nonce-watch'; connect-src 'self'";
const CSP_OF_WASM: &str =
    "default-src 'none'; script-src 'self' 'nonce-watch' 'wasm-unsafe-eval'; connect-src 'self'";
/// Global Privacy Control, where the browser has no setting for it.
const PRIVATE: &str = "<script nonce=watch>navigator.globalPrivacyControl ?? \
     Object.defineProperty(navigator, 'globalPrivacyControl', {value: true})</script>";

/// The one line about Global Privacy Control, for which there is no warning.
const IS_OPTED_OUT: &str = "lines.filter((line) => line === 'svctrack: tracking is off: the browser sends Global Privacy Control; \
     svctrack.consent(\"granted\") allows it').length === 1";

const WASM: &[Engine] = &[Engine::WebAssembly];
const JAVASCRIPT: &[Engine] = &[Engine::JavaScript];

#[tokio::test(flavor = "multi_thread")]
async fn every_scenario_holds_in_chromium() {
    run_all(Kind::Chromium, &[SCENARIOS, QUEUE, WIRE].concat()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_scenario_holds_in_firefox() {
    run_all(Kind::Firefox, &[SCENARIOS, QUEUE, WIRE].concat()).await;
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        script: "svctrack.identify('7', {companyExternalId: 'acme'}); svctrack.track('One'); svctrack.track('Two');",
        steps: &[Open("/"), Run("svctrack.track('Three')"), Stored(&["One", "Two", "Three"])],
        ..Scenario::named("calls before and after the script is there arrive")
    },
    Scenario {
        engines: WASM,
        csp: CSP_OF_WASM,
        script: ONE,
        steps: &[
            Open("/"),
            Stored(&["One"]),
            Until("lines.some((line) => line.includes('engine: WebAssembly'))"),
        ],
        ..Scenario::named("a strict policy that allows WebAssembly runs it")
    },
    Scenario {
        engines: JAVASCRIPT,
        csp: CSP,
        script: ONE,
        steps: &[
            Open("/"),
            Stored(&["One"]),
            Until("lines.some((line) => line.includes('engine: JavaScript'))"),
        ],
        ..Scenario::named("a strict policy without WebAssembly is sent from the loader")
    },
    Scenario {
        engines: JAVASCRIPT,
        head: "<script>delete window.WebAssembly</script>",
        script: ONE,
        steps: &[Open("/"), Stored(&["One"])],
        ..Scenario::named("a browser without WebAssembly is sent from the loader")
    },
    Scenario {
        engines: JAVASCRIPT,
        missing: &[WASM_PATH],
        script: ONE,
        steps: &[Open("/"), Stored(&["One"])],
        ..Scenario::named("a missing module is stood in for")
    },
    Scenario {
        engines: JAVASCRIPT,
        missing: &[GLUE_PATH],
        script: ONE,
        steps: &[Open("/"), Stored(&["One"])],
        ..Scenario::named("a missing glue is stood in for")
    },
    Scenario {
        is_third_party: true,
        script: ONE,
        steps: &[Open("/"), Run(TRACK_TWO), Stored(&["One", "Two"])],
        ..Scenario::named("a page of another site is tracked")
    },
    Scenario {
        setup: Setup::Cookieless,
        script: ONE,
        steps: &[
            Open("/"),
            Run(TRACK_TWO),
            Stored(&["One", "Two"]),
            Until("(() => { try { localStorage; return false } catch { return true } })()"),
        ],
        ..Scenario::named("without cookies and storage events arrive all the same")
    },
    Scenario {
        setup: Setup::Cookieless,
        script: ONE,
        steps: &[
            Open("/"),
            Stored(&["One"]),
            Run("svctrack.track('Left'); location.href = '/blank'"),
            Arrived(&["One", "Left"]),
        ],
        ..Scenario::named("without cookies and storage the last event of a page arrives")
    },
    Scenario {
        steps: &[
            Open("/"),
            Offline(true),
            Run(ONE),
            Until(IS_WAITING),
            Run(TRACK_TWO),
            Offline(false),
            Run(ONLINE),
            Stored(&["One", "Two"]),
        ],
        ..Scenario::named("what is tracked offline is sent when the browser is online again")
    },
    Scenario {
        steps: &[
            Open("/"),
            Offline(true),
            Run(ONE),
            Until(IS_WAITING),
            Open("/blank"),
            Offline(false),
            Open("/other"),
            Stored(&["One"]),
        ],
        ..Scenario::named("what a page could not send is sent by the next one")
    },
    Scenario {
        steps: &[
            Open("/"),
            Offline(true),
            Run(ONE),
            Until(IS_WAITING),
            Run(HIDE),
            Until("lines.some((line) => line.includes('on page unload'))"),
            Offline(false),
            Run(SHOW),
            Stored(&["One"]),
        ],
        ..Scenario::named("what was lost while a page was hidden is sent when it is seen again")
    },
    Scenario {
        steps: &[
            Open("/"),
            // A page that another tab hides before it has an engine takes the one in JavaScript.
            Until(HAS_ENGINE),
            Tab("/other"),
            Offline(true),
            Run(ONE),
            Until(IS_WAITING),
            CloseTab,
            Offline(false),
            Run(ONLINE),
            Stored(&["One"]),
        ],
        ..Scenario::named("what a closed tab has left is sent by another one")
    },
    Scenario {
        steps: &[
            Open("/"),
            Run(IDENTIFY),
            Calls(1),
            Tab("/other"),
            Run("svctrack.track('One'); svctrack.track('Two')"),
            Stored(&["One", "Two"]),
            CloseTab,
            Run("svctrack.track('Three')"),
            Stored(&["One", "Two", "Three"]),
        ],
        ..Scenario::named("two tabs share who is there and send their own events")
    },
    Scenario {
        steps: &[
            Open("/"),
            Respond(&[(503, 0), (503, 0)]),
            Run(ONE),
            Run(TRACK_TWO),
            Stored(&["One", "Two"]),
            Calls(5),
        ],
        ..Scenario::named("a server that is not ready is asked again")
    },
    Scenario {
        steps: &[
            Open("/"),
            Respond(&[(429, 2)]),
            Run(IDENTIFY),
            Calls(2),
            Apart(2000),
            Run("svctrack.track('One')"),
            Stored(&["One"]),
        ],
        ..Scenario::named("a server that asks for patience gets it")
    },
    Scenario {
        steps: &[
            Open("/"),
            Respond(&[(400, 0)]),
            Run(IDENTIFY),
            Calls(1),
            Run("svctrack.track('One')"),
            Stored(&["One"]),
            Sent(&[
                r#"{"externalId":"7","companyExternalId":"acme"}"#,
                r#"{"externalId":"7","companyExternalId":"acme","action":"One"}"#,
            ]),
        ],
        ..Scenario::named("what the server refuses is given up and stops nothing")
    },
    Scenario {
        script: "sessionStorage.calm || (svctrack.identify('7', {companyExternalId: 'acme'}), svctrack.track('One'))",
        steps: &[
            Open("/"),
            Stored(&["One"]),
            Run(
                "for (let n = 10; n < 30; n++) svctrack.track('Event ' + n); location.href = '/blank'",
            ),
            Arrived(&TWENTY),
            Until("location.pathname === '/blank'"),
            Run("sessionStorage.calm = 1; location.href = '/other'"),
            Until("window.lines && location.pathname === '/other'"),
            Stored(&TWENTY),
        ],
        ..Scenario::named("twenty events in the breath in which the page is left arrive")
    },
    Scenario {
        engines: JAVASCRIPT,
        slow: &[WASM_PATH],
        script: ONE,
        steps: &[Open("/"), Until("svctrack.isLoaded"), Run(LEAVE), Arrived(&["One"])],
        ..Scenario::named("a page that is left before the engine is there sends all the same")
    },
    Scenario {
        engines: JAVASCRIPT,
        slow: &[WASM_PATH],
        script: ONE,
        steps: &[Open("/"), Stored(&["One"])],
        ..Scenario::named("an engine that does not come is stood in for")
    },
    Scenario {
        steps: &[
            Open("/"),
            Run(ONE),
            Stored(&["One"]),
            Respond(&[(503, 20)]),
            Run(TRACK_TWO),
            Until(IS_WAITING),
            Run(
                "for (let n = 10; n < 30; n++) svctrack.track('Event ' + n, {info: {text: 'x'.repeat(5000)}}); location.href = '/blank'",
            ),
            Until("location.pathname === '/blank'"),
            Open("/other"),
            Stored(&TWO_AND_TWENTY),
        ],
        ..Scenario::named("what is too much for a page that is left is sent by the next one")
    },
    Scenario {
        setup: Setup::Private,
        head: PRIVATE,
        script: ONE,
        steps: &[
            Open("/"),
            Until("navigator.globalPrivacyControl"),
            Nothing,
            Until(IS_OPTED_OUT),
            Run("svctrack.init({}); svctrack.track('Two')"),
            Nothing,
            Until(IS_OPTED_OUT),
        ],
        ..Scenario::named("Global Privacy Control is heeded, and the developer hears of it once")
    },
    Scenario {
        setup: Setup::Private,
        head: PRIVATE,
        script: "svctrack.consent('granted');svctrack.identify('7', {companyExternalId: 'acme'}); svctrack.track('One');",
        steps: &[
            Open("/"),
            Stored(&["One"]),
            Until(HAS_HINTED),
            Until("!lines.join().includes('Global Privacy Control')"),
        ],
        ..Scenario::named("consent that was granted goes before Global Privacy Control")
    },
    Scenario {
        script: "svctrack.init({consent: 'pending'});svctrack.identify('7', {companyExternalId: 'acme'}); svctrack.track('One');",
        steps: &[
            Open("/"),
            Nothing,
            Until(
                "!performance.getEntriesByType('resource').some((entry) => entry.name.includes('wasm'))",
            ),
            Run("svctrack.consent('granted')"),
            Stored(&["One"]),
        ],
        ..Scenario::named("before consent nothing is sent, fetched or stored, and then all is sent")
    },
    Scenario {
        script: "svctrack.init({consent: 'pending'});svctrack.identify('7', {companyExternalId: 'acme'}); svctrack.track('One');",
        steps: &[
            Open("/"),
            Run("svctrack.consent('denied')"),
            Nothing,
            Run("svctrack.consent('granted')"),
            Nothing,
        ],
        ..Scenario::named("what was called before consent was denied is dropped")
    },
    Scenario {
        script: "svctrack.init({consent: 'pending'});svctrack.identify('7', {companyExternalId: 'acme'}); svctrack.track('One');",
        steps: &[Open("/"), Run(LEAVE), Until("location.pathname === '/blank'"), Nothing],
        ..Scenario::named("a page that is left before consent sends nothing")
    },
    Scenario {
        steps: &[
            Open("/"),
            Run(ONE),
            Stored(&["One"]),
            Offline(true),
            Run(TRACK_TWO),
            Until(IS_WAITING),
            Run("svctrack.consent('denied')"),
            Until("!document.cookie.includes('_svctrack') && !Object.keys(localStorage).length"),
            Offline(false),
            Run(ONLINE),
            Run("svctrack.track('Three')"),
            Stored(&["One"]),
        ],
        ..Scenario::named("denied consent removes what was kept")
    },
    Scenario {
        script: ONE,
        steps: &[
            Open("/"),
            Stored(&["One"]),
            Run(
                "svctrack.reset(); svctrack.track('Nobody'); svctrack.identify('8', {companyExternalId: 'acme'}); svctrack.track('Two')",
            ),
            Stored(&["One", "Nobody", "Two"]),
            Sent(&[
                r#"{"externalId":"7","companyExternalId":"acme"}"#,
                r#"{"externalId":"7","companyExternalId":"acme","action":"One"}"#,
                r#"{"externalId":"8","companyExternalId":"acme"}"#,
                r#"{"externalId":"8","companyExternalId":"acme","action":"Nobody"}"#,
                r#"{"externalId":"8","companyExternalId":"acme","action":"Two"}"#,
            ]),
            Until("document.cookie.includes('%228%22') && !document.cookie.includes('%227%22')"),
        ],
        ..Scenario::named("after a reset the next person begins anew")
    },
    Scenario {
        script: ONE,
        steps: &[
            Open("/"),
            Stored(&["One"]),
            Run(
                "svctrack.reset(); svctrack.track('Signup', {email: 'mia@acme.example', companyExternalId: 'acme'}); svctrack.identify('8', {companyExternalId: 'acme'}); svctrack.track('Two', {email: 'other@acme.example'})",
            ),
            Stored(&["One", "Signup", "Two"]),
            Sent(&[
                r#"{"externalId":"7","companyExternalId":"acme"}"#,
                r#"{"externalId":"7","companyExternalId":"acme","action":"One"}"#,
                r#"{"email":"mia@acme.example","companyExternalId":"acme","action":"Signup"}"#,
                r#"{"externalId":"8","companyExternalId":"acme"}"#,
                r#"{"externalId":"8","companyExternalId":"acme","action":"Two","info":{"email":"other@acme.example"}}"#,
            ]),
        ],
        ..Scenario::named("after a reset a track names its own user until the next identify")
    },
    Scenario {
        script: "svctrack.identify('7', {companyExternalId: 'acme'}); svctrack.track('One'); svctrack.reset();",
        steps: &[Open("/"), Stored(&["One"]), Until("!document.cookie.includes('_svctrack')")],
        ..Scenario::named("a reset before the script is there waits its turn")
    },
    Scenario {
        head: "<script nonce=watch>document.cookie = '_svctrack=' + encodeURIComponent(JSON.stringify(\
               {externalId: 'a\\u0000b', email: 'nobody', name: 5, companyExternalId: 'acme', assetExtId: {}, x: 1}))</script>",
        script: "svctrack.track('Waits'); svctrack.identify('7'); svctrack.track('One', {companyExternalId: 'acme'});",
        steps: &[Open("/"), Stored(&["Waits", "One"])],
        ..Scenario::named("a cookie that somebody has changed spoils nothing")
    },
    Scenario {
        head: "<script nonce=watch>document.cookie = '_svctrack=%7B%'; document.cookie = '_svctrack_x=1'</script>",
        script: ONE,
        steps: &[Open("/"), Stored(&["One"])],
        ..Scenario::named("a cookie that cannot be read is none")
    },
    Scenario {
        script: ONE,
        steps: &[
            OpenAt("app.shop.test", "/"),
            Stored(&["One"]),
            OpenAt("www.shop.test", "/blank"),
            Until("document.cookie.includes('_svctrack=')"),
        ],
        ..Scenario::named("the cookie is for all subdomains")
    },
    Scenario {
        head: "<script nonce=watch>var before = Object.keys(window)</script>",
        script: ONE,
        steps: &[
            Open("/"),
            Stored(&["One"]),
            Until(
                "Object.keys(window).filter((name) => !before.includes(name) && name !== 'ret_nodes').join() === 'svctrack'",
            ),
        ],
        ..Scenario::named("nothing is global but svctrack")
    },
    Scenario {
        head: "<script nonce=watch>JSON.stringify({}); addEventListener('svctrack', () => {});</script>",
        script: "const bad = {get email() { throw 1 }, get info() { throw 2 }, toJSON() { throw 3 }};\
                 svctrack.identify('7', {companyExternalId: 'acme'}); svctrack.track('A', bad); svctrack.identify(bad, bad);\
                 svctrack.track('B', {info: {toJSON() { throw 4 }}}); svctrack.track(); svctrack.load(); svctrack.consent('x'); svctrack.consent('granted');\
                 svctrack.init({onWarning() { throw 5 }}); svctrack.track('One');",
        steps: &[Open("/"), Stored(&["One"])],
        ..Scenario::named("what a page gets wrong throws nothing into it")
    },
    Scenario {
        engines: BOTH,
        script: "svctrack.init({pageViews: true});svctrack.identify('7', {companyExternalId: 'acme'});",
        steps: &[
            Open("/"),
            Stored(&["Viewed page"]),
            Run(
                "history.replaceState(0, '', '/a'); history.pushState(0, '', '/a'); history.pushState(0, '', '/a#b')",
            ),
            Run("history.pushState(0, '', '/b')"),
            Stored(&["Viewed page", "Viewed page", "Viewed page"]),
            Run("history.back()"),
            Until("location.pathname === '/a'"),
            Stored(&["Viewed page", "Viewed page", "Viewed page", "Viewed page"]),
        ],
        ..Scenario::named("each step of an app of one page is viewed once")
    },
    Scenario {
        script: "svctrack.init({pageViews: true});svctrack.identify('7', {companyExternalId: 'acme'});\
                 addEventListener('pageshow', (event) => { window.kept = (window.kept ?? 0) + event.persisted });",
        steps: &[Open("/"), Stored(&["Viewed page"]), LeaveUntilKept(ALL_STORED, "Viewed page")],
        ..Scenario::named("a page that comes back from the cache is viewed anew")
    },
    Scenario {
        head: "<script nonce=watch>const ask = fetch; window.fetch = (request, ...more) => /analytics/.test(request.url) && !window.isKind ?\
               (window.tries = window.tries + 1 || 1) % 2 ? Promise.reject('no') : {} : ask(request, ...more)</script>",
        script: ONE,
        steps: &[
            Open("/"),
            Until("window.tries >= 2"),
            Run("window.isKind = true"),
            Stored(&["One"]),
        ],
        ..Scenario::named("a page that has a fetch of its own breaks nothing")
    },
    Scenario {
        head: "<script nonce=watch>Object.defineProperty(document, 'prerendering', {value: true, configurable: true})</script>",
        script: "svctrack.init({pageViews: true});svctrack.identify('7', {companyExternalId: 'acme'}); svctrack.track('One');",
        steps: &[
            Open("/"),
            Nothing,
            Run(
                "delete document.prerendering; document.dispatchEvent(new Event('prerenderingchange'))",
            ),
            Stored(&["One", "Viewed page"]),
        ],
        ..Scenario::named("a page that nobody has seen yet sends nothing")
    },
    Scenario {
        head: "<script nonce=watch>window.inBreath = false; window.touched = [];\
               const note = (owner, name) => { const original = owner[name]; owner[name] = function (...given) {\
                 if (inBreath) touched.push(name); return original.apply(this, given) } };\
               try { note(Storage.prototype, 'setItem'); note(Storage.prototype, 'getItem'); note(Storage.prototype, 'removeItem') } catch {}\
               note(window, 'fetch'); note(Navigator.prototype, 'sendBeacon'); note(JSON, 'stringify')</script>",
        script: ONE,
        steps: &[
            Open("/"),
            Stored(&["One"]),
            Run(
                "window.inBreath = true; svctrack.track('Two'); svctrack.track('Three'); window.inBreath = false",
            ),
            Stored(&["One", "Two", "Three"]),
            Until("touched.length === 0"),
        ],
        ..Scenario::named("a call leaves storing and sending to a task of its own")
    },
    Scenario {
        head: "<script nonce=watch>const set = Map.prototype.set; window.isBroken = false; Map.prototype.set = function (...given) {\
               if (isBroken) throw new Error('broken'); return set.apply(this, given) }</script>",
        script: ONE,
        steps: &[
            Open("/"),
            Stored(&["One"]),
            Run("window.isBroken = true; svctrack.track('Two'); \
                 setTimeout(() => { window.isBroken = false; svctrack.track('Three') }, 500)"),
            Says("track() failed: Error: broken"),
            Stored(&["One", "Three"]),
        ],
        ..Scenario::named("what fails on the way to the queue is said, and stops nothing")
    },
];

const TWENTY: [&str; 21] = [
    "One", "Event 10", "Event 11", "Event 12", "Event 13", "Event 14", "Event 15", "Event 16",
    "Event 17", "Event 18", "Event 19", "Event 20", "Event 21", "Event 22", "Event 23", "Event 24",
    "Event 25", "Event 26", "Event 27", "Event 28", "Event 29",
];
const TWO_AND_TWENTY: [&str; 22] = [
    "One", "Two", "Event 10", "Event 11", "Event 12", "Event 13", "Event 14", "Event 15",
    "Event 16", "Event 17", "Event 18", "Event 19", "Event 20", "Event 21", "Event 22", "Event 23",
    "Event 24", "Event 25", "Event 26", "Event 27", "Event 28", "Event 29",
];

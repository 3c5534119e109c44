//! What is sent for each call of route 2: the same from both engines.

use svctrack_web::GLUE_PATH;

use super::scenario::{
    Do::{Calls, Nothing, Offline, Open, Park, Respond, Run, Says, Sent, Until},
    Engine, HAS_HINTED, Scenario,
};

/// How often the page has said that events wait for a user.
const EVENTS_WAIT: &str = "<script nonce=watch>window.eventsWait = () =>\
     lines.filter((line) => line === 'svctrack: events queued until svctrack.identify').length</script>";

pub const WIRE: &[Scenario] = &[
    Scenario {
        script: "svctrack.identify('7', {email: 'ada@acme.example', name: 'Ada', companyExternalId: 'acme', assetExtId: 'a', projectExtId: 'p'});",
        steps: &[
            Open("/"),
            Sent(&[
                r#"{"externalId":"7","email":"ada@acme.example","name":"Ada","companyExternalId":"acme","assetExtId":"a","projectExtId":"p"}"#,
            ]),
        ],
        ..Scenario::named("an identify has all members of EXTRA_INFO")
    },
    Scenario {
        script: "svctrack.identify(null, {email: 'ada@acme.example'});",
        steps: &[Open("/"), Sent(&[r#"{"email":"ada@acme.example"}"#])],
        ..Scenario::named("a person without an id is known by e-mail")
    },
    Scenario {
        script: "svctrack.identify({email: 'ada@acme.example', externalId: 7});",
        steps: &[Open("/"), Sent(&[r#"{"externalId":"7","email":"ada@acme.example"}"#])],
        ..Scenario::named("EXTRA_INFO may stand alone, and an id may be a number")
    },
    Scenario {
        script: "svctrack.identify('7', {name: ' ', email: '', companyExternalId: null, assetExtId: {}});",
        steps: &[Open("/"), Sent(&[r#"{"externalId":"7"}"#])],
        ..Scenario::named("what says nothing is not sent")
    },
    Scenario {
        script: "svctrack.identify('7', {name: 'Ada'}); svctrack.identify('7', {email: 'ada@acme.example'});\
                 svctrack.identify(null, {email: ' ADA@acme.example '}); svctrack.identify('8');\
                 svctrack.identify(null, {email: 'bob@acme.example'}); svctrack.identify('9'); svctrack.identify('8', {email: 'bob@acme.example'});",
        steps: &[
            Open("/"),
            Sent(&[
                r#"{"externalId":"7","name":"Ada"}"#,
                r#"{"externalId":"7","name":"Ada","email":"ada@acme.example"}"#,
                r#"{"externalId":"7","name":"Ada","email":" ADA@acme.example "}"#,
                r#"{"externalId":"8"}"#,
                r#"{"email":"bob@acme.example"}"#,
                r#"{"externalId":"9","email":"bob@acme.example"}"#,
                r#"{"externalId":"8","email":"bob@acme.example"}"#,
            ]),
        ],
        ..Scenario::named("the same person keeps what is known, another one begins anew")
    },
    Scenario {
        script: "svctrack.identify('7', {name: 'Ada', companyExternalId: 'acme'});\
                 svctrack.track('One', {info: {n: 1.5, list: [null, 'é\\u2028']}, weight: 2, passive: true, assetExtId: 'a'});\
                 svctrack.track('Two', {passive: false, weight: 0, info: null});",
        steps: &[
            Open("/"),
            Sent(&[
                r#"{"externalId":"7","name":"Ada","companyExternalId":"acme"}"#,
                r#"{"externalId":"7","name":"Ada","companyExternalId":"acme","assetExtId":"a","action":"One","info":{"n":1.5,"list":[null,"é\u2028"]},"weight":2,"passive":true}"#,
                r#"{"externalId":"7","name":"Ada","companyExternalId":"acme","action":"Two","weight":0}"#,
            ]),
        ],
        ..Scenario::named("a track has who is known, and its own extras for itself alone")
    },
    Scenario {
        script: "svctrack.init({consent: 'pending'}); svctrack.identify('7');",
        steps: &[
            Open("/"),
            Until("svctrack.isLoaded"),
            Run(
                "const info = {n: 1}; svctrack.track('One', {info}); info.n = 2; svctrack.consent('granted')",
            ),
            Sent(&[r#"{"externalId":"7"}"#, r#"{"externalId":"7","action":"One","info":{"n":1}}"#]),
        ],
        ..Scenario::named("what the page changes later is not changed in what it said")
    },
    Scenario {
        engines: &[Engine::WebAssembly],
        script: "svctrack.identify(null, {email: 'nobody'}); svctrack.track('A', {email: 'ada@acme.example', weight: NaN});",
        steps: &[
            Open("/"),
            Says("identify(nobody) not sent: `email` must be an e-mail address"),
            Says("track(A) not sent: `weight` must be a finite number"),
            Nothing,
        ],
        ..Scenario::named("with WebAssembly a faulty call does not leave the browser")
    },
    Scenario {
        script: "svctrack.identify('7', {nam: 'Ada'}); svctrack.identify('7', {plan: 'pro'});",
        steps: &[
            Open("/"),
            Sent(&[r#"{"externalId":"7"}"#, r#"{"externalId":"7"}"#]),
            Says("svctrack: identify: `nam` ignored; did you mean `name`?"),
            Says("svctrack: identify: `plan` ignored; expected `externalId`, `email`, `name`,"),
        ],
        ..Scenario::named("a member of an identity that nobody knows is reported")
    },
    Scenario {
        script: "svctrack.identify('7', {assetExternalId: 'a'}); svctrack.identify('7', {projectExternalId: 'p', emial: ''});",
        steps: &[
            Open("/"),
            Says("`assetExternalId` ignored; did you mean `assetExtId`, `externalId`?"),
            Says("`emial` ignored; did you mean `projectExtId`, `email`, `externalId`?"),
        ],
        ..Scenario::named("of the names that may be meant the nearest is the first")
    },
    Scenario {
        engines: &[Engine::WebAssembly],
        script: "svctrack.init({debug: false}); const user = {}; svctrack.identify(`${user.id}`); svctrack.track('One');\
                 svctrack.identify('7', {companyExternalId: 'null'}); svctrack.identify('0'); svctrack.identify('8');",
        steps: &[
            Open("/"),
            Sent(&[
                r#"{"externalId":"undefined"}"#,
                r#"{"externalId":"undefined","action":"One"}"#,
                r#"{"externalId":"7","companyExternalId":"null"}"#,
                r#"{"externalId":"0"}"#,
                r#"{"externalId":"8"}"#,
            ]),
            Until(
                "lines.filter((line) => line.includes(' the id ')).join('\\n') === ['(undefined): the id \"undefined', '(7): the id \"null', '(0): the id \"0'].map(\
                 (of) => `svctrack: identify${of}\" is a placeholder; send the real id`).join('\\n')",
            ),
        ],
        ..Scenario::named("an id that is a program's word for nothing is reported once, and sent")
    },
    Scenario {
        script: "svctrack.init({onWarning: (line) => { window.heard = line }}); svctrack.identify('7');\
                 svctrack.track('One', {pages: 3}); svctrack.track('Two', {pages: 4, weight: 2});\
                 svctrack.track('Three', {pages: 5, list: [{n: 1}], wieght: 1, info: {pages: 6, kind: 'x'}});",
        steps: &[
            Open("/"),
            Sent(&[
                r#"{"externalId":"7"}"#,
                r#"{"externalId":"7","action":"One","info":{"pages":3}}"#,
                r#"{"externalId":"7","action":"Two","info":{"pages":4},"weight":2}"#,
                r#"{"externalId":"7","action":"Three","info":{"pages":6,"kind":"x","list":[{"n":1}],"wieght":1}}"#,
            ]),
            Until(
                "lines.filter((line) => line === 'svctrack: track: `pages` moved into `info`').length === 1",
            ),
            Says(
                "svctrack: track: `pages`, `list`, `wieght` moved into `info`; did you mean `weight`?",
            ),
            Until("!window.heard"),
        ],
        ..Scenario::named("members of a track that are no option go into info")
    },
    Scenario {
        script: "svctrack.identify('7', {name: 'Ada'}); svctrack.track('One', {email: 'bob@acme.example', name: 'Bob', companyExternalId: 'acme', info: {n: 1}});\
                 svctrack.track('Two', {email: 'bob@acme.example', info: [1]});",
        steps: &[
            Open("/"),
            Says("svctrack: track: `email`, `name` moved into `info`"),
            Sent(&[
                r#"{"externalId":"7","name":"Ada"}"#,
                r#"{"externalId":"7","name":"Ada","companyExternalId":"acme","action":"One","info":{"email":"bob@acme.example","name":"Bob","n":1}}"#,
            ]),
        ],
        engines: &[Engine::WebAssembly],
        ..Scenario::named("a track does not change who is known")
    },
    Scenario {
        script: "svctrack.track('One', {email: 'bob@acme.example', name: 'Bob'});",
        steps: &[Open("/"), Sent(&[r#"{"email":"bob@acme.example","name":"Bob","action":"One"}"#])],
        ..Scenario::named("where nobody is known a track says whose it is")
    },
    Scenario {
        script: "const loop = {}; loop.loop = loop; svctrack.identify('7');\
                 svctrack.track('A', {pages: 3, info: 'x'}); svctrack.track('B', {pages: 3, info: [1]}); svctrack.track('C', {loop});",
        steps: &[
            Open("/"),
            Until(
                "'ABC'.match(/./g).every((action) => lines.some((line) => \
                 line.startsWith('svctrack: track(' + action + ') ') && line.includes(': `info` must be a JSON object')))",
            ),
        ],
        ..Scenario::named("nothing is moved into extra data that is no object")
    },
    Scenario {
        head: EVENTS_WAIT,
        script: "svctrack.init({pageViews: true, onWarning: (line) => { window.heard = line }}); svctrack.identify('7');",
        steps: &[
            Open("/"),
            Calls(2),
            Until(HAS_HINTED),
            Until("!window.heard && eventsWait() === 0"),
        ],
        ..Scenario::named("a page view waits for the identify in the next statement")
    },
    Scenario {
        head: EVENTS_WAIT,
        script: "svctrack.init({pageViews: true, onWarning: (line) => { window.heard = line }}); svctrack.track('One');",
        steps: &[
            Open("/"),
            Says("track(Viewed page) waits for svctrack.identify"),
            Until("eventsWait() === 1"),
            Until("!window.heard"),
            Nothing,
        ],
        ..Scenario::named("what waits for an identify that does not come is reported")
    },
    Scenario {
        script: "svctrack.identify('7', {companyExternalId: 'acme'}); svctrack.track('One');",
        steps: &[
            Open("/"),
            Says("svctrack: identify(7) stored"),
            Says("svctrack: track(One) stored"),
            Park("company_unknown"),
            Run("svctrack.track('Two')"),
            Says(
                "svctrack: track(Two) parked by the server: company_unknown; see GET /integrationissues",
            ),
            Respond(&[(404, 0)]),
            Run("svctrack.track('Three')"),
            Says("svctrack: track(Three) rejected by the server: 404; check svctrack.load"),
            Respond(&[(503, 20)]),
            Run("svctrack.track('Four')"),
            Says("svctrack: the server responded 503; 1 event queued, retrying"),
        ],
        ..Scenario::named("what became of an event is reported")
    },
    Scenario {
        script: "svctrack.identify('7');",
        steps: &[
            Open("/"),
            Calls(1),
            Offline(true),
            Run("svctrack.track('One'); svctrack.track('Two')"),
            Until(
                "lines.some((line) => line.startsWith('svctrack: no response from ' + location.origin + '/analytics/') && \
                 line.endsWith('; 2 events queued, retrying'))",
            ),
        ],
        ..Scenario::named("a server that cannot be reached is reported")
    },
    Scenario {
        engines: &[Engine::WebAssembly],
        steps: &[
            Open("/blank"),
            Run(
                "window.lines = []; for (const name of ['info', 'warn']) console[name] = (line) => lines.push(line);\
                 const tag = document.createElement('script'); tag.src = '/svctrack.js'; document.head.append(tag); tag.onload = () => {\
                 svctrack.load('/analytics/00000000-0000-4000-8000-000000000000'); svctrack.identify('7') }",
            ),
            Says(
                "svctrack: identify(7) rejected by the server: there is no tenant with this UUID; check svctrack.load",
            ),
        ],
        ..Scenario::named("a tenant that is not there is reported")
    },
    Scenario {
        engines: &[Engine::JavaScript],
        missing: &[GLUE_PATH],
        script: "svctrack.identify('7'); svctrack.track('One', {pages: 3});",
        steps: &[
            Open("/"),
            Sent(&[
                r#"{"externalId":"7"}"#,
                r#"{"externalId":"7","action":"One","info":{"pages":3}}"#,
            ]),
            Says("svctrack: stored {"),
        ],
        ..Scenario::named("without the sentences of the console its codes are logged")
    },
    Scenario {
        script: "svctrack.identify('7'); svctrack.identify(8, null); svctrack.track('One'); svctrack.track('Two', undefined);",
        steps: &[Open("/"), Calls(4), Until("!lines.some((line) => /moved|ignored/.test(line))")],
        ..Scenario::named("calls without EXTRA_INFO have no member that nobody knows")
    },
    Scenario {
        script: "svctrack.init({pageView: true, debug: true}); svctrack.identify('7');",
        steps: &[
            Open("/"),
            Sent(&[r#"{"externalId":"7"}"#]),
            Until(
                "lines.some((line) => line === 'svctrack: init: `pageView` ignored; did you mean `pageViews`?')",
            ),
        ],
        ..Scenario::named("an option that nobody knows is said")
    },
    Scenario {
        script: "svctrack.load('/analytics/1', {pageView: true});",
        steps: &[
            Open("/"),
            Until(
                "lines.some((line) => line === 'svctrack: load: `pageView` ignored; did you mean `pageViews`?')",
            ),
        ],
        ..Scenario::named("an option that nobody knows is said with the call that has it")
    },
    Scenario {
        script: "svctrack.init({consent: 'yes'}); svctrack.identify('7');",
        steps: &[
            Open("/"),
            Says("`consent` must be granted, denied or pending; nothing is sent"),
            Nothing,
            Run("svctrack.consent('granted')"),
            Sent(&[r#"{"externalId":"7"}"#]),
        ],
        ..Scenario::named("an answer that cannot be used sends nothing until there is one")
    },
    Scenario {
        script: "svctrack.init({consent: 'denied'}); svctrack.init({consent: undefined}); svctrack.identify('7');",
        steps: &[Open("/"), Says("identify() not sent: consent is denied"), Nothing],
        ..Scenario::named("an option that is not given leaves the answer as it was")
    },
    Scenario {
        script: "svctrack.identify('7');",
        steps: &[
            Open("/"),
            Sent(&[r#"{"externalId":"7"}"#]),
            Run("svctrack.consent(null); svctrack.track('One'); window.at = performance.now()"),
            Says("`consent` must be"),
            Until("performance.now() > at + 1000"),
            Run("svctrack.consent('denied'); svctrack.consent('granted'); svctrack.identify('8')"),
            Calls(2),
            Sent(&[r#"{"externalId":"7"}"#, r#"{"externalId":"8"}"#]),
        ],
        ..Scenario::named("a later answer that cannot be used stops what was allowed")
    },
    Scenario {
        script: "svctrack.load('example.com/analytics/1'); svctrack.load('https://['); svctrack.identify('7');",
        steps: &[
            Open("/"),
            Until(
                "lines.filter((line) => line.includes('load() failed: expected a URL or path; found ')).length === 2",
            ),
            Sent(&[r#"{"externalId":"7"}"#]),
        ],
        ..Scenario::named("an address that cannot be one is said")
    },
    Scenario {
        engines: &[Engine::WebAssembly],
        script: "svctrack.track('A', {weight: -1, email: 'nobody'});",
        steps: &[
            Open("/"),
            Until(
                "lines.some((line) => /not sent: `email` must be [^;]+; `weight` must be [^;]+$/.test(line))",
            ),
        ],
        ..Scenario::named("all that is wrong with a call is one line")
    },
    Scenario {
        script: "location.pathname === '/' && svctrack.identify('7', {name: 'Ada Łovelace; \"x\" = 5 %', companyExternalId: 'acme'});",
        steps: &[
            Open("/"),
            Calls(1),
            Open("/other"),
            Run("svctrack.track('One')"),
            Sent(&[
                r#"{"externalId":"7","name":"Ada Łovelace; \"x\" = 5 %","companyExternalId":"acme"}"#,
                r#"{"externalId":"7","name":"Ada Łovelace; \"x\" = 5 %","companyExternalId":"acme","action":"One"}"#,
            ]),
        ],
        ..Scenario::named("the cookie takes who is known to the next page")
    },
    Scenario {
        script: "svctrack.identify('7', {name: 'x'.repeat(4000)}); svctrack.track('One');",
        steps: &[
            Open("/"),
            Calls(2),
            Until("!document.cookie.includes('_svctrack')"),
            Run("svctrack.identify('8'); svctrack.track('Two')"),
            Calls(4),
            Until("document.cookie.includes('_svctrack=%7B%22externalId%22%3A%228%22%7D')"),
        ],
        ..Scenario::named(
            "an identity that is too long for a cookie is known until the page is left",
        )
    },
    Scenario {
        script: "svctrack.identify('7'); svctrack.track('A', {weight: -1});",
        steps: &[Open("/"), Says("`weight` must be a finite number, not negative")],
        ..Scenario::named("a weight below nothing is rejected")
    },
    Scenario {
        script: "svctrack.identify('7'); svctrack.track('A', {info: [1]});",
        steps: &[Open("/"), Says("`info` must be a JSON object")],
        ..Scenario::named("extra data that is no object is rejected")
    },
    Scenario {
        script: "svctrack.identify(null, {email: 'nobody'});",
        steps: &[Open("/"), Says("`email` must be an e-mail address")],
        ..Scenario::named("an e-mail that is none is rejected")
    },
    Scenario {
        script: "svctrack.identify('a\\nb');",
        steps: &[Open("/"), Says("`externalId` must be 1 to 512 bytes")],
        ..Scenario::named("an id with control characters is rejected")
    },
    Scenario {
        script: "svctrack.identify(); svctrack.track('A', {email: '@'}); svctrack.track('', {email: 'ada@acme.example'});",
        steps: &[
            Open("/"),
            Says("identify() not sent: an id or an e-mail is missing"),
            Says("track() not sent: the action is missing"),
        ],
        ..Scenario::named("calls that say nothing are said")
    },
    Scenario {
        script: "svctrack.init({onWarning: (line) => { window.heard = line }}); svctrack.track();",
        steps: &[Open("/"), Until("window.heard?.includes('the action is missing')")],
        ..Scenario::named("the page hears each warning")
    },
    Scenario {
        script: "svctrack.init({pageViews: 'hash'});svctrack.identify('7', {companyExternalId: 'acme'});",
        steps: &[
            Open("/"),
            Calls(2),
            Run("location.hash = '#/reports/7?token=secret'"),
            Calls(3),
            Run(
                "location.hash = '#/reports/7'; location.hash = '#top'; history.replaceState(0, '', '/#access_token=1')",
            ),
            Run("history.pushState(0, '', '/?q=1#!/users')"),
            Run("history.replaceState(0, '', '/#top'); history.pushState(0, '', '/')"),
            Run("history.pushState(0, '', '/other#top')"),
            Sent(&[
                r#"{"externalId":"7","companyExternalId":"acme"}"#,
                r#"{"externalId":"7","companyExternalId":"acme","action":"Viewed page","info":{"path":"/","referrer":""}}"#,
                r#"{"externalId":"7","companyExternalId":"acme","action":"Viewed page","info":{"path":"/#/reports/7","referrer":"/"}}"#,
                r##"{"externalId":"7","companyExternalId":"acme","action":"Viewed page","info":{"path":"/#!/users","referrer":"/#/reports/7"}}"##,
                r##"{"externalId":"7","companyExternalId":"acme","action":"Viewed page","info":{"path":"/","referrer":"/#!/users"}}"##,
                r#"{"externalId":"7","companyExternalId":"acme","action":"Viewed page","info":{"path":"/other","referrer":"/"}}"#,
            ]),
        ],
        ..Scenario::named("routes in the fragment are pages where that is asked for")
    },
];

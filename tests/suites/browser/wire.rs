//! What is sent for each call of route 2: the same from both engines.

use super::scenario::{
    Do::{Calls, Nothing, Open, Run, Says, Sent, Until},
    Engine, Scenario,
};

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
                 svctrack.track('One', {info: {n: 1.5, list: [null, 'é\\u2028']}, weight: 2, passive: true, email: 'other@acme.example'});\
                 svctrack.track('Two', {passive: false, weight: 0, info: null});",
        steps: &[
            Open("/"),
            Sent(&[
                r#"{"externalId":"7","name":"Ada","companyExternalId":"acme"}"#,
                r#"{"externalId":"7","name":"Ada","companyExternalId":"acme","email":"other@acme.example","action":"One","info":{"n":1.5,"list":[null,"é\u2028"]},"weight":2,"passive":true}"#,
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
            Says("not sent: email_invalid"),
            Says("not sent: weight_invalid"),
            Nothing,
        ],
        ..Scenario::named("with WebAssembly a faulty call does not leave the browser")
    },
    Scenario {
        script: "svctrack.identify('7', {nam: 'Ada'});",
        steps: &[Open("/"), Sent(&[r#"{"externalId":"7"}"#]), Says("member_unknown: nam")],
        ..Scenario::named("a member that nobody knows is said")
    },
    Scenario {
        script: "svctrack.identify('7'); svctrack.identify(8, null); svctrack.track('One'); svctrack.track('Two', undefined);",
        steps: &[Open("/"), Calls(4), Until("!lines.some((line) => line.includes('unknown'))")],
        ..Scenario::named("calls without EXTRA_INFO have no member that nobody knows")
    },
    Scenario {
        script: "svctrack.init({pageView: true, debug: true}); svctrack.identify('7');",
        steps: &[
            Open("/"),
            Sent(&[r#"{"externalId":"7"}"#]),
            Until("lines.some((line) => line.endsWith('init() option_unknown: pageView'))"),
        ],
        ..Scenario::named("an option that nobody knows is said")
    },
    Scenario {
        script: "svctrack.init({consent: 'yes'}); svctrack.identify('7');",
        steps: &[
            Open("/"),
            Says("consent_invalid"),
            Nothing,
            Run("svctrack.consent('granted')"),
            Sent(&[r#"{"externalId":"7"}"#]),
        ],
        ..Scenario::named("an answer that cannot be used sends nothing until there is one")
    },
    Scenario {
        script: "svctrack.init({consent: 'denied'}); svctrack.init({consent: undefined}); svctrack.identify('7');",
        steps: &[Open("/"), Says("consent_denied"), Nothing],
        ..Scenario::named("an option that is not given leaves the answer as it was")
    },
    Scenario {
        script: "svctrack.identify('7');",
        steps: &[
            Open("/"),
            Sent(&[r#"{"externalId":"7"}"#]),
            Run("svctrack.consent(null); svctrack.track('One'); window.at = performance.now()"),
            Says("consent_invalid"),
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
                "lines.filter((line) => line.endsWith('load() failed: address_invalid')).length === 2",
            ),
            Sent(&[r#"{"externalId":"7"}"#]),
        ],
        ..Scenario::named("an address that cannot be one is said")
    },
    Scenario {
        engines: &[Engine::WebAssembly],
        script: "svctrack.identify('7'); svctrack.track('A', {weight: -1, email: 'nobody'});",
        steps: &[
            Open("/"),
            Until(
                "lines.some((line) => /email_invalid: [^;]+; weight_invalid: [^;]+$/.test(line))",
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
        steps: &[Open("/"), Says("weight_invalid")],
        ..Scenario::named("a weight below nothing is refused by its code")
    },
    Scenario {
        script: "svctrack.identify('7'); svctrack.track('A', {info: [1]});",
        steps: &[Open("/"), Until("/info_invalid|wrong_type/.test(lines.join())")],
        ..Scenario::named("extra data that is no object is refused by its code")
    },
    Scenario {
        script: "svctrack.identify(null, {email: 'nobody'});",
        steps: &[Open("/"), Says("email_invalid")],
        ..Scenario::named("an e-mail that is none is refused by its code")
    },
    Scenario {
        script: "svctrack.identify('a\\nb');",
        steps: &[Open("/"), Says("external_id_invalid")],
        ..Scenario::named("an id with control characters is refused by its code")
    },
    Scenario {
        script: "svctrack.identify(); svctrack.track('A', {email: '@'}); svctrack.track('', {email: 'ada@acme.example'});",
        steps: &[
            Open("/"),
            Says("identify() not sent: identity_missing"),
            Says("track() not sent: action_missing"),
        ],
        ..Scenario::named("calls that say nothing are said")
    },
    Scenario {
        script: "svctrack.init({onWarning: (line) => { window.heard = line }}); svctrack.track();",
        steps: &[Open("/"), Until("window.heard?.includes('action_missing')")],
        ..Scenario::named("the page hears each warning")
    },
];

//! Setup: code for a developer to copy into a web app or a server, and whether the first event has arrived.

use hypertext::prelude::*;
use serde::Deserialize;

use super::{
    address::address,
    format::instant,
    issues::IssueLine,
    page,
    parts::{badge, prose, scroll},
    samples::{LANGUAGES, SampleValues, samples},
    shell::{Shell, layout},
};
use crate::page::Page;

/// Facts that a web app needs to load the script, as the API returns them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScriptInfo {
    pub public_url: String,
    pub tracking_prefix: String,
    pub snippet: String,
    pub policy: Policy,
    pub files: Vec<ScriptFile>,
}

/// Sources that a content security policy must allow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Policy {
    pub script_src: Vec<String>,
    pub connect_src: Vec<String>,
}

/// A file of the script, with its hash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ScriptFile {
    pub url: String,
    pub integrity: String,
}

/// Activity that was stored last, as the API returns it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LastActivity {
    pub action: String,
    pub end_user_name: Option<String>,
    pub email: Option<String>,
    pub external_id: Option<String>,
    pub route: String,
    pub received_at: String,
}

/// The event that arrived last, and what came of the events so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetupStatus {
    pub last: Option<LastActivity>,
    /// User who was identified last, where there is no activity yet.
    pub user: Option<String>,
    /// Issues since then and since the page was opened, the newest first.
    pub issues: Vec<IssueLine>,
    /// Event since then that was rejected in the response to its sender, so that it is no integration issue.
    pub rejected: Option<IssueLine>,
}

/// The page of set-up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetupView {
    pub script: ScriptInfo,
    /// Whether the snippet loads one version, whose hash it has.
    pub is_pinned: bool,
    pub language: String,
    pub values: SampleValues,
    /// Whether the tenant is seen to have no company with an `externalId`, to which new users could belong.
    pub lacks_company: bool,
    /// Whether the token may create a company.
    pub may_create_company: bool,
    /// Events that have arrived; none where the token may not read activities.
    pub arrival: Option<SetupStatus>,
    /// Time from which issues are shown; a call that checks again repeats it.
    pub since: String,
}

impl SetupView {
    fn address(&self, language: &str, is_pinned: bool) -> String {
        let pinned = if is_pinned { "true" } else { "false" };
        address("/app/setup", &[], &[("language", language), ("pinned", pinned)])
    }

    /// Address of the same page with the same panel, at the time of the call.
    fn again(&self) -> String {
        let pinned = if self.is_pinned { "true" } else { "false" };
        let query = [("language", &*self.language), ("pinned", pinned), ("since", &self.since)];
        address("/app/setup", &[], &query)
    }
}

/// The page of set-up.
pub fn setup_page(shell: &Shell, view: &SetupView) -> Page {
    let main = maud! {
        h1 { "Set-up" }
        p.muted { "Add the snippet to your web app, or send events from a server. This page shows when the first event arrives." }
        @if let Some(arrival) = &view.arrival { (panel(view, arrival)) }
        dl.properties.narrow {
            dt { "Tenant UUID" }
            dd { (copied("tenant", &view.values.tenant)) p.help { "The write key of your events. It is public, not a secret." } }
            dt { "Events are sent to" }
            dd { (copied("endpoint", &view.values.endpoint)) }
        }
        (snippet(view))
        (policy(&view.script))
        (servers(view))
        script type="module" src="/setup.js" {}
    };
    page(layout(shell, "Set-up", main))
}

/// A text to be copied: selected by hand without script.
pub(super) fn copied<'t>(id: &'t str, text: &'t str) -> impl Renderable + 't {
    maud! {
        div.copied { pre tabindex="0" id={ "copy-" (id) } data-copy { code { (text) } } }
    }
}

fn panel<'v>(view: &'v SetupView, arrival: &'v SetupStatus) -> impl Renderable + 'v {
    let again = view.again();
    let has_none = arrival.issues.is_empty() && arrival.rejected.is_none();
    let state = match (&arrival.last, has_none) {
        (Some(_), _) => "arrived",
        (None, true) => "waiting",
        (None, false) => "failing",
    };
    let title = match (&arrival.user, has_none) {
        (Some(_), _) => "A user is identified, but no event was tracked yet",
        (None, true) => "Waiting for the first event",
        (None, false) => "Events were sent, but none could be stored yet",
    };
    maud! {
        section.arrival aria-labelledby="h-arrival" {
            h2 #h-arrival .hidden-label { "First event" }
            div #arrival .(state) role="status" data-state=(state) {
                @match &arrival.last {
                    Some(last) => (arrived(last))
                    None => {
                        p.arrival-title { (title) }
                        @if let Some(user) = &arrival.user {
                            p { "Last identified user: " strong { (user) } ". Now send an event with an action: " code { "svctrack.track(...)" } "." }
                        }
                    }
                }
                @if !arrival.issues.is_empty() {
                    @if arrival.last.is_some() { p { "New issues:" } }
                    ul { @for issue in &arrival.issues { (issue_line(issue)) } }
                    p { a href="/app/issues" { "Integration issues" } }
                }
                @if let Some(rejected) = &arrival.rejected {
                    p { "Rejected in the response to the sender, and not stored:" }
                    ul { (issue_line(rejected)) }
                }
            }
            p #again .again { a.button href=(again) { "Check again" } }
        }
    }
}

fn issue_line(issue: &IssueLine) -> impl Renderable {
    maud! {
        li { (prose(&issue.message)) " " span.muted { (issue.count) "×, last " (instant(&issue.at)) } }
    }
}

fn arrived(last: &LastActivity) -> impl Renderable {
    let who = [&last.end_user_name, &last.email, &last.external_id];
    let who = who.into_iter().flatten().find(|name| !name.is_empty());
    let who = who.map_or("a user", String::as_str);
    maud! {
        p.arrival-title { "Events arrive" }
        p {
            "Last event: " strong { (last.action) } " by " (who) ", "
            (instant(&last.received_at)) " "
            (badge(&last.route))
        }
    }
}

fn snippet(view: &SetupView) -> impl Renderable {
    let example = format!(
        "<script>\nsvctrack.identify(\"user-1\", {{name: \"Ada Lovelace\", companyExternalId: \"{}\"}});\nsvctrack.track(\"Opened report\", {{info: {{pages: 3}}}});\n</script>",
        view.values.company
    );
    let demo = address("/demo", &[], &[("tenant", &view.values.tenant)]);
    let choices = [(false, "Newest version"), (true, "This version, with its hash (SRI)")];
    maud! {
        section aria-labelledby="h-snippet" {
            h2 #h-snippet { "Web app" }
            p { "Paste this before " code { "</head>" } " on every page:" }
            nav.tabs aria-label="Version of the script" {
                @for (is_pinned, label) in choices {
                    a href=(view.address(&view.language, is_pinned))
                        aria-current=[(view.is_pinned == is_pinned).then_some("true")] { (label) }
                }
            }
            (copied("snippet", &view.script.snippet))
            p { "Then identify the user, and track an event:" }
            (copied("calls", &example))
            @if view.lacks_company {
                p.hint {
                    "A new user needs a company. "
                    @if view.may_create_company {
                        a href="/app/records/companies/new" { "Create one" }
                    } @else {
                        "Create one"
                    }
                    " with the " code { "externalId" } " that you send."
                }
            }
            p { a href=(demo) { "Try it on the demo page" } " · " a href="/docs/tracking-script" { "Tracking script" } }
        }
    }
}

fn policy(script: &ScriptInfo) -> impl Renderable {
    let policy = format!(
        "script-src {};\nconnect-src {};",
        script.policy.script_src.join(" "),
        script.policy.connect_src.join(" ")
    );
    let files = maud! {
        table {
            caption.hidden-label { "Files of the script" }
            thead { tr { th scope="col" { "File" } th scope="col" { "Hash" } } }
            tbody {
                @for file in &script.files {
                    tr { th scope="row" { code { (file.url) } } td { code { (file.integrity) } } }
                }
            }
        }
    };
    maud! {
        details {
            summary { "Content Security Policy and hashes" }
            p { "If your pages have a Content Security Policy, add these sources:" }
            (copied("policy", &policy))
            p { "Files of the script, with their hashes for subresource integrity:" }
            (scroll("Files of the script", &files))
        }
    }
}

fn servers(view: &SetupView) -> impl Renderable {
    let samples = samples(&view.values, &view.language);
    maud! {
        section aria-labelledby="h-servers" {
            h2 #h-servers { "Servers and pipelines" }
            nav.tabs aria-label="Language" {
                @for (name, label) in LANGUAGES {
                    a href={ (view.address(name, view.is_pinned)) "#h-servers" }
                        aria-current=[(view.language == *name).then_some("true")] { (label) }
                }
            }
            @for (at, sample) in samples.iter().enumerate() {
                h3 { (sample.title) }
                p.muted { (prose(sample.about)) }
                div.copied { pre tabindex="0" id={ "copy-sample-" (at) } data-copy { code { (sample.code) } } }
            }
            p { a href="/docs/events" { "Events over HTTP" } " · " a href="/docs/first-event" { "First event in five languages" } }
        }
    }
}

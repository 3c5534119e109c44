//! Real browsers: headless Chromium and Firefox, each driven through its own driver.

use std::{process::Stdio, time::Duration};

use fantoccini::{Client as Page, ClientBuilder, Locator};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::{
    process::{PATIENCE, try_read_until},
    project,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Chromium,
    Firefox,
}

/// How a browser is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setup {
    Usual,
    /// It keeps no cookies and nothing else of sites.
    Cookieless,
    /// It asks sites for privacy: Global Privacy Control.
    Private,
    /// Its system is dark.
    Dark,
    /// It runs no script.
    Scriptless,
}

/// A browser with one window and an empty profile.
pub struct Browser {
    pub page: Page,
    _driver: Driver,
    _profile: TempDir,
}

/// A driver. It leads a group of processes, in which its browser is as well: all of them end with it, also where a test
/// fails and closes nothing.
struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        let id = self.0.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        if let Some(id) = id {
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

impl Browser {
    pub async fn start() -> Self {
        Self::start_as(Kind::Chromium, Setup::Usual).await
    }

    pub async fn start_as(kind: Kind, setup: Setup) -> Self {
        let profile = tempfile::tempdir().unwrap();
        // A port that the driver found free may be taken by the time it listens there.
        let (driver, said) = loop {
            let (mut driver, mark) = start_driver(kind, &profile);
            match try_read_until(&mut driver.0, mark).await {
                Ok(said) => break (driver, said),
                Err(said) => assert!(said.contains("port not available"), "{said}"),
            }
        };
        let port = said.trim().trim_end_matches('.').rsplit([' ', ':']).next().unwrap().to_owned();
        let capabilities = match kind {
            Kind::Chromium => json!({"goog:chromeOptions": chromium(&profile, setup)}),
            Kind::Firefox => json!({"moz:firefoxOptions": firefox(setup)}),
        };
        let mut builder =
            ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new());
        builder.capabilities(capabilities.as_object().unwrap().clone());
        let page = builder.connect(&format!("http://127.0.0.1:{port}")).await.unwrap();
        Self { page, _driver: driver, _profile: profile }
    }

    /// Puts text into a field, in place of what is there.
    pub async fn fill(&self, selector: &str, text: &str) {
        let field = self.page.find(Locator::Css(selector)).await.unwrap();
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    pub async fn click(&self, selector: &str) {
        self.page.find(Locator::Css(selector)).await.unwrap().click().await.unwrap();
    }

    /// Waits until the element's text has `text` in it.
    pub async fn wait_for(&self, selector: &str, text: &str) {
        let deadline = std::time::Instant::now() + PATIENCE;
        loop {
            // Between two pages the element may be gone.
            let found = match self.page.find(Locator::Css(selector)).await {
                Ok(found) => found.text().await.unwrap_or_default(),
                Err(_) => String::new(),
            };
            if found.contains(text) {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "no `{text}` in {selector}: {found}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Runs a script in the page.
    pub async fn run(&self, script: &str) -> Value {
        self.page.execute(script, Vec::new()).await.unwrap()
    }

    pub async fn close(self) {
        self.page.close().await.unwrap();
    }
}

/// Starts a driver; returns it, and what it says once it listens.
fn start_driver(kind: Kind, profile: &TempDir) -> (Driver, &'static str) {
    let (mut command, mark) = match kind {
        Kind::Chromium => (Command::new("chromedriver"), "started successfully on port"),
        Kind::Firefox => (geckodriver(profile), "Listening on"),
    };
    let driver = command
        .arg("--port=0")
        .process_group(0)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the drivers are installed by tests/run");
    (Driver(driver), mark)
}

/// Names that lead to this machine, so that cookies can be shared between subdomains.
pub const HOSTS: &[&str] = &["app.shop.test", "www.shop.test"];

fn chromium(profile: &TempDir, setup: Setup) -> Value {
    let hosts = HOSTS.iter().map(|host| format!("MAP {host} 127.0.0.1")).collect::<Vec<_>>();
    let colours =
        if setup == Setup::Dark { "preferredColorScheme=0" } else { "preferredColorScheme=1" };
    let cookies = if setup == Setup::Cookieless { 2 } else { 1 };
    let scripts = if setup == Setup::Scriptless { 2 } else { 1 };
    json!({
        "args": [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--no-first-run", format!("--user-data-dir={}", profile.path().display()),
            format!("--host-resolver-rules={}", hosts.join(",")),
            format!("--blink-settings={colours}"),
        ],
        "prefs": {
            "profile.default_content_setting_values.cookies": cookies,
            "profile.default_content_setting_values.javascript": scripts,
        },
    })
}

fn firefox(setup: Setup) -> Value {
    json!({
        "args": ["-headless"],
        "prefs": {
            "javascript.enabled": setup != Setup::Scriptless,
            "network.dns.localDomains": HOSTS.join(","),
            "network.cookie.cookieBehavior": if setup == Setup::Cookieless { 2 } else { 0 },
            "privacy.globalprivacycontrol.enabled": setup == Setup::Private,
            "privacy.globalprivacycontrol.functionality.enabled": setup == Setup::Private,
        },
    })
}

/// The driver that `tests/run` has built.
fn geckodriver(profile: &TempDir) -> Command {
    let mut command = Command::new(project().join("target/tools/bin/geckodriver"));
    command.arg("--profile-root").arg(profile.path());
    command
}

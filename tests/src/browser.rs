//! A real browser: headless Chromium, driven through its own driver.

use std::{process::Stdio, time::Duration};

use fantoccini::{Client as Page, ClientBuilder, Locator};
use serde_json::json;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::process::{PATIENCE, read_until};

/// A browser with one window and an empty profile.
pub struct Browser {
    /// The window.
    pub page: Page,
    _driver: Child,
    _profile: TempDir,
}

impl Browser {
    /// Starts a browser.
    pub async fn start() -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .kill_on_drop(true)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is installed by tests/run");
        let said = read_until(&mut driver, "started successfully on port").await;
        let port = said.rsplit_once("on port ").unwrap().1.trim().trim_end_matches('.').to_owned();
        let profile = tempfile::tempdir().unwrap();
        let options = json!({ "args": [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--no-first-run", format!("--user-data-dir={}", profile.path().display()),
        ]});
        let capabilities = json!({ "goog:chromeOptions": options });
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

    /// Clicks.
    pub async fn click(&self, selector: &str) {
        self.page.find(Locator::Css(selector)).await.unwrap().click().await.unwrap();
    }

    /// Waits until the element's text has `text` in it.
    pub async fn wait_for(&self, selector: &str, text: &str) {
        let deadline = std::time::Instant::now() + PATIENCE;
        loop {
            let found = self.page.find(Locator::Css(selector)).await.unwrap().text().await.unwrap();
            if found.contains(text) {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "no `{text}` in {selector}: {found}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Runs a script in the page.
    pub async fn run(&self, script: &str) -> serde_json::Value {
        self.page.execute(script, Vec::new()).await.unwrap()
    }

    /// Ends the browser.
    pub async fn close(self) {
        self.page.close().await.unwrap();
    }
}

//! Parts of the service that are served at its address: a machine on the internet may serve only tracking. A part can
//! use another that is not served, as pages use the API.

use serde::{Deserialize, Serialize};
use svctrack_web::{Addresses, DEFAULT_TRACKING_PREFIX};

/// The first names of the paths of pages.
pub(crate) const NAMES_OF_PAGES: &[&str] = &["app", "sign-in", "sign-out"];

pub(crate) fn is_page(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    first.is_empty() || NAMES_OF_PAGES.contains(&first)
}

/// A part, with the beginnings of the paths of its routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ServerPart {
    /// `/analytics`, `/dock`, `/v1`, `/script.json`
    Tracking,
    /// Records, reports, settings, tokens and tenants
    Api,
    /// `/`, `/app`, `/sign-in`, `/sign-out`
    Pages,
    /// `/docs`, `/openapi.json`
    Docs,
    /// `/demo`
    Demo,
}

impl ServerPart {
    pub const ALL: [Self; 5] = [Self::Tracking, Self::Api, Self::Pages, Self::Docs, Self::Demo];

    /// Part of a path; none for paths that every server has: its health, and the files that browsers load.
    fn from_path(path: &str, addresses: &Addresses) -> Option<Self> {
        if is_page(path) {
            return Some(Self::Pages);
        }
        let prefixes = [DEFAULT_TRACKING_PREFIX, addresses.tracking_prefix()];
        let is_below = |prefix| path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
        if prefixes.into_iter().any(is_below) {
            return Some(Self::Tracking);
        }
        match path.split('/').nth(1).unwrap_or_default() {
            "dock" | "v1" | "script.json" => Some(Self::Tracking),
            "docs" | "openapi.json" => Some(Self::Docs),
            "demo" => Some(Self::Demo),
            "health" => None,
            _ => Some(Self::Api),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Tracking => "tracking",
            Self::Api => "api",
            Self::Pages => "pages",
            Self::Docs => "docs",
            Self::Demo => "demo",
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServedParts(u8);

impl Default for ServedParts {
    fn default() -> Self {
        Self::new(&ServerPart::ALL)
    }
}

impl ServedParts {
    pub(crate) fn new(parts: &[ServerPart]) -> Self {
        Self(parts.iter().fold(0, |bits, part| bits | part.bit()))
    }

    pub(crate) fn have(self, part: ServerPart) -> bool {
        self.0 & part.bit() != 0
    }

    /// Whether a path is served, if it exists. `is_file` is whether it is a file.
    pub(crate) fn serve(
        self,
        path: &str,
        addresses: &Addresses,
        is_file: impl FnOnce() -> bool,
    ) -> bool {
        self == Self::default()
            || ServerPart::from_path(path, addresses).is_none_or(|part| self.have(part))
            || is_file()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_is_of_a_part() {
        let addresses = Addresses::new("http://x").with_tracking_prefix("/in").unwrap();
        for (path, expect) in [
            ("/analytics/x", Some(ServerPart::Tracking)),
            ("/in/x", Some(ServerPart::Tracking)),
            ("/v1/batch", Some(ServerPart::Tracking)),
            ("/dock/p/v1/track", Some(ServerPart::Tracking)),
            ("/script.json", Some(ServerPart::Tracking)),
            ("/", Some(ServerPart::Pages)),
            ("/app/records/companies", Some(ServerPart::Pages)),
            ("/docs/operations", Some(ServerPart::Docs)),
            ("/openapi.json", Some(ServerPart::Docs)),
            ("/demo", Some(ServerPart::Demo)),
            ("/health", None),
            ("/companies", Some(ServerPart::Api)),
            ("/inside", Some(ServerPart::Api)),
            ("/nowhere", Some(ServerPart::Api)),
        ] {
            assert_eq!(ServerPart::from_path(path, &addresses), expect, "{path}");
        }
    }
}

//! Addresses at which browsers find the service: each part is configurable, so that script and events can come from the
//! customer's own site, under names of its own.

use std::collections::BTreeMap;

use crate::asset::{ASSETS, Asset, asset};

/// Default path of the script. The script is served there even if another path is chosen.
pub const DEFAULT_SCRIPT_PATH: &str = "/svctrack.js";
/// Default prefix of the tenant in the paths of tracking routes, which is always served besides a chosen one.
pub const DEFAULT_TRACKING_PREFIX: &str = "/analytics";
/// Longest path that can be chosen, in bytes: the snippet, of at most 900 bytes, has two of them.
pub const MAX_PATH_BYTES: usize = 64;

/// Version of the loader: another one whenever a byte of the script differs.
const LOADER_VERSION: &str = env!("LOADER_VERSION");
/// Path of the tracker's JavaScript below the folder of the script, with its version.
pub const GLUE_PATH: &str = concat!("/", env!("TRACKER_VERSION"), ".js");
/// The version of the tracker's files.
const TRACKER_VERSION: &str = env!("TRACKER_VERSION");
/// Path of the tracker's WebAssembly there, with its version.
pub const WASM_PATH: &str = concat!("/", env!("TRACKER_VERSION"), ".wasm");
const LOADER: &str = "/svctrack.js";
const GLUE: &str = "/svctrack_glue.js";
const WASM: &str = "/svctrack_bg.wasm";

/// Addresses at which browsers find the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    base_url: String,
    script_path: String,
    tracking_prefix: String,
}

/// A file at an address.
#[derive(Clone, Copy, Debug)]
pub struct ServedFile {
    pub asset: &'static Asset,
    /// Whether the name has the version, so that the file is the same indefinitely.
    pub is_lasting: bool,
}

impl Addresses {
    /// Addresses of a server that browsers reach at `base_url`.
    pub fn new(base_url: &str) -> Self {
        Self {
            base_url: base_url.trim_end_matches('/').to_owned(),
            script_path: DEFAULT_SCRIPT_PATH.to_owned(),
            tracking_prefix: DEFAULT_TRACKING_PREFIX.to_owned(),
        }
    }

    /// Addresses with the script at another path, such as `/lib/app.js`; none when the path is invalid.
    ///
    /// ```
    /// use svctrack_web::Addresses;
    /// let addresses = Addresses::new("https://example.com").with_script_path("/lib/app.js").unwrap();
    /// assert_eq!(addresses.script(), "https://example.com/lib/app.js");
    /// assert!(addresses.with_script_path("/lib/").is_none());
    /// ```
    pub fn with_script_path(self, path: &str) -> Option<Self> {
        let stem = path.strip_suffix(".js").filter(|stem| !stem.ends_with('/'))?;
        is_path(stem).then(|| Self { script_path: path.to_owned(), ..self })
    }

    /// Addresses with another prefix of the paths to which events go, such as `/in`; none when the prefix is invalid.
    pub fn with_tracking_prefix(self, prefix: &str) -> Option<Self> {
        is_path(prefix).then(|| Self { tracking_prefix: prefix.to_owned(), ..self })
    }

    /// Address at which browsers reach the server, without a slash at the end.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    pub fn script_path(&self) -> &str {
        &self.script_path
    }

    /// The beginning of the paths to which events go.
    pub fn tracking_prefix(&self) -> &str {
        &self.tracking_prefix
    }

    /// Address of the script in any version.
    pub fn script(&self) -> String {
        [&self.base_url, &self.script_path[..]].concat()
    }

    /// Address of the script in exactly this version.
    pub fn versioned_script(&self) -> String {
        [&self.base_url, &versioned(&self.script_path)[..]].concat()
    }

    /// The address to which the events of a tenant go.
    pub fn endpoint(&self, tenant: &str) -> String {
        [&self.base_url, &self.tracking_prefix, "/", tenant].concat()
    }

    /// The part of all addresses before the path.
    pub fn origin(&self) -> &str {
        let host_at = self.base_url.find("://").map_or(0, |at| at + "://".len());
        let host = self.base_url.get(host_at..).unwrap_or_default();
        let end = host.find(['/', '?', '#']).unwrap_or(host.len());
        self.base_url.get(..host_at + end).unwrap_or(&self.base_url)
    }

    /// Every file by the path at which it is served.
    pub fn files(&self) -> BTreeMap<String, ServedFile> {
        let plain = |asset| ServedFile { asset, is_lasting: false };
        let mut files: BTreeMap<String, ServedFile> =
            ASSETS.iter().map(|asset| (asset.path.to_owned(), plain(asset))).collect();
        for path in [DEFAULT_SCRIPT_PATH, &self.script_path] {
            files.extend(loader().map(|loader| (path.to_owned(), plain(loader))));
            files.extend(lasting_files(path));
        }
        files
    }
}

/// Files of the script with names that have their version, where the script is at `script_path`.
pub fn lasting_files(script_path: &str) -> impl Iterator<Item = (String, ServedFile)> {
    let folder = script_path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let beside = |path| [folder, path].concat();
    let names = [
        (versioned(script_path), loader()),
        (beside(GLUE_PATH), asset(GLUE)),
        (beside(WASM_PATH), asset(WASM)),
    ];
    names
        .into_iter()
        .filter_map(|(path, asset)| Some((path, ServedFile { asset: asset?, is_lasting: true })))
}

/// Path of a file with `{hash}` for its version: the same in every build.
pub fn without_version(path: &str) -> String {
    path.replace(LOADER_VERSION, "{hash}").replace(TRACKER_VERSION, "{hash}")
}

/// The loader, which every build has.
pub(crate) fn loader() -> Option<&'static Asset> {
    asset(LOADER)
}

/// `/lib/app.js` as `/lib/app-1f0c2d3e4a5b.js`.
fn versioned(script_path: &str) -> String {
    let stem = script_path.strip_suffix(".js").unwrap_or(script_path);
    [stem, "-", LOADER_VERSION, ".js"].concat()
}

/// Whether a text is a path of plain names.
fn is_path(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte);
    let is_name = |name: &str| name.bytes().all(is_plain) && !matches!(name, "" | "." | "..");
    text.len() <= MAX_PATH_BYTES
        && text.strip_prefix('/').is_some_and(|names| names.split('/').all(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_ends_before_the_path() {
        let origin = |base_url| Addresses::new(base_url).origin().to_owned();
        assert_eq!(origin("http://127.0.0.1:8080"), "http://127.0.0.1:8080");
        assert_eq!(origin("https://a.example/b?c"), "https://a.example");
        assert_eq!(origin(""), "");
    }

    #[test]
    fn a_path_has_plain_names_alone() {
        for path in ["", "/", "in", "/in/", "//in", "/../in", "/:in", "/*in", "/i n", "/in?x"] {
            assert!(Addresses::new("").with_tracking_prefix(path).is_none(), "{path}");
        }
        assert!(Addresses::new("").with_tracking_prefix(&"/a".repeat(33)).is_none());
        assert!(Addresses::new("").with_tracking_prefix("/in/v1").is_some());
        for path in ["/app", "app.js", "/.js", "/lib/.js", "/lib/app.js/"] {
            assert!(Addresses::new("").with_script_path(path).is_none(), "{path}");
        }
    }

    #[test]
    fn the_script_has_its_files_next_to_it_wherever_it_is() {
        let files = Addresses::new("").with_script_path("/lib/app.js").unwrap().files();
        let loader = std::str::from_utf8(files["/lib/app.js"].asset.bytes).unwrap();
        for path in [GLUE_PATH, WASM_PATH] {
            assert!(loader.contains(&format!("`{}`", &path[1..])), "{loader}");
            for folder in ["", "/lib"] {
                assert!(files[&[folder, path].concat()].is_lasting);
            }
        }
        assert!(files[&versioned("/lib/app.js")].is_lasting && !files["/lib/app.js"].is_lasting);
        assert!(files.contains_key("/svctrack.js") && files.contains_key("/demo.css"));
    }
}

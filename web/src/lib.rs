//! Browser side of svctrack: the snippet that customers paste, the loader and the tracker that it loads, and the pages.
//! It is a part of `svctrack-server` and not meant for other programs.
//!
//! The crate knows neither HTTP nor a store: the server requests an [`Asset`] or a [`Page`] and sends it.

mod addresses;
mod asset;
mod content_security_policy;
mod demo;
mod docs;
mod escape;
mod npm;
mod npm_types;
mod page;
pub mod pages;
mod reference;
mod snippet;

/// A part of the build, for its tests.
#[cfg(test)]
#[path = "../build/constants.rs"]
mod constants;

pub use self::{
    addresses::{
        Addresses, DEFAULT_SCRIPT_PATH, DEFAULT_TRACKING_PREFIX, GLUE_PATH, MAX_PATH_BYTES,
        ServedFile, WASM_PATH, lasting_files, without_version,
    },
    asset::{ASSETS, Asset, asset},
    demo::{DemoTenant, demo_page},
    docs::{DOC_PAGES, DocPage, doc_page, doc_search_page, missing_doc_page, reference_page},
    npm::npm_package,
    page::Page,
    reference::{Reference, ReferenceIndex, ReferencePage},
    snippet::{SnippetScript, snippet, snippet_source},
};

/// Whether the tracker was left out of this build (`SVCTRACK_BUNDLE=skip`).
pub const IS_BUNDLE_SKIPPED: bool = cfg!(bundle_skipped);

//! The svctrack server: HTTP over the rules of `core` and a store.
//!
//! The server has no rules of its own. `main` and the tests build the same [`app::App`] and serve the same
//! [`routing::router::endpoint`].

mod address_file;
pub mod api_client;
pub mod app;
pub mod auth;
pub mod background_jobs;
pub mod backup_folder;
mod bodies;
mod bootstrap;
mod charts;
pub mod config;
pub mod connection;
pub mod demo;
mod error;
mod form_keys;
mod heavy_work;
pub mod interchange;
mod limits;
pub mod log;
pub mod observe;
pub mod open_error;
mod openapi;
mod pages;
mod printer;
pub mod proxies;
pub mod rate_limit;
mod rejected_events;
mod request_id;
mod routes;
pub mod routing;
pub mod run;
pub mod script_info;
mod sender_limits;
mod shutdown;
mod text_file;
pub mod tls;
pub mod transfer;

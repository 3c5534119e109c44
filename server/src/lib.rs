//! The svctrack server: HTTP over the rules of `core` and a store.
//!
//! The server has no rules of its own. `main` and the tests build the same [`app::App`] and serve the same
//! [`router::endpoint`].

mod address_file;
pub mod api_client;
pub mod app;
pub mod auth;
pub mod background_jobs;
pub mod backups;
mod body_room;
mod bootstrap;
mod chart_svg;
mod client_stream;
mod compression;
pub mod config;
mod connections;
pub mod demo;
mod demo_filling;
mod dispatch;
mod error;
mod heavy_work;
mod http_connection;
pub mod interchange;
mod keep_alive;
mod limits;
mod linger;
pub mod listen_address;
pub mod listener;
pub mod log;
mod malformed_requests;
pub mod observe;
pub mod open_error;
mod openapi;
mod pages;
mod path_tree;
mod printer;
pub mod proxies;
pub mod rate_limit;
mod read_body;
mod rejected_events;
mod request_head;
mod request_id;
mod response_budget;
mod route_def;
pub mod router;
mod routes;
pub mod run;
pub mod script;
mod sender_limits;
pub mod served_parts;
mod setting_text;
mod shutdown_signals;
mod text_file;
pub mod tls;
pub mod transfer;
mod watched_body;
pub mod workers;

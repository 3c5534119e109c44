//! The base of the whole-project tests: a server in a process of its own or in this one, a client, and a browser.

pub mod attack;
pub mod browser;
pub mod case;
pub mod client;
pub mod data;
pub mod description;
pub mod device;
pub mod direct;
pub mod disk;
pub mod docs;
pub mod fuzz;
pub mod golden;
pub mod good_calls;
pub mod help;
pub mod in_process;
pub mod isolated_process;
pub mod model;
pub mod process;
pub mod public_api;
pub mod reader;
pub mod required_tools;
pub mod site;
pub mod tls;
pub mod tokens;
pub mod workload;

pub use case::{TENANT, project};

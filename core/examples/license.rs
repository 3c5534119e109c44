//! Checks a license in a JSON file and prints it as it would be stored, with computed values and issues:
//!
//! ```text
//! cargo run -p svctrack-core --example license -- license.json
//! ```
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program of its own, unlike the rules"
)]

use std::{env, fs, process::ExitCode};

use svctrack_core::{
    plan::{self, Ctx, Rejection, memory::Memory},
    resources::{company::COMPANY, license::LICENSE},
    schema::{CheckedBody, ReadCtx, checked_body},
    value::{Document, IdSequence, Json, Timestamp, ValidationError},
};

fn main() -> ExitCode {
    let Some(path) = env::args().nth(1) else {
        eprintln!("expected the path of a JSON file");
        return ExitCode::FAILURE;
    };
    match fs::read(&path).map_err(|error| error.to_string()).and_then(|text| derive(&text)) {
        Ok(license) => {
            println!("{license}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("{path}: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// The license with all computed values, for a placeholder company.
fn derive(text: &[u8]) -> Result<String, String> {
    let now = Timestamp::parse("2026-06-01").ok_or("no such date")?;
    let mut ctx = Ctx::new(now, IdSequence::new([0; 5]), None);
    let mut store = Memory::default();
    let mut company = Document::default();
    company.set("name", Json::string("Some company"));
    let company = plan::create(&COMPANY, CheckedBody::trusted(company), &store, &mut ctx)
        .map_err(in_words)?;
    store.apply(&company.changes);

    let mut sent = Document::parse(text).map_err(|error| error.message)?;
    sent.set("companyId", Json::string(&company.id.to_string()));
    let body = checked_body::check_create(&LICENSE, &sent);
    let planned = plan::create(&LICENSE, body, &store, &mut ctx).map_err(in_words)?;
    let read = ReadCtx::new(now, &store);
    let response =
        plan::to_response(&LICENSE, &planned.document, &read).map_err(|error| error.to_string())?;
    Ok(response.to_text())
}

fn in_words(rejection: Rejection) -> String {
    match rejection {
        Rejection::Invalid(issues) | Rejection::Conflict(issues) => listed(&issues),
        other => format!("{other:?}"),
    }
}

fn listed(issues: &[ValidationError]) -> String {
    issues.iter().map(|issue| issue.message.as_str()).collect::<Vec<_>>().join("; ")
}

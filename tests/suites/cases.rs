//! Every case, over HTTP, each with a server of its own on an empty store.

use std::sync::Arc;

use svctrack_core::value::Timestamp;
use svctrack_tests::{
    case::{Case, CaseResponse, NOW, Step, run_all},
    in_process::{InProcess, StillClock},
};
use tokio::runtime::Runtime;

#[test]
fn every_case_has_its_expected_response() {
    let cases = Case::all();
    assert!(cases.len() >= 200, "only {} cases were found", cases.len());
    let runtime = Runtime::new().unwrap();
    run_all(&cases, |case| {
        let clock = Arc::new(StillClock::at(Timestamp::parse(NOW).unwrap()));
        let server = runtime.block_on(InProcess::with_clock(clock.clone()));
        case.run(|step| {
            if let Some(now) = step.now() {
                clock.set(Timestamp::parse(now).unwrap());
            }
            runtime.block_on(send(&server, step))
        })
    });
}

pub(crate) async fn send(server: &InProcess, step: &Step) -> CaseResponse {
    let client = match step {
        _ if step.is_operators() => &server.operator,
        _ if step.is_anonymous() => &server.anonymous,
        _ => &server.client,
    };
    let method = step.method().parse().unwrap();
    let response = client.send(method, step.path(), &step.headers(), step.body()).await.unwrap();
    let text_of = |value: &hyper::header::HeaderValue| value.to_str().unwrap().to_owned();
    let headers = response.headers.iter().map(|(name, value)| (name.to_string(), text_of(value)));
    CaseResponse {
        status: response.status.as_u16(),
        headers: headers.collect(),
        // A backup is no text.
        text: String::from_utf8_lossy(&response.body).into_owned(),
    }
}

//! What other programs build on stays as it is, unless it is changed on purpose.

use svctrack_tests::{golden, in_process::InProcess, project, public_api};

#[test]
fn the_public_surface_of_core_is_the_one_that_is_known() {
    golden::check("core.rs.txt", &public_api::surface_of(&project().join("core/src")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_description_of_the_api_is_the_one_that_is_known() {
    let server = InProcess::start().await;
    let described = server.anonymous.get("/openapi.json").await;
    // The port differs from run to run.
    let address = server.anonymous.address();
    let text = described.text().replace(address, "svctrack.example");
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    golden::check("openapi.json", &format!("{document:#}\n"));
}

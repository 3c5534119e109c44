//! The examples of `core`, run as another program's developers would run them.

use std::fs;

use serde_json::{Value, json};
use svctrack_tests::{process::cargo, project};

fn run(example: &str, arguments: &[&str]) -> (bool, String, String) {
    let output = cargo()
        .args(["run", "--quiet", "--package", "svctrack-core", "--example", example, "--"])
        .args(arguments)
        .current_dir(project())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_license_in_a_file_is_checked_and_worked_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("license.json");
    let derive = |license: Value| {
        fs::write(&path, license.to_string()).unwrap();
        run("license", &[path.to_str().unwrap()])
    };
    let (sound, response, _) =
        derive(json!({"fixedPeriod": true, "fromDate": "2026-01-01", "length": 12, "mrr": 100}));
    let response: Value = serde_json::from_str(&response).unwrap();
    assert!(sound);
    assert_eq!((&response["value"], &response["isOverdue"]), (&json!(1200), &json!(false)));
    assert_eq!(response["issues"][0]["code"], "currency_missing");
    let (sound, _, reason) = derive(json!({"fromDate": "soon"}));
    assert!(!sound && reason.contains("`fromDate` must be an ISO 8601 date"), "{reason}");
}

#[test]
fn a_bulk_upsert_is_planned_over_a_map() {
    let (sound, response, reason) = run("bulk", &[]);
    assert!(sound, "{reason}");
    let response: Value = serde_json::from_str(&response).unwrap();
    assert_eq!((&response["created"], &response["updated"]), (&json!(1), &json!(1)));
    assert_eq!(response["createdErrors"][0]["code"], "required");
}

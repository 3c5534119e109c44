//! Stores and backups of the formats that are read: a file of each is in `tests/golden`, written by the program of its
//! time.

use std::{fs, io::Read as _, path::Path};

use flate2::read::GzDecoder;
use hyper::Method;
use serde_json::json;
use svctrack_server::auth::Token;
use svctrack_tests::{
    process::{Server, command},
    project,
};
use tempfile::TempDir;

use crate::startup::{FILE, rejection};

/// The token in these files; it opens nothing else.
const TOKEN: &str = "svt_muxH4Z6A_4ts0s3gJ0x5O0tNaFsNwtUzZIaZ799LiKmiS5ykNOK52aKvxx";
/// The formats, each with a file of a program that was killed: some engagement is in its log alone. Format 5 is 1 as it
/// was called before the first release.
const FORMATS: [u32; 2] = [1, 5];
/// The formats of backups, each with a file.
const BACKUP_FORMATS: [u32; 1] = [1];
/// What the header says of a store that was written today.
const TODAY: u32 = 1;
/// The offset of the format in each of the four copies of a header.
const FORMAT_AT: [usize; 4] = [16, 4_112, 8_208, 12_304];

fn store_of(format: u32) -> TempDir {
    let packed = fs::File::open(project().join(format!("tests/golden/store-{format}.redb.gz")));
    let mut bytes = Vec::new();
    GzDecoder::new(packed.unwrap()).read_to_end(&mut bytes).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(FILE), bytes).unwrap();
    folder
}

/// The format in each copy of the header.
fn formats_in(bytes: &[u8]) -> [u32; 4] {
    FORMAT_AT.map(|at| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()))
}

async fn check_what_it_holds(folder: &Path) {
    let token = Token::parse(TOKEN).unwrap();
    let server = Server::start(folder, &token).await;
    let get = async |path: &str| server.client.get(path).await.json();
    assert_eq!(get("/companies?select=externalId").await.as_array().unwrap().len(), 3);
    let ada = get("/endusers/extid-ada").await;
    assert_eq!((&ada["name"], &ada["beatsTotal"]), (&json!("Ada Lovelace"), &json!(60)));
    let actions = get("/activities?endUserId=extid-ada&limit=2").await;
    assert_eq!(
        (&actions[0]["action"], &actions[1]["action"]),
        (&json!("event 60"), &json!("event 59"))
    );
    assert_eq!(get("/licenses?product=Plan").await[0]["value"], 1200);
    for path in ["/licenses?sort=renewalDate", "/licenses?renewalDate[gte]=1970-01-01"] {
        assert_eq!(get(path).await[0]["externalId"], "license", "{path}");
    }
    // No history is stored of data from before there was one.
    let early = get("/reports/mrr?asOf=2020-01-01").await;
    assert_eq!(early["code"], "no_history", "{early}");
    let since = early["errors"][0]["message"].as_str().unwrap().split(' ').nth(3).unwrap();
    let report = get(&format!("/reports/mrr?asOf={since}")).await;
    assert_eq!((&report["asOf"], &report["historySince"]), (&json!(since), &json!(since)));
    assert_eq!(report["currencies"].as_array().unwrap().len(), 1);
    let license = get("/licenses/extid-license").await;
    assert_eq!(license["companyId"], ada["companyId"]);
    assert_eq!(get("/tickets?email=ada@acme.example").await[0]["subject"], "It is slow");
    for number in 0..20 {
        assert_eq!(get(&format!("/endusers/extid-logged-{number}")).await["beatsTotal"], 3);
    }
    let again = json!({"name": "Taken", "externalId": "acme"});
    assert_eq!(server.client.post("/companies", &again).await.status, 409);
    let gone = json!({"externalId": "gone", "companyId": "extid-acme"});
    assert_eq!(server.client.post("/endusers", &gone).await.status, 422);
    let next = json!({"name": "Next", "externalId": "next"});
    assert_eq!(server.client.post("/companies", &next).await.status, 200);
    let removed = server.client.send(Method::DELETE, "/companies/extid-next", &[], "").await;
    assert_eq!(removed.unwrap().status, 200);
    server.kill().await;
}

#[tokio::test]
async fn a_store_of_each_format_is_opened_and_written_on_in_that_of_today() {
    for format in FORMATS {
        let folder = store_of(format);
        let file = folder.path().join(FILE);
        assert_eq!(formats_in(&fs::read(&file).unwrap()), [format; 4]);
        for _ in 0..2 {
            check_what_it_holds(folder.path()).await;
            assert_eq!(formats_in(&fs::read(&file).unwrap()), [TODAY; 4]);
        }
    }
}

#[tokio::test]
async fn a_backup_of_each_format_is_restored_and_served() {
    for format in BACKUP_FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("restored");
        let mut restore = command(folder.path());
        restore.args(["restore", "--from"]);
        restore.arg(project().join(format!("tests/golden/backup-{format}.gz")));
        let output = restore.arg("--data").arg(&data).output().await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        check_what_it_holds(&data).await;
    }
}

#[tokio::test]
async fn what_is_left_of_a_compaction_that_broke_off_is_in_nobodys_way() {
    let folder = store_of(TODAY);
    let unfinished = folder.path().join("svctrack.compact");
    fs::write(&unfinished, b"half a store").unwrap();
    check_what_it_holds(folder.path()).await;
    assert!(!unfinished.exists());
}

#[tokio::test]
async fn a_store_of_another_format_is_rejected_and_left_as_it_is() {
    let folder = store_of(TODAY);
    let path = folder.path().join(FILE);
    // Those from before the first release that are not read, and a later one.
    for format in [2, 3, 4, 6_u32] {
        let mut bytes = fs::read(&path).unwrap();
        for at in FORMAT_AT {
            bytes[at..at + 4].copy_from_slice(&format.to_be_bytes());
        }
        fs::write(&path, &bytes).unwrap();
        let said = rejection(folder.path(), &[]).await;
        let expect = format!("it has format {format}, this program knows format {TODAY}");
        assert!(said.contains(&expect), "{said}");
        assert!(fs::read(&path).unwrap() == bytes);
    }
}

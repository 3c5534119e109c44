//! Stores of earlier formats: a file of each is in `tests/golden`, made by the program of its time.

use std::{fs, io::Read as _, path::Path};

use flate2::read::GzDecoder;
use hyper::Method;
use serde_json::json;
use svctrack_server::auth::Token;
use svctrack_tests::{process::Server, project};
use tempfile::TempDir;

use crate::{
    backup::{run, text},
    startup::{FILE, refusal},
};

/// The token in these files; it opens nothing else.
const TOKEN: &str = "svt_muxH4Z6A_4ts0s3gJ0x5O0tNaFsNwtUzZIaZ799LiKmiS5ykNOK52aKvxx";
/// The formats, each with a file; that of 3 is of a program that was killed amid a commit, those from 4 on have
/// engagement which is in their log alone.
const FORMATS: [u32; 5] = [1, 2, 3, 4, 5];
/// Where the format stands in each of the four copies of a header.
const FORMAT_AT: [usize; 4] = [16, 4_112, 8_208, 12_304];

fn store_of(format: u32) -> TempDir {
    let packed = fs::File::open(project().join(format!("tests/golden/store-{format}.redb.gz")));
    let mut bytes = Vec::new();
    GzDecoder::new(packed.unwrap()).read_to_end(&mut bytes).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(FILE), bytes).unwrap();
    folder
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
    // Both are read from an index that came with format 5.
    for path in ["/licenses?sort=renewalDate", "/licenses?renewalDate[gte]=1970-01-01"] {
        assert_eq!(get(path).await[0]["externalId"], "license", "{path}");
    }
    let license = get("/licenses/extid-license").await;
    assert_eq!(license["companyId"], ada["companyId"]);
    assert_eq!(get("/tickets?email=ada@acme.example").await[0]["subject"], "It is slow");
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

async fn check_what_its_log_holds(folder: &Path) {
    let server = Server::start(folder, &Token::parse(TOKEN).unwrap()).await;
    for number in 0..20 {
        let user = server.client.get(&format!("/endusers/extid-logged-{number}")).await.json();
        assert_eq!(user["beatsTotal"], 3);
    }
    server.kill().await;
}

#[tokio::test]
async fn a_store_of_each_format_is_brought_up_to_that_of_today() {
    for format in FORMATS {
        let folder = store_of(format);
        // The second time it is of today's format.
        for _ in 0..2 {
            check_what_it_holds(folder.path()).await;
            if format >= 4 {
                check_what_its_log_holds(folder.path()).await;
            }
            assert!(fs::read(folder.path().join(FILE)).unwrap().starts_with(b"svctrack store"));
        }
    }
}

#[tokio::test]
async fn a_store_from_before_there_was_a_table_is_verified_backed_up_and_restored() {
    let folder = store_of(2);
    let folder = folder.path();
    let (backup, restored) = (folder.join("one.backup.gz"), folder.join("restored"));
    for arguments in [
        vec!["verify", "--data", text(folder)],
        vec!["backup", "--to", text(&backup), "--data", text(folder)],
        vec!["restore", "--from", text(&backup), "--data", text(&restored)],
    ] {
        let (code, said) = run(folder, &arguments).await;
        assert_eq!(code, Some(0), "{arguments:?}: {said}");
    }
    check_what_it_holds(&restored).await;
}

#[tokio::test]
async fn what_was_left_of_a_step_that_broke_off_is_in_nobodys_way() {
    let folder = store_of(1);
    let unfinished = folder.path().join("svctrack.compact");
    fs::write(&unfinished, b"half a store").unwrap();
    check_what_it_holds(folder.path()).await;
    assert!(!unfinished.exists());
}

#[tokio::test]
async fn a_store_of_a_later_format_is_refused() {
    let folder = store_of(1);
    check_what_it_holds(folder.path()).await;
    let path = folder.path().join(FILE);
    let mut bytes = fs::read(&path).unwrap();
    let today = u32::from_be_bytes(bytes[16..20].try_into().unwrap());
    for at in FORMAT_AT {
        bytes[at..at + 4].copy_from_slice(&(today + 1).to_be_bytes());
    }
    fs::write(&path, &bytes).unwrap();
    let said = refusal(folder.path(), &[]).await;
    let expect = format!("it has format {}, this program knows format {today}", today + 1);
    assert!(said.contains(&expect), "{said}");
    assert!(fs::read(&path).unwrap() == bytes);
}

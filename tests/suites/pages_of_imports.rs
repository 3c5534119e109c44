//! Import on a page: what was checked is imported, and nothing else.

use hyper::{Method, StatusCode};
use serde_json::json;
use svctrack_tests::{
    client::Response,
    in_process::InProcess,
    reader::{OWN_PAGE, csrf_in},
};

use crate::pages::{Reader, attribute, sign_in, token};

const PATH: &str = "/app/import/companies";

/// A field of the form: what its head says after its name, and its text.
type Field<'t> = (&'t str, &'t str);

/// Sends the form of an import, as a browser does.
async fn send(server: &InProcess, reader: &Reader<'_>, fields: &[Field<'_>]) -> Response {
    let csrf = csrf_in(reader.get("/").await.text());
    let mut body = String::new();
    for (name, text) in [("csrf\"", csrf.as_str())].iter().chain(fields) {
        body.push_str("--x\r\nContent-Disposition: form-data; name=\"");
        body.extend([name, "\r\n\r\n", text, "\r\n"]);
    }
    body.push_str("--x--\r\n");
    let headers = [
        ("cookie", reader.cookie.as_str()),
        ("content-type", "multipart/form-data; boundary=x"),
        OWN_PAGE,
    ];
    server.anonymous.send(Method::POST, PATH, &headers, body).await.unwrap()
}

/// What the page of a check has for the import.
fn checked(page: &Response) -> String {
    attribute(page.text(), "name=\"checked\" value").next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_imported_with_the_mapping_of_its_dry_run_alone() {
    let server = InProcess::start().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let send = async |mapping: &str, checked: &str, step: &str| {
        let fields = [
            ("table\"", "Firm,Town\nAcme,Bern\n"),
            ("map\"", "Firm=name"),
            ("map\"", mapping),
            ("checked\"", checked),
            ("step\"", step),
        ];
        send(&server, &reader, &fields).await
    };
    let first = send("Town=city", "", "check").await;
    assert_eq!(first.status, StatusCode::OK, "{}", first.text());
    for unchecked in ["", "other", &checked(&first)] {
        let mapping = "Town=zip";
        let changed = send(mapping, unchecked, "import").await;
        assert_eq!(changed.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", changed.text());
        for text in ["Nothing was imported", "new check"] {
            assert!(changed.text().contains(text), "{text} is not in {}", changed.text());
        }
        assert_eq!(server.client.get("/companies").await.json(), json!([]), "{unchecked}");
        if unchecked == checked(&first) {
            let done = send(mapping, &checked(&changed), "import").await;
            assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text());
            let there = reader.get(done.headers["location"].to_str().unwrap()).await;
            let link = "href=\"/app/records/companies\">Show companies</a>";
            assert!(there.text().contains(link), "{}", there.text());
        }
    }
    assert_eq!(server.client.get("/companies").await.json()[0]["zip"], "Bern");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_20_000_rows_is_checked_and_imported_on_its_page() {
    const ROWS: usize = 20_000;
    let server = InProcess::start().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let row = |at| {
        let about = "A company that uses the product every day. ".repeat(4);
        format!("Company {at},c{at},Amsterdam,NL,Ada Lovelace,{about}\n")
    };
    let rows: String = (0..ROWS).map(row).collect();
    let table = format!("name,externalId,city,country,owner,description\n{rows}");
    assert!(table.len() > 4_000_000, "{}", table.len());
    let file = "file\"; filename=\"all.csv\"\r\nContent-Type: text/csv";
    let page = send(&server, &reader, &[(file, &table), ("step\"", "check")]).await;
    assert_eq!(page.status, StatusCode::OK, "{:.2000}", page.text());
    assert!(page.text().contains("Import 20,000 rows"));
    let checked = checked(&page);
    let fields = [("table\"", table.as_str()), ("checked\"", &checked), ("step\"", "import")];
    let done = send(&server, &reader, &fields).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER, "{:.2000}", done.text());
    let notice = reader.get(done.headers["location"].to_str().unwrap()).await;
    assert!(notice.text().contains("Imported: 20,000 created"), "{}", notice.text());
    let last = server.client.get("/companies/extid-c19999").await.json();
    assert_eq!(last["name"], "Company 19999");
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_without_a_head_or_with_the_same_one_are_skipped() {
    let server = InProcess::start().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let table = "name,externalId,,,Notes,notes\nAcme,a1,,,x,y\n";
    let maps = ["name=name", "externalId=externalId", "=", "=", "Notes=", "notes="];
    let fields = [("table\"", table), ("step\"", "check")].into_iter();
    let fields: Vec<Field<'_>> = fields.chain(maps.map(|map| ("map\"", map))).collect();
    let page = send(&server, &reader, &fields).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text());
    assert!(!page.text().contains("mapped twice"), "{}", page.text());
    assert!(!checked(&page).is_empty());
}

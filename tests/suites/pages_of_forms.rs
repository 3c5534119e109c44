//! What forms of the pages do when another user was faster, and when they are sent twice.

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_tests::{
    client::{Client, Response},
    data,
    in_process::InProcess,
};

use crate::pages::{Reader, attribute, sign_in, token};

/// What a page says when the record that its form shows was changed.
const CHANGED: &str = "Somebody else has changed the record in the meantime";

async fn change(client: &Client, path: &str, body: &Value) {
    let headers = [("content-type", "application/json")];
    let done = client.send(Method::PUT, path, &headers, body.to_string()).await.unwrap();
    assert_eq!(done.status, StatusCode::OK, "{}", done.text());
}

/// What a page has in a hidden field.
async fn hidden(reader: &Reader<'_>, path: &str, name: &str) -> String {
    let page = reader.get(path).await;
    let found = attribute(page.text(), &format!("name=\"{name}\" value")).next();
    found.unwrap_or_else(|| panic!("{path} has no {name}: {}", page.text())).replace("&quot;", "\"")
}

fn assert_rejected(response: &Response, texts: &[&str]) {
    assert_eq!(response.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", response.text());
    for text in texts {
        assert!(response.text().contains(text), "{text} is not in {}", response.text());
    }
}

/// A server with a company that has a license of a year.
async fn server() -> InProcess {
    let server = InProcess::start().await;
    server.client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    let license = json!({
        "companyId": "extid-acme", "_currency": "EUR", "externalId": "l1", "mrr": 100,
        "fromDate": "2026-01-01", "toDate": "2026-12-31", "fixedPeriod": true,
    });
    assert_eq!(server.client.post("/licenses", &license).await.status, StatusCode::OK);
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn a_license_that_was_changed_after_it_was_shown_is_neither_renewed_nor_lost() {
    let server = server().await;
    let (client, reader) = (&server.client, sign_in(&server.anonymous, &token(&server)).await);
    for (verb, term) in [("renew", ("mrr", "100")), ("lose", ("lostReason", "price"))] {
        let path = format!("/app/licenses/extid-l1/{verb}");
        let version = hidden(&reader, &path, "version").await;
        change(client, "/licenses/extid-l1", &json!({"mrr": 250, "comments": verb})).await;
        change(client, "/licenses/extid-l1", &json!({"mrr": 300})).await;
        let pairs = [("version", version.as_str()), ("step", "do"), term];
        let stale = reader.submit(&path, &pairs).await;
        assert_rejected(&stale, &[CHANGED, "300"]);
        assert_eq!(stale.text().contains("value=\"price\""), verb == "lose", "{}", stale.text());
        let license = client.get("/licenses/extid-l1").await.json();
        assert_eq!(license["renewalStatus"], "ongoing");
    }
    let path = "/app/licenses/extid-l1/renew";
    let version = hidden(&reader, path, "version").await;
    let pairs = [("version", version.as_str()), ("previewed", "{}"), ("step", "do")];
    let done = reader.submit(path, &pairs).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text());
    assert_eq!(client.get("/licenses/extid-l1").await.json()["renewalStatus"], "renewed");
    let again = reader.submit(path, &pairs).await;
    assert_rejected(&again, &["This license cannot be renewed or lost."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_with_other_terms_than_those_previewed_is_shown_before_it_is_stored() {
    let server = server().await;
    let (client, reader) = (&server.client, sign_in(&server.anonymous, &token(&server)).await);
    let status = async || client.get("/licenses/extid-l1").await.json()["renewalStatus"].clone();
    let value_of = |page: &Response, name: &str| {
        let name = format!("name=\"{name}\" value");
        attribute(page.text(), &name).next().unwrap().replace("&quot;", "\"")
    };
    for (verb, term, says) in [
        ("renew", ("fromDate", "2026-12-02"), "starts 30 days before this one ends."),
        ("renew", ("fromDate", "2027-01-02"), "starts 1 day after this one ends."),
        ("lose", ("toDate", "2026-11-30"), "2026-11-30"),
    ] {
        let path = format!("/app/licenses/extid-l1/{verb}");
        let first = reader.get(&path).await;
        assert!(!first.text().contains("The next license starts"), "{}", first.text());
        let decide = async |page: &Response| {
            let (version, previewed) = (value_of(page, "version"), value_of(page, "previewed"));
            let reason = ("lostReason", "price");
            let of_loss = (verb == "lose").then_some(reason);
            let pairs = [("version", &*version), ("previewed", &*previewed), ("step", "do"), term];
            let pairs: Vec<_> = pairs.into_iter().chain(of_loss).collect();
            reader.submit(&path, &pairs).await
        };
        let shown = decide(&first).await;
        assert_eq!(shown.status, StatusCode::OK, "{}", shown.text());
        assert!(shown.text().contains("Nothing is stored yet") && shown.text().contains(says));
        assert_eq!(status().await, "ongoing");
        if verb == "lose" {
            let done = decide(&shown).await;
            assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text());
            assert_eq!(status().await, "lost");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_form_names_all_its_problems_at_once() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let number = "without thousands separators";
    let license =
        [("companyId", ""), ("product", "Basic"), ("value", "many"), ("fromDate", "31.1.2026")];
    let day = "must be a day such as 2026-01-31";
    let page = reader.submit("/app/records/licenses/new", &license).await;
    assert_rejected(&page, &[number, day, "Company is required", "value=\"many\""]);
    // A name that names no record, a text that is no number, and a key that is taken.
    let named = [("companyId", "Nobody"), ("value", "many"), ("externalId", "l1")];
    let page = reader.submit("/app/records/licenses/new", &named).await;
    assert_rejected(&page, &["No company has the name Nobody", number, "l1 is taken"]);
    let terms = [("mrr", "many"), ("fromDate", "soon"), ("step", "do")];
    let page = reader.submit("/app/licenses/extid-l1/renew", &terms).await;
    assert_rejected(&page, &[number, day]);
    let edited = [("csmScore", "many"), ("name", "")];
    let page = reader.submit("/app/records/companies/extid-acme/edit", &edited).await;
    assert_rejected(&page, &[number, "Name cannot be cleared"]);
    assert_eq!(server.client.get("/licenses").await.json().as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_shows_what_was_changed_meanwhile_and_overwrites_only_what_its_user_changed() {
    let server = server().await;
    let (client, reader) = (&server.client, sign_in(&server.anonymous, &token(&server)).await);
    let path = "/app/records/companies/extid-acme/edit";
    let (version, shown) =
        (hidden(&reader, path, "version").await, hidden(&reader, path, "shown").await);
    change(client, "/companies/extid-acme", &json!({"name": "Acme Group", "city": "Bern"})).await;
    let pairs = [
        ("name", "Acme"),
        ("city", "Basel"),
        ("zip", "4051"),
        ("version", version.as_str()),
        ("shown", shown.as_str()),
    ];
    let stale = reader.submit(path, &pairs).await;
    let now =
        [CHANGED, "City is now: Bern", "value=\"Acme Group\"", "value=\"Basel\"", "value=\"4051\""];
    assert_rejected(&stale, &now);
    assert!(!stale.text().contains("Name is now"), "{}", stale.text());
    let version = attribute(stale.text(), "name=\"version\" value").next().unwrap();
    let version = version.replace("&quot;", "\"");
    let pairs = [("name", "Acme Group"), ("city", "Basel"), ("version", version.as_str())];
    assert_eq!(reader.submit(path, &pairs).await.status, StatusCode::SEE_OTHER);
    let company = client.get("/companies/extid-acme").await.json();
    assert_eq!((&company["name"], &company["city"]), (&json!("Acme Group"), &json!("Basel")));
    // Nor is it deleted as it was shown before.
    let delete = "/app/records/companies/extid-acme/delete";
    assert_rejected(&reader.submit(delete, &[("version", &version)]).await, &[CHANGED, "Basel"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_record_names_the_records_that_it_refers_to() {
    let server = server().await;
    let (client, reader) = (&server.client, sign_in(&server.anonymous, &token(&server)).await);
    let user = client.post("/users", &json!({"email": "ada@acme.example", "name": "Ada"})).await;
    let id = user.json()["_id"].as_str().unwrap().to_owned();
    let entry = json!({"userId": id, "companyId": "extid-acme", "hours": 2, "date": "2026-01-05",
        "externalId": "e1", "projectId": "a project of old"});
    let made = client.post("/timeentries", &entry).await;
    assert_eq!(made.status, StatusCode::OK, "{}", made.text());
    let page = reader.get("/app/records/timeentries/extid-e1").await;
    let link = format!("href=\"/app/records/users/{id}\">Ada</a>");
    assert!(page.text().contains(&link) && page.text().contains(">Acme</a>"), "{}", page.text());
    assert!(page.text().contains("a project of old"), "{}", page.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_of_a_ticket_that_was_changed_after_it_was_shown_stays() {
    let server = server().await;
    let (client, reader) = (&server.client, sign_in(&server.anonymous, &token(&server)).await);
    let ticket =
        json!({"sourceId": "1", "email": "a@b.example", "title": "It stops", "status": "open"});
    client.post("/tickets", &ticket).await;
    let path = "/app/tickets/srcid-1";
    let version = hidden(&reader, path, "version").await;
    change(client, "/tickets/srcid-1", &json!({"status": "on hold"})).await;
    let stale = reader.submit(path, &[("version", &version), ("status", "closed")]).await;
    assert_rejected(&stale, &[CHANGED, "on hold", "value=\"closed\""]);
    let version = hidden(&reader, path, "version").await;
    let done = reader.submit(path, &[("version", &version), ("status", "closed")]).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER);
    assert_eq!(client.get("/tickets/srcid-1").await.json()["status"], "closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn timesheets_are_in_pages_and_each_that_is_not_approved_shows_the_reason() {
    let server = server().await;
    let (client, reader) = (&server.client, sign_in(&server.anonymous, &token(&server)).await);
    let user = json!({"name": "Grace", "email": "grace@us.example", "externalId": "grace"});
    let user = client.post("/users", &user).await.json()["_id"].clone();
    for day in 20_000..20_060 {
        let sheet = json!({
            "externalId": format!("t{day}"), "dateFrom": day, "dateTo": day, "assignedId": user,
        });
        assert_eq!(client.post("/timesheets", &sheet).await.status, StatusCode::OK);
    }
    let page = reader.get("/app/timesheets").await;
    let next = attribute(page.text(), "rel=\"next\" href").next().unwrap().replace("&amp;", "&");
    let page = reader.get(&next).await;
    let sheets: Vec<&str> = attribute(page.text(), "name=\"sheet\" value").collect();
    assert_eq!(sheets.len(), 10);
    change(client, "/timesheets/extid-t20050", &json!({"dateTo": 20_051})).await;
    let gone = server.client.send(Method::DELETE, "/timesheets/extid-t20051", &[], "").await;
    assert_eq!(gone.unwrap().status, StatusCode::OK);
    let rest = [("status", "approved"), ("shown", "submitted"), ("offset", "50")];
    let chosen = |sheets: &[&'static str]| -> Vec<(&str, &str)> {
        sheets.iter().map(|sheet| ("sheet", *sheet)).chain(rest).collect()
    };
    let sheets: Vec<&'static str> =
        sheets.into_iter().map(|sheet| &*String::leak(sheet.to_owned())).collect();
    let partly = reader.submit("/app/timesheets", &chosen(&sheets[..4])).await;
    let gone = format!("{}: Somebody has deleted it in the meantime", &sheets[1][..24]);
    assert_rejected(&partly, &["2 timesheets were approved", "Grace, 2024-11-23: Somebody", &gone]);
    let status = async |day: i32| {
        client.get(&format!("/timesheets/extid-t{day}")).await.json()["status"].clone()
    };
    assert_eq!(
        (status(20_050).await, status(20_052).await),
        (json!("submitted"), json!("approved"))
    );
    // With the last of a page, there is the one before.
    let all = reader.submit("/app/timesheets", &chosen(&sheets[4..])).await;
    let page = reader.get(all.headers["location"].to_str().unwrap()).await;
    assert!(page.text().contains("6 timesheets were approved"), "{}", page.text());
    assert_rejected(&reader.submit("/app/timesheets", &rest).await, &["Select at least one"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_that_is_sent_twice_creates_once() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let path = "/app/records/companies/new";
    let once = hidden(&reader, path, "once").await;
    assert_ne!(once, hidden(&reader, path, "once").await);
    let pairs = [("name", "Ember"), ("once", once.as_str())];
    let (one, two, three) = tokio::join!(
        reader.submit(path, &pairs),
        reader.submit(path, &pairs),
        reader.submit(path, &pairs)
    );
    for response in [&one, &two, &three] {
        assert_eq!(response.status, StatusCode::SEE_OTHER, "{}", response.text());
        assert_eq!(response.headers["location"], one.headers["location"]);
    }
    assert_eq!(
        server.client.get("/companies?name=Ember").await.json().as_array().unwrap().len(),
        1
    );
    // A form that was rejected creates when it is right.
    let rejected = reader.submit(path, &[("name", ""), ("once", &once)]).await;
    let again = attribute(rejected.text(), "name=\"once\" value").next().unwrap();
    let done = reader.submit(path, &[("name", "Other"), ("once", again)]).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_of_a_list_is_saved_under_a_name_shown_to_all_and_removed() {
    let server = server().await;
    let (client, reader) = (&server.client, sign_in(&server.anonymous, &token(&server)).await);
    let scopes = json!({"label": "success", "scopes": ["companies:read"]});
    let other = client.post("/tokens", &scopes).await.json();
    let other = sign_in(&server.anonymous, other["token"].as_str().unwrap()).await;
    let list = "/app/records/companies";
    let shown = format!("{list}?status=customer&sort=-mrr&columns=name%2Cmrr");
    let asks = async |reader: &Reader<'_>, path: &str| reader.get(path).await.text().to_owned();
    assert!(!asks(&reader, list).await.contains("Save this view"));
    assert!(!asks(&other, &shown).await.contains("Save this view"));
    let query = hidden(&reader, &shown, "query").await.replace("&amp;", "&");
    let save = format!("{list}/views");
    let saved = reader.submit(&save, &[("name", "Paying <b>"), ("query", &query)]).await;
    assert_eq!(saved.status, StatusCode::SEE_OTHER, "{}", saved.text());
    assert_eq!(saved.headers["location"], shown);
    assert_eq!(
        client.get("/settings").await.json()["views"],
        json!({"companies": {"Paying <b>": "status=customer&sort=-mrr&columns=name%2Cmrr"}})
    );
    let link = format!("href=\"{}\">Paying &lt;b&gt;", shown.replace('&', "&amp;"));
    assert!(asks(&other, list).await.contains(&link), "{}", asks(&other, list).await);
    assert!(!asks(&other, "/app/records/products").await.contains("Paying"));
    let page = asks(&reader, &shown).await;
    assert!(page.contains("Remove this view") && page.contains("aria-current=\"page\">Paying"));
    assert_rejected(
        &reader.submit(&save, &[("name", ""), ("query", &query)]).await,
        &["a name of 1 to 80"],
    );
    assert_eq!(
        other.submit(&save, &[("name", "Mine"), ("query", &query)]).await.status,
        StatusCode::FORBIDDEN
    );
    let pairs = [("name", "Paying <b>"), ("query", &query), ("step", "remove")];
    assert_eq!(reader.submit(&save, &pairs).await.status, StatusCode::SEE_OTHER);
    assert!(!asks(&reader, list).await.contains("Paying"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_a_list_has_its_records_and_its_columns() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    server.client.post("/companies", &json!({"name": "Beta"})).await;
    let list = reader.get("/app/records/companies?name=Beta&columns=name&columns=status").await;
    let file = attribute(list.text(), "href").find(|link| link.contains("form=csv")).unwrap();
    let file = reader.get(&file.replace("&amp;", "&")).await;
    let lines: Vec<&str> = file.text().lines().collect();
    assert_eq!(lines.len(), 2, "{}", file.text());
    assert!(lines[0].ends_with("name,status") && lines[1].contains("Beta"), "{}", file.text());
}

/// The page to which a form leads.
async fn led(reader: &Reader<'_>, path: &str) -> (String, String) {
    let sent = reader.get(path).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{path}: {}", sent.text());
    let there = sent.headers["location"].to_str().unwrap().to_owned();
    let html = reader.get(&there).await.text().to_owned();
    (there, html)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_of_a_form_leads_to_the_page_that_has_it() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    for (form, page) in [
        ("/app/records/companies/extid-acme/delete", "/app/records/companies/extid-acme"),
        ("/app/records/endusers/extid-ada/erase", "/app/records/endusers/extid-ada"),
        ("/app/closings/2026-01/reopen", "/app/closings"),
        ("/app/issues/x/replay", "/app/issues"),
        ("/sign-out", "/"),
    ] {
        assert_eq!(led(&reader, form).await.0, page);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_filtered_by_what_fits_the_field_and_each_filter_can_be_removed() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    for (name, owner, score) in [("Beta", json!("Ada, B"), 2), ("Gamma", json!(null), 4)] {
        let company = json!({"name": name, "owner": owner, "csmScore": score});
        assert_eq!(server.client.post("/companies", &company).await.status, StatusCode::OK);
    }
    let list = "/app/records/companies";
    // The field that is chosen determines the operators.
    let asked = async |field: &str| {
        let html =
            reader.get(&format!("{list}?filter-by={field}&sort=name")).await.text().to_owned();
        let form =
            html.split("name=\"filter-op\"").nth(1).unwrap().split("</form>").next().unwrap();
        form.to_owned()
    };
    let number = asked("csmScore").await;
    assert!(number.contains("value=\"gte\"") && !number.contains("value=\"contains\""), "{number}");
    let text = asked("name").await;
    assert!(text.contains("value=\"contains\"") && !text.contains("value=\"gte\""), "{text}");
    assert!(asked("createDate").await.contains("type=\"date\""));
    assert!(
        asked("status").await.contains("type=\"checkbox\" name=\"filter-value\" value=\"lost\"")
    );

    for (query, filter, words, found) in [
        (
            "csmScore&filter-op=gte&filter-value=3",
            "csmScore%5Bgte%5D=3",
            "CSM score is at least 3",
            "Gamma",
        ),
        (
            "name&filter-op=prefix&filter-value=be",
            "name%5Bprefix%5D=be",
            "Name begins with be",
            "Beta",
        ),
        (
            "owner&filter-op=is&filter-value=Ada,+B",
            "owner=Ada%5C%2C%20B",
            "Owner is Ada, B",
            "Beta",
        ),
        ("name&filter-op=in&filter-value=Beta,+X", "name=Beta%2CX", "Name is Beta or X", "Beta"),
        (
            "csmScore&filter-op=lt&filter-value=3",
            "csmScore%5Blt%5D=3",
            "CSM score is less than 3",
            "Beta",
        ),
    ] {
        let (there, html) = led(&reader, &format!("{list}?sort=name&filter-by={query}")).await;
        assert_eq!(there, format!("{list}?{filter}&sort=name"));
        assert!(html.contains("1 to 1 of 1") && html.contains(&format!(">{found}</a>")), "{html}");
        assert!(
            html.contains(&format!("<li><span>{words}</span><a href=\"{list}?sort=name\">")),
            "{html}"
        );
    }
    let (there, html) =
        led(&reader, &format!("{list}?csmScore[gte]=1&filter-by=owner&filter-op=absent")).await;
    assert_eq!(there, format!("{list}?csmScore%5Bgte%5D=1&owner%5Bexists%5D=false"));
    assert!(html.contains("1 to 1 of 1") && html.contains("Owner has no value"), "{html}");
    let states = "filter-by=status&filter-op=notin&filter-value=customer&filter-value=lost";
    let (there, _) = led(&reader, &format!("{list}?{states}")).await;
    assert_eq!(there, format!("{list}?status%5Bne%5D=customer%2Clost"));
    // A record that is referred to is shown by its name.
    let company = server.client.get("/companies/extid-acme").await.json();
    let of_company =
        format!("/app/records/licenses?companyId={}", company["_id"].as_str().unwrap());
    let html = reader.get(&of_company).await.text().to_owned();
    assert!(html.contains(&format!("Company is {}", company["name"].as_str().unwrap())), "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_a_list_has_all_of_its_records() {
    const RECORDS: usize = 4_321;
    let server = server().await;
    let companies = (0..RECORDS).map(|number| {
        let note = if number.is_multiple_of(2) { "even" } else { "two\nlines" };
        json!({"name": format!("C {number}"), "externalId": format!("c{number}"), "phase": note})
    });
    data::upsert(&server.client, "/companies", &companies.collect()).await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let lines = async |list: &str| {
        let list = reader.get(list).await;
        let file = attribute(list.text(), "href").find(|link| link.contains("form=csv")).unwrap();
        let file = reader.get(&file.replace("&amp;", "&")).await;
        assert_eq!(file.status, StatusCode::OK, "{}", file.text());
        file.text().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = lines("/app/records/companies?columns=name,phase&sort=-name&name[prefix]=c").await;
    assert_eq!(all.iter().filter(|line| line.ends_with("name,phase")).count(), 1);
    assert_eq!(all.iter().filter(|line| line.contains(",C ")).count(), RECORDS);
    let half = lines("/app/records/companies?columns=name&phase=even").await;
    assert_eq!(half.len(), 1 + RECORDS.div_ceil(2));
    let few = lines("/app/records/companies?columns=name&sort=-name&name=C+1,C+2,C+3").await;
    assert!(few[1].ends_with("C 3") && few[3].ends_with("C 1"), "{few:?}");
}
#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_a_form_or_a_filter_refers_to_is_chosen_by_its_name() {
    let server = server().await;
    let client = &server.client;
    client.post("/companies", &json!({"name": "Twin", "externalId": "twin-1"})).await;
    client.post("/companies", &json!({"name": "Twin", "externalId": "twin-2"})).await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let new = "/app/records/licenses/new";
    let form = reader.get(new).await;
    for shown in
        ["<option value=\"Acme (acme)\">", ">Company *</label>", "data-suggest=\"companies\""]
    {
        assert!(form.text().contains(shown), "{shown}: {}", form.text());
    }
    let submit = async |company: &str| {
        reader.submit(new, &[("companyId", company), ("_currency", "EUR"), ("mrr", "5")]).await
    };
    for name in ["Acme (acme)", "acme", "extid-acme"] {
        let made = submit(name).await;
        assert_eq!(made.status, StatusCode::SEE_OTHER, "{name}: {}", made.text());
    }
    let unknown = "id=\"p-companyId\">No company has the name Acme GmbH. Choose one";
    assert_rejected(&submit("Acme GmbH").await, &[unknown, "value=\"Acme GmbH\""]);
    assert_rejected(&submit("Twin").await, &["Choose one company: Twin (twin-", "Twin (twin-2)"]);
    assert_rejected(&submit("").await, &["Company is required"]);

    let edit = "/app/records/licenses/extid-l1/edit";
    let form = reader.get(edit).await;
    assert!(form.text().contains("name=\"companyId\" value=\"Acme (acme)\""), "{}", form.text());
    let before = client.get("/licenses/extid-l1").await.json();
    let company = ("companyId", "Acme (acme)");
    assert_eq!(reader.submit(edit, &[company]).await.status, StatusCode::SEE_OTHER);
    assert_eq!(client.get("/licenses/extid-l1").await.json(), before);

    let form = reader.get("/app/records/licenses").await;
    assert!(form.text().contains("<option value=\"companyId\">Company</option>"));
    let filter = "/app/records/licenses?filter-by=companyId&filter-op=is&filter-value";
    let (there, html) = led(&reader, &format!("{filter}=acme")).await;
    assert!(there.contains("companyId=") && html.contains("Company is Acme"), "{there}: {html}");
    let none = reader.get(&format!("{filter}=Nobody")).await;
    assert!(none.text().contains("No company has the name Nobody."), "{}", none.text());
    assert!(none.text().contains("data-suggest=\"companies\""), "{}", none.text());
    let report = reader.get("/app/reports/mrr?companyId=acme").await;
    assert!(report.text().contains("value=\"Acme (acme)\""), "{}", report.text());
    let none = reader.get("/app/reports/mrr?companyId=Nobody").await;
    assert!(none.text().contains("No company has the name Nobody."), "{}", none.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn suggestions_are_few_and_of_what_the_token_may_read() {
    let server = server().await;
    let companies: Vec<Value> = (0..60)
        .map(|at| json!({"name": format!("North {at}"), "externalId": at.to_string()}))
        .collect();
    change(&server.client, "/companies", &Value::from(companies)).await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let found = async |query: &str| {
        reader.get(&format!("/app/suggestions/companies?q={query}")).await.json()
    };
    assert_eq!(found("north+5").await[0], "North 5 (5)");
    assert_eq!(found("north").await.as_array().unwrap().len(), 20);
    assert_eq!(found("acme,x").await, json!([]));
    let other = json!({"label": "other", "scopes": ["licenses:*"]});
    let other = server.client.post("/tokens", &other).await.json();
    let other = sign_in(&server.anonymous, other["token"].as_str().unwrap()).await;
    let path = "/app/suggestions/companies?q=north";
    assert_eq!(other.get(path).await.status, StatusCode::FORBIDDEN);
    let form = other.get("/app/records/licenses/new").await;
    assert!(!form.text().contains("North") && !form.text().contains("-suggest=\"companies"));
    let pairs = [("companyId", "extid-acme"), ("_currency", "EUR"), ("mrr", "5")];
    let made = other.submit("/app/records/licenses/new", &pairs).await;
    assert_eq!(made.status, StatusCode::SEE_OTHER, "{}", made.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_many_records_has_the_order_of_its_list_unless_that_takes_too_much_memory() {
    let server = InProcess::start().await;
    for batch in 0..4 {
        let company = |number: usize| {
            let number = batch * 600 + number;
            json!({"name": format!("C {:04}", (number * 7) % 2_400), "description": "d".repeat(9_000)})
        };
        data::upsert(&server.client, "/companies", &(0..600).map(company).collect()).await;
    }
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    for (sort, expect) in [("name", Some(false)), ("-name", Some(true)), ("description", None)] {
        let list = reader.get(&format!("/app/records/companies?columns=name&sort={sort}")).await;
        let file = attribute(list.text(), "href").find(|link| link.contains("form=csv")).unwrap();
        let file = reader.get(&file.replace("&amp;", "&")).await;
        let named = file.headers["content-disposition"].to_str().unwrap();
        assert_eq!(named.contains("companies-by-creation.csv"), expect.is_none(), "{named}");
        let names: Vec<&str> = file
            .text()
            .lines()
            .skip(1)
            .filter_map(|row| row.split(',').find(|cell| cell.starts_with("C ")))
            .collect();
        assert_eq!(names.len(), 2_400, "{sort}");
        let mut sorted = names.clone();
        sorted.sort_unstable();
        if expect == Some(true) {
            sorted.reverse();
        }
        assert_eq!(names == sorted, expect.is_some(), "{sort}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_whose_page_is_loaded_again_issues_one_token_and_creates_one_tenant() {
    let server = InProcess::start().await;
    let operator = server.operator.authorization().unwrap().strip_prefix("Bearer ").unwrap();
    let operator = sign_in(&server.anonymous, operator).await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let of_token = [("label", "again"), ("scopes", "companies:read")];
    for (reader, client, [page, list], pairs) in [
        (&reader, &server.client, ["/app/tokens/new", "/tokens"], &of_token[..]),
        (&operator, &server.operator, ["/app/tenants", "/tenants"], &[("name", "again")]),
    ] {
        let count = async || {
            let all = client.get(list).await.json();
            let is_it = |it: &&Value| it["label"] == "again" || it["name"] == "again";
            all.as_array().unwrap().iter().filter(is_it).count()
        };
        for expect in [1, 2] {
            let (once, csrf) =
                (hidden(reader, page, "once").await, hidden(reader, page, "csrf").await);
            let keys = [("once", &*once), ("csrf", &*csrf)];
            // Who goes back after a rejection can send the same form.
            let rejected = reader.send(page, &keys).await;
            assert_eq!(rejected.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", rejected.text());
            let form = [pairs, &keys].concat();
            let sent = reader.send(page, &form).await;
            assert!(sent.status.is_success(), "{}", sent.text());
            let again = reader.send(page, &form).await;
            assert!(again.text().contains("This form was already sent"), "{}", again.text());
            assert_eq!(count().await, expect, "{list}");
            // The form that is shown then can be sent.
            assert!(!again.text().contains(&once), "{}", again.text());
        }
    }
}

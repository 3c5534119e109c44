//! The pages that follow what people do: live activities, a person, and the search.

use std::{sync::Arc, time::Duration};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_core::value::Timestamp;
use svctrack_tests::{
    client::Client,
    in_process::{InProcess, SetClock},
    process::PATIENCE,
};
use tokio::time::timeout;

use crate::pages::{attribute, page, sign_in, token};

/// A server that knows a company, and a user of it.
async fn server() -> InProcess {
    let server = InProcess::start().await;
    let company = json!({"name": "Acme Works", "externalId": "acme"});
    server.client.post("/companies", &company).await;
    let user = json!({
        "externalId": "ada", "email": "ada@acme.example", "name": "Ada Lovelace",
        "companyId": "extid-acme",
    });
    assert_eq!(server.client.post("/endusers", &user).await.status, StatusCode::OK);
    server
}

async fn track(client: &Client, action: &str) {
    client.track(&json!({"externalId": "ada", "action": action})).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_page_shows_what_is_stored_and_what_comes_until_its_session_ends() {
    let server = server().await;
    let client = &server.client;
    let reader = sign_in(client, &token(&server)).await;
    track(client, "stored before").await;
    let html = page(&reader, "/app/live?companyId=extid-acme").await;
    for shown in ["stored before", "Ada Lovelace", "Acme Works"] {
        assert!(html.contains(shown), "{shown}");
    }
    let other = page(&reader, "/app/live?action=other").await;
    let table = other.split("<table").nth(1).unwrap().split("</table>").next().unwrap();
    assert!(!table.contains("Ada Lovelace"), "{table}");
    let named = page(&reader, "/app/live?companyId=Acme+Works&endUserId=Ada+Lovelace+(ada)").await;
    for shown in ["stored before", "value=\"Acme Works (acme)\"", "value=\"Ada Lovelace (ada)\""] {
        assert!(named.contains(shown), "{shown}: {named}");
    }
    let unknown = reader.get("/app/live?companyId=Nobody").await;
    assert_eq!(unknown.status, StatusCode::BAD_REQUEST);
    let unknown = unknown.text();
    assert!(
        unknown.contains("No company has the name Nobody.") && !unknown.contains("stored before")
    );
    let stream = html.split("data-stream=\"").nth(1).unwrap().split('"').next().unwrap();
    let stream = stream.replace("&amp;", "&");
    let mut events = client.listen(&stream, &[("cookie", &reader.cookie)]).await;
    track(client, "comes then").await;
    assert_eq!(events.next().await.unwrap().1["action"], "comes then");
    let signed_out = reader.submit("/sign-out", &[]).await;
    assert_eq!(signed_out.status, StatusCode::SEE_OTHER);
    track(client, "comes later").await;
    assert_eq!(events.next().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn times_are_those_of_the_tenants_zone_with_utc_to_point_at() {
    let server = server().await;
    let client = &server.client;
    let json = [("content-type", "application/json")];
    let zone = json!({"timeZone": "Asia/Tokyo"}).to_string();
    client.send(Method::PUT, "/settings", &json, zone).await.unwrap();
    let license = json!({"companyId": "extid-acme", "product": "Suite", "fromDate": "2026-01-01"});
    let license = client.post("/licenses", &license).await.json();
    let event = json!({"externalId": "ada", "action": "a", "date": "2026-03-01T20:00:00Z"});
    client.track(&event).await.unwrap();
    let reader = sign_in(client, &token(&server)).await;
    let live = page(&reader, "/app/live").await;
    let night = "<time datetime=\"2026-03-01T20:00:00.000Z\" title=\"2026-03-01 20:00:00 UTC\">\
                 2026-03-02 05:00:00</time>";
    assert!(live.contains(night) && live.contains("data-zone=\"Asia/Tokyo\""), "{live}");
    let path = format!("/app/records/licenses/{}", license["_id"].as_str().unwrap());
    assert!(
        page(&reader, &path).await.contains(" title=\"2026-01-01 00:00:00 UTC\">2026-01-01</time>")
    );
    let led = reader.get("/app").await;
    assert_eq!(led.status, StatusCode::SEE_OTHER);
    assert_eq!(led.headers["location"], "/");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_erased_by_who_types_the_confirmation() {
    let server = server().await;
    let client = &server.client;
    let reader = sign_in(client, &token(&server)).await;
    let user = client.get("/endusers/extid-ada").await.json();
    let id = user["_id"].as_str().unwrap();
    let shown = page(&reader, &format!("/app/records/endusers/{id}")).await;
    assert!(shown.contains(&format!("/app/files/endusers/{id}/export?form=json")));
    let erase = format!("/app/records/endusers/{id}/erase");
    let rejected = reader.submit(&erase, &[("confirmation", "ada")]).await;
    assert_eq!(rejected.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(client.get("/endusers/extid-ada").await.status, StatusCode::OK);
    let erased = reader.submit(&erase, &[("confirmation", "ada@acme.example")]).await;
    assert_eq!(erased.status, StatusCode::SEE_OTHER, "{}", erased.text());
    let after = page(&reader, erased.headers["location"].to_str().unwrap()).await;
    assert!(after.contains("The person was erased"), "{after}");
    assert_eq!(client.get("/endusers/extid-ada").await.status, StatusCode::NOT_FOUND);
    let user = json!({"externalId": "ada"});
    assert_eq!(client.post("/endusers", &user).await.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_search_finds_each_kind_of_record_and_pages() {
    let server = server().await;
    let client = &server.client;
    let reader = sign_in(client, &token(&server)).await;
    let license = json!({"companyId": "extid-acme", "product": "Suite", "fromDate": "2026-01-01"});
    client.post("/licenses", &license).await;
    let domains = json!({"name": "Initech", "domains": ["Initech.example", "ini.example"]});
    let company = client.post("/companies", &domains).await.json();
    let company = company["_id"].as_str().unwrap();
    let ticket = json!({"sourceId": "T-1042", "email": "a@b.example", "title": "It stops", "status": "open"});
    client.post("/tickets", &ticket).await;
    for (query, found) in [
        ("ACME", "Acme Works"),
        ("lovelace", "Ada Lovelace"),
        ("ada@acme", "Ada Lovelace"),
        ("suite", "Suite"),
        ("stops", "It stops"),
        ("T-1042", "It stops"),
        ("t-1042", "It stops"),
        ("%23T-1042", "It stops"),
        ("initech.ex", "Initech"),
        ("ada%40INI.example", "Initech"),
        ("https%3A%2F%2Fwww.initech.example%2Fjobs", "Initech"),
        (company, "Initech"),
        (&format!("%23{}", company.to_uppercase()), "Initech"),
        ("forec", "/app/reports/forecast"),
        ("exchange", "/app/settings/rates"),
        ("import+lic", "/app/import/licenses"),
        ("new+lic", "/app/records/licenses/new"),
    ] {
        let html = page(&reader, &format!("/app/search?q={query}")).await;
        let results = html.split("id=\"results\"").nth(1).unwrap();
        assert!(results.contains(found), "{query}: {results}");
    }
    let member = json!({"name": "Edith Clarke", "email": "edith@svctrack.example"});
    assert_eq!(client.post("/users", &member).await.status, StatusCode::OK);
    assert!(page(&reader, "/app/search?q=clarke").await.contains("Edith Clarke"));
    // A page is found by the beginnings of its words, and an id as a whole alone.
    assert!(page(&reader, "/app/search?q=orecas").await.contains("Nothing found."));
    assert!(page(&reader, "/app/search?q=T-104").await.contains("Nothing found."));
    let html = page(&reader, "/app/search?q=no+such+thing").await;
    assert!(html.contains("Nothing found."));
    // So is one that would not fit three times in an address.
    let long = "x".repeat(5_000);
    assert!(page(&reader, &format!("/app/search?q={long}")).await.contains("Nothing found."));
    let long = "x".repeat(1_000);
    assert!(page(&reader, &format!("/app/search?q={long}")).await.contains("Nothing found."));
}

#[tokio::test(flavor = "multi_thread")]
async fn set_up_shows_what_arrived_also_before_the_first_activity() {
    let server = InProcess::start().await;
    let client = &server.client;
    let reader = sign_in(client, &token(&server)).await;
    let panel = async || {
        let html = page(&reader, "/app/setup").await;
        html.split("id=\"arrival\"").nth(1).unwrap().split("</section>").next().unwrap().to_owned()
    };
    assert!(panel().await.contains("Waiting for the first event"));
    for _ in 0..2 {
        let rejected =
            client.track(&json!({"externalId": "ada", "weight": "heavy"})).await.unwrap();
        assert_eq!(rejected.status, StatusCode::UNPROCESSABLE_ENTITY);
    }
    let shown = panel().await;
    assert!(shown.contains("none could be stored yet"), "{shown}");
    assert!(shown.contains("<code>weight</code>") && shown.contains('2'), "{shown}");
    // The sender got this problem in the response: it is in no report to which the panel could lead.
    assert!(shown.contains("in the response to the sender"), "{shown}");
    assert!(!shown.contains("/app/issues"), "{shown}");

    client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    let ada = json!({"externalId": "ada", "companyExternalId": "acme", "name": "Ada Lovelace"});
    client.track(&ada).await.unwrap();
    let shown = panel().await;
    assert!(shown.contains("A user is identified") && shown.contains("Ada Lovelace"), "{shown}");

    track(client, "Opened report").await;
    let shown = panel().await;
    assert!(shown.contains("Events arrive") && shown.contains("Opened report"), "{shown}");
    assert!(!shown.contains("rejected"), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn set_up_shows_no_issues_of_earlier_tries() {
    let clock = Arc::new(SetClock::at(Timestamp::parse("2026-11-20T12:00:00Z").unwrap()));
    let server = InProcess::with_clock(clock.clone()).await;
    let client = &server.client;
    let reader = sign_in(client, &token(&server)).await;
    client.track(&json!({"externalId": "ada", "weight": "heavy"})).await.unwrap();
    let html = page(&reader, "/app/setup").await;
    assert!(html.contains("none could be stored yet"), "{html}");
    assert!(html.contains("since=2026-11-20T11%3A50%3A00.000Z"), "{html}");
    clock.pass(11 * 60 * 1_000);
    for path in ["/app/setup", "/app/setup?since=2026-11-20T12:10:00.000Z"] {
        let html = page(&reader, path).await;
        assert!(html.contains("Waiting for the first event"), "{path}: {html}");
    }
    let earlier = page(&reader, "/app/setup?since=2026-11-20T11:50:00.000Z").await;
    assert!(earlier.contains("none could be stored yet"), "{earlier}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issue_shows_how_many_of_its_events_are_still_parked_once_its_cause_is_fixed() {
    let server = server().await;
    let client = &server.client;
    let reader = sign_in(client, &token(&server)).await;
    for (user, company) in [("bob", "globex"), ("cleo", "globex"), ("dan", "initech")] {
        let event = json!({"externalId": user, "companyExternalId": company, "action": "x"});
        client.track(&event).await.unwrap();
    }
    client.track(&json!({"externalId": "ada", "action": "x", "colour": "red"})).await.unwrap();
    let home = page(&reader, "/").await;
    assert!(home.contains("<strong>3 events</strong> are parked"), "{home}");
    let link = attribute(&home, "href").find(|link| link.contains("parked")).unwrap();
    let parked = page(&reader, link).await;
    assert!(parked.contains("2 still parked") && !parked.contains("colour"), "{parked}");
    // What each entry says, the newest first: of an unknown member nothing is parked.
    let entries = async || -> Vec<String> {
        let html = page(&reader, "/app/issues").await;
        html.split("<th class=\"issue\"").skip(1).map(str::to_owned).collect()
    };
    let before = entries().await;
    let [member, initech, globex] = &before[..] else { panic!("{before:?}") };
    assert!(globex.contains("2 still parked") && globex.contains("/replay"), "{globex}");
    assert!(initech.contains("1 still parked") && initech.contains("/replay"), "{initech}");
    assert!(!member.contains("parked") && !member.contains("/replay"), "{member}");

    client.post("/companies", &json!({"name": "Globex", "externalId": "globex"})).await;
    let fixed = async {
        while !entries().await[2].contains("no event is parked") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, fixed).await.unwrap();
    let after = entries().await;
    assert!(!after[2].contains("/replay"), "{}", after[2]);
    assert!(after[1].contains("1 still parked") && !after[1].contains("no event"), "{}", after[1]);
    let home = page(&reader, "/").await;
    assert!(
        home.contains("<code>initech</code>") && !home.contains("<code>globex</code>"),
        "{home}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn events_stay_counted_as_parked_when_their_entry_is_removed() {
    let server = server().await;
    let client = &server.client;
    for (user, company) in [("bob", "globex"), ("cleo", "globex"), ("dan", "initech")] {
        let event = json!({"externalId": user, "companyExternalId": company, "action": "x"});
        client.track(&event).await.unwrap();
    }
    let report = client.get("/integrationissues").await;
    let id = report.json()[1]["_id"].as_str().unwrap().to_owned();
    client.send(Method::DELETE, &format!("/integrationissues/{id}"), &[], "").await.unwrap();
    let report = client.get("/integrationissues").await;
    assert_eq!(report.json().as_array().unwrap().len(), 1);
    assert_eq!(report.headers["svctrack-parked-total"], "3");
    let reader = sign_in(client, &token(&server)).await;
    for path in ["/", "/app/issues"] {
        let html = page(&reader, path).await;
        assert!(html.contains("<strong>3 events</strong> are parked"), "{path}: {html}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_license_shows_its_issues_in_words() {
    let server = server().await;
    let client = &server.client;
    let reader = sign_in(client, &token(&server)).await;
    let license = json!({"companyId": "extid-acme", "product": "Suite", "fromDate": "2026-01-01"});
    let license = client.post("/licenses", &license).await.json();
    let id = license["_id"].as_str().unwrap();
    let html = page(&reader, &format!("/app/records/licenses/{id}")).await;
    let words = "currency is needed for amounts to be added to others; mrr or value is needed";
    assert!(html.contains(words) && !html.contains("_currency`"), "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pages_of_a_company_and_a_person_have_open_tickets_first_then_the_newest() {
    let server = server().await;
    // The latest dates are stored first. The two oldest are open.
    let ticket = |number: u32| {
        let date = format!("2026-03-{:02}", 30 - number);
        json!({
            "sourceId": format!("t{number}"), "email": "ada@acme.example",
            "title": format!("Ticket of {date}"), "companyExternalId": "acme", "date": date,
            "status": if number < 20 { "closed" } else { "open" },
        })
    };
    let tickets: Vec<_> = (0..22).map(ticket).collect();
    let body = json!(tickets).to_string();
    let stored = server.client.send(Method::PUT, "/tickets", &[], body).await.unwrap();
    assert_eq!(stored.status, StatusCode::OK, "{}", stored.text());
    let reader = sign_in(&server.client, &token(&server)).await;
    for path in ["/app/records/companies/extid-acme", "/app/records/endusers/extid-ada"] {
        let html = page(&reader, path).await;
        let days = html.match_indices(">Ticket of 2026-03-").map(|(at, text)| {
            let day = at + text.len();
            html[day..day + 2].parse::<u32>().unwrap()
        });
        let days: Vec<u32> = days.collect();
        assert_eq!(days, [10, 9].into_iter().chain((28..=30).rev()).collect::<Vec<_>>(), "{path}");
        assert!(html.contains("2 open</a>, 22 in all"), "{html}");
        assert!(html.contains("Show all 22 tickets"), "{html}");
        let open = attribute(&html, "href").find(|link| link.contains("isOpen=true")).unwrap();
        let open = page(&reader, &open.replace("&amp;", "&")).await;
        assert!(open.contains("1 to 2 of 2"), "{open}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_company_names_the_currency_of_its_totals() {
    let server = server().await;
    let client = &server.client;
    let settings = json!({"currencies": {"base": "EUR", "rates": {"USD": 0.5}}});
    let settings = client.send(Method::PUT, "/settings", &[], settings.to_string()).await.unwrap();
    assert_eq!(settings.status, StatusCode::OK, "{}", settings.text());
    let license = json!({
        "companyId": "extid-acme", "_currency": "USD", "fromDate": "2024-01-01", "mrr": 100,
        "fixedPeriod": true, "toDate": "9000-01-01",
    });
    assert_eq!(client.post("/licenses", &license).await.status, StatusCode::OK);
    let reader = sign_in(client, &token(&server)).await;
    let html = page(&reader, "/app/records/companies/extid-acme").await;
    for shown in ["<strong>EUR 50</strong>", "ARR EUR 600; paid: USD 100", "MRR then EUR 50"] {
        assert!(html.contains(shown), "{shown} is not in {html}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_data_of_a_record_is_folded_into_names_and_values() {
    let server = InProcess::start().await;
    let custom = json!({"plan": "gold <b>", "seats": 5, "owner": {"team": "north"}});
    let company = json!({"name": "Acme", "externalId": "acme", "custom": custom});
    let id = server.client.post("/companies", &company).await.json()["_id"].clone();
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let record = format!("/app/records/companies/{}", id.as_str().unwrap());
    for path in [record.as_str(), "/app/records/companies?columns=name,custom"] {
        let html = page(&reader, path).await;
        let folded = html.split_once("<details><summary>3 values</summary>");
        let Some((_, folded)) = folded else { panic!("{path}: {html}") };
        for pair in [
            "<dt>plan</dt><dd>gold &lt;b&gt;</dd>",
            "<dt>seats</dt><dd>5</dd>",
            "<dt>owner</dt><dd>{\"team\":\"north\"}</dd>",
        ] {
            assert!(folded.contains(pair), "{path}: {pair}: {folded}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_offer_no_property_that_people_cannot_use() {
    let server = InProcess::start().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    for path in ["licenses", "tickets", "timesheets"] {
        let html = page(&reader, &format!("/app/records/{path}?columns=derived")).await;
        for name in ["derived", "__v", "assignedModel"] {
            assert!(!html.contains(&format!("value=\"{name}\"")), "{path} offers {name}");
        }
        assert!(html.contains("value=\"externalId\""), "{html}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_name_the_records_that_they_refer_to() {
    let server = InProcess::start().await;
    let create = async |path: &str, body: Value| {
        let created = server.client.post(path, &body).await;
        assert_eq!(created.status, StatusCode::OK, "{path}: {}", created.text());
        created.json()["_id"].as_str().unwrap().to_owned()
    };
    let company = create("/companies", json!({"name": "Acme <b>"})).await;
    let user = create("/users", json!({"name": "Ada"})).await;
    let entry = json!({
        "userId": user, "companyId": company, "hours": 2, "date": "2026-01-05",
        "description": "Onboarding",
    });
    let entry = create("/timeentries", entry).await;
    let sheet = json!({
        "assignedModel": "User", "assignedId": user, "approvedBy": user,
        "dateFrom": 20_454, "timeEntries": [entry],
    });
    let sheet = create("/timesheets", sheet).await;
    let (json_type, approved) =
        ([("content-type", "application/json")], r#"{"status":"approved"}"#);
    let path = format!("/timesheets/{sheet}");
    let approved = server.client.send(Method::PUT, &path, &json_type, approved).await.unwrap();
    assert_eq!(approved.status, StatusCode::OK, "{}", approved.text());
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let link = |path: &str, id: &str, name: &str| {
        format!("<a href=\"/app/records/{path}/{id}\">{name}</a>")
    };
    let [acme, ada] = [link("companies", &company, "Acme &lt;b&gt;"), link("users", &user, "Ada")];
    let approved = approved.json()["approvedBy"].as_str().unwrap().to_owned();
    let approver = server.client.get(&format!("/users/{approved}")).await.json();
    let approver = link("users", &approved, approver["name"].as_str().unwrap());
    for (path, expect) in [
        ("/app/records/timeentries", [acme.clone(), ada.clone()]),
        ("/app/records/timeentries?columns=date,companyId,userId", [acme.clone(), ada.clone()]),
        ("/app/records/timesheets", [ada.clone(), approver.clone()]),
        ("/app/timesheets?status=approved", [acme, approver]),
    ] {
        let html = page(&reader, path).await;
        for expect in expect {
            assert!(html.contains(&expect), "{path} has no {expect}: {html}");
        }
    }
    // On a phone each value has its label.
    let html = page(&reader, "/app/records/timeentries").await;
    assert!(html.contains("<tbody class=\"stacked\">"), "{html}");
    assert!(html.contains("<td data-label=\"User\"><a "), "{html}");
    let html = page(&reader, &format!("/app/records/timesheets/{sheet}")).await;
    assert!(html.contains(&link("timeentries", &entry, "Onboarding")), "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn activity_is_shown_up_to_today_where_it_is_another_day_than_in_utc() {
    for (zone, now, today) in [
        ("Asia/Tokyo", "2026-11-20T20:00Z", "2026-11-21"),
        ("America/Lima", "2026-11-20T02:00Z", "2026-11-19"),
    ] {
        let clock = Arc::new(SetClock::at(Timestamp::parse(now).unwrap()));
        let server = InProcess::with_clock(clock).await;
        let client = &server.client;
        client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
        let json_type = [("content-type", "application/json")];
        let settings = json!({"timeZone": zone}).to_string();
        client.send(Method::PUT, "/settings", &json_type, settings).await.unwrap();
        let event = json!({"externalId": "ada", "companyExternalId": "acme", "action": "x"});
        client.track(&event).await.unwrap();
        let reader = sign_in(client, &token(&server)).await;
        let home = page(&reader, "/").await;
        for label in ["Active companies", "Active users"] {
            let figure = home.split(label).nth(1).unwrap();
            let value = figure.split("<strong>").nth(1).unwrap();
            assert!(value.starts_with("1<"), "{zone}: {figure:.200}");
        }
        let before = home.split("Active companies").next().unwrap();
        let behind = attribute(before, "<a class=\"figure\" href").last().unwrap();
        let list = page(&reader, &behind.replace("&amp;", "&")).await;
        assert!(
            list.contains(">Acme</a>") && list.contains("Last active is on or after"),
            "{list}"
        );
        for path in ["/app/records/companies/extid-acme", "/app/records/endusers/extid-ada"] {
            let html = page(&reader, path).await;
            let last = html.split("Last active").nth(1).unwrap();
            let last = last.split("<strong>").nth(1).unwrap();
            assert!(last.starts_with(today), "{zone}: {path}: {last:.40}");
        }
        for (filter, is_in) in [("lastActive[gte]", true), ("createdAt[lt]", false)] {
            let list = page(&reader, &format!("/app/records/endusers?{filter}={today}")).await;
            assert_eq!(!list.contains("No records"), is_in, "{zone}: {filter}: {list}");
            let csv = attribute(&list, "href").find(|link| link.contains("form=csv"));
            let csv = csv.map(|link| link.replace("&amp;", "&"));
            if is_in {
                let file = page(&reader, &csv.unwrap()).await;
                assert_eq!(file.lines().count(), 2, "{zone}: {filter}: {file}");
            }
        }
    }
}

//! What pages offer and say about licenses: decisions, confirmations, MRR at stake, and licenses that no report counts.

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_core::value::{Timestamp, time::DAY_MS};
use svctrack_store::{Clock as _, SystemClock};
use svctrack_tests::{client::Client, in_process::InProcess};

use crate::pages::{Reader, attribute, page, sign_in, token};

async fn post(client: &Client, path: &str, body: Value) {
    let done = client.post(path, &body).await;
    assert_eq!(done.status, StatusCode::OK, "{path}: {}", done.text());
}

fn day(days: i64) -> String {
    let now = SystemClock.now().as_ms();
    Timestamp::from_ms_clamped(now + days * DAY_MS).to_string()[..10].to_owned()
}

/// A server with a base currency and the company Acme.
async fn server() -> InProcess {
    let server = InProcess::start().await;
    let rates = json!({"currencies": {"base": "EUR", "rates": {"USD": {"2020-01-01": 0.5}}}});
    let json_type = [("content-type", "application/json")];
    let client = &server.client;
    let set = client.send(Method::PUT, "/settings", &json_type, rates.to_string()).await.unwrap();
    assert_eq!(set.status, StatusCode::OK, "{}", set.text());
    post(client, "/companies", json!({"name": "Acme", "externalId": "acme"})).await;
    server
}

/// A license of a year of Acme that ends in some days, with further properties.
async fn year(server: &InProcess, key: &str, ends_in: i64, more: Value) {
    let mut license = json!({
        "companyId": "extid-acme", "externalId": key, "_currency": "EUR", "mrr": 100, "fixedPeriod": true,
        "fromDate": day(ends_in - 365), "toDate": day(ends_in),
    });
    let more = more.as_object().unwrap().clone();
    license.as_object_mut().unwrap().extend(more);
    post(&server.client, "/licenses", license).await;
}

/// The page to which a form leads, from its notice on.
async fn led(reader: &Reader<'_>, path: &str, pairs: &[(&str, &str)]) -> String {
    let sent = reader.submit(path, pairs).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{path}: {}", sent.text());
    let html = page(reader, sent.headers["location"].to_str().unwrap()).await;
    html.split("class=\"notice\"").nth(1).unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_license_offers_the_decisions_that_are_possible() {
    let server = server().await;
    year(&server, "fixed", 30, json!({})).await;
    let open = json!({"companyId": "extid-acme", "externalId": "open", "mrr": 5, "_currency": "EUR", "fromDate": day(-9)});
    post(&server.client, "/licenses", open).await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let offers = async |reader: &Reader<'_>, key: &str| {
        let html = page(reader, &format!("/app/records/licenses/extid-{key}")).await;
        ["/renew\"", "/lose\""].map(|link| html.contains(link))
    };
    assert_eq!(offers(&reader, "fixed").await, [true, true]);
    assert_eq!(offers(&reader, "open").await, [false, true]);
    let other = json!({"label": "other", "scopes": ["licenses:read", "licenses:update"]});
    let other = server.client.post("/tokens", &other).await.json();
    let other = sign_in(&server.anonymous, other["token"].as_str().unwrap()).await;
    assert_eq!(offers(&other, "fixed").await, [false, true]);
    post(&server.client, "/licenses/extid-fixed/lose", json!({"lostReason": "price"})).await;
    assert_eq!(offers(&reader, "fixed").await, [false, false]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmation_names_what_was_done() {
    let server = server().await;
    let more = json!({"product": "Suite", "autoRenews": true, "renewalMrr": 1500});
    year(&server, "first", 30, more).await;
    year(&server, "second", 40, json!({})).await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let due = page(&reader, "/app/renewals").await;
    assert_eq!(due.matches("renews automatically").count(), 1, "{due}");
    let step = [("previewed", "{}"), ("step", "do")];
    let done = led(&reader, "/app/licenses/extid-first/renew", &step).await;
    let license = server.client.get("/licenses/extid-first").await.json();
    let end = &license["renewalDate"].as_str().unwrap()[..10];
    let renewed = format!("Acme, Suite: renewed from {end} to ");
    assert!(done.contains(&renewed) && done.contains(", EUR 1,500 a month."), "{done}");
    let reason = [&step[..], &[("lostReason", "price")]].concat();
    let done = led(&reader, "/app/licenses/extid-second/lose", &reason).await;
    let lost = format!("Acme, License: marked as lost, with {} as its end.", day(40));
    assert!(done.contains(&lost), "{done}");
    // The address of a notice says nothing of a license to which it does not fit.
    let made_up = page(&reader, "/app/renewals?done=renew&license=extid-second").await;
    assert!(!made_up.contains("class=\"notice\""), "{made_up}");

    let sheet = json!({"externalId": "t-1", "dateFrom": 20454, "dateTo": 20460});
    post(&server.client, "/timesheets", sheet).await;
    let sheets = page(&reader, "/app/timesheets").await;
    let sheet = attribute(&sheets, "name=\"sheet\" value").next().unwrap();
    let done = led(&reader, "/app/timesheets", &[("sheet", sheet), ("status", "returned")]).await;
    assert!(done.contains("1 timesheet was returned."), "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn licenses_that_are_excluded_from_mrr_are_named() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    year(&server, "sound", 30, json!({})).await;
    assert!(!page(&reader, "/").await.contains("excluded from the reports"));
    year(&server, "one", 30, json!({"_currency": null})).await;
    let home = page(&reader, "/").await;
    let says = ">1 license</a> is excluded from the reports: 1 without a currency.";
    assert!(home.contains(says), "{home}");
    let renewals = page(&reader, "/app/renewals").await;
    assert!(renewals.contains(says), "{renewals}");
    // The company and the report say so as well, and which license it is.
    let company = page(&reader, "/app/records/companies/extid-acme").await;
    assert!(company.contains(says), "{company}");
    assert!(company.contains("EUR 100, 100 without a currency</strong>"), "{company}");
    assert_eq!(company.matches("excluded: without a currency").count(), 1, "{company}");
    let report = page(&reader, "/app/reports/mrr").await;
    let of_report = ">1 license</a>, 1 without a currency.";
    assert!(report.contains(of_report) && !report.contains("No total"), "{report}");
    post(&server.client, "/companies", json!({"name": "Other", "externalId": "other"})).await;
    let other = page(&reader, "/app/records/companies/extid-other").await;
    assert!(!other.contains("excluded"), "{other}");
    let of_nobody = page(&reader, "/app/renewals?owner=Nobody").await;
    assert!(of_nobody.contains("No licenses match."), "{of_nobody}");
    let id = server.client.get("/licenses/extid-one").await.json()["_id"].clone();
    let link = format!("/app/records/licenses/{}", id.as_str().unwrap());
    assert!(home.contains(&format!("href=\"{link}\"")), "{home}");
    year(&server, "two", 30, json!({"_currency": null})).await;
    let home = page(&reader, "/").await;
    assert!(home.contains(">2 licenses</a> are excluded"), "{home}");
    let list = attribute(&home, "href").find(|link| link.contains("_id=")).unwrap();
    assert!(page(&reader, list).await.contains("1 to 2 of 2"));
    year(&server, "three", 30, json!({"_currency": "CHF"})).await;
    let report = page(&reader, "/app/reports/mrr").await;
    let missing = "No total: there is no exchange rate for CHF. <a href=\"/app/settings/rates\">";
    assert!(report.contains(missing), "{report}");
    let home = page(&reader, "/").await;
    assert!(home.contains(missing), "{home}");
    let company = page(&reader, "/app/records/companies/extid-acme").await;
    let unknown = "CHF, EUR cannot be converted to one currency. <a href=\"/app/settings/rates\">";
    assert!(company.contains(unknown), "{company}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_without_data_names_the_licenses_that_it_leaves_out() {
    let server = InProcess::start().await;
    post(&server.client, "/companies", json!({"name": "Acme", "externalId": "acme"})).await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    year(&server, "none", 30, json!({"_currency": null})).await;
    for report in ["mrr", "retention", "renewals", "forecast"] {
        let html = page(&reader, &format!("/app/reports/{report}")).await;
        let says = ">1 license</a>, 1 without a currency.";
        assert!(html.contains("No data in this period.") && html.contains(says), "{html}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_license_that_ends_without_a_fixed_period_or_has_one_and_no_end_is_named_among_the_renewals()
 {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    year(&server, "sound", 30, json!({})).await;
    let says = "without a fixed period ended, or will end";
    assert!(!page(&reader, "/app/renewals").await.contains(says));
    let company = page(&reader, "/app/records/companies/extid-acme").await;
    assert!(!company.contains("not up for renewal"), "{company}");
    year(&server, "one", 30, json!({"fixedPeriod": false})).await;
    let html = page(&reader, "/app/renewals").await;
    assert!(html.contains(&format!(">1 ongoing license</a> {says}")), "{html}");
    let id = server.client.get("/licenses/extid-one").await.json()["_id"].clone();
    let link = format!("/app/records/licenses/{}", id.as_str().unwrap());
    assert!(html.contains(&format!("href=\"{link}\"")), "{html}");
    let home = page(&reader, "/").await;
    assert!(home.contains(&format!(">1 ongoing license</a> {says}")), "{home}");
    let company = page(&reader, "/app/records/companies/extid-acme").await;
    assert_eq!(
        company.matches("not up for renewal: without a fixed period").count(),
        1,
        "{company}"
    );
    let says = "with a fixed period, but without an end";
    assert!(!html.contains(says), "{html}");
    year(&server, "two", 30, json!({"toDate": null})).await;
    let html = page(&reader, "/app/renewals").await;
    assert!(html.contains(&format!(">1 ongoing license</a> {says}")), "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_company_shows_from_what_its_amount_at_stake_follows() {
    let server = server().await;
    year(&server, "past", -10, json!({"mrr": 701.5})).await;
    let ticket = json!({"sourceId": "t1", "email": "a@acme.example", "companyId": "extid-acme", "isOpen": true,
        "title": "Slow", "severity": "high", "date": day(-1)});
    post(&server.client, "/tickets", ticket).await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let html = page(&reader, "/app/records/companies/extid-acme").await;
    let home = page(&reader, "/").await;
    assert!(home.contains("<strong>1</strong><span class=\"muted\">0 with MRR now; "), "{home}");
    // No usage is known: the 5 points of every customer, and 3 of the ticket.
    for text in [
        "<strong>EUR 56.12</strong> = MRR 701.50 × nearness of the renewal 1 × 8 points / 100",
        "This MRR includes EUR 701.50 of overdue licenses",
        "Open tickets</th><td class=\"num\">3</td>",
        "Days without activity</th><td class=\"num\">0</td>",
        "All points</th><td class=\"num\"><strong>8</strong></td>",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
    // A company that pays nothing lacks no rate.
    post(&server.client, "/companies", json!({"name": "Gone", "externalId": "gone"})).await;
    let lost = json!({"companyId": "extid-gone", "renewalStatus": "lost"});
    year(&server, "lost", -35, lost).await;
    let html = page(&reader, "/app/records/companies/extid-gone").await;
    let none = "None: the company has no active or overdue license with MRR.";
    assert!(html.contains(none) && !html.contains("cannot be converted"), "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_company_shows_amounts_and_states_of_its_licenses_and_tickets() {
    let server = server().await;
    year(&server, "only", 30, json!({"product": "Suite"})).await;
    let ticket = json!({"sourceId": "t1", "email": "a@acme.example", "companyId": "extid-acme", "title": "Slow",
        "severity": "high", "date": day(-1)});
    post(&server.client, "/tickets", ticket).await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let html = page(&reader, "/app/records/companies/extid-acme").await;
    for column in ["MRR", "Renewal status", "From date", "Severity", "Date"] {
        let head = [">", column, "</th>"].concat();
        assert!(html.contains(&head), "{column}: {html}");
    }
    assert!(!html.contains(">To date derived</th>"), "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn amounts_below_each_other_in_a_list_have_the_same_number_of_decimals() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    year(&server, "whole", 30, json!({})).await;
    let html = page(&reader, "/app/records/licenses").await;
    assert!(html.contains(">EUR 100</td>"), "{html}");
    year(&server, "cents", 30, json!({"mrr": 55.5})).await;
    for path in ["/app/records/licenses", "/app/records/companies/extid-acme"] {
        let html = page(&reader, path).await;
        for text in [">EUR 100.00</td>", ">EUR 55.50</td>"] {
            assert!(html.contains(text), "{path}, {text}: {html}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_licenses_shows_their_issues() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    year(&server, "sound", 30, json!({})).await;
    let list = "/app/records/licenses";
    let html = page(&reader, list).await;
    assert!(!html.contains(">Issues</span></th>"), "{html}");
    year(&server, "one", 30, json!({"_currency": null})).await;
    let html = page(&reader, list).await;
    assert!(html.contains(">Issues</span></th>"), "{html}");
    let issue = ">1 issue</span></summary><ul><li>currency is needed";
    assert_eq!(html.matches(issue).count(), 1, "{html}");
    // A filter finds them.
    let form = page(&reader, &format!("{list}?filter-by=issues")).await;
    assert!(form.contains(">has a value</option>") && !form.contains("filter-value"), "{form}");
    let added = reader.get(&format!("{list}?filter-by=issues&filter-op=exists")).await;
    assert_eq!(added.headers["location"], format!("{list}?issues%5Bexists%5D=true"));
    let html = page(&reader, &format!("{list}?issues%5Bexists%5D=true")).await;
    assert!(html.contains("1 to 1 of 1") && html.contains("Issues has a value"), "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_company_leads_to_its_sections_and_has_the_newest_licenses_first() {
    let server = server().await;
    // The newest one is stored first.
    for (key, ends_in) in [("newest", 200), ("oldest", -700), ("middle", -200)] {
        year(&server, key, ends_in, json!({"product": key})).await;
    }
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let html = page(&reader, "/app/records/companies/extid-acme").await;
    let part = |name: &str| {
        let opened = html.split(&format!("id=\"{name}\"")).nth(1).unwrap_or_default();
        opened.split("</section>").next().unwrap_or_default().to_owned()
    };
    for (section, label) in [
        ("stake", "At stake"),
        ("timeline", "Timeline"),
        ("licenses", "Licenses <small>3</small>"),
        ("properties", "Properties"),
        ("changes", "Changes"),
    ] {
        let link = format!("<a href=\"#{section}\">{label}</a>");
        assert!(html.contains(&link), "{link}: {html}");
        assert!(!part(section).is_empty(), "{section}: {html}");
    }
    for section in ["timeline", "licenses"] {
        let part = part(section);
        let places = ["newest", "middle", "oldest"].map(|key| part.find(&format!(">{key}</a>")));
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{section}: {part}");
    }
    // A short page needs no list of its sections.
    let html = page(&reader, "/app/records/products").await;
    assert!(!html.contains("On this page"), "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_of_renewals_counts_by_the_end_or_by_the_last_day_of_notice() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    year(&server, "manual", 30, json!({})).await;
    let (from, to) = (day(0), day(90));
    let path = |by: &str| format!("/app/reports/renewals?from={from}&to={to}&by={by}");
    let by_end = page(&reader, &path("end")).await;
    let base = |html: &str| {
        let mut links = attribute(html, "href").map(|link| link.replace("&amp;", "&"));
        links.find(|link| link.contains("explain=base"))
    };
    let due = page(&reader, &base(&by_end).unwrap()).await;
    assert!(due.contains("/app/records/licenses/"), "{due}");
    // A license that does not renew automatically has no notice.
    let by_notice = page(&reader, &path("notice")).await;
    assert_eq!(base(&by_notice), None, "{by_notice}");
    let chosen = "<option value=\"notice\" selected=\"\">Last day of notice</option>";
    assert!(by_notice.contains(chosen) && by_notice.contains(">Due at</label>"), "{by_notice}");
    let wrong = reader.get("/app/reports/renewals?by=segment").await;
    assert!(wrong.text().contains("Due at must be one of"), "{}", wrong.text());
    let renews = json!({"autoRenews": true, "noticePeriod": 1, "noticeUnit": "week"});
    year(&server, "automatic", 30, renews).await;
    let by_notice = page(&reader, &path("notice")).await;
    let due = page(&reader, &base(&by_notice).unwrap()).await;
    assert!(due.contains("/app/records/licenses/"), "{due}");
}

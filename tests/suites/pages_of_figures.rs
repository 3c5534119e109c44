//! Pages that lead from a figure to what is behind it, and the demo, in which every page has figures.

use std::{collections::BTreeSet, time::Duration};

use hyper::StatusCode;
use serde_json::json;
use svctrack_core::{
    revenue::MAX_LISTED,
    value::{Timestamp, time::DAY_MS},
};
use svctrack_store::{Clock as _, SystemClock};
use svctrack_tests::{client::Client, data, in_process::InProcess};

use crate::pages::{Reader, attribute, page, sign_in, token, walk};

/// A server with a customer who has a license in each of two currencies; one license ends.
pub(crate) async fn server() -> InProcess {
    let server = InProcess::start().await;
    server.client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    let rates = json!({"currencies": {"base": "EUR", "rates": {"USD": {"2020-01-01": 0.5}}}});
    let json_type = [("content-type", "application/json")];
    let put = hyper::Method::PUT;
    server.client.send(put, "/settings", &json_type, rates.to_string()).await.unwrap();
    for (currency, product) in [("EUR", "Suite"), ("USD", "Addon")] {
        let license = json!({
            "companyId": "extid-acme", "_currency": currency, "product": product, "mrr": 100,
            "fromDate": "2025-11-01", "toDate": "2026-10-31", "fixedPeriod": true,
        });
        assert_eq!(server.client.post("/licenses", &license).await.status, StatusCode::OK);
    }
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn every_figure_of_a_report_leads_to_the_licenses_that_contribute_to_it() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    for (report, least) in [("mrr", 20), ("retention", 20), ("renewals", 6), ("forecast", 6)] {
        let path = format!("/app/reports/{report}?from=2025-10-01&to=2027-01-01&interval=month");
        let html = page(&reader, &path).await;
        let links: BTreeSet<String> = attribute(&html, "<a href")
            .filter(|link| link.contains("/explain?"))
            .map(|link| link.replace("&amp;", "&"))
            .collect();
        assert!(links.len() >= least, "{report} has {links:?}");
        for link in links {
            let html = page(&reader, &link).await;
            assert!(html.contains(">Acme</a>"), "{link}: {html}");
            assert!(html.contains("/app/records/licenses/"), "{link}: {html}");
        }
    }
    let figure =
        "/app/reports/mrr/explain?from=2025-10-01&to=2026-01-01&interval=month&explain=end";
    let converted = page(&reader, figure).await;
    for text in ["EUR 150", "2025-10-01 to 2025-12-31", "2 licenses"] {
        assert!(converted.contains(text), "{text}: {converted}");
    }
    // Without a figure, the page is that of the report.
    for report in ["mrr", "retention", "renewals", "forecast", "usage"] {
        let days = "from=2025-10-01&to=2026-01-01";
        let led = reader.get(&format!("/app/reports/{report}/explain?{days}&currency=EUR")).await;
        assert_eq!(led.headers["location"], format!("/app/reports/{report}?{days}"), "{report}");
    }
    let unknown = reader.get("/app/reports/customers/explain?explain=end").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    let wrong = reader.get("/app/reports/mrr/explain?explain=ends").await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    assert!(wrong.text().contains("class=\"problems\""), "{}", wrong.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_has_a_table_for_each_currency_and_its_cohorts_are_a_triangle() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let days = "from=2025-11-01&to=2026-02-01&interval=month";
    let html = page(&reader, &format!("/app/reports/mrr?{days}")).await;
    let headings = ["Total in EUR<", "EUR, not converted<", "USD, not converted<"];
    let places = headings.map(|heading| html.find(&format!("<h2>{heading}")).unwrap());
    assert!(places.is_sorted(), "{html}");
    let first = html.split("<thead>").nth(1).unwrap();
    assert!(first.find(">End<").unwrap() < first.find(">Start<").unwrap(), "{first}");
    for text in [">Show amounts in<", ">each currency and total<", ">Before<"] {
        assert!(html.contains(text), "{text}: {html}");
    }
    let html = page(&reader, &format!("/app/reports/retention?{days}")).await;
    let first = html.split("<thead>").nth(1).unwrap();
    assert!(first.find(">NRR %<").unwrap() < first.find(">Base<").unwrap(), "{first}");
    let cohorts = page(&reader, &format!("/app/reports/retention?{days}&part=cohorts")).await;
    let first = cohorts.split("<table").nth(1).unwrap();
    assert!(first.contains(">2025-12<") && first.matches("<tr").count() == 2, "{first}");
    let cells: Vec<_> = attribute(first, "a href").collect();
    assert!(!cells.is_empty(), "{first}");
    // An interval that cohorts do not have becomes a month.
    let weeks = days.replace("month", "week");
    let months = page(&reader, &format!("/app/reports/retention?{weeks}&part=cohorts")).await;
    assert!(months.contains(">2025-12<") && !months.contains("value=\"week\""), "{months}");
    for cell in cells {
        let behind = page(&reader, &cell.replace("&amp;", "&")).await;
        for text in
            ["/app/records/companies/", ", cohort 2025-1", "Companies kept: 1 / 1 = 100.00 %"]
        {
            assert!(behind.contains(text), "{cell}: {text}: {behind}");
        }
    }
    let usage = page(&reader, &format!("/app/reports/usage?{days}&part=cohorts")).await;
    assert!(!usage.contains("name=\"interval\""), "{usage}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ratio_of_retention_leads_to_its_parts_in_numbers() {
    let server = server().await;
    let client = &server.client;
    client.post("/companies", &json!({"name": "Beta", "externalId": "beta"})).await;
    let license = json!({
        "companyId": "extid-beta", "_currency": "EUR", "product": "Suite", "mrr": 1234.5678,
        "fromDate": "2025-11-01",
    });
    assert_eq!(client.post("/licenses", &license).await.status, StatusCode::OK);
    // A company that comes back lessens the net MRR churn, and is no part of NRR.
    client.post("/companies", &json!({"name": "Gamma", "externalId": "gamma"})).await;
    for (from, to) in [("2025-01-01", Some("2026-06-30")), ("2026-11-10", None)] {
        let license = json!({
            "companyId": "extid-gamma", "_currency": "EUR", "product": "Suite", "mrr": 50,
            "fromDate": from, "toDate": to, "fixedPeriod": to.is_some(),
            "renewalStatus": if to.is_some() { "lost" } else { "ongoing" },
        });
        assert_eq!(client.post("/licenses", &license).await.status, StatusCode::OK);
    }
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let report = "/app/reports/retention?from=2026-10-01&to=2026-12-01&interval=month";
    let html = page(&reader, report).await;
    let behind = async |line: &str| {
        let is_it = |link: &String| {
            let is_converted = !link.contains("currency=");
            link.ends_with(&format!("explain={line}")) && is_converted && link.contains("period=")
        };
        let links = attribute(&html, "<a href").map(|link| link.replace("&amp;", "&"));
        let links: Vec<String> = links.filter(is_it).collect();
        let mut pages = Vec::new();
        for link in links {
            pages.push(page(&reader, &link).await);
        }
        pages
    };
    let expect = [
        ("kept", "GRR: 1,234.57 / 1,384.57 = 89.17 %"),
        ("base", "GRR: 1,234.57 / 1,384.57 = 89.17 %"),
        ("base", "Gross MRR churn: (churn + contraction) / base = 10.83 %"),
        ("base", "Net MRR churn: (churn + contraction - expansion - reactivation) / base = 7.22 %"),
        ("retained", "NRR: 1,234.57 / 1,384.57 = 89.17 %"),
        ("churn", "Logo churn: 1 / 2 = 50.00 %"),
    ];
    for (line, ratio) in expect {
        let pages = behind(line).await;
        assert!(pages.iter().any(|page| page.contains(ratio)), "{ratio}: {pages:?}");
    }
    // Those who were lost, alone, and in what steps.
    let lost = behind("churn").await;
    assert!(lost.iter().all(|page| page.contains(">Acme</a>") && !page.contains(">Beta</a>")));
    assert!(lost.iter().any(|page| page.contains("150 → 0: churn 150")), "{lost:?}");
    // A license that has no steps has its amount only.
    let kept = behind("kept").await;
    assert!(kept.iter().any(|page| !page.contains("In numbers")), "{kept:?}");
}

/// A page without its elements: the texts of a row are in one line.
fn lines(html: &str) -> Vec<String> {
    let text = |piece: &str| {
        let after = |part: &str| part.split_once('>').map_or(part, |(_, text)| text).to_owned();
        piece.split('<').map(after).collect::<Vec<_>>().join(" ")
    };
    let html = html.replace("<tr", "\n<tr").replace("<dt", "\n<dt").replace("<p", "\n<p");
    html.lines().map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_amount_on_every_page_has_its_currency() {
    let server = server().await;
    let client = &server.client;
    let product = json!({"name": "Other", "externalId": "other", "currency": "EUR", "mrr": 98765});
    assert_eq!(client.post("/products", &product).await.status, StatusCode::OK);
    for (currency, mrr) in [("EUR", 98765), ("USD", 98712)] {
        let license = json!({
            "companyId": "extid-acme", "_currency": currency, "product": "Other", "mrr": mrr,
            "fromDate": "2025-11-01",
        });
        assert_eq!(client.post("/licenses", &license).await.status, StatusCode::OK);
    }
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    reader.submit("/app/closings", &[("month", "2025-11")]).await;
    let mut pages = BTreeSet::new();
    // The texts of the settings have limits, and no amounts.
    for (path, html) in walk(&reader).await.into_iter().filter(|(path, _)| path != "/app/settings")
    {
        for line in lines(&html) {
            let before = line.match_indices(',').map(|(at, _)| line.split_at(at));
            for (before, after) in before.filter(|(before, after)| is_amount(before, after)) {
                let has_currency = before.contains("EUR ") || before.contains("USD ");
                assert!(has_currency, "{path}: {before}{after}");
                pages.insert(path.split(['?', '0']).next().unwrap().to_owned());
            }
        }
    }
    for page in [
        "/",
        "/app/customers",
        "/app/records/companies",
        "/app/records/products",
        "/app/reports/mrr/explain",
    ] {
        assert!(pages.contains(page), "{page} has no amount: {pages:?}");
    }
}

/// Whether a comma separates the thousands of an amount.
fn is_amount(before: &str, after: &str) -> bool {
    let digits = after.chars().skip(1).take_while(char::is_ascii_digit).count();
    before.ends_with(|last: char| last.is_ascii_digit()) && digits == 3
}

#[tokio::test(flavor = "multi_thread")]
async fn every_figure_of_usage_leads_to_the_users_that_are_counted_in_it() {
    let server = server().await;
    let events = json!([
        {"euExtId": "ada", "cId": "acme", "action": "Log, in", "date": "2026-01-05", "count": 3},
        {"euExtId": "ada", "cId": "acme", "action": "Export", "date": "2026-02-03"},
        {"euExtId": "bob", "cId": "acme", "action": "Log, in", "date": "2026-01-28"},
    ]);
    let path = format!("/analytics/bulk/{}", svctrack_tests::TENANT);
    server.client.post(&path, &events).await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    for (part, least) in [("figures", 23), ("cohorts", 3), ("actions", 8)] {
        let path = format!("/app/reports/usage?from=2026-01-01&to=2026-03-01&part={part}");
        let html = page(&reader, &path).await;
        let links: Vec<_> =
            html.split("<a href=\"").filter(|link| link.contains("/explain?")).collect();
        assert!(links.len() >= least, "{part} has {links:?}");
        for link in links {
            let (address, rest) = link.split_once("\">").unwrap();
            let address = address.replace("&amp;", "&");
            let (figure, _) = rest.split_once("</a>").unwrap();
            let html = page(&reader, &address).await;
            let is_of_companies = address.contains("list=companies");
            let user = html.contains("/app/records/endusers/");
            assert!(user != is_of_companies, "{address}: {html}");
            assert!(html.contains(">Acme</a>"), "{address}: {html}");
            assert!(html.contains(&format!("part={part}")), "{address}: {html}");
            let back = attribute(&html, "class=\"crumbs\"><a href").next().unwrap();
            page(&reader, &back.replace("&amp;", "&")).await;
            if address.contains("part=figures") {
                let sums = html.split("<strong>").find(|strong| strong.contains(" activit"));
                let sums = sums.and_then(|sums| sums.split("</strong>").next()).unwrap();
                let is_counted = sums.split(" · ").any(|sum| sum.split(' ').next() == Some(figure));
                // A ratio is a part of what it leads to.
                assert!(is_counted || figure.contains('.'), "{address}: {figure}, {sums}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_of_the_first_page_are_those_behind_them() {
    let server = server().await;
    for currency in ["EUR", "USD"] {
        let license = json!({
            "companyId": "extid-acme", "_currency": currency, "mrr": 500, "fromDate": "2025-11-01",
        });
        assert_eq!(server.client.post("/licenses", &license).await.status, StatusCode::OK);
    }
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let home = page(&reader, "/").await;
    let figures: Vec<String> = attribute(&home, "class=\"figure\" href")
        .filter(|link| link.contains("/mrr/explain?"))
        .map(|link| link.replace("&amp;", "&"))
        .collect();
    assert_eq!(figures.len(), 1, "{home}");
    assert!(home.contains("EUR 750"), "{home}");
    assert!(
        home.contains(
            "href=\"/app/customers\"><span class=\"figure-label\">Customers</span><strong>1<"
        ),
        "{home}"
    );
    assert!(page(&reader, "/app/customers").await.contains("1 to 1 of 1"));
    for figure in figures {
        let behind = page(&reader, &figure).await;
        assert!(behind.contains("EUR 750") && behind.contains("1 to 1 of 1"), "{figure}: {behind}");
    }
}

/// Waits until the demo is filled.
async fn wait_for_demo(reader: &Reader<'_>) -> String {
    for _ in 0..600 {
        let response = reader.get("/app/demo").await;
        let text = response.text().to_owned();
        assert!(!text.contains("incomplete"), "{text}");
        if !text.contains("is being filled") {
            return text;
        }
        assert!(response.headers.contains_key("refresh"), "{text}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the demo is not complete");
}

fn with_cookie<'c>(client: &'c Client, response: &svctrack_tests::client::Response) -> Reader<'c> {
    assert_eq!(response.status, StatusCode::SEE_OTHER, "{}", response.text());
    let cookie = response.headers["set-cookie"].to_str().unwrap();
    Reader::signed_in(client, cookie.split(';').next().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demo_is_created_opened_left_and_deleted_by_buttons() {
    let server = InProcess::start().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    assert!(page(&reader, "/").await.contains("href=\"/app/demo\""));
    assert!(page(&reader, "/app/demo").await.contains("Create the demo"));
    let made = reader.submit("/app/demo", &[("customers", "10")]).await;
    assert_eq!(made.status, StatusCode::SEE_OTHER, "{}", made.text());
    assert!(wait_for_demo(&reader).await.contains("Open the demo"));
    let inside = with_cookie(&server.anonymous, &reader.submit("/app/demo/open", &[]).await);
    assert!(page(&inside, "/").await.contains("Demo: Lumen Analytics"));
    assert!(page(&inside, "/app/customers").await.contains("/app/records/companies/"));
    assert!(page(&inside, "/app/demo").await.contains("Leave the demo"));
    // No command line was used, neither for the tenant nor for what it has.
    let audit = page(&inside, "/app/audit").await;
    assert!(audit.contains("svctrack</div>") && !audit.contains("Command line"), "{audit}");
    let tenants = server.operator.get("/audit?action=tenant.create&limit=1").await.json();
    assert_eq!(tenants[0]["actor"], "service", "{tenants}");
    // Tokens of the demo that can only read lead no user into a demo that they cannot leave.
    for number in 0..20 {
        let label = format!("reader {number}");
        let token = [("label", label.as_str()), ("scopes", "*:read")];
        let issued = inside.submit("/app/tokens/new", &token).await;
        assert!(issued.status.is_success() || issued.status.is_redirection(), "{}", issued.text());
    }
    let back = with_cookie(&server.anonymous, &inside.submit("/app/demo/leave", &[]).await);
    assert!(!page(&back, "/").await.contains("Demo: Lumen Analytics"));
    let inside = with_cookie(&server.anonymous, &back.submit("/app/demo/open", &[]).await);
    assert_eq!(inside.get("/app/tokens").await.status, StatusCode::OK);
    let deletion = page(&back, "/app/demo").await;
    // One click deletes it.
    let open = deletion.split("<details").next().unwrap();
    assert!(open.contains("action=\"/app/demo/delete\""), "{deletion}");
    let deleted = inside.submit("/app/demo/delete", &[]).await;
    let back = with_cookie(&server.anonymous, &deleted);
    let after = page(&back, deleted.headers["location"].to_str().unwrap()).await;
    assert!(after.contains("The demo was deleted"), "{after}");
    assert!(after.contains("Create the demo"), "{after}");
    let tenants = server.operator.get("/tenants").await;
    assert!(!tenants.text().contains("\"active\",\"name\":\"Demo"), "{}", tenants.text());

    // Where others are, an operator alone creates tenants.
    server.operator.post("/tenants", &json!({"name": "other"})).await;
    assert!(!page(&back, "/").await.contains("href=\"/app/demo\""));
    assert_eq!(back.submit("/app/demo", &[]).await.status, StatusCode::FORBIDDEN);
    assert_eq!(back.get("/app/demo").await.status, StatusCode::FORBIDDEN);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_due_is_seen_behind_more_licenses_than_a_report_lists() {
    let server = InProcess::start().await;
    server.client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    let now = SystemClock.now().as_ms();
    let day =
        |days: i64| Timestamp::from_ms_clamped(now + days * DAY_MS).to_string()[..10].to_owned();
    let license = |number: usize, end: i64, status: &str| {
        json!({"companyId": "extid-acme", "externalId": format!("l{number}"), "_currency": "EUR", "mrr": 10,
            "fromDate": day(end - 365), "toDate": day(end), "fixedPeriod": true, "renewalStatus": status})
    };
    let licenses = (0..MAX_LISTED + 10).map(|number| match number {
        0..2 => license(number, 30, "ongoing"),
        2..5 => license(number, -400, "ongoing"),
        _ => license(number, -500, "lost"),
    });
    data::upsert(&server.client, "/licenses", &licenses.collect()).await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let home = page(&reader, "/").await;
    assert!(home.contains("<strong>2</strong> licenses with an MRR of <strong>EUR 20<"), "{home}");
    assert!(home.contains("<strong>3</strong> overdue"), "{home}");
    let renewals = page(&reader, "/app/renewals").await;
    assert_eq!(renewals.matches("/renew\"").count(), 5, "{renewals}");
    let lost = format!("/app/renewals?from={}&to={}&group=lost", day(-510), day(-490));
    let lost = page(&reader, &lost).await;
    assert!(
        lost.contains("1 to 50 of 1,000") && lost.contains("5 more licenses are not"),
        "{lost}"
    );
    let file = attribute(&lost, "href").find(|path| path.contains("form=csv")).unwrap();
    let file = page(&reader, &file.replace("&amp;", "&")).await;
    assert_eq!(file.lines().count(), 1 + 1_005);
}

#[tokio::test(flavor = "multi_thread")]
async fn amounts_are_in_the_chosen_currency_or_the_page_names_the_missing_rates() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let days = "from=2025-11-01&to=2026-01-01&interval=month";
    let mrr = format!("/app/reports/mrr?{days}&baseCurrency=USD");
    let html = page(&reader, &mrr).await;
    for option in ["value=\"\"", "value=\"EUR\"", "value=\"USD\" selected=\"\""] {
        assert!(html.contains(&format!("<option {option}>")), "{option}: {html}");
    }
    // 100 EUR at 0.5 EUR a dollar, and 100 USD.
    assert!(html.contains(">300</a>") && !html.contains("<td>EUR"), "{html}");
    let links = |of: &str| -> Vec<String> {
        let links = attribute(&html, of).map(|link| link.replace("&amp;", "&"));
        links.filter(|link| link.contains("/reports/mrr")).collect()
    };
    let behind: Vec<String> =
        links("<a href").into_iter().filter(|link| link.contains("/explain?")).collect();
    assert!(behind.len() > 4, "{behind:?}");
    let charts = [links("img class=\"chart\" src"), links("source srcset")].concat();
    let is_narrow = |link: &&String| link.contains("&width=narrow");
    assert_eq!((charts.len(), charts.iter().filter(is_narrow).count()), (4, 2), "{charts:?}");
    for link in [&behind[..], &links("button\" href"), &charts].concat() {
        assert!(link.contains("baseCurrency=USD"), "{link}");
        assert_eq!(reader.get(&link).await.status, StatusCode::OK, "{link}");
    }
    assert!(page(&reader, &behind[0]).await.contains("USD"));
    let csv = format!("/app/files/reports/mrr?{days}&baseCurrency=USD&form=csv");
    assert!(!page(&reader, &csv).await.contains("EUR"));

    for report in ["mrr", "retention", "renewals", "forecast"] {
        let query = format!("{days}&baseCurrency=GBP");
        let html = page(&reader, &format!("/app/reports/{report}?{query}")).await;
        assert!(html.contains("no exchange rate from EUR, USD to GBP"), "{report}: {html}");
        assert!(!html.contains("<table") && !html.contains("class=\"chart\""), "{report}: {html}");
        let svg = page(&reader, &format!("/app/files/reports/{report}?{query}&form=svg")).await;
        assert!(svg.contains("no data") && !svg.contains(">2025-11<"), "{report}: {svg}");
    }
    let at_stake = page(&reader, "/app/customers?baseCurrency=USD").await;
    let row = at_stake.split("<tbody class").nth(1).unwrap();
    assert!(row.contains("USD ") && !row.contains("EUR"), "{row}");
    let none = page(&reader, "/app/customers?baseCurrency=GBP").await;
    assert!(none.contains("No amounts in GBP.") && !none.contains("<table"), "{none}");
    // One customer without a rate does not hide the others.
    let beta = json!({"name": "Beta", "externalId": "beta"});
    assert_eq!(server.client.post("/companies", &beta).await.status, StatusCode::OK);
    let license = json!({"companyId": "extid-beta", "_currency": "SEK", "product": "Suite", "mrr": 900, "fromDate": "2025-11-01"});
    assert_eq!(server.client.post("/licenses", &license).await.status, StatusCode::OK);
    let html = page(&reader, "/app/customers?baseCurrency=USD").await;
    for text in [">Acme</a>", ">Beta</a>", "SEK 900", "Customers who pay in SEK come last"] {
        assert!(html.contains(text), "{text}: {html}");
    }
    for (query, expected) in [
        ("sort=name", "Customers who pay in SEK: without an exchange rate"),
        ("name=nobody", "No matching customers."),
        ("status=lost", "No matching customers."),
    ] {
        let html = page(&reader, &format!("/app/customers?baseCurrency=USD&{query}")).await;
        assert!(html.contains(expected), "{query}: {html}");
    }
    // A currency of another time is none of those that are converted, and hides no reason.
    let old = json!({"companyId": "extid-beta", "_currency": "DEM", "product": "Old", "mrr": 9, "fromDate": "2001-01-01", "toDate": "2003-01-01", "renewalStatus": "lost", "lostReason": "price"});
    assert_eq!(server.client.post("/licenses", &old).await.status, StatusCode::OK);
    let html = page(&reader, &format!("/app/reports/renewals?{days}&baseCurrency=USD")).await;
    assert!(html.contains("There is no exchange rate from DEM, SEK to USD."), "{html}");
    let html = page(&reader, "/app/customers?baseCurrency=GBP&offset=50").await;
    assert!(html.contains("No amounts in GBP."), "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_or_an_average_leads_to_its_quotient() {
    let server = server().await;
    let renewed = json!({
        "companyId": "extid-acme", "externalId": "old", "_currency": "EUR", "product": "Plan", "mrr": 80,
        "fromDate": "2025-03-01", "toDate": "2026-02-28", "fixedPeriod": true, "renewalStatus": "renewed",
    });
    let successor = json!({
        "companyId": "extid-acme", "_currency": "EUR", "product": "Plan", "mrr": 100, "parent": "extid-old",
        "fromDate": "2026-03-01", "toDate": "2027-02-28", "fixedPeriod": true,
    });
    for license in [renewed, successor] {
        let stored = server.client.post("/licenses", &license).await;
        assert_eq!(stored.status, StatusCode::OK, "{}", stored.text());
    }
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let days = "from=2026-01-01&to=2026-06-01&interval=month";
    let mrr = format!("/app/reports/mrr/explain?{days}&period=2026-01&currency=EUR&explain=end");
    assert!(page(&reader, &mrr).await.contains("ARPA: 180 / 1 = 180<"));
    let report = page(&reader, &format!("/app/reports/renewals?{days}")).await;
    let rates = report.split("<a href=\"").filter(|link| link.contains(">125"));
    let links: Vec<_> = rates.map(|link| link.split('"').next().unwrap()).collect();
    assert_eq!(links.len(), 2, "net, of all and of decided: {report}");
    for link in links {
        let html = page(&reader, &link.replace("&amp;", "&")).await;
        for text in [
            "Gross: 80 / 80 = 100.00 %",
            "Net: 100 / 80 = 125.00 %",
            "Net of decided: 100 / 80",
            "Logo: 1 / 1 = 100.00 %",
        ] {
            assert!(html.contains(text), "{text}: {html}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_period_without_activities_has_no_table_of_zeros() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let path = "/app/reports/usage?from=2026-01-01&to=2026-03-01&interval=month";
    let html = page(&reader, path).await;
    assert!(html.contains("Choose another period, or send events."), "{html}");
    assert!(!html.contains("<table") && !html.contains("class=\"chart\""), "{html}");
    let rows = json!([{"euExtId": "ada", "cId": "acme", "action": "Logged in", "date": "2026-01-05T10:00:00Z"}]);
    let bulk = format!("/analytics/bulk/{}", svctrack_tests::TENANT);
    let sent = server.client.post(&bulk, &rows).await;
    assert_eq!(sent.status, StatusCode::OK);
    assert!(page(&reader, path).await.contains("<table"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_figure_of_renewals_by_notice_has_the_day_of_each() {
    let server = server().await;
    let license = json!({
        "companyId": "extid-acme", "_currency": "EUR", "product": "Suite", "mrr": 70, "fromDate": "2025-11-01",
        "toDate": "2026-10-31", "fixedPeriod": true, "autoRenews": true, "noticePeriod": 1, "noticeUnit": "month",
        "renewalStatus": "lost", "lostReason": "price",
    });
    assert_eq!(server.client.post("/licenses", &license).await.status, StatusCode::OK);
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let days = "from=2026-09-01&to=2026-12-01&interval=month";
    let titles = [
        ("end", "Renewals, Churned, 2026-11<"),
        ("notice", "Renewals, Churned, 2026-10, by last day of notice<"),
    ];
    for (by, title) in titles {
        let report = page(&reader, &format!("/app/reports/renewals?{days}&by={by}")).await;
        let link = attribute(&report, "<a href").find(|link| link.contains("explain=churned"));
        let html = page(&reader, &link.unwrap().replace("&amp;", "&")).await;
        for text in [title, "data-label=\"End\">2026-11-01<", "data-label=\"Notice\">2026-10-01<"] {
            assert!(html.contains(text), "{by}: {text}: {html}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn renewals_are_chosen_by_their_days_and_listed_in_pages_and_in_a_file() {
    let server = InProcess::start().await;
    for (name, id, owner) in [("Acme", "acme", "Ada"), ("=Beta", "beta", "Bo, B")] {
        let company = json!({"name": name, "externalId": id, "owner": owner});
        server.client.post("/companies", &company).await;
    }
    let now = SystemClock.now().as_ms();
    let day =
        |days: i64| Timestamp::from_ms_clamped(now + days * DAY_MS).to_string()[..10].to_owned();
    let license = |company: &str, number: usize, end: i64| {
        json!({"companyId": format!("extid-{company}"), "externalId": format!("{company}{number}"), "mrr": 10,
            "_currency": "EUR", "fromDate": day(end - 365), "toDate": day(end), "fixedPeriod": true})
    };
    let licenses =
        (0..120).map(|number| license("acme", number, 30)).chain([license("beta", 0, 200)]);
    data::upsert(&server.client, "/licenses", &licenses.collect()).await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let link = |html: &str, part: &str| {
        let found = attribute(html, "href").find(|link| link.contains(part));
        found.unwrap_or_else(|| panic!("{part}: {html}")).replace("&amp;", "&")
    };
    let html = page(&reader, "/app/renewals").await;
    assert!(html.contains("The first 50. ") && html.contains(">Show all 120<"), "{html}");
    assert_eq!(html.matches("/renew\"").count(), 50);
    let all = page(&reader, &link(&html, "group=due")).await;
    assert!(all.contains("1 to 50 of 120"), "{all}");
    let last =
        page(&reader, &link(&page(&reader, &link(&all, "offset=50")).await, "offset=100")).await;
    assert!(last.contains("101 to 120 of 120") && last.matches("/renew\"").count() == 20, "{last}");
    let file = page(&reader, &link(&last, "form=csv")).await;
    assert_eq!(file.lines().filter(|line| line.contains(",Acme,")).count(), 120, "{file}");

    let later = format!("/app/renewals?from={}&to={}", day(190), day(210));
    let html = page(&reader, &later).await;
    assert!(html.contains(">=Beta</a>") && !html.contains(">Acme</a>"), "{html}");
    let file = page(&reader, &link(&html, "form=csv")).await;
    assert!(
        file.starts_with("license,company,companyName,") && file.contains(",'=Beta,"),
        "{file}"
    );
    // The licenses of an owner, on each page and in each file.
    let html = page(&reader, &format!("{later}&owner=Bo,+B")).await;
    assert!(html.contains(">=Beta</a>"), "{html}");
    assert_eq!(page(&reader, &link(&html, "form=csv")).await, file);
    let all =
        page(&reader, &format!("/app/renewals?from={}&to={}&owner=Ada", day(0), day(210))).await;
    let all = page(&reader, &link(&all, "group=due")).await;
    assert!(all.contains("1 to 50 of 120") && !all.contains("Beta"), "{all}");
    // A month is a link.
    let month = &day(0)[..7];
    let html = page(&reader, &link(&all, &format!("from={month}-01"))).await;
    assert!(html.contains(&format!("aria-current=\"page\">{month}<")), "{html}");
    assert!(html.contains("name=\"owner\" value=\"Ada\"") && !html.contains("Beta"), "{html}");
    let wrong = reader.get("/app/renewals?from=soon").await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    let wrong = wrong.text();
    assert!(wrong.contains("class=\"problems\""), "{wrong}");
}

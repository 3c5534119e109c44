//! The page of closed months.

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_tests::in_process::InProcess;

use crate::{
    pages::{attribute, page, sign_in, token},
    pages_of_figures::server,
};

const PATH: &str = "/app/closings";

async fn change(server: &InProcess, path: &str, body: Value) {
    let json_type = [("content-type", "application/json")];
    let done = server.client.send(Method::PUT, path, &json_type, body.to_string()).await;
    assert_eq!(done.unwrap().status, StatusCode::OK, "{path}");
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_months_show_why_they_differ_and_why_they_were_reopened() {
    let server = server().await;
    let client = &server.client;
    for (name, mrr) in [("Beta", 70), ("Gamma", 50)] {
        client.post("/companies", &json!({"name": name, "externalId": name})).await;
        let license = json!({
            "companyId": format!("extid-{name}"), "externalId": name, "_currency": "EUR",
            "product": "Suite", "mrr": mrr, "fromDate": "2025-10-01",
        });
        assert_eq!(client.post("/licenses", &license).await.status, StatusCode::OK);
    }
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let closed = reader.submit(PATH, &[("month", "2025-11")]).await;
    assert_eq!(closed.status, StatusCode::SEE_OTHER, "{}", closed.text());
    let html = page(&reader, PATH).await;
    assert!(html.contains("2025-11") && !html.contains("Changed since closing"), "{html}");
    assert!(html.contains("Total, rates of <span class=\"nowrap\">2025-11-30<"), "{html}");
    // Neither a renewal nor an amount after it is a figure of the month.
    let renewal = json!({"renewalStatus": "renewed", "renewalMRR": 75});
    change(&server, "/licenses/extid-Beta", renewal).await;
    let html = page(&reader, PATH).await;
    assert!(!html.contains("Changed since closing"), "{html}");
    // In total nothing has changed.
    change(&server, "/licenses/extid-Beta", json!({"mrr": 60})).await;
    change(&server, "/licenses/extid-Gamma", json!({"mrr": 60})).await;
    let html = page(&reader, PATH).await;
    assert!(html.contains("Changed since closing, not in total:"), "{html}");
    let expect = [
        ("Beta", "EUR: start -10 (70 → 60), end -10 (70 → 60)"),
        ("Gamma", "EUR: start +10 (50 → 60), end +10 (50 → 60)"),
    ];
    for (company, figures) in expect {
        let text =
            format!(">{company}</a>, {figures}; changed license: <a href=\"/app/records/licenses/");
        assert!(html.contains(&text), "{text}: {html}");
    }
    change(&server, "/licenses/extid-Beta", json!({"mrr": 55.5})).await;
    let html = page(&reader, PATH).await;
    let figures = "Changed since closing: EUR: start -4.50 (120 → 115.50), end -4.50 (220 → 215.50); Total in EUR: ";
    assert!(html.contains(figures), "{html}");
    change(&server, "/settings", json!({"currencies": null})).await;
    let html = page(&reader, PATH).await;
    assert!(html.contains("; other exchange rates<"), "{html}");
    let reopen = async || {
        let reason = [("reason", "late <invoice>")];
        let done = reader.submit("/app/closings/2025-11/reopen", &reason).await;
        assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text());
    };
    reopen().await;
    let open = page(&reader, PATH).await;
    assert!(open.contains("Open<") && !open.contains("Changed since closing"), "{open}");
    reader.submit(PATH, &[("month", "2025-11")]).await;
    let again = page(&reader, PATH).await;
    for html in [open, again] {
        assert!(html.contains(": late &lt;invoice"), "{html}");
    }
    reopen().await;
    let twice = page(&reader, PATH).await;
    assert_eq!(twice.matches(": late &lt;invoice").count(), 2, "{twice}");
}

/// Texts of the figures in a part of the page.
fn amounts(html: &str) -> Vec<String> {
    let cells = html.split("<td class=\"num\"").skip(1);
    let cells = cells.map(|cell| cell.split_once("</td>").unwrap().0);
    let texts =
        |cell: &str| cell.split('>').filter_map(|part| part.split('<').next()).collect::<String>();
    cells.map(|cell| texts(cell.split_once('>').unwrap().1)).collect()
}

/// The part of the page before the list of closed months, and that list.
fn parts(html: &str) -> (&str, &str) {
    html.split_once("<h2>Closed and reopened</h2>").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_month_shows_its_figures_before_it_is_closed() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let first = page(&reader, PATH).await;
    assert!(first.contains("Show figures") && !first.contains("Close 20"), "{first}");
    let preview = page(&reader, &format!("{PATH}?month=2025-11")).await;
    for text in [
        "Next: 2025-11",
        "stores these figures",
        "rates of <span class=\"nowrap\">2025-11-30<",
        "Close 2025-11",
    ] {
        assert!(preview.contains(text), "{text}: {preview}");
    }
    for (month, expected) in [
        ("2099-01", "2099-01 can be closed after it has ended."),
        ("2025", "Month must be a month such as 2026-01; found 2025"),
        ("0202-06", "Month must be a month such as 2026-01; found 0202-06"),
        ("<b>", "found &lt;b&gt;"),
    ] {
        let path = format!("{PATH}?month={}", month.replace('<', "%3C").replace('>', "%3E"));
        let shown = reader.get(&path).await;
        let is_month = month == "2099-01";
        assert_eq!(shown.status, if is_month { StatusCode::OK } else { StatusCode::BAD_REQUEST });
        let sent = reader.submit(PATH, &[("month", month)]).await;
        assert_eq!(sent.status, StatusCode::UNPROCESSABLE_ENTITY);
        for html in [shown, sent] {
            assert!(html.text().contains("Show figures"), "{month}: {}", html.text());
            assert!(html.text().contains(expected), "{expected}: {}", html.text());
            assert!(!html.text().contains("Close 2"), "{}", html.text());
        }
    }
    // What is stored is what was shown, and the next month needs no choice.
    assert_eq!(reader.submit(PATH, &[("month", "2025-11")]).await.status, StatusCode::SEE_OTHER);
    let html = page(&reader, PATH).await;
    assert!(!html.contains("Show figures"), "{html}");
    let (next, closed) = parts(&html);
    assert!(
        next.contains("Next: 2025-12")
            && next.contains("rates of <span class=\"nowrap\">2025-12-31<"),
        "{next}"
    );
    let figures = amounts(&preview);
    assert_eq!(figures.len(), 3 * 8, "EUR, USD and the total: {preview}");
    assert_eq!(figures[2 * 8 + 6], "150", "{figures:?}");
    assert_eq!(amounts(closed), figures);
    // Without the scope to close months there is no preview.
    let reports = json!({"label": "reader", "scopes": ["reports:read"]});
    let reports = server.client.post("/tokens", &reports).await.json();
    let reports = sign_in(&server.anonymous, reports["token"].as_str().unwrap()).await;
    let html = page(&reports, PATH).await;
    assert!(html.contains("2025-11") && !html.contains("Next:"), "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_month_without_a_total_names_the_missing_rate_before_and_after_it_is_closed() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    reader.submit(PATH, &[("month", "2025-11")]).await;
    change(&server, "/settings", json!({"currencies": {"base": "EUR", "rates": {}}})).await;
    let html = page(&reader, PATH).await;
    let (next, closed) = parts(&html);
    assert!(next.contains("No total: there is no exchange rate for USD."), "{next}");
    assert!(!closed.contains("No total"), "{closed}");
    assert_eq!(reader.submit(PATH, &[("month", "2025-12")]).await.status, StatusCode::SEE_OTHER);
    let html = page(&reader, PATH).await;
    let no_total = "No total: not all currencies could be converted.";
    assert_eq!(parts(&html).1.matches(no_total).count(), 1, "{html}");
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_that_were_changed_since_they_were_shown_are_not_stored() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let html = page(&reader, &format!("{PATH}?month=2025-11")).await;
    let shown = |html: &str| {
        let (_, input) = html.split_once("name=\"shown\"").unwrap();
        attribute(input, "value").next().unwrap().to_owned()
    };
    let seen = shown(&html);
    let close =
        async |seen: &str| reader.submit(PATH, &[("month", "2025-11"), ("shown", seen)]).await;
    server.client.post("/companies", &json!({"name": "Beta", "externalId": "beta"})).await;
    let license = json!({"companyId": "extid-beta", "_currency": "EUR", "product": "Suite", "mrr": 7, "fromDate": "2025-11-02"});
    assert_eq!(server.client.post("/licenses", &license).await.status, StatusCode::OK);
    let rejected = close(&seen).await;
    assert_eq!(rejected.status, StatusCode::UNPROCESSABLE_ENTITY);
    let html = rejected.text();
    assert!(
        html.contains("were changed since this page was opened") && html.contains(">157<"),
        "{html}"
    );
    assert!(html.contains("No month is closed."), "{html}");
    let seen = shown(html);
    assert_eq!(close(&seen).await.status, StatusCode::SEE_OTHER);
    // A form of an earlier page closes nothing again.
    let again = close(&seen).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(again.text().contains("The month is closed already"), "{}", again.text());
    assert!(parts(&page(&reader, PATH).await).1.contains(">157<"));
    // Also where there was nothing before.
    let late = json!({"companyId": "extid-beta", "_currency": "EUR", "product": "Suite", "mrr": 7, "fromDate": "2025-11-02"});
    let empty = InProcess::start().await;
    let reader = sign_in(&empty.anonymous, &token(&empty)).await;
    assert_eq!(shown(&page(&reader, &format!("{PATH}?month=2025-11")).await), "");
    empty.client.post("/companies", &json!({"name": "Beta", "externalId": "beta"})).await;
    assert_eq!(empty.client.post("/licenses", &late).await.status, StatusCode::OK);
    let rejected = reader.submit(PATH, &[("month", "2025-11"), ("shown", "")]).await;
    assert_eq!(rejected.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", rejected.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_of_a_month_lead_to_the_licenses_of_then() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let links = |html: &str| -> Vec<String> {
        let all = attribute(html, "<a href").filter(|link| link.contains("/explain?"));
        all.map(|link| link.replace("&amp;", "&")).collect()
    };
    let preview = page(&reader, &format!("{PATH}?month=2025-11")).await;
    let license = json!({"companyId": "extid-acme", "_currency": "EUR", "product": "Late", "mrr": 7, "fromDate": "2025-11-02"});
    let [new, .., customers] = &links(&preview)[..] else { panic!("{preview}") };
    for link in [new, customers] {
        assert!(page(&reader, link).await.contains(">Acme</a>"), "{link}");
    }
    let closed = reader.submit(PATH, &[("month", "2025-11")]).await;
    assert_eq!(closed.status, StatusCode::SEE_OTHER, "{}", closed.text());
    assert_eq!(server.client.post("/licenses", &license).await.status, StatusCode::OK);
    let html = page(&reader, &format!("{PATH}?done=closed")).await;
    assert!(html.contains("The month was closed."), "{html}");
    let links = links(parts(&html).1);
    assert!(links.len() >= 9, "{links:?}");
    for link in &links {
        let html = page(&reader, link).await;
        assert!(html.contains(">Acme</a>") && !html.contains(">Late</a>"), "{link}: {html}");
        assert_eq!(attribute(&html, "<p class=\"crumbs\"><a href").next(), Some(PATH));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_month_that_was_closed_again_stays_closed_for_an_older_page() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    reader.submit(PATH, &[("month", "2025-11")]).await;
    let older = page(&reader, PATH).await;
    let (_, input) = older.split_once("name=\"closedAt\"").unwrap();
    let seen = attribute(input, "value").next().unwrap().to_owned();
    let tokens = server.client.get("/tokens").await.json();
    let mut tokens = tokens.as_array().unwrap().iter();
    let own = tokens.find(|token| token["scopes"][0] != "session").unwrap();
    let label = own["label"].as_str().unwrap();
    assert!(parts(&older).1.contains(&format!("by {label}<")), "{older}");
    let reopen = async |seen: &str| {
        let sent = [("reason", "late invoice"), ("closedAt", seen)];
        reader.submit("/app/closings/2025-11/reopen", &sent).await
    };
    assert_eq!(reopen(&seen).await.headers["location"], format!("{PATH}?done=reopened"));
    // It is not reopened twice, and not after it was closed again.
    for is_closed in [false, true] {
        if is_closed {
            reader.submit(PATH, &[("month", "2025-11")]).await;
        }
        let rejected = reopen(&seen).await;
        assert_eq!(rejected.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(rejected.text().contains("was reopened since this page was opened"));
        let html = page(&reader, PATH).await;
        assert_eq!(html.matches("late invoice").count(), 1, "{html}");
        assert!(html.contains(&format!(" by {label}: late invoice")), "{html}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_currency_of_another_time_takes_no_total_away() {
    let server = server().await;
    for (currency, from, to) in
        [("CHF", "2036-01-01", "2037-01-01"), ("DEM", "1999-01-01", "2001-01-01")]
    {
        let license = json!({
            "companyId": "extid-acme", "_currency": currency, "product": "Other", "mrr": 5, "fromDate": from,
            "toDate": to, "renewalStatus": "lost", "lostReason": "price",
        });
        assert_eq!(server.client.post("/licenses", &license).await.status, StatusCode::OK);
    }
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let days = "from=2025-10-01&to=2026-04-01&interval=month";
    for path in [
        "/".to_owned(),
        format!("/app/reports/mrr?{days}"),
        format!("/app/reports/retention?{days}"),
        format!("{PATH}?month=2025-11"),
    ] {
        let html = page(&reader, &path).await;
        let main = html.split_once("<main").unwrap().1;
        for text in ["No total", "DEM, not converted", "DEM</span>", "who pay in"] {
            assert!(!main.contains(text), "{path}: {text}: {main}");
        }
        assert!(main.contains("EUR"), "{path}: {main}");
    }
    reader.submit(PATH, &[("month", "2025-11")]).await;
    let html = page(&reader, PATH).await;
    assert!(!html.contains("CHF") && !html.contains("No total"), "{html}");
}

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
    assert!(html.contains("Total, <span class=\"nowrap\">rates of 2025-11-30<"), "{html}");
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

#[tokio::test(flavor = "multi_thread")]
async fn a_month_shows_its_figures_before_it_is_closed() {
    let server = server().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    let first = page(&reader, PATH).await;
    assert!(first.contains("Show figures") && !first.contains("Close 20"), "{first}");
    let html = page(&reader, &format!("{PATH}?month=2025-11")).await;
    assert_eq!(attribute(&html, "name=\"month\" value").next(), Some("2025-11"), "{html}");
    let shown =
        &html[html.find("Next: 2025-11").unwrap()..html.find("No month is closed").unwrap()];
    for text in
        ["stores these figures", "EUR", "USD", "150", "rates of 2025-11-30", "Close 2025-11"]
    {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    for (month, says) in [
        ("2099-01", "2099-01 can be closed after it has ended."),
        ("2025", "Enter a year and a month, such as 2026-01."),
    ] {
        let html = reader.get(&format!("{PATH}?month={month}")).await;
        assert!(html.text().contains(says), "{says}: {}", html.text());
        assert!(!html.text().contains("Close 2"), "{}", html.text());
    }
    // The next month has no choice, and what is stored is what was shown.
    assert_eq!(reader.submit(PATH, &[("month", "2025-11")]).await.status, StatusCode::SEE_OTHER);
    let html = page(&reader, PATH).await;
    assert!(html.contains("Next: 2025-12") && !html.contains("Show figures"), "{html}");
    let (before, closed) = html.split_once("<h2>Closed</h2>").unwrap();
    assert!(closed.contains("rates of 2025-11-30") && closed.contains("150"), "{closed}");
    assert!(before.contains("rates of 2025-12-31") && !before.contains("No total"), "{before}");
    // A total that cannot be given is named as missing, before and after.
    change(&server, "/settings", json!({"currencies": {"base": "EUR", "rates": {}}})).await;
    let html = page(&reader, PATH).await;
    let (before, closed) = html.split_once("<h2>Closed</h2>").unwrap();
    assert!(before.contains("No total: there is no exchange rate for USD."), "{before}");
    assert!(!closed.contains("No total"), "{closed}");
    assert_eq!(reader.submit(PATH, &[("month", "2025-12")]).await.status, StatusCode::SEE_OTHER);
    let html = page(&reader, PATH).await;
    let (_, closed) = html.split_once("<h2>Closed</h2>").unwrap();
    assert_eq!(
        closed.matches("No total: not all currencies could be converted.").count(),
        1,
        "{closed}"
    );
}

//! The page of exchange rates.

use hyper::StatusCode;
use serde_json::{Value, json};
use svctrack_tests::in_process::InProcess;

use crate::pages::{Reader, attribute, page, sign_in, token};

const PATH: &str = "/app/settings/rates";

/// Values of the inputs of a page with this name.
fn values(html: &str, name: &str) -> Vec<String> {
    let inputs = html.split("<input").filter(|input| input.contains(&format!("name=\"{name}\"")));
    inputs.map(|input| attribute(input, " value").next().unwrap_or_default().to_owned()).collect()
}

/// Sends the form as the page has it, with further lines.
async fn send(reader: &Reader<'_>, base: &str, lines: &[[&str; 3]]) -> Result<(), String> {
    let shown = values(&page(reader, PATH).await, "shown").concat().replace("&quot;", "\"");
    let mut pairs = vec![("base", base), ("shown", shown.as_str())];
    for line in lines {
        pairs.extend(["currency", "from", "rate"].into_iter().zip(*line));
    }
    let sent = reader.submit(PATH, &pairs).await;
    if sent.status != StatusCode::SEE_OTHER {
        return Err(sent.text().to_owned());
    }
    assert_eq!(sent.headers["location"], format!("{PATH}?done=saved"));
    Ok(())
}

async fn stored(server: &InProcess) -> Value {
    server.client.get("/settings").await.json()["currencies"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn rates_are_lines_of_a_form() {
    let server = InProcess::start().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    assert!(page(&reader, "/app/settings").await.contains(&format!("href=\"{PATH}\"")));
    let lines = [
        ["USD", "2024-01-01", "0.92"],
        ["GBP", "", "1.17"],
        ["USD", "2025-01-01", "0.95"],
        ["", "", ""],
    ];
    send(&reader, "EUR", &lines).await.unwrap();
    let usd = json!({"2024-01-01": 0.92, "2025-01-01": 0.95});
    assert_eq!(stored(&server).await, json!({"base": "EUR", "rates": {"GBP": 1.17, "USD": usd}}));
    let html = page(&reader, PATH).await;
    assert_eq!(values(&html, "base"), ["EUR"]);
    assert_eq!(values(&html, "currency"), ["GBP", "USD", "USD", "", "", ""]);
    assert_eq!(values(&html, "from"), ["", "2024-01-01", "2025-01-01", "", "", ""]);
    assert_eq!(values(&html, "rate"), ["1.17", "0.92", "0.95", "", "", ""]);
    // A line without a rate is removed, a day of it and a currency.
    send(&reader, "EUR", &[["USD", "2025-01-01", "0.95"], ["GBP", "", ""]]).await.unwrap();
    let left = json!({"base": "EUR", "rates": {"USD": {"2025-01-01": 0.95}}});
    assert_eq!(stored(&server).await, left);
    for (base, lines, said) in [
        ("EUR", vec![["USD", "", "0,92"]], "must be a number from 0.0000000001"),
        ("EUR", vec![["USD", "", "-1"]], "must be a number from 0.0000000001"),
        ("EUR", vec![["", "", "1"]], "The rate 1 has no currency."),
        ("EUR", vec![["USD", "", "1"], ["USD", "2025-01-01", "2"]], "needs a day."),
        ("EUR", vec![["USD", "", "1"], ["USD", "", "2"]], "Two rates of USD have no day."),
        ("", vec![["USD", "", "1"]], "The rates need a base currency"),
        (
            "EUR",
            vec![["EUR", "", "2"], ["USD", "", "1"]],
            "The rate of EUR, the base currency, is 1; found 2",
        ),
    ] {
        let html = send(&reader, base, &lines).await.unwrap_err();
        assert!(html.contains("class=\"problems\"") && html.contains(said), "{said}: {html}");
        assert_eq!(values(&html, "rate")[0], lines[0][2], "what was sent stays");
    }
    assert_eq!(stored(&server).await, left);
    // What is wrong is named at once, and each problem leads to its field.
    let wrong = [
        ["GBP", "", "1.17"],
        ["USD", "", "0,92"],
        ["CHF", "2025-01-01", "x"],
        ["", "", "1"],
        ["SEK", "", ""],
    ];
    let html = send(&reader, "", &wrong).await.unwrap_err();
    let at_line = "<p class=\"bad\" id=\"p-rate-1\">The rate of USD must be a number";
    assert!(html.contains(at_line), "{html}");
    assert_eq!(values(&html, "currency")[..5], ["GBP", "USD", "CHF", "", "SEK"], "{html}");
    let is_wrong = |input: &&str| input.contains("aria-invalid=\"true\"");
    let inputs = html.split("<input").filter(is_wrong);
    let ids: Vec<_> = inputs.flat_map(|input| attribute(input, " id").next()).collect();
    assert_eq!(ids, ["f-base", "f-rate-1", "f-rate-2", "f-currency-3"], "{html}");
    for id in ids {
        assert!(html.contains(&format!("<a href=\"#{id}\">")), "{id}: {html}");
    }
    // A day that is missing is that of the line without one, and a wrong one is marked itself.
    for (lines, id) in [
        (vec![["USD", "", "1"], ["USD", "2025-01-01", "2"], ["USD", "2026-01-01", "3"]], "from-0"),
        (vec![["USD", "2025-01-01", "2"], ["USD", "", "1"]], "from-1"),
        (vec![["USD", "2025-02-30", "2"]], "from-0"),
    ] {
        let html = send(&reader, "EUR", &lines).await.unwrap_err();
        let marked: Vec<_> = html.split("id=\"p-").skip(1).collect();
        assert!(marked.len() == 1 && marked[0].starts_with(id), "{id}: {html}");
    }
    // Rates that another user has changed since are not overwritten.
    let pairs =
        [("base", "EUR"), ("shown", "{}"), ("currency", "USD"), ("from", ""), ("rate", "1")];
    let late = reader.submit(PATH, &pairs).await;
    let html = late.text();
    assert!(html.contains("were changed since this page was opened"), "{html}");
    assert_eq!(stored(&server).await, left);
    let (_, now) = html.split_once("Stored now").unwrap();
    assert!(now.contains("2025-01-01") && now.contains("0.95"), "{html}");
    // Who has seen them replaces them by saving again.
    let shown = values(html, "shown").concat().replace("&quot;", "\"");
    let again =
        [("base", "EUR"), ("shown", &*shown), ("currency", "USD"), ("from", ""), ("rate", "1")];
    assert_eq!(reader.submit(PATH, &again).await.status, StatusCode::SEE_OTHER);
    assert_eq!(stored(&server).await, json!({"base": "EUR", "rates": {"USD": 1}}));
    send(&reader, "", &[]).await.unwrap();
    assert_eq!(stored(&server).await, Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_form_of_rates_names_the_currencies_that_licenses_have_and_it_does_not() {
    let server = InProcess::start().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    assert!(!page(&reader, PATH).await.contains("Licenses have amounts"));
    let company = server.client.post("/companies", &json!({"name": "Ada"})).await.json();
    for currency in ["EUR", "USD", "SEK"] {
        let license = json!({"companyId": company["_id"], "product": "Suite", "fromDate": "2026-01-01", "toDate": "2036-01-01",
            "mrr": 100, "_currency": currency});
        assert!(server.client.post("/licenses", &license).await.status.is_success());
    }
    let lines = [["usd", "", "0.92"], ["GBP", "", "1.17"], ["SEK", "", "0.09"]];
    send(&reader, "CHF", &lines).await.unwrap();
    let html = page(&reader, PATH).await;
    for note in [
        "Licenses have amounts in EUR, SEK, USD.",
        "No rate: EUR, USD.",
        "No license has amounts in usd: currency codes are case-sensitive.",
    ] {
        assert!(html.contains(note), "{note}: {html}");
    }
    send(&reader, "EUR", &[["USD", "", "0.92"], ["GBP", "", "1.2"], ["SEK", "", "0.1"]])
        .await
        .unwrap();
    let html = page(&reader, PATH).await;
    assert!(!html.contains("No rate") && !html.contains("No license has"), "{html}");
    // A rate that begins later is none yet.
    send(&reader, "EUR", &[["USD", "", "0.92"], ["SEK", "2090-01-01", "0.09"]]).await.unwrap();
    let html = page(&reader, &format!("{PATH}?done=saved")).await;
    assert!(html.contains("The rates were saved."), "{html}");
    let home = page(&reader, "/").await;
    assert!(home.contains("there is no exchange rate for SEK on 20"), "{home}");
    for html in [home, page(&reader, "/app/customers").await] {
        assert!(html.contains("Customers who pay in SEK come last"), "{html}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_that_stays_with_another_base_currency_is_asked_about() {
    let server = InProcess::start().await;
    let reader = sign_in(&server.anonymous, &token(&server)).await;
    send(&reader, "EUR", &[["GBP", "", "1.17"], ["USD", "", "0.92"]]).await.unwrap();
    let before = stored(&server).await;
    let retyped = [["GBP", "2020-01-01", "1.170"]];
    assert!(send(&reader, "USD", &retyped).await.unwrap_err().contains("was in EUR"));
    let html = send(&reader, "USD", &[["GBP", "", "1.17"]]).await.unwrap_err();
    let question = "The rate of GBP, 1.17, was in EUR: with USD as base currency, it must be what 1 GBP is worth in USD.";
    assert!(html.contains(question), "{html}");
    assert_eq!(stored(&server).await, before);
    // Who checked the rates did so for that base currency alone.
    let answered = values(&html, "checked").concat();
    assert_eq!(answered, "USD");
    let shown = values(&html, "shown").concat().replace("&quot;", "\"");
    let send_checked = async |base: &str| {
        let line = [("currency", "GBP"), ("from", ""), ("rate", "1.17")];
        let sent = [("base", base), ("shown", shown.as_str()), ("checked", answered.as_str())];
        reader.submit(PATH, &[&sent[..], &line].concat()).await.status
    };
    assert_eq!(send_checked("CHF").await, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(send_checked("USD").await, StatusCode::SEE_OTHER);
    assert_eq!(stored(&server).await, json!({"base": "USD", "rates": {"GBP": 1.17}}));
    // Rates that are new are not asked about.
    send(&reader, "EUR", &[["GBP", "", "1.18"]]).await.unwrap();
}

//! Revenue reports as pictures: each can be read as XML, and is legible alone.

use hyper::{Method, StatusCode};
use serde_json::json;
use svctrack_tests::{browser::Browser, client::Client, in_process::InProcess};

use super::reports::{put, server, store_twelve};

/// The texts of a picture that can be read as XML.
async fn picture(client: &Client, path: &str) -> Vec<String> {
    let accept = [("accept", "image/svg+xml")];
    let response = client.send(Method::GET, path, &accept, "").await.unwrap();
    assert_eq!(
        (response.status, &response.headers["content-type"]),
        (StatusCode::OK, &"image/svg+xml".parse().unwrap())
    );
    assert_eq!(response.headers["content-security-policy"], "default-src 'none'; sandbox");
    let document = roxmltree::Document::parse(response.text()).unwrap();
    assert!(document.root_element().attribute("role") == Some("img"), "{path}");
    let names: Vec<&str> = document.descendants().map(|node| node.tag_name().name()).collect();
    assert!(!names.contains(&"script") && !names.contains(&"b"), "{path}");
    let texts = document.descendants().filter(|node| node.is_text());
    let texts = texts.filter_map(|node| Some(node.text()?.trim().to_owned()));
    texts.filter(|text| !text.is_empty()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_report_is_a_picture_that_is_legible_alone() {
    let server = server().await;
    let client = &server.client;
    store_twelve(client).await;
    put(client, "/companies/extid-Dune", &json!({"name": "<b>Dune</b> & \"co\"<script>"})).await;
    for (path, title, labels) in [
        (
            "mrr?from=2024-01-01&to=2024-08-01",
            "MRR and its movements, EUR, UTC",
            &["2024-01", "expansion", "churn", "MRR"][..],
        ),
        (
            "retention?from=2024-01-01&to=2024-08-01",
            "Retention of the year before, percent of EUR, UTC",
            &["2024-07", "NRR", "GRR"],
        ),
        (
            "retention?part=cohorts&interval=quarter",
            "Share that cohorts keep, percent of EUR, UTC",
            &["2024-Q1"],
        ),
        (
            "renewals?from=2024-01-01&to=2024-08-01",
            "MRR of licenses that end, EUR, UTC",
            &["2024-02", "renewed", "overdue"],
        ),
        (
            "forecast",
            "MRR to come, in scenarios, EUR, UTC",
            &["2024-08", "confirmed", "optimistic"],
        ),
        ("customers", "MRR at stake, EUR, UTC", &["Acorn", "<b>Dune</b> & \"co\"<script>"]),
        (
            "usage?from=2024-01-01&to=2024-08-01",
            "Active users, UTC",
            &["2024-01", "new", "dormant", "28 days"],
        ),
        (
            "usage?from=2024-01-01&to=2024-02-01&part=cohorts",
            "Users active by weeks since their first, in percent, UTC",
            &["2024-W01", "all"],
        ),
        ("usage?part=actions", "Activities by action, UTC", &["activities"]),
        ("usage?explain=active", "Activities of users, active", &["activities"]),
        ("mrr?explain=end", "end by company, EUR", &["end"]),
        ("forecast?explain=confirmed", "confirmed by company, EUR", &["confirmed"]),
        ("renewals?explain=base", "base by company, EUR", &["base"]),
    ] {
        let texts = picture(client, &format!("/reports/{path}")).await;
        // As its title for machines, and for people.
        assert_eq!(texts.iter().filter(|text| *text == title).count(), 2, "{path}: {texts:?}");
        for label in labels {
            assert!(texts.iter().any(|text| text == label), "{path} has no {label}: {texts:?}");
        }
        let sign = if path.contains('?') { '&' } else { '?' };
        let texts = picture(client, &format!("/reports/{path}{sign}width=narrow")).await.join(" ");
        assert_eq!(texts.matches(title).count(), 2, "{path}: {texts}");
    }
    let form = async |path: &str| {
        let accept = [("accept", "image/svg+xml")];
        client.send(Method::GET, path, &accept, "").await.unwrap().text().to_owned()
    };
    assert_ne!(form("/reports/mrr?theme=dark").await, form("/reports/mrr?theme=light").await);
    let empty = InProcess::start().await;
    for path in ["mrr", "customers", "customers?width=narrow", "usage?part=actions"] {
        let nothing = picture(&empty.client, &format!("/reports/{path}")).await;
        assert!(nothing.iter().any(|text| text == "no data"), "{path}: {nothing:?}");
    }
}

/// Widens the texts of a picture to those of a font in which they are `wider` than in Roboto, whose text of this one is
/// 155 pixels wide.
const IN_A_FONT: &str = r"
    document.body.style.margin = 0;
    const sample = document.createElementNS('http://www.w3.org/2000/svg', 'text');
    sample.textContent = '0123456789 reactivation';
    sample.setAttribute('font-size', 14);
    sample.setAttribute('font-family', document.querySelector('text').getAttribute('font-family'));
    document.querySelector('svg').append(sample);
    const wider = FACTOR * 155 / sample.getComputedTextLength();
    sample.remove();
    for (const text of document.querySelectorAll('text')) {
        text.setAttribute('textLength', text.getComputedTextLength() * wider);
        text.setAttribute('lengthAdjust', 'spacingAndGlyphs');
    }
";

/// Flaws of a picture in a page: clipped shapes, and texts that cover each other, or the mark of another one in the
/// legend, by more than a pixel. The box of a text is higher than its letters.
const FLAWS: &str = r"
    const frame = document.querySelector('svg').getBoundingClientRect();
    const name = (node) => node.textContent.trim() || node.outerHTML.slice(0, 90);
    const shapes = [...document.querySelectorAll('svg :is(text, rect, circle, line, path, polyline)')];
    const isOut = (box) => box.left < frame.left - 1 || box.right > frame.right + 1
        || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
    const flaws = shapes.filter((node) => isOut(node.getBoundingClientRect()))
        .map((node) => 'cut off: ' + name(node));
    const texts = shapes.filter((node) => node.tagName === 'text' && node.textContent.trim());
    const boxes = texts.map((node) => {
        const box = node.getBoundingClientRect(), inset = box.height / 5;
        return [box.left, box.top + inset, box.right, box.bottom - inset];
    });
    boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b, j) => {
        const width = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
        const height = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
        if (width > 1 && height > 1) flaws.push(name(texts[i]) + ' covers ' + name(texts[i + 1 + j]));
    }));
    const marks = shapes.filter((node) => ['rect', 'line'].includes(node.tagName)
        && Math.abs(node.getBoundingClientRect().width - 25) < 3);
    boxes.forEach((a, i) => marks.forEach((mark) => {
        const b = mark.getBoundingClientRect();
        const width = Math.min(a[2], b.right) - Math.max(a[0], b.left);
        if (width > 1 && a[1] < b.bottom && b.top < a[3]) flaws.push(name(texts[i]) + ' covers a mark');
    }));
    return flaws;
";

#[tokio::test(flavor = "multi_thread")]
async fn pictures_are_drawn_whole_and_none_of_their_texts_covers_another_in_any_font() {
    // As wide as Roboto, and as the widest font that pictures are laid out for.
    let fonts = ["1", "1.3"];
    let widths = [("wide", "960"), ("narrow", "360")];
    let server = server().await;
    let client = &server.client;
    store_twelve(client).await;
    let long = "Österreichische Gesellschaft für Wasserwirtschaft und Umwelttechnik mbH & Co. KG";
    put(client, "/companies/extid-Dune", &json!({"name": long})).await;
    let trial = json!({"companyId": "extid-Acorn", "_currency": "EUR", "fromDate": "2024-01-01"});
    assert_eq!(client.post("/licenses", &trial).await.status, StatusCode::OK);
    let browser = Browser::start().await;
    browser.page.goto("data:text/html,<body>").await.unwrap();
    let mut found = Vec::new();
    for rates in [json!({"USD": 0.9}), json!({"SEK": 0.1})] {
        put(client, "/settings", &json!({"currencies": {"base": "EUR", "rates": rates}})).await;
        for path in [
            "mrr?from=2024-01-01&to=2024-08-01",
            "mrr?from=2024-01-01&to=2024-08-01&by=phase&theme=dark",
            "mrr?from=2020-01-01&to=2024-08-01",
            "mrr?from=2024-06-01&to=2024-08-01&interval=day",
            "retention?from=2024-01-01&to=2024-08-01",
            "retention?part=cohorts&from=2022-01-01&to=2024-08-01",
            "renewals?from=2024-01-01&to=2024-08-01",
            "forecast",
            "customers",
            "usage?from=2024-01-01&to=2024-08-01",
            "usage?part=cohorts&from=2024-01-01&to=2024-08-01",
            "mrr?from=2024-01-01&to=2024-08-01&explain=end&currency=EUR",
            "renewals?from=2024-01-01&to=2024-08-01&explain=base&currency=EUR",
            "mrr?companyId=extid-Elm&from=2024-04-01",
        ] {
            for (width, pixels) in widths {
                let accept = [("accept", "image/svg+xml")];
                let sign = if path.contains('?') { '&' } else { '?' };
                let path = format!("/reports/{path}{sign}width={width}");
                let response = client.send(Method::GET, &path, &accept, "").await.unwrap();
                assert_eq!(response.status, StatusCode::OK, "{path}: {}", response.text());
                let size = format!("<svg width=\"{pixels}\"");
                assert!(response.text().starts_with(&size), "{path}: {:.80}", response.text());
                let svg = json!(response.text());
                for font in fonts {
                    let widened = IN_A_FONT.replace("FACTOR", font);
                    let script = format!("document.body.innerHTML = {svg};{widened}{FLAWS}");
                    let flaws = browser.run(&script).await;
                    let flaws = flaws.as_array().unwrap().iter();
                    found.extend(flaws.map(|flaw| format!("{path}, {rates}, {font}: {flaw}")));
                }
            }
        }
    }
    browser.close().await;
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn movements_are_drawn_on_an_axis_of_their_own_below_the_mrr() {
    let server = server().await;
    let client = &server.client;
    store_twelve(client).await;
    // The MRR is a hundred times as large as what moves.
    let large = json!({"companyId": "extid-Acorn", "_currency": "EUR", "mrr": 400_000,
        "fromDate": "2023-01-01"});
    assert_eq!(client.post("/licenses", &large).await.status, StatusCode::OK);
    let accept = [("accept", "image/svg+xml")];
    for width in ["wide", "narrow"] {
        let path = format!("/reports/mrr?from=2024-01-01&to=2024-08-01&width={width}");
        let response = client.send(Method::GET, &path, &accept, "").await.unwrap();
        let document = roxmltree::Document::parse(response.text()).unwrap();
        let size = |node: roxmltree::Node<'_, '_>, name| -> f32 {
            node.attribute(name).unwrap_or("0").parse().unwrap()
        };
        let panels = document.root_element().children().filter(|node| node.has_tag_name("svg"));
        let [mrr, movements] = panels.collect::<Vec<_>>()[..] else {
            panic!("{path} has not two panels: {}", response.text());
        };
        // On the same axis of time.
        assert_eq!(
            ["x", "width"].map(|it| size(mrr, it)),
            ["x", "width"].map(|it| size(movements, it))
        );
        assert!(size(mrr, "y") + size(mrr, "height") < size(movements, "y"), "{path}");
        let highest = |panel: roxmltree::Node<'_, '_>| -> f32 {
            let bars = panel.descendants().filter(|node| node.has_tag_name("rect"));
            bars.map(|bar| size(bar, "height")).fold(0.0, f32::max)
        };
        assert!(highest(mrr) == 0.0, "{path}");
        assert!(highest(movements) > size(movements, "height") / 5.0, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn intervals_that_are_not_over_are_lighter_or_dashed_and_named() {
    let server = server().await;
    let client = &server.client;
    store_twelve(client).await;
    // The present is 1 August 2024.
    for (path, name) in [
        ("mrr?from=2024-01-01&to=2024-08-01", None),
        ("mrr?from=2024-01-01&to=2024-09-01", Some("in progress")),
        ("mrr?from=2024-01-01&to=2024-08-10", Some("in progress")),
        ("mrr?from=2024-01-01&to=2024-10-01", Some("in progress or to come")),
        ("mrr?from=2024-09-01&to=2024-12-01", Some("to come")),
        ("retention?from=2024-01-01&to=2024-09-01", Some("in progress")),
        ("retention?part=cohorts&from=2024-01-01&to=2024-09-01", Some("in progress")),
        ("usage?from=2024-01-01&to=2024-09-01", Some("in progress")),
        ("usage?from=2024-01-01&to=2024-08-01", None),
        ("renewals", None),
        ("customers", None),
    ] {
        let texts = picture(client, &format!("/reports/{path}")).await;
        let names = ["in progress", "in progress or to come", "to come"];
        let found = texts.iter().find(|text| names.contains(&text.as_str()));
        assert_eq!(found.map(String::as_str), name, "{path}: {texts:?}");
        let accept = [("accept", "image/svg+xml")];
        let path = format!("/reports/{path}");
        let response = client.send(Method::GET, &path, &accept, "").await.unwrap();
        let is_marked = ["fill-opacity", "stroke-dasharray"].map(|it| response.text().contains(it));
        let expect = match name {
            Some(_) if path.contains("retention") => [false, true],
            Some(_) => [true, true],
            None => [false, false],
        };
        assert_eq!(is_marked, expect, "{path}: {}", response.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_notes_what_it_leaves_out_and_names_companies() {
    let server = server().await;
    let client = &server.client;
    store_twelve(client).await;
    let trial = json!({"companyId": "extid-Acorn", "_currency": "EUR", "fromDate": "2024-01-01"});
    assert_eq!(client.post("/licenses", &trial).await.status, StatusCode::OK);
    let rates = json!({"currencies": {"base": "EUR", "rates": {"SEK": 0.1}}});
    put(client, "/settings", &rates).await;
    let texts = picture(client, "/reports/mrr?from=2024-01-01&to=2024-08-01&by=phase").await;
    let note =
        "no rate for USD; 1 license excluded; only one currency is drawn; all segments together";
    assert!(texts.iter().any(|text| text == note), "{texts:?}");
    // Customers are ranked by what is at stake in all currencies with a rate.
    let texts = picture(client, "/reports/customers").await;
    assert!(texts.iter().any(|text| text == "no rate for USD; 1 license excluded"), "{texts:?}");
    let explained = "/reports/mrr?from=2024-01-01&to=2024-08-01&explain=start&currency=EUR";
    let texts = picture(client, explained).await;
    for name in ["Acorn", "Dune", "Elm"] {
        assert!(texts.iter().any(|text| text == name), "{texts:?}");
    }
    let accept = [("accept", "image/svg+xml")];
    let response = client.send(Method::GET, explained, &accept, "").await.unwrap();
    let document = roxmltree::Document::parse(response.text()).unwrap();
    let fonts = document.descendants().filter_map(|node| node.attribute("font-family"));
    let fonts: Vec<&str> = fonts.collect();
    assert!(
        !fonts.is_empty() && fonts.iter().all(|font| font.ends_with(", sans-serif")),
        "{fonts:?}"
    );
    // For programs as well.
    let json = client.get(explained).await.json();
    assert_eq!(json["companies"][0]["name"], "Acorn");
}

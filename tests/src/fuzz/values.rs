//! Values as callers send them: JSON, ids, dates, HTML, queries, forms, events, and headers of proxies.

use futures_util::FutureExt as _;
use poem::http::{HeaderMap, HeaderName, HeaderValue, header};
use serde_json::value::RawValue;
use svctrack_core::{
    plan::check_form,
    resources::REGISTRY,
    schema::ListQuery,
    tracking::{activity_query::ActivityQuery, bulk, pipeline, realtime},
    value::{
        Day, Document, Number, NumberSortKey, ObjectId, RecordRef, TenantId, Timestamp, Zone,
        email,
        html::plain_text,
        json_reader::parse_stored,
        json_rows::{Envelope, JsonRow, JsonRows},
        period::add_length,
    },
};
use svctrack_server::{
    auth::Token,
    proxies::{
        Proxies, read_proxy_header,
        settings::{ClientAddressFrom, ProxyConfig},
    },
};

/// Characters of a preview.
const PREVIEW_CHARS: usize = 20;
/// When events are received.
const NOW: &str = "2026-11-20T12:00:00Z";

/// JSON that is accepted is JSON for another reader too, and is read back as it was.
pub(super) fn check_json(input: &[u8]) -> bool {
    let Ok(document) = Document::parse(input) else { return false };
    let others = serde_json::from_slice::<&RawValue>(input);
    assert!(others.is_ok(), "it is no JSON: {others:?}");
    let text = document.to_text();
    assert_eq!(Document::parse(text.as_bytes()).as_ref(), Ok(&document));
    assert_eq!(parse_stored(text.as_bytes()).as_ref(), Ok(&document));
    for (name, value) in document.iter() {
        assert_eq!(document.get(name), Some(value), "{name}");
        if let Some(number) = value.as_number_text() {
            // However it is written.
            let place = NumberSortKey::from_text(number);
            if !number.contains(['e', 'E']) {
                assert_eq!(NumberSortKey::from_text(&format!("{number}e0")), place);
            }
            check_number(number);
        }
    }
    true
}

/// Ids are written as they were read.
pub(super) fn check_ids(input: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(input) else { return false };
    let same = |written: String| assert_eq!(written, text);
    let id = ObjectId::parse(text).map(|id| same(id.to_string()));
    let reference = RecordRef::parse(text).map(|reference| same(reference.to_string()));
    let token = Token::parse(text).map(|token| same(token.reveal().to_owned()));
    let tenant = TenantId::parse(text);
    let tenant = tenant.map(|tenant| assert_eq!(tenant.to_string(), text.to_ascii_lowercase()));
    if email::is_usable(text) {
        assert_eq!(email::folded(&email::folded(text)), email::folded(text));
        email::company_domain(text);
    }
    [id, reference, token, tenant].iter().any(Option::is_some)
}

/// A date, a number and a time zone, each on its line: what is written is read back, and a period ends after its begin.
pub(super) fn check_dates(input: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(input) else { return false };
    let mut lines = text.lines();
    let mut next = || lines.next().unwrap_or_default();
    let (date, number, zone) = (next(), next(), next());
    if let Some(day) = Day::parse(date) {
        assert_eq!(day.to_string(), date);
        assert!(day.begin(Zone::UTC).is_none_or(|begin| Day::at(begin, Zone::UTC) == day));
    }
    let (time, zone) = (Timestamp::parse(date), Zone::parse(zone));
    if let Some(time) = time {
        assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
        assert_eq!(Timestamp::from_ms(time.as_ms()), Some(time));
    }
    let number = check_number(number);
    if let (Some(time), Some(number), Some(zone)) = (time, number, zone) {
        let day = Day::at(time, zone);
        // East of Greenwich the year 10000 begins before the last moment.
        let is_beyond = day.to_string().starts_with("+10000");
        assert!(is_beyond || Day::parse(&day.to_string()) == Some(day), "{day}");
        add_length(time, number.as_decimal(), zone);
    }
    time.is_some() && number.is_some() && zone.is_some()
}

/// A number is read back.
fn check_number(text: &str) -> Option<Number> {
    let number = Number::parse(text)?;
    assert_eq!(Number::parse(&number.to_string()), Some(number), "{text}");
    Some(number)
}

/// A preview is no longer than requested, has no markup blanks, and is the beginning of a longer one.
pub(super) fn check_html(input: &[u8]) -> bool {
    let html = String::from_utf8_lossy(input);
    let (short, long) = (plain_text(&html, PREVIEW_CHARS), plain_text(&html, usize::MAX));
    assert!(short.chars().count() <= PREVIEW_CHARS, "{short:?}");
    assert!(long.starts_with(&short), "{short:?} {long:?}");
    assert!(long.len() <= 4 * html.len() + 4, "{} bytes of {}", long.len(), html.len());
    for shown in [&short, &long] {
        assert_eq!(shown.trim(), shown);
        assert!(!shown.contains("  ") && !shown.contains('\n'), "{shown:?}");
    }
    !long.is_empty()
}

fn pairs_of(input: &[u8]) -> Vec<(String, String)> {
    url::form_urlencoded::parse(input).into_owned().collect()
}

/// A query that is accepted keeps the limits, and a page of it holds what matches it.
pub(super) fn check_queries(input: &[u8]) -> bool {
    let pairs = pairs_of(input);
    let record = br#"{"_id":"6790f0d2a1b2c3d4e5f60718","name":"Acme","mrr":12.5,"custom":{"a":[1]},"tags":["x"]}"#;
    let mut is_accepted = ActivityQuery::parse(&pairs).is_ok();
    for def in REGISTRY {
        let Ok(read) = ListQuery::parse(def, &pairs) else { continue };
        let query = read.query;
        assert!(query.limit <= def.list.max, "{}", query.limit);
        let record = Document::parse(record).unwrap();
        let matches = query.matches(def, &record);
        let page = query.page(def, vec![record]);
        assert_eq!(page.total, usize::from(matches), "{}", def.path);
        assert!(page.records.len() <= query.limit);
        is_accepted = true;
    }
    is_accepted
}

/// What a form sends is either rejected, or a record.
pub(super) fn check_forms(input: &[u8]) -> bool {
    let pairs = pairs_of(input);
    let issues = REGISTRY.iter().map(|def| check_form(def, &pairs, None));
    let is_complete = |issues: Vec<svctrack_core::value::ValidationError>| {
        assert!(issues.iter().all(|issue| !issue.code.is_empty() && !issue.message.is_empty()));
        issues.is_empty()
    };
    issues.map(is_complete).filter(|is_complete| *is_complete).count() > 0
}

/// Events on every route: one that is accepted has no fault, and rows are those that another reader finds.
pub(super) fn check_events(input: &[u8]) -> bool {
    let now = Timestamp::parse(NOW).unwrap();
    let mut accepted = 0;
    let mut take = |event: svctrack_core::tracking::Event| {
        assert_eq!(event.faults().next(), None);
        accepted += 1;
    };
    if let Ok(taken) = realtime::read(input, now) {
        take(taken.event);
    }
    for named in [None, Some("track"), Some("group")] {
        if let Ok(pipeline::ReadCall::Taken(taken)) =
            pipeline::read(input, named, &Document::default())
        {
            take(taken.event);
        }
    }
    if let Ok(rows) = JsonRows::check(input) {
        let others: Vec<&RawValue> = serde_json::from_slice(input).unwrap();
        let rows: Vec<JsonRow> = rows.collect();
        assert_eq!(rows.len(), others.len());
        for (row, other) in rows.into_iter().zip(others) {
            assert_eq!(row.bytes, other.get().len());
            if let Ok(taken) = bulk::read(row) {
                take(taken.event);
            }
        }
    }
    if let Ok(envelope) = Envelope::check(input, &["context"]) {
        for row in envelope.rows(input) {
            if let Ok(pipeline::ReadCall::Taken(taken)) = pipeline::read_row(row, &envelope.members)
            {
                take(taken.event);
            }
        }
    }
    accepted > 0
}

/// Whatever a client sends, the entry that its proxy adds names it.
pub(super) fn check_proxies(input: &[u8]) -> bool {
    let Ok(sent) = HeaderValue::from_bytes(input) else { return false };
    let x_forwarded_for = HeaderName::from_static("x-forwarded-for");
    let mut is_read = false;
    for (source, name, added) in [
        (ClientAddressFrom::XForwardedFor, x_forwarded_for, "2001:db8::7"),
        (ClientAddressFrom::Forwarded, header::FORWARDED, "for=\"[2001:db8::7]:80\";host=\"a,b\""),
    ] {
        let config = ProxyConfig { client_address_from: source, ..ProxyConfig::default() };
        let proxies = Proxies::from(config);
        let peer = "127.0.0.1".parse().unwrap();
        let client = |lines: &[&[u8]]| {
            let line = |line: &&[u8]| (name.clone(), HeaderValue::from_bytes(line).unwrap());
            proxies.client_of(peer, &lines.iter().map(line).collect::<HeaderMap>())
        };
        let appended = [sent.as_bytes(), b", ", added.as_bytes()].concat();
        for lines in [&[&appended[..]][..], &[sent.as_bytes(), added.as_bytes()]] {
            assert_eq!(client(lines).to_string(), "2001:db8::7", "{lines:?}");
        }
        is_read |= client(&[sent.as_bytes()]) != peer;
    }
    is_read
}

/// A header is read to its end, and what comes after it changes nothing.
pub(super) fn check_proxy_protocol(input: &[u8]) -> bool {
    let mut left = input;
    let Some(Ok(client)) = read_proxy_header(&mut left).now_or_never() else { return false };
    let header = &input[..input.len() - left.len()];
    let sent = [header, b"GET / HTTP/1.1"].concat();
    let mut left = &*sent;
    assert_eq!(read_proxy_header(&mut left).now_or_never().unwrap().unwrap(), client);
    assert_eq!(left, b"GET / HTTP/1.1");
    let mut cut = &header[..header.len() - 1];
    assert!(read_proxy_header(&mut cut).now_or_never().unwrap().is_err());
    true
}

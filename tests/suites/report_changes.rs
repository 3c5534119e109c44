//! Reports follow every change at once: after each one they equal a report that is computed again.

use std::collections::BTreeMap;

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_core::{
    revenue::{
        CustomerUsage, Ledger, LicenseFacts, ReportKind, ReportQuery, ReportSources, report,
    },
    value::{Document, Timestamp, Zone},
};
use svctrack_tests::client::Client;

use super::reports::{NOW, at, put, send, server};

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn license(&mut self) -> Value {
        let day = |random: &mut Self| 19_600 + random.below(500);
        let date = |day: u64| {
            Timestamp::from_ms_clamped(i64::try_from(day).unwrap() * 86_400_000).to_string()
        };
        let from = day(self);
        let mut one_of = |words: [&'static str; 3]| words[usize::try_from(self.below(3)).unwrap()];
        let currency = one_of(["EUR", "USD", "JPY"]);
        let product = one_of(["Suite", "Addon", "Suite"]);
        let status = one_of(["ongoing", "renewed", "lost"]);
        let mut license = json!({
            "companyId": format!("extid-{}", self.below(4)), "fromDate": date(from),
            "_currency": currency,
            "product": product,
            "renewalStatus": status,
            "mrr": 10 * (1 + self.below(90)), "fixedPeriod": true, "toDate": date(from + 20 + self.below(400)),
        });
        if self.below(8) == 0 {
            license["mrr"] = Value::Null;
        }
        if self.below(2) == 0 {
            license["autoRenews"] = true.into();
            license["noticePeriod"] = (1 + self.below(9)).into();
            license["noticeUnit"] =
                ["day", "week", "month"][usize::try_from(self.below(3)).unwrap()].into();
        }
        for name in ["renewalMrr", "fcNewMrr", "fcNewMrrOptimistic", "fcNewMrrPessimistic"] {
            if self.below(3) == 0 {
                license[name] = (10 * self.below(90)).into();
            }
        }
        if self.below(3) == 0 {
            license["parent"] = "000000000000000000000001".into();
        }
        license
    }
}

/// A report as core computes it from the licenses that the API lists.
async fn fresh(client: &Client, kind: ReportKind, query: &str, zone: Zone) -> Value {
    let listed = client.get("/licenses?limit=1000").await.json();
    let text = |license: &Value, name: &str| license[name].as_str().unwrap().to_owned();
    let listed = listed.as_array().unwrap().iter();
    let names: BTreeMap<String, String> = listed
        .clone()
        .map(|license| (text(license, "companyId"), text(license, "companyName")))
        .collect();
    let documents: Vec<Document> =
        listed.map(|license| Document::parse(license.to_string().as_bytes()).unwrap()).collect();
    let facts = documents.iter().filter_map(|license| LicenseFacts::from_record(license, zone));
    let ledger = Ledger::new(facts).unwrap();
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let pairs: Vec<_> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let query = ReportQuery::parse(kind, &pairs).unwrap();
    let now = ledger.stable_range(at(NOW), zone).start;
    let sources = ReportSources {
        ledger: &ledger,
        later: None,
        company_filter: &|_| true,
        attributes_of: &|_| Vec::new(),
        name_of: &|company| names.get(&company.to_string()).cloned(),
        usage_of: &|_| CustomerUsage::default(),
        has_usage: false,
        closings_of: &|_| Vec::new(),
    };
    let options = query.options(now, zone, None, None).unwrap();
    serde_json::to_value(report(&query, &options, sources).unwrap()).unwrap()
}

/// After each change the report that follows it is that of a ledger that was never changed.
#[tokio::test(flavor = "multi_thread")]
async fn a_report_follows_every_change_as_if_all_was_read_again() {
    let server = server().await;
    let client = &server.client;
    let companies: Vec<Value> =
        (0..4).map(|id| json!({"name": id.to_string(), "externalId": id.to_string()})).collect();
    put(client, "/companies", &companies.into()).await;
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut licenses: BTreeMap<u64, String> = BTreeMap::new();
    let kinds = [
        (ReportKind::Mrr, "mrr", "view=activities&gapDays=5"),
        (ReportKind::Retention, "retention", "interval=quarter"),
        (
            ReportKind::Renewals,
            "renewals",
            "from=2023-07-01&to=2025-07-01&interval=quarter&by=notice",
        ),
        (ReportKind::Forecast, "forecast", "assumeRenewed=true"),
    ];
    let mut zone = Zone::UTC;
    for step in 0..60 {
        let known: Vec<u64> = licenses.keys().copied().collect();
        let any =
            |random: &mut Random| known.get(usize::try_from(random.below(40)).unwrap()).copied();
        match (random.below(10), any(&mut random)) {
            (0 | 1, Some(number)) => {
                let path = format!("/licenses/{}", licenses.remove(&number).unwrap());
                assert_eq!(
                    send(client, Method::DELETE, &path, &Value::Null).await.status,
                    StatusCode::OK
                );
            }
            (2..=4, Some(number)) => {
                put(client, &format!("/licenses/{}", licenses[&number]), &random.license()).await;
            }
            (5, _) => {
                let name = if random.below(2) == 0 { "UTC" } else { "Asia/Tokyo" };
                zone = Zone::parse(name).unwrap();
                put(client, "/settings", &json!({"timeZone": name})).await;
            }
            _ => {
                let made = client.post("/licenses", &random.license()).await;
                assert_eq!(made.status, StatusCode::OK, "{}", made.text());
                licenses.insert(step, made.json()["_id"].as_str().unwrap().to_owned());
            }
        }
        let (kind, path, query) = kinds[usize::try_from(step % 4).unwrap()];
        let found = client.get(&format!("/reports/{path}?{query}")).await.json();
        assert_eq!(found, fresh(client, kind, query, zone).await, "step {step}: {path}");
    }
}

//! Reports of many licenses, which two threads read in several runs each.

use svctrack_core::{
    resources::license::LICENSE,
    revenue::{Report, ReportKind, ReportQuery},
    schema::ResourceDef,
};

use super::*;
use crate::ReportJob;

/// More than three runs.
const LICENSES: usize = 1_700;

fn upsert(store: &Memory, def: &'static ResourceDef, items: Vec<String>) {
    let access = UpsertAccess { create: true, update: true };
    let items = items.iter().map(|text| Ok(document(text))).collect();
    let handling = UnknownMemberPolicy::Lenient;
    write(store, Command::Upsert { def, items, access, handling }).unwrap();
}

#[test]
fn each_license_counts_once() {
    let store = founded();
    write(&store, acme()).unwrap();
    let license = |number: usize| {
        format!(
            r#"{{"externalId":"l{number}","companyId":"extid-acme","product":"P","_currency":"EUR","fromDate":"2026-01-01","mrr":1}}"#
        )
    };
    upsert(&store, &LICENSE, (0..LICENSES).map(license).collect());
    let span = [("from", "2026-01-01"), ("to", "2026-02-01")];
    let span = span.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let job = ReportJob {
        query: ReportQuery::parse(ReportKind::Mrr, &span).unwrap(),
        key: String::new(),
        write: Arc::new(|report: &Report, _: &ReportQuery| {
            Ok(serde_json::to_string(report).unwrap())
        }),
    };
    let written = store.report(&actor().tenant, job).now_or_never().unwrap().unwrap();
    let report: serde_json::Value = serde_json::from_str(&written.text).unwrap();
    assert_eq!(report["converted"]["rows"][0]["end"], LICENSES, "{report}");
}

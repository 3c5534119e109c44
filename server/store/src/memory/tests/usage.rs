//! Reports of usage against the stored activities, whatever was tallied in between: over random events, moves of users
//! between companies, erasures and deletions.

use std::collections::BTreeMap;

use svctrack_core::{
    revenue::{Report, ReportKind, ReportQuery, UsageDays},
    usage::CountedActivity,
    value::{RecordRef, Zone, time::DAY_MS},
};

use super::*;
use crate::{
    ReportJob, rows,
    rules::usage::{self, TallyLimits},
};

const ZONES: [&str; 4] = ["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu"];
const USERS: u64 = 7;
const COMPANIES: u64 = 3;
/// Limits so low that runs are joined to the last level.
const FEW: TallyLimits = TallyLimits { activities: 5, runs: 2 };

/// Pseudorandom numbers, the same for a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn tracked(random: &mut Random) -> Command {
    let days = random.below(90);
    let date = store_time(SystemClock.now().as_ms() - i64::try_from(days).unwrap() * DAY_MS / 2);
    let user = random.below(USERS);
    let identity = Identity {
        external_id: Some(format!("u{user}")),
        company: Some(format!("c{}", user % COMPANIES)),
        ..Identity::default()
    };
    let event = Event {
        identity,
        action: Some(format!("action {}", random.below(4))),
        count: Some(u16::try_from(1 + random.below(3)).unwrap()),
        passive: random.below(5) == 0,
        date: Some(date),
        ..Event::default()
    };
    Command::Track(Tracking::without_findings(vec![event], SystemClock.now(), Route::Bulk))
}

fn store_time(ms: i64) -> Timestamp {
    Timestamp::from_ms_clamped(ms)
}

fn user(random: &mut Random) -> RecordRef {
    RecordRef::External(format!("u{}", random.below(USERS)))
}

fn step(store: &Memory, random: &mut Random) {
    let anything = || Precondition::Anything;
    let done = match random.below(100) {
        0..80 => write(store, tracked(random)),
        80..88 => {
            tally(store);
            return;
        }
        88..95 => {
            let text = format!(r#"{{"companyId":"extid-c{}"}}"#, random.below(COMPANIES));
            let (reference, body) = (user(random), CheckedBody::trusted(document(&text)));
            write(
                store,
                Command::Update { def: &END_USER, reference, body, precondition: anything() },
            )
        }
        95..98 => {
            write(store, Command::Erase { reference: user(random), precondition: anything() })
        }
        _ => {
            let reference = user(random);
            write(store, Command::Delete { def: &END_USER, reference, precondition: anything() })
        }
    };
    match done {
        Ok(_) | Err(StoreError::NotFound) => {}
        Err(error) => panic!("{error:?}"),
    }
    while let Ok(Reply::Swept(true)) = write(store, Command::Sweep) {}
    // An erased user may come back.
    let keys = (0..USERS).map(|user| ("externalId", format!("u{user}"))).collect();
    write(store, Command::Unsuppress(keys)).unwrap();
}

/// Tallies a few activities.
fn tally(store: &Memory) {
    let _writer = store.writer.lock();
    let before = store.latest.snapshot(closed).unwrap();
    let mut tables = before.begin(LookupCache::default()).unwrap();
    usage::tally(&mut tables, actor().tenant.id(), FEW).unwrap();
    store.latest.show(Some(before.after(tables).unwrap().0), &CommitScope::ANYTHING);
}

fn query(random: &mut Random) -> ReportQuery {
    let interval = ["day", "week", "month"][usize::try_from(random.below(3)).unwrap()];
    let zone = ZONES[usize::try_from(random.below(4)).unwrap()];
    let company = format!("extid-c{}", random.below(COMPANIES));
    let mut pairs = vec![("interval", interval), ("timeZone", zone)];
    if interval == "day" {
        pairs.push(("from", "2026-10-01"));
        pairs.push(("to", "2026-12-01"));
    }
    if random.below(2) == 0 {
        pairs.push(("companyId", &company));
    }
    let pairs: Vec<_> =
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    ReportQuery::parse(ReportKind::Usage, &pairs).unwrap()
}

fn json(report: &Report, _: &ReportQuery) -> Result<String, StoreError> {
    Ok(serde_json::to_string(report).unwrap())
}

/// The users of each company, by the list of users.
fn companies(store: &Memory) -> BTreeMap<ObjectId, ObjectId> {
    let query = ListQuery::parse(&END_USER, &[]).unwrap().query;
    let page = store.list(&actor().tenant, &END_USER, query, PageOptions::default());
    let page = page.now_or_never().unwrap().unwrap();
    let id = |item: &Document, name| ObjectId::parse(&item.text(name)?);
    let users = page.documents().into_iter();
    users.filter_map(|item| Some((id(&item, "_id")?, id(&item, "companyId")?))).collect()
}

/// The report of all activities that are listed.
fn expected(store: &Memory, query: &ReportQuery, now: Timestamp) -> String {
    let all = ActivityQuery::parse(&[("limit".to_owned(), "2000".to_owned())]).unwrap().query;
    let page = store.log(&actor().tenant, all.into(), PageOptions::default());
    let page = page.now_or_never().unwrap().unwrap();
    assert!(page.next.is_none());
    let companies = companies(store);
    let company = query.company().map(|reference| {
        let found = store.record(&actor().tenant, &COMPANY, reference).now_or_never().unwrap();
        found.unwrap().unwrap().id
    });
    let plan = UsageDays::from_query(query, &query.options(now, Zone::UTC, None, company).unwrap())
        .unwrap();
    let mut counting = plan.counting();
    for item in page.documents() {
        let text = |name| item.text(name).unwrap_or_default().into_owned();
        let user = ObjectId::parse(&text("endUserId")).unwrap();
        let is_of_company = company.is_none() || companies.get(&user).copied() == company;
        if item.get("passive").unwrap().text() == "false" && is_of_company {
            let [date, received_at] =
                ["date", "receivedAt"].map(|name| Timestamp::parse(&text(name)).unwrap());
            let count = item.get("count").unwrap().text().parse().unwrap();
            counting.add(&CountedActivity::new(user, &text("action"), count, date, received_at));
        }
    }
    let report = plan.report(&counting.finish(), &|user| companies.get(&user).copied());
    json(&Report::Usage(report.into()), query).unwrap()
}

#[test]
fn a_report_is_that_of_the_activities_that_are_there() {
    for seed in 0..12 {
        let (store, mut random) = (founded(), Random(seed));
        for company in 0..COMPANIES {
            let body = CheckedBody::trusted(document(&format!(
                r#"{{"name":"C","externalId":"c{company}"}}"#
            )));
            write(&store, Command::Create { def: &COMPANY, body }).unwrap();
        }
        for _ in 0..150 {
            step(&store, &mut random);
        }
        let state = store.latest.snapshot(closed).unwrap();
        assert!(state.open(rows::USAGE).unwrap().len().unwrap() > 1);
        for _ in 0..4 {
            let (query, now) = (query(&mut random), store.clock.now());
            let job = ReportJob { query, key: String::new(), write: Arc::new(json) };
            let found = crate::reads::usage::usage(&*state, actor().tenant.id(), &job, now);
            assert_eq!(&*found.unwrap().0.text, expected(&store, &job.query, now), "seed {seed}");
        }
    }
}

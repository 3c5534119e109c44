//! A cached report of usage equals the report that would be computed, whatever was written since, and however late it
//! is.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicI64, AtomicUsize, Ordering},
};

use svctrack_core::{
    resources::{license::LICENSE, ticket::TICKET},
    revenue::{Report, ReportKind, ReportQuery},
    schema::ResourceDef,
    value::{RecordRef, time::DAY_MS},
};

use super::*;
use crate::{ReportJob, WriteReport};

const USERS: u64 = 4;
const COMPANIES: u64 = 3;
const TICKETS: u64 = 5;
const HOUR_MS: u64 = 60 * 60 * 1_000;

/// A clock that moves only by hand.
struct ManualClock(AtomicI64);

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms_clamped(self.0.load(Ordering::Relaxed))
    }
}

/// Pseudorandom numbers, the same for a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

struct World {
    store: Memory,
    clock: Arc<ManualClock>,
    random: Random,
    /// Reports that were computed.
    computed: Arc<AtomicUsize>,
}

impl World {
    fn new(seed: u64) -> Self {
        let start = Timestamp::parse("2026-11-20T12:00:00Z").unwrap();
        let clock = Arc::new(ManualClock(AtomicI64::new(start.as_ms())));
        let store = founded_at(clock.clone());
        let world = Self { store, clock, random: Random(seed), computed: Arc::default() };
        for company in 0..COMPANIES {
            world.upsert(&COMPANY, &format!(r#"{{"name":"C","externalId":"c{company}"}}"#));
            world.upsert(
                &LICENSE,
                &format!(
                    r#"{{"externalId":"l{company}","companyId":"extid-c{company}","_currency":"EUR","mrr":10,"fromDate":"2026-01-01"}}"#
                ),
            );
        }
        world
    }

    fn upsert(&self, def: &'static ResourceDef, text: &str) {
        let access = UpsertAccess { create: true, update: true };
        let items = vec![Ok(document(text))];
        let handling = UnknownMemberPolicy::Lenient;
        write(&self.store, Command::Upsert { def, items, access, handling }).unwrap();
    }

    fn event(&mut self) -> Command {
        let user = self.random.below(USERS);
        let identity = Identity {
            external_id: Some(format!("u{user}")),
            company: Some(format!("c{}", user % COMPANIES)),
            ..Identity::default()
        };
        // Without an action it only identifies the user.
        let action = (self.random.below(2) == 0).then(|| "Opened report".to_owned());
        let passive = self.random.below(5) == 0;
        let days = i64::try_from(self.random.below(40)).unwrap();
        let date = Timestamp::from_ms_clamped(self.clock.now().as_ms() - days * DAY_MS);
        let event = Event { identity, action, passive, date: Some(date), ..Event::default() };
        Command::Track(Tracking::without_findings(vec![event], self.clock.now(), Route::Bulk))
    }

    fn step(&mut self) {
        let company = self.random.below(COMPANIES);
        let user = RecordRef::External(format!("u{}", self.random.below(USERS)));
        match self.random.below(20) {
            0..8 => {
                let event = self.event();
                write(&self.store, event).unwrap();
            }
            8..11 => {
                let (ticket, is_open) = (self.random.below(TICKETS), self.random.below(2) == 0);
                let status = if is_open { "open" } else { "closed" };
                let days = i64::try_from(self.random.below(9)).unwrap();
                let created = Timestamp::from_ms_clamped(self.clock.now().as_ms() - days * DAY_MS);
                self.upsert(
                    &TICKET,
                    &format!(
                        r#"{{"externalId":"t{ticket}","companyId":"extid-c{company}","subject":"S","status":"{status}","createDate":"{created}"}}"#
                    ),
                );
            }
            11 => self.upsert(&COMPANY, &format!(r#"{{"externalId":"c{company}","name":"D"}}"#)),
            12 => {
                let body = CheckedBody::trusted(document(&format!(
                    r#"{{"companyId":"extid-c{company}"}}"#
                )));
                let precondition = Precondition::Anything;
                let command =
                    Command::Update { def: &END_USER, reference: user, body, precondition };
                drop(write(&self.store, command));
            }
            13 => {
                let precondition = Precondition::Anything;
                drop(write(&self.store, Command::Erase { reference: user, precondition }));
                while let Ok(Reply::Swept(true)) = write(&self.store, Command::Sweep) {}
                let keys = (0..USERS).map(|user| ("externalId", format!("u{user}"))).collect();
                write(&self.store, Command::Unsuppress(keys)).unwrap();
            }
            14..18 => {
                let hours = self.random.below(30) * HOUR_MS + 1;
                self.clock.0.fetch_add(i64::try_from(hours).unwrap(), Ordering::Relaxed);
            }
            _ => {}
        }
    }

    /// A report for a key, but for the time at which it was computed.
    fn report(&self, kind: ReportKind, key: &str) -> String {
        self.report_of(None, kind, key)
    }

    fn report_of(&self, company: Option<&str>, kind: ReportKind, key: &str) -> String {
        let computed = self.computed.clone();
        let write: WriteReport = Arc::new(move |report: &Report, _: &ReportQuery| {
            computed.fetch_add(1, Ordering::Relaxed);
            Ok(serde_json::to_string(report).unwrap())
        });
        let pairs: Vec<_> =
            company.map(|id| ("companyId".to_owned(), id.to_owned())).into_iter().collect();
        let query = ReportQuery::parse(kind, &pairs).unwrap();
        let job = ReportJob { query, key: key.to_owned(), write };
        let written = self.store.report(&actor().tenant, job).now_or_never().unwrap().unwrap();
        let mut report = document(&written.text);
        report.remove("now");
        report.to_string()
    }
}

#[test]
fn a_report_that_is_returned_again_is_what_would_be_computed() {
    let mut returned = 0;
    for seed in 0..8 {
        let mut world = World::new(seed);
        for number in 0..60 {
            world.step();
            for kind in [ReportKind::Customers, ReportKind::Usage] {
                let before = world.computed.load(Ordering::Relaxed);
                let found = world.report(kind, &format!("{kind:?}"));
                returned += usize::from(world.computed.load(Ordering::Relaxed) == before);
                let expected = world.report(kind, &format!("{kind:?} {number}"));
                assert_eq!(found, expected, "seed {seed}, step {number}");
            }
        }
    }
    assert!(returned > 50, "only {returned} were returned again");
}

/// Usage in the lines of a report of customers, by company.
fn usage_in(report: &str) -> BTreeMap<String, String> {
    let report: serde_json::Value = serde_json::from_str(report).unwrap();
    let said = |row: &serde_json::Value| {
        let names = ["name", "lastActive", "activityState", "usersActive", "beats", "openTickets"];
        (row["company"].to_string(), names.map(|name| row[name].to_string()).join(" "))
    };
    report["rows"].as_array().unwrap().iter().map(said).collect()
}

#[test]
fn a_report_of_one_company_matches_that_of_all() {
    let mut said = BTreeSet::new();
    for seed in 0..4 {
        let mut world = World::new(seed);
        for number in 0..40 {
            world.step();
            let all = usage_in(&world.report(ReportKind::Customers, &number.to_string()));
            assert_eq!(all.len(), COMPANIES as usize);
            for (company, usage) in all {
                let id = company.trim_matches('"');
                let key = format!("{id} {number}");
                let one = world.report_of(Some(id), ReportKind::Customers, &key);
                assert_eq!(usage_in(&one), BTreeMap::from([(company, usage.clone())]));
                said.insert(usage);
            }
        }
    }
    assert!(said.len() > 20, "{said:?}");
}

#[test]
fn a_report_is_computed_once_while_other_tenants_write() {
    let mut world = World::new(0);
    let computed = |world: &World| world.computed.load(Ordering::Relaxed);
    let other = found(&world.store, 8);
    world.report(ReportKind::Customers, "a");
    let event = world.event();
    world.store.write(other, event).now_or_never().unwrap().unwrap();
    world.report(ReportKind::Customers, "a");
    assert_eq!(computed(&world), 1);
    let event = world.event();
    write(&world.store, event).unwrap();
    world.report(ReportKind::Customers, "a");
    assert_eq!(computed(&world), 2);
}

#[test]
fn whichever_access_fails_an_explanation_names_its_companies_or_is_an_error() {
    let world = World::new(0);
    let pairs = [("explain".to_owned(), "end".to_owned())];
    let query = ReportQuery::parse(ReportKind::Mrr, &pairs).unwrap();
    for accesses in 0.. {
        let write: WriteReport = Arc::new(|report, _| Ok(serde_json::to_string(report).unwrap()));
        let job = ReportJob { query: query.clone(), key: accesses.to_string(), write };
        world.store.faults().fail_after(accesses);
        let found = world.store.report(&actor().tenant, job).now_or_never().unwrap();
        world.store.faults().clear();
        let Ok(found) = found else { continue };
        let named = found.text.matches(r#""name":"C""#).count();
        assert_eq!(named, COMPANIES as usize, "{accesses}: {}", found.text);
        return;
    }
}

#[test]
fn of_reports_at_once_one_updates_the_ledger_for_all() {
    const AT_ONCE: usize = 4;
    let world = World::new(0);
    for mrr in 1..200 {
        let changed = format!(r#"{{"externalId":"l0","companyId":"extid-c0","mrr":{mrr}}}"#);
        world.upsert(&LICENSE, &changed);
        let state = world.store.latest.snapshot(closed).unwrap();
        let tenant = actor().tenant.id();
        let ledger = || world.store.ledgers.tenant_ledger(&*state, tenant).unwrap();
        let ledgers = std::thread::scope(|scope| {
            let others: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(ledger)).collect();
            others.into_iter().map(|other| other.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(ledgers.iter().all(|one| Arc::ptr_eq(one, &ledgers[0])), "after {mrr}");
    }
}

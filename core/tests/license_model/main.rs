//! License arithmetic against a model that is slow and obvious, and shares no code with `core`: fractions
//! instead of decimals, a calendar that is counted by hand. Random histories of licenses are planned with
//! `core`, through POST, bulk and PUT, in random time zones, with products whose defaults are used in random
//! parts, and every row that follows from others is compared.
//!
//! `SVCTRACK_LICENSE_HISTORIES` sets the number of histories, `SVCTRACK_LICENSE_SEED` the first of them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "tests may panic: that is how they fail"
)]

mod calendar;
mod company;
mod fraction;
mod histories;
mod restored;
mod rules;

use company::Known;
use histories::{History, Sent};
use rules::{License, Value, Values, World};
use svctrack_core::{
    plan::{
        self, Ctx, Planned, Rejection,
        memory::Memory,
        upsert::{self, UpsertAccess, UpsertOutcome},
    },
    resources::{
        company::COMPANY,
        license::LICENSE,
        product::PRODUCT,
        settings::{SETTINGS, SETTINGS_ID},
    },
    schema::{Lookup as _, ReadCtx, ResourceDef, UnknownMemberPolicy, checked_body},
    value::{Document, IdSequence, ObjectId, Timestamp},
};

/// Histories that are compared by default: some seconds without optimization.
const HISTORIES: u64 = 3_000;

/// Histories that are exported and imported by default.
const RESTORED: u64 = 1_000;

#[test]
fn a_license_of_any_history_is_the_same_after_an_export_and_an_import() {
    for seed in 1..=RESTORED {
        let mut history = History::new(seed);
        let mut tenant = Tenant::new(&mut history);
        for _ in 0..history.steps() {
            let sent = history.step(&tenant.licenses);
            tenant.carry_out(sent, &history).unwrap();
        }
        if seed % 10 == 0 {
            tenant.add_odd(history.now);
        }
        let mut other = Tenant::new(&mut history);
        if let Err(reason) = other.restore(&tenant, &history) {
            panic!("seed {seed}: {reason}\n{history:?}");
        }
    }
}

#[test]
fn licenses_match_a_slow_and_obvious_model() {
    let from_env = |name: &str, default: u64| {
        std::env::var(name).ok().map_or(default, |value| value.parse().unwrap())
    };
    let first = from_env("SVCTRACK_LICENSE_SEED", 1);
    for seed in first..first + from_env("SVCTRACK_LICENSE_HISTORIES", HISTORIES) {
        let mut history = History::new(seed);
        let mut tenant = Tenant::new(&mut history);
        for step in 0..history.steps() {
            let sent = history.step(&tenant.licenses);
            let sent_text = format!("{sent:?}");
            if let Err(reason) = tenant.carry_out(sent, &history) {
                panic!("seed {seed}, step {step}: {reason}\n{sent_text}\n{history:?}");
            }
        }
    }
}

/// State of a tenant in `core`, and in the model.
struct Tenant {
    store: Memory,
    ids: IdSequence,
    company: ObjectId,
    licenses: Vec<Known>,
}

fn text_of(values: &Values) -> String {
    let members: Vec<String> =
        values.iter().map(|(name, value)| format!("\"{name}\":{}", value.text())).collect();
    format!("{{{}}}", members.join(","))
}

fn document(text: &str) -> Document {
    Document::parse(text.as_bytes()).unwrap()
}

impl Tenant {
    fn new(history: &mut History) -> Self {
        let mut tenant = Self {
            store: Memory::default(),
            ids: IdSequence::new([1, 2, 3, 4, 5]),
            company: ObjectId::MIN,
            licenses: Vec::new(),
        };
        let now = history.now;
        let mut ctx = tenant.ctx(now);
        let changes = plan::settings(&tenant.store, &mut ctx).unwrap();
        tenant.store.apply(&changes);
        let settings = history.settings();
        tenant.update(&SETTINGS, SETTINGS_ID, &document(&settings), now).unwrap();
        tenant.company = tenant.create(&COMPANY, "{\"name\":\"Acme\"}", now).unwrap().id;
        for product in history.products.clone() {
            tenant.create(&PRODUCT, &text_of(&product), now).unwrap();
        }
        tenant
    }

    fn ctx(&self, now: i64) -> Ctx {
        Ctx::new(Timestamp::from_ms(now).unwrap(), self.ids.clone(), None)
    }

    fn create(
        &mut self,
        def: &'static ResourceDef,
        body: &str,
        now: i64,
    ) -> Result<Planned, Rejection> {
        let body = checked_body::check_create(def, &document(body));
        let mut ctx = self.ctx(now);
        let planned = plan::create(def, body, &self.store, &mut ctx)?;
        self.ids = ctx.ids;
        self.store.apply(&planned.changes);
        Ok(planned)
    }

    fn update(
        &mut self,
        def: &'static ResourceDef,
        id: ObjectId,
        body: &Document,
        now: i64,
    ) -> Result<Planned, Rejection> {
        let body = checked_body::check_update(def, body);
        let planned = plan::update(def, id, body, &self.store, &mut self.ctx(now))?;
        self.store.apply(&planned.changes);
        Ok(planned)
    }

    /// Id of the record that an item created or changed; an error where it was rejected.
    fn upsert(&mut self, body: &str, now: i64) -> Result<Option<ObjectId>, String> {
        let mut ctx = self.ctx(now);
        let access = UpsertAccess { create: true, update: true };
        let item = Ok(document(body));
        let done = upsert::upsert(
            &LICENSE,
            0,
            &item,
            access,
            UnknownMemberPolicy::Lenient,
            &self.store,
            &mut ctx,
        )
        .unwrap();
        self.ids = ctx.ids;
        self.store.apply(&done.changes);
        match done.outcome {
            UpsertOutcome::Created(id, _) => Ok(Some(id)),
            UpsertOutcome::Updated(_) | UpsertOutcome::Unchanged(_) => Ok(None),
            other => Err(format!("{other:?}")),
        }
    }

    fn shown(&self, def: &ResourceDef, id: ObjectId, now: i64) -> Document {
        let stored = self.store.record(def, id).unwrap().unwrap();
        let ctx = ReadCtx::new(Timestamp::from_ms(now).unwrap(), &self.store);
        plan::to_response(def, &stored, &ctx).unwrap()
    }

    fn carry_out(&mut self, sent: Sent, history: &History) -> Result<(), String> {
        let (now, world) = (history.now, history.world());
        match sent {
            Sent::Post(body) => {
                let done = self.create(&LICENSE, &self.body(&body), now);
                let done = done.map(|planned| planned.id).map_err(|error| format!("{error:?}"));
                self.note_created(done, License::create(&body, world))?;
            }
            Sent::BulkCreate(body) => {
                let priced = ["value", "mrr"].iter().any(|name| is_there(&body, name));
                let expected = License::create(&body, world)
                    .filter(|_| priced && is_there(&body, "_currency"));
                let done = self.upsert(&self.body(&body), now).map(|id| id.unwrap());
                self.note_created(done, expected)?;
            }
            Sent::Put(at, body) => {
                let id = ObjectId::parse(&self.licenses[at].0).unwrap();
                let done = self.update(&LICENSE, id, &document(&text_of(&body)), now);
                let done = done.map(drop).map_err(|error| format!("{error:?}"));
                self.note_updated(at, done, &body, world)?;
            }
            Sent::BulkUpdate(at, body) => {
                let id = &self.licenses[at].0;
                let text = text_of(&body).replacen('{', &format!("{{\"_id\":\"{id}\","), 1);
                let done = self.upsert(&text.replace(",}", "}"), now).map(drop);
                self.note_updated(at, done, &body, world)?;
            }
            Sent::PutBack(at, body) => {
                let id = ObjectId::parse(&self.licenses[at].0).unwrap();
                let mut whole = self.shown(&LICENSE, id, now);
                for (name, value) in document(&text_of(&body)).iter() {
                    whole.set(name, value.to_json());
                }
                let done = self.update(&LICENSE, id, &whole, now);
                if let (true, Ok(planned)) = (body.is_empty(), &done)
                    && !planned.changes.is_empty()
                {
                    return Err(format!("what was returned changes {}", whole.to_text()));
                }
                let done = done.map(drop).map_err(|error| format!("{error:?}"));
                let mut expected = self.licenses[at].1.shown.clone();
                expected.retain(|name, _| {
                    *name != "issues" && *name != "renewalDate" && *name != "toDateIncluded"
                });
                expected.extend(body);
                self.note_updated(at, done, &expected, world)?;
            }
        }
        self.compare(history)
    }

    fn body(&self, body: &Values) -> String {
        let company = format!("{{\"companyId\":\"{}\",", self.company);
        text_of(body).replacen('{', &company, 1).replace(",}", "}")
    }

    fn note_created(
        &mut self,
        done: Result<ObjectId, String>,
        expected: Option<License>,
    ) -> Result<(), String> {
        match (done, expected) {
            (Ok(id), Some(license)) => self.licenses.push((id.to_string(), license)),
            (Err(_), None) => {}
            (Ok(_), None) => return Err("was not refused".to_owned()),
            (Err(error), Some(_)) => return Err(format!("was refused: {error}")),
        }
        Ok(())
    }

    fn note_updated(
        &mut self,
        at: usize,
        done: Result<(), String>,
        body: &Values,
        world: World<'_>,
    ) -> Result<(), String> {
        match (done, self.licenses[at].1.update(body, world)) {
            (Ok(()), Some(license)) => self.licenses[at].1 = license,
            (Err(_), None) => {}
            (Ok(()), None) => return Err("was not refused".to_owned()),
            (Err(error), Some(_)) => return Err(format!("was refused: {error}")),
        }
        Ok(())
    }

    fn compare(&self, history: &History) -> Result<(), String> {
        let (world, rates) = (history.world(), history.rates());
        for known in &self.licenses {
            let id = ObjectId::parse(&known.0).unwrap();
            let expected = company::read(known, &self.licenses, rates, world);
            compare(&expected, &self.shown(&LICENSE, id, world.now))?;
        }
        let expected = company::figures(&self.licenses, rates, world);
        compare(&expected, &self.shown(&COMPANY, self.company, world.now))
    }
}

fn is_there(body: &Values, name: &str) -> bool {
    body.get(name).is_some_and(|value| *value != Value::Null)
}

fn compare(expected: &Values, shown: &Document) -> Result<(), String> {
    for (name, value) in expected {
        let found = shown.get(name).map_or("null", |found| found.text());
        let (expected, found) = match *name {
            "issues" => (value.text(), format!("\"{}\"", issues_in(shown))),
            _ => (value.text(), found.to_owned()),
        };
        if expected != found {
            return Err(format!("`{name}` is {found} and not {expected}: {}", shown.to_text()));
        }
    }
    Ok(())
}

/// Codes and fields of issues.
fn issues_in(shown: &Document) -> String {
    let issues = shown.value("issues").and_then(|issues| issues.items()).unwrap_or_default();
    let issues = issues.iter().map(|issue| {
        let issue = issue.as_ref().to_document().unwrap();
        format!("{} {}", issue.text("code").unwrap(), issue.text("field").unwrap())
    });
    issues.collect::<Vec<_>>().join(", ")
}

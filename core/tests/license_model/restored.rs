//! Licenses that come back from an export: in another store each is as it was, whatever its terms and however they were
//! set.

use std::collections::BTreeMap;

use svctrack_core::{
    plan::{
        self,
        upsert::{self, UpsertAccess, UpsertOutcome},
    },
    resources::license::LICENSE,
    schema::{BodyOrigin, ReadCtx, UnknownMemberPolicy, checked_body},
    value::{Document, IdSequence, Json, ObjectId, Timestamp},
};

use super::{History, Tenant, document};

/// Values that a store sets on a license, and references to other records.
const OF_THE_STORE: [&str; 6] = ["_id", "__v", "createdAt", "updatedAt", "companyId", "parent"];

/// Licenses that are odd but allowed: each with its creation, and a later change.
const ODD: [(&str, &str); 16] = [
    ("{}", "{}"),
    (r#"{"fromDate":"2026-01-01"}"#, r#"{"renewalStatus":"lost"}"#),
    (r#"{"fromDate":"2999-01-01","mrr":1}"#, r#"{"renewalStatus":"lost"}"#),
    (r#"{"fromDate":"9999-12-31T23:59:59.999Z","mrr":1}"#, r#"{"renewalStatus":"lost"}"#),
    (r#"{"renewalStatus":"lost","mrr":1}"#, r#"{"toDate":null}"#),
    (r#"{"renewalStatus":"lost","lostReason":"price","mrr":1}"#, r#"{"toDate":"9999-12-31"}"#),
    (r#"{"fixedPeriod":true,"mrr":0,"fromDate":"2026-01-01","toDate":"2027-01-01"}"#, "{}"),
    (r#"{"fixedPeriod":true,"mrr":-20,"fromDate":"2026-01-01","length":7.5}"#, "{}"),
    (
        r#"{"fixedPeriod":true,"value":9,"fromDate":"2026-01-01","toDate":"2026-01-01T00:00:30Z"}"#,
        "{}",
    ),
    (
        r#"{"fixedPeriod":true,"mrr":9,"fromDate":"2026-01-01","toDate":"2026-01-01T00:00:30Z"}"#,
        "{}",
    ),
    (
        r#"{"value":9,"fromDate":"2026-01-01","toDate":"2026-01-01T00:00:30Z"}"#,
        r#"{"renewalStatus":"lost"}"#,
    ),
    (r#"{"fixedPeriod":true,"mrr":1,"fromDate":"2026-01-01","toDate":"3100-01-01"}"#, "{}"),
    (r#"{"fixedPeriod":true,"mrr":1,"fromDate":"1970-01-01","toDate":"9998-12-31"}"#, "{}"),
    (r#"{"fixedPeriod":true,"mrr":1,"fromDate":"2026-01-01","toDate":"9999-12-31"}"#, "{}"),
    (
        r#"{"product":"Plan","renewalStatus":"renewed","autoRenews":false}"#,
        r#"{"mrr":null,"value":null}"#,
    ),
    (
        r#"{"fixedPeriod":true,"mrr":1e15,"fromDate":"2026-01-01","length":12}"#,
        r#"{"renewalMrr":5}"#,
    ),
];

/// Changes of terms and price, from which the others follow.
const CHANGES: [&str; 6] = [
    r#"{"fromDate":"2026-02-01"}"#,
    r#"{"fromDate":"2025-11-15"}"#,
    r#"{"length":18}"#,
    r#"{"length":null}"#,
    r#"{"mrr":77}"#,
    r#"{"value":1000}"#,
];
/// What a change must do alike. Other values that were sent may count as computed, where they are equal (D10).
const FOLLOWING: [&str; 3] = ["toDateDerived", "toDate", "renewalDate"];

impl Tenant {
    /// Creates and changes licenses that a random history seldom or never has.
    pub(super) fn add_odd(&mut self, now: i64) {
        let company = self.company;
        for (created, changed) in ODD {
            let mut body = document(created);
            body.set("companyId", Json::string(&company.to_string()));
            let made = self.create(&LICENSE, &body.to_text(), now).unwrap();
            self.update(&LICENSE, made.id, &document(changed), now).unwrap();
        }
    }

    /// The ids of all licenses.
    fn all(&self) -> Vec<ObjectId> {
        let ids = self.store.records(&LICENSE).map(|stored| stored.text("_id").unwrap());
        ids.map(|id| ObjectId::parse(&id).unwrap()).collect()
    }

    /// Imports the licenses of another store, and compares each with its earlier state.
    pub(super) fn restore(&mut self, from: &Self, history: &History) -> Result<(), String> {
        // The two stores have no id in common.
        self.ids = IdSequence::new([9; 5]);
        let now = history.now;
        let mut ids: BTreeMap<String, String> = BTreeMap::new();
        // Parents are named when all licenses exist; a third pass has nothing left to do.
        for pass in 0..3 {
            for id in from.all() {
                let mut row = from.shown(&LICENSE, id, now);
                row.set("companyId", Json::string(&self.company.to_string()));
                let parent = row.remove("parent").and_then(|parent| {
                    let sent = parent.as_ref().as_str()?.into_owned();
                    Some(Json::string(ids.get(&sent).unwrap_or(&sent)))
                });
                if let Some(parent) = parent.filter(|_| pass > 0) {
                    row.set("parent", parent);
                }
                let text = row.to_text();
                if let Some(known) = ids.get(&id.to_string()) {
                    row.set("_id", Json::string(known));
                }
                match (self.import(row, now), pass) {
                    (UpsertOutcome::Created(made, _), 0) => {
                        drop(ids.insert(id.to_string(), made.to_string()))
                    }
                    (UpsertOutcome::Updated(_), 1) | (UpsertOutcome::Unchanged(_), 1 | 2) => {}
                    (other, _) => return Err(format!("pass {pass}: {other:?} of {text}")),
                }
            }
        }
        for id in from.all() {
            let own = ObjectId::parse(&ids[&id.to_string()]).unwrap();
            let shown = [from.shown(&LICENSE, id, now), self.shown(&LICENSE, own, now)];
            let [was, is] = shown.map(|shown| without(shown, &OF_THE_STORE).to_text());
            if was != is {
                return Err(format!("it was {was}\nand is  {is}"));
            }
            for change in CHANGES {
                let [was, is] = [from.changed(id, change, now), self.changed(own, change, now)];
                if was != is {
                    return Err(format!("{change}: {was:?}\nand {is:?}"));
                }
            }
        }
        Ok(())
    }

    /// The license as it would be after a change; none where that is rejected.
    fn changed(&self, id: ObjectId, change: &str, now: i64) -> Option<Vec<Option<String>>> {
        let body = checked_body::check_update(&LICENSE, &document(change));
        let planned = plan::update(&LICENSE, id, body, &self.store, &mut self.ctx(now)).ok()?;
        let ctx = ReadCtx::new(Timestamp::from_ms(now).unwrap(), &self.store);
        let shown = plan::to_response(&LICENSE, &planned.document, &ctx).unwrap();
        let text = |name| Some(shown.value(name)?.text().to_owned());
        Some(FOLLOWING.map(text).to_vec())
    }

    fn import(&mut self, row: Document, now: i64) -> UpsertOutcome {
        let mut ctx = self.ctx(now);
        ctx.origin = BodyOrigin::Row;
        let access = UpsertAccess { create: true, update: true };
        let done = upsert::upsert(
            &LICENSE,
            0,
            &Ok(row),
            access,
            UnknownMemberPolicy::Lenient,
            &self.store,
            &mut ctx,
        );
        let done = done.unwrap();
        self.ids = ctx.ids;
        self.store.apply(&done.changes);
        done.outcome
    }
}

fn without(mut shown: Document, names: &[&str]) -> Document {
    names.iter().for_each(|name| drop(shown.remove(name)));
    shown
}

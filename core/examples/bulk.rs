//! Plans a bulk upsert over records that a program stores itself, in a `BTreeMap`: the rules only read, and return the
//! changes to apply.
#![expect(clippy::print_stdout, reason = "a program of its own, unlike the rules")]

use std::{collections::BTreeMap, process::ExitCode};

use svctrack_core::{
    plan::{
        Change, Ctx,
        upsert::{UpsertAccess, UpsertSummary, upsert},
    },
    resources::product::PRODUCT,
    schema::{Lookup, LookupError, ResourceDef, UnknownMemberPolicy, index},
    value::{Document, IdSequence, ObjectId, Timestamp, json_rows::JsonRows},
};

/// Products by their id; a lookup scans all of them.
#[derive(Default)]
struct Products(BTreeMap<ObjectId, Document>);

impl Lookup for Products {
    fn record(&self, _: &ResourceDef, id: ObjectId) -> Result<Option<Document>, LookupError> {
        Ok(self.0.get(&id).cloned())
    }

    fn holders(
        &self,
        def: &ResourceDef,
        row: &str,
        key: &str,
        limit: usize,
    ) -> Result<Vec<ObjectId>, LookupError> {
        let holds = |product: &Document| {
            index::entries(def, product).iter().any(|entry| entry.row == row && entry.key == key)
        };
        let holders = self.0.iter().filter(|(_, product)| holds(product));
        Ok(holders.map(|(id, _)| *id).take(limit).collect())
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(response) => {
            println!("{response}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<String, String> {
    let body = br#"[
        {"externalId": "plan", "name": "Plan", "mrr": 100},
        {"externalId": "plan", "mrr": 120},
        {"externalId": "nameless"}
    ]"#;
    let mut products = Products::default();
    let mut ctx = Ctx::new(Timestamp::MIN, IdSequence::new([0; 5]), None);
    let access = UpsertAccess { create: true, update: true };
    let mut summary = UpsertSummary::default();
    let rows = JsonRows::check(body).map_err(|error| error.message)?;
    let items: Vec<_> = rows.map(|row| row.members).collect();
    for (index, item) in items.iter().enumerate() {
        let upserted = upsert(
            &PRODUCT,
            index,
            item,
            access,
            UnknownMemberPolicy::Lenient,
            &products,
            &mut ctx,
        );
        let upserted = upserted.map_err(|error| error.to_string())?;
        for change in upserted.changes {
            if let Change::Put { id, document, .. } = change {
                products.0.insert(id, document);
            }
        }
        summary.add(upserted.outcome);
    }
    Ok(summary.into_response(&PRODUCT))
}

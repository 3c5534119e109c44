//! Records of an export (R51): each is restored as it was, and its computed values stay computed.

use super::{
    context::Ctx,
    record_update::{STAND_INS, fill},
    response::response_fields,
    unknown_properties::is_same,
};
use crate::{
    schema::{
        CheckedBody, FieldDef, Fill, FillCtx, Lookup, LookupError, ReadCtx, ResourceDef,
        checked_body::read_value,
    },
    value::{
        Document, Json, Timestamp, ValidationError,
        quoted::{quoted, quoted_list},
    },
};

/// When a record was created.
const CREATED_AT: &str = "createdAt";

/// Copies values that the service normally sets from an imported row into the body, unless the record has them already.
///
/// # Errors
/// If the store cannot be read.
pub(super) fn carry(
    def: &ResourceDef,
    sent: &Document,
    before: Option<&Document>,
    shaped: &mut CheckedBody,
    (lookup, ctx): (&dyn Lookup, &Ctx),
) -> Result<(), LookupError> {
    if !ctx.origin.is_import() {
        return Ok(());
    }
    // An import reports what it ignores without this.
    shaped.fixed = Document::default();
    if !ctx.origin.is_record() {
        return Ok(());
    }
    shaped.issues.extend(check_derived(def, sent).err());
    let is_carried = |field: &&FieldDef| {
        // A record that is there was created when it says.
        field.importable && !field.is_on_request() && (before.is_none() || field.name != CREATED_AT)
    };
    for field in def.fields.iter().filter(is_carried) {
        let Some(value) = sent.value(field.name) else { continue };
        let value = match read_value(field, value) {
            Ok(value) if field.name == CREATED_AT && is_ahead(&value, ctx.now) => {
                let message = format!("`{CREATED_AT}` must not be in the future");
                let issue = ValidationError::of_member(CREATED_AT, "invalid_value", message);
                shaped.issues.push(issue);
                continue;
            }
            Ok(value) => value,
            Err(issue) => {
                shaped.issues.push(issue);
                continue;
            }
        };
        let is_this = |other: &FieldDef| other.name == field.name;
        let shown = before
            .map(|before| response_fields(def, before, &is_this, &ReadCtx::new(ctx.now, lookup)));
        let shown = shown.transpose()?;
        let shown = shown.as_ref().and_then(|shown| shown.get(field.name));
        if !is_same(field, Some(value.as_ref()), shown) {
            shaped.patch.set(field.name, value);
        }
    }
    Ok(())
}

fn is_ahead(time: &Json, now: Timestamp) -> bool {
    time.as_ref().as_str().and_then(|time| Timestamp::parse(&time)).is_some_and(|time| time > now)
}

/// Whether a record already has all values of a body.
///
/// # Errors
/// If the store cannot be read.
pub(super) fn shows(
    def: &ResourceDef,
    stored: &Document,
    body: &Document,
    (lookup, ctx): (&dyn Lookup, &Ctx),
) -> Result<bool, LookupError> {
    let is_sent = |field: &FieldDef| body.get(field.name).is_some();
    let shown = response_fields(def, stored, &is_sent, &ReadCtx::new(ctx.now, lookup))?;
    Ok(body.iter().all(|(name, value)| {
        def.field(name).is_some_and(|field| is_same(field, Some(value), shown.get(name)))
    }))
}

/// Properties that a caller has set of a record: the others are computed to the same values. A record that does not say
/// which is which ([`Fill::Derived`]) has as few as possible of them.
pub(super) fn restored(
    def: &ResourceDef,
    sent: &Document,
    patch: Document,
    ctx: FillCtx,
) -> Document {
    let shown = |document: &Document| {
        let mut filled = fill(def, document.clone(), ctx);
        // These say how the others came about.
        let importable = def.fields.iter().filter(|field| field.importable).map(|field| field.name);
        importable.chain([STAND_INS]).for_each(|name| drop(filled.remove(name)));
        filled
    };
    let as_it_was = shown(&patch);
    let sets =
        without_derived(def, sent, &patch).into_iter().chain([minimal_patch(def, &patch, ctx)]);
    sets.into_iter().find(|set| shown(set) == as_it_was).unwrap_or(patch)
}

/// Rejects a record that names as derived what is never computed.
fn check_derived(def: &ResourceDef, sent: &Document) -> Result<(), ValidationError> {
    let Some(field) = def.fields.iter().find(|field| field.is_on_request()) else { return Ok(()) };
    let Some(value) = sent.value(field.name) else { return Ok(()) };
    let derived = read_value(field, value)?.as_ref().items().unwrap_or_default();
    let can_be_derived = |field: &&FieldDef| matches!(field.fill, Fill::IfAbsent(_));
    let known: Vec<_> = def.fields.iter().filter(can_be_derived).map(|field| field.name).collect();
    let mut names = derived.iter().filter_map(|name| name.as_ref().as_str());
    let Some(unknown) = names.find(|name| !known.contains(&&**name)) else { return Ok(()) };
    let (name, expected) = (field.name, quoted_list(&known));
    let message = format!("`{name}` must name some of {expected}; found {}", quoted(&unknown));
    Err(ValidationError::of_member(name, "invalid_value", message))
}

/// The properties that a record does not name as derived; none where it names none.
fn without_derived(def: &ResourceDef, sent: &Document, patch: &Document) -> Option<Document> {
    let field = def.fields.iter().find(|field| field.is_on_request())?;
    let derived = read_value(field, sent.value(field.name)?).ok()?.as_ref().items()?;
    let mut set = patch.clone();
    for name in derived.iter().filter_map(|name| name.as_ref().as_str()) {
        if def.field(&name).is_some_and(|field| matches!(field.fill, Fill::IfAbsent(_))) {
            set.remove(&name);
        }
    }
    Some(set)
}

/// The smallest set of properties from which the other ones are computed.
fn minimal_patch(def: &ResourceDef, patch: &Document, ctx: FillCtx) -> Document {
    let mut set = patch.clone();
    // Figures that were computed first, such as a monthly price, are those that others are derived from.
    for field in def.fields.iter().rev() {
        let Fill::IfAbsent(compute) = field.fill else { continue };
        let Some(value) = set.remove(field.name) else { continue };
        if compute(&set, ctx).as_ref() != Some(&value) {
            set.set(field.name, value);
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{
            memory::Memory,
            upsert::{UpsertAccess, UpsertOutcome, UpsertedItem, upsert},
        },
        resources::{
            company::COMPANY, end_user::END_USER, license::LICENSE, ticket::TICKET,
            timesheet::TIMESHEET, user::USER,
        },
        schema::{BodyOrigin, UnknownMemberPolicy},
        value::{IdSequence, ObjectId, Timestamp},
    };

    struct Store(Memory, Ctx);

    impl Store {
        fn new() -> Self {
            Self::at("2026-11-24")
        }

        fn at(now: &str) -> Self {
            let now = Timestamp::parse(now).unwrap();
            Self(Memory::default(), Ctx::new(now, IdSequence::new([0; 5]), None))
        }

        fn upsert(
            &mut self,
            origin: BodyOrigin,
            def: &'static ResourceDef,
            item: &str,
        ) -> UpsertedItem {
            let item = Document::parse(item.as_bytes());
            let access = UpsertAccess { create: true, update: true };
            self.1.origin = origin;
            let done =
                upsert(def, 0, &item, access, UnknownMemberPolicy::Lenient, &self.0, &mut self.1);
            let done = done.unwrap();
            self.0.apply(&done.changes);
            done
        }

        fn created(
            &mut self,
            origin: BodyOrigin,
            def: &'static ResourceDef,
            item: &str,
        ) -> ObjectId {
            match self.upsert(origin, def, item).outcome {
                UpsertOutcome::Created(id, _) => id,
                other => panic!("{other:?}"),
            }
        }

        fn all(&self, def: &'static ResourceDef, id: ObjectId) -> Document {
            let stored = self.0.record(def, id).unwrap().unwrap();
            response_fields(def, &stored, &|_| true, &ReadCtx::new(self.1.now, &self.0)).unwrap()
        }

        fn shown(&self, def: &'static ResourceDef, id: ObjectId, name: &str) -> Option<String> {
            self.all(def, id).value(name).map(|value| value.text().to_owned())
        }

        fn exported(&self, def: &'static ResourceDef, id: ObjectId) -> String {
            let mut all = self.all(def, id);
            all.remove("_id");
            all.to_text()
        }
    }

    #[test]
    fn a_date_of_the_service_comes_from_an_export_alone_whether_or_not_the_record_is_there() {
        let (sent, now) = (r#""2021-02-03T00:00:00.000Z""#, r#""2026-11-24T00:00:00.000Z""#);
        let ticket = r#""sourceId":"t","email":"ada@acme.example","domains":["acme.example"]"#;
        for (origin, more, expect) in [
            (BodyOrigin::Request, r#","__v":0"#, now),
            (BodyOrigin::Row, "", now),
            (BodyOrigin::Row, r#","__v":0"#, sent),
        ] {
            let row = format!(r#"{{{ticket},"updateDate":{sent}{more}}}"#);
            let mut store = Store::new();
            let id = store.created(origin, &TICKET, &row);
            assert_eq!(store.shown(&TICKET, id, "updateDate").as_deref(), Some(expect), "{row}");
            let mut store = Store::new();
            let id = store.created(BodyOrigin::Request, &TICKET, &format!("{{{ticket}}}"));
            store.upsert(origin, &TICKET, &row);
            assert_eq!(store.shown(&TICKET, id, "updateDate").as_deref(), Some(expect), "{row}");
        }
    }

    #[test]
    fn rows_of_an_import_are_found_by_all_that_is_unique_and_can_be_sent() {
        for (def, of_request, of_row) in [
            (&COMPANY, "_id sourceId externalId", "_id sourceId externalId"),
            (&TICKET, "_id sourceId", "_id sourceId"),
            (&TIMESHEET, "_id", "_id sourceId externalId"),
            (&USER, "_id sourceId externalId", "_id sourceId externalId email"),
        ] {
            let keys = |origin| def.keys_of(origin).collect::<Vec<_>>().join(" ");
            let found = [BodyOrigin::Request, BodyOrigin::Row, BodyOrigin::Record].map(keys);
            assert_eq!(found, [of_request, of_row, of_row], "{}", def.name);
        }
    }

    #[test]
    fn a_record_of_an_export_may_lack_what_is_required_of_a_person_alone() {
        for (def, item, is_created) in [
            (&TICKET, r#"{"sourceId":"t","__v":0}"#, true),
            (&TICKET, r#"{"sourceId":"t"}"#, false),
            (&TICKET, r#"{"__v":0}"#, false),
            (&TICKET, r#"{"sourceId":"t","email":5,"__v":0}"#, false),
            (&LICENSE, r#"{"mrr":1,"__v":0}"#, false),
        ] {
            let done = Store::new().upsert(BodyOrigin::Row, def, item);
            assert_eq!(matches!(done.outcome, UpsertOutcome::Created(..)), is_created, "{item}");
        }
    }

    #[test]
    fn an_import_names_none_of_what_the_service_sets() {
        let row = r#"{"name":"Acme","createdAt":"2020-01-01","__v":3}"#;
        for (origin, ignored) in [(BodyOrigin::Request, &["createdAt"][..]), (BodyOrigin::Row, &[])]
        {
            assert_eq!(Store::new().upsert(origin, &COMPANY, row).ignored, ignored);
        }
    }

    #[test]
    fn what_follows_from_a_change_follows_from_none_of_a_record_that_comes_back() {
        let now = Some(r#""2026-11-24T00:00:00.000Z""#.to_owned());
        let company = r#"{"name":"Acme","externalId":"a","phase":"Trial""#;
        for (more, since) in [("", now.clone()), (r#","__v":0"#, None)] {
            let mut store = Store::new();
            let id = store.created(BodyOrigin::Row, &COMPANY, &format!("{company}{more}}}"));
            assert_eq!(store.shown(&COMPANY, id, "phaseSince"), since, "{more}");
            let changed = company.replace("Trial", "Live");
            store.upsert(BodyOrigin::Row, &COMPANY, &format!("{changed}{more}}}"));
            assert_eq!(store.shown(&COMPANY, id, "phaseSince"), now, "{more}");
        }
        for (more, status) in [("", "submitted"), (r#","status":"returned""#, "returned")] {
            let mut store = Store::new();
            let row = format!(r#"{{"externalId":"s"{more}}}"#);
            let id = store.created(BodyOrigin::Row, &TIMESHEET, &row);
            assert_eq!(store.shown(&TIMESHEET, id, "status"), Some(format!(r#""{status}""#)));
        }
    }

    #[test]
    fn a_ticket_that_comes_back_has_the_company_and_the_history_that_it_had() {
        let mut store = Store::new();
        let acme = r#"{"name":"Acme","externalId":"a","domains":["acme.example"]}"#;
        let acme = store.created(BodyOrigin::Request, &COMPANY, acme);
        let ticket = r#""email":"ada@acme.example","status":"open""#;
        for (more, company, has_history) in [
            // The e-mail determines the company, but this ticket had none.
            (r#""sourceId":"1","__v":0"#, "null".to_owned(), false),
            (r#""sourceId":"2","companyId":"extid-a","__v":0"#, format!(r#""{acme}""#), false),
            (r#""sourceId":"3","companyId":"extid-a""#, format!(r#""{acme}""#), true),
        ] {
            let row = format!("{{{ticket},{more}}}");
            let id = store.created(BodyOrigin::Row, &TICKET, &row);
            let stored = store.0.record(&TICKET, id).unwrap().unwrap();
            assert_eq!(
                stored.get("companyId").map(|id| id.text().to_owned()),
                Some(company),
                "{row}"
            );
            assert_eq!(stored.value("history").is_some(), has_history, "{row}");
        }
    }

    #[test]
    fn a_record_that_comes_back_changes_as_the_exported_one_does() {
        let license = r#""externalId":"x","_currency":"EUR","fromDate":"2026-01-01","fixedPeriod":true,"length":12"#;
        let ticket = r#""sourceId":"x","email":"ada@acme.example","domains":["acme.example"]"#;
        for (def, key, item, change, shown) in [
            (&LICENSE, license, r#""mrr":100,"renewalMrr":100"#, r#""mrr":150"#, "renewalMrr"),
            (&LICENSE, license, r#""mrr":100"#, r#""mrr":150"#, "renewalMrr"),
            (
                &LICENSE,
                license,
                r#""mrr":1,"invoiceCycle":"yearly""#,
                r#""toDate":"2026-07-01""#,
                "invoiceCycle",
            ),
            (&LICENSE, license, r#""value":1200"#, r#""fixedPeriod":false,"toDate":null"#, "mrr"),
            (&LICENSE, license, r#""mrr":5,"renewalPeriod":1"#, r#""mrr":6"#, "derived"),
            (
                &TICKET,
                ticket,
                r#""date":"2026-01-01""#,
                r#""history":[{"status":"new","time":"2025-01-01"}]"#,
                "date",
            ),
        ] {
            let [mut store, mut copy] = [Store::new(), Store::new()];
            for store in [&mut store, &mut copy] {
                let acme = r#"{"name":"Acme","externalId":"a","domains":["acme.example"]}"#;
                store.created(BodyOrigin::Request, &COMPANY, acme);
            }
            let item = format!(r#"{{{key},"companyId":"extid-a",{item}}}"#);
            let id = store.created(BodyOrigin::Request, def, &item);
            let copied = copy.created(BodyOrigin::Row, def, &store.exported(def, id));
            let of_key = key.split(',').next().unwrap_or_default();
            for store in [&mut store, &mut copy] {
                store.upsert(BodyOrigin::Request, def, &format!("{{{of_key},{change}}}"));
            }
            assert_eq!(store.shown(def, id, shown), copy.shown(def, copied, shown), "{item}");
        }
    }

    /// Two stores with the same company and end user, and the same ids.
    fn two_stores() -> [Store; 2] {
        let mut stores = [Store::new(), Store::new()];
        for store in &mut stores {
            let acme = r#"{"name":"Acme","externalId":"a","domains":["acme.example"]}"#;
            store.created(BodyOrigin::Request, &COMPANY, acme);
            let ada = r#"{"email":"ada@acme.example","companyId":"extid-a"}"#;
            store.created(BodyOrigin::Request, &END_USER, ada);
        }
        stores
    }

    /// Checks that a record equals its copy, but for what each change sets.
    #[track_caller]
    fn check_equal(
        def: &'static ResourceDef,
        [(store, id), (copy, copied)]: [(&Store, ObjectId); 2],
    ) {
        let [record, other] = [store.all(def, id), copy.all(def, copied)];
        let names = def.fields.iter().map(|field| field.name);
        for name in names.filter(|name| !["_id", "updatedAt", "__v"].contains(name)) {
            let text = |record: &Document| record.value(name).map(|value| value.text().to_owned());
            assert_eq!(text(&other), text(&record), "{name}");
        }
    }

    #[test]
    fn a_record_that_comes_back_later_equals_the_exported_one_also_after_a_change() {
        let later = Timestamp::parse("2027-02-01").unwrap();
        let ticket = r#""sourceId":"x","email":"ada@acme.example","domains":["acme.example"]"#;
        let history = r#""history":[{"status":"new","time":"2025-01-01"}]"#;
        for (def, item, change) in [
            (&TICKET, ticket.to_owned(), r#""title":"New""#),
            (&TICKET, ticket.to_owned(), r#""status":"open""#),
            (&TICKET, ticket.to_owned(), history),
            (&TICKET, format!(r#"{ticket},"status":"open""#), r#""status":"done""#),
            (&TICKET, format!(r#"{ticket},"inDate":"2026-01-01""#), r#""inDate":null"#),
            (&TICKET, format!("{ticket},{history}"), r#""title":"New""#),
            (&COMPANY, r#""externalId":"x","name":"X""#.to_owned(), r#""createDate":null"#),
            (&END_USER, r#""externalId":"x","companyId":"extid-a""#.to_owned(), r#""phone":"1""#),
        ] {
            let [mut store, mut copy] = two_stores();
            let id = store.created(BodyOrigin::Request, def, &format!("{{{item}}}"));
            copy.1.now = later;
            let exported = store.exported(def, id);
            let copied = copy.created(BodyOrigin::Row, def, &exported);
            check_equal(def, [(&store, id), (&copy, copied)]);
            let again = copy.upsert(BodyOrigin::Row, def, &exported).outcome;
            assert_eq!(again, UpsertOutcome::Unchanged(copied), "{item}");
            store.1.now = later;
            for store in [&mut store, &mut copy] {
                let keys = r#""sourceId":"x","externalId":"x","email":"ada@acme.example""#;
                let keys = if *def == TICKET { keys } else { r#""externalId":"x""# };
                store.upsert(BodyOrigin::Request, def, &format!("{{{keys},{change}}}"));
            }
            check_equal(def, [(&store, id), (&copy, copied)]);
        }
    }

    #[test]
    fn a_ticket_that_comes_back_has_the_end_users_that_it_had() {
        let [mut store, _] = two_stores();
        let ada = store.0.find(&END_USER, "email", "ada@acme.example").unwrap().unwrap();
        let eve = r#"{"email":"eve@acme.example","companyId":"extid-a"}"#;
        let eve = store.created(BodyOrigin::Request, &END_USER, eve);
        let entry = |id: ObjectId| format!(r#"[{{"id":"{id}","name":"N"}}]"#);
        let foreign = entry(ObjectId::parse("65f000000000000000000001").unwrap());
        let by_address = |id: ObjectId| format!(r#"[{{"id":"{id}","name":null}}]"#);
        let [ada_s, nobody_s] = ["ada@acme.example", "nobody@acme.example"];
        for (number, (email, sent, expect)) in [
            (ada_s, "[]".to_owned(), "[]".to_owned()),
            (ada_s, entry(eve), entry(eve)),
            (ada_s, r#"[{"id":"extid-nobody"}]"#.to_owned(), by_address(ada)),
            (ada_s, foreign.clone(), by_address(ada)),
            (nobody_s, foreign.clone(), foreign.clone()),
            (ada_s, "null".to_owned(), by_address(ada)),
        ]
        .into_iter()
        .enumerate()
        {
            let row = format!(
                r#"{{"sourceId":"{number}","email":"{email}","companyId":"extid-a","endusers":{sent},"__v":0}}"#
            );
            let id = store.created(BodyOrigin::Row, &TICKET, &row);
            assert_eq!(store.shown(&TICKET, id, "endusers"), Some(expect.clone()), "{row}");
            let again = store.upsert(BodyOrigin::Row, &TICKET, &row).outcome;
            assert_eq!(again, UpsertOutcome::Unchanged(id), "{row}");
            let row = row.replace("endusers\":", "title\":\"New\",\"endusers\":");
            store.upsert(BodyOrigin::Row, &TICKET, &row);
            assert_eq!(store.shown(&TICKET, id, "endusers"), Some(expect), "{row}");
        }
        // A ticket with an end user of this store keeps them when nobody has the address any more.
        let row = |sent: &str| {
            format!(
                r#"{{"sourceId":"kept","email":"{nobody_s}","companyId":"extid-a","endusers":{sent},"__v":0}}"#
            )
        };
        let id = store.created(BodyOrigin::Row, &TICKET, &row(&entry(eve)));
        store.upsert(BodyOrigin::Row, &TICKET, &row(&foreign));
        assert_eq!(store.shown(&TICKET, id, "endusers"), Some(entry(eve)));
    }

    #[test]
    fn what_would_be_computed_otherwise_stays_as_it_was() {
        let mut store = Store::new();
        let company = store.created(BodyOrigin::Request, &COMPANY, r#"{"name":"Acme"}"#);
        // A month costs a 12th of the rounded price of a year, not a 13th of the value.
        let row = format!(
            r#"{{"companyId":"{company}","_currency":"EUR","fixedPeriod":true,"fromDate":"2026-01-01","toDate":"2027-02-01",
                "value":130.000006,"arr":120.000006,"__v":0}}"#
        );
        let license = store.created(BodyOrigin::Row, &LICENSE, &row);
        let shown = ["mrr", "arr", "value"].map(|name| store.shown(&LICENSE, license, name));
        assert_eq!(shown.map(Option::unwrap), ["10.000001", "120.000006", "130.000006"]);
    }
}

//! Create, read, update and delete of companies and end users, planned over a store in memory.

use proptest::prelude::*;

use super::{memory::Memory, *};
use crate::{
    resources::{company::COMPANY, end_user::END_USER},
    schema::{Lookup, ReadCtx, ResourceDef, shape},
    value::RecordRef,
};

struct World {
    store: Memory,
    ctx: Ctx,
}

impl World {
    fn new() -> Self {
        let ctx = Ctx {
            now: Timestamp::MIN,
            ids: IdSequence::new([0; 5]),
        };
        Self {
            store: Memory::default(),
            ctx,
        }
    }

    fn create(&mut self, def: &'static ResourceDef, sent: &str) -> Result<ObjectId, Refusal> {
        let sent = Document::parse(sent.as_bytes()).unwrap();
        let shaped = shape::check_create(def, &sent).map_err(Refusal::Invalid)?;
        let planned = create(def, shaped.patch, &self.store, &mut self.ctx)?;
        self.store.apply(&planned.changes);
        Ok(planned.id)
    }

    fn update(
        &mut self,
        def: &'static ResourceDef,
        id: ObjectId,
        sent: &str,
    ) -> Result<usize, Refusal> {
        let sent = Document::parse(sent.as_bytes()).unwrap();
        let shaped = shape::check_update(def, &sent).map_err(Refusal::Invalid)?;
        let planned = update(def, id, shaped.patch, &self.store, &self.ctx)?;
        self.store.apply(&planned.changes);
        Ok(planned.changes.len())
    }

    fn delete(&mut self, def: &'static ResourceDef, id: ObjectId) -> Result<(), Refusal> {
        let changes = delete(def, id, &self.store)?;
        self.store.apply(&changes);
        Ok(())
    }

    fn answer(&self, def: &'static ResourceDef, id: ObjectId) -> String {
        let stored = self.store.record(def, id).unwrap().unwrap();
        let ctx = ReadCtx {
            now: self.ctx.now,
            lookup: &self.store,
        };
        answer(def, &stored, &ctx).unwrap().to_text()
    }
}

fn check_refused<T: std::fmt::Debug>(found: Result<T, Refusal>, expect: &[(&str, &str)]) {
    let Err(Refusal::Invalid(issues) | Refusal::Conflict(issues)) = found else {
        panic!("not refused: {found:?}");
    };
    let found: Vec<_> = issues
        .iter()
        .map(|issue| (issue.pointer.as_str(), issue.code))
        .collect();
    assert_eq!(found, expect);
}

#[test]
fn a_created_record_has_an_id_dates_and_a_version() {
    let mut world = World::new();
    let id = world
        .create(
            &COMPANY,
            r#"{"__v":9,"custom":{"b":1.10,"a":null},"name":"Acme","_id":"x"}"#,
        )
        .unwrap();
    assert_eq!(
        world.answer(&COMPANY, id),
        r#"{"_id":"000000000000000000000000","name":"Acme","custom":{"b":1.10},"createdAt":"1970-01-01T00:00:00.000Z","updatedAt":"1970-01-01T00:00:00.000Z","__v":0}"#
    );
}

#[test]
fn every_problem_of_a_body_is_found() {
    let mut world = World::new();
    check_refused(
        world.create(
            &COMPANY,
            r#"{"externalId":7,"domains":["a",1],"custom":"x","name":" "}"#,
        ),
        &[
            ("/externalId", "wrong_type"),
            ("/domains", "wrong_type"),
            ("/custom", "wrong_type"),
            ("/name", "required"),
        ],
    );
    check_refused(
        world.create(&COMPANY, r#"{"name":"A","sourceId":""}"#),
        &[("/sourceId", "invalid_value")],
    );
}

#[test]
fn a_key_is_taken_until_its_holder_lets_go() {
    let mut world = World::new();
    let first = world
        .create(&COMPANY, r#"{"name":"A","externalId":"1"}"#)
        .unwrap();
    check_refused(
        world.create(&COMPANY, r#"{"name":"B","externalId":"1"}"#),
        &[("/externalId", "taken")],
    );
    let second = world
        .create(&COMPANY, r#"{"name":"B","externalId":"2"}"#)
        .unwrap();
    check_refused(
        world.update(&COMPANY, second, r#"{"externalId":"1"}"#),
        &[("/externalId", "taken")],
    );
    world
        .update(&COMPANY, first, r#"{"externalId":null}"#)
        .unwrap();
    assert_eq!(
        world
            .update(&COMPANY, second, r#"{"externalId":"1"}"#)
            .unwrap(),
        1
    );
    let found = locate(&COMPANY, &RecordRef::External("1".into()), &world.store).unwrap();
    assert_eq!(found, Some(second));
}

#[test]
fn an_update_merges_and_counts_only_real_changes() {
    let mut world = World::new();
    let id = world
        .create(
            &COMPANY,
            r#"{"name":"A","phase":"trial","custom":{"a":1,"b":2}}"#,
        )
        .unwrap();
    world.ctx.now = Timestamp::from_ms(1_000).unwrap();
    assert_eq!(
        world
            .update(&COMPANY, id, r#"{"phase":null,"custom":{"a":null,"c":3}}"#)
            .unwrap(),
        1
    );
    let answer = world.answer(&COMPANY, id);
    assert!(
        answer.contains(r#""custom":{"b":2,"c":3}"#) && !answer.contains("phase"),
        "{answer}"
    );
    assert!(
        answer.contains(r#""updatedAt":"1970-01-01T00:00:01.000Z","__v":1"#),
        "{answer}"
    );
    world.ctx.now = Timestamp::from_ms(2_000).unwrap();
    assert_eq!(world.update(&COMPANY, id, &answer).unwrap(), 0);
    assert_eq!(world.answer(&COMPANY, id), answer);
    check_refused(
        world.update(&COMPANY, id, r#"{"name":null}"#),
        &[("/name", "required")],
    );
}

#[test]
fn a_user_names_their_company_in_any_form() {
    let mut world = World::new();
    let company = world
        .create(
            &COMPANY,
            r#"{"name":"Acme","externalId":"1","sourceId":"s"}"#,
        )
        .unwrap();
    for (index, form) in ["extid-1", "srcid-s", &company.to_string()]
        .iter()
        .enumerate()
    {
        let user = world
            .create(
                &END_USER,
                &format!(r#"{{"externalId":"{index}","companyId":"{form}"}}"#),
            )
            .unwrap();
        let answer = world.answer(&END_USER, user);
        assert!(
            answer.contains(&format!(r#""companyId":"{company}""#)),
            "{answer}"
        );
        assert!(answer.contains(r#""companyName":"Acme""#), "{answer}");
    }
    check_refused(
        world.create(&END_USER, r#"{"email":"a@b","companyId":"extid-2"}"#),
        &[("/companyId", "reference_not_found")],
    );
    check_refused(
        world.create(&END_USER, "{}"),
        &[
            ("", "identity_missing"),
            ("/companyId", "company_not_found"),
        ],
    );
}

#[test]
fn a_domain_that_two_companies_own_finds_none() {
    let mut world = World::new();
    let first = world
        .create(&COMPANY, r#"{"name":"A","domains":["a.example"]}"#)
        .unwrap();
    let user = world
        .create(&END_USER, r#"{"email":"x@A.example"}"#)
        .unwrap();
    assert!(world.answer(&END_USER, user).contains(&first.to_string()));
    world
        .create(&COMPANY, r#"{"name":"B","domains":["A.EXAMPLE"]}"#)
        .unwrap();
    check_refused(
        world.create(&END_USER, r#"{"email":"y@a.example"}"#),
        &[("/companyId", "company_not_found")],
    );
}

#[test]
fn a_company_stays_while_users_refer_to_it() {
    let mut world = World::new();
    let company = world
        .create(&COMPANY, r#"{"name":"A","domains":["a.example"]}"#)
        .unwrap();
    let user = world
        .create(&END_USER, r#"{"email":"x@a.example"}"#)
        .unwrap();
    check_refused(world.delete(&COMPANY, company), &[("", "referred_to")]);
    world.delete(&END_USER, user).unwrap();
    world.delete(&COMPANY, company).unwrap();
    assert!(matches!(
        world.delete(&COMPANY, company),
        Err(Refusal::NotFound)
    ));
    world
        .create(&COMPANY, r#"{"name":"A","domains":["a.example"]}"#)
        .unwrap();
}

fn any_user() -> impl Strategy<Value = String> {
    let name = proptest::option::of("[A-Z][a-z]{0,3}( [A-Z][a-z]{0,3})?");
    (name.clone(), name.clone(), name).prop_map(|(name, first, last)| {
        let mut user = Document::parse(br#"{"externalId":"7","companyId":"extid-1"}"#).unwrap();
        for (row, value) in [("name", name), ("firstName", first), ("lastName", last)] {
            if let Some(value) = value {
                user.set(row, crate::value::Json::string(&value));
            }
        }
        user.to_text()
    })
}

proptest! {
    #[test]
    fn what_get_returned_can_be_put_back_and_changes_nothing(user in any_user()) {
        let mut world = World::new();
        world.create(&COMPANY, r#"{"name":"A","externalId":"1"}"#).unwrap();
        let id = world.create(&END_USER, &user).unwrap();
        let answer = world.answer(&END_USER, id);
        prop_assert_eq!(world.update(&END_USER, id, &answer).unwrap(), 0);
    }

    #[test]
    fn planning_the_same_twice_gives_the_same(user in any_user()) {
        let plan = || {
            let mut world = World::new();
            world.create(&COMPANY, r#"{"name":"A","externalId":"1"}"#).unwrap();
            let id = world.create(&END_USER, &user).unwrap();
            world.answer(&END_USER, id)
        };
        prop_assert_eq!(plan(), plan());
    }
}

//! Create, read, update and delete of companies and end users, planned over a store in memory.

use proptest::prelude::*;

use super::{memory::Memory, *};
use crate::{
    resources::{
        company::COMPANY,
        end_user::END_USER,
        license::LICENSE,
        product::PRODUCT,
        settings::{SETTINGS, SETTINGS_ID},
    },
    schema::{Lookup, ReadCtx, ResourceDef, checked_body},
    value::{Document, IdSequence, ObjectId, RecordRef, Timestamp},
};

struct World {
    store: Memory,
    ctx: Ctx,
}

impl World {
    fn new() -> Self {
        let ctx = Ctx::new(Timestamp::MIN, IdSequence::new([0; 5]), None);
        Self { store: Memory::default(), ctx }
    }

    fn create(&mut self, def: &'static ResourceDef, sent: &str) -> Result<ObjectId, Rejection> {
        let sent = Document::parse(sent.as_bytes()).unwrap();
        let body = checked_body::check_create(def, &sent);
        let planned = create(def, body, &self.store, &mut self.ctx)?;
        self.store.apply(&planned.changes);
        Ok(planned.id)
    }

    fn update(
        &mut self,
        def: &'static ResourceDef,
        id: ObjectId,
        sent: &str,
    ) -> Result<usize, Rejection> {
        let sent = Document::parse(sent.as_bytes()).unwrap();
        let body = checked_body::check_update(def, &sent);
        let planned = update(def, id, body, &self.store, &mut self.ctx)?;
        self.store.apply(&planned.changes);
        Ok(planned.changes.len())
    }

    fn delete(&mut self, def: &'static ResourceDef, id: ObjectId) -> Result<(), Rejection> {
        let changes = delete(def, id, &self.store)?;
        self.store.apply(&changes);
        Ok(())
    }

    fn to_response(&self, def: &'static ResourceDef, id: ObjectId) -> String {
        let stored = self.store.record(def, id).unwrap().unwrap();
        let ctx = ReadCtx::new(self.ctx.now, &self.store);
        to_response(def, &stored, &ctx).unwrap().to_text()
    }
}

#[test]
fn a_stored_rate_that_would_be_rejected_hinders_no_other_change_of_the_settings() {
    let mut world = World::new();
    // An earlier version accepted a rate without a currency.
    let stored = r#"{"_id":"000000000000000000000000","currencies":{"base":"EUR","rates":{"":2,"USD":0.9}},"__v":0}"#;
    world.store.apply(&[Change::Put {
        def: &SETTINGS,
        id: SETTINGS_ID,
        before: None,
        document: Document::parse(stored.as_bytes()).unwrap(),
        added: Vec::new(),
        removed: Vec::new(),
    }]);
    let same = r#"{"currencies":{"base":"EUR","rates":{"":2,"USD":0.9}},"timeZone":"Asia/Tokyo"}"#;
    for sent in [r#"{"timeZone":"Europe/Berlin"}"#, same] {
        assert_eq!(world.update(&SETTINGS, SETTINGS_ID, sent).unwrap(), 1, "{sent}");
    }
    let other = r#"{"currencies":{"base":"EUR","rates":{"":3}}}"#;
    check_rejected(
        world.update(&SETTINGS, SETTINGS_ID, other),
        &[("/currencies", "invalid_value")],
    );
    let without = r#"{"currencies":{"base":"EUR","rates":{"USD":0.9}}}"#;
    assert_eq!(world.update(&SETTINGS, SETTINGS_ID, without).unwrap(), 1);
}

fn check_rejected<T: std::fmt::Debug>(found: Result<T, Rejection>, expect: &[(&str, &str)]) {
    let Err(Rejection::Invalid(issues) | Rejection::Conflict(issues)) = found else {
        panic!("not refused: {found:?}");
    };
    let found: Vec<_> = issues.iter().map(|issue| (issue.pointer.as_str(), issue.code)).collect();
    assert_eq!(found, expect);
}

#[test]
fn a_created_record_has_an_id_dates_and_a_version() {
    let mut world = World::new();
    let id = world
        .create(&COMPANY, r#"{"__v":9,"custom":{"b":1.10,"a":null},"name":"Acme","_id":"x"}"#)
        .unwrap();
    assert_eq!(
        world.to_response(&COMPANY, id),
        r#"{"_id":"000000000000000000000000","name":"Acme","custom":{"b":1.10},"createDate":"1970-01-01T00:00:00.000Z","createdAt":"1970-01-01T00:00:00.000Z","updatedAt":"1970-01-01T00:00:00.000Z","__v":0,"status":"prospect","mrr":0,"arr":0,"mrrByCurrency":{},"issues":null,"beats":0,"beatsTotal":0,"beatTrend":0,"activityState":"never","experience":0}"#
    );
}

#[test]
fn every_problem_of_a_body_is_found() {
    let mut world = World::new();
    check_rejected(
        world.create(&COMPANY, r#"{"externalId":7,"domains":["a",1],"custom":"x","name":" "}"#),
        &[
            ("/externalId", "wrong_type"),
            ("/domains", "wrong_type"),
            ("/custom", "wrong_type"),
            ("/name", "required"),
        ],
    );
    check_rejected(
        world.create(&COMPANY, r#"{"name":"A","sourceId":""}"#),
        &[("/sourceId", "invalid_value")],
    );
}

#[test]
fn a_key_is_taken_until_its_holder_lets_go() {
    let mut world = World::new();
    let first = world.create(&COMPANY, r#"{"name":"A","externalId":"1"}"#).unwrap();
    check_rejected(
        world.create(&COMPANY, r#"{"name":"B","externalId":"1"}"#),
        &[("/externalId", "taken")],
    );
    let second = world.create(&COMPANY, r#"{"name":"B","externalId":"2"}"#).unwrap();
    check_rejected(
        world.update(&COMPANY, second, r#"{"externalId":"1"}"#),
        &[("/externalId", "taken")],
    );
    world.update(&COMPANY, first, r#"{"externalId":null}"#).unwrap();
    assert_eq!(world.update(&COMPANY, second, r#"{"externalId":"1"}"#).unwrap(), 1);
    let found = world.store.locate(&COMPANY, &RecordRef::External("1".into())).unwrap();
    assert_eq!(found, Some(second));
}

#[test]
fn an_update_merges_and_counts_only_real_changes() {
    let mut world = World::new();
    let id =
        world.create(&COMPANY, r#"{"name":"A","phase":"trial","custom":{"a":1,"b":2}}"#).unwrap();
    world.ctx.now = Timestamp::from_ms(1_000).unwrap();
    assert_eq!(
        world.update(&COMPANY, id, r#"{"phase":null,"custom":{"a":null,"c":3}}"#).unwrap(),
        1
    );
    let response = world.to_response(&COMPANY, id);
    assert!(
        response.contains(r#""custom":{"b":2,"c":3}"#) && !response.contains("phase"),
        "{response}"
    );
    assert!(response.contains(r#""updatedAt":"1970-01-01T00:00:01.000Z","__v":1"#), "{response}");
    world.ctx.now = Timestamp::from_ms(2_000).unwrap();
    assert_eq!(world.update(&COMPANY, id, &response).unwrap(), 0);
    assert_eq!(world.to_response(&COMPANY, id), response);
    check_rejected(world.update(&COMPANY, id, r#"{"name":null}"#), &[("/name", "required")]);
}

#[test]
fn a_user_names_their_company_in_any_form() {
    let mut world = World::new();
    let company =
        world.create(&COMPANY, r#"{"name":"Acme","externalId":"1","sourceId":"s"}"#).unwrap();
    for (index, form) in ["extid-1", "srcid-s", &company.to_string()].iter().enumerate() {
        let user = world
            .create(&END_USER, &format!(r#"{{"externalId":"{index}","companyId":"{form}"}}"#))
            .unwrap();
        let response = world.to_response(&END_USER, user);
        assert!(response.contains(&format!(r#""companyId":"{company}""#)), "{response}");
        assert!(response.contains(r#""companyName":"Acme""#), "{response}");
    }
    check_rejected(
        world.create(&END_USER, r#"{"email":"a@b","companyId":"extid-2"}"#),
        &[("/companyId", "company_not_found")],
    );
    check_rejected(
        world.create(&END_USER, "{}"),
        &[("", "identity_missing"), ("/companyId", "company_not_found")],
    );
}

#[test]
fn a_domain_that_two_companies_own_finds_none() {
    let mut world = World::new();
    let first = world.create(&COMPANY, r#"{"name":"A","domains":["a.example"]}"#).unwrap();
    let user = world.create(&END_USER, r#"{"email":"x@A.example"}"#).unwrap();
    assert!(world.to_response(&END_USER, user).contains(&first.to_string()));
    world.create(&COMPANY, r#"{"name":"B","domains":["A.EXAMPLE"]}"#).unwrap();
    check_rejected(
        world.create(&END_USER, r#"{"email":"y@a.example"}"#),
        &[("/companyId", "company_not_found")],
    );
}

#[test]
fn a_company_stays_while_users_refer_to_it() {
    let mut world = World::new();
    let company = world.create(&COMPANY, r#"{"name":"A","domains":["a.example"]}"#).unwrap();
    let user = world.create(&END_USER, r#"{"email":"x@a.example"}"#).unwrap();
    check_rejected(world.delete(&COMPANY, company), &[("", "referred_to")]);
    world.delete(&END_USER, user).unwrap();
    world.delete(&COMPANY, company).unwrap();
    assert!(matches!(world.delete(&COMPANY, company), Err(Rejection::NotFound)));
    world.create(&COMPANY, r#"{"name":"A","domains":["a.example"]}"#).unwrap();
}

/// Checks that the response of a license of company `1` has the members of `expect`.
#[track_caller]
fn check_license(sent: &str, expect: &str) {
    check_license_changes(&[sent], expect);
}

/// Creates a license with the first body, and changes it with the others.
#[track_caller]
fn check_license_changes(bodies: &[&str], expect: &str) {
    let mut world = World::new();
    world.ctx.now = Timestamp::parse("2026-06-01").unwrap();
    world.create(&COMPANY, r#"{"name":"A","externalId":"1"}"#).unwrap();
    let mut first = Document::parse(bodies[0].as_bytes()).unwrap();
    first.set("companyId", crate::value::Json::string("extid-1"));
    let id = world.create(&LICENSE, &first.to_text()).unwrap();
    for body in &bodies[1..] {
        world.update(&LICENSE, id, body).unwrap();
    }
    let response = Document::parse(world.to_response(&LICENSE, id).as_bytes()).unwrap();
    let expect = Document::parse(expect.as_bytes()).unwrap();
    for (name, value) in expect.iter() {
        assert_eq!(response.get(name), Some(value), "{name} in {}", response.to_text());
    }
}

const FIXED: &str = r#"{"fixedPeriod":true,"fromDate":"2026-01-01","toDate":"2026-12-31","mrr":33.33,"_currency":"EUR"}"#;

#[test]
fn a_fixed_license_is_worth_its_months() {
    check_license(
        FIXED,
        r#"{"length":12,"value":399.96,"arr":399.96,"renewalMrr":33.33,"renewalArr":399.96,"issues":null}"#,
    );
    check_license(
        FIXED,
        r#"{"renewalDate":"2027-01-01T00:00:00.000Z","renewalDaysFromNow":214,"isOverdue":false,"toDateIncluded":true}"#,
    );
    check_license(
        FIXED,
        r#"{"renewalStatus":"ongoing","renewalPeriod":1,"renewalUnit":"month","noticePeriod":null,"noticeUnit":null,"invoiceCycle":"yearly","invoiceCycleInterval":0}"#,
    );
    check_license(
        r#"{"fixedPeriod":true,"fromDate":"2026-01-01","toDate":"2027-01-01","value":1000,"_currency":"EUR"}"#,
        r#"{"mrr":83.333333,"arr":1000,"value":1000,"issues":null}"#,
    );
    check_license(
        r#"{"fixedPeriod":true,"fromDate":"2026-01-31","length":1,"mrr":10,"_currency":"EUR"}"#,
        r#"{"toDate":"2026-02-28T00:00:00.000Z","value":10,"invoiceCycle":"monthly"}"#,
    );
}

#[test]
fn an_open_ended_license_needs_its_price() {
    check_license(
        r#"{"fromDate":"2026-01-01","_currency":"EUR","arr":1200}"#,
        r#"{"mrr":100,"arr":1200,"renewalDate":null,"invoiceCycle":"monthly","toDateIncluded":false,"issues":null}"#,
    );
    check_license(
        r#"{"fromDate":"2026-01-01","toDate":"2026-04-01","_currency":"EUR","value":300}"#,
        r#"{"mrr":100,"renewalDate":null,"issues":null}"#,
    );
    check_license(
        "{}",
        r#"{"mrr":null,"issues":[{"code":"from_date_missing","field":"fromDate","message":"`fromDate` is needed for the license to count"},{"code":"currency_missing","field":"_currency","message":"`_currency` is needed for amounts to be added to others"},{"code":"price_missing","field":"value","message":"`mrr` or `value` is needed"},{"code":"mrr_missing","field":"mrr","message":"an open-ended license needs `mrr`"}]}"#,
    );
}

#[test]
fn what_an_update_changes_is_stored_and_the_rest_follows() {
    check_license_changes(
        &[FIXED, r#"{"mrr":100}"#],
        r#"{"value":1200,"arr":1200,"renewalMrr":100}"#,
    );
    check_license_changes(&[FIXED, r#"{"value":1200}"#], r#"{"mrr":100,"arr":1200}"#);
    check_license_changes(&[FIXED, r#"{"arr":1200}"#], r#"{"mrr":100,"value":1200}"#);
    check_license_changes(
        &[FIXED, r#"{"toDate":"2026-06-30"}"#],
        r#"{"length":6,"value":199.98,"mrr":33.33}"#,
    );
    check_license_changes(
        &[FIXED, r#"{"value":1200,"mrr":100}"#],
        r#"{"mrr":100,"value":1200,"issues":null}"#,
    );
    check_license_changes(
        &[FIXED, r#"{"renewalMrr":50}"#, r#"{"mrr":100}"#],
        r#"{"renewalMrr":50,"renewalArr":600,"arr":1200}"#,
    );
    // A derived value that comes back unchanged stays derived.
    check_license_changes(
        &[FIXED, r#"{"value":399.96,"renewalMrr":33.33,"mrr":100}"#],
        r#"{"value":1200,"renewalMrr":100}"#,
    );
    check_license_changes(
        &[FIXED, r#"{"renewalPeriod":1,"autoRenews":true}"#],
        r#"{"renewalPeriod":1,"noticePeriod":0,"noticeUnit":"month"}"#,
    );
    check_license_changes(
        &[FIXED, r#"{"autoRenews":true,"noticePeriod":2,"noticeUnit":"weeks"}"#],
        r#"{"noticePeriod":2,"noticeUnit":"week"}"#,
    );
    check_license_changes(
        &[FIXED, r#"{"autoRenews":true,"noticePeriod":2}"#, r#"{"autoRenews":false}"#],
        r#"{"noticePeriod":null,"noticeUnit":null}"#,
    );
    check_license_changes(
        &[r#"{"fromDate":"2026-01-01","mrr":1,"_currency":"EUR"}"#, r#"{"renewalStatus":"lost"}"#],
        r#"{"toDate":"2026-06-01T00:00:00.000Z","length":5}"#,
    );
}

#[test]
fn a_license_takes_from_its_product_what_it_lacks() {
    let check = |product: &str, license: &str, expect: &str| {
        let mut world = World::new();
        world.create(&COMPANY, r#"{"name":"A","externalId":"1"}"#).unwrap();
        world.create(&PRODUCT, product).unwrap();
        let id = world.create(&LICENSE, license).unwrap();
        let response = Document::parse(world.to_response(&LICENSE, id).as_bytes()).unwrap();
        for (name, value) in Document::parse(expect.as_bytes()).unwrap().iter() {
            assert_eq!(response.get(name), Some(value), "{name} in {}", response.to_text());
        }
    };
    let plan = r#"{"name":"Plan","mrr":100,"currency":"EUR","fixedPeriod":true,"autoRenews":true,"length":12,"renewalMrr":120,"renewalPeriod":6,"noticePeriod":3,"noticeUnit":"month"}"#;
    check(
        plan,
        r#"{"companyId":"extid-1","product":"Plan","fromDate":"2026-01-01"}"#,
        r#"{"mrr":100,"_currency":"EUR","length":12,"toDate":"2027-01-01T00:00:00.000Z","value":1200,"renewalMrr":120,"renewalPeriod":6,"renewalUnit":"month","noticePeriod":3,"noticeUnit":"month"}"#,
    );
    check(
        plan,
        r#"{"companyId":"extid-1","product":"Plan","fromDate":"2026-01-01","_currency":"USD"}"#,
        r#"{"mrr":null,"_currency":"USD","length":12}"#,
    );
    check(
        plan,
        r#"{"companyId":"extid-1","product":"Plan","fromDate":"2026-01-01","value":600}"#,
        r#"{"mrr":50,"renewalMrr":50,"value":600}"#,
    );
    check(
        plan,
        r#"{"companyId":"extid-1","product":"Plan","fromDate":"2026-01-01","toDate":"2026-03-31","renewalUnit":"week"}"#,
        r#"{"length":3,"value":300,"renewalPeriod":1,"renewalUnit":"week"}"#,
    );
    check(
        r#"{"name":"Fee","type":"fee","value":500,"mrr":7}"#,
        r#"{"companyId":"extid-1","product":"Fee"}"#,
        r#"{"value":500,"mrr":null}"#,
    );
}

#[test]
fn the_status_of_a_company_follows_from_its_licenses() {
    let check = |licenses: &[&str], status: &str| {
        let mut world = World::new();
        world.ctx.now = Timestamp::parse("2026-06-01").unwrap();
        let company = world.create(&COMPANY, r#"{"name":"A","externalId":"1"}"#).unwrap();
        for license in licenses {
            let mut sent = Document::parse(license.as_bytes()).unwrap();
            sent.set("companyId", crate::value::Json::string("extid-1"));
            world.create(&LICENSE, &sent.to_text()).unwrap();
        }
        let response = world.to_response(&COMPANY, company);
        assert!(response.contains(&format!(r#""status":"{status}""#)), "{licenses:?}: {response}");
    };
    check(&[], "prospect");
    check(&[r#"{"mrr":1}"#], "prospect");
    check(&[r#"{"fromDate":"2026-01-01","mrr":1}"#], "customer");
    check(
        &[r#"{"fromDate":"2025-01-01","toDate":"2025-12-31","fixedPeriod":true,"mrr":1}"#],
        "customer",
    );
    check(&[r#"{"fromDate":"2027-01-01","mrr":1}"#], "coming");
    check(
        &[r#"{"fromDate":"2026-01-01","toDate":"2026-12-31","renewalStatus":"lost","mrr":1}"#],
        "canceled",
    );
    check(
        &[r#"{"fromDate":"2025-01-01","toDate":"2025-12-31","renewalStatus":"lost","mrr":1}"#],
        "lost",
    );
    check(
        &[
            r#"{"fromDate":"2025-01-01","toDate":"2025-12-31","renewalStatus":"lost","mrr":1}"#,
            r#"{"fromDate":"2027-01-01","mrr":1}"#,
        ],
        "coming",
    );
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
        let response = world.to_response(&END_USER, id);
        prop_assert_eq!(world.update(&END_USER, id, &response).unwrap(), 0);
    }

    #[test]
    fn planning_the_same_twice_gives_the_same(user in any_user()) {
        let plan = || {
            let mut world = World::new();
            world.create(&COMPANY, r#"{"name":"A","externalId":"1"}"#).unwrap();
            let id = world.create(&END_USER, &user).unwrap();
            world.to_response(&END_USER, id)
        };
        prop_assert_eq!(plan(), plan());
    }
}

#[test]
fn a_user_that_was_created_for_a_token_before_there_was_a_mark_is_marked() {
    use crate::resources::user::USER;
    let mut world = World::new();
    let at = |ms| Timestamp::from_ms_clamped(ms);
    let mut user = |text: &str| {
        world.ctx.now = at(100_000);
        world.create(&USER, text).unwrap()
    };
    let (plain, filled) =
        (user(r#"{"name":"ci"}"#), user(r#"{"name":"ci","email":"ci@x.example"}"#));
    let is_marked = |id, label, issued_ms| {
        let now = at(200_000);
        let changes = mark_token_user(id, label, at(issued_ms), &world.store, now).unwrap();
        let marks = |change: &Change| matches!(change, Change::Put { document, .. } if document.to_text().contains(r#""forToken":true"#));
        changes.iter().any(marks)
    };
    assert!(is_marked(plain, "ci", 99_990));
    assert!(!is_marked(plain, "other", 99_990));
    assert!(!is_marked(plain, "ci", 100_001), "it was there before the token");
    assert!(!is_marked(plain, "ci", 30_000), "it came much later");
    assert!(!is_marked(filled, "ci", 99_990), "somebody has filled it");
}

//! The rules of event ingestion, on a store in memory.

use super::*;
use crate::{
    plan::{self as planning, memory::Memory},
    schema::CheckedBody,
    tracking::{
        pipeline::{self, ReadCall},
        realtime,
    },
    value::{Document, IdSequence},
};

struct World {
    store: Memory,
    ctx: Ctx,
}

impl World {
    /// Two companies, `acme` and `initech`, each with a domain of its own.
    fn new() -> Self {
        let now = Timestamp::parse("2026-11-20T12:00:00Z").unwrap();
        let ctx = Ctx::new(now, IdSequence::new([0; 5]), None);
        let mut world = Self { store: Memory::default(), ctx };
        for name in ["acme", "initech"] {
            let text = format!(
                r#"{{"name":"{name}","externalId":"{name}","domains":["{name}.example"]}}"#
            );
            let company = Document::parse(text.as_bytes()).unwrap();
            let planned = planning::create(
                &COMPANY,
                CheckedBody::trusted(company),
                &world.store,
                &mut world.ctx,
            )
            .unwrap();
            world.store.apply(&planned.changes);
        }
        world
    }

    fn pass(&mut self, ms: i64) {
        self.ctx.now = Timestamp::from_ms_clamped(self.ctx.now.as_ms() + ms);
        self.ctx.settled = self.ctx.now;
    }

    fn send(&mut self, event: &str) {
        let event = realtime::read(event.as_bytes(), self.ctx.now).unwrap().event;
        self.plan(&event, Route::Realtime);
    }

    fn plan(&mut self, event: &Event, route: Route) {
        let (received_at, settings) = (self.ctx.now, TrackingSettings::default());
        let sent = ReceivedEvent { event, received_at, route, settings };
        let changes = plan(&sent, &self.store, &mut self.ctx).unwrap();
        self.store.apply(&changes);
    }

    /// Users, one a line: company, externalId, e-mail, name.
    fn users(&self) -> Vec<String> {
        let company = |user: &Document| {
            let id = end_user::COMPANY_ID.get(user)?;
            let company = self.store.record(&COMPANY, id).ok()??;
            Some(company::NAME.get(&company)?.into_owned())
        };
        let users = self.store.records(&END_USER);
        users
            .map(|user| {
                let text = |row| user.text(row).unwrap_or_else(|| "-".into()).into_owned();
                let parts = [text("externalId"), text("email"), text("name")];
                format!("{} {}", company(user).unwrap_or_default(), parts.join(" "))
            })
            .collect()
    }
}

#[test]
fn an_unknown_user_with_a_customer_id_is_made() {
    let mut world = World::new();
    world.send(
        r#"{"externalId":"7","name":"Ada Lovelace","companyExternalId":"acme","action":"Login"}"#,
    );
    assert_eq!(world.users(), ["acme 7 - Ada Lovelace"]);
    assert_eq!(world.store.activities.len(), 1);
}

#[test]
fn an_unknown_user_is_mapped_by_the_domain_of_their_e_mail() {
    let mut world = World::new();
    world.send(r#"{"email":"Ada@Initech.example"}"#);
    assert_eq!(world.users(), ["initech - Ada@Initech.example -"]);
    assert!(world.store.activities.is_empty());
}

#[test]
fn a_customer_id_that_is_unknown_is_never_guessed_around() {
    let mut world = World::new();
    world.send(r#"{"email":"ada@acme.example","companyExternalId":"nobody","action":"Login"}"#);
    assert!(world.users().is_empty());
    assert_eq!(world.store.parked.len(), 1);
    assert_eq!(world.store.parked[0].code, "company_unknown");
    assert!(world.store.parked[0].event.contains("Login"));
}

#[test]
fn an_event_of_nobody_known_is_parked() {
    let mut world = World::new();
    world.send(r#"{"externalId":"7","action":"Login"}"#);
    assert_eq!(world.store.parked[0].code, "user_unknown");
}

#[test]
fn what_is_empty_is_filled_and_nothing_is_overwritten() {
    let mut world = World::new();
    world.send(r#"{"externalId":"7","companyExternalId":"acme"}"#);
    world.send(r#"{"externalId":"7","email":"ada@acme.example","name":"Ada"}"#);
    world.send(r#"{"externalId":"7","email":"other@acme.example","name":"Bob","companyExternalId":"initech"}"#);
    assert_eq!(world.users(), ["acme 7 ada@acme.example Ada"]);
    world.send(r#"{"email":"bob@acme.example"}"#);
    world.send(r#"{"email":"BOB@acme.example","externalId":"8"}"#);
    assert_eq!(world.users()[1], "acme 8 bob@acme.example -");
}

#[test]
fn an_unknown_company_of_a_known_user_is_no_reason_to_wait() {
    let mut world = World::new();
    world.send(r#"{"externalId":"7","companyExternalId":"acme"}"#);
    world.send(r#"{"externalId":"7","companyExternalId":"nobody","action":"Login"}"#);
    assert_eq!((world.store.activities.len(), world.store.parked.len()), (1, 0));
    let codes: Vec<_> = world.store.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["company_differs"]);
}

#[test]
fn an_e_mail_of_another_user_stays_with_them() {
    let mut world = World::new();
    world.send(r#"{"externalId":"7","email":"ada@acme.example"}"#);
    world.send(r#"{"externalId":"8","companyExternalId":"acme"}"#);
    world.send(r#"{"externalId":"8","email":"ada@acme.example"}"#);
    assert_eq!(world.users(), ["acme 7 ada@acme.example -", "acme 8 - -"]);
}

#[test]
fn an_id_that_is_new_names_a_new_user_without_the_e_mail_of_another() {
    let mut world = World::new();
    world.send(r#"{"externalId":"7","email":"ada@acme.example"}"#);
    world.send(r#"{"externalId":"9","email":"ada@acme.example","companyExternalId":"initech"}"#);
    assert_eq!(world.users(), ["acme 7 ada@acme.example -", "initech 9 - -"]);
}

#[test]
fn an_e_mail_of_another_user_still_identifies_the_company() {
    let mut world = World::new();
    world.send(r#"{"externalId":"7","email":"ada@acme.example"}"#);
    world.send(r#"{"externalId":"9","email":"ada@acme.example"}"#);
    assert_eq!(world.users(), ["acme 7 ada@acme.example -", "acme 9 - -"]);
}

#[test]
fn a_company_is_found_by_its_own_id_too() {
    let mut world = World::new();
    let id = world.store.records(&COMPANY).next().unwrap().text("_id").unwrap().into_owned();
    world.send(&format!(r#"{{"externalId":"7","companyExternalId":"{id}"}}"#));
    world.send(r#"{"externalId":"8","companyExternalId":"extid-initech"}"#);
    assert_eq!(world.users(), ["acme 7 - -", "initech 8 - -"]);
}

/// Plans an event on a route, with these settings, and stores it.
fn send_as(world: &mut World, route: Route, settings: TrackingSettings, event: &str) {
    let event = realtime::read(event.as_bytes(), world.ctx.now).unwrap().event;
    let incoming = ReceivedEvent { event: &event, received_at: world.ctx.now, route, settings };
    let changes = plan(&incoming, &world.store, &mut world.ctx).unwrap();
    world.store.apply(&changes);
}

const MADE_BY_TENANT: TrackingSettings = TrackingSettings {
    auto_create_end_users: false,
    max_new_end_users_per_hour: None,
    track_pages: false,
};

#[test]
fn where_the_tenant_makes_its_users_their_events_wait_on_every_route() {
    for route in [Route::Realtime, Route::Bulk, Route::Pipeline] {
        let mut world = World::new();
        let event = r#"{"externalId":"7","companyExternalId":"acme","action":"x"}"#;
        send_as(&mut world, route, MADE_BY_TENANT, event);
        assert!(world.users().is_empty() && world.store.activities.is_empty());
        assert_eq!(world.store.parked[0].code, "user_not_created");
        assert!(world.store.parked[0].waits.contains(&wait_for_creation()));
    }
}

#[test]
fn a_parked_event_is_processed_when_it_fits_and_not_before() {
    let mut world = World::new();
    let text = r#"{"externalId":"7","companyExternalId":"acme","action":"x","messageId":"m"}"#;
    send_as(&mut world, Route::Realtime, MADE_BY_TENANT, text);
    let event: Event = serde_json::from_str(&world.store.parked[0].event).unwrap();
    let incoming = |settings| ReceivedEvent {
        event: &event,
        received_at: Timestamp::MIN,
        route: Route::Realtime,
        settings,
    };
    let World { store, ctx } = &mut world;
    assert_eq!(replay(&incoming(MADE_BY_TENANT), store, ctx).unwrap().map(|_| ()), None);
    let settings = TrackingSettings::default();
    let changes = replay(&incoming(settings), store, ctx).unwrap().unwrap();
    store.apply(&changes);
    assert_eq!(store.activities[0].received_at, Timestamp::MIN);
}

#[test]
fn on_a_pipeline_an_event_of_no_known_company_is_reported_and_not_stored() {
    let mut world = World::new();
    for event in [r#"{"externalId":"7"}"#, r#"{"externalId":"7","companyExternalId":"nobody"}"#] {
        send_as(&mut world, Route::Pipeline, TrackingSettings::default(), event);
    }
    assert!(world.store.parked.is_empty());
    let codes: Vec<_> = world.store.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["user_unknown", "company_unknown"]);
}

#[test]
fn what_an_event_waits_for_is_what_would_settle_it() {
    let waits = |event: &str| {
        let event = realtime::read(event.as_bytes(), Timestamp::MIN).unwrap().event;
        let waits = waits_of(&event.identity);
        let texts = waits.iter().map(|wait| format!("{} {} {}", wait.resource, wait.row, wait.key));
        texts.collect::<Vec<_>>()
    };
    assert_eq!(
        waits(r#"{"externalId":"7","email":" Ada@Acme.example"}"#),
        ["2 externalId 7", "2 email ada@acme.example", "1 domains acme.example"]
    );
    assert_eq!(
        waits(r#"{"email":"ada@gmail.com","companyExternalId":"srcid-s"}"#),
        ["2 email ada@gmail.com", "1 externalId srcid-s", "1 sourceId s"]
    );
    assert_eq!(
        waits(r#"{"externalId":"7","companyExternalId":"extid-a"}"#),
        ["2 externalId 7", "1 externalId extid-a", "1 externalId a"]
    );
}

#[test]
fn hours_are_counted_from_1970_on() {
    let hour = |text: &str| hour_of(Timestamp::parse(text).unwrap());
    assert_eq!(hour("1970-01-02T01:59:59.999Z"), 25);
    assert_eq!(hour("1970-01-02T02:00:00Z"), 26);
    assert_eq!(MESSAGE_ID_MS, 604_800_000);
}

#[test]
fn events_wait_for_companies_and_end_users() {
    assert!(releases_parked_events(&COMPANY) && releases_parked_events(&END_USER));
    assert!(!releases_parked_events(&ASSET));
}

#[test]
fn an_id_counts_once_within_seven_days() {
    let mut world = World::new();
    let event = r#"{"externalId":"7","companyExternalId":"acme","action":"x","messageId":"m"}"#;
    for (passed_ms, stored) in [(0, 1), (MESSAGE_ID_MS - 1, 1), (1, 2)] {
        world.pass(passed_ms);
        world.send(event);
        assert_eq!(world.store.activities.len(), stored, "after {passed_ms} ms more");
    }
}

#[test]
fn an_id_counts_once_while_a_clock_that_was_set_forward_is_not_trusted() {
    let mut world = World::new();
    let event = r#"{"externalId":"7","companyExternalId":"acme","action":"x","messageId":"m"}"#;
    world.send(event);
    world.ctx.now = Timestamp::from_ms_clamped(world.ctx.now.as_ms() + 2 * MESSAGE_ID_MS);
    world.send(event);
    assert_eq!(world.store.activities.len(), 1);
    world.ctx.settled = world.ctx.now;
    world.send(event);
    assert_eq!(world.store.activities.len(), 2);
}

/// Plans a `group` call, the company first, and stores both.
fn group(world: &mut World, user: &str, company: &str) {
    let mut event = Event::default();
    event.identity.external_id = Some(user.to_owned());
    event.identity.company = Some(company.to_owned());
    event.call = PipelineCall::Group(Box::default());
    let (received_at, settings) = (world.ctx.now, TrackingSettings::default());
    let incoming = ReceivedEvent { event: &event, received_at, route: Route::Pipeline, settings };
    let changes = group::plan(&incoming, &world.store, &mut world.ctx).unwrap();
    world.store.apply(&changes);
    let changes = plan(&incoming, &world.store, &mut world.ctx).unwrap();
    world.store.apply(&changes);
}

#[test]
fn group_calls_create_a_thousand_companies_an_hour_at_the_most() {
    let mut world = World::new();
    let known = world.store.records(&COMPANY).count();
    let max = group::MAX_NEW_COMPANIES_PER_HOUR as usize;
    for number in 0..=max {
        group(&mut world, "7", &format!("company {number}"));
    }
    assert_eq!(world.store.records(&COMPANY).count(), known + max);
    group(&mut world, "8", "beyond");
    assert_eq!(world.store.parked[0].code, "too_many_new_companies");
    world.pass(HOUR_MS);
    group(&mut world, "9", "in the next hour");
    assert_eq!(world.store.records(&COMPANY).count(), known + max + 1);
}

#[test]
fn a_sample_shows_who_was_meant_and_no_name() {
    let mut world = World::new();
    let long = "x".repeat(100);
    world.send(&format!(
        r#"{{"externalId":"7","name":"Ada","email":"Ada@X.example","action":"{long}"}}"#
    ));
    let finding = &world.store.findings[0];
    let shown =
        format!(r#"{{"externalId":"7","email":"Ada@X.example","action":"{}"}}"#, "x".repeat(64));
    assert_eq!(finding.sample.to_text(), shown);
    assert_eq!(finding.people, ["7", "ada@x.example"]);
    assert_eq!(finding.cause, "x.example");
}

#[test]
fn a_group_that_an_sdk_names_finds_a_company_and_is_reported_otherwise() {
    let mut world = World::new();
    let mut call = |text: &str| {
        let Ok(ReadCall::Taken(read)) = pipeline::read(text.as_bytes(), None, &Document::default())
        else {
            panic!("{text}")
        };
        world.plan(&read.event, Route::Pipeline);
    };
    call(r#"{"type":"identify","userId":"1","context":{"groupId":"acme"}}"#);
    call(
        r#"{"type":"identify","userId":"2","traits":{"email":"b@acme.example"},"context":{"groupId":"team-42"}}"#,
    );
    call(r#"{"type":"identify","userId":"1","context":{"groupId":"initech"}}"#);
    assert_eq!(world.users(), ["acme 1 - -", "acme 2 b@acme.example -"]);
    let codes: Vec<_> = world.store.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, ["company_unknown", "company_differs"]);
}

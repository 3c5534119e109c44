//! Embeds the rules in a program: a store in memory, a tenant, a company, an event of one of its users, and the
//! resulting user. With the embedded engine in place of the memory, the data outlives the program.
//!
//! ```text
//! cargo run -p svctrack-store --example embed
//! ```
#![expect(clippy::print_stdout, reason = "a program of its own, unlike the store")]

use std::{error::Error, sync::Arc};

use svctrack_core::{
    plan::Route,
    resources::{company::COMPANY, end_user::END_USER},
    schema::checked_body,
    tracking::{Event, Identity},
    value::{Document, RecordRef, TenantId},
};
use svctrack_store::{
    Actor, Clock as _, Store, SystemClock, Tenant, TenantRecord, TokenDigest, TokenRecord,
    Tracking, memory::Memory,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    println!("{}", run().await?);
    Ok(())
}

/// Returns the response for Ada's record.
async fn run() -> Result<String, Box<dyn Error>> {
    let store: Arc<dyn Store> = Arc::new(Memory::new(Arc::new(SystemClock))?);
    let (id, now) = (TenantId::from_bytes([7; 16]), SystemClock.now());
    let digest = TokenDigest { id: "01234567", sha256: [0; 32] };
    let token = TokenRecord::of_everything(digest, id, "ours", now);
    store
        .add_tenant(Actor::operator(), TenantRecord::new(id, "Ours".to_owned(), now), token)
        .await?;
    let tenant = Tenant::assume_authorized(id);
    let actor = Actor::service(tenant);

    let acme = Document::parse(br#"{"name":"Acme","externalId":"acme"}"#);
    let acme = acme.map_err(|error| error.message)?;
    let acme = checked_body::check_create(&COMPANY, &acme);
    store.create(actor.clone(), None, &COMPANY, acme).await?;

    let some = |text: &str| Some(text.to_owned());
    let event = Event {
        identity: Identity {
            external_id: some("ada"),
            name: some("Ada Lovelace"),
            company: some("acme"),
            ..Identity::default()
        },
        action: some("Opened report"),
        ..Event::default()
    };
    let tracked = store
        .track(actor, None, Tracking::without_findings(vec![event], now, Route::Realtime))
        .await?;
    assert!(tracked.reply.parked.is_empty(), "the event waits for nothing");

    let ada = store.record(&tenant, &END_USER, &RecordRef::External("ada".to_owned())).await?;
    Ok(ada.ok_or("Ada is not there")?.text)
}

#[test]
fn what_is_tracked_is_known() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let ada = runtime.block_on(run()).unwrap();
    assert!(ada.contains("Ada Lovelace") && ada.contains(r#""beatsTotal":1"#), "{ada}");
}

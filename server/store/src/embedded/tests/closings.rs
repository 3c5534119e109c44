//! A month is closed only with the figures of the stored data.

use svctrack_core::{
    resources::license::LICENSE,
    revenue::{ListedMonth, Reopening},
};

use super::*;
use crate::{NewClosing, Precondition};

/// A month to close, with figures as of a row of the change log.
pub(super) fn close(sequence: u64) -> Command {
    let closing = r#"{"month":"2026-01","closedAt":"2026-02-01T00:00:00.000Z","closedBy":null,"timeZone":"UTC",
        "view":"endPoints","gapDays":0,"reactivationWithin":null,"rateDate":null,"currencies":[],"converted":null}"#;
    let closing = serde_json::from_str(closing).unwrap();
    Command::CloseMonth(Box::new(NewClosing { closing, sequence }))
}

fn reopen(month: &str, reason: &str) -> Command {
    Command::ReopenMonth {
        month: month.to_owned(),
        reason: reason.to_owned(),
        precondition: Precondition::Anything,
    }
}

#[tokio::test]
async fn a_month_is_not_closed_with_figures_from_before_a_change() {
    let world = World::new().await;
    world.add_company("acme").await;
    let license = r#"{"companyId":"extid-acme","externalId":"l","fromDate":"2026-01-01","mrr":1}"#;
    let body = CheckedBody::trusted(Document::parse(license.as_bytes()).unwrap());
    world.write(Command::Create { def: &LICENSE, body }).await;
    // The license is the last row of the log; one row is in the log of the operator.
    let sequence = world.rows(rows::CHANGES) - 1;
    assert!(matches!(world.write(close(sequence - 1)).await, Reply::Closed(None)));
    assert_eq!(world.rows(rows::CLOSINGS), 0);
    world.add_company("other").await;
    assert!(matches!(world.write(close(sequence)).await, Reply::Closed(Some(_))));
    assert!(matches!(world.write(reopen("2026-01", "late invoice")).await, Reply::Reopened(true)));
}

#[tokio::test]
async fn a_month_that_is_reopened_retains_its_last_reopenings() {
    let world = World::new().await;
    let times = Reopening::MAX_STORED + 3;
    for time in 0..times {
        let closed = world.write(close(u64::MAX)).await;
        assert!(matches!(closed, Reply::Closed(Some(_))), "{time}: {closed:?}");
        let reason = time.to_string();
        assert!(matches!(world.write(reopen("2026-01", &reason)).await, Reply::Reopened(true)));
    }
    let months = world.store.closings(&world.actor.tenant).await.unwrap();
    let [ListedMonth::Reopened(month)] = &*months else { panic!("{months:?}") };
    let reasons: Vec<&str> = month.reopened.iter().map(|it| &*it.reason).collect();
    let expected: Vec<String> = (3..times).map(|time| time.to_string()).collect();
    assert_eq!(reasons, expected);
}

//! The page of an end user: identity, engagement, activities and tickets; export and erasure.

use serde_json::{Map, Value};
use svctrack_core::{
    resources::ticket::TICKET,
    value::{Day, Timestamp, Zone},
};
use svctrack_web::pages::{
    ActivityColumns, Figure, RecordSection, RecordView, RelatedList, Shell, address, grouped,
};

use super::{activity, by_ids::text, columns::filled_columns, newest::newest, visit::Visit};
use crate::{error::Error, routes::privacy_requests::EXPORT_SCOPES};

/// The sections of the page of a person.
pub(super) async fn extend(visit: &Visit, id: &str, view: &mut RecordView) -> Result<(), Error> {
    view.extra.push(RecordSection::Figures(figures(&view.record, &visit.shell)));
    view.extra.extend(activity::sections(visit, ("endUserId", id), ActivityColumns::Person).await?);
    view.related.extend(tickets(visit, &view.record).await?);
    if EXPORT_SCOPES.iter().all(|scope| visit.api.may(scope)) {
        let export = address("/app/files/endusers/{}/export", &[id], &[("form", "json")]);
        view.actions.push(("Export", export));
    }
    if view.may_delete {
        let action = address("/app/records/endusers/{}/erase", &[id], &[]);
        let confirmation = confirmation(&view.record).to_owned();
        view.extra.push(RecordSection::Erase { action, confirmation, is_rejected: false });
    }
    Ok(())
}

/// Text that must be typed to erase a person.
pub(super) fn confirmation(record: &Map<String, Value>) -> &str {
    let texts = ["email", "name", "externalId", "_id"].map(|name| text(record, name));
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or("erase")
}

fn figures(record: &Map<String, Value>, shell: &Shell) -> Vec<Figure> {
    let company = text(record, "companyId");
    let named = [text(record, "companyName"), company, "none"];
    let named = named.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
    let path = match company {
        company if company.is_empty() || !shell.reads("companies") => String::new(),
        company => address("/app/records/companies/{}", &[company], &[]),
    };
    let note = text(record, "position").to_owned();
    let of_company = Figure { label: "Company", value: named.to_owned(), note, path };
    [of_company].into_iter().chain(engagement(record, shell.zone)).collect()
}

/// Engagement of a user or a company, in the days of a zone.
pub(super) fn engagement(record: &Map<String, Value>, zone: Zone) -> [Figure; 2] {
    let number = |name: &str| record.get(name).and_then(Value::as_f64).unwrap_or_default();
    let last = Timestamp::parse(text(record, "lastActive"));
    let last = last.map_or_else(|| "never".to_owned(), |last| Day::at(last, zone).to_string());
    let state = text(record, "activityState");
    let trend = svctrack_web::pages::percent(number("beatTrend"));
    [
        Figure {
            label: "Last active",
            note: if state == last { String::new() } else { state.to_owned() },
            value: last,
            path: String::new(),
        },
        Figure {
            label: "Activities in 14 days",
            value: grouped(&number("beats").to_string()),
            note: format!("trend {trend}, {} in all", grouped(&number("beatsTotal").to_string())),
            path: String::new(),
        },
    ]
}

/// Tickets from one of the user's addresses.
async fn tickets(visit: &Visit, record: &Map<String, Value>) -> Result<Option<RelatedList>, Error> {
    let email = text(record, "email");
    if email.is_empty() || !visit.api.may("tickets:read") {
        return Ok(None);
    }
    let list = newest(visit, &TICKET, ("email", email)).await?;
    let columns = filled_columns(list.columns, &list.records);
    Ok(Some(RelatedList { columns, ..list }))
}

//! The properties of an activity and of an integration issue (R38, R42): their filters, the columns of their CSV (R50),
//! and their API description.

use crate::{
    plan::Route,
    schema::{FieldDef, FieldKind, ListLimits, ResourceDef},
};

/// Numbers of activities (R38), or entries of the report (R42), in a list.
pub const LIST: ListLimits = ListLimits { default: 100, max: 2_000 };

/// Fields of an activity, as `/activities` returns it.
pub static ACTIVITY: ResourceDef = ResourceDef {
    name: "activity",
    path: "activities",
    doc: "An action of an end user.",
    fields: &[
        field(
            "_id",
            FieldKind::Id,
            "Id of the activity; ids of a tenant ascend in the order of storing.",
        )
        .required(),
        field(
            "companyId",
            FieldKind::Reference,
            "Company of the user when the activity was stored.",
        )
        .refers("company"),
        field("companyName", FieldKind::Text, "Current name of the company."),
        field("endUserId", FieldKind::Reference, "The end user.").refers("enduser").required(),
        field("endUserName", FieldKind::Text, "Current name of the user."),
        field("email", FieldKind::Email, "Current e-mail of the user."),
        field("externalId", FieldKind::Key, "Current `externalId` of the user."),
        field("assetId", FieldKind::Reference, "The asset, if one has the sent `externalId`.")
            .refers("asset"),
        field("assetExtId", FieldKind::Key, "`externalId` of the asset, as sent."),
        field("projectId", FieldKind::Reference, "The project, if one has the sent `externalId`.")
            .refers("project"),
        field("projectExtId", FieldKind::Key, "`externalId` of the project, as sent."),
        field("action", FieldKind::Text, "Action of the user.").required(),
        field("info", FieldKind::Object, "Extra data of the event, as sent."),
        field("count", FieldKind::Integer, "Number of occurrences, 1 to 300.").required(),
        field("weight", FieldKind::Number, "Relative importance in `experience`.").required(),
        field("passive", FieldKind::Bool, "Whether the event does not count as engagement.")
            .required(),
        field("date", FieldKind::Date, "When the event happened.").required(),
        field("receivedAt", FieldKind::Date, "When the event was received.").required(),
        field("route", FieldKind::Text, "Route by which the event was received.")
            .one_of(&Route::NAMES)
            .required(),
        field("messageId", FieldKind::Key, "The sender's id of the event."),
    ],
    ..ResourceDef::PLAIN
};

/// An entry of the report of possible integration issues.
pub static ENTRY: ResourceDef = ResourceDef {
    name: "integrationissue",
    path: "integrationissues",
    doc: "A problem that senders should fix.",
    fields: &[
        field("_id", FieldKind::Id, "Id of the entry.").required(),
        field("route", FieldKind::Text, "Route by which the event was received.")
            .one_of(&Route::NAMES)
            .required(),
        field("code", FieldKind::Text, "Stable code of the problem.").required(),
        field("message", FieldKind::Text, "Message with the problem and the fix.").required(),
        field("at", FieldKind::Date, "When the problem last occurred.").required(),
        field("count", FieldKind::Integer, "Number of occurrences.").required(),
        field("sample", FieldKind::Object, "Excerpt of what was sent.").required(),
        field(
            "parked",
            FieldKind::Integer,
            "Number of its events that are still parked; null if events of this code are never parked.",
        ),
    ],
    ..ResourceDef::PLAIN
};

/// A property that the service sets. A required one is never null.
const fn field(name: &'static str, kind: FieldKind, doc: &'static str) -> FieldDef {
    FieldDef::new(name, kind, doc).service()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::Finding,
        tracking::{activity, integration_issues},
        value::{Document, ObjectId, Timestamp},
    };

    #[track_caller]
    fn check(def: &ResourceDef, response: &Document) {
        let names: Vec<&str> = response.iter().map(|(name, _)| name).collect();
        assert_eq!(names, def.fields.iter().map(|field| field.name).collect::<Vec<_>>());
    }

    #[test]
    fn they_are_called_as_their_lists_are() {
        let said = [&ACTIVITY, &ENTRY].map(|def| (def.name, def.path, def.doc, def.list.max));
        let expect = [
            ("activity", "activities", "An action of an end user.", 2_000),
            ("integrationissue", "integrationissues", "A problem that senders should fix.", 2_000),
        ];
        assert_eq!(said, expect);
    }

    #[test]
    fn there_is_a_row_for_each_property() {
        check(&ACTIVITY, &activity::to_response(&activity::tests::sample(), None, None));
        let finding = Finding {
            route: Route::Bulk,
            code: "x",
            cause: String::new(),
            message: String::new(),
            at: Timestamp::MIN,
            count: 1,
            sample: Document::default(),
            people: Vec::new(),
        };
        check(
            &ENTRY,
            &integration_issues::ReportEntry::from_finding(&finding, ObjectId::MIN, Vec::new())
                .to_response_with(0),
        );
    }
}

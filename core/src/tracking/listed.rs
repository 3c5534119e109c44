//! The properties of an activity and of an integration issue (R38, R42): their filters, the columns of their CSV (R50),
//! and their API description.

use crate::{
    plan::Route,
    schema::{FieldDef, Kind, ListLimits, ResourceDef},
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
            Kind::Id,
            "Id of the activity; ids of a tenant ascend in the order of storing.",
        )
        .required(),
        field("companyId", Kind::Reference, "Company of the user when the activity was stored.")
            .refers("company"),
        field("companyName", Kind::Text, "Current name of the company."),
        field("endUserId", Kind::Reference, "The end user.").refers("enduser").required(),
        field("endUserName", Kind::Text, "Current name of the user."),
        field("email", Kind::Email, "Current e-mail of the user."),
        field("externalId", Kind::Key, "Current `externalId` of the user."),
        field("assetId", Kind::Reference, "The asset, if one has the sent `externalId`.")
            .refers("asset"),
        field("assetExtId", Kind::Key, "`externalId` of the asset, as sent."),
        field("projectId", Kind::Reference, "The project, if one has the sent `externalId`.")
            .refers("project"),
        field("projectExtId", Kind::Key, "`externalId` of the project, as sent."),
        field("action", Kind::Text, "Action of the user.").required(),
        field("info", Kind::Object, "Extra data of the event, as sent."),
        field("count", Kind::Integer, "Number of occurrences, 1 to 300.").required(),
        field("weight", Kind::Number, "Relative importance in `experience`.").required(),
        field("passive", Kind::Bool, "Whether the event does not count as engagement.").required(),
        field("date", Kind::Date, "When the event happened.").required(),
        field("receivedAt", Kind::Date, "When the event was received.").required(),
        field("route", Kind::Text, "Route by which the event was received.")
            .one_of(&Route::NAMES)
            .required(),
        field("messageId", Kind::Key, "The sender's id of the event."),
    ],
    ..ResourceDef::PLAIN
};

/// An entry of the report of possible integration issues.
pub static ENTRY: ResourceDef = ResourceDef {
    name: "integrationissue",
    path: "integrationissues",
    doc: "A problem that senders should fix.",
    fields: &[
        field("_id", Kind::Id, "Id of the entry.").required(),
        field("route", Kind::Text, "Route by which the event was received.")
            .one_of(&Route::NAMES)
            .required(),
        field("code", Kind::Text, "Stable code of the problem.").required(),
        field("message", Kind::Text, "Message with the problem and the fix.").required(),
        field("at", Kind::Date, "When the problem last occurred.").required(),
        field("count", Kind::Integer, "Number of occurrences.").required(),
        field("sample", Kind::Object, "Excerpt of what was sent.").required(),
    ],
    ..ResourceDef::PLAIN
};

/// A property that the service sets. A required one is never null.
const fn field(name: &'static str, kind: Kind, doc: &'static str) -> FieldDef {
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
    fn check(def: &ResourceDef, answer: &Document) {
        let names: Vec<&str> = answer.iter().map(|(name, _)| name).collect();
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
        check(&ACTIVITY, &activity::answer(&activity::tests::sample(), None, None));
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
        check(&ENTRY, &integration_issues::Entry::of(&finding, ObjectId::MIN, Vec::new()).answer());
    }
}

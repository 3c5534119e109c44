//! The properties of an activity and of an entry of the report, as lists return them (R38, R42): by these they are
//! filtered, these are the columns of a list as CSV (R50), and as these the API describes them.

use crate::{
    plan::Route,
    schema::{FieldDef, Kind, ListLimits, ResourceDef},
};

/// How many activities (R38), or entries of the report (R42), a list returns.
pub const LIST: ListLimits = ListLimits { default: 100, max: 2_000 };

/// The table of an activity, as `/activities` returns it.
pub static ACTIVITY: ResourceDef = ResourceDef {
    name: "activity",
    path: "activities",
    doc: "Something that an end user did.",
    fields: &[
        field(
            "_id",
            Kind::Id,
            "Id of the activity; the ids of a tenant ascend in the order of storing.",
        )
        .required(),
        field("companyId", Kind::Reference, "Company of the user when it was stored.")
            .refers("company"),
        field("companyName", Kind::Text, "Name of that company now."),
        field("endUserId", Kind::Reference, "The end user.").refers("enduser").required(),
        field("endUserName", Kind::Text, "Name of the user now."),
        field("email", Kind::Email, "E-mail of the user now."),
        field("externalId", Kind::Key, "`externalId` of the user now."),
        field(
            "assetId",
            Kind::Reference,
            "The asset, where one has the `externalId` that was sent.",
        )
        .refers("asset"),
        field("assetExtId", Kind::Key, "`externalId` of the asset, as it was sent."),
        field(
            "projectId",
            Kind::Reference,
            "The project, where one has the `externalId` that was sent.",
        )
        .refers("project"),
        field("projectExtId", Kind::Key, "`externalId` of the project, as it was sent."),
        field("action", Kind::Text, "What the user did.").required(),
        field("info", Kind::Object, "Extra data of the event, as it was sent."),
        field("count", Kind::Integer, "Number of occurrences, 1 to 300.").required(),
        field("weight", Kind::Number, "Relative importance: how much each counts in `experience`.")
            .required(),
        field("passive", Kind::Bool, "Whether it does not count as activity.").required(),
        field("date", Kind::Date, "When it happened.").required(),
        field("receivedAt", Kind::Date, "When it was received.").required(),
        field("route", Kind::Text, "Source: the route by which it was received.")
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
    doc: "Something that senders should fix.",
    fields: &[
        field("_id", Kind::Id, "Id of the entry.").required(),
        field("route", Kind::Text, "Source: the route by which it was received.")
            .one_of(&Route::NAMES)
            .required(),
        field("code", Kind::Text, "What it is, stable.").required(),
        field("message", Kind::Text, "What is wrong, and what would fix it.").required(),
        field("at", Kind::Date, "When it was last seen.").required(),
        field("count", Kind::Integer, "How often it was seen.").required(),
        field("sample", Kind::Object, "What was sent, in short.").required(),
    ],
    ..ResourceDef::PLAIN
};

/// A property that the service sets. One that is required is never null.
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
            ("activity", "activities", "Something that an end user did.", 2_000),
            ("integrationissue", "integrationissues", "Something that senders should fix.", 2_000),
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

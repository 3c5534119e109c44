//! The properties of an activity and of an entry of the report, as lists answer them (R38, R42): by these they are
//! filtered, and these are the columns of a list as CSV (R50).

use super::{activity, report};
use crate::schema::{Kind, ResourceDef, Row};

/// An activity.
pub static ACTIVITY: ResourceDef = ResourceDef {
    name: "activity",
    path: "activities",
    doc: "Something that an end user did.",
    rows: &[
        Row::new("_id", Kind::Id, "Id of the activity.").service(),
        Row::new("companyId", Kind::Reference, "Company of the user at that time.")
            .refers("company")
            .service(),
        Row::new("endUserId", Kind::Reference, "The end user.").refers("enduser").service(),
        Row::new("endUserName", Kind::Text, "Name of the user now.").service(),
        Row::new("email", Kind::Email, "E-mail of the user now.").service(),
        Row::new("externalId", Kind::Key, "`externalId` of the user now.").service(),
        Row::new("assetId", Kind::Reference, "The asset, if it was found.")
            .refers("asset")
            .service(),
        Row::new("assetExtId", Kind::Key, "Id of the asset, as it was sent.").service(),
        Row::new("projectId", Kind::Reference, "The project, if it was found.")
            .refers("project")
            .service(),
        Row::new("projectExtId", Kind::Key, "Id of the project, as it was sent.").service(),
        Row::new("action", Kind::Text, "What the user did.").service(),
        Row::new("info", Kind::Object, "Extra data of the event.").service(),
        Row::new("count", Kind::Integer, "Number of occurrences.").service(),
        Row::new("weight", Kind::Number, "Relative importance.").service(),
        Row::new("passive", Kind::Bool, "Whether it counts as no activity.").service(),
        Row::new("date", Kind::Date, "When it happened.").service(),
        Row::new("receivedAt", Kind::Date, "When it was received.").service(),
        Row::new("route", Kind::Text, "How it came in.").service(),
        Row::new("messageId", Kind::Key, "Id of the event.").service(),
    ],
    list: activity::LIST,
    ..ResourceDef::PLAIN
};

/// An entry of the report of possible integration issues.
pub static ENTRY: ResourceDef = ResourceDef {
    name: "integrationissue",
    path: "integrationissues",
    doc: "A possible integration issue.",
    rows: &[
        Row::new("_id", Kind::Id, "Id of the entry.").service(),
        Row::new("route", Kind::Text, "How it came in.").service(),
        Row::new("code", Kind::Text, "What it is.").service(),
        Row::new("message", Kind::Text, "What is wrong, and what would fix it.").service(),
        Row::new("at", Kind::Date, "When it was last seen.").service(),
        Row::new("count", Kind::Integer, "How often it was seen.").service(),
        Row::new("sample", Kind::Object, "What was sent, in short.").service(),
    ],
    list: report::LIST,
    ..ResourceDef::PLAIN
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Activity, Finding, Route},
        value::{Document, ObjectId, Timestamp},
    };

    #[track_caller]
    fn check(def: &ResourceDef, answer: &Document) {
        let names: Vec<&str> = answer.iter().map(|(name, _)| name).collect();
        assert_eq!(names, def.rows.iter().map(|row| row.name).collect::<Vec<_>>());
    }

    #[test]
    fn there_is_a_row_for_each_property() {
        let activity = Activity {
            id: ObjectId::MIN,
            company_id: None,
            end_user_id: ObjectId::MIN,
            action: String::new(),
            asset: None,
            project: None,
            info: None,
            count: 1,
            weight: 1.0,
            passive: false,
            date: Timestamp::MIN,
            received_at: Timestamp::MIN,
            route: Route::Bulk,
            message_id: None,
            asset_id: None,
            project_id: None,
        };
        check(&ACTIVITY, &activity::answer(&activity, None));
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
        check(&ENTRY, &report::Entry::of(&finding, ObjectId::MIN, Vec::new()).answer());
    }
}

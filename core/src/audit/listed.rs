//! The properties of an entry of the audit log, as lists return them.

use super::{Outcome, Who};
use crate::schema::{FieldDef, Kind, ListLimits, ResourceDef};

/// The table of an entry, as `/audit` returns it.
pub static ENTRY: ResourceDef = ResourceDef {
    name: "auditentry",
    path: "audit",
    doc: "A write, a sign-in, an export, or access that was denied.",
    fields: &[
        field("_id", Kind::Id, "Id of the entry; the ids of a tenant ascend in the order of storing.")
            .required(),
        field("sequence", Kind::Integer, "Number of its first change in the tenant's change log.")
            .required(),
        field("at", Kind::Date, "When it happened.").required(),
        field("action", Kind::Text, "What was done: a noun and a verb, such as `company.update`.")
            .required(),
        field("outcome", Kind::Text, "Whether it was done, or access was denied.")
            .one_of(&Outcome::NAMES)
            .required(),
        field("cause", Kind::Text, "Why access was denied: a code, or the scope that is missing."),
        field("count", Kind::Integer, "How often access was denied for this cause in the minute; else 1.")
            .required(),
        field(
            "actor",
            Kind::Text,
            "Who acted: a token, a session of the pages, the command line with the files of the store, the service by itself, or somebody unknown.",
        )
        .one_of(&Who::NAMES)
        .required(),
        field("tokenId", Kind::Key, "Id of the token; of a session, the token that it acts as."),
        field("tokenName", Kind::Text, "Label of the token at that time."),
        field("sessionId", Kind::Key, "Id of the session."),
        field("resource", Kind::Text, "Resource of the target, as in paths."),
        field("id", Kind::Key, "Id of the target; null where it is several."),
        field("created", Kind::Integer, "How many records it created.").required(),
        field("updated", Kind::Integer, "How many records it updated.").required(),
        field("deleted", Kind::Integer, "How many records it deleted.").required(),
        field("address", Kind::Text, "Address of the client."),
        field("requestId", Kind::Key, "`X-Request-Id` of the response."),
        field(
            "changes",
            Kind::Values,
            "What was changed of each record, where these are few; else of the record that is asked for.",
        )
        .each_with(CHANGE)
        .required(),
    ],
    list: ListLimits { default: 100, max: 1_000 },
    ..ResourceDef::PLAIN
};

/// The members of a change.
const CHANGE: &[FieldDef] = &[
    field("resource", Kind::Text, "Resource of the record, as in paths.").required(),
    field("id", Kind::Key, "Id of the record.").required(),
    field("change", Kind::Text, "What happened to the record.")
        .one_of(&["created", "updated", "deleted"])
        .required(),
    field(
        "properties",
        Kind::Object,
        "The properties that were changed, each with `beforeHash` and `afterHash`, or with `before` and `after` where `auditValues` is set.",
    )
    .required(),
];

/// A property that the service sets. One that is required is never null.
const fn field(name: &'static str, kind: Kind, doc: &'static str) -> FieldDef {
    FieldDef::new(name, kind, doc).service()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::tests::entry;

    #[test]
    fn there_is_a_row_for_each_property() {
        let answer = entry().answer(1, &[]);
        let names: Vec<&str> = answer.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ENTRY.fields.iter().map(|field| field.name).collect::<Vec<_>>());
    }
}

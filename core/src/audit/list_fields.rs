//! The properties of an entry of the audit log, as lists return them.

use super::{AuditActor, AuditOutcome, actions::RESOURCES};
use crate::schema::{FieldDef, FieldKind, ListLimits, ResourceDef};

/// Fields of an entry, as `/audit` returns it.
pub static ENTRY: ResourceDef = ResourceDef {
    name: "auditentry",
    path: "audit",
    doc: "A write, a sign-in, an export, or denied access.",
    fields: &[
        field("_id", FieldKind::Id, "Id of the entry; ids of a tenant ascend in the order of storing.")
            .required(),
        field("sequence", FieldKind::Integer, "Number of the first change in the tenant's change log.")
            .required(),
        field("at", FieldKind::Date, "Time of the request; of denied requests, which are counted together, of the entry.").required(),
        field("action", FieldKind::Text, "Action as noun and verb, such as `company.update`.")
            .required(),
        field("outcome", FieldKind::Text, "Whether the action was done, or access was denied.")
            .one_of(&AuditOutcome::NAMES)
            .required(),
        field("cause", FieldKind::Text, "Why access was denied: a code, or the missing scope."),
        field("count", FieldKind::Integer, "Number of denied requests with this cause in the minute; otherwise 1.")
            .required(),
        field(
            "actor",
            FieldKind::Text,
            "Who acted: a token, a session of the web application, the command line on the files of the store (`local`), the service, or somebody unknown.",
        )
        .one_of(&AuditActor::NAMES)
        .required(),
        field("tokenId", FieldKind::Key, "Id of the token, or of the session's token."),
        field("tokenName", FieldKind::Text, "Label of the token at the time."),
        field("sessionId", FieldKind::Key, "Id of the session."),
        field("resource", FieldKind::Text, "Resource of the target, as in paths.")
            .one_of(&RESOURCES),
        field("id", FieldKind::Key, "Id of the target; null for several targets."),
        field("created", FieldKind::Integer, "Number of created records.").required(),
        field("updated", FieldKind::Integer, "Number of updated records.").required(),
        field("deleted", FieldKind::Integer, "Number of deleted records.").required(),
        field("address", FieldKind::Text, "Address of the client."),
        field("requestId", FieldKind::Key, "`X-Request-Id` of the response; null for denied requests."),
        field(
            "changes",
            FieldKind::Values,
            "Changes of the records in the query; without these, of each record if they are few.",
        )
        .each_with(CHANGE)
        .required(),
    ],
    list: ListLimits { default: 100, max: 1_000 },
    ..ResourceDef::PLAIN
};

/// The members of a change.
const CHANGE: &[FieldDef] = &[
    field("resource", FieldKind::Text, "Resource of the record, as in paths.").required(),
    field("id", FieldKind::Key, "Id of the record.").required(),
    field("change", FieldKind::Text, "Kind of change.")
        .one_of(&["created", "updated", "deleted"])
        .required(),
    field(
        "properties",
        FieldKind::Object,
        "Changed properties, each with `beforeHash` and `afterHash`, or with `before` and `after` if `auditValues` is on.",
    )
    .required(),
];

/// A property that the service sets. A required one is never null.
const fn field(name: &'static str, kind: FieldKind, doc: &'static str) -> FieldDef {
    FieldDef::new(name, kind, doc).service()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::tests::entry;

    #[test]
    fn there_is_a_row_for_each_property() {
        let response = entry().to_response(1, &[]);
        let names: Vec<&str> = response.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ENTRY.fields.iter().map(|field| field.name).collect::<Vec<_>>());
    }
}

//! Engagement fields of users and companies (R37): computed at read, from data stored apart from the record.

use crate::{
    schema::{LookupError, ReadCtx, ResourceDef},
    value::{Document, Json, ObjectId, engagement::EngagementField},
};

/// The value of a field of a record.
pub(super) fn read(
    def: &ResourceDef,
    record: &Document,
    row: EngagementField,
    ctx: &ReadCtx<'_>,
) -> Result<Option<Json>, LookupError> {
    let id = record.text("_id").and_then(|id| ObjectId::parse(&id));
    let Some(id) = id else { return Ok(None) };
    let engagement = ctx.lookup.engagement(def, id)?.unwrap_or_default();
    Ok(engagement.value(row, ctx.now))
}

/// Names the functions of a resource that compute these fields.
macro_rules! engagement_rows {
    ($def:ident: $($name:ident => $row:ident,)*) => {
        $(
            fn $name(
                record: &$crate::value::Document,
                ctx: &$crate::schema::ReadCtx<'_>,
            ) -> Result<Option<$crate::value::Json>, $crate::schema::LookupError> {
                let row = $crate::value::engagement::EngagementField::$row;
                $crate::resources::engagement_fields::read(&$def, record, row, ctx)
            }
        )*
    };
}

pub(super) use engagement_rows;

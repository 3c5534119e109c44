//! Records that come back from an export (R51): each is stored as it was, and what the service had computed of it stays
//! computed.

use super::{
    answer::answer_rows,
    context::Ctx,
    ignored::is_same,
    record_update::{STAND_INS, fill},
};
use crate::{
    schema::{
        FieldDef, Fill, FillCtx, Lookup, LookupError, ReadCtx, ResourceDef, Shaped,
        shape::read_value,
    },
    value::Document,
};

/// Takes into a body what an import brings back although the service sets it, where a record does not show it already.
///
/// # Errors
/// When the store cannot say.
pub(super) fn carry(
    def: &ResourceDef,
    sent: &Document,
    before: Option<&Document>,
    shaped: &mut Shaped,
    (lookup, ctx): (&dyn Lookup, &Ctx),
) -> Result<(), LookupError> {
    if !ctx.origin.is_import() {
        return Ok(());
    }
    // An import names what it ignores by itself.
    shaped.fixed = Document::default();
    if !ctx.origin.is_record() {
        return Ok(());
    }
    for field in def.fields.iter().filter(|field| field.carried) {
        let Some(value) = sent.value(field.name).and_then(|value| read_value(field, value).ok())
        else {
            continue;
        };
        let is_this = |other: &FieldDef| other.name == field.name;
        let shown =
            before.map(|before| answer_rows(def, before, &is_this, &ReadCtx::new(ctx.now, lookup)));
        let shown = shown.transpose()?;
        let shown = shown.as_ref().and_then(|shown| shown.get(field.name));
        if !is_same(field, Some(value.as_ref()), shown) {
            shaped.patch.set(field.name, value);
        }
    }
    Ok(())
}

/// What a caller set of a record: the rest is computed to the same values. A response does not say which is which, so it
/// is as little as there can be.
pub(super) fn restored(def: &ResourceDef, patch: Document, ctx: FillCtx) -> Document {
    let mut all = Document::default();
    for (name, value) in patch.iter().filter(|(_, value)| !value.is_null()) {
        all.set(name, value.to_json());
    }
    let mut set = all.clone();
    // Figures that were computed first, such as a price by the month, are those that others follow from.
    for field in def.fields.iter().rev() {
        let Fill::IfAbsent(compute) = field.fill else { continue };
        let Some(value) = set.remove(field.name) else { continue };
        if compute(&set, ctx).as_ref() != Some(&value) {
            set.set(field.name, value);
        }
    }
    let shown = |document: &Document| {
        let mut filled = fill(def, document.clone(), ctx);
        filled.remove(STAND_INS);
        filled
    };
    if shown(&set) == shown(&all) { set } else { patch }
}

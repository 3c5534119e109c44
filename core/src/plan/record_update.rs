//! From the stored record and the body to the new record (R2, R4, R5), and the index entries that it claims.

use super::{
    context::Ctx,
    patch::merge,
    references::{resolve_references, resolve_text, target_of},
    unknown_properties::ignored,
};
use crate::{
    schema::{
        CheckedBody, CompletionContext, Fill, FillCtx, Lookup, LookupError, ReadCtx, ResourceDef,
        SentBody, SideRecord,
    },
    value::{Document, Json, JsonRef, ValidationError},
};

/// Hidden member of a stored record: the names of the fields with placeholder values for absent ones, and those of
/// retained values, marked with [`RETAINED`]. No caller can set it, since no field has this name.
pub(super) const STAND_INS: &str = "~";
/// Begins the name of a retained value: one that was computed, and stays as what it was computed from changes.
const RETAINED: char = '=';

/// The largest record, in bytes of its values: twice what one body can bring (a ticket's, 2 MiB), since bodies
/// add up.
const MAX_RECORD_BYTES: usize = 4 * 1024 * 1024;

/// The record that will be stored: the body, merged into the stored record, completed and filled; and its issues.
///
/// # Errors
/// If the store cannot be read.
pub(super) fn assemble(
    def: &'static ResourceDef,
    before: Option<&Document>,
    mut base: Document,
    mut body: CheckedBody,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<AssembledRecord, LookupError> {
    let mut patch = std::mem::take(&mut body.patch);
    if !ctx.origin.is_import() {
        note_conditional(def, &patch, &mut body.fixed, lookup)?;
    }
    let mut returned = Document::default();
    let mut retained = retained(&base);
    for (name, value) in take_stand_ins(&mut base) {
        if value.as_ref().map(Json::as_ref) == patch.get(&name)
            && let Some(value) = patch.remove(&name)
        {
            returned.set(&name, value);
        }
    }
    // As little as a placeholder was a retained value set by a caller: null has no effect on it either.
    for name in &retained {
        let is_unset =
            patch.get(name).is_some_and(|sent| sent.is_null() || Some(sent) == base.get(name));
        if is_unset
            && let Some(value) = patch.remove(name).filter(|value| !value.as_ref().is_null())
        {
            returned.set(name, value);
        }
    }
    let actor = ctx.actor.map(|actor| actor.to_string());
    (def.prepare)(&mut SentBody {
        before,
        base: &mut base,
        patch: &mut patch,
        returned: &returned,
        retained: &mut retained,
        now: ctx.now,
        actor: actor.as_deref(),
        origin: ctx.origin,
    });
    retained.retain(|name| base.get(name).is_some() && patch.get(name).is_none());
    let (mut issues, mut side_records) = (Vec::new(), Vec::new());
    merge(def, &patch, &mut base, &mut issues);
    resolve_references(def, &mut base, lookup, &mut issues)?;
    body.add_issues(issues);
    let mut issues = body.issues.clone();
    let mut completion = CompletionContext {
        before,
        sent: &patch,
        origin: ctx.origin,
        lookup,
        now: ctx.now,
        ids: &mut ctx.ids,
        side_records: &mut side_records,
        issues: &mut issues,
    };
    (def.complete)(&mut base, &mut completion)?;
    body.add_issues(issues.split_off(body.issues.len()));
    let bytes: usize = base.iter().map(|(name, value)| name.len() + value.text().len()).sum();
    if bytes > MAX_RECORD_BYTES {
        let message = format!("a record must be at most {MAX_RECORD_BYTES} bytes");
        body.issues.push(ValidationError::of_body("record_too_large", message));
    }
    let mut document = fill(def, base, ctx.fill(def, lookup)?);
    retain(&mut document, &retained);
    let ignored = ignored(def, &mut body, before, &document, &ReadCtx::new(ctx.now, lookup))?;
    Ok(AssembledRecord { document, side_records, ignored, issues: body.issues })
}

/// Adds values that are stored in some states of the record only to those that the record is compared with (R49).
fn note_conditional(
    def: &ResourceDef,
    patch: &Document,
    fixed: &mut Document,
    lookup: &dyn Lookup,
) -> Result<(), LookupError> {
    for field in def.fields.iter().filter(|field| field.conditional) {
        let Some(value) = patch.value(field.name) else { continue };
        let id = match (target_of(field), value.as_str()) {
            (Some((refers, target)), Some(text)) => resolve_text(refers, target, &text, lookup)?,
            _ => None,
        };
        fixed.set(field.name, id.map_or_else(|| value.to_json(), |id| Json::string(&id)));
    }
    Ok(())
}

/// Takes the placeholder values of absent properties out of a stored record.
pub(super) fn take_stand_ins(stored: &mut Document) -> Vec<(String, Option<Json>)> {
    let names = stand_ins(stored);
    stored.remove(STAND_INS);
    names.into_iter().map(|name| (name.clone(), stored.remove(&name))).collect()
}

/// Names of the fields of a stored record with placeholder values.
pub(super) fn stand_ins(stored: &Document) -> Vec<String> {
    hidden_names(stored).filter(|name| !name.starts_with(RETAINED)).collect()
}

/// Names of the fields of a stored record with retained values.
fn retained(stored: &Document) -> Vec<String> {
    hidden_names(stored).filter_map(|name| Some(name.strip_prefix(RETAINED)?.to_owned())).collect()
}

fn hidden_names(stored: &Document) -> impl Iterator<Item = String> {
    let names = stored.value(STAND_INS).and_then(JsonRef::items).unwrap_or_default();
    names.into_iter().filter_map(|name| Some(name.as_ref().as_str()?.into_owned()))
}

/// Notes which values of a record are retained.
fn retain(document: &mut Document, names: &[String]) {
    if !names.is_empty() {
        let retained = names.iter().map(|name| format!("{RETAINED}{name}"));
        let hidden: Vec<String> = stand_ins(document).into_iter().chain(retained).collect();
        document.remove(STAND_INS);
        document.set(STAND_INS, Json::strings(hidden.iter().map(String::as_str)));
    }
}

/// A record that can be stored if there are no issues, and the records that are created with it.
pub(super) struct AssembledRecord {
    pub(super) document: Document,
    pub(super) side_records: Vec<SideRecord>,
    /// Names of properties that were sent and are not stored (R49).
    pub(super) ignored: Vec<String>,
    pub(super) issues: Vec<ValidationError>,
}

/// Computes the fields that are filled on write, and puts the members in the order of the fields.
pub(super) fn fill(def: &ResourceDef, mut document: Document, ctx: FillCtx) -> Document {
    let mut filled = Document::default();
    let mut stand_ins = Vec::new();
    for field in def.fields {
        let computed = match field.fill {
            Fill::OnWrite(compute) => Some(compute(&document, ctx)),
            Fill::IfAbsent(compute) if document.value(field.name).is_none() => {
                stand_ins.push(field.name);
                Some(compute(&document, ctx))
            }
            Fill::IfAbsent(_) | Fill::Sent | Fill::Service => None,
            Fill::OnRead(_) | Fill::NameOf(_) | Fill::Derived => continue,
        };
        if let Some(computed) = computed {
            match computed {
                Some(value) => document.set(field.name, value),
                None => drop(document.remove(field.name)),
            }
        }
        if let Some(value) = document.get(field.name) {
            filled.set(field.name, value.to_json());
        }
    }
    if !stand_ins.is_empty() {
        filled.set(STAND_INS, Json::strings(stand_ins));
    }
    filled
}

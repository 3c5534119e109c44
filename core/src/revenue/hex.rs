//! Ids in the JSON of a report: as everywhere, 24 hex digits.

use serde::Serializer;

use crate::value::ObjectId;

pub(super) fn one<S: Serializer>(id: &ObjectId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}

pub(super) fn some<S: Serializer>(id: &Option<ObjectId>, serializer: S) -> Result<S::Ok, S::Error> {
    match id {
        Some(id) => one(id, serializer),
        None => serializer.serialize_none(),
    }
}

pub(super) fn many<S: Serializer>(ids: &[ObjectId], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(ids.iter().map(ToString::to_string))
}

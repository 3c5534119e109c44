//! The known name nearest to an unknown one.

/// Characters for each edit that a misspelled name may have, which is at least one.
const CHARACTERS_PER_EDIT: usize = 3;

/// The name among `known` that is nearest to `name`, if one is near: case, `-` and `_` do not count, and one
/// character in three may be wrong, missing, too many or swapped with its neighbour. Of several the first.
///
/// ```
/// use svctrack_core::value::nearest;
/// assert_eq!(nearest("external_id", ["_id", "externalId"]), Some("externalId"));
/// assert_eq!(nearest("emial", ["name", "email"]), Some("email"));
/// assert_eq!(nearest("colour", ["name", "email"]), None);
/// ```
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = plain(name);
    let most = (name.chars().count() / CHARACTERS_PER_EDIT).max(1);
    let edits = |known: &&str| strsim::damerau_levenshtein(&name, &plain(known));
    let near = known.into_iter().map(|known| (edits(&known), known));
    near.filter(|(edits, _)| *edits <= most).min_by_key(|(edits, _)| *edits).map(|(_, known)| known)
}

/// The same as the end of a message about the name; empty where none is near.
///
/// ```
/// use svctrack_core::value::near_name;
/// assert_eq!(near_name("emial", ["name", "email"]), "; did you mean `email`?");
/// assert_eq!(near_name("colour", ["name", "email"]), "");
/// ```
pub fn near_name<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// A name without what people spell differently.
fn plain(name: &str) -> String {
    name.chars().filter(|char| !"-_ ".contains(*char)).flat_map(char::to_lowercase).collect()
}

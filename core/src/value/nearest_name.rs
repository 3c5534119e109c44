//! The known name nearest to an unknown one.

/// Characters of a name for each edit that is allowed; one edit always is.
const CHARACTERS_PER_EDIT: usize = 3;

/// The name among `known` that is nearest to `name`, if one is near: case, `-` and `_` do not count, and one character
/// in three may be wrong, missing, too many or swapped with its neighbour. Of several names, the first.
///
/// ```
/// use svctrack_core::value::nearest;
/// assert_eq!(nearest("external_id", ["_id", "externalId"]), Some("externalId"));
/// assert_eq!(nearest("emial", ["name", "email"]), Some("email"));
/// assert_eq!(nearest("colour", ["name", "email"]), None);
/// assert_eq!(nearest("c", ["__v"]), None);
/// ```
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: String = plain(name).collect();
    let length = name.chars().count();
    let most = (length / CHARACTERS_PER_EDIT).max(1);
    let edits = |known: &str| {
        // A name that is longer by more characters needs more edits, and need not be compared.
        let is_as_long = plain(known).count().abs_diff(length) <= most;
        let compare = || strsim::damerau_levenshtein(&name, &plain(known).collect::<String>());
        // A name of which nothing is the same is none that was meant.
        is_as_long.then(compare).filter(|edits| *edits <= most && *edits < length)
    };
    let near = known.into_iter().filter_map(|known| Some((edits(known)?, known)));
    near.min_by_key(|(edits, _)| *edits).map(|(_, known)| known)
}

/// Ends a message about a name with the known one that is nearest; empty where none is near.
///
/// ```
/// use svctrack_core::value::near_name;
/// assert_eq!(near_name("emial", ["name", "email"]), "; did you mean `email`?");
/// assert_eq!(near_name("colour", ["name", "email"]), "");
/// ```
pub fn near_name<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// A name without the characters that people spell differently.
fn plain(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|char| !"-_ ".contains(*char)).flat_map(char::to_lowercase)
}

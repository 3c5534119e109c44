//! Lines of licenses: a license, its renewals and their renewals. Each names as its `parent` the first license of the line,
//! or the license before it (R55).

use crate::value::ObjectId;

/// The lines of the licenses of a company.
#[derive(Debug, Default)]
pub(crate) struct LicenseLines {
    /// Licenses with a parent, and the parent, in the order of their ids.
    parents: Vec<(ObjectId, ObjectId)>,
    firsts: Vec<FirstOfLine>,
}

/// First license of the line of a license with a parent.
#[derive(Clone, Copy, Debug)]
enum FirstOfLine {
    Unknown,
    /// Being looked for: the license is on the way to it, after this many others.
    OnPath(usize),
    Known(ObjectId),
}

impl LicenseLines {
    /// Lines of licenses, each with its `_id` and its `parent`.
    pub(crate) fn from_parents(
        licenses: impl Iterator<Item = (ObjectId, Option<ObjectId>)>,
    ) -> Self {
        let mut parents: Vec<_> = licenses.filter_map(|(id, parent)| Some((id, parent?))).collect();
        parents.sort_unstable();
        let firsts = vec![FirstOfLine::Unknown; parents.len()];
        let mut lines = Self { parents, firsts };
        for place in 0..lines.parents.len() {
            lines.find_first(place);
        }
        lines
    }

    /// First license of the line of a license: one without a known parent; of a circle the one with the lowest id.
    pub(crate) fn first_of(&self, id: ObjectId) -> ObjectId {
        let known = self.place_of(id).and_then(|place| self.firsts.get(place));
        match known {
            Some(FirstOfLine::Known(first)) => *first,
            _ => id,
        }
    }

    fn find_first(&mut self, place: usize) {
        let (mut next, mut path) = (Some(place), Vec::new());
        let mut first = ObjectId::MIN;
        while let Some(place) = next {
            let Some((id, parent)) = self.parents.get(place).copied() else { break };
            match self.firsts.get(place) {
                Some(FirstOfLine::Known(known)) => {
                    first = *known;
                    break;
                }
                Some(FirstOfLine::OnPath(before)) => {
                    let circle = path.iter().skip(*before).map(|(id, _)| *id);
                    first = circle.min().unwrap_or(id);
                    break;
                }
                _ => self.set_first(place, FirstOfLine::OnPath(path.len())),
            }
            path.push((id, place));
            first = parent;
            next = self.place_of(parent);
        }
        path.into_iter().for_each(|(_, place)| self.set_first(place, FirstOfLine::Known(first)));
    }

    fn place_of(&self, id: ObjectId) -> Option<usize> {
        self.parents.binary_search_by_key(&id, |(id, _)| *id).ok()
    }

    fn set_first(&mut self, place: usize, first: FirstOfLine) {
        if let Some(known) = self.firsts.get_mut(place) {
            *known = first;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first license of each, where letters are licenses and `b:a` has the parent `a`.
    fn firsts(licenses: &str) -> String {
        let id = |letter: &str| {
            let mut bytes = [0; 12];
            bytes[11] = letter.as_bytes()[0];
            ObjectId::from_bytes(bytes)
        };
        let read = |license: &str| match license.split_once(':') {
            Some((own, parent)) => (id(own), Some(id(parent))),
            None => (id(license), None),
        };
        let licenses: Vec<_> = licenses.split(' ').map(read).collect();
        let lines = LicenseLines::from_parents(licenses.iter().copied());
        let first = |(own, _): &(ObjectId, _)| char::from(lines.first_of(*own).as_bytes()[11]);
        licenses.iter().map(first).collect()
    }

    #[test]
    fn a_line_is_of_the_parents_of_parents() {
        for (licenses, expect) in [
            ("a b", "ab"),
            ("a b:a c:a", "aaa"),
            ("a b:a c:b d:c", "aaaa"),
            ("d c:d b:c a:b", "dddd"),
            ("b:x c:b", "xx"),
            ("a:a b:a", "aa"),
            ("b:c c:b d:c", "bbb"),
            ("a:b b:c c:d d:b", "bbbb"),
        ] {
            assert_eq!(firsts(licenses), expect, "{licenses}");
        }
    }
}

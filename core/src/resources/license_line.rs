//! Lines of licenses: a license, its renewals and their renewals. Each names as its `parent` the first license of the line,
//! or the license before it (R55).

/// The lines of the licenses of a company. Ids are texts where a `parent` may be any text (R2).
#[derive(Debug)]
pub(crate) struct LicenseLines<I> {
    /// Licenses with a parent, and the parent, in the order of their ids.
    parents: Vec<(I, I)>,
    firsts: Vec<FirstOfLine<I>>,
}

impl<I> Default for LicenseLines<I> {
    fn default() -> Self {
        Self { parents: Vec::new(), firsts: Vec::new() }
    }
}

/// First license of the line of a license with a parent.
#[derive(Clone, Debug)]
enum FirstOfLine<I> {
    Unknown,
    /// Being looked for: the license is on the way to it, after this many others.
    OnPath(usize),
    Known(I),
}

impl<I: Ord + Clone> LicenseLines<I> {
    /// Lines of licenses, each with its `_id` and its `parent`.
    pub(crate) fn from_parents(licenses: impl Iterator<Item = (I, Option<I>)>) -> Self {
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
    pub(crate) fn first_of(&self, id: I) -> I {
        let known = self.place_of(&id).and_then(|place| self.firsts.get(place));
        match known {
            Some(FirstOfLine::Known(first)) => first.clone(),
            _ => id,
        }
    }

    fn find_first(&mut self, place: usize) {
        let (mut at, mut path) = (place, Vec::new());
        let first = loop {
            let Some((id, parent)) = self.parents.get(at).cloned() else { return };
            match self.firsts.get(at) {
                Some(FirstOfLine::Known(known)) => break known.clone(),
                Some(FirstOfLine::OnPath(before)) => {
                    let circle = path.iter().skip(*before).map(|(id, _)| id);
                    break circle.min().cloned().unwrap_or(id);
                }
                _ => self.set_first(at, FirstOfLine::OnPath(path.len())),
            }
            path.push((id, at));
            match self.place_of(&parent) {
                Some(next) => at = next,
                None => break parent,
            }
        };
        for (_, place) in path {
            self.set_first(place, FirstOfLine::Known(first.clone()));
        }
    }

    fn place_of(&self, id: &I) -> Option<usize> {
        self.parents.binary_search_by(|(known, _)| known.cmp(id)).ok()
    }

    fn set_first(&mut self, place: usize, first: FirstOfLine<I>) {
        if let Some(known) = self.firsts.get_mut(place) {
            *known = first;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The first license of each, where letters are licenses and `b:a` has the parent `a`.
    fn firsts(licenses: &'static str) -> String {
        let read = |license: &'static str| match license.split_once(':') {
            Some((own, parent)) => (own, Some(parent)),
            None => (license, None),
        };
        let licenses: Vec<_> = licenses.split(' ').map(read).collect();
        let lines = LicenseLines::from_parents(licenses.iter().copied());
        licenses.iter().map(|(own, _)| lines.first_of(*own)).collect()
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

    thread_local! {
        static CLONES: Cell<usize> = const { Cell::new(0) };
    }

    /// An id that counts how often ids are copied.
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    struct CountedId(usize);

    impl Clone for CountedId {
        fn clone(&self) -> Self {
            CLONES.set(CLONES.get() + 1);
            Self(self.0)
        }
    }

    #[test]
    fn the_steps_of_a_long_line_grow_with_its_length() {
        const LENGTH: usize = 1_000;
        let line = (0..LENGTH).map(|id| (CountedId(id), Some(CountedId(id + 1))));
        let lines = LicenseLines::from_parents(line);
        assert_eq!(lines.first_of(CountedId(0)).0, LENGTH);
        assert!(CLONES.get() < 10 * LENGTH, "{} copies", CLONES.get());
    }
}

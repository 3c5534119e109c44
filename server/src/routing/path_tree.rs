//! Routes by path: a tree with a node per segment. A literal segment takes precedence over `:name`, which matches any
//! non-empty segment.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    ops::{Deref, DerefMut},
    str::Split,
};

use percent_encoding::percent_decode_str;
use poem::Request;

/// Segments of the path of a route.
pub(crate) struct Pattern(Box<[String]>);

/// A request whose route is known, with the pattern of its path.
pub(crate) struct RoutedRequest<'p> {
    pub(crate) request: Request,
    pub(crate) pattern: &'p Pattern,
}

impl Deref for RoutedRequest<'_> {
    type Target = Request;

    fn deref(&self) -> &Request {
        &self.request
    }
}

impl DerefMut for RoutedRequest<'_> {
    fn deref_mut(&mut self) -> &mut Request {
        &mut self.request
    }
}

/// Values at a path, and at the paths below it.
pub(crate) struct PathTree<T> {
    here: Option<(Pattern, T)>,
    named: BTreeMap<String, Self>,
    any: Option<Box<Self>>,
}

impl<T> Default for PathTree<T> {
    fn default() -> Self {
        Self { here: None, named: BTreeMap::new(), any: None }
    }
}

impl<T> PathTree<T> {
    /// Adds the value at a path.
    ///
    /// # Errors
    /// When the path has another value.
    pub(crate) fn add(&mut self, path: &str, value: T) -> Result<(), String> {
        let mut node = self;
        for part in parts(path) {
            node = match part.starts_with(':') {
                true => node.any.get_or_insert_default(),
                false => node.named.entry(part.to_owned()).or_default(),
            };
        }
        let pattern = Pattern(parts(path).map(str::to_owned).collect());
        match node.here.replace((pattern, value)) {
            Some((Pattern(other), _)) => {
                Err(format!("{path}: it is the same as /{}", other.join("/")))
            }
            None => Ok(()),
        }
    }

    /// Value at the path of a request.
    pub(crate) fn find(&self, path: &str) -> Option<&(Pattern, T)> {
        self.find_below(parts(path))
    }

    fn find_below(&self, mut parts: Split<'_, char>) -> Option<&(Pattern, T)> {
        let Some(part) = parts.next() else { return self.here.as_ref() };
        let named = self.named.get(part).and_then(|node| node.find_below(parts.clone()));
        let any = || self.any.as_ref().filter(|_| !part.is_empty())?.find_below(parts);
        named.or_else(any)
    }
}

fn parts(path: &str) -> Split<'_, char> {
    path.strip_prefix('/').unwrap_or(path).split('/')
}

/// Part of a request's path for `:name`, percent-decoded once; none when it is not UTF-8.
pub(crate) fn path_part<'r>(request: &'r RoutedRequest<'_>, name: &str) -> Option<Cow<'r, str>> {
    let Pattern(pattern) = request.pattern;
    let place = pattern.iter().position(|known| known.strip_prefix(':') == Some(name))?;
    let part = parts(request.uri().path()).nth(place)?;
    match part.contains('%') {
        true => percent_decode_str(part).decode_utf8().ok(),
        false => Some(part.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> PathTree<u8> {
        let mut tree = PathTree::default();
        let paths = ["/", "/a", "/a/:id", "/a/b", "/a/:id/c", "/a/b/:x/d"];
        for (number, path) in (0..).zip(paths) {
            tree.add(path, number).unwrap();
        }
        tree
    }

    #[test]
    fn names_go_before_any_part_unless_nothing_is_below_them() {
        for (path, expected) in [
            ("/", Some(0)),
            ("/a", Some(1)),
            ("/a/x", Some(2)),
            ("/a/b", Some(3)),
            ("/a/x/c", Some(4)),
            ("/a/b/c", Some(4)),
            ("/a/b/c/d", Some(5)),
            ("", Some(0)),
            ("*", None),
            ("/b", None),
            ("/a/", None),
            ("/a//c", None),
            ("/a/x/y", None),
            ("/a/x/c/d", None),
        ] {
            assert_eq!(tree().find(path).map(|(_, number)| *number), expected, "{path}");
        }
    }

    #[test]
    fn two_routes_do_not_have_the_same_path() {
        for (path, is_free) in [("/a/:other", false), ("/a/b", false), ("/a/c", true)] {
            assert_eq!(tree().add(path, 9).is_ok(), is_free, "{path}");
        }
    }

    #[test]
    fn a_part_is_decoded_once_where_it_is_utf_8() {
        for (path, expected) in [
            ("/a/x", Some("x")),
            ("/a/%2541/c", Some("%41")),
            ("/a/x%2Fy", Some("x/y")),
            ("/a/%ff", None),
            ("/a", None),
        ] {
            let request = Request::builder().uri(path.parse().unwrap()).finish();
            let tree = tree();
            let (pattern, _) = tree.find(path).unwrap();
            let request = RoutedRequest { request, pattern };
            assert_eq!(path_part(&request, "id").as_deref(), expected, "{path}");
            assert!(path_part(&request, "i").is_none());
        }
    }
}

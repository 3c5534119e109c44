//! A parameter of a list that is not known, and the one that it may have been meant for (R49).

use crate::value::{Issue, issue::quoted, nearest};

/// A parameter that is no parameter and no property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// As it was sent.
    pub name: String,
    /// The known name that is like it, if there is one.
    pub nearest: Option<String>,
}

impl Unknown {
    /// Looks for the known name that is most like `name`.
    pub fn among<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Self {
        let nearest = nearest(name, known);
        Self { name: name.to_owned(), nearest: nearest.map(str::to_owned) }
    }

    /// What is wrong with it.
    pub fn issue(&self) -> Issue {
        let mut message = format!("{} is no known parameter or property", quoted(&self.name));
        if let Some(nearest) = &self.nearest {
            message.push_str(&format!("; did you mean `{nearest}`?"));
        }
        Issue::of_member(&self.name, "unknown_parameter", message)
    }
}

//! Names of actions, numbered in order of appearance.

use std::collections::HashMap;

/// Names, and the number of each.
#[derive(Clone, Debug, Default)]
pub(super) struct ActionNames {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl ActionNames {
    /// Number of a name; a new name gets the next number.
    pub(super) fn number_of(&mut self, name: &str) -> u32 {
        if let Some(known) = self.numbers.get(name) {
            return *known;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.numbers.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        number
    }

    /// Number of a name, if it has one.
    pub(super) fn get(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    pub(super) fn name(&self, number: u32) -> &str {
        self.names.get(index(number)).map_or("", String::as_str)
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }
}

pub(super) fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

//! Recognizes a form that is sent again, by its key. A page that shows a new token shows it once; a browser that loads
//! the page again sends its form again, which must not issue another token.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Number of forms that are remembered, of all users: more than are sent while one of them is open.
const MAX_FORMS: usize = 1_000;

/// Keys of the latest forms.
#[derive(Default)]
pub(crate) struct FormKeys(Mutex<VecDeque<String>>);

impl FormKeys {
    /// Notes a form by its key; returns whether it is sent for the first time. A form without a key always is.
    pub(crate) fn is_first(&self, key: &str) -> bool {
        let mut keys = self.0.lock();
        if key.is_empty() {
            return true;
        }
        if keys.iter().any(|known| known == key) {
            return false;
        }
        keys.truncate(MAX_FORMS - 1);
        keys.push_front(key.to_owned());
        true
    }

    /// Forgets a form that was rejected, which may be sent again, also after going back to it.
    pub(crate) fn forget(&self, key: &str) {
        self.0.lock().retain(|known| known != key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_sent_once_and_the_latest_ones_are_remembered() {
        let forms = FormKeys::default();
        assert!(forms.is_first("a") && !forms.is_first("a"));
        assert!(forms.is_first("") && forms.is_first(""));
        forms.forget("a");
        assert!(forms.is_first("a") && !forms.is_first("a"));
        (1..MAX_FORMS).for_each(|number| assert!(forms.is_first(&number.to_string())));
        assert!(!forms.is_first("a"));
        assert!(forms.is_first("one more") && forms.is_first("a"));
    }
}

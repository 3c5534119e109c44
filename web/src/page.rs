//! The parts of every page: a template, and a policy that allows what the page needs.

/// A page and the content security policy that it must be sent with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub html: String,
    /// The value of the `Content-Security-Policy` header.
    pub csp: String,
}

/// The template with each `{{name}}` replaced. One pass: a value that looks like a name stays as it is.
pub(crate) fn fill(template: &str, values: &[(&str, String)]) -> String {
    let mut parts = template.split("{{");
    let mut page = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        let value = values.iter().find(|(known, _)| *known == name);
        page.push_str(value.map_or("", |(_, value)| value));
        page.push_str(rest);
    }
    page
}

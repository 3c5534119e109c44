//! `svctrack.toml`, the configuration file: each line has the name of a flag.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::Path,
};

use serde::de::{DeserializeOwned, IgnoredAny};
use svctrack_core::value::nearest;

use super::{
    error::ConfigError,
    options::{ConfigOverrides, names},
};
use crate::text_file;

/// Name of the file in the working folder that is read when it exists.
pub const FILE_NAME: &str = "svctrack.toml";

impl ConfigOverrides {
    /// Reads a configuration file; a missing file sets nothing.
    ///
    /// # Errors
    /// [`ConfigError::File`] when the file cannot be read, or has an unknown line.
    pub fn of_file(path: &Path) -> Result<Self, ConfigError> {
        read_if_there(path, read_file)
    }
}

/// The names of the settings that a configuration file has.
///
/// # Errors
/// As [`ConfigOverrides::of_file`].
pub fn names_in_file(path: &Path) -> Result<BTreeSet<String>, ConfigError> {
    read_if_there(path, |text| {
        let lines: BTreeMap<String, IgnoredAny> = parse(text)?;
        Ok(lines.into_keys().collect())
    })
}

/// Result of `read` for a file, or the default for a missing one.
fn read_if_there<T: Default>(
    path: &Path,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, ConfigError> {
    let failed = |cause: String| ConfigError::File(path.to_owned(), cause);
    match text_file::read(path) {
        Ok(text) => read(&text).map_err(failed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Reads the lines of a file. An error has its line and the setting, but not the text of the line, which may be a
/// secret.
fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        let setting = setting_at(text, at).map(|name| format!("`{name}`: ")).unwrap_or_default();
        format!("line {}: {setting}{}", line_of(text, at), in_words(error.message()))
    })
}

/// What a value should be, in plain English instead of the names of Rust's types.
fn in_words(message: &str) -> &str {
    match message.rsplit_once(", expected ") {
        Some((_, "u8" | "u32")) => "expected a whole number, without quotes",
        Some((_, "a string" | "path string")) => "expected a text in quotes",
        Some((_, "a sequence")) => "expected a list in brackets",
        Some((_, "literal string")) => "expected a value: a number, or a text in quotes",
        _ => message,
    }
}

/// Setting at an offset in a file.
fn setting_at(text: &str, at: usize) -> Option<String> {
    let lines: BTreeMap<toml::Spanned<String>, IgnoredAny> = toml::from_str(text).ok()?;
    let before = lines.into_keys().filter(|name| name.span().start <= at);
    before.max_by_key(|name| name.span().start).map(toml::Spanned::into_inner)
}

/// The settings of a file.
pub(super) fn read_file(text: &str) -> Result<ConfigOverrides, String> {
    let lines: BTreeMap<toml::Spanned<String>, IgnoredAny> = parse(text)?;
    let names = names();
    let unknown = lines.keys().find(|name| !names.contains(name.get_ref()));
    if let Some(unknown) = unknown {
        let (name, line) = (unknown.get_ref(), line_of(text, unknown.span().start));
        let near = nearest(name, names.iter().map(String::as_str));
        let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
        return Err(format!("line {line}: there is no setting `{name}`{near}"));
    }
    // Each group reads its own lines and ignores the others; read as one, an error would have lost its line.
    Ok(ConfigOverrides {
        files: parse(text)?,
        addresses: parse(text)?,
        tls: parse(text)?,
        proxies: parse(text)?,
        observe: parse(text)?,
        bootstrap: parse(text)?,
        ..parse(text)?
    })
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_line_that_cannot_be_read_is_not_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        fs::write(&path, "log = \"info\"\nbootstrap-token = svt_secret\n").unwrap();
        let said = ConfigOverrides::of_file(&path).unwrap_err().to_string();
        assert!(said.contains("line 2") && !said.contains("secret"), "{said}");
    }

    #[test]
    fn a_line_that_is_not_known_is_rejected_by_its_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        for (text, line) in [("cache = 64", "line 1:"), ("log = \"info\"\ncache = 64\n", "line 2:")]
        {
            fs::write(&path, text).unwrap();
            let said = ConfigOverrides::of_file(&path).unwrap_err().to_string();
            assert!(said.contains(line), "{said}");
            assert!(said.contains("there is no setting `cache`"), "{said}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_rejected_with_the_name_of_its_setting() {
        for (text, expect) in [
            ("log = \"info\"\ncache-mb = \"64\"", "line 2: `cache-mb`: expected a whole number"),
            ("cache-mb = -1", "line 1: `cache-mb`: expected a whole number"),
            ("cache-mb = 5000000000", "line 1: `cache-mb`: expected a whole number"),
            ("trusted-hops = 300", "line 1: `trusted-hops`: expected a whole number"),
            ("log = 7", "line 1: `log`: expected a text in quotes"),
            ("data = 7", "line 1: `data`: expected a text in quotes"),
            ("cache-mb =", "line 1: expected a value"),
            ("public-url = https://a.example", "line 1: expected a value"),
            (
                "trusted-proxies = \"10.0.0.1\"",
                "line 1: `trusted-proxies`: expected a list in brackets",
            ),
            ("backup-every = 6\nlog = \"info\"", "line 1: `backup-every`: "),
            ("log-slow-ms = true", "line 1: `log-slow-ms`: "),
            ("admin-listen = 9090", "line 1: `admin-listen`: "),
            ("trusted-proxies = [\n\"10.0.0.1\",\n7]", "line 3: `trusted-proxies`: "),
        ] {
            let said = read_file(text).unwrap_err();
            assert!(said.starts_with(expect), "{said}");
        }
    }

    #[test]
    fn a_port_in_the_file_is_one_of_the_loopback_address() {
        let listen =
            |text: &str| read_file(text).map(|given| given.addresses.listen.unwrap().to_string());
        assert_eq!(listen("listen = 8080").as_deref(), Ok("127.0.0.1:8080"));
        assert_eq!(listen("listen = \"localhost:8080\"").as_deref(), Ok("localhost:8080"));
        let said = listen("log = \"info\"\nlisten = \":80\"").unwrap_err();
        assert!(said.starts_with("line 2: `listen`: name the host"), "{said}");
        for (text, expect) in
            [("listen = true", "or a port"), ("listn = 1", "did you mean `listen`?")]
        {
            let said = listen(text).unwrap_err();
            assert!(said.starts_with("line 1: ") && said.contains(expect), "{said}");
        }
    }
}

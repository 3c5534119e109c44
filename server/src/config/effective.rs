//! Effective configuration for printing: as lines of a configuration file, or as JSON.

use std::{collections::BTreeMap, fmt};

use serde_json::{Map, Value, json};

use super::{Config, ConfigError, options::names};
use crate::bootstrap::settings::{BootstrapConfig, TokenSource};

impl Config {
    /// Every setting, as the lines of a configuration file, each with a comment that says where its value is from. A
    /// setting without a value, and a secret, which is not shown, is a comment as a whole.
    ///
    /// # Errors
    /// [`ConfigError::Value`] if a path is not UTF-8.
    pub fn to_toml(&self, source: impl Fn(&str) -> String) -> Result<String, ConfigError> {
        let mut values = toml::Table::try_from(self).map_err(not_shown)?;
        values.extend(self.of_first_start().map(|(name, value)| (name.to_owned(), value.into())));
        let line = |name: String| match values.get(&name) {
            Some(value) => format!("{name} = {value}  # {}\n", source(&name)),
            None => {
                let shown = if self.has_secret(&name) { SET } else { "not set" };
                format!("# {name}: {shown}  # {}\n", source(&name))
            }
        };
        Ok(names().into_iter().map(line).collect())
    }

    /// Every setting by its name, with `value`, which is null where it is not set, and `source`; secrets are not shown.
    ///
    /// # Errors
    /// [`ConfigError::Value`] if a path is not UTF-8.
    pub fn to_json(&self, source: impl Fn(&str) -> String) -> Result<Value, ConfigError> {
        let values = serde_json::to_value(self).map_err(not_shown)?;
        let of_first_start: BTreeMap<_, _> = self.of_first_start().collect();
        let setting = |name: String| {
            let value = values.get(&name).cloned();
            let value = value.or_else(|| of_first_start.get(&*name).map(|value| json!(value)));
            let value = value.or_else(|| self.has_secret(&name).then(|| SET.into()));
            let entry = json!({"value": value, "source": source(&name)});
            (name, entry)
        };
        Ok(Value::Object(names().into_iter().map(setting).collect::<Map<_, _>>()))
    }

    /// Settings of the first start that are set and are no secrets.
    fn of_first_start(&self) -> impl Iterator<Item = (&'static str, String)> {
        let of = |bootstrap: &BootstrapConfig| {
            let file = |source: Option<&TokenSource>| match source? {
                TokenSource::File(path) => Some(path.display().to_string()),
                TokenSource::Setting(_) => None,
            };
            [
                ("bootstrap-tenant", Some(bootstrap.tenant.to_string())),
                ("bootstrap-token-file", file(Some(&bootstrap.token))),
                ("bootstrap-operator-token-file", file(bootstrap.operator.as_ref())),
            ]
        };
        let settings = self.bootstrap.as_ref().map(of).into_iter().flatten();
        settings.filter_map(|(name, value)| Some((name, value?)))
    }

    /// Whether a setting is a secret that is set.
    fn has_secret(&self, name: &str) -> bool {
        let Some(bootstrap) = &self.bootstrap else { return false };
        let source = match name {
            "bootstrap-token" => Some(&bootstrap.token),
            "bootstrap-operator-token" => bootstrap.operator.as_ref(),
            _ => None,
        };
        matches!(source, Some(TokenSource::Setting(_)))
    }
}

/// Shown instead of a secret.
const SET: &str = "set, not shown";

fn not_shown(error: impl fmt::Display) -> ConfigError {
    ConfigError::Value(format!("the configuration cannot be printed: {error}"))
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::Path};

    use super::*;
    use crate::{
        auth::Token,
        bootstrap::settings::BootstrapSettings,
        config::{ConfigOverrides, file::read_file},
    };

    #[test]
    fn what_is_in_force_can_be_used_as_a_file_and_holds_no_secret() {
        let token = Token::generate().unwrap();
        let given = ConfigOverrides {
            bootstrap: BootstrapSettings {
                bootstrap_tenant: Some("67e55044-10b1-426f-9247-bb680e5fe0c8".into()),
                bootstrap_token: Some(token.reveal().into()),
                ..BootstrapSettings::default()
            },
            ..ConfigOverrides::default()
        };
        let config = given.over(ConfigOverrides::default()).unwrap();
        let text = config.to_toml(|name| format!("{name}'s")).unwrap();
        assert!(read_file(&text).is_ok() && !text.contains("svt_"), "{text}");
        for line in [
            "bootstrap-tenant = \"67e55044-10b1-426f-9247-bb680e5fe0c8\"  # bootstrap-tenant's\n",
            "# bootstrap-token: set, not shown  # bootstrap-token's\n",
            "# bootstrap-operator-token: not set  # ",
            "# public-url: not set  # public-url's\n",
            "store = \"embedded\"  # store's\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        let of_all = names().iter().all(|name| text.contains(&format!("{name}'s\n")));
        assert!(of_all && text.lines().count() == names().len(), "{text}");
        assert!(text.contains("cache-mb = 256  # cache-mb's\n"), "{text}");

        let settings = config.to_json(|name| format!("{name}'s")).unwrap();
        assert_eq!(settings["cache-mb"], json!({"value": 256, "source": "cache-mb's"}));
        assert_eq!(settings["bootstrap-token"]["value"], "set, not shown");
        assert_eq!(settings["bootstrap-operator-token"]["value"], Value::Null);
        assert_eq!(settings["bootstrap-tenant"]["value"], "67e55044-10b1-426f-9247-bb680e5fe0c8");
        let entries = settings.as_object().unwrap();
        assert!(names().iter().all(|name| entries[name]["source"] == format!("{name}'s")));
        assert_eq!(entries.len(), names().len());

        let data = Path::new(OsStr::from_bytes(b"/data/\xff")).to_owned();
        let config = Config { data, ..config };
        for printed in [config.to_toml(str::to_owned).err(), config.to_json(str::to_owned).err()] {
            let said = printed.unwrap().to_string();
            assert!(said.starts_with("the configuration cannot be printed: "), "{said}");
        }
    }
}

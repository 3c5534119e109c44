//! Effective configuration for printing: as lines of a configuration file, or as JSON.

use std::fmt;

use serde_json::{Map, Value, json};

use super::{Config, ConfigError, options::names};
use crate::bootstrap::settings::TokenSource;

impl Config {
    /// Every setting, as the lines of a configuration file, each with a comment that says where its value is from. What
    /// is not set, and what the first start creates, is a comment as a whole; secrets are not shown.
    ///
    /// # Errors
    /// [`ConfigError::Value`] if a path is not UTF-8.
    pub fn to_toml(&self, source: impl Fn(&str) -> String) -> Result<String, ConfigError> {
        let values = toml::Table::try_from(self).map_err(not_shown)?;
        let line = |name: String| match values.get(&name) {
            Some(value) => format!("{name} = {value}  # {}\n", source(&name)),
            None => {
                let of_first_start = self.of_first_start(&name);
                let shown = of_first_start.as_deref().unwrap_or("not set");
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
        let setting = |name: String| {
            let value = values.get(&name).cloned();
            let value = value.or_else(|| self.of_first_start(&name).map(Value::String));
            let entry = json!({"value": value, "source": source(&name)});
            (name, entry)
        };
        Ok(Value::Object(names().into_iter().map(setting).collect::<Map<_, _>>()))
    }

    /// Value of a bootstrap setting, if it is set; a secret is not shown.
    fn of_first_start(&self, name: &str) -> Option<String> {
        let bootstrap = self.bootstrap.as_ref()?;
        let operator = bootstrap.operator.as_ref();
        let (source, is_file) = match name {
            "bootstrap-tenant" => return Some(bootstrap.tenant.to_string()),
            "bootstrap-token" => (&bootstrap.token, false),
            "bootstrap-token-file" => (&bootstrap.token, true),
            "bootstrap-operator-token" => (operator?, false),
            "bootstrap-operator-token-file" => (operator?, true),
            _ => return None,
        };
        match source {
            TokenSource::File(path) if is_file => Some(path.display().to_string()),
            TokenSource::Setting(_) if !is_file => Some("set, not shown".to_owned()),
            _ => None,
        }
    }
}

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
            "# bootstrap-tenant: 67e55044-10b1-426f-9247-bb680e5fe0c8  # bootstrap-tenant's\n",
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

//! The effective configuration as it is printed: as lines of a configuration file, or as JSON.

use serde_json::{Map, Value, json};

use super::{Config, options::names};

impl Config {
    /// Every setting, as the lines of a configuration file, each with a comment that says where its value is from. What
    /// is not set, and what the first start creates, is a comment as a whole; secrets are not shown.
    pub fn to_toml(&self, source: impl Fn(&str) -> String) -> String {
        let values = toml::Table::try_from(self).unwrap_or_default();
        let line = |name: String| match values.get(&name) {
            Some(value) => format!("{name} = {value}  # {}\n", source(&name)),
            None => {
                let of_first_start = self.of_first_start(&name);
                let shown = of_first_start.as_deref().unwrap_or("not set");
                format!("# {name}: {shown}  # {}\n", source(&name))
            }
        };
        names().into_iter().map(line).collect()
    }

    /// Every setting by its name, with `value`, which is null where it is not set, and `source`; secrets are not shown.
    pub fn to_json(&self, source: impl Fn(&str) -> String) -> Value {
        let values = serde_json::to_value(self).unwrap_or_default();
        let setting = |name: String| {
            let value = values.get(&name).cloned();
            let value = value.or_else(|| self.of_first_start(&name).map(Value::String));
            let entry = json!({"value": value, "source": source(&name)});
            (name, entry)
        };
        Value::Object(names().into_iter().map(setting).collect::<Map<_, _>>())
    }

    /// The value of a bootstrap setting, if it is set; a secret is not shown.
    fn of_first_start(&self, name: &str) -> Option<String> {
        let bootstrap = self.bootstrap.as_ref()?;
        let operator = bootstrap.operator.as_ref();
        let (given, is_file) = match name {
            "bootstrap-tenant" => return Some(bootstrap.tenant.to_string()),
            "bootstrap-token" => (&bootstrap.token, false),
            "bootstrap-token-file" => (&bootstrap.token, true),
            "bootstrap-operator-token" => (operator?, false),
            "bootstrap-operator-token-file" => (operator?, true),
            _ => return None,
        };
        match &given.file {
            Some(path) if is_file => Some(path.display().to_string()),
            None if !is_file => Some("set, not shown".to_owned()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
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
        let text = config.to_toml(|name| format!("{name}'s"));
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

        let settings = config.to_json(|name| format!("{name}'s"));
        assert_eq!(settings["cache-mb"], json!({"value": 256, "source": "cache-mb's"}));
        assert_eq!(settings["bootstrap-token"]["value"], "set, not shown");
        assert_eq!(settings["bootstrap-operator-token"]["value"], Value::Null);
        assert_eq!(settings["bootstrap-tenant"]["value"], "67e55044-10b1-426f-9247-bb680e5fe0c8");
        let entries = settings.as_object().unwrap();
        assert!(names().iter().all(|name| entries[name]["source"] == format!("{name}'s")));
        assert_eq!(entries.len(), names().len());
    }
}

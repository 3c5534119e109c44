//! The settings of the first start.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use svctrack_core::value::TenantId;
use svctrack_store::Tenant;

use crate::{auth::Token, text_file};

/// What may be given, by flag, environment or file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", default)]
pub struct BootstrapSettings {
    /// UUID of the tenant that the first start creates [default: random]
    #[arg(long, env = "SVCTRACK_BOOTSTRAP_TENANT", value_name = "UUID")]
    pub bootstrap_tenant: Option<String>,
    /// API token that the first start creates; see `svctrack token generate` [default: random]
    #[arg(long, env = "SVCTRACK_BOOTSTRAP_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub bootstrap_token: Option<String>,
    /// File that holds this token alone, such as a secret of a container [default: none]
    #[arg(long, env = "SVCTRACK_BOOTSTRAP_TOKEN_FILE", value_name = "FILE")]
    pub bootstrap_token_file: Option<PathBuf>,
    /// Operator token that the first start creates [default: random; none with --bootstrap-tenant]
    #[arg(
        long,
        env = "SVCTRACK_BOOTSTRAP_OPERATOR_TOKEN",
        value_name = "TOKEN",
        hide_env_values = true
    )]
    pub bootstrap_operator_token: Option<String>,
    /// File that holds this operator token alone [default: none]
    #[arg(long, env = "SVCTRACK_BOOTSTRAP_OPERATOR_TOKEN_FILE", value_name = "FILE")]
    pub bootstrap_operator_token_file: Option<PathBuf>,
}

/// The tenant and the tokens that the first start creates, instead of random ones.
#[derive(Clone, Debug)]
pub struct BootstrapConfig {
    pub tenant: TenantId,
    pub token: BootstrapToken,
    /// The operator's token, if one is to be created.
    pub operator: Option<BootstrapToken>,
}

/// A token that the first start creates.
#[derive(Clone, Debug)]
pub struct BootstrapToken {
    pub token: Token,
    /// The file that it was read from.
    pub file: Option<PathBuf>,
}

impl BootstrapSettings {
    /// What is in force when `self` wins over `file`; none without a tenant.
    ///
    /// # Errors
    /// A message for what is missing, cannot be read, or is no tenant or token.
    pub(crate) fn over(self, file: Self) -> Result<Option<BootstrapConfig>, String> {
        let token =
            match read_token("bootstrap-token", self.bootstrap_token, self.bootstrap_token_file)? {
                None => {
                    read_token("bootstrap-token", file.bootstrap_token, file.bootstrap_token_file)?
                }
                given => given,
            };
        let name = "bootstrap-operator-token";
        let operator = match read_token(
            name,
            self.bootstrap_operator_token,
            self.bootstrap_operator_token_file,
        )? {
            None => {
                read_token(name, file.bootstrap_operator_token, file.bootstrap_operator_token_file)?
            }
            given => given,
        };
        let (tenant, token) = match (self.bootstrap_tenant.or(file.bootstrap_tenant), token) {
            (None, None) if operator.is_none() => return Ok(None),
            (Some(tenant), Some(token)) => (tenant, token),
            _ => return Err("set both bootstrap-tenant and bootstrap-token, or neither".to_owned()),
        };
        let tenant = TenantId::parse(&tenant)
            .filter(|tenant| *tenant != Tenant::OPERATOR.id())
            .ok_or("bootstrap-tenant must be a UUID other than the nil UUID")?;
        if operator.as_ref().is_some_and(|other| other.token.reveal() == token.token.reveal()) {
            return Err("bootstrap-token and bootstrap-operator-token must differ".to_owned());
        }
        Ok(Some(BootstrapConfig { tenant, token, operator }))
    }
}

/// A token as it is given, or as a file has it. It is never repeated in an error: it is a secret.
fn read_token(
    name: &str,
    given: Option<String>,
    file: Option<PathBuf>,
) -> Result<Option<BootstrapToken>, String> {
    let text = match (given, &file) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err(format!("set {name} or {name}-file, not both")),
        (Some(text), None) => text,
        (None, Some(path)) => read_file(path).map_err(|cause| format!("{name}-file: {cause}"))?,
    };
    let token = Token::parse(text.trim_end()).ok_or_else(|| match &file {
        None => format!("{name} must be a token from `svctrack token generate`"),
        Some(path) => {
            let path = path.display();
            format!("{name}-file: {path} must hold a token from `svctrack token generate`, and nothing else")
        }
    })?;
    Ok(Some(BootstrapToken { token, file }))
}

fn read_file(path: &Path) -> Result<String, String> {
    text_file::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const TENANT: &str = "67e55044-10b1-426f-9247-bb680e5fe0c8";

    fn secret() -> String {
        Token::generate().unwrap().reveal().to_owned()
    }

    fn of_tenant(tenant: &str) -> BootstrapSettings {
        BootstrapSettings { bootstrap_tenant: Some(tenant.to_owned()), ..Default::default() }
    }

    #[test]
    fn tenant_and_token_may_come_from_two_sources() {
        let file = BootstrapSettings { bootstrap_token: Some(secret()), ..Default::default() };
        assert!(of_tenant(TENANT).over(file).unwrap().is_some());
    }

    #[test]
    fn values_that_cannot_be_used_are_refused() {
        let refusal = |given: BootstrapSettings| given.over(Default::default()).unwrap_err();
        assert_eq!(
            refusal(of_tenant("x")),
            "set both bootstrap-tenant and bootstrap-token, or neither"
        );
        let token = Some(secret());
        let of_none = BootstrapSettings { bootstrap_token: token.clone(), ..of_tenant("x") };
        assert_eq!(refusal(of_none), "bootstrap-tenant must be a UUID other than the nil UUID");
        let bootstrap_token = Some("secret".to_owned());
        let no_token = BootstrapSettings { bootstrap_token, ..of_tenant(TENANT) };
        let said = "bootstrap-token must be a token from `svctrack token generate`";
        assert_eq!(refusal(no_token), said);
        let same = BootstrapSettings {
            bootstrap_token: token.clone(),
            bootstrap_operator_token: token,
            ..of_tenant(TENANT)
        };
        assert_eq!(refusal(same), "bootstrap-token and bootstrap-operator-token must differ");
    }

    #[test]
    fn a_token_is_read_from_a_file_that_holds_it_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let given =
            || BootstrapSettings { bootstrap_token_file: Some(path.clone()), ..of_tenant(TENANT) };
        let said = given().over(Default::default()).unwrap_err();
        assert!(said.starts_with("bootstrap-token-file: ") && said.contains("token: "), "{said}");

        let secret = secret();
        fs::write(&path, format!("{secret}\n")).unwrap();
        let read = given().over(Default::default()).unwrap().unwrap().token;
        assert_eq!((read.token.reveal(), read.file.as_ref()), (&*secret, Some(&path)));
        let twice = BootstrapSettings { bootstrap_token: Some(secret.clone()), ..given() };
        let said = twice.over(Default::default()).unwrap_err();
        assert_eq!(said, "set bootstrap-token or bootstrap-token-file, not both");
        let of_file =
            BootstrapSettings { bootstrap_token: Some("x".to_owned()), ..Default::default() };
        assert!(given().over(of_file).is_ok(), "a flag wins over a line of the file");

        fs::write(&path, format!("{secret} and more")).unwrap();
        let said = given().over(Default::default()).unwrap_err();
        assert!(said.contains("nothing else") && !said.contains(&secret), "{said}");
    }
}

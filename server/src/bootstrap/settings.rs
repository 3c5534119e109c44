//! The settings of the first start.

use std::path::PathBuf;

use serde::Deserialize;
use svctrack_core::value::TenantId;
use svctrack_store::Tenant;

use crate::{auth::Token, text_file};

/// Names of the settings of tokens; with `-file`, of those of their files.
const TOKEN: &str = "bootstrap-token";
const OPERATOR_TOKEN: &str = "bootstrap-operator-token";

/// What may be given, by flag, environment or file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", default)]
pub struct BootstrapSettings {
    /// UUID of the tenant that the first start creates; needs --bootstrap-token [default: random]
    #[arg(long, env = "SVCTRACK_BOOTSTRAP_TENANT", value_name = "UUID")]
    pub bootstrap_tenant: Option<String>,
    /// API token that the first start creates; see `svctrack token generate`; needs --bootstrap-tenant [default: random]
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

/// Tenant and tokens that the first start creates, instead of random ones.
#[derive(Clone, Debug)]
pub struct BootstrapConfig {
    pub tenant: TenantId,
    pub token: TokenSource,
    /// The source of the operator's token, if one is to be created.
    pub operator: Option<TokenSource>,
}

const TOKEN_NEEDED: &str =
    "bootstrap-tenant needs bootstrap-token: generate one with `svctrack token generate`";
const TENANT_NEEDED: &str = "a bootstrap token needs bootstrap-tenant: a UUID";

/// The source of a token that the first start creates.
#[derive(Clone, Debug)]
pub enum TokenSource {
    Setting(Token),
    /// A file, which only the first start reads: later, a container's secret may be gone.
    File(PathBuf),
}

impl BootstrapSettings {
    /// Settings in force when `self` wins over `file`; none without a tenant.
    ///
    /// # Errors
    /// A message for what is missing, or is no tenant or token.
    pub(crate) fn over(self, file: Self) -> Result<Option<BootstrapConfig>, String> {
        let of_file = (file.bootstrap_token, file.bootstrap_token_file);
        let given = (self.bootstrap_token, self.bootstrap_token_file);
        let token = first_source(TOKEN, [given, of_file])?;
        let given = (self.bootstrap_operator_token, self.bootstrap_operator_token_file);
        let of_file = (file.bootstrap_operator_token, file.bootstrap_operator_token_file);
        let operator = first_source(OPERATOR_TOKEN, [given, of_file])?;
        let (tenant, token) = match (self.bootstrap_tenant.or(file.bootstrap_tenant), token) {
            (None, None) if operator.is_none() => return Ok(None),
            (Some(tenant), Some(token)) => (tenant, token),
            (Some(_), None) => return Err(TOKEN_NEEDED.to_owned()),
            (None, _) => return Err(TENANT_NEEDED.to_owned()),
        };
        let tenant = TenantId::parse(&tenant)
            .filter(|tenant| *tenant != Tenant::OPERATOR.id())
            .ok_or("bootstrap-tenant must be a UUID other than the nil UUID")?;
        Ok(Some(BootstrapConfig { tenant, token, operator }))
    }
}

impl BootstrapConfig {
    /// The tenant's token, and the operator's, if one is to be created.
    ///
    /// # Errors
    /// A message if a file cannot be read or holds no token, or if both are the same.
    pub(crate) fn read_tokens(&self) -> Result<(Token, Option<Token>), String> {
        let token = self.token.read(TOKEN)?;
        let operator = self.operator.as_ref().map(|source| source.read(OPERATOR_TOKEN));
        let operator = operator.transpose()?;
        if operator.as_ref().is_some_and(|operator| operator.reveal() == token.reveal()) {
            return Err(format!("{TOKEN} and {OPERATOR_TOKEN} must differ"));
        }
        Ok((token, operator))
    }
}

impl TokenSource {
    /// The token, which an error never repeats: it is a secret.
    fn read(&self, name: &str) -> Result<Token, String> {
        let path = match self {
            Self::Setting(token) => return Ok(token.clone()),
            Self::File(path) => path,
        };
        let (text, path) = (text_file::read(path), path.display());
        let text = text.map_err(|error| format!("{name}-file: {path}: {error}"))?;
        Token::parse(text.trim_end()).ok_or_else(|| {
            format!("{name}-file: {path} must hold a token from `svctrack token generate`, and nothing else")
        })
    }
}

/// A token, or the file that holds it.
type TokenOrFile = (Option<String>, Option<PathBuf>);

/// The first source of a token, if one is given; what comes after it is not read.
fn first_source(name: &str, given: [TokenOrFile; 2]) -> Result<Option<TokenSource>, String> {
    given.into_iter().find_map(|given| source(name, given).transpose()).transpose()
}

fn source(name: &str, given: TokenOrFile) -> Result<Option<TokenSource>, String> {
    match given {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(format!("set {name} or {name}-file, not both")),
        (None, Some(path)) => Ok(Some(TokenSource::File(path))),
        (Some(text), None) => match Token::parse(text.trim_end()) {
            Some(token) => Ok(Some(TokenSource::Setting(token))),
            None => Err(format!("{name} must be a token from `svctrack token generate`")),
        },
    }
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
    fn values_that_cannot_be_used_are_rejected() {
        let rejection = |given: BootstrapSettings| given.over(Default::default()).unwrap_err();
        assert_eq!(rejection(of_tenant("x")), TOKEN_NEEDED);
        let token = Some(secret());
        let of_none = BootstrapSettings { bootstrap_token: token.clone(), ..of_tenant("x") };
        assert_eq!(rejection(of_none), "bootstrap-tenant must be a UUID other than the nil UUID");
        let bootstrap_token = Some("secret".to_owned());
        let no_token = BootstrapSettings { bootstrap_token, ..of_tenant(TENANT) };
        let said = "bootstrap-token must be a token from `svctrack token generate`";
        assert_eq!(rejection(no_token), said);
        let same = BootstrapSettings {
            bootstrap_token: token.clone(),
            bootstrap_operator_token: token,
            ..of_tenant(TENANT)
        };
        let same = same.over(Default::default()).unwrap().unwrap().read_tokens().unwrap_err();
        assert_eq!(same, "bootstrap-token and bootstrap-operator-token must differ");
    }

    #[test]
    fn a_token_is_read_from_a_file_that_holds_it_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let given =
            || BootstrapSettings { bootstrap_token_file: Some(path.clone()), ..of_tenant(TENANT) };
        let read = || given().over(Default::default()).unwrap().unwrap().read_tokens();
        let said = read().unwrap_err();
        assert!(said.starts_with("bootstrap-token-file: ") && said.contains("token: "), "{said}");

        let secret = secret();
        fs::write(&path, format!("{secret}\n")).unwrap();
        assert_eq!(read().unwrap().0.reveal(), secret);
        let twice = BootstrapSettings { bootstrap_token: Some(secret.clone()), ..given() };
        let said = twice.over(Default::default()).unwrap_err();
        assert_eq!(said, "set bootstrap-token or bootstrap-token-file, not both");
        let of_file =
            BootstrapSettings { bootstrap_token: Some("x".to_owned()), ..Default::default() };
        assert!(given().over(of_file).is_ok(), "a flag wins over a line of the file");

        fs::write(&path, format!("{secret} and more")).unwrap();
        let said = read().unwrap_err();
        assert!(said.contains("nothing else") && !said.contains(&secret), "{said}");
    }
}

//! What the command line does on the store of a server that is not running (R44).

use std::sync::Arc;

use svctrack_core::{
    access::NewToken,
    value::{Document, Json, TenantId},
};

use crate::{
    app::{Clock as _, SystemClock},
    auth::{Token, TokenRecord, tenant_by_operator},
    config::Config,
    store::{Actor, Command, Reply, Store, StoreError, embedded::Embedded},
};

/// A store that no server has open.
pub struct Offline {
    store: Embedded,
    tenant: TenantId,
}

impl Offline {
    /// Opens the store of a configuration for one tenant: the one named, else the only one there is.
    ///
    /// # Errors
    /// In words, when there is no store, when a server has it open, or when it is not said whose it is.
    pub fn open(config: &Config, tenant: Option<&str>) -> Result<Self, String> {
        let folder = config.data.display();
        if !Embedded::is_in(&config.data) {
            return Err(format!("there is no store in `{folder}`"));
        }
        let store = Embedded::open(&config.data, config.cache_bytes(), Arc::new(SystemClock));
        let store =
            store.map_err(|cause| format!("the store in `{folder}` cannot be opened: {cause}"))?;
        let tenant = whose(&store, tenant)?;
        Ok(Self { store, tenant })
    }

    /// Issues a token and returns it with what is kept of it, as JSON.
    ///
    /// # Errors
    /// In words, for a label or a scope that cannot be used.
    pub async fn create_token(&self, label: &str, scopes: &[String]) -> Result<String, String> {
        let mut sent = Document::default();
        sent.set("label", Json::string(label));
        sent.set("scopes", Json::strings(scopes.iter().map(String::as_str)));
        let new = NewToken::read(&sent, &["*".to_owned()]).map_err(|issues| {
            issues.iter().map(|issue| issue.message.as_str()).collect::<Vec<_>>().join("; ")
        })?;
        let token = Token::generate().map_err(|error| error.to_string())?;
        let record = TokenRecord::of_new(&token, self.tenant, new, SystemClock.now());
        let mut answer = record.answer();
        answer.set("token", Json::string(token.reveal()));
        self.write(Command::AddToken(Box::new(record))).await?;
        Ok(answer.to_text())
    }

    /// What is kept of every token of the tenant, a line of JSON each.
    ///
    /// # Errors
    /// In words, when the store cannot say.
    pub fn list_tokens(&self) -> Result<Vec<String>, String> {
        let tokens = self.store.tokens(&tenant_by_operator(self.tenant)).map_err(in_words)?;
        Ok(tokens.iter().map(|token| token.answer().to_text()).collect())
    }

    /// Has a token count no more.
    ///
    /// # Errors
    /// In words, when the tenant has no such token.
    pub async fn revoke_token(&self, id: &str) -> Result<(), String> {
        match self.write(Command::RevokeToken(id.to_owned())).await? {
            Reply::TokenRevoked(true) => Ok(()),
            _ => Err("the tenant has no token with this id".to_owned()),
        }
    }

    async fn write(&self, command: Command) -> Result<Reply, String> {
        let actor = Actor { tenant: tenant_by_operator(self.tenant), token: None, user: None };
        self.store.write(actor, command).await.map_err(in_words)
    }
}

/// The tenant that is named, if it is there; else the only one.
fn whose(store: &Embedded, named: Option<&str>) -> Result<TenantId, String> {
    if let Some(named) = named {
        let tenant = TenantId::parse(named).ok_or("a tenant must be a UUID")?;
        let there = store.has_tenant(tenant).map_err(in_words)?;
        return if there {
            Ok(tenant)
        } else {
            Err("there is no tenant with this UUID".to_owned())
        };
    }
    match store.tenants(2).map_err(in_words)?.as_slice() {
        [only] => Ok(*only),
        [] => Err("the store has no tenant yet: start the server once".to_owned()),
        _ => Err("the store has several tenants: name one with --tenant".to_owned()),
    }
}

fn in_words(error: StoreError) -> String {
    error.to_string()
}

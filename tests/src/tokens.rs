//! The tokens of a test's store.

use svctrack_core::value::{TenantId, Timestamp};
use svctrack_server::auth::Token;
use svctrack_store::{Actor, Store, TenantRecord, TokenRecord};

use crate::TENANT;

/// The tokens of a store, which outlive the servers over it.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// A token of the tenant, with the access that its creator chose.
    pub tenant: String,
    pub operator: String,
}

impl Tokens {
    /// Creates the tenant of an empty store and its tokens; the tenant's has all scopes unless `change` takes some.
    pub async fn create(
        store: &(dyn Store + 'static),
        now: Timestamp,
        change: impl FnOnce(&mut TokenRecord),
    ) -> Self {
        let (token, operator) = (Token::generate().unwrap(), Token::generate().unwrap());
        let id = TenantId::parse(TENANT).unwrap();
        let mut record = TokenRecord::of_everything(token.digest(), id, "test", now);
        change(&mut record);
        let tenant = TenantRecord::new(id, "test".to_owned(), record.created_at);
        store.add_tenant(Actor::operator(), tenant, record).await.unwrap();
        let record = TokenRecord::of_operator(operator.digest(), "test", now);
        store.add_token(Actor::operator(), record, None).await.unwrap();
        let reveal = |token: &Token| token.reveal().to_owned();
        Self { tenant: reveal(&token), operator: reveal(&operator) }
    }
}

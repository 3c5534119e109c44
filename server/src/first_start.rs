//! The first start: a tenant, its token, and a first company, so that an event has somewhere to go.

use svctrack_core::{
    resources::company::COMPANY,
    value::{Document, Json, TenantId},
};

use crate::{
    app::App,
    auth::{Token, TokenRecord, tenant_of_own},
    config::{Bootstrap, Config},
    store::{Actor, Command, StoreError},
};

/// `externalId` of the company that the first start makes, which the printed example and the demo
/// page use.
const DEMO_COMPANY: &str = "demo";

/// What the first start made.
pub(crate) struct FirstStart {
    pub(crate) tenant: TenantId,
    pub(crate) token: Token,
    record: TokenRecord,
}

impl FirstStart {
    /// What a first start makes: what the configuration gives, else a random tenant and token.
    ///
    /// # Errors
    /// When the machine gives no randomness.
    pub(crate) fn prepare(app: &App, config: &Config) -> Result<Self, getrandom::Error> {
        let (tenant, token) = match &config.bootstrap {
            Some(Bootstrap { tenant, token }) => (*tenant, token.clone()),
            None => draw()?,
        };
        let record = TokenRecord::of_everything(&token, tenant, "first token", app.clock.now());
        Ok(Self { tenant, token, record })
    }

    /// Makes the tenant and its token, unless there is a tenant; says whether it did. It waits for the
    /// disk.
    ///
    /// # Errors
    /// When the store cannot write.
    pub(crate) fn found(&self, app: &App) -> Result<bool, StoreError> {
        app.store.found(&self.record)
    }

    /// Makes the company that the printed example and the demo page use.
    ///
    /// # Errors
    /// When the store cannot write.
    pub(crate) async fn make_demo_company(&self, app: &App) -> Result<(), StoreError> {
        let mut patch = Document::default();
        patch.set("name", Json::string("Demo company"));
        patch.set("externalId", Json::string(DEMO_COMPANY));
        let token = Some(self.record.id.clone());
        let actor = Actor { tenant: tenant_of_own(&self.record), token, user: None };
        app.store.write(actor, Command::Create { def: &COMPANY, patch }).await.map(drop)
    }
}

fn draw() -> Result<(TenantId, Token), getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok((TenantId::from_random_bytes(bytes), Token::generate()?))
}

/// What is printed once: all that a newcomer needs for a first event.
pub(crate) fn greeting(first: &FirstStart, public_url: &str) -> String {
    let FirstStart { tenant, token, .. } = first;
    let token = token.reveal();
    let snippet = svctrack_web::snippet(public_url, &tenant.to_string());
    format!(
        r#"
This is the first start. Keep what follows: it is shown only this once.

  Tenant     {tenant}
  API token  {token}

Paste this before </head> of your web app:

{snippet}

then say who is there and what they do (the company `{DEMO_COMPANY}` is there already):

<script>
svctrack.identify("user-1", {{name: "Ada Lovelace", companyExternalId: "{DEMO_COMPANY}"}});
svctrack.track("Opened report");
</script>

Try it      {public_url}/demo#token={token}
Read back   curl -H 'Authorization: Bearer {token}' {public_url}/activities
"#
    )
}

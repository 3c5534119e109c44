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
}

/// Makes the first tenant, unless there is one. Returns what there is to print: nothing when the
/// tenant was there, or was given by the configuration.
///
/// # Errors
/// When the store cannot write, or the machine gives no randomness.
pub(crate) async fn run(app: &App, config: &Config) -> Result<Option<FirstStart>, StoreError> {
    let given = config.bootstrap.as_ref();
    let first = match given {
        Some(Bootstrap { tenant, token }) => FirstStart {
            tenant: *tenant,
            token: token.clone(),
        },
        None => draw().map_err(|error| StoreError::Internal(error.to_string()))?,
    };
    let now = app.clock.now();
    let record = TokenRecord::of_everything(&first.token, first.tenant, "first token", now);
    if !app.store.found(&record)? || given.is_some() {
        return Ok(None);
    }
    make_demo_company(app, &record).await?;
    Ok(Some(first))
}

fn draw() -> Result<FirstStart, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(FirstStart {
        tenant: TenantId::from_random_bytes(bytes),
        token: Token::generate()?,
    })
}

async fn make_demo_company(app: &App, token: &TokenRecord) -> Result<(), StoreError> {
    let mut patch = Document::default();
    patch.set("name", Json::string("Demo company"));
    patch.set("externalId", Json::string(DEMO_COMPANY));
    let actor = Actor {
        tenant: tenant_of_own(token),
        token: Some(token.id.clone()),
    };
    app.store
        .write(
            actor,
            Command::Create {
                def: &COMPANY,
                patch,
            },
        )
        .await
        .map(drop)
}

/// What is printed once: all that a newcomer needs for a first event.
pub(crate) fn greeting(first: &FirstStart, public_url: &str) -> String {
    let FirstStart { tenant, token } = first;
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

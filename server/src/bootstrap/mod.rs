//! The first start: a tenant, its token, an operator's token, and a first company, so that an event has
//! somewhere to go.

pub(crate) mod settings;

use svctrack_core::{
    resources::company::COMPANY,
    schema::CheckedBody,
    value::{Document, Json, TenantId},
};
use svctrack_store::{Actor, StoreError, Tenant, TenantRecord, TokenRecord};
use svctrack_web::SnippetScript;

use crate::{app::App, auth::Token, config::Config, routing::served_parts::ServerPart};

/// `externalId` of the company that the first start creates, which the printed example and the demo page use.
const DEMO_COMPANY: &str = "demo";
const TENANT_NAME: &str = "first tenant";

/// The first line that is printed.
pub(crate) const GREETING: &str =
    "\nThis is the first start. Save the following: it is shown only once.";

/// The company that the printed example, the demo page and the examples of the API's description use.
pub(crate) fn demo_company() -> Document {
    let mut company = Document::default();
    company.set("name", Json::string("Demo company"));
    company.set("externalId", Json::string(DEMO_COMPANY));
    company
}

/// Where the server is reached.
pub(crate) struct ServerAddresses<'a> {
    /// Where programs on its machine call it. Calls with a token go there: without TLS that is where the server listens,
    /// since under its public URL another one may respond, such as the site with the proxy for events.
    pub(crate) called_at: &'a str,
    /// Where browsers open its pages.
    pub(crate) pages_at: &'a str,
}

/// What the first start creates.
pub(crate) struct Bootstrap {
    tenant: TenantId,
    token: Token,
    operator: Option<Token>,
}

impl Bootstrap {
    /// Tenant and tokens of a first start: those of the configuration, else random ones.
    ///
    /// # Errors
    /// A message if a token cannot be read, or the machine gives no randomness.
    pub(crate) fn prepare(config: &Config) -> Result<Self, String> {
        if let Some(given) = &config.bootstrap {
            let (token, operator) = given.read_tokens()?;
            return Ok(Self { tenant: given.tenant, token, operator });
        }
        Self::random().map_err(|error| error.to_string())
    }

    fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self {
            tenant: TenantId::from_random_bytes(bytes),
            token: Token::generate()?,
            operator: Some(Token::generate()?),
        })
    }

    /// Creates the tenant with its token, and the operator's token. The operator's comes first: once there is a tenant,
    /// no start is the first.
    ///
    /// # Errors
    /// When the store cannot write.
    pub(crate) async fn found(&self, app: &App) -> Result<(), StoreError> {
        let now = app.clock.now();
        if let Some(operator) = &self.operator {
            let record = TokenRecord::of_operator(operator.digest(), "first operator", now);
            app.store.add_token(Actor::operator(), record, None).await?;
        }
        let tenant = TenantRecord::new(self.tenant, TENANT_NAME.to_owned(), now);
        app.store.add_tenant(Actor::operator(), tenant, self.record(app)).await.map(drop)
    }

    fn record(&self, app: &App) -> TokenRecord {
        TokenRecord::of_everything(self.token.digest(), self.tenant, "first token", app.clock.now())
    }

    /// Creates the company that the printed example and the demo page use.
    ///
    /// # Errors
    /// When the store cannot write.
    pub(crate) async fn make_demo_company(&self, app: &App) -> Result<(), StoreError> {
        let patch = demo_company();
        let token = Some(self.token.id().to_owned());
        let actor = Actor { token, ..Actor::service(Tenant::assume_authorized(self.tenant)) };
        app.store.create(actor, None, &COMPANY, CheckedBody::trusted(patch)).await.map(drop)
    }

    /// Where a user signs in, if there are pages: first where browsers elsewhere open them. A proxy may not serve that
    /// address yet, so the one on this machine follows.
    fn invite(&self, app: &App, reached: &ServerAddresses<'_>) -> String {
        if !app.parts.have(ServerPart::Pages) {
            return String::new();
        }
        // Without randomness for a link, the token still signs in.
        let sign_in =
            app.one_time_link.open(self.token.id()).unwrap_or_else(|_| "/sign-in".to_owned());
        let ServerAddresses { called_at, pages_at } = reached;
        let on_this_machine = match called_at == pages_at {
            true => String::new(),
            false => format!("  {called_at}{sign_in}   (on this machine)\n"),
        };
        format!(
            "
Open this link in a browser to sign in; it works once, within 15 minutes (later, use the API token):

  {pages_at}{sign_in}
{on_this_machine}"
        )
    }

    /// What is printed once, after the greeting: all that a newcomer needs for a first event.
    pub(crate) fn details(&self, app: &App, reached: &ServerAddresses<'_>) -> String {
        let (addresses, called_at) = (&app.addresses, reached.called_at);
        let open = self.invite(app, reached);
        let tenant = self.tenant.to_string();
        let token = self.token.reveal();
        let operator = self.operator.as_ref().map_or("", Token::reveal);
        let has = |part| app.parts.have(part);
        let first_event = match has(ServerPart::Tracking) {
            true => first_event(&svctrack_web::snippet(addresses, &tenant, SnippetScript::Newest)),
            false => String::new(),
        };
        let try_it = match has(ServerPart::Demo) && has(ServerPart::Tracking) {
            true => format!("Try it      {called_at}/demo?tenant={tenant}#token={token}\n"),
            false => String::new(),
        };
        let read_back = match has(ServerPart::Api) {
            true => format!(
                "Read back   curl -H 'Authorization: Bearer {token}' {called_at}/activities\n"
            ),
            false => String::new(),
        };
        format!(
            r#"
  Tenant          {tenant}
  API token       {token}
  Operator token  {operator}   (for tenants and backups)
{open}{first_event}
{try_it}{read_back}"#
        )
    }
}

/// How a web app tracks a first event.
fn first_event(snippet: &str) -> String {
    format!(
        r#"
Paste this before </head> of your web app:

{snippet}

then identify the user and track an event (the company `{DEMO_COMPANY}` already exists):

<script>
svctrack.identify("user-1", {{name: "Ada Lovelace", companyExternalId: "{DEMO_COMPANY}"}});
svctrack.track("Opened report");
</script>
"#
    )
}

//! `svctrack demo`: a tenant with demo data, on a running server or in a stopped one's store.

use std::io::{IsTerminal as _, Write as _};

use clap::{Args, builder::RangedU64ValueParser};
use poem::http::Method;
use serde_json::{Value, json};
use svctrack_core::value::TenantId;
use svctrack_server::{
    api_client::{ApiClient, CommandOwner},
    demo::{ApiCall, CUSTOMERS, Demo, MAX_CUSTOMERS, STORIES, Story, TENANT_NAME},
};
use svctrack_store::{Clock as _, SystemClock};

use super::{
    output::{print_err, text_at},
    target::TargetArgs,
    tenant,
};

/// Create or delete a demo tenant with two years of data of an invented company
///
/// Every report and page has data to show. All companies and people are invented, and two runs on one day create the
/// same data. Other tenants are not changed.
#[derive(Args)]
#[command(after_help = "Examples:
  svctrack demo --customers 20
  svctrack demo --customers 20 --server http://127.0.0.1:8080 --token $OPERATOR
  svctrack demo --delete")]
pub(crate) struct DemoCommand {
    #[command(flatten)]
    target: TargetArgs,
    /// Number of customers at the end of the two years, 10 to 400
    #[arg(long, value_name = "NUMBER", default_value_t = CUSTOMERS,
        value_parser = RangedU64ValueParser::<usize>::new().range(10..=MAX_CUSTOMERS as u64))]
    customers: usize,
    /// Delete the demo tenant with all its data
    #[arg(long, conflicts_with = "customers")]
    delete: bool,
}

impl DemoCommand {
    pub(crate) async fn run(self) -> Result<(), String> {
        let operator = self.target.client(CommandOwner::Operator).await?;
        let there = demo_tenants(&operator).await?;
        if self.delete {
            return self.delete(&operator, &there).await;
        }
        if let Some(id) = there.first() {
            return Err(format!("the demo tenant {id} already exists: delete it with --delete"));
        }
        let name = json!({ "name": TENANT_NAME });
        let made = operator.call(Method::POST, "/tenants", Some(name)).await?;
        let token = text_at(&made, "/token/token");
        let tenant = TenantId::parse(&text_at(&made, "/_id"))
            .ok_or("the response is not from svctrack: check --server")?;
        let tenant_admin = operator.for_tenant(tenant, &token);
        let filled = fill(&tenant_admin, tenant, self.customers).await;
        let stored = filled
            .map_err(|cause| format!("the demo is incomplete: {cause}; delete it with --delete"))?;
        let address = self.target.address()?;
        let shown = json!({
            "_id": tenant.to_string(), "name": TENANT_NAME, "token": token, "address": address,
            "stored": stored, "stories": STORIES,
        });
        self.target.show(&shown, || {
            let stories = STORIES.iter().map(in_words).collect::<String>();
            format!(
                "Tenant     {tenant}\nAPI token  {token}\nSign in    {address}/sign-in  (with the API token)\n\
                 Stored     {stored} records and events\n\nWhat to find{stories}"
            )
        })
    }

    async fn delete(&self, operator: &ApiClient, there: &[String]) -> Result<(), String> {
        for id in there {
            tenant::delete(operator, &format!("/tenants/{id}")).await?;
        }
        self.target.show(&json!({ "deleted": there }), || match there {
            [] => "there is no demo".to_owned(),
            _ => "deleted".to_owned(),
        })
    }
}

fn in_words(Story { who, what, path }: &Story) -> String {
    format!("\n  {who}: {what} (GET {path})")
}

/// The ids of tenants that a demo has created.
async fn demo_tenants(operator: &ApiClient) -> Result<Vec<String>, String> {
    let tenants = operator.call(Method::GET, "/tenants", None).await?;
    let listed = tenants.as_array().into_iter().flatten();
    let is_demo = |tenant: &&Value| {
        text_at(tenant, "/name") == TENANT_NAME && text_at(tenant, "/state") != "deleting"
    };
    Ok(listed.filter(is_demo).map(|tenant| text_at(tenant, "/_id")).collect())
}

async fn fill(client: &ApiClient, tenant: TenantId, customers: usize) -> Result<usize, String> {
    let demo = Demo { tenant, now: SystemClock.now(), customers };
    let mut stored = 0;
    let is_seen = std::io::stderr().is_terminal();
    let filled = demo.fill(async |call: ApiCall| {
        stored += call.count;
        let response = client.send_again(call.method, &call.path, call.body).await?;
        if is_seen {
            // The next line is written over this one.
            let _ = write!(std::io::stderr(), "{stored} records and events\r");
        }
        Ok(response.into())
    });
    let filled = filled.await;
    if is_seen {
        print_err("");
    }
    filled.map(|()| stored)
}

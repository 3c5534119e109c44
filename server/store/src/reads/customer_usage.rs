//! Usage of the product by each company, for the report of customers.

use std::{collections::HashMap, ops::ControlFlow};

use foldhash::fast::RandomState;
use svctrack_core::{
    resources::{company::COMPANY, end_user::END_USER, ticket},
    revenue::CustomerUsage,
    value::{Members, ObjectId, TenantId, Timestamp, engagement::Engagement},
};

use super::usage::companies_of_users;
use crate::{
    StoreError,
    rows::{
        Snapshot,
        engagement::{EngagementRow, ReadEngagement},
    },
};

/// Usage of companies at a point in time.
pub(super) struct UsageByCompany {
    now: Timestamp,
    companies: HashMap<ObjectId, CustomerUsage, RandomState>,
    /// Usage of a company without any.
    unused: CustomerUsage,
    /// Whether a user of the tenant was ever active.
    pub(super) is_known: bool,
    /// Time until which the usage stays the same.
    pub(super) until: Timestamp,
}

impl UsageByCompany {
    /// Usage before any is added: no company has any.
    pub(super) fn none(now: Timestamp) -> Self {
        let mut unused = CustomerUsage::default();
        unused.add_company(&Engagement::default(), now);
        let (companies, until) = (HashMap::default(), CustomerUsage::until(now));
        Self { now, companies, unused, is_known: false, until }
    }

    /// Usage of a company.
    pub(super) fn of(&self, company: ObjectId) -> CustomerUsage {
        self.companies.get(&company).copied().unwrap_or(self.unused)
    }

    fn entry(&mut self, company: ObjectId) -> &mut CustomerUsage {
        self.companies.entry(company).or_insert(self.unused)
    }

    /// Adds the engagement of companies and their users, or of one company.
    pub(super) fn add_engagement(
        &mut self,
        snapshot: &impl Snapshot,
        engagement: &impl ReadEngagement,
        tenant: TenantId,
        only: Option<ObjectId>,
    ) -> Result<(), StoreError> {
        let company_of = companies_of_users(snapshot, tenant, only)?;
        if let Some(company) = only {
            let owner = |def, id| (tenant, def, id);
            engagement.read(owner(COMPANY.code, company), |row| self.add_company(company, row))?;
            for user in company_of.into_keys() {
                engagement
                    .read(owner(END_USER.code, user), |row| self.add_user(Some(company), row))?;
            }
            if !self.is_known {
                let always = Timestamp::MIN..=Timestamp::MAX;
                let found = engagement.active_between((tenant, END_USER.code), &always, 0)?;
                self.is_known = found.is_none();
            }
            return Ok(());
        }
        engagement.each((tenant, COMPANY.code), |company, row| {
            self.add_company(company, row);
            ControlFlow::Continue(())
        })?;
        engagement.each((tenant, END_USER.code), |user, row| {
            self.add_user(company_of.get(&user).copied(), row);
            ControlFlow::Continue(())
        })
    }

    fn add_company(&mut self, company: ObjectId, row: &EngagementRow) {
        let now = self.now;
        self.entry(company).add_company(&row.engagement, now);
    }

    fn add_user(&mut self, company: Option<ObjectId>, row: &EngagementRow) {
        let now = self.now;
        self.is_known |= row.engagement.last_active().is_some();
        if let Some(company) = company {
            self.entry(company).add_user(&row.engagement, now);
        }
    }

    /// Adds a ticket to its company, if it is open.
    pub(super) fn add_ticket(&mut self, found: &impl Members) {
        let company = found.get(ticket::COMPANY_ID.name);
        let company = company.and_then(|company| ObjectId::parse(&company.as_str()?));
        if let Some(company) = company {
            let now = self.now;
            self.entry(company).add_ticket(found, now);
            self.until = self.until.min(CustomerUsage::until_by_ticket(found, now));
        }
    }
}

//! Changes of the engagement of users and companies (R37) by an event, or by a user who changes their company.

use svctrack_core::{
    resources::{
        company::COMPANY,
        end_user::{self, END_USER},
    },
    schema::{IndexEntry, Lookup as _},
    value::{
        ObjectId, TenantId,
        engagement::{Engagement, EngagementUpdate},
    },
};

use super::{
    open_tables::{Tables, Transaction},
    pending::Pending,
    tenant_view::TenantView,
};
use crate::{
    StoreError,
    rows::engagement::{EngagementOwner, ReadRows as _, WriteEngagement as _},
};

/// Number of users of a company that are read first for the time of the last activity.
const ASKED_FIRST: usize = 16;

/// Adds an event to its user and their company.
pub(crate) fn add(
    tables: &mut Tables<impl Transaction>,
    tenant: TenantId,
    engaged: &EngagementUpdate,
) -> Result<(), StoreError> {
    let user = (tenant, END_USER.code, engaged.end_user_id);
    let company = engaged.company_id.map(|id| (tenant, COMPANY.code, id));
    for owner in [Some(user), company].into_iter().flatten() {
        tables.engagement.row(owner)?.engagement.add(engaged);
    }
    Ok(())
}

/// Moves the engagement of a user when they change their company, or are deleted.
pub(crate) fn follow(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    user: ObjectId,
    removed: &[IndexEntry],
    added: &[IndexEntry],
) -> Result<(), StoreError> {
    let (left, joined) = (company_in(removed), company_in(added));
    if left.is_none() && joined.is_none() {
        return Ok(());
    }
    let of_user = tables.engagement.row((tenant, END_USER.code, user))?.engagement.clone();
    if of_user == Engagement::default() {
        return Ok(());
    }
    if let Some(company) = left {
        let row = tables.engagement.row((tenant, COMPANY.code, company))?;
        // Only a user who was active last, or at the same time, affects the company's last activity.
        let was_last = of_user.last_active() >= row.engagement.last_active();
        row.engagement.leave(&of_user);
        pending.lost_the_last.extend(was_last.then_some((tenant, COMPANY.code, company)));
    }
    if let Some(company) = joined {
        tables.engagement.row((tenant, COMPANY.code, company))?.engagement.join(&of_user);
    }
    Ok(())
}

fn company_in(entries: &[IndexEntry]) -> Option<ObjectId> {
    let entry = entries.iter().find(|entry| entry.row == end_user::COMPANY_ID.name)?;
    ObjectId::parse(&entry.key)
}

/// Sets the last activity of companies that a user has left.
pub(crate) fn settle(
    tables: &mut Tables<impl Transaction>,
    mut lost: Vec<EngagementOwner>,
) -> Result<(), StoreError> {
    // Once for all users who leave in this transaction.
    lost.sort_unstable();
    lost.dedup();
    lost.into_iter().try_for_each(|owner| ask_users(tables, owner))
}

/// Reads the last activities of the users of a company; none was later than its row has, so that the first few are read
/// first: in a company of many, several were active at the same time.
fn ask_users(
    tables: &mut Tables<impl Transaction>,
    owner: EngagementOwner,
) -> Result<(), StoreError> {
    let (tenant, _, company) = owner;
    let latest = tables.engagement.row(owner)?.engagement.last_active();
    let row = end_user::COMPANY_ID.name;
    let mut last_active = None;
    for limit in [ASKED_FIRST, usize::MAX] {
        let view = TenantView::in_transaction(tenant, tables);
        let users = view.holders(&END_USER, row, &company.to_string(), limit)?;
        for user in &users {
            let of_user = tables.engagement.engagement(tenant, &END_USER, *user)?;
            last_active = last_active.max(of_user.and_then(|known| known.last_active()));
            if last_active == latest {
                return Ok(());
            }
        }
        if users.len() < limit {
            break;
        }
    }
    tables.engagement.row(owner)?.engagement.set_last_active(last_active);
    Ok(())
}

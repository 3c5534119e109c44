//! Log of activities, and the history of one user or one company in it (R38).
//!
//! Each activity names the one before it of its user and of its company, and the engagement of either names the latest:
//! so an event costs no index row, and a history is read without a scan. One of every `MARK_EVERY` activities of a
//! history is marked, so that a page that begins in the middle of it is not reached from the end.

use serde::{Deserialize, Serialize};
use svctrack_core::{
    plan::Activity,
    resources::{company::COMPANY, end_user::END_USER},
    schema::ResourceDef,
    usage::CountedActivity,
    value::{ObjectId, TenantId, Timestamp},
};

use super::{
    message_ids,
    open_tables::{Tables, Transaction},
    pending::Pending,
    usage,
};
use crate::{
    StoreError,
    rows::{
        ACTIVITIES, ACTIVITY_MARKS, AppendRows as _, Bytes as _, Rows, Snapshot, WriteRows as _,
        engagement::{EngagementOwner, ReadRows, WriteEngagement},
        keys, stored_value,
    },
};

/// Activities of a history from one mark to the next: at most this many rows are read in vain, and a mark is one row
/// for many events.
pub(crate) const MARK_EVERY: u8 = 128;

/// Previous activities in each history of an activity.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct HistoryLinks {
    of_user: Option<ObjectId>,
    of_company: Option<ObjectId>,
}

impl HistoryLinks {
    fn before(self, resource: u8) -> Option<ObjectId> {
        if resource == END_USER.code { self.of_user } else { self.of_company }
    }
}

/// A row of the log.
#[derive(Debug, Serialize, Deserialize)]
enum LoggedActivity<A = Box<Activity>> {
    Activity(HistoryLinks, A),
    /// Link of an erased activity in the history of its company.
    Erased(HistoryLinks),
}

impl LoggedActivity {
    fn links(&self) -> HistoryLinks {
        match self {
            Self::Activity(links, _) | Self::Erased(links) => *links,
        }
    }

    fn into_activity(self) -> Option<Activity> {
        match self {
            Self::Activity(_, activity) => Some(*activity),
            Self::Erased(_) => None,
        }
    }
}

/// Activity in a row of the log, unless it was erased.
pub(crate) fn unseal(key: &[u8], bytes: &[u8]) -> Result<Option<Activity>, StoreError> {
    Ok(stored_value::unseal_row_with_id::<LoggedActivity>(key, bytes)?.into_activity())
}

/// An activity, if it exists.
pub(crate) fn load(
    log: &impl Rows,
    tenant: TenantId,
    id: ObjectId,
) -> Result<Option<Activity>, StoreError> {
    Ok(load_row(log, tenant, id)?.and_then(LoggedActivity::into_activity))
}

/// Passes the activity in a row of the log to `count`, unless it was erased or is passive: only the counted fields are
/// read.
pub(crate) fn counted(
    key: &[u8],
    bytes: &[u8],
    count: impl FnOnce(CountedActivity<'_>),
) -> Result<(), StoreError> {
    let read: LoggedActivity<ActivityHead<'_>> = stored_value::unseal_front(key, bytes)?;
    if let LoggedActivity::Activity(
        _,
        ActivityHead { passive: false, user, action, count: times, date, received_at, .. },
    ) = read
    {
        count(CountedActivity::new(user, action, times, date, received_at));
    }
    Ok(())
}

/// First fields of a stored [`Activity`].
#[derive(Debug, Deserialize)]
struct ActivityHead<'a> {
    _id: ObjectId,
    _company: Option<ObjectId>,
    user: ObjectId,
    action: &'a str,
    _asset: Option<&'a str>,
    _project: Option<&'a str>,
    _info: Option<&'a [u8]>,
    count: u16,
    _weight: f64,
    passive: bool,
    date: Timestamp,
    received_at: Timestamp,
}

fn load_row(
    log: &impl Rows,
    tenant: TenantId,
    id: ObjectId,
) -> Result<Option<LoggedActivity>, StoreError> {
    let key = keys::log(tenant, id);
    let row = log.get(key.as_slice())?;
    row.map(|row| stored_value::unseal_row_with_id(&key, row.value())).transpose()
}

/// Adds an activity to the log and to the histories of its user and company.
pub(crate) fn append(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    activity: &Activity,
) -> Result<(), StoreError> {
    pending.spans.add(tables, tenant, activity)?;
    let mut enter = |owner| enter(tables, owner, activity.id);
    let links = HistoryLinks {
        of_user: enter((tenant, END_USER.code, activity.end_user_id))?,
        of_company: match activity.company_id {
            Some(company) => enter((tenant, COMPANY.code, company))?,
            None => None,
        },
    };
    let key = keys::log(tenant, activity.id);
    let value = stored_value::seal_row(&key, &LoggedActivity::Activity(links, activity))?;
    tables.activities.add(key, value)
}

/// Sets an activity as the latest of a history; returns the one before.
fn enter(
    tables: &mut Tables<impl Transaction>,
    owner: EngagementOwner,
    activity: ObjectId,
) -> Result<Option<ObjectId>, StoreError> {
    let row = tables.engagement.row(owner)?;
    let before = row.latest.replace(activity);
    row.since_mark += 1;
    if row.since_mark == MARK_EVERY {
        row.since_mark = 0;
        let (tenant, resource, id) = owner;
        let mark = keys::mark(tenant, resource, id, activity);
        tables.activity_marks.insert(mark.as_slice(), [].as_slice())?;
    }
    Ok(before)
}

/// Removes the latest activities of a user who is erased, up to a limit, with the ids of their events; returns whether
/// these were the last, with which the user's engagement is removed.
pub(crate) fn erase(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    tenant: TenantId,
    user: ObjectId,
    limit: usize,
) -> Result<bool, StoreError> {
    let owner = (tenant, END_USER.code, user);
    let mut next = tables.engagement.row(owner)?.latest;
    for _ in 0..limit {
        let Some(id) = next else { break };
        next = erase_one(tables, pending, owner, id)?;
    }
    tables.engagement.row(owner)?.latest = next;
    if next.is_none() {
        tables.engagement.remove(owner)?;
        usage::erase(&mut tables.usage, tenant, user)?;
    }
    Ok(next.is_none())
}

/// Erases an activity and returns the one before it in the history of its user.
fn erase_one(
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    owner: EngagementOwner,
    id: ObjectId,
) -> Result<Option<ObjectId>, StoreError> {
    let (tenant, resource, user) = owner;
    let key = keys::log(tenant, id);
    let log = tables.activities.written()?;
    let Some(LoggedActivity::Activity(links, erased)) = load_row(log, tenant, id)? else {
        return Ok(None);
    };
    if let Some(message) = &erased.message_id {
        message_ids::forget(tables, pending, tenant, message, erased.received_at)?;
    }
    tables.activity_marks.remove(keys::mark(tenant, resource, user, id).as_slice())?;
    if let Some(company) = erased.company_id {
        // A mark is removed with its activity, which alone names its owner.
        let mark = keys::mark(tenant, COMPANY.code, company, id);
        tables.activity_marks.remove(mark.as_slice())?;
        let place: LoggedActivity = LoggedActivity::Erased(HistoryLinks { of_user: None, ..links });
        let value = stored_value::seal_row(&key, &place)?;
        tables.activities.put(&key, value)?;
    } else {
        tables.activities.remove(&key)?;
    }
    Ok(links.of_user)
}

/// Activities of a user or a company, newest first, read as they are requested.
pub(crate) struct History<T> {
    log: T,
    marks: T,
    owner: EngagementOwner,
    /// Next activity, which was read already.
    at_hand: Option<Activity>,
    /// Id of the activity to read next.
    next: Option<ObjectId>,
}

impl<T: Rows> History<T> {
    /// Activities before one, which need not be of this history.
    pub(crate) fn before(
        snapshot: &impl Snapshot<Table = T>,
        tenant: TenantId,
        def: &ResourceDef,
        id: ObjectId,
        before: ObjectId,
    ) -> Result<Self, StoreError> {
        let owner = (tenant, def.code, id);
        let next = snapshot.engagement()?.latest_activity(owner)?;
        let (log, marks) = (snapshot.open(ACTIVITIES)?, snapshot.open(ACTIVITY_MARKS)?);
        let mut history = Self { log, marks, owner, at_hand: None, next };
        history.skip_to(before)?;
        Ok(history)
    }

    /// Continues with the activities before one.
    pub(crate) fn skip_to(&mut self, before: ObjectId) -> Result<(), StoreError> {
        self.at_hand.take_if(|found| found.id >= before);
        if self.next.is_some_and(|next| next >= before) {
            let mark = mark_from(&self.marks, self.owner, before)?;
            self.next = mark.or(self.next);
        }
        while self.next.is_some_and(|next| next >= before) {
            self.read()?;
        }
        Ok(())
    }

    /// The next activity, which stays the next one.
    pub(crate) fn peek(&mut self) -> Result<Option<&Activity>, StoreError> {
        while self.at_hand.is_none() && self.next.is_some() {
            self.at_hand = self.read()?;
        }
        Ok(self.at_hand.as_ref())
    }

    pub(crate) fn take(&mut self) -> Option<Activity> {
        self.at_hand.take()
    }

    /// Reads a row; none for that of an erased activity. A removed activity is the end: earlier ones were removed
    /// before.
    fn read(&mut self) -> Result<Option<Activity>, StoreError> {
        let Some(id) = self.next.take() else { return Ok(None) };
        let (tenant, resource, _) = self.owner;
        let Some(row) = load_row(&self.log, tenant, id)? else { return Ok(None) };
        self.next = row.links().before(resource);
        Ok(row.into_activity())
    }
}

/// First marked activity of a history that is not before this one.
fn mark_from(
    marks: &impl Rows,
    (tenant, resource, id): EngagementOwner,
    activity: ObjectId,
) -> Result<Option<ObjectId>, StoreError> {
    let bound = |activity| keys::mark(tenant, resource, id, activity);
    let (from, last) = (bound(activity), bound(ObjectId::MAX));
    let mark = marks.range(from.as_slice()..=last.as_slice())?.next().transpose()?;
    Ok(mark.and_then(|(key, _)| keys::id_at_end(key.value())))
}

//! References between tables: each index entry names a record that has its value, and each record has its entries; each
//! activity is in its histories; and so on.

use std::collections::{BTreeMap, BTreeSet};

use svctrack_core::{
    plan::Activity,
    resources::{self, company::COMPANY, end_user::END_USER, license::LICENSE},
    revenue::LicenseFacts,
    schema::{IndexEntry, ResourceDef, index},
    value::{Document, ObjectId, TenantId},
};

use super::verify::VerifyReport;
use crate::{
    StoreError, TenantState,
    embedded::{
        engagement::SnapshotEngagement,
        file::corruption,
        tables::{
            redb_table::{self, ReadTable},
            snapshot::RedbSnapshot,
        },
    },
    rows::{self, Rows as _, Snapshot, Table, keys, stored_value},
    rules::{
        activity_history::{self, History},
        counters::Counter,
        date_ranges,
        derived_rows::MissingRows,
        license_facts, tenants,
    },
};

/// Tables that refer to each other, in a snapshot.
pub(crate) struct LinkedTables<'s> {
    snapshot: &'s RedbSnapshot,
    records: ReadTable,
    unique: ReadTable,
    index: ReadTable,
    activities: ReadTable,
    spans: Option<ReadTable>,
    /// Tenants that are being deleted: some tables still have rows of them and others do not.
    deleted: BTreeSet<TenantId>,
    /// Facts of licenses; none before a program that knows them has opened the store.
    facts: Option<ReadTable>,
    /// Whether ordered fields have index entries: not before a program that knows these fields has opened the store.
    has_ordered: bool,
}

type FoundCounts = BTreeMap<(TenantId, Counter), u64>;
/// Which counter counts the row with a key.
type RowCounter = fn(&[u8]) -> Option<Counter>;

impl<'s> LinkedTables<'s> {
    pub(crate) fn read_from(snapshot: &'s RedbSnapshot) -> Result<Self, StoreError> {
        let missing = MissingRows::of(&snapshot.open(rows::META)?)?;
        let facts = (!missing.facts).then(|| snapshot.open(rows::LICENSE_FACTS)).transpose()?;
        Ok(Self {
            snapshot,
            records: snapshot.open(rows::RECORDS)?,
            unique: snapshot.open(rows::UNIQUE)?,
            index: snapshot.open(rows::INDEX)?,
            activities: snapshot.open(rows::ACTIVITIES)?,
            spans: redb_table::open_if_there(snapshot, rows::ACTIVITY_SPANS)?,
            deleted: tenants_being_deleted(snapshot)?,
            facts,
            has_ordered: !missing.index,
        })
    }

    /// Checks all references. Corrupted rows are skipped here, since they have been reported.
    pub(crate) fn check(&self, found: &mut VerifyReport) -> Result<(), StoreError> {
        self.for_each(rows::RECORDS, found, |key, value, found| self.record(key, value, found))?;
        self.for_each(rows::UNIQUE, found, |key, value, found| {
            let holder = stored_value::unseal_exact(key, value).map(ObjectId::from_bytes)?;
            self.entry(rows::UNIQUE, key, holder, key, found)
        })?;
        self.for_each(rows::INDEX, found, |key, _, found| {
            let (entry, holder) = split_id(key)?;
            let entry = entry.strip_suffix(b"\0").ok_or_else(no_key)?;
            self.entry(rows::INDEX, entry, holder, key, found)
        })?;
        for part in [Self::license_facts, Self::histories, Self::pairs, Self::counters] {
            unless_corrupted(corruption::contained(|| part(self, found)))?;
        }
        Ok(())
    }

    /// A table, if it exists; none where its beginning is corrupted.
    fn open(&self, definition: Table) -> Result<Option<Option<ReadTable>>, StoreError> {
        let open = || Ok(redb_table::open_if_there(self.snapshot, definition)?);
        unless_corrupted(corruption::contained(open))
    }

    /// Passes each row of a table to `check`, as far as the table can be read; returns whether all of it was.
    fn for_each(
        &self,
        definition: Table,
        found: &mut VerifyReport,
        mut check: impl FnMut(&[u8], &[u8], &mut VerifyReport) -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        let read = corruption::contained(|| {
            let mut is_whole = true;
            for row in self.snapshot.open(definition)?.iter()? {
                let (key, value) = row?;
                if keys::tenant_of(key.value()).is_some_and(|of| self.deleted.contains(&of)) {
                    continue;
                }
                let checked = corruption::contained(|| check(key.value(), value.value(), found));
                if let Err(StoreError::Corrupted { cause, .. }) = &checked
                    && cause == NO_KEY
                {
                    // No checksum detects a malformed key.
                    found.add(definition.name(), None, NO_KEY);
                }
                is_whole &= unless_corrupted(checked)?.is_some();
            }
            Ok(is_whole)
        });
        Ok(unless_corrupted(read)? == Some(true))
    }

    /// Checks a record: each of its entries must be in its index.
    fn record(&self, key: &[u8], value: &[u8], found: &mut VerifyReport) -> Result<(), StoreError> {
        let (owner, id) = split_id(key)?;
        let is_ordered = |entry: &IndexEntry| {
            let def = owner.last().and_then(|code| resources::by_code(*code));
            def.and_then(|def| def.field(entry.row)).is_some_and(|row| row.ordered)
        };
        let document = stored_value::unseal_record(key, value)?.document()?;
        for entry in entries(owner, &document) {
            if is_ordered(&entry) && !self.has_ordered {
                continue;
            }
            let key = keys::entry(owner, entry.row, &entry.key);
            let (table, is_there) = if entry.unique {
                let holder = self.unique.get(key.as_slice())?;
                let holder = holder.map(|holder| stored_value::unseal_exact(&key, holder.value()));
                (rows::UNIQUE, holder.transpose()? == Some(*id.as_bytes()))
            } else {
                let key = [key.as_slice(), &[0], id.as_bytes()].concat();
                (rows::INDEX, self.index.get(key.as_slice())?.is_some())
            };
            if !is_there {
                found.add(
                    table.name(),
                    Some(id),
                    format!("its index entry of `{}` is missing", entry.row),
                );
            }
        }
        if owner.last() == Some(&LICENSE.code) {
            self.license(owner, id, &document, found)?;
        }
        Ok(())
    }

    /// Checks a license: the facts of its record must be stored.
    fn license(
        &self,
        owner: &[u8],
        id: ObjectId,
        license: &Document,
        found: &mut VerifyReport,
    ) -> Result<(), StoreError> {
        let Some(facts) = &self.facts else { return Ok(()) };
        let tenant = keys::tenant_of(owner).ok_or_else(no_key)?;
        let expected = LicenseFacts::as_written(license);
        let expected = expected.map(|facts| license_facts::row(tenant, &facts)).transpose()?;
        let stored = facts.get(&keys::log(tenant, id))?.map(|facts| facts.value().to_vec());
        if stored != expected.map(|(_, facts)| facts) {
            let what = "the facts of the license are not those of its record";
            found.add(rows::LICENSE_FACTS.name(), Some(id), what);
        }
        Ok(())
    }

    /// Checks facts of licenses: each must be those of a license.
    fn license_facts(&self, found: &mut VerifyReport) -> Result<(), StoreError> {
        if self.facts.is_none() {
            return Ok(());
        }
        self.for_each(rows::LICENSE_FACTS, found, |key, _, found| {
            let (tenant, id) = (keys::tenant_of(key).ok_or_else(no_key)?, split_id(key)?.1);
            if self.records.get(&keys::record(tenant, LICENSE.code, id))?.is_none() {
                found.add(rows::LICENSE_FACTS.name(), Some(id), "the license is missing");
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Checks an index entry: its record must have it.
    fn entry(
        &self,
        table: Table,
        entry: &[u8],
        holder: ObjectId,
        key: &[u8],
        found: &mut VerifyReport,
    ) -> Result<(), StoreError> {
        let owner = key.get(..keys::OWNER_BYTES).ok_or_else(no_key)?;
        let record = [owner, holder.as_bytes()].concat();
        let has_it = match self.records.get(record.as_slice())? {
            Some(value) => {
                let document = stored_value::unseal_record(&record, value.value())?.document()?;
                let mut keys = entries(owner, &document)
                    .into_iter()
                    .map(|entry| keys::entry(owner, entry.row, &entry.key));
                keys.any(|known| known == entry)
            }
            None => false,
        };
        if !has_it {
            found.add(table.name(), Some(holder), "an index entry does not match its record");
        }
        Ok(())
    }

    /// Checks histories: each activity must be in those of its user and company, and each mark on an existing activity.
    fn histories(&self, found: &mut VerifyReport) -> Result<(), StoreError> {
        let mut in_histories = BTreeMap::new();
        let mut follow = |tenant, def: &ResourceDef, id, found: &mut VerifyReport| {
            let mut history = History::before(self.snapshot, tenant, def, id, ObjectId::MAX)?;
            while history.peek()?.is_some() {
                let activity = history.take().ok_or_else(no_key)?;
                *in_histories.entry(def.path).or_insert(0) += 1;
                let theirs = [Some(activity.end_user_id), activity.company_id];
                if !theirs.contains(&Some(id)) {
                    let what = "the activity is in the history of another user or company";
                    found.add(rows::ACTIVITIES.name(), Some(activity.id), what);
                }
            }
            Ok(())
        };
        let mut is_whole = self.is_log_whole(found)?;
        is_whole &= self.for_each(rows::ENGAGEMENT, found, |key, _, found| {
            let (owner, id) = split_id(key)?;
            let (tenant, def) = tenant_and_resource(owner)?;
            follow(tenant, def, id, found)
        })?;
        let read = corruption::contained(|| {
            for (tenant, resource, id) in SnapshotEngagement::open(self.snapshot)?.logged_alone()? {
                if self.deleted.contains(&tenant) {
                    continue;
                }
                let followed = corruption::contained(|| {
                    let def = resources::by_code(resource).ok_or_else(no_key)?;
                    follow(tenant, def, id, found)
                });
                is_whole &= unless_corrupted(followed)?.is_some();
            }
            Ok(())
        });
        is_whole &= unless_corrupted(read)?.is_some();
        let mut logged = BTreeMap::from([(END_USER.path, 0_u64), (COMPANY.path, 0)]);
        is_whole &= self.for_each(rows::ACTIVITIES, found, |key, value, found| {
            if let Some(activity) = activity_history::unseal(key, value)? {
                self.look_at_span(key, &activity, found)?;
                *logged.entry(END_USER.path).or_insert(0) += 1;
                let of_company = u64::from(activity.company_id.is_some());
                *logged.entry(COMPANY.path).or_insert(0) += of_company;
            }
            Ok(())
        })?;
        // The total is known only where all could be read.
        for (whose, logged) in logged {
            let in_histories = in_histories.get(whose).copied().unwrap_or(0);
            if is_whole && in_histories != logged {
                let what =
                    format!("expected {logged} in the histories of {whose}; found {in_histories}");
                found.add(rows::ACTIVITIES.name(), None, what);
            }
        }
        self.marks(found)
    }

    /// Whether each mark is at an activity.
    fn marks(&self, found: &mut VerifyReport) -> Result<(), StoreError> {
        self.for_each(rows::ACTIVITY_MARKS, found, |key, _, found| {
            let (_, id) = split_id(key)?;
            let activity = [tenant_in(key)?, id.as_bytes()].concat();
            if self.activities.get(activity.as_slice())?.is_none() {
                found.add(rows::ACTIVITY_MARKS.name(), Some(id), "the activity is missing");
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Whether each entry of the log of engagement can be read in one copy, as far as this is known.
    fn is_log_whole(&self, found: &mut VerifyReport) -> Result<bool, StoreError> {
        let mut is_whole = false;
        for copy in [rows::ENGAGEMENT_LOG, rows::ENGAGEMENT_LOG_TWIN] {
            is_whole |= match self.open(copy)? {
                // A store of an earlier version has no log.
                Some(None) => true,
                Some(Some(_)) => self.for_each(copy, found, |key, value, _| {
                    stored_value::unseal(key, value).map(drop)
                })?,
                None => false,
            };
        }
        Ok(is_whole)
    }

    /// Checks an activity: its date must be one that its span may hold. For a corrupted span this is not known.
    fn look_at_span(
        &self,
        key: &[u8],
        activity: &Activity,
        found: &mut VerifyReport,
    ) -> Result<(), StoreError> {
        let tenant = keys::tenant_of(key).ok_or_else(no_key)?;
        let fits = corruption::contained(|| {
            let of_span = |spans| date_ranges::covering(spans, tenant, activity.id);
            let span = self.spans.as_ref().map(of_span).transpose()?.flatten();
            Ok(span.is_none_or(|(_, span)| span.may_hold(activity.date)))
        });
        if unless_corrupted(fits)? == Some(false) {
            let what = "the date of the activity is outside its date range";
            found.add(rows::ACTIVITY_SPANS.name(), Some(activity.id), what);
        }
        Ok(())
    }

    /// Checks tables whose rows each belong to a row of another table.
    fn pairs(&self, found: &mut VerifyReport) -> Result<(), StoreError> {
        self.twins(found)?;
        self.pair(rows::ONCE_PLACES, rows::ONCE, found, |key, value| {
            stored_value::unseal(key, value).map(<[u8]>::to_vec)
        })?;
        self.pair(rows::REPORT_CAUSES, rows::REPORT, found, |key, value| {
            Ok([tenant_in(key)?, stored_value::unseal(key, value)?].concat())
        })?;
        self.pair(rows::TOKENS_OF_TENANT, rows::TOKENS, found, |key, _| {
            Ok(key.strip_prefix(tenant_in(key)?).unwrap_or(key).to_vec())
        })?;
        self.for_each(rows::WAITING, found, |key, _, found| {
            let (_, id) = split_id(key)?;
            let parked = [tenant_in(key)?, id.as_bytes()].concat();
            if self.snapshot.open(rows::PARKED)?.get(parked.as_slice())?.is_none() {
                found.add(rows::WAITING.name(), Some(id), "the parked event is missing");
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Checks that both copies of the log of engagement are the same.
    fn twins(&self, found: &mut VerifyReport) -> Result<(), StoreError> {
        for [copy, twin] in [
            [rows::ENGAGEMENT_LOG, rows::ENGAGEMENT_LOG_TWIN],
            [rows::ENGAGEMENT_LOG_TWIN, rows::ENGAGEMENT_LOG],
        ] {
            let Some(Some(other)) = self.open(twin)? else { continue };
            self.for_each(copy, found, |key, value, found| {
                if other.get(key)?.is_none_or(|other| other.value() != value) {
                    found.add(copy.name(), None, "an entry differs from its copy");
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Checks a pair of tables: each row of `from` must name one of `to`, and there must be equally many.
    fn pair(
        &self,
        from: Table,
        to: Table,
        found: &mut VerifyReport,
        named: impl Fn(&[u8], &[u8]) -> Result<Vec<u8>, StoreError>,
    ) -> Result<(), StoreError> {
        let Some(Some(others)) = self.open(to)? else { return Ok(()) };
        self.for_each(from, found, |key, value, found| {
            if others.get(named(key, value)?.as_slice())?.is_none() {
                found.add(from.name(), None, format!("a row names none of `{}`", to.name()));
            }
            Ok(())
        })?;
        let Some(Some(ones)) = self.open(from)? else { return Ok(()) };
        let (one, other) = (ones.len()?, others.len()?);
        if one != other && self.deleted.is_empty() {
            found.add(
                from.name(),
                None,
                format!("`{}` has {one} rows, and `{}` has {other}", from.name(), to.name()),
            );
        }
        Ok(())
    }

    /// Checks counters: each must equal the number of its rows.
    fn counters(&self, found: &mut VerifyReport) -> Result<(), StoreError> {
        let counted: [(Table, RowCounter); 4] = [
            (rows::PARKED, |_| Some(Counter::Parked)),
            (rows::REPORT, |_| Some(Counter::Reported)),
            (rows::ONCE, |_| Some(Counter::Once)),
            (rows::MESSAGES, |key| keys::window_of(key).map(Counter::Messages)),
        ];
        let mut counts = FoundCounts::new();
        for (table, counter_of) in counted {
            let mut of_table = FoundCounts::new();
            let is_whole = self.for_each(table, found, |key, _, _| {
                let tenant = keys::tenant_of(key).ok_or_else(no_key)?;
                let counter = counter_of(key).ok_or_else(no_key)?;
                *of_table.entry((tenant, counter)).or_insert(0) += 1;
                Ok(())
            })?;
            // The total is known only where all could be read.
            if is_whole {
                counts.append(&mut of_table);
            }
        }
        let counters = self.snapshot.open(rows::COUNTERS)?;
        for ((tenant, counter), expected) in counts {
            let key = counter.key(tenant);
            let counted = corruption::contained(|| {
                let counted = counters.get(key.as_slice())?;
                counted.map(|value| stored_value::unseal_exact(&key, value.value())).transpose()
            });
            let counted = match counted {
                Err(StoreError::Corrupted { .. }) => continue,
                counted => counted?.map_or(0, u64::from_be_bytes),
            };
            if counted != expected {
                let what = format!("counter `{counter}`: expected {expected}; found {counted}");
                found.add(rows::COUNTERS.name(), None, what);
            }
        }
        Ok(())
    }
}

/// Tenants that are being deleted. One with a corrupted row is reported as corrupted.
fn tenants_being_deleted(snapshot: &RedbSnapshot) -> Result<BTreeSet<TenantId>, StoreError> {
    let tenants = unless_corrupted(corruption::contained(|| tenants::list(snapshot, usize::MAX)))?;
    let tenants = tenants.unwrap_or_default().into_iter();
    let deleted = tenants.filter(|tenant| tenant.state == TenantState::Deleting);
    Ok(deleted.map(|tenant| tenant.id).collect())
}

/// Index entries of a record; `owner` is the beginning of its key.
fn entries(owner: &[u8], document: &Document) -> Vec<IndexEntry> {
    let def = owner.last().and_then(|code| resources::by_code(*code));
    def.map(|def| index::entries(def, document)).unwrap_or_default()
}

fn split_id(key: &[u8]) -> Result<(&[u8], ObjectId), StoreError> {
    let (before, id) = key.split_last_chunk().ok_or_else(no_key)?;
    Ok((before, ObjectId::from_bytes(*id)))
}

fn tenant_in(key: &[u8]) -> Result<&[u8], StoreError> {
    key.get(..keys::TENANT_BYTES).ok_or_else(no_key)
}

fn tenant_and_resource(owner: &[u8]) -> Result<(TenantId, &'static ResourceDef), StoreError> {
    let def = owner.get(keys::TENANT_BYTES).and_then(|code| resources::by_code(*code));
    Ok((keys::tenant_of(owner).ok_or_else(no_key)?, def.ok_or_else(no_key)?))
}

/// Message for a key without the parts of its table's keys.
const NO_KEY: &str = "malformed key";

fn no_key() -> StoreError {
    StoreError::corrupted(NO_KEY)
}

/// The result, or none for corrupted data, which was reported when each row was compared with its checksum.
fn unless_corrupted<T>(found: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match found {
        Err(StoreError::Corrupted { .. }) => Ok(None),
        found => found.map(Some),
    }
}

//! Counts blocks and single activities by the days of a time zone.

use std::collections::HashMap;

use super::{
    action_names::{ActionNames, index},
    block::{Block, MalformedBlock, UsageEntry, UserPart},
    calendar::Calendar,
    presence::{Presence, bits, set},
    report_days::{DayClass, ReportDay, ReportDays, Windows},
    tally::CountedActivity,
};
use crate::value::ObjectId;

/// Maximum number of actions that are counted by their names; further ones are counted together.
pub const MAX_ACTIONS: usize = 1_000;

/// Activity of one user in the periods of a report.
#[derive(Clone, Debug, Default)]
pub struct UserUsage {
    /// Days on which the user was active.
    pub presence: Presence,
    /// Activities in the days of the cell ([`Windows::cell`]).
    pub activities: u64,
    /// Sum of their `count`.
    pub occurrences: u64,
    /// The actions in the periods.
    actions: Vec<u64>,
}

impl UserUsage {
    fn join(&mut self, added: Self) {
        self.presence.join(&added.presence);
        self.activities += added.activities;
        self.occurrences += added.occurrences;
        bits(&added.actions).for_each(|action| set(&mut self.actions, action));
    }
}

/// Counts of an action, from which the usage report is computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionCounts {
    /// Activities in each period.
    pub periods: Vec<u64>,
    /// Activities in all periods.
    pub activities: u64,
    /// Sum of their `count`.
    pub occurrences: u64,
    /// Users with the action in the periods.
    pub users: u64,
    /// Activities in the latest days.
    pub recent: u64,
    /// Activities in equally many days before.
    pub before: u64,
}

/// Counts of all users, and the windows that they are for.
#[derive(Debug)]
pub struct UsageCounts {
    /// The days that were counted.
    pub calendar: Calendar,
    /// Days that were counted.
    pub windows: Windows,
    /// Users who were ever active, in the order of their ids.
    pub people: Vec<(ObjectId, UserUsage)>,
    /// Actions, the most frequent first.
    pub actions: Vec<(String, ActionCounts)>,
    /// Counts of the actions that are not in `actions`, added up.
    pub others: ActionCounts,
    /// The sum of the counts of all activities in each period.
    pub occurrences: Vec<u64>,
}

/// Counts of the blocks and activities so far.
#[derive(Clone, Debug)]
pub struct UsageCounting {
    calendar: Calendar,
    windows: Windows,
    days: ReportDays,
    places: HashMap<ObjectId, usize>,
    people: Vec<(ObjectId, UserUsage)>,
    names: ActionNames,
    sums: UsageSums,
}

/// Sums over all users.
#[derive(Clone, Debug)]
struct UsageSums {
    /// Number of classes of days.
    classes: usize,
    /// Totals on the days of each class: for each action, and last for all others.
    totals: Vec<UsageTotals>,
    /// Only action for which the activities of each user are counted; none for all.
    only: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct UsageTotals {
    activities: u64,
    occurrences: u64,
}

impl UsageSums {
    fn actions(&self) -> impl Iterator<Item = &[UsageTotals]> {
        self.totals.chunks(self.classes.max(1))
    }
}

/// Counts the activities of a user, in the order of time.
struct PersonCounter<'c> {
    days: &'c ReportDays,
    /// Day of the latest activity that was counted.
    day: Option<&'c ReportDay>,
    person: &'c mut UserUsage,
    sums: &'c mut UsageSums,
}

impl PersonCounter<'_> {
    #[inline(always)]
    fn count(&mut self, entry: &UsageEntry) {
        if self.day.is_none_or(|day| day.end <= entry.quarter) {
            self.day = self.days.at(entry.quarter);
            if let Some(place) = self.day.and_then(|day| day.place) {
                self.person.presence.add(place);
            }
        }
        let Some(day) = self.day.filter(|day| day.place.is_some()) else { return };
        let Self { person, sums, .. } = self;
        let action = index(entry.action);
        let Some(totals) = sums.totals.get_mut(action * sums.classes + day.class) else { return };
        let (activities, occurrences) = (u64::from(entry.activities), u64::from(entry.occurrences));
        totals.activities += activities;
        totals.occurrences += occurrences;
        if day.is_in_period {
            set(&mut person.actions, action);
        }
        if day.is_in_cell && sums.only.is_none_or(|only| only == entry.action) {
            person.activities += activities;
            person.occurrences += occurrences;
        }
    }
}

impl ActionCounts {
    /// Counts of an action, from its totals on the days of each class.
    fn from_totals(totals: &[UsageTotals], classes: &[DayClass], periods: usize) -> Self {
        let mut counts = Self { periods: vec![0; periods], ..Self::default() };
        for (totals, class) in totals.iter().zip(classes) {
            if let Some(of_period) = class.period.and_then(|it| counts.periods.get_mut(it)) {
                *of_period += totals.activities;
                counts.activities += totals.activities;
                counts.occurrences += totals.occurrences;
            }
            if class.is_recent {
                counts.recent += totals.activities;
            } else if class.is_before {
                counts.before += totals.activities;
            }
        }
        counts
    }
}

impl UsageCounting {
    /// Begins to count in the windows of a calendar.
    pub fn new(calendar: Calendar, windows: Windows) -> Self {
        let days = ReportDays::new(&calendar, &windows);
        let mut names = ActionNames::default();
        let only = windows.cell.as_ref().and_then(|(_, only)| only.as_ref());
        let only = only.map(|only| names.number_of(only));
        let sums = UsageSums { classes: days.classes().len(), totals: Vec::new(), only };
        let (places, people) = (HashMap::new(), Vec::new());
        Self { calendar, windows, days, places, people, names, sums }
    }

    /// Counts a single activity.
    pub fn add(&mut self, counted: &CountedActivity<'_>) {
        let action = self.action(counted.action);
        let occurrences = counted.count.into();
        let entry = UsageEntry { quarter: counted.quarter, action, activities: 1, occurrences };
        if let Some(mut counter) = self.counter(counted.user, counted.quarter) {
            counter.count(&entry);
        }
    }

    /// Numbers the actions of a block that is counted later, so that several counts number actions alike.
    ///
    /// # Errors
    /// [`MalformedBlock`]
    pub fn add_names(&mut self, bytes: &[u8]) -> Result<(), MalformedBlock> {
        for name in Block::parse(bytes)?.names() {
            self.action(name);
        }
        Ok(())
    }

    /// Adds another count, which began as a copy of this one and has met no other action since.
    pub fn join(&mut self, other: Self) {
        self.sums
            .totals
            .resize(self.sums.totals.len().max(other.sums.totals.len()), UsageTotals::default());
        for (totals, added) in self.sums.totals.iter_mut().zip(other.sums.totals) {
            totals.activities += added.activities;
            totals.occurrences += added.occurrences;
        }
        for (user, added) in other.people {
            let place = self.place(user);
            if let Some((_, person)) = self.people.get_mut(place) {
                person.join(added);
            }
        }
    }

    /// Counts the users of a block that are selected.
    ///
    /// # Errors
    /// [`MalformedBlock`]
    pub fn add_block(
        &mut self,
        bytes: &[u8],
        is_included: &dyn Fn(ObjectId) -> bool,
    ) -> Result<(), MalformedBlock> {
        let block = Block::parse(bytes)?;
        let actions: Vec<u32> = block.names().iter().map(|name| self.action(name)).collect();
        for part in block {
            let part = part?;
            if is_included(part.user) {
                self.add_part(&part, &actions)?;
            }
        }
        Ok(())
    }

    /// Counts the part of a block for a user; `actions` are the numbers of the block's actions.
    fn add_part(&mut self, part: &UserPart<'_>, actions: &[u32]) -> Result<(), MalformedBlock> {
        let Some(mut counter) = self.counter(part.user, part.first) else { return Ok(()) };
        part.each_entry(|entry| {
            let action = *actions.get(index(entry.action)).ok_or(MalformedBlock)?;
            counter.count(&UsageEntry { action, ..entry });
            Ok(())
        })
    }

    /// Counter of a user's activities from a quarter of an hour on.
    fn counter(&mut self, user: ObjectId, first: u32) -> Option<PersonCounter<'_>> {
        let place = self.place(user);
        let Self { days, people, sums, .. } = self;
        let (_, person) = people.get_mut(place)?;
        person.presence.add_first(first);
        Some(PersonCounter { days, day: None, person, sums })
    }

    fn place(&mut self, user: ObjectId) -> usize {
        let place = *self.places.entry(user).or_insert(self.people.len());
        if place == self.people.len() {
            self.people.push((user, UserUsage::default()));
        }
        place
    }

    /// Number of an action, which has sums; beyond [`MAX_ACTIONS`], that of all others.
    fn action(&mut self, name: &str) -> u32 {
        let action = if self.names.len() < MAX_ACTIONS {
            self.names.number_of(name)
        } else {
            self.names.get(name).unwrap_or(u32::try_from(MAX_ACTIONS).unwrap_or(u32::MAX))
        };
        let length = (index(action) + 1) * self.sums.classes;
        if self.sums.totals.len() < length {
            self.sums.totals.resize(length, UsageTotals::default());
        }
        action
    }

    /// Ends the count, and returns the counts.
    pub fn finish(mut self) -> UsageCounts {
        self.people.sort_unstable_by_key(|(user, _)| *user);
        let classes = self.days.classes();
        let periods = self.windows.periods.len();
        let counts_of = |totals| ActionCounts::from_totals(totals, classes, periods);
        let mut actions: Vec<ActionCounts> = self.sums.actions().map(counts_of).collect();
        for (_, person) in &self.people {
            for action in bits(&person.actions) {
                if let Some(counts) = actions.get_mut(action) {
                    counts.users += 1;
                }
            }
        }
        let mut occurrences = vec![0; periods];
        for (totals, class) in self.sums.actions().flat_map(|totals| totals.iter().zip(classes)) {
            if let Some(of_period) = class.period.and_then(|it| occurrences.get_mut(it)) {
                *of_period += totals.occurrences;
            }
        }
        let others = actions.split_off(actions.len().min(MAX_ACTIONS)).pop().unwrap_or_default();
        let mut actions: Vec<(String, ActionCounts)> = (0..)
            .zip(actions)
            .map(|(number, counts)| (self.names.name(number).to_owned(), counts))
            .filter(|(_, counts)| counts.activities + counts.recent + counts.before > 0)
            .collect();
        actions.sort_by(|(name, counts), (other_name, other)| {
            other.activities.cmp(&counts.activities).then_with(|| name.cmp(other_name))
        });
        let Self { calendar, windows, people, .. } = self;
        UsageCounts { calendar, windows, people, actions, others, occurrences }
    }
}

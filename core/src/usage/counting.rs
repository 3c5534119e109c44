//! Blocks and single activities, counted by the days of a zone.

use std::{collections::HashMap, ops::Range};

use super::{
    block::{Block, Entry, Malformed},
    calendar::Calendar,
    names::{Names, index},
    presence::{NO_PERIOD, Presence, bits, period_of_days, set},
    tally::Counted,
};
use crate::value::ObjectId;

/// The most actions that are counted by their names; what there is of others is counted together.
pub const MAX_ACTIONS: usize = 1_000;

/// The days that a report looks at, by their places in its calendar.
#[derive(Clone, Debug, Default)]
pub struct Windows {
    /// Those of each period, each period after the one before.
    pub periods: Vec<Range<usize>>,
    /// The latest days, in which actions are compared with those before.
    pub recent: Range<usize>,
    /// As many days before these.
    pub before: Range<usize>,
    /// The days for which it is noted how much each user did, and of which action; none for all actions.
    pub cell: Option<(Range<usize>, Option<String>)>,
}

/// What a user did.
#[derive(Clone, Debug, Default)]
pub struct Person {
    /// The days on which they were active.
    pub presence: Presence,
    /// Activities in the days that were asked for ([`Windows::cell`]).
    pub activities: u64,
    /// The sum of their counts.
    pub occurrences: u64,
    /// The actions in the periods.
    actions: Vec<u64>,
}

/// How often an action was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActionCounts {
    /// Activities in each period.
    pub periods: Vec<u64>,
    /// Activities in all periods.
    pub activities: u64,
    /// The sum of their counts.
    pub occurrences: u64,
    /// Users who did it in the periods.
    pub users: u64,
    /// Activities in the latest days.
    pub recent: u64,
    /// Activities in as many days before.
    pub before: u64,
}

/// What was counted, and in which windows.
#[derive(Debug)]
pub struct Counts {
    /// The days that were counted.
    pub calendar: Calendar,
    /// What was looked at.
    pub windows: Windows,
    /// The users who were ever active, in the order of their ids.
    pub people: Vec<(ObjectId, Person)>,
    /// The actions that were done, those that were done most first.
    pub actions: Vec<(String, ActionCounts)>,
    /// What there is of others.
    pub others: ActionCounts,
    /// The sum of the counts of all activities in each period.
    pub occurrences: Vec<u64>,
}

/// What was counted so far.
#[derive(Debug)]
pub struct Counting {
    calendar: Calendar,
    windows: Windows,
    /// The period of each day.
    period_of: Vec<u32>,
    places: HashMap<ObjectId, usize>,
    people: Vec<(ObjectId, Person)>,
    names: Names,
    /// Of each action, and last of all others.
    actions: Vec<ActionCounts>,
    /// The sum of the counts of all activities in each period.
    occurrences: Vec<u64>,
}

impl Counting {
    /// Begins to count in the windows of a calendar.
    pub fn new(calendar: Calendar, windows: Windows) -> Self {
        let period_of = period_of_days(&windows.periods);
        let occurrences = vec![0; windows.periods.len()];
        Self {
            calendar,
            windows,
            occurrences,
            period_of,
            places: HashMap::new(),
            people: Vec::new(),
            names: Names::default(),
            actions: Vec::new(),
        }
    }

    /// Counts a single activity.
    pub fn add(&mut self, counted: &Counted<'_>) {
        let action = self.action(counted.action);
        let place = self.place(counted.user, counted.quarter);
        let occurrences = counted.count.into();
        let entry = Entry { quarter: counted.quarter, action, activities: 1, occurrences };
        self.count(place, entry, None);
    }

    /// Counts what a block has of those users who are asked for.
    ///
    /// # Errors
    /// [`Malformed`]
    pub fn add_block(
        &mut self,
        bytes: &[u8],
        is_asked_for: impl Fn(ObjectId) -> bool,
    ) -> Result<(), Malformed> {
        let block = Block::parse(bytes)?;
        let actions: Vec<u32> = block.names().iter().map(|name| self.action(name)).collect();
        for part in block {
            let part = part?;
            if !is_asked_for(part.user) {
                continue;
            }
            let place = self.place(part.user, part.first);
            let mut day = None;
            for entry in part.entries() {
                let entry = entry?;
                let action = *actions.get(index(entry.action)).ok_or(Malformed)?;
                day = self.count(place, Entry { action, ..entry }, day);
            }
        }
        Ok(())
    }

    fn place(&mut self, user: ObjectId, first: u32) -> usize {
        let place = *self.places.entry(user).or_insert(self.people.len());
        if place == self.people.len() {
            self.people.push((user, Person::default()));
        }
        if let Some((_, person)) = self.people.get_mut(place) {
            person.presence.since(first);
        }
        place
    }

    /// The number of an action; beyond [`MAX_ACTIONS`], that of all others.
    fn action(&mut self, name: &str) -> u32 {
        if self.names.len() < MAX_ACTIONS {
            return self.names.number_of(name);
        }
        self.names.get(name).unwrap_or(u32::try_from(MAX_ACTIONS).unwrap_or(u32::MAX))
    }

    /// Counts an entry; returns its day. The day before it is likely the same.
    fn count(&mut self, place: usize, entry: Entry, day_before: Option<usize>) -> Option<usize> {
        let day = self.calendar.day_near(entry.quarter, day_before)?;
        let (_, person) = self.people.get_mut(place)?;
        if day_before != Some(day) {
            person.presence.add(day);
        }
        let action = index(entry.action);
        if self.actions.len() <= action {
            let none = ActionCounts {
                periods: vec![0; self.windows.periods.len()],
                ..ActionCounts::default()
            };
            self.actions.resize(action + 1, none);
        }
        let counts = self.actions.get_mut(action)?;
        let (activities, occurrences) = (u64::from(entry.activities), u64::from(entry.occurrences));
        if let Some(period) = self.period_of.get(day).filter(|period| **period != NO_PERIOD) {
            *counts.periods.get_mut(index(*period))? += activities;
            *self.occurrences.get_mut(index(*period))? += occurrences;
            counts.occurrences += occurrences;
            set(&mut person.actions, action);
        }
        if self.windows.recent.contains(&day) {
            counts.recent += activities;
        } else if self.windows.before.contains(&day) {
            counts.before += activities;
        }
        if let Some((days, only)) = &self.windows.cell
            && days.contains(&day)
            && only.as_ref().is_none_or(|only| self.names.get(only) == Some(entry.action))
        {
            person.activities += activities;
            person.occurrences += occurrences;
        }
        Some(day)
    }

    /// Ends the count, and returns what was counted.
    pub fn finish(mut self) -> Counts {
        self.people.sort_unstable_by_key(|(user, _)| *user);
        for (_, person) in &self.people {
            for action in bits(&person.actions) {
                if let Some(counts) = self.actions.get_mut(action) {
                    counts.users += 1;
                }
            }
        }
        let mut actions = self.actions;
        for counts in &mut actions {
            counts.activities = counts.periods.iter().sum();
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
        let Self { calendar, windows, people, occurrences, .. } = self;
        Counts { calendar, windows, people, actions, others, occurrences }
    }
}

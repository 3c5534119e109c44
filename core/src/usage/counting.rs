//! Blocks and single activities, counted by the days of a zone.

use std::{collections::HashMap, ops::Range};

use super::{
    block::{Block, Entry, Malformed, UserPart},
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
    spots: Vec<Spot>,
    places: HashMap<ObjectId, usize>,
    people: Vec<(ObjectId, Person)>,
    names: Names,
    sums: Sums,
}

/// What is added up of all users.
#[derive(Debug)]
struct Sums {
    /// Of each action, and last of all others.
    actions: Vec<ActionCounts>,
    /// The sum of the counts of all activities in each period.
    occurrences: Vec<u64>,
    /// The only action of which it is noted how much each user did.
    only: Option<u32>,
}

/// A day, and what it counts for; or the time before the first day, or that after the last.
#[derive(Debug)]
struct Spot {
    /// The quarter of an hour with which it ends.
    end: u32,
    day: Option<usize>,
    period: Option<usize>,
    is_recent: bool,
    is_before: bool,
    /// Whether it is noted how much each user did on this day.
    is_in_cell: bool,
}

/// The days, after the time before them, and before the time after them.
fn spots_of(calendar: &Calendar, windows: &Windows) -> Vec<Spot> {
    let period_of = period_of_days(&windows.periods);
    let spot = |(at, end): (usize, u32)| {
        let day = at.checked_sub(1).filter(|day| *day < calendar.len());
        let is_in = |days: &Range<usize>| day.is_some_and(|day| days.contains(&day));
        let period = day.and_then(|day| period_of.get(day)).filter(|period| **period != NO_PERIOD);
        Spot {
            end,
            day,
            period: period.map(|period| index(*period)),
            is_recent: is_in(&windows.recent),
            is_before: is_in(&windows.before),
            is_in_cell: windows.cell.as_ref().is_some_and(|(days, _)| is_in(days)),
        }
    };
    calendar.begins().iter().copied().chain([u32::MAX]).enumerate().map(spot).collect()
}

impl Sums {
    /// Counts what somebody did on a day.
    fn count(&mut self, person: &mut Person, spot: &Spot, entry: &Entry) {
        let action = index(entry.action);
        let (Some(day), Some(counts)) = (spot.day, self.actions.get_mut(action)) else { return };
        let (activities, occurrences) = (u64::from(entry.activities), u64::from(entry.occurrences));
        person.presence.add(day);
        if let Some(period) = spot.period {
            if let Some(of_period) = counts.periods.get_mut(period) {
                *of_period += activities;
            }
            if let Some(of_period) = self.occurrences.get_mut(period) {
                *of_period += occurrences;
            }
            counts.occurrences += occurrences;
            set(&mut person.actions, action);
        }
        if spot.is_recent {
            counts.recent += activities;
        } else if spot.is_before {
            counts.before += activities;
        }
        if spot.is_in_cell && self.only.is_none_or(|only| only == entry.action) {
            person.activities += activities;
            person.occurrences += occurrences;
        }
    }
}

impl Counting {
    /// Begins to count in the windows of a calendar.
    pub fn new(calendar: Calendar, windows: Windows) -> Self {
        let spots = spots_of(&calendar, &windows);
        let occurrences = vec![0; windows.periods.len()];
        let mut names = Names::default();
        let only = windows.cell.as_ref().and_then(|(_, only)| only.as_ref());
        let only = only.map(|only| names.number_of(only));
        Self {
            calendar,
            windows,
            spots,
            places: HashMap::new(),
            people: Vec::new(),
            names,
            sums: Sums { actions: Vec::new(), occurrences, only },
        }
    }

    /// Counts a single activity.
    pub fn add(&mut self, counted: &Counted<'_>) {
        let action = self.action(counted.action);
        let occurrences = counted.count.into();
        let entry = Entry { quarter: counted.quarter, action, activities: 1, occurrences };
        let place = self.place(counted.user, counted.quarter);
        let spot = self.spots.get(self.spot_of(counted.quarter));
        if let (Some((_, person)), Some(spot)) = (self.people.get_mut(place), spot) {
            self.sums.count(person, spot, &entry);
        }
    }

    /// Counts what a block has of those users who are asked for.
    ///
    /// # Errors
    /// [`Malformed`]
    pub fn add_block(
        &mut self,
        bytes: &[u8],
        is_asked_for: &dyn Fn(ObjectId) -> bool,
    ) -> Result<(), Malformed> {
        let block = Block::parse(bytes)?;
        let actions: Vec<u32> = block.names().iter().map(|name| self.action(name)).collect();
        for part in block {
            let part = part?;
            if is_asked_for(part.user) {
                self.add_part(&part, &actions)?;
            }
        }
        Ok(())
    }

    /// Counts what a block has of a user; `actions` are the numbers of its actions.
    fn add_part(&mut self, part: &UserPart<'_>, actions: &[u32]) -> Result<(), Malformed> {
        let place = self.place(part.user, part.first);
        let mut at = self.spot_of(part.first);
        let Some((_, person)) = self.people.get_mut(place) else { return Ok(()) };
        for entry in part.entries() {
            let entry = entry?;
            let action = *actions.get(index(entry.action)).ok_or(Malformed)?;
            // Most are of the same day as the one before, or of one soon after.
            while self.spots.get(at).is_some_and(|spot| spot.end <= entry.quarter) {
                at += 1;
            }
            if let Some(spot) = self.spots.get(at) {
                self.sums.count(person, spot, &Entry { action, ..entry });
            }
        }
        Ok(())
    }

    /// The place of the day of a quarter of an hour.
    fn spot_of(&self, quarter: u32) -> usize {
        self.spots.partition_point(|spot| spot.end <= quarter)
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

    /// The number of an action, of which there are sums; beyond [`MAX_ACTIONS`], that of all others.
    fn action(&mut self, name: &str) -> u32 {
        let action = if self.names.len() < MAX_ACTIONS {
            self.names.number_of(name)
        } else {
            self.names.get(name).unwrap_or(u32::try_from(MAX_ACTIONS).unwrap_or(u32::MAX))
        };
        if self.sums.actions.len() <= index(action) {
            let periods = vec![0; self.windows.periods.len()];
            let none = ActionCounts { periods, ..ActionCounts::default() };
            self.sums.actions.resize(index(action) + 1, none);
        }
        action
    }

    /// Ends the count, and returns what was counted.
    pub fn finish(mut self) -> Counts {
        self.people.sort_unstable_by_key(|(user, _)| *user);
        for (_, person) in &self.people {
            for action in bits(&person.actions) {
                if let Some(counts) = self.sums.actions.get_mut(action) {
                    counts.users += 1;
                }
            }
        }
        let Sums { mut actions, occurrences, .. } = self.sums;
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
        let Self { calendar, windows, people, .. } = self;
        Counts { calendar, windows, people, actions, others, occurrences }
    }
}

//! Everything against a slow, obvious count over the activities themselves.

use std::{collections::BTreeSet, ops::Range};

use proptest::prelude::*;

use super::*;
use crate::value::{Day, ObjectId, Timestamp, Zone};

const DAYS: usize = 100;
const HOUR_MS: i64 = 3_600_000;
const ZONES: [&str; 5] =
    ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"];

/// A stored activity: user, when, action, count.
type Done = (u8, Timestamp, u8, u16);

fn id(user: u8) -> ObjectId {
    ObjectId::from_bytes([user; 12])
}

fn names(action: u8) -> String {
    format!("action {action}")
}

fn tally(done: &[Done]) -> UsageTally {
    let mut tally = UsageTally::default();
    for (user, date, action, count) in done {
        tally.add(&CountedActivity::new(id(*user), &names(*action), *count, *date, *date));
    }
    tally
}

fn done() -> impl Strategy<Value = Vec<Done>> {
    let start = Timestamp::parse("2026-02-01").unwrap().as_ms();
    // Over the days on which European and American clocks are set forward.
    let date = (-40_i64 * 24..110 * 24 * 4)
        .prop_map(move |at| Timestamp::from_ms_clamped(start + at * HOUR_MS / 4 + 7_000));
    prop::collection::vec((0..9_u8, date, 0..4_u8, 1..4_u16), 0..200)
}

fn zone() -> impl Strategy<Value = Zone> {
    prop::sample::select(&ZONES[..]).prop_map(|name| Zone::parse(name).unwrap())
}

fn windows() -> Windows {
    Windows {
        periods: vec![20..30, 30..47, 47..48, 48..80],
        recent: 52..80,
        before: 24..52,
        cell: Some((30..47, Some(names(1)))),
    }
}

/// Activities as blocks, some of them joined in two steps, others counted separately, and the latest not in blocks.
fn counted(done: &[Done], zone: Zone, joined: usize) -> UsageCounts {
    let calendar = Calendar::new(Day::parse("2026-02-01").unwrap(), DAYS, zone);
    let mut counting = UsageCounting::new(calendar, windows());
    let (early, late) = done.split_at(done.len().min(joined));
    let (one, rest) = early.split_at(early.len() / 3);
    let (other, apart) = rest.split_at(rest.len() / 2);
    let mut tallied = UsageTally::default();
    for part in [one, other] {
        for (_, bytes) in tally(part).into_blocks() {
            tallied.add_block(&bytes, None).unwrap();
        }
    }
    let [tallied, apart] = [tallied, tally(apart)].map(UsageTally::into_blocks);
    for (first, bytes) in tallied.iter().chain(&apart) {
        assert_eq!(Block::parse(bytes).unwrap().next().unwrap().unwrap().user, *first);
        counting.add_names(bytes).unwrap();
    }
    let mut counting_apart = counting.clone();
    for (blocks, counting) in [(&tallied, &mut counting), (&apart, &mut counting_apart)] {
        for (_, bytes) in blocks {
            counting.add_block(bytes, &|_| true).unwrap();
        }
    }
    counting.join(counting_apart);
    for (user, date, action, count) in late {
        counting.add(&CountedActivity::new(id(*user), &names(*action), *count, *date, *date));
    }
    counting.finish()
}

/// Place of the day of an activity, if the calendar has it.
fn day_of(date: Timestamp, zone: Zone) -> Option<usize> {
    let first = zone.day(Day::parse("2026-02-01").unwrap().begin(zone).unwrap());
    usize::try_from(zone.day(date) - first).ok().filter(|day| *day < DAYS)
}

/// Users with an activity on one of these days.
fn active(done: &[Done], zone: Zone, days: Range<usize>) -> BTreeSet<u8> {
    let is_in = |date| day_of(date, zone).is_some_and(|day| days.contains(&day));
    done.iter().filter(|(_, date, ..)| is_in(*date)).map(|(user, ..)| *user).collect()
}

fn first_of(done: &[Done], user: u8) -> Timestamp {
    let of_user = done.iter().filter(|(other, ..)| *other == user);
    of_user.map(|(_, date, ..)| *date).min().unwrap()
}

fn len(set: impl IntoIterator<Item = u8>) -> u64 {
    set.into_iter().count().try_into().unwrap()
}

fn slow_lifecycles(done: &[Done], zone: Zone, periods: &[Range<usize>]) -> Vec<Lifecycle> {
    let lifecycle = |pair: &[Range<usize>]| {
        let [before, now] = pair else { panic!("{pair:?}") };
        let (was, is) = (active(done, zone, before.clone()), active(done, zone, now.clone()));
        let is_new =
            |user: &u8| day_of(first_of(done, *user), zone).is_some_and(|day| now.contains(&day));
        let new = is.iter().copied().filter(is_new);
        Lifecycle {
            active: len(is.clone()),
            new: len(new.clone()),
            returning: len(is.intersection(&was).copied()),
            resurrecting: len(is.difference(&was).copied()) - len(new),
            dormant: len(was.difference(&is).copied()),
        }
    };
    periods.windows(2).map(lifecycle).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn periods_are_those_of_a_slow_count(done in done(), zone in zone(), joined in 0..200_usize) {
        let found = counted(&done, zone, joined);
        let all = || found.people.iter().map(|(_, person)| &person.presence);
        let days = (9..80).map(|day| day..day + 1).collect();
        for periods in [vec![10..20, 20..30, 30..47, 47..48, 48..80], days] {
            let lifecycles = lifecycles(all(), &periods, |quarter| found.calendar.day_of(quarter));
            prop_assert_eq!(lifecycles, slow_lifecycles(&done, zone, &periods));
        }
        let widths = [1, 7, 28];
        for (width, counts) in widths.into_iter().zip(trailing(all(), widths, DAYS)) {
            for (day, count) in counts.into_iter().enumerate() {
                let days = (day + 1).saturating_sub(width)..day + 1;
                prop_assert_eq!(count, len(active(&done, zone, days)));
            }
        }
    }

    #[test]
    fn cohorts_are_those_of_a_slow_count(done in done(), zone in zone(), joined in 0..200_usize) {
        let found = counted(&done, zone, joined);
        let weeks: Vec<_> = (0..10).map(|week| 15 + week * 7..22 + week * 7).collect();
        let all = found.people.iter().map(|(_, person)| &person.presence);
        let cohorts = cohorts(all, &weeks, |quarter| found.calendar.day_of(quarter));
        for (at, cohort) in cohorts.iter().enumerate() {
            let is_of = |user: &u8| {
                day_of(first_of(&done, *user), zone).is_some_and(|day| weeks[at].contains(&day))
            };
            for (week, kept) in weeks[at..].iter().zip(&cohort.kept) {
                let there = active(&done, zone, week.clone());
                prop_assert_eq!(*kept, len(there.into_iter().filter(is_of)));
            }
        }
    }

    #[test]
    fn actions_are_those_of_a_slow_count(done in done(), zone in zone(), joined in 0..200_usize) {
        let found = counted(&done, zone, joined);
        let windows = windows();
        let sum = |action: u8, days: &Range<usize>, of: fn(&Done) -> u64| -> u64 {
            let is_in = |date| day_of(date, zone).is_some_and(|day| days.contains(&day));
            let done = done.iter().filter(|(_, date, other, _)| *other == action && is_in(*date));
            done.map(of).sum()
        };
        for action in 0..4 {
            let name = names(action);
            let counts = found.actions.iter().find(|(other, _)| *other == name);
            let counts = counts.map(|(_, counts)| counts.clone()).unwrap_or_default();
            let span = 20..80;
            let users: BTreeSet<u8> = done
                .iter()
                .filter(|(_, date, other, _)| {
                    *other == action && day_of(*date, zone).is_some_and(|day| span.contains(&day))
                })
                .map(|(user, ..)| *user)
                .collect();
            prop_assert_eq!(counts.activities, sum(action, &span, |_| 1));
            prop_assert_eq!(counts.occurrences, sum(action, &span, |done| done.3.into()));
            prop_assert_eq!(counts.users, len(users));
            prop_assert_eq!(counts.recent, sum(action, &windows.recent, |_| 1));
            prop_assert_eq!(counts.before, sum(action, &windows.before, |_| 1));
            for (period, count) in windows.periods.iter().zip(&counts.periods) {
                prop_assert_eq!(*count, sum(action, period, |_| 1));
            }
        }
        let in_cell: u64 = found.people.iter().map(|(_, person)| person.occurrences).sum();
        prop_assert_eq!(in_cell, sum(1, &(30..47), |done| done.3.into()));
        prop_assert_eq!(found.others, ActionCounts::default());
    }

    #[test]
    fn bytes_that_are_no_block_are_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut tally = UsageTally::default();
        let _ = tally.add_block(&bytes, None);
        tally.into_blocks();
    }
}

#[test]
fn one_who_is_erased_leaves_neither_entries_nor_names() {
    let at = Timestamp::parse("2026-02-01").unwrap();
    let blocks = tally(&[(1, at, 1, 1), (2, at, 2, 1)]).into_blocks();
    let mut left = UsageTally::default();
    left.add_block(&blocks[0].1, Some(id(1))).unwrap();
    let blocks = left.into_blocks();
    assert_eq!(blocks[0].0, id(2));
    assert_eq!(Block::parse(&blocks[0].1).unwrap().names(), [names(2)]);
    let mut left = UsageTally::default();
    left.add_block(&blocks[0].1, Some(id(2))).unwrap();
    assert!(left.into_blocks().is_empty());
}

#[test]
fn many_users_take_several_blocks_and_three_bytes_an_activity() {
    let start = Timestamp::parse("2026-02-01").unwrap().as_ms();
    let mut tally = UsageTally::default();
    for number in 0..50_000_i64 {
        let user = ObjectId::from_bytes([(number % 250) as u8; 12]);
        let date = Timestamp::from_ms_clamped(start + number * 60_000);
        tally.add(&CountedActivity::new(user, &names((number % 40) as u8), 1, date, date));
    }
    let blocks = tally.into_blocks();
    let bytes: usize = blocks.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(blocks.iter().all(|(_, bytes)| bytes.len() < 16 * 1_024));
    assert_eq!((blocks.len(), bytes / 50_000), (8, 2));
}

#[test]
fn a_date_ahead_of_its_receipt_counts_as_received() {
    let (now, ahead) = ("2026-02-01T00:14:59Z", "2026-02-09");
    let [now, ahead] = [now, ahead].map(|text| Timestamp::parse(text).unwrap());
    let counted = CountedActivity::new(id(1), "x", 1, ahead, now);
    assert_eq!(counted, CountedActivity::new(id(1), "x", 1, now, now));
    assert_eq!(i64::from(counted.quarter) * 15 * 60_000, now.as_ms() / 900_000 * 900_000);
}

#[test]
fn actions_beyond_the_limit_are_counted_together() {
    let at = Timestamp::parse("2026-02-25").unwrap();
    let calendar = Calendar::new(Day::parse("2026-02-01").unwrap(), DAYS, Zone::UTC);
    let mut counting = UsageCounting::new(calendar, windows());
    for number in 0..MAX_ACTIONS + 5 {
        counting.add(&CountedActivity::new(id(1), &number.to_string(), 1, at, at));
    }
    counting.add(&CountedActivity::new(id(1), "7", 1, at, at));
    let found = counting.finish();
    // The action of the cell is one of them.
    assert_eq!((found.actions.len(), found.others.activities, found.others.users), (999, 6, 1));
    assert_eq!((&*found.actions[0].0, found.actions[0].1.activities), ("7", 2));
}

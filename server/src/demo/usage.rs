//! Activities of the users: events of the last weeks one by one, and earlier ones as a number by user and day, in the
//! order of time.

use chrono::{DateTime, Datelike as _, Days, NaiveDate, NaiveTime, Utc};
use serde::Serialize;

use super::{
    customer::{Company, Size, TermOutcome, Usage},
    customer_history::MONTHS,
    people::Person,
    random::RandomStream,
    zone::day_at,
};

/// Days whose events are sent one by one.
const RECENT_DAYS: i64 = 56;
/// Days before a loss in which a customer uses the product less and less.
const DECLINE_DAYS: f64 = 75.0;
/// Days of falling or growing usage of the customers that show it.
const FALL_DAYS: f64 = 26.0;
/// Days without activity of most users of a customer whose usage falls.
const STOPPED_DAYS: i64 = 13;
const GROWTH_DAYS: f64 = 40.0;
/// The greatest `count` of an event.
const MOST: u32 = 300;

/// The part of a week's events by day, Monday first: business software.
const BY_DAY: [f64; 7] = [0.19, 0.21, 0.21, 0.20, 0.15, 0.02, 0.02];
/// Distribution of events by hour of local time: two humps, a dip at lunch, and a few at night.
const BY_HOUR: &[(u32, i64)] = &[
    (2, 7),
    (6, 8),
    (12, 9),
    (17, 10),
    (15, 11),
    (6, 12),
    (10, 13),
    (15, 14),
    (12, 15),
    (9, 16),
    (5, 17),
    (2, 18),
    (2, 20),
    (1, 22),
    (1, 1),
];

/// Actions, each with how often it is done, and its weight.
const ACTIONS: &[(u32, (&str, f64))] = &[
    (30, ("Viewed dashboard", 1.0)),
    (18, ("Logged in", 1.0)),
    (14, ("Ran query", 2.0)),
    (10, ("Filtered report", 1.0)),
    (8, ("Edited chart", 2.0)),
    (6, ("Exported report", 2.0)),
    (5, ("Shared report", 3.0)),
    (4, ("Created dashboard", 5.0)),
    (2, ("Set up alert", 4.0)),
    (2, ("Connected data source", 5.0)),
    (1, ("Invited teammate", 5.0)),
];

/// A row of the bulk call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Event {
    eu_ext_id: String,
    pub(super) action: &'static str,
    pub(super) date: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asset_ext_id: Option<String>,
    #[serde(skip)]
    at_ms: i64,
}

/// Usage of a company on a day, where 1 is the usual one.
fn level(company: &Company, day: NaiveDate, today: NaiveDate) -> f64 {
    let days_ago = (today - day).num_days() as f64;
    // A company whose term is over and undecided still uses the product.
    let mut terms = company.terms.iter().filter(|term| term.from <= day);
    if !terms.any(|term| term.covers(day) || term.outcome == TermOutcome::Ongoing) {
        return 0.0;
    }
    if let Some(lost) = company.lost_after(day) {
        let left = (lost - day).num_days() as f64;
        return (0.2 + 0.8 * left / DECLINE_DAYS).min(1.0);
    }
    match company.usage {
        Usage::Falling => (0.06 + 0.94 * days_ago / FALL_DAYS).min(1.0),
        Usage::Growing => 1.0 + 1.5 * (1.0 - days_ago / GROWTH_DAYS).max(0.0),
        Usage::Quiet(days) if days_ago < days as f64 => 0.0,
        Usage::Quiet(_) | Usage::Steady => 1.0,
    }
}

/// Users who use the product on a day, each with their company and how much they do in such a week.
pub(super) fn active<'d>(
    market: &'d [Company],
    people: &'d [Person],
    day: NaiveDate,
    today: NaiveDate,
) -> impl Iterator<Item = (&'d Person, &'d Company, f64)> {
    let days_ago = (today - day).num_days();
    let of_company = move |users: &'d [Person]| {
        let company = users.first().and_then(|first| market.get(first.company));
        company.map(|company| (users, company, level(company, day, today)))
    };
    let groups = people.chunk_by(|a, b| a.company == b.company).filter_map(of_company);
    groups.filter(|(_, _, level)| *level > 0.0).flat_map(move |(users, company, level)| {
        // Where usage falls, two of three users have stopped.
        let all_still = company.usage != Usage::Falling || days_ago >= STOPPED_DAYS;
        let still = move |person: &&Person| {
            person.since <= day && (all_still || person.number.is_multiple_of(3))
        };
        users.iter().filter(still).map(move |person| (person, company, person.per_week * level))
    })
}

/// Factor for a time of the year. The last weeks have none: else each company would seem to decline in August.
fn season(day: NaiveDate) -> f64 {
    match (day.month(), day.day()) {
        (12, 21..) | (1, ..4) => 0.35,
        (8, _) => 0.8,
        _ => 1.0,
    }
}

/// Events in the order of time, a day at a time.
pub(super) struct Events<'d> {
    dice: RandomStream,
    market: &'d [Company],
    people: &'d [Person],
    day: NaiveDate,
    now: DateTime<Utc>,
}

impl<'d> Events<'d> {
    pub(super) fn new(market: &'d [Company], people: &'d [Person], now: DateTime<Utc>) -> Self {
        let back = Days::new(u64::from(MONTHS) * 365 / 12);
        let today = day_at(now);
        let day = today.checked_sub_days(back).unwrap_or(today);
        Self { dice: RandomStream::seeded("usage"), market, people, day, now }
    }

    fn today(&self) -> NaiveDate {
        day_at(self.now)
    }

    /// Events of the next day. Those of a user are added up, unless the day is recent.
    fn events_of_day(&mut self) -> Vec<Event> {
        let (day, today) = (self.day, self.today());
        let is_recent = (today - day).num_days() < RECENT_DAYS;
        let share = BY_DAY.get(day.weekday().num_days_from_monday() as usize);
        let share = share.copied().unwrap_or_default();
        let share_of_week = if is_recent { share } else { share * season(day) };
        let mut events = Vec::new();
        for (person, company, per_week) in active(self.market, self.people, day, today) {
            let count = self.dice.poisson(per_week * share_of_week).min(MOST);
            if is_recent {
                events.extend((0..count).map(|_| self.event(person, company, day)));
            } else if count > 0 {
                events.push(Event { count: Some(count), ..self.event(person, company, day) });
            }
        }
        events
    }

    fn event(&mut self, person: &Person, company: &Company, day: NaiveDate) -> Event {
        let (action, weight) = self.dice.weighted(ACTIONS);
        let hour = self.dice.weighted(BY_HOUR);
        let in_hour = self.dice.between(0, 3_599_999);
        // A day of the company's clock is moved to UTC, and stays a day before the next begins.
        let ms_of_day = ((hour - company.place.2).rem_euclid(24)) * 3_600_000 + in_hour;
        let begin = day.and_time(NaiveTime::MIN).and_utc().timestamp_millis();
        let at_ms = begin + ms_of_day;
        let is_on_asset = company.size != Size::Small && self.dice.chance(0.15);
        Event {
            eu_ext_id: person.key.clone(),
            action,
            date: written(at_ms),
            count: None,
            weight: Some(weight).filter(|weight| *weight > 1.0),
            asset_ext_id: is_on_asset.then(|| format!("a-{:03}-1", company.number)),
            at_ms,
        }
    }
}

/// Text of a time for the API.
pub(super) fn written(ms: i64) -> String {
    let time = DateTime::from_timestamp_millis(ms).unwrap_or_default();
    time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

impl Iterator for Events<'_> {
    type Item = Vec<Event>;

    fn next(&mut self) -> Option<Vec<Event>> {
        if self.day > self.today() {
            return None;
        }
        let mut events = self.events_of_day();
        self.day = self.day.checked_add_days(Days::new(1))?;
        let now = self.now.timestamp_millis();
        events.retain(|event| event.at_ms <= now);
        events.sort_by_key(|event| event.at_ms);
        Some(events)
    }
}

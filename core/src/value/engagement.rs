//! Engagement of a user or company (R37), stored apart from the record, so that an event never rewrites the record.
//! Fields that depend on the current time are computed at read.

use rust_decimal::{Decimal, RoundingStrategy};

use crate::value::{Json, Number, ObjectId, Timestamp};

/// Days that count as recent, today among them.
const RECENT_DAYS: i64 = 14;
/// The trend from which on activity is growing, and with a minus, declining: 20 %.
const CHANGED: Decimal = Decimal::from_parts(2, 0, 0, false, 1);
/// Decimals of a trend.
const TREND_SCALE: u32 = 4;
/// Maximum number of days with stored beats: those that count, and some that are ahead, since a clock may have been
/// wrong.
const MAX_DAYS: usize = 64;

/// Values of `activityState`, from the best to the worst except for users who were never active (R52).
pub const ACTIVITY_STATES: &[&str] =
    &["never", "new", "growing", "steady", "declining", "inactive"];

/// Greatest weight that counts: with it, more events than a store holds have a sum.
const MAX_WEIGHT: f64 = 1e6;
/// Decimals of a weight that count.
const WEIGHT_SCALE: usize = 6;

/// Limit below which an `f64` represents every integer exactly.
const MAX_EXACT: u64 = 1 << 53;

/// Addition of an event to the engagement of its user and their company.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngagementUpdate {
    /// `_id` of the end user whose engagement the event adds to.
    pub end_user_id: ObjectId,
    /// Company of the user when the event was stored.
    pub company_id: Option<ObjectId>,
    /// Time of the activity; none for a passive event.
    pub seen_at: Option<Timestamp>,
    /// Weight of the activity; none for an event that is no activity, or a passive one.
    pub beat: Option<ActivityWeight>,
    /// Time at which the event is stored, by the settled time: the age of days is counted from it.
    pub stored_at: Timestamp,
}

/// Weight of an activity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActivityWeight {
    /// Day of the activity, in days since 1970-01-01 in UTC.
    pub day: i64,
    /// Number of occurrences of the activity.
    pub count: u16,
    /// Relative importance of each.
    pub weight: f64,
}

/// The engagement of one user, or of all users of a company.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "records", derive(serde::Serialize, serde::Deserialize))]
pub struct Engagement {
    last_active: Option<Timestamp>,
    /// Beats by day, in the order of days.
    days: Vec<(i64, u64)>,
    beats_total: u64,
    /// Sum of count x weight: the bytes of a decimal, so that an addition can be subtracted again.
    experience: [u8; 16],
}

impl Engagement {
    /// Adds an event, and forgets days that no longer count (R52).
    pub fn add(&mut self, engaged: &EngagementUpdate) {
        // A clock that was ahead once, here or before, drops no day that still counts (R52).
        let today = self.last_active.map_or(engaged.stored_at, |last| last.min(engaged.stored_at));
        self.last_active = self.last_active.max(engaged.seen_at);
        let Some(ActivityWeight { day, count, weight }) = engaged.beat else {
            return;
        };
        let experience = decimal(weight).saturating_mul(Decimal::from(count));
        self.set_experience(self.experience().saturating_add(experience));
        self.beats_total = self.beats_total.saturating_add(count.into());
        self.add_day(day, count.into());
        self.forget_days(today);
    }

    /// Adds the engagement of a user who joins a company.
    pub fn join(&mut self, other: &Self) {
        self.last_active = self.last_active.max(other.last_active);
        self.set_experience(self.experience().saturating_add(other.experience()));
        self.beats_total = self.beats_total.saturating_add(other.beats_total);
        other.days.iter().for_each(|(day, count)| self.add_day(*day, *count));
        self.forget_days(self.last_active.unwrap_or(Timestamp::MIN));
    }

    /// Subtracts the engagement of a user who leaves a company, but not the time of their last activity.
    pub fn leave(&mut self, other: &Self) {
        self.set_experience(self.experience().saturating_sub(other.experience()));
        self.beats_total = self.beats_total.saturating_sub(other.beats_total);
        for (day, count) in &mut self.days {
            let left = other.days.iter().find(|(other, _)| other == day).map_or(0, |left| left.1);
            *count = count.saturating_sub(left);
        }
        self.days.retain(|(_, count)| *count > 0);
    }

    /// Sets the last activity of the users who are left.
    pub fn set_last_active(&mut self, last_active: Option<Timestamp>) {
        self.last_active = last_active;
    }

    fn add_day(&mut self, day: i64, count: u64) {
        match self.days.binary_search_by_key(&day, |(known, _)| *known) {
            Ok(at) => {
                if let Some((_, known)) = self.days.get_mut(at) {
                    *known = known.saturating_add(count);
                }
            }
            Err(at) => self.days.insert(at, (day, count)),
        }
    }

    /// Drops days that have expired, and those furthest ahead.
    fn forget_days(&mut self, now: Timestamp) {
        let today = now.epoch_days();
        self.days.retain(|(day, _)| *day > today - 2 * RECENT_DAYS);
        self.days.truncate(MAX_DAYS);
    }

    fn experience(&self) -> Decimal {
        Decimal::deserialize(self.experience)
    }

    fn set_experience(&mut self, experience: Decimal) {
        self.experience = experience.serialize();
    }

    /// Time of the latest event that was not passive.
    pub fn last_active(&self) -> Option<Timestamp> {
        self.last_active
    }

    /// Beats of the last 14 days.
    pub fn beats(&self, now: Timestamp) -> u64 {
        self.beats_until(now.epoch_days())
    }

    /// Beats of the last 14 days, and of the 14 days before.
    pub fn recent_beats(&self, now: Timestamp) -> [u64; 2] {
        let today = now.epoch_days();
        [self.beats_until(today), self.beats_until(today - RECENT_DAYS)]
    }

    fn beats_until(&self, last_day: i64) -> u64 {
        let recent = |day: i64| day > last_day - RECENT_DAYS && day <= last_day;
        self.days.iter().filter(|(day, _)| recent(*day)).map(|(_, count)| count).sum()
    }

    /// Difference between the last 14 days and the 14 before, as a share of the larger of both: from -1 to 1, 0 where
    /// both are 0 (R52).
    ///
    /// ```
    /// use svctrack_core::value::{Timestamp, engagement::Engagement};
    /// let nobody = Engagement::default();
    /// assert_eq!(nobody.beat_trend(Timestamp::MIN).to_string(), "0");
    /// assert_eq!(nobody.activity_state(Timestamp::MIN), "never");
    /// ```
    pub fn beat_trend(&self, now: Timestamp) -> Decimal {
        let today = now.epoch_days();
        let (recent, before) = (self.beats_until(today), self.beats_until(today - RECENT_DAYS));
        let change = Decimal::from(recent) - Decimal::from(before);
        let share = change.checked_div(Decimal::from(recent.max(before))).unwrap_or_default();
        share.round_dp_with_strategy(TREND_SCALE, RoundingStrategy::MidpointAwayFromZero)
    }

    /// Activity state, one of [`ACTIVITY_STATES`].
    pub fn activity_state(&self, now: Timestamp) -> &'static str {
        let trend = self.beat_trend(now);
        if self.beats_total == 0 {
            "never"
        } else if self.beats(now) == 0 {
            "inactive"
        } else if self.is_new(now) {
            "new"
        } else if trend >= CHANGED {
            "growing"
        } else if trend <= -CHANGED {
            "declining"
        } else {
            "steady"
        }
    }

    /// Whether the first activity was in the last 14 days: then these hold all beats.
    fn is_new(&self, now: Timestamp) -> bool {
        let first_day = now.epoch_days() - RECENT_DAYS + 1;
        let since = self.days.iter().filter(|(day, _)| *day >= first_day);
        since.map(|(_, count)| count).sum::<u64>() == self.beats_total
    }

    /// The value of a field at `now`.
    pub fn value(&self, row: EngagementField, now: Timestamp) -> Option<Json> {
        let integer = |count: u64| Json::integer(i64::try_from(count).unwrap_or(i64::MAX));
        Some(match row {
            EngagementField::LastActive => Json::string(&self.last_active?.to_string()),
            EngagementField::Beats => integer(self.beats(now)),
            EngagementField::BeatsTotal => integer(self.beats_total),
            EngagementField::BeatTrend => Json::number(self.beat_trend(now).into()),
            EngagementField::ActivityState => Json::string(self.activity_state(now)),
            EngagementField::Experience => {
                Number::of_derived(self.experience()).map_or_else(Json::null, Json::number)
            }
        })
    }
}

/// A field of an end user or a company that is read from their engagement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngagementField {
    /// `lastActive`: time of the last activity.
    LastActive,
    /// `beats`: activities of the last 14 days.
    Beats,
    /// `beatsTotal`: all activities.
    BeatsTotal,
    /// `beatTrend`: the last 14 days against the 14 before.
    BeatTrend,
    /// `activityState`: the trend as one of [`ACTIVITY_STATES`].
    ActivityState,
    /// `experience`: activities by their weight.
    Experience,
}

/// A weight as the decimal that it was written as, within [`MAX_WEIGHT`] and [`WEIGHT_SCALE`]: sums are exact, so that
/// a user who leaves a company subtracts exactly their share.
fn decimal(weight: f64) -> Decimal {
    let weight = weight.min(MAX_WEIGHT);
    // Most weights are whole, and need not be written and read again.
    let whole = weight as i64;
    if whole as f64 == weight && whole.unsigned_abs() < MAX_EXACT {
        return Decimal::from(whole);
    }
    format!("{weight:.WEIGHT_SCALE$}").parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-20T12:00:00Z";

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    /// An activity on a day `days_ago`, with a count.
    fn beat(days_ago: i64, count: u16, weight: f64) -> EngagementUpdate {
        let day = at(NOW).epoch_days() - days_ago;
        let seen_at = Timestamp::from_ms_clamped(at(NOW).as_ms() - days_ago.max(0) * 86_400_000);
        EngagementUpdate {
            end_user_id: ObjectId::MIN,
            company_id: None,
            seen_at: Some(seen_at),
            beat: Some(ActivityWeight { day, count, weight }),
            stored_at: at(NOW),
        }
    }

    fn engagement_of(beats: &[(i64, u16)]) -> Engagement {
        let mut engagement = Engagement::default();
        beats.iter().for_each(|(days_ago, count)| engagement.add(&beat(*days_ago, *count, 1.0)));
        engagement
    }

    #[test]
    fn the_last_fourteen_days_count_today_among_them() {
        let found = engagement_of(&[(0, 1), (13, 2), (14, 4), (27, 8), (28, 16), (-1, 32)]);
        assert_eq!(found.beats(at(NOW)), 3);
        assert_eq!(found.beats(at("2026-11-21")), 33);
        assert_eq!(found.value(EngagementField::BeatsTotal, at(NOW)), Some(Json::integer(63)));
    }

    #[test]
    fn a_trend_is_the_change_against_the_larger_of_both() {
        let check = |recent: u16, before: u16, trend: &str, state: &str| {
            let mut found = engagement_of(&[(0, recent), (14, before)]);
            found.days.retain(|(_, count)| *count > 0);
            let trend_of = found.beat_trend(at(NOW)).normalize().to_string();
            assert_eq!((&*trend_of, found.activity_state(at(NOW))), (trend, state));
        };
        check(0, 0, "0", "never");
        check(1, 0, "1", "new");
        check(0, 1, "-1", "inactive");
        check(10, 8, "0.2", "growing");
        check(11, 10, "0.0909", "steady");
        check(10, 10, "0", "steady");
        check(9, 10, "-0.1", "steady");
        check(8, 10, "-0.2", "declining");
        check(3, 2, "0.3333", "growing");
        check(1, 6, "-0.8333", "declining");
    }

    #[test]
    fn who_is_new_was_never_active_before() {
        let state = |beats: &[(i64, u16)]| engagement_of(beats).activity_state(at(NOW));
        assert_eq!(state(&[(13, 1), (0, 3)]), "new");
        assert_eq!(state(&[(14, 1), (0, 1)]), "steady");
        // The first day is dropped, but not that there was one.
        assert_eq!(state(&[(300, 1), (0, 1)]), "growing");
        assert_eq!(state(&[(300, 1)]), "inactive");
    }

    #[test]
    fn a_clock_that_was_ahead_once_takes_no_days_away() {
        let mut found = engagement_of(&[(20, 1), (3, 2), (1, 4)]);
        let wrong = Timestamp::from_ms_clamped(at(NOW).as_ms() + 40 * 86_400_000);
        found.add(&EngagementUpdate {
            seen_at: Some(wrong),
            stored_at: wrong,
            ..beat(-40, 1, 1.0)
        });
        assert_eq!(found.beats(at(NOW)), 6);
        found.add(&beat(0, 8, 1.0));
        assert_eq!(found.beats(at(NOW)), 14);
        found.add(&beat(0, 16, 1.0));
        assert_eq!((found.beats(at(NOW)), found.beat_trend(at(NOW))), (30, Decimal::new(9667, 4)));
    }

    #[test]
    fn experience_is_exact() {
        let mut found = Engagement::default();
        (0..10).for_each(|_| found.add(&beat(0, 1, 0.1)));
        assert_eq!(found.value(EngagementField::Experience, at(NOW)).unwrap().as_ref().text(), "1");
        let before = found.value(EngagementField::Experience, at(NOW));
        for weight in [1e300, f64::MAX, 5e-324, 0.1, 1.0 / 3.0, 123_456.789_012_3] {
            let mut other = Engagement::default();
            (0..300).for_each(|_| other.add(&beat(0, 300, weight)));
            found.join(&other);
            assert!(found.value(EngagementField::Experience, at(NOW)).is_some(), "{weight}");
            found.leave(&other);
        }
        assert_eq!(found.value(EngagementField::Experience, at(NOW)), before);
    }

    #[test]
    fn who_leaves_takes_along_what_they_brought() {
        let (ada, bob) = (engagement_of(&[(0, 1), (3, 2)]), engagement_of(&[(1, 4), (3, 8)]));
        let mut company = ada.clone();
        company.join(&bob);
        assert_eq!(company.beats(at(NOW)), 15);
        company.leave(&ada);
        company.set_last_active(bob.last_active());
        assert_eq!(company, bob);
    }

    #[test]
    fn the_days_that_are_stored_are_limited() {
        let ahead: Vec<_> = (0..200).map(|day| (-day, 1)).collect();
        assert_eq!(engagement_of(&ahead).days.len(), MAX_DAYS);
        assert_eq!(engagement_of(&ahead).beats(at(NOW)), 1);
    }
}

//! Random histories, in which rules meet: ends and starts are days apart, prices return, refunds outweigh them.

use chrono_tz::Tz;

use super::{
    calendar::{self, DAY},
    fraction::Fraction,
    model::{Asked, License, Status},
};

const ZONES: [Tz; 4] = [Tz::UTC, Tz::Asia__Tokyo, Tz::America__New_York, Tz::Europe__Berlin];
/// The first day of the licenses: 2023-01-01.
const FIRST: i64 = 19_358;

#[derive(Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn number(&mut self, limit: u64) -> i64 {
        i64::try_from(self.below(limit)).unwrap()
    }

    fn chance(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }

    /// A day near a grid of some weeks, so that licenses meet.
    fn day(&mut self) -> i64 {
        let near = if self.chance(3) { self.number(9) - 4 } else { 0 };
        FIRST + self.number(16) * 29 + near
    }

    fn time(&mut self, zone: Tz) -> i64 {
        let day = self.day();
        let of_day = if self.chance(4) { self.number(24) * 3_600_000 } else { 0 };
        if self.chance(2) { day * DAY + of_day } else { calendar::at(zone, day * DAY) + of_day }
    }

    fn amount(&mut self) -> Fraction {
        match self.below(12) {
            0 => Fraction::ZERO,
            1 => Fraction::whole(-i128::from(self.number(200))),
            2 => Fraction::new(self.number(1_000_000_000).into(), 1_000_000),
            _ => Fraction::whole(i128::from(self.number(4) + 1) * 100),
        }
    }

    /// Licenses of some companies; now and then of only one, so near that many can follow many.
    pub fn licenses(&mut self, zone: Tz) -> Vec<License> {
        let is_dense = self.chance(3);
        let companies = if is_dense { 1 } else { 1 + self.below(4) };
        let count = 1 + self.below(14);
        let ids = (0..count).map(|id| u8::try_from(id + 1).unwrap());
        let licenses = ids.map(|id| {
            let license = self.license(id, companies, zone);
            if is_dense { self.crowded(license) } else { license }
        });
        licenses.collect()
    }

    fn crowded(&mut self, license: License) -> License {
        let time = |random: &mut Self| random.number(60) * 8 * 3_600_000;
        let from = FIRST * DAY + time(self);
        let lasts = 8 * 3_600_000 + time(self);
        let end = license.end.map(|_| from + lasts);
        License { currency: "EUR", product: "Suite", from, end, ..license }
    }

    fn license(&mut self, id: u8, companies: u64, zone: Tz) -> License {
        let from = self.time(zone);
        let end = (!self.chance(5)).then(|| self.time(zone));
        let is_trial = self.chance(5);
        let short = self.chance(6).then(|| from + (1 + self.number(9)) * DAY);
        let end = short.or(end.map(|end| if end > from { end } else { from + 31 * DAY }));
        License {
            id,
            company: u8::try_from(self.below(companies) + 1).unwrap(),
            currency: self.one_of(&["EUR", "EUR", "USD", "JPY"]),
            product: self.one_of(&["Suite", "Suite", "Addon"]),
            from,
            end,
            mrr: self.amount(),
            fixed: !self.chance(4),
            auto_renews: self.chance(2),
            status: self.one_of(&[Status::Ongoing, Status::Ongoing, Status::Renewed, Status::Lost]),
            notice_days: self.chance(2).then(|| self.number(60)),
            renewal: self.chance(3).then(|| self.amount()),
            forecasts: [0; 3].map(|_| self.chance(4).then(|| self.amount())),
            parent: (is_trial || self.chance(2)).then(|| 1 + u8::try_from(self.below(14)).unwrap()),
            is_trial,
        }
    }

    pub fn asked(&mut self) -> Asked {
        let zone = self.one_of(&ZONES);
        let interval = self.one_of(&["month", "month", "quarter", "week", "year", "day"]);
        let from = FIRST + self.number(300);
        let days = if interval == "day" { 40 } else { 500 };
        let rate = |text: i128| Fraction::new(text, 10_000);
        Asked {
            from,
            to: from + 1 + self.number(days),
            interval,
            zone,
            now: self.time(zone),
            gap_days: self.one_of(&[0, 0, 1, 4, 7, 31]),
            within: self.one_of(&[None, Some(10), Some(60)]),
            activities: self.chance(2),
            company: self.chance(6).then_some(1),
            product: self.chance(4).then_some("Suite"),
            dated: self.chance(2),
            assume_renewed: self.chance(2),
            by_notice: self.chance(2),
            rates: vec![
                ("USD", FIRST - 900, rate(9_200)),
                ("USD", FIRST + 100, rate(9_000)),
                ("USD", FIRST + 250, rate(9_512)),
                ("JPY", FIRST - 900, rate(62)),
                ("JPY", FIRST + 200, rate(70)),
            ],
        }
    }
}

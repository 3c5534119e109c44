//! The definitions, word by word: the MRR of a company at a time is computed from all licenses, its changes from all
//! times, all in fractions. The model is slow, and shares no code with `core`.

use std::collections::BTreeSet;

use chrono_tz::Tz;

use super::{
    calendar::{self, DAY},
    fraction::Fraction,
};

pub const ZERO: Fraction = Fraction::ZERO;
/// Days within which a license of a line follows another.
const A_MONTH: i64 = 31;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Ongoing,
    Renewed,
    Lost,
}

#[derive(Clone, Debug)]
pub struct License {
    pub id: u8,
    pub company: u8,
    pub currency: &'static str,
    pub product: &'static str,
    pub from: i64,
    pub end: Option<i64>,
    pub mrr: Fraction,
    pub fixed: bool,
    pub auto_renews: bool,
    pub status: Status,
    pub notice_days: Option<i64>,
    pub renewal: Option<Fraction>,
    pub forecasts: [Option<Fraction>; 3],
    pub parent: Option<u8>,
    /// Whether the license has no price: no report has it, but its line continues through it.
    pub is_trial: bool,
}

impl License {
    /// The license, whose dates at midnight UTC are days of a zone.
    pub fn placed(self, zone: Tz) -> Self {
        let at = |time: i64| if time % DAY == 0 { calendar::at(zone, time) } else { time };
        let (from, end) = (at(self.from), self.end.map(at));
        if end.is_some_and(|end| end <= from) { self } else { Self { from, end, ..self } }
    }
}

#[derive(Clone, Debug)]
pub struct Asked {
    pub from: i64,
    pub to: i64,
    pub interval: &'static str,
    pub zone: Tz,
    pub now: i64,
    pub gap_days: i64,
    pub within: Option<i64>,
    pub activities: bool,
    pub company: Option<u8>,
    pub product: Option<&'static str>,
    pub dated: bool,
    pub assume_renewed: bool,
    pub by_notice: bool,
    /// Currency, first day, rate: by day.
    pub rates: Vec<(&'static str, i64, Fraction)>,
}

/// Unit of a sum: a currency, or all in the base currency at the rates of a day.
#[derive(Clone, Copy, Debug)]
pub enum Sum {
    In(&'static str),
    Converted(i64),
}

/// Lines of a company: new, reactivation, expansion, contraction, churn, negative, entering, leaving; and the numbers
/// of companies in the first, the second, and the fifth.
#[derive(Clone, Copy, Debug)]
pub struct Lines {
    pub amounts: [Fraction; 8],
    pub counts: [i64; 3],
}

/// How far a license of a line may be from the end of another one.
#[derive(Clone, Copy)]
enum Reach {
    Days(i64),
    /// Of the same product, at the end or after it.
    Later,
    Any,
}

pub struct Model<'m> {
    pub licenses: &'m [License],
    /// Those without a price.
    pub trials: &'m [License],
    pub asked: &'m Asked,
    pub ends: Vec<Option<i64>>,
    pub successors: Vec<Option<usize>>,
    pub days: Vec<i64>,
}

pub fn positive(amount: Fraction) -> Fraction {
    if amount > ZERO { amount } else { ZERO }
}

fn least(a: Fraction, b: Fraction) -> Fraction {
    if a < b { a } else { b }
}

/// Year, month and day of a day.
fn date(day: i64) -> (i64, i64, i64) {
    let months = (1990..2040).flat_map(|year| (1..=12).map(move |month| (year, month)));
    let (year, month) = months
        .take_while(|(year, month)| calendar::days_before(*year, *month) <= day)
        .last()
        .unwrap();
    (year, month, day - calendar::days_before(year, month) + 1)
}

pub fn first_of(interval: &str, day: i64) -> i64 {
    let (year, month, _) = date(day);
    match interval {
        "day" => day,
        // 1970-01-01 was a Thursday.
        "week" => day - (day + 3).rem_euclid(7),
        "month" => calendar::days_before(year, month),
        "quarter" => calendar::days_before(year, (month - 1) / 3 * 3 + 1),
        _ => calendar::days_before(year, 1),
    }
}

pub fn a_year_before(day: i64) -> i64 {
    let (year, month, of_month) = date(day);
    let first = calendar::days_before(year - 1, month);
    let next = if month == 12 {
        calendar::days_before(year, 1)
    } else {
        calendar::days_before(year - 1, month + 1)
    };
    (first + of_month - 1).min(next - 1)
}

impl<'m> Model<'m> {
    pub fn new(licenses: &'m [License], trials: &'m [License], asked: &'m Asked) -> Self {
        let is_border = |day: &i64| {
            *day == asked.from || *day == asked.to || first_of(asked.interval, *day) == *day
        };
        let days = (asked.from..=asked.to).filter(is_border).collect();
        let ends = licenses.iter().map(|license| license.end).collect();
        let successors = vec![None; licenses.len()];
        let mut model = Self { licenses, trials, asked, ends, successors, days };
        let lines: Vec<u8> = licenses.iter().map(|license| model.root(license)).collect();
        model.bridge(asked.gap_days.max(A_MONTH), |a, b| lines[a] == lines[b]);
        model.follow_parents(Reach::Days(asked.gap_days.max(A_MONTH)));
        model.bridge(0, |_, _| true);
        let bridged = model.bridged(asked.gap_days, |_, _| true);
        model.follow_parents(Reach::Later);
        for (a, b) in bridged {
            if model.successors[a].is_none() && !model.successors.contains(&Some(b)) {
                model.successors[a] = Some(b);
            }
        }
        model.follow_parents(Reach::Any);
        model
    }

    pub fn begin(&self, day: i64) -> i64 {
        calendar::at(self.asked.zone, day * DAY)
    }

    pub fn day(&self, time: i64) -> i64 {
        calendar::day(self.asked.zone, time)
    }

    pub fn intervals(&self) -> Vec<(i64, i64)> {
        self.days.windows(2).map(|days| (days[0], days[1])).collect()
    }

    /// Joins the nearest of these pairs that are left, and at most a number of days apart.
    fn bridge(&mut self, days: i64, may_join: impl Fn(usize, usize) -> bool) {
        for (a, b) in self.bridged(days, may_join) {
            self.successors[a] = Some(b);
        }
    }

    /// Bridges the gaps of these pairs, and returns them.
    fn bridged(
        &mut self,
        days: i64,
        may_join: impl Fn(usize, usize) -> bool,
    ) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for (a, one) in self.licenses.iter().enumerate() {
            for (b, other) in self.licenses.iter().enumerate() {
                let same = (one.company, one.product, one.currency)
                    == (other.company, other.product, other.currency);
                let Some(end) = one.end else { continue };
                let lasts_longer = other.end.is_none_or(|other| other > end);
                let apart = (self.day(other.from) - self.day(end)).abs();
                let same = same && may_join(a, b);
                if same && one.from < other.from && lasts_longer && apart <= days {
                    pairs.push((apart, one.id, other.id, a, b));
                }
            }
        }
        pairs.sort_unstable();
        let mut followed: BTreeSet<usize> = self.successors.iter().flatten().copied().collect();
        let mut joined = Vec::new();
        for (apart, _, _, a, b) in pairs {
            let is_free = self.successors[a].is_none() && joined.iter().all(|(end, _)| *end != a);
            if is_free && followed.insert(b) {
                joined.push((a, b));
                if apart <= self.asked.gap_days {
                    self.ends[a] = Some(self.licenses[b].from);
                }
            }
        }
        joined
    }

    /// The first license of a line, which has those without a price too; of a circle the one with the lowest id.
    fn root(&self, license: &License) -> u8 {
        let of_company = |id| {
            let mut all = self.licenses.iter().chain(self.trials);
            all.find(|one| (one.id, one.company) == (id, license.company))
        };
        let mut path = vec![license.id];
        while let Some(parent) = of_company(path[path.len() - 1]).and_then(|one| one.parent) {
            if let Some(at) = path.iter().position(|id| *id == parent) {
                return *path[at..].iter().min().unwrap();
            }
            path.push(parent);
        }
        path[path.len() - 1]
    }

    /// Links what is left of each line, as far as it is in reach.
    fn follow_parents(&mut self, reach: Reach) {
        let roots: Vec<u8> = self.licenses.iter().map(|license| self.root(license)).collect();
        let order = |at: &usize| (self.licenses[*at].from, self.licenses[*at].id);
        let mut starts: Vec<usize> = (0..self.licenses.len()).collect();
        starts.sort_unstable_by_key(order);
        let mut times: Vec<i64> = starts.iter().map(|at| self.licenses[*at].from).collect();
        times.dedup();
        for time in times {
            for same_currency in [true, false] {
                for b in &starts {
                    let next = &self.licenses[*b];
                    if next.from != time || self.successors.contains(&Some(*b)) {
                        continue;
                    }
                    let before = (0..self.licenses.len()).filter(|a| {
                        let one = &self.licenses[*a];
                        (roots[*a], one.company) == (roots[*b], next.company)
                            && (!same_currency || one.currency == next.currency)
                            && one.from < next.from
                            && one.end.is_some()
                            && self.successors[*a].is_none()
                            && match reach {
                                Reach::Days(days) => {
                                    let apart = self.day(next.from) - self.day(one.end.unwrap());
                                    apart.abs() <= days
                                        && next.end.is_none_or(|end| Some(end) > one.end)
                                }
                                Reach::Later => {
                                    Some(next.from) >= one.end && next.product == one.product
                                }
                                Reach::Any => true,
                            }
                    });
                    if let Some(a) = before.max_by_key(order) {
                        self.successors[a] = Some(*b);
                    }
                }
            }
        }
    }

    pub fn counts(&self, license: &License) -> bool {
        self.asked.product.is_none_or(|product| product == license.product)
    }

    pub fn companies(&self) -> Vec<u8> {
        let companies: BTreeSet<u8> = self.licenses.iter().map(|license| license.company).collect();
        let only = self.asked.company;
        companies.into_iter().filter(|company| only.is_none_or(|only| only == *company)).collect()
    }

    pub fn rate(&self, currency: &str, day: i64) -> Fraction {
        if currency == "EUR" {
            return Fraction::whole(1);
        }
        let rates = self.asked.rates.iter().filter(|rate| rate.0 == currency && rate.1 <= day);
        rates.max_by_key(|rate| rate.1).unwrap().2
    }

    /// Day whose rates apply to an interval that ends before another day.
    pub fn rate_day(&self, end: i64) -> i64 {
        if self.asked.dated { end - 1 } else { self.asked.to - 1 }
    }

    fn weighed(&self, license: &License, sum: Sum) -> Fraction {
        match sum {
            Sum::In(currency) if currency == license.currency => license.mrr,
            Sum::In(_) => ZERO,
            Sum::Converted(day) => license.mrr * self.rate(license.currency, day),
        }
    }

    /// MRR of a company just before a time, or at it: of the licenses that count, or of all.
    fn paid(&self, company: u8, sum: Sum, time: i64, at: bool, all: bool) -> Fraction {
        let mut total = ZERO;
        for (license, end) in self.licenses.iter().zip(&self.ends) {
            let is_active = if at {
                license.from <= time && end.is_none_or(|end| time < end)
            } else {
                license.from < time && end.is_none_or(|end| time <= end)
            };
            if license.company == company && is_active && (all || self.counts(license)) {
                total = total + self.weighed(license, sum);
            }
        }
        total
    }

    pub fn before(&self, company: u8, sum: Sum, time: i64) -> Fraction {
        self.paid(company, sum, time, false, false)
    }

    /// All times at which a license of a company begins or ends.
    fn times(&self, company: u8) -> BTreeSet<i64> {
        let own = self.licenses.iter().zip(&self.ends);
        let own = own.filter(|(license, _)| license.company == company);
        own.flat_map(|(license, end)| [Some(license.from), *end]).flatten().collect()
    }

    /// Whether a company that pays from `start` on, and did not just before, is new.
    fn is_new(&self, company: u8, sum: Sum, start: i64) -> bool {
        // Whether the company ever paid is decided at the rates of the end.
        let sum = if let Sum::Converted(_) = sum { Sum::Converted(self.asked.to - 1) } else { sum };
        let pays = |time: &i64| self.paid(company, sum, *time, true, false) > ZERO;
        let times = self.times(company);
        let Some(last) = times.range(..start).rev().find(|time| pays(time)) else { return true };
        let Some(within) = self.asked.within else { return false };
        let stopped = times.range(last + 1..).next();
        let returned = times.range(start..).find(|time| pays(time));
        let (Some(stopped), Some(returned)) = (stopped, returned) else { return true };
        self.day(*returned) - self.day(*stopped) > within
    }

    /// Lines of a company that pays `a` and then `b`.
    fn lines(&self, a: [Fraction; 2], b: [Fraction; 2], is_new: bool) -> Lines {
        let (before, after) = (positive(a[0]), positive(b[0]));
        let mut amounts = [ZERO; 8];
        let mut counts = [0; 3];
        if before == ZERO && after > ZERO {
            if a[1] > ZERO {
                amounts[6] = after;
            } else if is_new {
                (amounts[0], counts[0]) = (after, 1);
            } else {
                (amounts[1], counts[1]) = (after, 1);
            }
        } else if before > ZERO && after == ZERO {
            if b[1] > ZERO {
                amounts[7] = before;
            } else {
                (amounts[4], counts[2]) = (before, 1);
            }
        } else if after > before {
            amounts[2] = after - before;
        } else {
            amounts[3] = before - after;
        }
        amounts[5] = least(b[0], ZERO) - least(a[0], ZERO);
        Lines { amounts, counts }
    }

    /// Lines of a company from just before one time to just before another.
    pub fn end_points(&self, company: u8, sum: Sum, start: i64, end: i64) -> Lines {
        let paid = |time| [false, true].map(|all| self.paid(company, sum, time, false, all));
        self.lines(paid(start), paid(end), self.is_new(company, sum, start))
    }

    /// The lines of each step in between, added up.
    pub fn activities(&self, company: u8, sum: Sum, start: i64, end: i64) -> Lines {
        let mut total = Lines { amounts: [ZERO; 8], counts: [0; 3] };
        for time in self.times(company).range(start..end) {
            let paid = |at| [false, true].map(|all| self.paid(company, sum, *time, at, all));
            let lines = self.lines(paid(false), paid(true), self.is_new(company, sum, *time));
            for (sum, amount) in total.amounts.iter_mut().zip(lines.amounts) {
                *sum = *sum + amount;
            }
            total.counts.iter_mut().zip(lines.counts).for_each(|(sum, count)| *sum += count);
        }
        total
    }

    /// Overdue licenses that are over before a time.
    pub fn overdue(&self, company: u8, time: i64) -> Vec<&License> {
        let licenses = self.licenses.iter().zip(&self.successors);
        let licenses = licenses.filter(|(license, successor)| {
            license.company == company
                && license.fixed
                && license.status == Status::Ongoing
                && license.end.is_some_and(|end| end <= self.asked.now && end < time)
                && successor.is_none()
                && self.counts(license)
        });
        licenses.map(|(license, _)| license).collect()
    }

    /// Time of the first payment of a company, in any of its currencies.
    pub fn first_paid(&self, company: u8) -> Option<i64> {
        let pays = |time: &i64| {
            ["EUR", "USD", "JPY"]
                .iter()
                .any(|currency| self.paid(company, Sum::In(currency), *time, true, false) > ZERO)
        };
        self.times(company).into_iter().find(pays)
    }
}

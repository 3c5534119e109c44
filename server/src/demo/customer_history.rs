//! Two years of a market, month by month: new customers, renewals, expansion, contraction, churn and returns.
//!
//! Rates are those published for companies of this kind: GRR near 88 % and NRR a little over 100 % a year; of the gains
//! over half is new business, a third is expansion. The number of customers follows a given curve, so that a demo of
//! 300 customers has 300.

use chrono::{Datelike as _, Days, Months, NaiveDate};

use super::{
    customer::{Company, Product, Size, Term, Usage},
    names::{self, AMERICA, ASIA, EUROPE},
    random::RandomStream,
    stories,
};

/// Months of history in the demo.
pub(super) const MONTHS: u32 = 24;
/// Share of the customers at the beginning.
const AT_START: f64 = 0.4;
/// Maximum number of customers: the number of names also covers those that left.
pub const MAX_CUSTOMERS: usize = 400;
/// Business years begin in these months, and with them contracts.
const BUSY: [u32; 3] = [1, 6, 9];
/// Members of the staff who manage customers.
pub(super) const OWNERS: i64 = 4;

const REASONS: &[(u32, &str)] = &[
    (4, "price"),
    (3, "not used enough"),
    (2, "a feature is missing"),
    (2, "went to a competitor"),
    (2, "closed down"),
];
/// Number of customers of each size among a hundred new ones.
const SIZES: &[(usize, Size)] = &[(79, Size::Small), (19, Size::Middle), (2, Size::Large)];
/// Sizes of the customers at the beginning, which are larger: small customers leave sooner.
const SIZES_AT_START: &[(usize, Size)] =
    &[(56, Size::Small), (33, Size::Middle), (11, Size::Large)];

/// Companies of a demo, in the order in which they came.
pub(super) fn companies(customers: usize, today: NaiveDate) -> Vec<Company> {
    let mut market = Market {
        dice: RandomStream::seeded("market"),
        today,
        companies: stories::companies(today),
    };
    let months = market.months();
    market.begin(customers);
    let goals = goals(customers, &months);
    for (month, goal) in months.iter().zip(goals) {
        market.pass(*month, goal);
    }
    market.set_usage();
    market.companies
}

/// First day of a month, and that of the next.
type Month = (NaiveDate, NaiveDate);

struct Market {
    dice: RandomStream,
    today: NaiveDate,
    companies: Vec<Company>,
}

fn is_busy(month: NaiveDate) -> bool {
    BUSY.contains(&month.month())
}

/// Size of the customer with a number: of a hundred in a row, exactly as many as there should be. Large ones are so few
/// that chance alone would make one demo twice as rich as another.
fn size(of_hundred: &[(usize, Size)], number: usize) -> Size {
    let mut left = number * 61 % 100;
    for (count, size) in of_hundred {
        if left < *count {
            return *size;
        }
        left -= count;
    }
    Size::Small
}

/// Number of customers at the end of each month.
fn goals(customers: usize, months: &[Month]) -> Vec<usize> {
    let weight = |(at, month): (usize, &Month)| {
        (1.0 + 0.02 * at as f64) * if is_busy(month.0) { 1.5 } else { 1.0 }
    };
    let weights: Vec<f64> = months.iter().enumerate().map(weight).collect();
    let all: f64 = weights.iter().sum();
    let mut reached = 0.0;
    let goal = |weight: &f64| {
        reached += weight / all;
        (customers as f64 * (AT_START + (1.0 - AT_START) * reached)).round() as usize
    };
    weights.iter().map(goal).collect()
}

impl Market {
    fn months(&self) -> Vec<Month> {
        let this = self.today.with_day(1).unwrap_or(self.today);
        let first = |back: u32| this.checked_sub_months(Months::new(back)).unwrap_or(this);
        let month = |back: u32| {
            let from = first(back);
            (from, from.checked_add_months(Months::new(1)).unwrap_or(from))
        };
        (0..=MONTHS).rev().map(month).collect()
    }

    /// Adds the customers at the start.
    fn begin(&mut self, customers: usize) {
        let Some((first, _)) = self.months().first().copied() else { return };
        for _ in 0..(customers as f64 * AT_START).round() as usize {
            let size = size(SIZES_AT_START, self.companies.len());
            let mut company = self.company(size);
            let mut months = self.length(size);
            let mut from = self.day_before(first, i64::from(months.clamp(12, 24)));
            if !is_busy(from) && self.dice.chance(0.4) {
                let busy = from.with_month(self.dice.one_of(&BUSY)).filter(|from| *from < first);
                from = busy.unwrap_or(from);
                months = months.min(12);
            }
            let first_term = self.term(size, from, months);
            let ends = first_term.to;
            company.terms.push(first_term);
            // A term that was over by then has been renewed once.
            if let Some(end) = ends.filter(|end| *end <= first) {
                let next = self.next_term(&company, 0, end);
                company.terms = vec![Term { from: end, follows: None, ..next }];
            }
            self.companies.push(company);
        }
    }

    fn day_before(&mut self, day: NaiveDate, months: i64) -> NaiveDate {
        let back = self.dice.between(1, months * 30 - 3);
        day.checked_sub_days(Days::new(back.unsigned_abs())).unwrap_or(day)
    }

    /// Adds one month: decisions of customers, and new customers.
    fn pass(&mut self, month: Month, goal: usize) {
        let mut companies = std::mem::take(&mut self.companies);
        for company in companies.iter_mut().filter(|company| company.story.is_none()) {
            self.decide(company, month);
        }
        self.companies = companies;
        let last = month.1.pred_opt().unwrap_or(month.1).min(self.today);
        let there = self.companies.iter().filter(|company| company.is_customer(last)).count();
        for _ in there..goal {
            let size = size(SIZES, self.companies.len());
            let mut company = self.company(size);
            let from = self.day_in(month).min(self.today);
            let months = self.length(size);
            company.terms.push(self.term(size, from, months));
            self.companies.push(company);
        }
    }

    fn day_in(&mut self, (first, _): Month) -> NaiveDate {
        let day = if self.dice.chance(0.4) { 0 } else { self.dice.between(0, 27) };
        first.checked_add_days(Days::new(day.unsigned_abs())).unwrap_or(first)
    }

    fn company(&mut self, size: Size) -> Company {
        let number = self.companies.len();
        let region = self.dice.weighted(&[(60, EUROPE), (25, AMERICA), (15, ASIA)]);
        let place = self.dice.one_of(region);
        let is_dollar = self.dice.chance(if region == EUROPE { 0.03 } else { 0.45 });
        Company {
            number,
            name: names::company(number),
            size,
            place,
            currency: if is_dollar { "USD" } else { "EUR" },
            owner: self.dice.between(0, OWNERS - 1).unsigned_abs() as usize,
            terms: Vec::new(),
            usage: Usage::Steady,
            returns: None,
            story: None,
        }
    }

    /// Months of a first term; 0 for a monthly one.
    fn length(&mut self, size: Size) -> u32 {
        match size {
            Size::Small if self.dice.chance(0.7) => 0,
            Size::Large => self.dice.weighted(&[(1, 12), (3, 24), (1, 36)]),
            Size::Small | Size::Middle => 12,
        }
    }

    fn term(&mut self, size: Size, from: NaiveDate, months: u32) -> Term {
        let (median, most) = match size {
            Size::Small => (3_000.0, 40),
            Size::Middle => (18_000.0, 70),
            Size::Large => (90_000.0, 110),
        };
        let product = Product::first_for(size);
        let yearly = self.dice.log_normal(median, 0.6);
        let seats = (yearly / (12 * product.price()) as f64).round() as i64;
        let mut term = Term::new(product, from, months, seats.min(most));
        term.discount = self.dice.weighted(&[(6, 0), (3, 10), (1, 20)]);
        term.auto_renews = months == 12 && self.dice.chance(0.5);
        term
    }

    /// Term that follows another from a day on: mostly as much as before, often more, seldom less.
    fn next_term(&mut self, company: &Company, at: usize, from: NaiveDate) -> Term {
        let Some(term) = company.terms.get(at).cloned() else {
            return Term::new(Product::first_for(company.size), from, 12, 1);
        };
        let percent =
            self.dice.weighted(&[(46, 100), (20, 110), (16, 125), (6, 150), (8, 85), (4, 65)]);
        let seats = changed(term.seats, percent);
        Term {
            seats,
            auto_renews: term.auto_renews,
            discount: term.discount,
            ..Term::new(term.product, from, term.months, seats)
        }
    }

    /// Decides for a customer in a month.
    fn decide(&mut self, company: &mut Company, month: Month) {
        let main = Product::first_for(company.size);
        let Some(at) = company.open(main) else { return self.come_back(company, month) };
        let Some(term) = company.terms.get(at).cloned() else { return };
        if term.from >= month.0 {
            return;
        }
        match term.to {
            Some(end) if end < month.1 => self.end_term(company, at, end),
            Some(_) => self.during_term(company, at, month),
            None => self.without_term(company, at, month),
        }
    }

    /// A fixed term ends.
    fn end_term(&mut self, company: &mut Company, at: usize, end: NaiveDate) {
        if end > self.today {
            return;
        }
        let loss = match company.size {
            Size::Small => 0.24,
            Size::Middle => 0.11,
            Size::Large => 0.08,
        };
        if self.dice.chance(loss) {
            return self.lose(company, end);
        }
        let next = self.next_term(company, at, end);
        let (main, seats) = (next.product, next.seats);
        company.follow(at, next);
        // Additional products follow, with as many seats.
        for product in Product::ALL.into_iter().filter(|product| *product != main) {
            if let Some(added) = company.open(product) {
                let next = self.next_term(company, added, end);
                company.follow(added, Term { seats, ..next });
            }
        }
    }

    /// A month of a fixed term: more seats, or a further product.
    fn during_term(&mut self, company: &mut Company, at: usize, month: Month) {
        let Some(term) = company.terms.get(at).cloned() else { return };
        let day = self.day_in(month);
        if day > self.today || !splits(&term, day) {
            return;
        }
        let has_more = company.open(Product::Insights).is_some();
        if company.size != Size::Small && !has_more && self.dice.chance(0.015) {
            let added = Term { product: Product::Insights, from: day, follows: None, ..term };
            return company.terms.push(added);
        }
        if self.dice.chance(0.026) {
            let seats = changed(term.seats, 125);
            company.follow(at, Term { from: day, seats, ..term });
        }
    }

    /// A month of a license without end.
    fn without_term(&mut self, company: &mut Company, at: usize, month: Month) {
        let Some(term) = company.terms.get(at).cloned() else { return };
        let day = self.day_in(month);
        if day > self.today || !splits(&term, day) {
            return;
        }
        if self.dice.chance(0.026) {
            self.lose(company, day);
        } else if self.dice.chance(0.035) {
            let percent = self.dice.weighted(&[(3, 130), (2, 160), (1, 70)]);
            let seats = changed(term.seats, percent);
            company.follow(at, Term { from: day, seats, ..term });
        }
    }

    fn lose(&mut self, company: &mut Company, day: NaiveDate) {
        company.lose(day, self.dice.weighted(REASONS));
        if self.dice.chance(0.2) {
            let days = self.dice.between(60, 270);
            company.returns = day.checked_add_days(Days::new(days.unsigned_abs()));
        }
    }

    fn come_back(&mut self, company: &mut Company, month: Month) {
        let Some(day) = company.returns.filter(|day| *day < month.1 && *day <= self.today) else {
            return;
        };
        company.returns = None;
        let last = company.terms.last().cloned();
        let Some(term) = last else { return };
        let again = Term::new(Product::first_for(company.size), day, term.months, term.seats);
        company.terms.push(Term { discount: 20, ..again });
    }

    /// Sets the current usage of customers. That of the stories' customers is part of the story.
    fn set_usage(&mut self) {
        let today = self.today;
        let mut companies = std::mem::take(&mut self.companies);
        let customers = companies.iter_mut().filter(|company| company.is_customer(today));
        for company in customers.filter(|company| company.story.is_none()) {
            let quiet = Usage::Quiet(self.dice.between(15, 55));
            company.usage = self.dice.weighted(&[
                (78, Usage::Steady),
                (12, Usage::Growing),
                (7, Usage::Falling),
                (3, quiet),
            ]);
        }
        self.companies = companies;
    }
}

/// Whether a term can be changed on a day.
fn splits(term: &Term, day: NaiveDate) -> bool {
    let is_clear = |end: NaiveDate| !seems_whole(day, end);
    day > term.from && !seems_whole(term.from, day) && term.to.is_none_or(is_clear)
}

/// Whether a term until this day would count as whole months, since it is one day short of them: the next one would
/// overlap with it.
pub(super) fn seems_whole(from: NaiveDate, day: NaiveDate) -> bool {
    let Some(next) = day.succ_opt() else { return false };
    let months = (next.year() - from.year()) * 12 + next.month0() as i32 - from.month0() as i32;
    let end = from.checked_add_months(Months::new(months.unsigned_abs()));
    end == Some(next)
}

/// A number of seats, changed by some percent, and by one at least if it changes at all.
fn changed(seats: i64, percent: i64) -> i64 {
    let after = (seats * percent + 50) / 100;
    let least = (percent - 100).signum();
    if least > 0 { after.max(seats + 1) } else { after.min(seats + least).max(1) }
}

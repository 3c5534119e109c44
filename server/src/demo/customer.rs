//! A company of the demo and the terms of its licenses.

use chrono::{Months, NaiveDate};

use super::names::City;

/// Size of a customer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Size {
    #[default]
    Small,
    Middle,
    Large,
}

/// Products. Prices are those of a seat and month, the same number in each currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Product {
    Team,
    Enterprise,
    Insights,
}

impl Product {
    pub(super) const ALL: [Self; 3] = [Self::Team, Self::Enterprise, Self::Insights];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Team => "Lumen Team",
            Self::Enterprise => "Lumen Enterprise",
            Self::Insights => "Lumen Insights",
        }
    }

    pub(super) fn price(self) -> i64 {
        match self {
            Self::Team => 79,
            Self::Enterprise => 129,
            Self::Insights => 29,
        }
    }

    /// First product of a customer of a size.
    pub(super) fn first_for(size: Size) -> Self {
        if size == Size::Small { Self::Team } else { Self::Enterprise }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TermOutcome {
    Ongoing,
    Renewed,
    /// The customer left, for this reason.
    Lost(&'static str),
}

/// A license: its product, its length, and its end.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) product: Product,
    pub(super) from: NaiveDate,
    /// None for a license without end.
    pub(super) to: Option<NaiveDate>,
    /// Months of a fixed term; 0 for a license without one.
    pub(super) months: u32,
    pub(super) seats: i64,
    /// Discount on the list price, in percent.
    pub(super) discount: i64,
    pub(super) auto_renews: bool,
    pub(super) outcome: TermOutcome,
    /// Previous term, by its place in the list.
    pub(super) follows: Option<usize>,
}

impl Term {
    /// A fixed term of some months, or an open-ended one for 0 months.
    pub(super) fn new(product: Product, from: NaiveDate, months: u32, seats: i64) -> Self {
        let end = from.checked_add_months(Months::new(months));
        Self {
            product,
            from,
            to: end.filter(|_| months > 0),
            months,
            seats: seats.max(1),
            discount: 0,
            auto_renews: false,
            outcome: TermOutcome::Ongoing,
            follows: None,
        }
    }

    /// Amount of a month.
    pub(super) fn mrr(&self) -> f64 {
        let hundredths = self.product.price() * self.seats * (100 - self.discount);
        hundredths as f64 / 100.0
    }

    pub(super) fn covers(&self, day: NaiveDate) -> bool {
        self.from <= day && self.to.is_none_or(|to| to > day)
    }
}

/// Current usage of the product by a customer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Usage {
    #[default]
    Steady,
    Growing,
    /// Less each day, for some weeks.
    Falling,
    /// No usage for this many days.
    Quiet(i64),
}

#[derive(Clone, Debug)]
pub(super) struct Company {
    pub(super) number: usize,
    pub(super) name: String,
    pub(super) size: Size,
    pub(super) place: City,
    pub(super) currency: &'static str,
    /// Customer success manager, by place in the list of the staff.
    pub(super) owner: usize,
    pub(super) terms: Vec<Term>,
    pub(super) usage: Usage,
    /// When a lost customer returns.
    pub(super) returns: Option<NaiveDate>,
    /// Story of the company; none for most.
    pub(super) story: Option<&'static str>,
}

impl Company {
    /// `externalId` of the company.
    pub(super) fn key(&self) -> String {
        format!("c-{:03}", self.number)
    }

    /// `externalId` of one of the company's licenses.
    pub(super) fn license_key(&self, at: usize) -> String {
        format!("l-{:03}-{}", self.number, at + 1)
    }

    /// First day of the company's first license.
    pub(super) fn since(&self) -> Option<NaiveDate> {
        self.terms.iter().map(|term| term.from).min()
    }

    pub(super) fn is_customer(&self, day: NaiveDate) -> bool {
        self.terms.iter().any(|term| term.covers(day))
    }

    /// The undecided term of a product.
    pub(super) fn open(&self, product: Product) -> Option<usize> {
        let is_open = |term: &Term| term.product == product && term.outcome == TermOutcome::Ongoing;
        self.terms.iter().rposition(is_open)
    }

    /// End of the period as a customer that has a day, if the customer left then.
    pub(super) fn lost_after(&self, day: NaiveDate) -> Option<NaiveDate> {
        let main = Product::first_for(self.size);
        let ends = self
            .terms
            .iter()
            .filter(|term| term.product == main && matches!(term.outcome, TermOutcome::Lost(_)));
        ends.filter_map(|term| term.to).filter(|to| *to > day).min()
    }

    /// Ends a term and begins the next one.
    pub(super) fn follow(&mut self, at: usize, next: Term) {
        if let Some(term) = self.terms.get_mut(at) {
            term.outcome = TermOutcome::Renewed;
            term.to = Some(next.from);
        }
        self.terms.push(Term { follows: Some(at), ..next });
    }

    /// Ends all undecided terms.
    pub(super) fn lose(&mut self, day: NaiveDate, reason: &'static str) {
        for term in self.terms.iter_mut().filter(|term| term.outcome == TermOutcome::Ongoing) {
            term.outcome = TermOutcome::Lost(reason);
            term.to = Some(day);
        }
    }
}

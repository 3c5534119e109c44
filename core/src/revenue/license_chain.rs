//! Successors of licenses, and bridging of gaps and overlaps of at most `gapDays` between licenses of one company, product
//! and currency: the first license lasts until the second begins. The nearest pairs are joined first, then those with
//! lower ids; no end and no start is joined twice.
//!
//! Pairs of a line ([`LicenseLines`]) that are a month apart or less go before pairs of two lines, and later ones of its
//! product, however far apart, before pairs that only `gapDays` joins. What a line has left is linked last.
//!
//! An end waits in a heap with its nearest free start; free starts are found through links that skip joined ones. So a
//! history takes n log n, unless many licenses begin on one day and none lasts longer than the others.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::{
    ledger::{License, NEVER},
    options::ReportOptions,
    report_scope::ReportScope,
};
use crate::{
    resources::{company_status::SUCCESSOR_DAYS, license_line::LicenseLines},
    value::{ObjectId, Timestamp, Zone, time::DAY_MS},
};

/// A company with its licenses, and which of them follow others.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkedCompany<'l> {
    pub(super) id: ObjectId,
    pub(super) licenses: &'l [License],
    pub(super) links: &'l LicenseLinks,
}

/// Passes in turn the companies with licenses that are looked for.
pub(super) fn each_linked(
    scope: &ReportScope<'_>,
    is_looked_for: impl Fn(&[License]) -> bool,
    visit: impl FnMut(LinkedCompany<'_>),
) {
    let companies = scope.ledger.companies(scope.options.company);
    link_each(scope, companies.filter(|(_, licenses)| is_looked_for(licenses)), visit);
}

/// Passes some companies in turn.
pub(super) fn each_linked_of(
    scope: &ReportScope<'_>,
    companies: impl Iterator<Item = ObjectId>,
    visit: impl FnMut(LinkedCompany<'_>),
) {
    link_each(scope, companies.flat_map(|id| scope.ledger.companies(Some(id))), visit);
}

fn link_each<'l>(
    scope: &ReportScope<'_>,
    companies: impl Iterator<Item = (ObjectId, &'l [License])>,
    mut visit: impl FnMut(LinkedCompany<'_>),
) {
    let mut links = LicenseLinks::new(scope.options);
    for (id, licenses) in companies {
        links.link(licenses, scope.ledger.excluded_parents(id));
        visit(LinkedCompany { id, licenses, links: &links });
    }
}

/// Successor of a license without one.
const NONE: usize = usize::MAX;

/// Ends and successors of the licenses of a company, in their order.
#[derive(Debug)]
pub(super) struct LicenseLinks {
    gap_days: i64,
    zone: Zone,
    ends: Vec<i64>,
    successors: Vec<usize>,
    followed: Vec<bool>,
    /// The first license of the line of each license; empty where no license has a parent.
    lines: Vec<ObjectId>,
}

impl LicenseLinks {
    pub(super) fn new(options: &ReportOptions) -> Self {
        Self {
            gap_days: options.gap_days.into(),
            zone: options.zone,
            ends: Vec::new(),
            successors: Vec::new(),
            followed: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Finds the ends and successors of the licenses of a company; lines continue through other licenses, of which the
    /// parents are known.
    pub(super) fn link(
        &mut self,
        licenses: &[License],
        others: impl Iterator<Item = (ObjectId, ObjectId)>,
    ) {
        self.ends.clear();
        self.ends.extend(licenses.iter().map(|license| license.end));
        self.successors.clear();
        self.successors.resize(licenses.len(), NONE);
        self.followed.clear();
        self.followed.resize(licenses.len(), false);
        self.lines.clear();
        if licenses.iter().any(|license| license.parent.is_some()) {
            let parents = licenses.iter().map(|license| (license.id, license.parent));
            let others = others.map(|(id, parent)| (id, Some(parent)));
            let lines = LicenseLines::from_parents(parents.chain(others));
            self.lines.extend(licenses.iter().map(|license| lines.first_of(license.id)));
            self.link_lines(licenses);
        } else {
            let days = self.gap_days;
            self.join_groups(licenses, |links, group| links.join_nearest(licenses, group, days));
        }
    }

    /// Finds the successors of licenses of which some have a parent.
    fn link_lines(&mut self, licenses: &[License]) {
        self.join_groups(licenses, |links, group| links.join_lines(licenses, group));
        self.follow_parents(licenses, GapRule::Days(self.days_of_line()));
        self.join_groups(licenses, |links, group| links.join_nearest(licenses, group, 0));
        let (days, mut bridged) = (self.gap_days, Vec::new());
        self.join_groups(licenses, |links, group| {
            bridged.extend(links.bridge_nearest(licenses, &group, days));
        });
        self.follow_parents(licenses, GapRule::Later);
        for (end, start) in bridged {
            if self.successor(end).is_none() && self.followed.get(start) == Some(&false) {
                self.follow(end, start);
            }
        }
        self.follow_parents(licenses, GapRule::Any);
    }

    /// Days within which a license of a line follows another.
    fn days_of_line(&self) -> i64 {
        self.gap_days.max(SUCCESSOR_DAYS)
    }

    /// Joins the licenses of each product and currency, of which there are several, by their places: in a row, else by a
    /// function.
    fn join_groups(&mut self, licenses: &[License], mut join: impl FnMut(&mut Self, Vec<usize>)) {
        let mut at = 0;
        for group in licenses.chunk_by(|a, b| (a.currency, a.product) == (b.currency, b.product)) {
            if group.len() > 1 && !self.join_in_line(group, at) {
                join(self, (at..at + group.len()).collect());
            }
            at += group.len();
        }
    }

    /// Joins licenses with others of their line.
    fn join_lines(&mut self, licenses: &[License], mut group: Vec<usize>) {
        group.sort_by_key(|at| self.lines.get(*at).copied());
        let lines = group.chunk_by(|a, b| self.lines.get(*a) == self.lines.get(*b));
        let lines: Vec<Vec<usize>> = lines.map(<[usize]>::to_vec).collect();
        for line in lines.into_iter().filter(|line| line.len() > 1) {
            self.join_nearest(licenses, line, self.days_of_line());
        }
    }

    /// Joins the licenses of a group that have no successor yet with those that follow none, if they are at most this many
    /// days apart.
    fn join_nearest(&mut self, licenses: &[License], group: Vec<usize>, days: i64) {
        for (end, start) in self.bridge_nearest(licenses, &group, days) {
            self.follow(end, start);
        }
    }

    /// Bridges the gaps between these licenses, and returns the pairs of an end and a start.
    fn bridge_nearest(
        &mut self,
        licenses: &[License],
        group: &[usize],
        days: i64,
    ) -> Vec<(usize, usize)> {
        let with_places = || group.iter().filter_map(|at| Some((*at, licenses.get(*at)?)));
        let ends = with_places().filter(|(at, _)| self.successor(*at).is_none()).collect();
        let starts = with_places().filter(|(at, _)| self.followed.get(*at) == Some(&false));
        let joined = UnlinkedLicenses::new(ends, starts, self.zone, days).join();
        for (end, start, apart) in &joined {
            if *apart <= self.gap_days
                && let Some((end, license)) = self.ends.get_mut(*end).zip(licenses.get(*start))
            {
                *end = license.from;
            }
        }
        joined.into_iter().map(|(end, start, _)| (end, start)).collect()
    }

    /// End of a license, once gaps are bridged; [`NEVER`] for one without end.
    pub(super) fn end(&self, at: usize) -> i64 {
        self.ends.get(at).copied().unwrap_or(NEVER)
    }

    pub(super) fn successor(&self, at: usize) -> Option<usize> {
        self.successors.get(at).copied().filter(|successor| *successor != NONE)
    }

    /// Whether two licenses are of one line.
    pub(super) fn are_of_a_line(&self, one: usize, other: usize) -> bool {
        let line = self.lines.get(one);
        line.is_some() && line == self.lines.get(other)
    }

    /// Licenses with their bridged ends.
    pub(super) fn with_ends<'l>(
        &'l self,
        licenses: &'l [License],
    ) -> impl Iterator<Item = (&'l License, i64)> {
        licenses.iter().zip(self.ends.iter().copied())
    }

    fn follow(&mut self, end: usize, start: usize) {
        if let Some(successor) = self.successors.get_mut(end) {
            *successor = start;
        }
        if let Some(followed) = self.followed.get_mut(start) {
            *followed = true;
        }
    }

    /// Joins licenses that follow each other without a gap, or are too far apart, as most do. Returns false for a group
    /// that needs a closer look.
    fn join_in_line(&mut self, group: &[License], at: usize) -> bool {
        let days = if self.lines.is_empty() { self.gap_days } else { self.days_of_line() };
        let far = (days + 2) * DAY_MS;
        let pairs = || group.iter().zip(group.iter().skip(1));
        let in_line = pairs().all(|(license, next)| {
            let gap = next.from.saturating_sub(license.end);
            (gap == 0 || gap > far) && license.end.saturating_sub(license.from) > far
        });
        let in_line = in_line && self.lines.get(at..at + group.len()).is_none_or(all_equal);
        if in_line {
            for (index, (license, next)) in pairs().enumerate() {
                if license.end == next.from {
                    self.follow(at + index, at + index + 1);
                }
            }
        }
        in_line
    }

    /// Links each license of a line to the latest one before it that has no successor, and is in reach: of its currency,
    /// else of another one, since a renewal may change the currency.
    fn follow_parents(&mut self, licenses: &[License], reach: GapRule) {
        let reach = SuccessorCheck { licenses, zone: self.zone, reach };
        let placed = self.lines.iter().zip(licenses).enumerate();
        let mut lines: Vec<(ObjectId, i64, ObjectId, usize)> =
            placed.map(|(at, (first, license))| (*first, license.from, license.id, at)).collect();
        lines.sort_unstable();
        for line in lines.chunk_by(|a, b| a.0 == b.0).filter(|line| line.len() > 1) {
            let follows = |(.., at): &(_, _, _, usize)| self.followed.get(*at) == Some(&true);
            if line.iter().skip(1).all(follows) {
                continue;
            }
            let mut free = UnsucceededLicenses::default();
            for begun in line.chunk_by(|a, b| a.1 == b.1) {
                let to_currency =
                    |(.., at): &(_, _, _, usize)| Some((*at, licenses.get(*at)?.currency));
                let begun: Vec<(usize, u32)> = begun.iter().filter_map(to_currency).collect();
                for (start, currency) in &begun {
                    if self.followed.get(*start) == Some(&false)
                        && let Some(end) = free.take_of(*currency, |end| reach.has(end, *start))
                    {
                        self.follow(end, *start);
                    }
                }
                for (start, _) in &begun {
                    if self.followed.get(*start) == Some(&false)
                        && let Some(end) = free.take_any(|end| reach.has(end, *start))
                    {
                        self.follow(end, *start);
                    }
                }
                for (end, currency) in begun {
                    let ends = self.ends.get(end).is_some_and(|end| *end != NEVER);
                    if ends && self.successor(end).is_none() {
                        free.add(end, currency);
                    }
                }
            }
        }
    }
}

/// Licenses of a line without successor so far, by currency, each with its number in the order of their starts.
#[derive(Default)]
struct UnsucceededLicenses {
    count: usize,
    by_currency: Vec<(u32, Vec<(usize, usize)>)>,
}

impl UnsucceededLicenses {
    fn add(&mut self, at: usize, currency: u32) {
        self.count += 1;
        match self.by_currency.iter_mut().find(|(known, _)| *known == currency) {
            Some((_, free)) => free.push((self.count, at)),
            None => self.by_currency.push((currency, vec![(self.count, at)])),
        }
    }

    /// Takes the latest license of a currency that is in reach.
    fn take_of(&mut self, currency: u32, is_in_reach: impl Fn(usize) -> bool) -> Option<usize> {
        let (_, free) = self.by_currency.iter_mut().find(|(known, _)| *known == currency)?;
        let place = free.iter().rposition(|(_, at)| is_in_reach(*at))?;
        Some(free.remove(place).1)
    }

    /// The latest one of any currency.
    fn take_any(&mut self, is_in_reach: impl Fn(usize) -> bool) -> Option<usize> {
        let latest = |free: &[(usize, usize)]| {
            free.iter().rev().find(|(_, at)| is_in_reach(*at)).map(|(number, _)| *number)
        };
        let all = self
            .by_currency
            .iter()
            .filter_map(|(currency, free)| latest(free).map(|number| (number, *currency)));
        let (_, currency) = all.max()?;
        self.take_of(currency, is_in_reach)
    }
}

/// Largest gap between a license and its successor.
#[derive(Clone, Copy, Debug)]
enum GapRule {
    /// At most this many days, if the other one lasts longer.
    Days(i64),
    /// Any number of days, if the other one is of the same product and begins after the end.
    Later,
    /// Any number of days, of any product.
    Any,
}

/// Checks whether a license of a company may be the successor of another one.
struct SuccessorCheck<'l> {
    licenses: &'l [License],
    zone: Zone,
    reach: GapRule,
}

impl SuccessorCheck<'_> {
    /// Whether a license, which begins later than another, may follow it.
    fn has(&self, end: usize, start: usize) -> bool {
        let Some((license, next)) = self.licenses.get(end).zip(self.licenses.get(start)) else {
            return false;
        };
        let day = |time: i64| self.zone.day(Timestamp::from_ms_clamped(time));
        let apart = || day(next.from) - day(license.end);
        match self.reach {
            GapRule::Days(days) => apart().abs() <= days && next.end > license.end,
            GapRule::Later => next.from >= license.end && next.product == license.product,
            GapRule::Any => true,
        }
    }
}

/// Licenses of one company, product and currency, with their indexes: licenses without successor, and the starts of
/// licenses that succeed none, in their order.
struct UnlinkedLicenses<'l> {
    /// Maximum number of days between an end and a start.
    days: i64,
    zone: Zone,
    ends: Vec<(usize, &'l License)>,
    /// Day of start, license, and its place.
    starts: Vec<(i64, &'l License, usize)>,
    /// Next start from here on that is free, and the last one up to here; each increased by one.
    next: Vec<usize>,
    last: Vec<usize>,
}

/// An end and the nearest start: the days between them, ids, and indexes in their lists.
type Pair = (i64, ObjectId, ObjectId, usize, usize);

impl<'l> UnlinkedLicenses<'l> {
    fn new(
        ends: Vec<(usize, &'l License)>,
        starts: impl Iterator<Item = (usize, &'l License)>,
        zone: Zone,
        days: i64,
    ) -> Self {
        let placed = |(at, license): (usize, &'l License)| {
            (zone.day(Timestamp::from_ms_clamped(license.from)), license, at)
        };
        let mut starts: Vec<_> = starts.map(placed).collect();
        starts.sort_unstable_by_key(|(day, license, _)| (*day, license.id));
        Self {
            days,
            zone,
            ends,
            next: (0..=starts.len()).collect(),
            last: (0..=starts.len()).collect(),
            starts,
        }
    }

    /// Joins ends and starts; returns the places of the pairs, and the days between them.
    fn join(mut self) -> Vec<(usize, usize, i64)> {
        let mut waiting: BinaryHeap<Reverse<Pair>> = BinaryHeap::new();
        for end in 0..self.ends.len() {
            waiting.extend(self.nearest(end).map(Reverse));
        }
        let mut joined = Vec::new();
        while let Some(Reverse((apart, _, _, end, start))) = waiting.pop() {
            if find(&mut self.next, start) != start {
                waiting.extend(self.nearest(end).map(Reverse));
                continue;
            }
            if let (Some(next), Some(last)) =
                (self.next.get_mut(start), self.last.get_mut(start + 1))
            {
                (*next, *last) = (start + 1, start);
            }
            let pair = self.ends.get(end).zip(self.starts.get(start));
            joined.extend(pair.map(|(end, start)| (end.0, start.2, apart)));
        }
        joined
    }

    /// The free start that is nearest to an end; of those equally near the one with the lowest id.
    fn nearest(&mut self, end: usize) -> Option<Pair> {
        let (_, license) = *self.ends.get(end).filter(|(_, license)| license.end != NEVER)?;
        let day = self.zone.day(Timestamp::from_ms_clamped(license.end));
        let bound = self.starts.partition_point(|start| start.0 < day);
        let after = self.first_free(bound, usize::MAX, license);
        let before = self.last_free_day(bound, day, license);
        let pair = |place: usize| {
            let start = self.starts.get(place)?;
            let apart = (start.0 - day).abs();
            (apart <= self.days).then_some((apart, license.id, start.1.id, end, place))
        };
        after.and_then(pair).into_iter().chain(before.and_then(pair)).min()
    }

    /// The first free start of `from..to` that can follow a license.
    fn first_free(&mut self, from: usize, to: usize, license: &License) -> Option<usize> {
        let mut place = find(&mut self.next, from);
        while place < self.starts.len().min(to) {
            if self.can_follow(place, license) {
                return Some(place);
            }
            place = find(&mut self.next, place + 1);
        }
        None
    }

    /// Among the free starts before a place, those of the latest day: the first one that can follow a license.
    fn last_free_day(&mut self, before: usize, day: i64, license: &License) -> Option<usize> {
        let mut before = before;
        loop {
            let place = find(&mut self.last, before).checked_sub(1)?;
            let of_day = self.starts.get(place)?.0;
            if day - of_day > self.days {
                return None;
            }
            let first = self.starts.partition_point(|start| start.0 < of_day);
            if let Some(found) = self.first_free(first, place + 1, license) {
                return Some(found);
            }
            before = first;
        }
    }

    /// Whether the license of a start begins later than another and lasts longer.
    fn can_follow(&self, place: usize, license: &License) -> bool {
        let other = self.starts.get(place).map(|start| start.1);
        other.is_some_and(|other| other.from > license.from && other.end > license.end)
    }
}

fn all_equal(ids: &[ObjectId]) -> bool {
    ids.iter().zip(ids.iter().skip(1)).all(|(a, b)| a == b)
}

/// Follows links from a place, and shortens them on the way.
fn find(links: &mut [usize], from: usize) -> usize {
    let mut at = from;
    while let Some(next) = links.get(at).copied().filter(|next| *next != at) {
        let over = links.get(next).copied().unwrap_or(next);
        if let Some(link) = links.get_mut(at) {
            *link = over;
        }
        at = next;
    }
    at
}

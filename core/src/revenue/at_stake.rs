//! MRR at stake of a customer: `MRR x nearness of the renewal x points / 100`.
//!
//! It ranks customers for follow-up and states the reasons. It is not a probability and predicts nothing.

use rust_decimal::Decimal;

use super::money_units::{fixed, printed};
use crate::{
    resources::ticket,
    value::{
        Members, Number, Timestamp, Zone, counted, engagement::Engagement, number::MONEY_SCALE,
        time::DAY_MS,
    },
};

/// Usage of the product by a company, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CustomerUsage {
    /// Latest activity of the company that was not passive.
    pub last_active: Option<Timestamp>,
    /// Activity state of the company (R52), as the record has it.
    pub activity_state: Option<&'static str>,
    /// Users that were active in the last 14 days, and in the 14 before.
    pub users_active: [u64; 2],
    /// Beats of the last 14 days, and of the 14 before.
    pub beats: [u64; 2],
    /// Open tickets of the last 7 days, and older ones.
    pub open_tickets: [u64; 2],
}

/// Age from which on an open ticket weighs more.
const OLD_TICKET_MS: i64 = 7 * DAY_MS;

impl CustomerUsage {
    /// Sets the company's last activity, its activity state and its recent beats.
    pub fn add_company(&mut self, engagement: &Engagement, now: Timestamp) {
        self.last_active = engagement.last_active();
        self.activity_state = Some(engagement.activity_state(now));
        self.beats = engagement.recent_beats(now);
    }

    /// Counts a user in each span of days in which they were active.
    pub fn add_user(&mut self, engagement: &Engagement, now: Timestamp) {
        let active = engagement.recent_beats(now).map(|beats| u64::from(beats > 0));
        self.users_active.iter_mut().zip(active).for_each(|(count, active)| *count += active);
    }

    /// Adds a ticket, if it is open.
    pub fn add_ticket(&mut self, ticket: &impl Members, now: Timestamp) {
        let [new, old] = &mut self.open_tickets;
        match turns_old(ticket) {
            None => {}
            Some(at) if at <= now => *old += 1,
            Some(_) => *new += 1,
        }
    }

    /// Time until which the same engagement counts as at `now`: the end of the day in UTC.
    pub fn until(now: Timestamp) -> Timestamp {
        Timestamp::from_ms_clamped((now.epoch_days() + 1).saturating_mul(DAY_MS))
    }

    /// Time until which a ticket counts as at `now`.
    pub fn until_by_ticket(ticket: &impl Members, now: Timestamp) -> Timestamp {
        turns_old(ticket).filter(|at| *at > now).unwrap_or(Timestamp::MAX)
    }
}

/// Time from which on a ticket counts as an old one; none for a closed ticket. A ticket without a creation date stays
/// new.
fn turns_old(ticket: &impl Members) -> Option<Timestamp> {
    if ticket.get(ticket::IS_OPEN.name)?.as_bool() != Some(true) {
        return None;
    }
    let created = ticket.get(ticket::CREATE_DATE.name);
    let created = created.and_then(|created| Timestamp::parse(&created.as_str()?));
    let after = |created: Timestamp| created.as_ms().saturating_add(OLD_TICKET_MS + 1);
    Some(created.map_or(Timestamp::MAX, |created| Timestamp::from_ms_clamped(after(created))))
}

/// Weights of the terms. The points of a customer are at most [`Weights::max_points`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Points of every customer.
    pub base: Decimal,
    /// Points for a number of days without activity, fewest days first.
    pub idle: Vec<(i64, Decimal)>,
    /// Points if no user is active any more; a part of them if fewer are.
    pub users: Decimal,
    /// Points if there are no beats any more; a part of them if there are fewer.
    pub beats: Decimal,
    /// Points of an open ticket, of one that is older than 7 days, and of all tickets at most.
    pub tickets: [Decimal; 3],
    /// Days to the renewal up to which nearness is 1, and from which on it is [`Weights::far`].
    pub days: [i64; 2],
    /// Nearness of a renewal that is far.
    pub far: Decimal,
    /// Nearness for a customer without a renewal.
    pub open_ended: Decimal,
}

impl Default for Weights {
    fn default() -> Self {
        let [idle, long, longest] = [15, 25, 35].map(Decimal::from);
        Self {
            base: Decimal::from(5),
            idle: vec![(14, idle), (30, long), (60, longest)],
            users: Decimal::from(30),
            beats: Decimal::from(15),
            tickets: [3, 5, 15].map(Decimal::from),
            days: [30, 365],
            far: Decimal::new(2, 1),
            open_ended: Decimal::new(3, 1),
        }
    }
}

impl Weights {
    /// Maximum number of points of a customer.
    pub fn max_points(&self) -> Decimal {
        let idle = self.idle.iter().map(|(_, points)| *points).max().unwrap_or_default();
        self.base + idle + self.users + self.beats + self.tickets[2]
    }

    /// Nearness of a renewal that is due in a number of days; past ones have the greatest.
    fn nearness(&self, days: Option<i64>) -> Decimal {
        let Some(days) = days else { return self.open_ended };
        let [near, far] = self.days;
        if days <= near {
            return Decimal::ONE;
        }
        let part = Decimal::from(days - near).checked_div(Decimal::from(far - near));
        let part = part.filter(|_| days < far).unwrap_or(Decimal::ONE);
        Decimal::ONE - (Decimal::ONE - self.far) * part
    }

    fn idle(&self, days: Option<i64>) -> Decimal {
        let reached = self.idle.iter().filter(|(from, _)| days.is_none_or(|days| days >= *from));
        reached.map(|(_, points)| *points).next_back().unwrap_or_default()
    }

    fn tickets(&self, [new, old]: [u64; 2]) -> Decimal {
        let [of_new, of_old, max_points] = self.tickets;
        (of_new * Decimal::from(new) + of_old * Decimal::from(old)).min(max_points)
    }
}

/// Decrease of a number, as a part of its earlier value.
fn relative_decrease([now, before]: [u64; 2]) -> Decimal {
    let kept = Decimal::from(now).checked_div(Decimal::from(before)).unwrap_or(Decimal::ONE);
    (Decimal::ONE - kept).max(Decimal::ZERO)
}

/// Amount at stake, and the numbers that it is computed from.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AtStake {
    /// MRR x nearness x points / 100.
    pub amount: Number,
    /// MRR in the base currency, with that of overdue licenses.
    pub mrr: Number,
    /// Nearness of the renewal.
    pub nearness: Number,
    /// The sum of the points.
    pub points: Number,
    /// The points of every customer.
    pub base_points: Number,
    /// Points for a lack of activity; none where no usage is known.
    pub idle_points: Number,
    /// The points of fewer users.
    pub users_points: Number,
    /// The points of fewer beats.
    pub beats_points: Number,
    /// The points of open tickets.
    pub ticket_points: Number,
    /// The numbers as a sentence, with the two terms that weigh most.
    pub text: String,
}

/// Facts of one customer that the amount at stake depends on.
#[derive(Debug)]
pub(super) struct StakeFacts<'c> {
    pub(super) mrr: Number,
    pub(super) currency: &'c str,
    /// Days to the renewal or to the last day of notice.
    pub(super) days: Option<i64>,
    /// Whether these are the days to the last day of notice.
    pub(super) is_notice: bool,
    /// Usage; none where no usage is known of any company.
    pub(super) usage: Option<&'c CustomerUsage>,
    pub(super) tickets: [u64; 2],
    pub(super) now: Timestamp,
    pub(super) zone: Zone,
}

/// Points of a customer, and the nearness of its renewal.
struct StakePoints {
    idle_days: Option<i64>,
    idle: Decimal,
    users: Decimal,
    beats: Decimal,
    tickets: Decimal,
    /// The sum, with the points of every customer.
    all: Decimal,
    nearness: Decimal,
}

impl StakeFacts<'_> {
    fn points(&self, weights: &Weights) -> StakePoints {
        let day = |time| self.zone.day(time);
        let last_active = self.usage.and_then(|usage| usage.last_active);
        let idle_days = last_active.map(|last| day(self.now) - day(last));
        let of_usage =
            |points: &dyn Fn(&CustomerUsage) -> Decimal| self.usage.map(points).unwrap_or_default();
        let idle = of_usage(&|_| weights.idle(idle_days));
        let users = of_usage(&|usage| weights.users * relative_decrease(usage.users_active));
        let beats = of_usage(&|usage| weights.beats * relative_decrease(usage.beats));
        let tickets = weights.tickets(self.tickets);
        let all = weights.base + idle + users + beats + tickets;
        let nearness = weights.nearness(self.days);
        StakePoints { idle_days, idle, users, beats, tickets, all, nearness }
    }

    fn amount_of(&self, points: &StakePoints) -> Number {
        let product = self.mrr.as_decimal().checked_mul(points.nearness);
        let product = product.and_then(|part| part.checked_mul(points.all));
        rounded(product.unwrap_or_default() / Decimal::ONE_HUNDRED)
    }

    /// Amount at stake, without the numbers that it is computed from.
    pub(super) fn amount(&self, weights: &Weights) -> Number {
        self.amount_of(&self.points(weights))
    }

    pub(super) fn weigh(&self, weights: &Weights) -> AtStake {
        let points = self.points(weights);
        let amount = self.amount_of(&points);
        let StakePoints { idle_days, idle, users, beats, tickets, all, nearness } = points;
        let mut terms = [
            (idle, idle_text(idle_days)),
            (
                users,
                self.usage
                    .map(|usage| fall_text("users active", usage.users_active))
                    .unwrap_or_default(),
            ),
            (beats, self.usage.map(|usage| fall_text("beats", usage.beats)).unwrap_or_default()),
            (tickets, counted(self.tickets.iter().sum::<u64>(), "open ticket")),
        ];
        terms.sort_by_key(|(points, _)| std::cmp::Reverse(*points));
        AtStake {
            amount,
            mrr: self.mrr,
            nearness: rounded(nearness),
            points: rounded(all),
            base_points: rounded(weights.base),
            idle_points: rounded(idle),
            users_points: rounded(users),
            beats_points: rounded(beats),
            ticket_points: rounded(tickets),
            text: self.text(amount, &terms),
        }
    }

    fn text(&self, amount: Number, terms: &[(Decimal, String)]) -> String {
        let terms = terms.iter().filter(|(points, _)| *points > Decimal::ZERO).take(2);
        let terms = terms.map(|(points, text)| {
            let points = fixed(*points, 2);
            let points = points.trim_end_matches('0').trim_end_matches('.');
            format!("{text} ({})", counted(points, "point"))
        });
        let mut terms: Vec<String> = terms.collect();
        terms.push(match self.days {
            Some(days) if days < 0 => format!("overdue by {}", counted(-days, "day")),
            Some(days) if self.is_notice => {
                format!("last day of notice in {}", counted(days, "day"))
            }
            Some(days) => format!("renewal in {}", counted(days, "day")),
            None => "no renewal due".to_owned(),
        });
        let [amount, mrr] = [amount, self.mrr].map(|amount| printed(amount, self.currency));
        format!("{amount} of {mrr} {}: {}", self.currency, terms.join(", "))
    }
}

fn rounded(decimal: Decimal) -> Number {
    Number::from(decimal.round_dp(MONEY_SCALE).normalize())
}

fn idle_text(days: Option<i64>) -> String {
    let text = |days| format!("not active for {}", counted(days, "day"));
    days.map_or_else(|| "never active".to_owned(), text)
}

fn fall_text(what: &str, [now, before]: [u64; 2]) -> String {
    format!("{what} fell from {before} to {now}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MRR, days to the renewal, days since the last activity, users, beats, tickets, and the expected nearness,
    /// points and amount.
    #[track_caller]
    fn check(
        (mrr, days, idle): (i64, Option<i64>, Option<i64>),
        [users_active, beats, tickets]: [[u64; 2]; 3],
        [nearness, points, amount]: [&str; 3],
    ) -> String {
        let now = Timestamp::parse("2024-08-01").unwrap();
        let last_active =
            idle.map(|days| Timestamp::from_ms_clamped(now.as_ms() - days * 86_400_000));
        let usage = CustomerUsage { last_active, users_active, beats, ..CustomerUsage::default() };
        let case = StakeFacts {
            mrr: Decimal::from(mrr).into(),
            currency: "EUR",
            days,
            is_notice: days == Some(60),
            usage: Some(&usage),
            tickets,
            now,
            zone: Zone::UTC,
        };
        let found = case.weigh(&Weights::default());
        let rounded = |number: Number, scale| fixed(number.as_decimal(), scale);
        assert_eq!(
            [rounded(found.nearness, 4), rounded(found.points, 2), rounded(found.amount, 2)],
            [nearness, points, amount]
        );
        found.text
    }

    #[test]
    fn what_is_at_stake_is_a_formula() {
        // Cedar, Birch, Fir, Alder, Dogwood and Elm.
        let text = check(
            (2500, Some(120), Some(3)),
            [[5, 12], [150, 400], [2, 2]],
            ["0.7851", "46.88", "920.01"],
        );
        assert_eq!(
            text,
            "920.01 of 2500.00 EUR: users active fell from 12 to 5 (17.5 points), 4 open tickets (15 points), renewal in 120 days"
        );
        let text = check(
            (900, Some(-12), Some(45)),
            [[0, 6], [0, 80], [0, 1]],
            ["1.0000", "80.00", "720.00"],
        );
        assert!(text.ends_with("not active for 45 days (25 points), overdue by 12 days"), "{text}");
        let text = check((1500, Some(60), None), [[0, 0]; 3], ["0.9284", "40.00", "557.01"]);
        assert!(text.ends_with("last day of notice in 60 days"), "{text}");
        check(
            (4000, Some(20), Some(0)),
            [[18, 20], [900, 950], [1, 0]],
            ["1.0000", "11.79", "471.58"],
        );
        check(
            (6000, Some(330), Some(1)),
            [[40, 38], [2000, 1900], [4, 1]],
            ["0.2836", "20.00", "340.30"],
        );
        check((700, None, Some(16)), [[0, 3], [0, 30], [0, 0]], ["0.3000", "65.00", "136.50"]);
        check((100, Some(365), Some(0)), [[0, 0]; 3], ["0.2000", "5.00", "1.00"]);
        assert_eq!(Weights::default().max_points(), Decimal::ONE_HUNDRED);
    }
}

//! Tickets of the users, with the times of their first responses and of their closing.

use chrono::{Days, NaiveDate};
use serde_json::{Value, json};

use super::{
    customer::{Company, Usage},
    customer_history::MONTHS,
    people::Person,
    random::RandomStream,
    records::{self, Staff},
    stories::AT_RISK,
    usage::{active, written},
};

/// Tickets of an active user in a month.
const PER_MONTH: f64 = 0.12;
/// Share of active users.
const ACTIVE: f64 = 0.6;
const HOUR_MS: f64 = 3_600_000.0;
const DAY_MS: i64 = 86_400_000;
/// Median times to the first response and to the closing, in hours.
const TO_RESPONSE: f64 = 3.0;
const TO_CLOSE: f64 = 24.0;

/// Subject, kind and severity of a ticket.
type Subject = (&'static str, &'static str, &'static str);

const SUBJECTS: &[(u32, Subject)] = &[
    (9, ("Dashboard loads slowly in the morning", "problem", "normal")),
    (8, ("Export stops after some thousand rows", "bug", "high")),
    (8, ("How do I share a report with a guest?", "question", "low")),
    (7, ("Invoice shows the wrong address", "billing", "normal")),
    (6, ("Chart is empty after the last update", "bug", "high")),
    (6, ("Sign-in link has expired", "problem", "normal")),
    (5, ("Please add weekly summaries by e-mail", "feature request", "low")),
    (5, ("Two filters cannot be combined", "feature request", "low")),
    (4, ("Data source is not refreshed any more", "bug", "urgent")),
    (4, ("Which regions are my data stored in?", "question", "normal")),
    (3, ("Remove a user who left", "question", "low")),
    (3, ("API returns 429 during our import", "problem", "high")),
];
/// Subjects of a customer who may leave.
const UNHAPPY: [Subject; 3] = [
    ("Reports differ from our own figures", "bug", "urgent"),
    ("Still waiting for the promised connector", "feature request", "high"),
    ("Who is our contact after the reorganization?", "question", "high"),
];

/// The tickets of two years, the earliest first.
pub(super) fn tickets(
    market: &[Company],
    people: &[Person],
    today: NaiveDate,
    now_ms: i64,
) -> Vec<Value> {
    let mut desk = TicketGenerator { dice: RandomStream::seeded("tickets"), now_ms, number: 1_000 };
    let first = today.checked_sub_days(Days::new(u64::from(MONTHS) * 365 / 12)).unwrap_or(today);
    let mut tickets = Vec::new();
    for day in first.iter_days().take_while(|day| *day <= today) {
        for (person, company, per_week) in active(market, people, day, today) {
            let trouble = if company.usage == Usage::Falling { 3.0 } else { 1.0 };
            let mean = PER_MONTH * ACTIVE / 30.0 * trouble;
            if per_week > 0.0 && desk.dice.chance(mean) {
                let subject = desk.dice.weighted(SUBJECTS);
                tickets.extend(desk.ticket(company, person, day, subject));
            }
        }
    }
    tickets.extend(desk.unhappy(market, people, today));
    tickets
}

struct TicketGenerator {
    dice: RandomStream,
    now_ms: i64,
    number: u32,
}

impl TicketGenerator {
    fn ticket(
        &mut self,
        company: &Company,
        person: &Person,
        day: NaiveDate,
        subject: Subject,
    ) -> Option<Value> {
        let created = self.time(day, company);
        let response = created + (self.dice.log_normal(TO_RESPONSE, 1.0) * HOUR_MS) as i64;
        let hours = self.dice.log_normal(TO_CLOSE, 1.4) * HOUR_MS;
        // Some tickets wait for their sender.
        let never = self.dice.chance(0.02) && self.now_ms - created < 60 * DAY_MS;
        let closed = if never { i64::MAX } else { response + hours as i64 };
        let last = if self.dice.chance(0.5) { "resolved" } else { "closed" };
        let times = [("new", created), ("open", response), (last, closed)];
        self.stored(company, person, subject, &times)
    }

    /// The open tickets of the customer at risk.
    fn unhappy(&mut self, market: &[Company], people: &[Person], today: NaiveDate) -> Vec<Value> {
        let Some(company) = market.iter().find(|company| company.name == AT_RISK) else {
            return Vec::new();
        };
        let users = people.iter().filter(|person| person.key.starts_with("u-000-"));
        let opened = UNHAPPY.into_iter().zip([16, 9, 3]).zip(users);
        let ticket = |((subject, days), person): ((Subject, u64), &Person)| {
            let day = today.checked_sub_days(Days::new(days))?;
            let created = self.time(day, company);
            self.stored(
                company,
                person,
                subject,
                &[("new", created), ("open", created + DAY_MS / 8)],
            )
        };
        opened.filter_map(ticket).collect()
    }

    /// A time of the working day.
    fn time(&mut self, day: NaiveDate, company: &Company) -> i64 {
        let begin = day.and_time(chrono::NaiveTime::MIN).and_utc().timestamp_millis();
        let hour = (self.dice.between(8, 17) - company.place.2).rem_euclid(24);
        begin + hour * 3_600_000 + self.dice.between(0, 3_599_999)
    }

    /// A ticket with its history until now; none if it is still ahead.
    fn stored(
        &mut self,
        company: &Company,
        person: &Person,
        (title, kind, severity): Subject,
        times: &[(&str, i64)],
    ) -> Option<Value> {
        let past: Vec<_> = times.iter().filter(|(_, at)| *at <= self.now_ms).collect();
        let (status, _) = past.last()?;
        let history: Vec<_> = past
            .iter()
            .map(|(status, at)| json!({ "status": status, "time": written(*at) }))
            .collect();
        self.number += 1;
        let agents: Vec<Staff> = records::staff("support").collect();
        let agent = agents.get(self.number as usize % agents.len().max(1)).copied();
        Some(json!({
            "sourceId": format!("T-{}", self.number), "source": "Lumen Desk",
            "companyId": format!("extid-{}", company.key()), "email": person.email, "name": person.name,
            "title": title, "description": format!("<p>{title}</p><p>Sent by {}.</p>", person.name),
            "type": kind, "severity": severity, "status": status, "history": history,
            "product": "Lumen Analytics", "tags": [kind], "timeSpent": self.dice.between(1, 24) * 5,
            "agentEmail": agent.map(records::email),
        }))
    }
}

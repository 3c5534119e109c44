//! End users of the companies: as many as seats are in use, from the day on which these were bought.

use chrono::{Days, NaiveDate};
use serde_json::{Value, json};

use super::{
    customer::{Company, Product},
    names,
    random::RandomStream,
};

/// The part of the seats that are in use.
const IN_USE: f64 = 0.66;
/// Share of the users who are never active.
const NEVER: f64 = 0.15;
/// Median of the events in a week of a user.
const MEDIAN_EVENTS: f64 = 3.0;
/// Spread of the users' activity: a tenth of the users makes half of the events.
const SPREAD: f64 = 1.35;
const MOST_EVENTS: f64 = 250.0;

#[derive(Clone, Debug)]
pub(super) struct Person {
    /// `externalId` of the user.
    pub(super) key: String,
    /// Company of the user, by its place in the list.
    pub(super) company: usize,
    /// Number of the user in the company.
    pub(super) number: usize,
    pub(super) name: String,
    pub(super) email: String,
    pub(super) since: NaiveDate,
    /// Events of a week while usage is steady.
    pub(super) per_week: f64,
    position: &'static str,
}

/// The users of all companies, company by company.
pub(super) fn people(market: &[Company], today: NaiveDate) -> Vec<Person> {
    let mut dice = RandomStream::seeded("people");
    let of_company = |(at, company): (usize, &Company)| users_of(company, at, today, &mut dice);
    market.iter().enumerate().flat_map(of_company).collect()
}

fn users_of(
    company: &Company,
    at: usize,
    today: NaiveDate,
    dice: &mut RandomStream,
) -> Vec<Person> {
    let main = Product::first_for(company.size);
    let mut users: Vec<Person> = Vec::new();
    for term in company.terms.iter().filter(|term| term.product == main) {
        let seats = (term.seats as f64 * IN_USE).ceil() as usize;
        for number in users.len()..seats {
            let later = Days::new(dice.between(0, 25).unsigned_abs());
            let since = term.from.checked_add_days(later).unwrap_or(term.from).min(today);
            let (first, last) = names::person(dice);
            let email = free_email(first, &last, company, &users);
            let is_idle = number > 0 && dice.chance(NEVER);
            let per_week = dice.log_normal(MEDIAN_EVENTS, SPREAD).min(MOST_EVENTS);
            users.push(Person {
                key: format!("u-{:03}-{}", company.number, number + 1),
                company: at,
                number,
                email,
                name: format!("{first} {last}"),
                since,
                per_week: if is_idle { 0.0 } else { per_week },
                position: names::position(dice),
            });
        }
    }
    users
}

/// An address that no other user has.
fn free_email(first: &str, last: &str, company: &Company, others: &[Person]) -> String {
    let (name, domain) = (format!("{first}.{last}").to_lowercase(), names::domain(&company.name));
    let plain = format!("{name}@{domain}");
    if others.iter().any(|other| other.email == plain) {
        return format!("{name}{}@{domain}", others.len() + 1);
    }
    plain
}

pub(super) fn stored(person: &Person, market: &[Company]) -> Value {
    let company = market.get(person.company).map(|company| format!("extid-{}", company.key()));
    json!({
        "externalId": person.key, "companyId": company, "name": person.name, "email": person.email,
        "position": person.position, "createDate": person.since.to_string(),
    })
}

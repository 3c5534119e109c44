//! Holds what a server shows against the model.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Value, json};

use super::{
    generator::{Company, Event, EventRoute, Plan},
    plain::{Engagement, Model, User},
    time::{self, DAY_MS},
};

/// Codes of the report whose counts are compared.
const COMPARED: [&str; 4] =
    ["asset_unknown", "identities_differ", "company_differs", "company_unknown"];

/// What a server shows.
pub struct Shown {
    /// All activities, newest first.
    pub activities: Vec<Value>,
    pub users: Vec<Value>,
    pub companies: Vec<Value>,
    pub report: Vec<Value>,
    /// When it was read, in milliseconds since 1970.
    pub at: i64,
}

pub struct Sent<'a> {
    pub plan: &'a Plan,
    /// Companies that are there by now.
    pub companies: Vec<&'a Company>,
    /// Numbers of events that may or may not have been accepted.
    pub unsure: HashSet<usize>,
}

/// Everything that is not as it should be.
pub fn differences(sent: &Sent<'_>, shown: &Shown) -> Vec<String> {
    let ids =
        shown.companies.iter().map(|company| (text(company, "externalId"), text(company, "_id")));
    let mut comparison = Comparison {
        sent,
        shown,
        model: Model::from_companies(sent.companies.iter().copied()),
        company_ids: ids.collect(),
        ids_of_users: HashMap::new(),
        found: Vec::new(),
    };
    comparison.take_all();
    comparison.compare_users();
    comparison.compare_companies();
    comparison.compare_report();
    comparison.found
}

fn text(object: &Value, name: &str) -> String {
    object[name].as_str().unwrap_or_default().to_owned()
}

struct Comparison<'a> {
    sent: &'a Sent<'a>,
    shown: &'a Shown,
    model: Model,
    company_ids: HashMap<String, String>,
    /// The `_id` of a user of the model.
    ids_of_users: HashMap<usize, String>,
    found: Vec<String>,
}

impl Comparison<'_> {
    /// Ingests all events, in the order of the activities. Those without one have no place in it, and need none: they
    /// are ingested where they can be.
    fn take_all(&mut self) {
        let events = &self.sent.plan.events;
        let placeless: Vec<_> = events.iter().filter(|event| !event.is_activity()).collect();
        let waiting: Vec<_> =
            placeless.into_iter().filter(|event| !self.take_placeless(event)).collect();
        let (mut numbers, mut message_ids) = (HashSet::new(), HashSet::new());
        let mut users_of = Vec::new();
        for activity in self.shown.activities.iter().rev() {
            let action = text(activity, "action");
            let number = action.strip_prefix("did ").and_then(|number| number.parse().ok());
            let Some(event) = number.and_then(|number: usize| events.get(number)) else {
                self.found.push(format!("nobody sent {activity}"));
                continue;
            };
            let is_new_id =
                event.message_id.as_ref().is_none_or(|id| message_ids.insert(id.clone()));
            if !numbers.insert(event.number) || !is_new_id {
                self.found.push(format!("stored twice: {event:?}"));
                continue;
            }
            users_of.extend(self.take_activity(event, activity).map(|user| (user, activity)));
        }
        for event in waiting {
            self.take_placeless(event);
        }
        for (user, activity) in users_of {
            let user = &self.model.users[user];
            let expected = json!({"endUserName": name_of(user), "email": user.email, "externalId": user.external_id});
            check(&mut self.found, &expected, activity);
        }
        self.find_lost(&numbers, &message_ids);
    }

    fn take_placeless(&mut self, event: &Event) -> bool {
        self.model.take(event, "", self.shown.at, self.shown.at).is_some()
    }

    fn take_activity(&mut self, event: &Event, activity: &Value) -> Option<usize> {
        let received_at = time::parse(&text(activity, "receivedAt"));
        let route = text(activity, "route");
        let Some(at) = self.model.take(event, &route, received_at, self.shown.at) else {
            self.found.push(format!("stored, though nothing says whose it is: {event:?}"));
            return None;
        };
        let id = text(activity, "endUserId");
        let known = self.ids_of_users.entry(at).or_insert_with(|| id.clone());
        if *known != id {
            self.found.push(format!("of user {id} and not of {known}: {event:?}"));
        }
        let expected = json!({
            "companyId": self.company_ids.get(&self.model.users[at].company),
            "assetExtId": event.asset,
            "info": {"number": event.number},
            "count": event.times(),
            "passive": event.passive,
            "date": time::format(event.date.unwrap_or(received_at)),
            "route": event.way.name(),
            "messageId": event.message_id,
        });
        check(&mut self.found, &expected, activity);
        check_hundredths(&mut self.found, "weight", event.weight.unwrap_or(100), activity);
        Some(at)
    }

    /// Events that are not there, and do not wait either.
    fn find_lost(&mut self, numbers: &HashSet<usize>, message_ids: &HashSet<String>) {
        let events = || self.sent.plan.events.iter();
        let is_kept = |event: &Event| event.way != EventRoute::Pipeline;
        let waiting = events().filter(|event| is_kept(event) && self.model.waits(event));
        let waiting: HashSet<_> = waiting.filter_map(|event| event.message_id.as_ref()).collect();
        for event in events().filter(|event| event.is_activity()) {
            let id = event.message_id.as_ref();
            let is_there = numbers.contains(&event.number)
                || id.is_some_and(|id| message_ids.contains(id) || waiting.contains(id));
            let company = event.company.as_deref().unwrap_or_default();
            let is_discarded = event.way == EventRoute::Pipeline && company.starts_with("ghost");
            if !is_there && !is_discarded && !self.sent.unsure.contains(&event.number) {
                self.found.push(format!("lost: {event:?}"));
            }
        }
    }

    fn compare_users(&mut self) {
        let (users, today) = (&self.shown.users, self.shown.at.div_euclid(DAY_MS));
        if users.len() != self.model.users.len() {
            let expected = self.model.users.len();
            self.found.push(format!("{} users and not {expected}", users.len()));
        }
        let by =
            |name| users.iter().map(|user| (text(user, name), user)).collect::<HashMap<_, _>>();
        let (by_id, by_external_id) = (by("_id"), by("externalId"));
        for (at, user) in self.model.users.iter().enumerate() {
            let by_external_id =
                || user.external_id.as_ref().and_then(|id| by_external_id.get(id.as_str()));
            let shown = self.ids_of_users.get(&at).and_then(|id| by_id.get(id));
            let Some(shown) = shown.or_else(by_external_id) else {
                self.found.push(format!("no user {user:?}"));
                continue;
            };
            let expected = json!({
                "externalId": user.external_id,
                "email": user.email,
                "firstName": user.first_name,
                "lastName": user.last_name,
                "name": name_of(user),
                "companyId": self.company_ids.get(&user.company),
            });
            check(&mut self.found, &expected, shown);
            check_engagement(&mut self.found, &user.engagement, shown, today);
        }
    }

    fn compare_companies(&mut self) {
        let mut engagement: HashMap<&str, Engagement> = HashMap::new();
        for user in &self.model.users {
            engagement.entry(&user.company).or_default().join(&user.engagement);
        }
        let today = self.shown.at.div_euclid(DAY_MS);
        for company in &self.shown.companies {
            let id = text(company, "externalId");
            let expected = engagement.remove(id.as_str()).unwrap_or_default();
            check_engagement(&mut self.found, &expected, company, today);
        }
    }

    /// Counts of the report that depend on nothing but the events and their order.
    fn compare_report(&mut self) {
        let mut expected = std::mem::take(&mut self.model.reported);
        let ghosts = &self.sent.plan.ghosts;
        let is_ghost = |company: &str| ghosts.iter().any(|ghost| ghost.external_id == company);
        // When one has appeared, its users have a company, and are reported when they name another ghost.
        let ghosts_count = !self.company_ids.keys().any(|company| is_ghost(company));
        for event in self.sent.plan.events.iter().filter(|_| ghosts_count) {
            if event.company.as_deref().is_some_and(is_ghost) {
                *expected.entry(("company_unknown", event.way.name().to_owned())).or_default() += 1;
            }
        }
        let mut found = BTreeMap::new();
        for entry in &self.shown.report {
            let (code, message) = (text(entry, "code"), text(entry, "message"));
            // Of companies that appear in the middle it is unknown how many events came before.
            let names_ghost = message.contains("`ghost");
            let is_open = match code.as_str() {
                "company_unknown" => !(ghosts_count && names_ghost),
                code => code == "company_differs" && names_ghost,
            };
            let compared = COMPARED.into_iter().find(|known| *known == code);
            let Some(code) = compared.filter(|_| !is_open) else { continue };
            let count = entry["count"].as_i64().unwrap();
            *found.entry((code, text(entry, "route"))).or_default() += count;
        }
        // What is discarded is reported as often as it was sent, which is once at the least.
        let discarded = ("company_unknown", EventRoute::Pipeline.name().to_owned());
        if let Some(least) = expected.get(&discarded) {
            found.entry(discarded).and_modify(|count: &mut i64| *count = (*count).min(*least));
        }
        if expected != found {
            self.found.push(format!("the report counts {found:?} and not {expected:?}"));
        }
    }
}

fn name_of(user: &User) -> Option<String> {
    let parts: Vec<_> =
        [&user.first_name, &user.last_name].into_iter().flatten().cloned().collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Members that are not as expected; what is null may be absent.
fn check(found: &mut Vec<String>, expected: &Value, shown: &Value) {
    for (name, value) in expected.as_object().unwrap() {
        if shown[name] != *value {
            found.push(format!("`{name}` is {} and not {value}: {shown}", shown[name]));
        }
    }
}

fn check_hundredths(found: &mut Vec<String>, name: &str, expected: i64, shown: &Value) {
    let hundredths = shown[name].as_f64().unwrap_or(f64::NAN) * 100.0;
    if (hundredths - expected as f64).abs() > 1e-3 || hundredths.is_nan() {
        found.push(format!("`{name}` is not {expected} hundredths: {shown}"));
    }
}

fn check_engagement(found: &mut Vec<String>, expected: &Engagement, shown: &Value, today: i64) {
    let numbers = json!({
        "beats": expected.beats(today),
        "beatsTotal": expected.beats_total(),
        "activityState": expected.state(today),
    });
    check(found, &numbers, shown);
    let trend = shown["beatTrend"].as_f64().map(|trend| (trend * 10_000.0).round() as i64);
    if trend != Some(expected.trend(today)) {
        found.push(format!("`beatTrend` is not {} / 10000: {shown}", expected.trend(today)));
    }
    check_hundredths(found, "experience", expected.experience, shown);
    let last_active = shown["lastActive"].as_str().map(time::parse);
    let fits = match (expected.last_active, last_active) {
        (Some((earliest, latest)), Some(last_active)) => (earliest..=latest).contains(&last_active),
        (None, None) => true,
        _ => false,
    };
    if !fits {
        found.push(format!("`lastActive` is not within {:?}: {shown}", expected.last_active));
    }
}

//! Random events, of kinds of users that each try another rule. What the end state depends on can be learned
//! from the activities: an event without an activity is sent only for users whose events all agree.

use super::Random;
use super::time::DAY_MS;

/// Companies that are there from the beginning.
const BASE_COMPANIES: usize = 12;
/// Companies that appear in the middle.
const LATE_COMPANIES: usize = 6;
/// Companies that do not appear.
const GHOST_COMPANIES: usize = 4;
/// Events for each user, about.
const EVENTS_PER_USER: usize = 25;

/// How an event is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventRoute {
    Realtime,
    Pipeline,
    Bulk,
}

impl EventRoute {
    /// Its name in responses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Realtime => "realtime",
            Self::Pipeline => "pipeline",
            Self::Bulk => "bulk",
        }
    }
}

/// An event as its sender means it.
#[derive(Clone, Debug)]
pub struct Event {
    /// What identifies it; its action is derived from it.
    pub number: usize,
    /// How it is sent.
    pub way: EventRoute,
    pub external_id: Option<String>,
    pub email: Option<String>,
    pub name: Option<String>,
    pub company: Option<String>,
    /// Whether something was done.
    pub has_action: bool,
    /// An asset, which is not there.
    pub asset: Option<String>,
    /// Whether it counts as no activity.
    pub passive: bool,
    /// The weight as sent, in hundredths.
    pub weight: Option<i64>,
    /// How often, as sent.
    pub count: Option<i64>,
    /// When, in milliseconds since 1970.
    pub date: Option<i64>,
    /// The sender's id of the event.
    pub message_id: Option<String>,
}

impl Event {
    pub fn action(&self) -> String {
        format!("did {}", self.number)
    }

    /// How often it counts: what is out of range counts once.
    pub fn times(&self) -> i64 {
        self.count.filter(|count| (0..=300).contains(count)).unwrap_or(1)
    }

    /// Whether it becomes an activity, by which its place in the order is known.
    pub fn is_activity(&self) -> bool {
        self.has_action && self.times() > 0
    }
}

#[derive(Clone, Debug)]
pub struct Company {
    pub external_id: String,
    pub domain: String,
}

impl Company {
    fn numbered(kind: &str, number: usize) -> Self {
        Self { external_id: format!("{kind}{number}"), domain: format!("{kind}{number}.example") }
    }
}

/// All that is sent.
pub struct Plan {
    /// The events, in any order.
    pub events: Vec<Event>,
    /// Companies that are there before the first event.
    pub base: Vec<Company>,
    /// Companies that appear while events are sent.
    pub late: Vec<Company>,
    /// Companies that appear when all else has been seen.
    pub ghosts: Vec<Company>,
}

/// A number of random events, as sent at `now`.
pub fn plan(random: &mut Random, count: usize, now: i64) -> Plan {
    let all =
        |kind: &str, count| (0..count).map(|number| Company::numbered(kind, number)).collect();
    let mut plan = Plan {
        events: Vec::with_capacity(count),
        base: all("base", BASE_COMPANIES),
        late: all("late", LATE_COMPANIES),
        ghosts: all("ghost", GHOST_COMPANIES),
    };
    let users = count / EVENTS_PER_USER + 1;
    while plan.events.len() < count {
        let number = plan.events.len();
        let user = random.below(users);
        let mut event = plain(random, number, now);
        match random.below(100) {
            0..=2 => name_ghost(random, &mut event, user),
            3..=10 => name_late(random, &mut event, user),
            11..=45 => name_varied(random, &mut event, user),
            _ => name_steady(random, &mut event, user, now),
        }
        let twin = twin_of(random, &event, number + 1);
        plan.events.push(event);
        plan.events.extend(twin);
    }
    plan
}

/// An event without a user yet.
fn plain(random: &mut Random, number: usize, now: i64) -> Event {
    let way = *random.one_of(&[
        EventRoute::Realtime,
        EventRoute::Realtime,
        EventRoute::Pipeline,
        EventRoute::Bulk,
        EventRoute::Bulk,
    ]);
    let some_days_ago = |random: &mut Random, days: usize| {
        now - i64::try_from(random.below(days)).unwrap() * DAY_MS
            - i64::try_from(random.below(80_000_000)).unwrap()
    };
    let date = match random.below(10) {
        0..=2 => None,
        3..=8 => Some(some_days_ago(random, 40)),
        _ => Some(now + i64::try_from(1 + random.below(5)).unwrap() * DAY_MS),
    };
    let counts = [None, None, Some(2), Some(300), Some(301), Some(-1), Some(7)];
    Event {
        number,
        way,
        external_id: None,
        email: None,
        name: None,
        company: None,
        has_action: true,
        asset: random.percent(3).then(|| format!("asset{}", random.below(3))),
        passive: random.percent(10),
        weight: *random.one_of(&[None, None, Some(10), Some(250), Some(0), Some(133)]),
        count: if way == EventRoute::Bulk { *random.one_of(&counts) } else { None },
        date,
        message_id: Some(format!("message {number}")),
    }
}

/// A user of a company that never appears while events are sent: each event waits, or is discarded on route 3.
fn name_ghost(random: &mut Random, event: &mut Event, user: usize) {
    event.external_id = Some(format!("ghost user {user}"));
    event.company = Some(format!("ghost{}", random.below(GHOST_COMPANIES)));
    event.name = Some(format!("Ghost {}", random.below(3)));
}

/// A user of a company that appears in the middle: events wait and are replayed.
fn name_late(random: &mut Random, event: &mut Event, user: usize) {
    // On route 3 an event is discarded until then, and nothing shows when that was.
    event.way = *random.one_of(&[EventRoute::Realtime, EventRoute::Bulk]);
    event.count = None;
    event.external_id = Some(format!("late user {user}"));
    event.company = random.percent(80).then(|| format!("late{}", user % LATE_COMPANIES));
    event.email = random.percent(50).then(|| format!("late.{user}@gmail.com"));
    event.name = random.percent(50).then(|| format!("Late Number {}", random.below(4)));
}

/// A user whose events may each have other data, right or wrong.
fn name_varied(random: &mut Random, event: &mut Event, user: usize) {
    // Some events of one user carry the e-mail of another.
    let other = if random.percent(5) { user + 1 } else { user };
    let id = |random: &mut Random| format!("varied {user} {}", random.below(10) / 9);
    let domain = match user % 3 {
        0 => "gmail.com".to_owned(),
        _ => format!("base{}.example", user % BASE_COMPANIES),
    };
    let email = |random: &mut Random| {
        let name = *random.one_of(&["varied", "Varied", "VARIED"]);
        format!("{name}.{other}@{domain}")
    };
    (event.external_id, event.email) = match random.below(4) {
        0 => (Some(id(random)), None),
        1 => (None, Some(email(random))),
        _ => (Some(id(random)), Some(email(random))),
    };
    let names = [None, Some("Ada"), Some("Ada Lovelace"), Some("Ada  King Lovelace")];
    event.name = random.one_of(&names).map(str::to_owned);
    // Without a company an event may be discarded on route 3, and nothing shows when that was.
    if event.way == EventRoute::Pipeline || random.percent(60) {
        let near = user + random.below(20) / 18;
        event.company = Some(format!("base{}", near % BASE_COMPANIES));
    }
    // On route 1 such an event is never sent again; a bulk call has a key of its own.
    let is_sure = event.way != EventRoute::Pipeline && event.company.is_some();
    if is_sure && random.percent(10) {
        event.message_id = None;
    }
}

/// A user whose events have the same data, or less, so their order does not matter.
fn name_steady(random: &mut Random, event: &mut Event, user: usize, now: i64) {
    let company = user % BASE_COMPANIES;
    event.external_id = Some(format!("steady {user}"));
    event.email = random.percent(50).then(|| format!("steady.{user}@base{company}.example"));
    event.name = random.percent(50).then(|| format!("Steady {user}"));
    if event.way == EventRoute::Pipeline || random.percent(70) {
        event.company = Some(format!("base{company}"));
    }
    event.has_action = random.percent(85);
    if event.way == EventRoute::Bulk && random.percent(10) {
        event.count = Some(0);
    }
    // The time of receipt can be read from an activity only, and so can that from which on the future counts.
    if !event.is_activity() {
        event.date = Some(event.date.unwrap_or(now).min(now));
    }
}

/// Another event with the same id: one of both is stored, whichever comes first.
fn twin_of(random: &mut Random, event: &Event, number: usize) -> Option<Event> {
    let is_base = event.company.as_ref().is_some_and(|company| company.starts_with("base"));
    let has_twin = is_base && event.is_activity() && event.message_id.is_some();
    (has_twin && random.percent(3)).then(|| Event {
        number,
        passive: !event.passive,
        ..event.clone()
    })
}

//! Events as requests: spread over the routes, some sent twice, some with invalid rows, in any order, and some of them
//! followed by a crash.

use serde_json::{Map, Value, json};

use super::{
    Random,
    generator::{Company, Event, EventRoute, Plan},
    time,
};

/// Maximum number of rows of a bulk body.
const MAX_ROWS: usize = 400;
/// Maximum number of calls of a pipeline's array.
const MAX_CALLS: usize = 8;
/// How many of a hundred events are sent twice.
const TWICE: usize = 10;

/// Something that is sent, and sent again until it is acknowledged.
#[derive(Debug)]
pub struct Request {
    pub body: Body,
    /// The numbers of its events.
    pub events: Vec<usize>,
    /// Whether the server is killed when it has been acknowledged.
    pub crash: bool,
    /// Whether it can be sent again with no harm.
    pub may_come_again: bool,
}

#[derive(Debug)]
pub enum Body {
    /// A company, which is new.
    Company(Company),
    Realtime(Value),
    /// The same, with something wrong.
    Wrong(Value),
    Pipeline(Value),
    /// Route 4: the rows, the places of those that are wrong, and the key of the call.
    Bulk(Value, Vec<usize>, String),
}

impl Request {
    fn new(body: Body, events: Vec<usize>) -> Self {
        Self { body, events, crash: false, may_come_again: true }
    }
}

/// All requests, with a number of crashes.
pub fn requests(random: &mut Random, plan: &Plan, crashes: usize) -> Vec<Request> {
    let mut sent: Vec<&Event> = plan.events.iter().collect();
    let again = plan.events.iter().filter(|event| event.message_id.is_some());
    sent.extend(again.filter(|_| random.percent(TWICE)));
    random.shuffle(&mut sent);
    let of_way = |way| sent.iter().copied().filter(move |event: &&Event| event.way == way);
    let mut requests: Vec<Request> =
        of_way(EventRoute::Realtime).map(|event| realtime(random, event)).collect();
    let calls: Vec<_> = of_way(EventRoute::Pipeline).collect();
    requests.extend(in_groups(random, &calls, MAX_CALLS).into_iter().map(pipeline));
    let rows: Vec<_> = of_way(EventRoute::Bulk).collect();
    for (number, rows) in in_groups(random, &rows, MAX_ROWS).into_iter().enumerate() {
        requests.push(bulk(random, rows, format!("bulk {number}")));
    }
    requests.extend(
        (0..plan.events.len() / 100).map(|_| Request::new(Body::Wrong(wrong(random)), Vec::new())),
    );
    let late = plan.late.iter().cloned();
    let mut late: Vec<_> =
        late.map(|company| Request::new(Body::Company(company), Vec::new())).collect();
    // A crash has most effect right after a company that releases events.
    late.iter_mut().take(crashes / 2).for_each(|request| request.crash = true);
    requests.extend(late);
    random.shuffle(&mut requests);
    for _ in crashes / 2..crashes {
        let at = random.below(requests.len());
        requests[at].crash = true;
    }
    requests
}

/// Cuts events into groups of different sizes, many of them small.
fn in_groups<'a>(random: &mut Random, events: &[&'a Event], most: usize) -> Vec<Vec<&'a Event>> {
    let (mut groups, mut rest) = (Vec::new(), events);
    while !rest.is_empty() {
        let size = match random.below(100) {
            0..40 => 1,
            // Few are so large that they are stored in several commits.
            99 => 100 * most,
            _ => 1 + random.below(most),
        };
        let (group, others) = rest.split_at(size.min(rest.len()));
        groups.push(group.to_vec());
        rest = others;
    }
    groups
}

fn numbers(events: &[&Event]) -> Vec<usize> {
    events.iter().map(|event| event.number).collect()
}

/// Members that have a value.
fn members<const N: usize>(members: [(&str, Option<Value>); N]) -> Map<String, Value> {
    let there = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    there.collect()
}

fn text(text: &Option<String>) -> Option<Value> {
    text.as_ref().map(|text| json!(text))
}

/// What an event has on every route.
fn shared(event: &Event) -> Map<String, Value> {
    members([
        ("passive", event.passive.then_some(json!(true))),
        ("weight", event.weight.map(|weight| json!(weight as f64 / 100.0))),
        ("date", event.date.map(|date| json!(time::format(date)))),
        ("messageId", text(&event.message_id)),
        ("assetExtId", text(&event.asset)),
    ])
}

fn realtime(random: &mut Random, event: &Event) -> Request {
    let mut body = members([
        (*random.one_of(&["externalId", "userId"]), text(&event.external_id)),
        ("email", text(&event.email)),
        ("name", text(&event.name)),
        (*random.one_of(&["companyExternalId", "cId"]), text(&event.company)),
        ("action", event.has_action.then(|| json!(event.action()))),
        ("info", Some(json!({"number": event.number}))),
    ]);
    body.extend(shared(event));
    let may_come_again = event.message_id.is_some();
    Request { may_come_again, ..Request::new(Body::Realtime(body.into()), vec![event.number]) }
}

fn pipeline(events: Vec<&Event>) -> Request {
    let mut calls: Vec<_> = events.iter().map(|event| call(event)).collect();
    let body = if calls.len() == 1 { calls.remove(0) } else { calls.into() };
    Request::new(Body::Pipeline(body), numbers(&events))
}

fn call(event: &Event) -> Value {
    let traits = members([
        ("email", text(&event.email)),
        ("name", text(&event.name)),
        ("companyId", text(&event.company)),
    ]);
    let mut call = members([
        ("type", Some(json!(if event.has_action { "track" } else { "identify" }))),
        ("userId", text(&event.external_id)),
        ("event", event.has_action.then(|| json!(event.action()))),
        ("properties", Some(json!({"number": event.number}))),
        ("traits", Some(traits.into())),
    ]);
    call.extend(shared(event));
    call.into()
}

fn bulk(random: &mut Random, events: Vec<&Event>, key: String) -> Request {
    let (mut rows, mut bad) = (Vec::new(), Vec::new());
    for event in &events {
        if random.percent(2) {
            bad.push(rows.len());
            rows.push(wrong(random));
        }
        rows.push(row(event));
    }
    Request::new(Body::Bulk(rows.into(), bad, key), numbers(&events))
}

fn row(event: &Event) -> Value {
    let mut row = members([
        ("euExtId", text(&event.external_id)),
        ("email", text(&event.email)),
        ("name", text(&event.name)),
        ("cId", text(&event.company)),
        ("action", event.has_action.then(|| json!(event.action()))),
        ("info", Some(json!({"number": event.number}))),
        ("count", event.count.map(|count| json!(count))),
    ]);
    row.extend(shared(event));
    row.into()
}

/// An event that is rejected.
fn wrong(random: &mut Random) -> Value {
    let events = [
        json!({"action": "did wrong"}),
        json!({"email": "nobody", "action": "did wrong"}),
        json!({"email": "a@b.example", "weight": -1, "cId": "base0", "action": "did wrong"}),
        json!({"email": 5, "cId": "base0", "action": "did wrong"}),
    ];
    random.one_of(&events).clone()
}

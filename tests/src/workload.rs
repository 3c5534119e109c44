//! Senders that use all commands of the store, each on records of its own, and know what must be there: after
//! a crash all that was acknowledged, and of what was not, all or nothing; sent again, it has its effect once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use crate::{TENANT, model::Random, process::PATIENCE};

/// Records of a sender that come and go.
const SLOTS: usize = 4;
/// Maximum number of tokens that a sender issues.
const TOKENS: usize = 100;
/// Events in a bulk call.
const EVENTS: usize = 5;
/// Users of a crowd, who are active in one bulk call: as many as fit into one commit, so that all of it is there or
/// nothing.
const CROWD: usize = 110;
/// Those of them that are checked.
const LOOKED_AT: [usize; 3] = [0, CROWD / 2, CROWD - 1];

/// What is sent to: a server in this process, or in one of its own.
pub trait Target: Sync {
    /// Sends a request; a key makes it one that is carried out once. Where no response comes, it is an error of
    /// the server.
    fn send(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: &Value,
    ) -> impl Future<Output = (StatusCode, Value)> + Send;

    /// Removes data after its retention period, where no background job runs.
    fn clean_up(&self) -> impl Future<Output = ()> + Send;
}

/// Creates the company that the events of all senders are of.
pub async fn found(server: &impl Target) {
    let base = json!({"name": "Base", "externalId": "base"});
    let (status, response) = server.send(Method::POST, "/companies", None, &base).await;
    assert_eq!(status, StatusCode::OK, "{response}");
}

/// Reads a route, which must be there.
async fn get(server: &impl Target, path: &str) -> Value {
    let (status, response) = server.send(Method::GET, path, None, &Value::Null).await;
    assert_eq!(status, StatusCode::OK, "{path}: {response}");
    response
}

/// A request, and what it leaves when it has been carried out.
#[derive(Clone, Debug)]
struct Step {
    method: Method,
    path: String,
    key: Option<String>,
    body: Value,
    after: After,
}

/// What is there afterwards.
#[derive(Clone, Debug)]
enum After {
    /// Records, each with its mark, or without when it is gone.
    Records(Vec<(usize, Option<String>)>),
    /// These activities of a user.
    Activities(String, Vec<String>),
    /// All of the sender's crowd have been active so often.
    Crowd(usize),
    /// These, once they have been replayed.
    Waiting(String, String),
    /// No user of this name, nor their activities.
    Erased(String),
    /// A time zone of the tenant.
    TimeZone(&'static str),
    /// A token with this label.
    Token(String),
    /// The report has been read; of its first entry this comes next.
    Report(EntryState),
    /// An event waits for its company, which comes next.
    Company(Box<Step>),
    /// A step whose effect is not checked.
    Nothing,
}

/// The state of an entry of the report.
#[derive(Clone, Copy, Debug)]
enum EntryState {
    Removed,
    Replayed,
}

/// The route of the report.
const REPORT: &str = "/integrationissues";

impl EntryState {
    fn step(self, id: &str) -> Step {
        let (method, path) = match self {
            Self::Removed => (Method::DELETE, format!("{REPORT}/{id}")),
            Self::Replayed => (Method::POST, format!("{REPORT}/{id}/replay")),
        };
        Step { method, path, key: None, body: Value::Null, after: After::Nothing }
    }
}

impl Step {
    async fn send(&self, server: &impl Target) -> (StatusCode, Value) {
        if let After::Report(_) = self.after {
            server.clean_up().await;
        }
        server.send(self.method.clone(), &self.path, self.key.as_deref(), &self.body).await
    }
}

/// One who sends. A clone knows what was acknowledged until then, and what was under way.
#[derive(Clone, Debug)]
pub struct Sender {
    name: String,
    random: Random,
    /// The number of records that it has created.
    made: usize,
    records: BTreeMap<usize, String>,
    activities: BTreeMap<String, BTreeSet<String>>,
    /// How often its crowd was active.
    crowded: usize,
    /// Events of users that are replayed without a request.
    waiting: BTreeMap<String, String>,
    erased: BTreeSet<String>,
    time_zone: Option<&'static str>,
    tokens: BTreeSet<String>,
    /// What is under way, or was when the power went.
    unsure: Option<Step>,
    next: Option<Step>,
    users: usize,
}

impl Sender {
    /// A sender that has sent nothing. The first one alone changes settings.
    pub fn new(number: usize, random: Random) -> Self {
        Self {
            name: format!("s{number}"),
            random,
            made: 0,
            records: BTreeMap::new(),
            activities: BTreeMap::new(),
            crowded: 0,
            waiting: BTreeMap::new(),
            erased: BTreeSet::new(),
            time_zone: (number == 0).then_some("UTC"),
            tokens: BTreeSet::new(),
            unsure: None,
            next: None,
            users: 0,
        }
    }

    /// Sends until a request fails, and counts what is acknowledged.
    pub async fn send_until_it_fails(&mut self, server: &impl Target, sent: &AtomicUsize) {
        while self.send_one(server).await {
            sent.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sends a number of requests, or until one fails.
    pub async fn send_some(&mut self, server: &impl Target, count: usize) {
        for _ in 0..count {
            if !self.send_one(server).await {
                return;
            }
        }
    }

    /// Sends a number of requests; none may fail for good.
    pub async fn send(&mut self, server: &impl Target, count: usize) {
        for _ in 0..count {
            assert!(self.send_one(server).await, "{:?}", self.unsure);
        }
    }

    /// Sends one request for a sender that others read meanwhile; returns whether it was acknowledged.
    pub async fn send_one_of(sender: &Mutex<Self>, server: &impl Target) -> bool {
        let step = sender.lock().unwrap().begin();
        let response = step.send(server).await;
        sender.lock().unwrap().take(&step, response)
    }

    async fn send_one(&mut self, server: &impl Target) -> bool {
        let step = self.begin();
        let response = step.send(server).await;
        self.take(&step, response)
    }

    fn begin(&mut self) -> Step {
        let step = self.next.take().unwrap_or_else(|| self.next());
        self.unsure = Some(step.clone());
        step
    }

    /// Takes the response to a step; says whether it was acknowledged.
    fn take(&mut self, step: &Step, (status, response): (StatusCode, Value)) -> bool {
        if let After::Report(of_entry) = step.after {
            // A response without an id is ignored.
            self.next = response[0]["_id"].as_str().map(|id| of_entry.step(id));
            self.unsure = None;
            return true;
        }
        if status.is_server_error() {
            return false;
        }
        // A record that is not checked may be missing, since another sender removed it.
        let is_taken = status == StatusCode::OK || matches!(step.after, After::Nothing);
        assert!(is_taken, "{step:?}: {status} {response}");
        self.note(&step.after);
        self.unsure = None;
        true
    }

    fn note(&mut self, after: &After) {
        match after.clone() {
            After::Records(records) => {
                for (slot, mark) in records {
                    match mark {
                        Some(mark) => drop(self.records.insert(slot, mark)),
                        None => drop(self.records.remove(&slot)),
                    }
                }
            }
            After::Activities(user, actions) => {
                self.activities.entry(user).or_default().extend(actions);
            }
            After::Crowd(times) => self.crowded = times,
            After::Waiting(user, action) => drop(self.waiting.insert(user, action)),
            After::Erased(user) => {
                self.activities.remove(&user);
                self.erased.insert(user);
            }
            After::TimeZone(zone) => self.time_zone = Some(zone),
            After::Token(label) => drop(self.tokens.insert(label)),
            After::Company(company) => self.next = Some(*company),
            After::Report(_) | After::Nothing => {}
        }
    }

    fn new_name(&mut self, of: &str) -> String {
        self.made += 1;
        format!("{}-{of}{}", self.name, self.made)
    }

    fn user(&self) -> String {
        format!("{}-user{}", self.name, self.users)
    }

    fn external_id(&self, slot: usize) -> String {
        format!("{}-{slot}", self.name)
    }

    fn step(&mut self, method: Method, path: String, body: Value, after: After) -> Step {
        let is_post = [Method::POST, Method::PUT].contains(&method) && !path.contains("tokens");
        let may_have_key = is_post && (method == Method::POST || path == "/companies");
        let key = (may_have_key && path != "/tenants").then(|| self.new_name("key"));
        Step { method, path, key, body, after }
    }

    fn next(&mut self) -> Step {
        match self.random.below(100) {
            0..25 => self.change_a_record(),
            25..35 => self.change_many(),
            35..65 => self.track(),
            65..72 => self.track_many(),
            72..75 => self.track_crowd(),
            75..83 => self.wait_and_appear(),
            83..87 => self.erase(),
            87..90 => self.let_back(),
            90..93 => self.set(),
            93..96 => self.issue(),
            _ => self.look_after(),
        }
    }

    fn change_a_record(&mut self) -> Step {
        let slot = self.random.below(SLOTS);
        let path = format!("/companies/extid-{}", self.external_id(slot));
        let mark = self.new_name("mark");
        if !self.records.contains_key(&slot) {
            let id = self.external_id(slot);
            let body =
                json!({"name": mark, "externalId": id, "domains": [format!("{id}.example")]});
            let after = After::Records(vec![(slot, Some(mark))]);
            return self.step(Method::POST, "/companies".to_owned(), body, after);
        }
        if self.random.percent(30) {
            let after = After::Records(vec![(slot, None)]);
            return self.step(Method::DELETE, path, Value::Null, after);
        }
        let after = After::Records(vec![(slot, Some(mark.clone()))]);
        Step { method: Method::PUT, path, key: None, body: json!({"name": mark}), after }
    }

    fn change_many(&mut self) -> Step {
        let mark = self.new_name("mark");
        let item = |slot| json!({"externalId": self.external_id(slot), "name": mark});
        let items: Vec<_> = (0..SLOTS).map(item).collect();
        let after = After::Records((0..SLOTS).map(|slot| (slot, Some(mark.clone()))).collect());
        self.step(Method::PUT, "/companies".to_owned(), json!(items), after)
    }

    fn event(&mut self) -> (Value, String) {
        let action = self.new_name("event");
        let event = json!({
            "externalId": self.user(), "euExtId": self.user(), "companyExternalId": "base", "cId": "base",
            "action": action, "messageId": action,
        });
        (event, action)
    }

    fn track(&mut self) -> Step {
        let (event, action) = self.event();
        let after = After::Activities(self.user(), vec![action]);
        let path = format!("/analytics/{TENANT}");
        Step { method: Method::POST, path, key: None, body: event, after }
    }

    fn track_many(&mut self) -> Step {
        let (events, actions): (Vec<_>, Vec<_>) = (0..EVENTS).map(|_| self.event()).unzip();
        let after = After::Activities(self.user(), actions);
        self.step(Method::POST, format!("/analytics/bulk/{TENANT}"), json!(events), after)
    }

    fn in_crowd(&self, number: usize) -> String {
        format!("{}-crowd{number}", self.name)
    }

    fn gathering(&self, times: usize) -> String {
        format!("{}-gathering{times}", self.name)
    }

    fn track_crowd(&mut self) -> Step {
        let times = self.crowded + 1;
        let event = |number| {
            let (user, action) = (self.in_crowd(number), self.gathering(times));
            json!({"euExtId": user, "cId": "base", "action": action})
        };
        let events: Vec<_> = (0..CROWD).map(event).collect();
        let path = format!("/analytics/bulk/{TENANT}");
        self.step(Method::POST, path, json!(events), After::Crowd(times))
    }

    /// An event that waits for its company, which then appears.
    fn wait_and_appear(&mut self) -> Step {
        let (user, company) = (self.new_name("late"), self.new_name("company"));
        let (mut event, action) = self.event();
        event["externalId"] = json!(user);
        event["companyExternalId"] = json!(company);
        let body = json!({"name": company, "externalId": company});
        let after = After::Waiting(user, action);
        let company = self.step(Method::POST, "/companies".to_owned(), body, after);
        let path = format!("/analytics/{TENANT}");
        let after = After::Company(Box::new(company));
        Step { method: Method::POST, path, key: None, body: event, after }
    }

    fn erase(&mut self) -> Step {
        let user = self.user();
        if !self.activities.contains_key(&user) {
            return self.track();
        }
        self.users += 1;
        let path = format!("/endusers/extid-{user}?erase=true");
        self.step(Method::DELETE, path, Value::Null, After::Erased(user))
    }

    fn let_back(&mut self) -> Step {
        let user = self.erased.first().cloned().unwrap_or_else(|| "nobody".to_owned());
        let path = "/endusers/unsuppress".to_owned();
        let body = json!({"externalId": user});
        Step { method: Method::POST, path, key: None, body, after: After::Nothing }
    }

    fn set(&mut self) -> Step {
        let zone = if self.random.percent(50) { "Europe/Berlin" } else { "Asia/Tokyo" };
        match self.time_zone {
            None => self.track(),
            Some(_) => {
                let body = json!({"timeZone": zone});
                Step {
                    method: Method::PUT,
                    path: "/settings".to_owned(),
                    key: None,
                    body,
                    after: After::TimeZone(zone),
                }
            }
        }
    }

    fn issue(&mut self) -> Step {
        if self.random.percent(30) || self.tokens.len() >= TOKENS {
            let body = json!({"name": self.new_name("tenant")});
            let path = "/tenants".to_owned();
            return Step { method: Method::POST, path, key: None, body, after: After::Nothing };
        }
        let label = self.new_name("token");
        let body = json!({"label": label, "scopes": ["products:read"]});
        self.step(Method::POST, "/tokens".to_owned(), body, After::Token(label))
    }

    /// Cleaning up, and the report.
    fn look_after(&mut self) -> Step {
        let of_entry =
            if self.random.percent(50) { EntryState::Removed } else { EntryState::Replayed };
        let (method, path) = (Method::GET, REPORT.to_owned());
        Step { method, path, key: None, body: Value::Null, after: After::Report(of_entry) }
    }

    /// Checks all that was acknowledged; sends again what may be missing.
    ///
    /// # Panics
    /// When something acknowledged is not there, or something else is.
    pub async fn check(&mut self, server: &impl Target) {
        let unsure = self.unsure.take();
        let before = self.found_records(server).await;
        if before != self.records {
            let mut other = self.records.clone();
            if let Some(Step { after: After::Records(records), .. }) = &unsure {
                for (slot, mark) in records {
                    match mark {
                        Some(mark) => drop(other.insert(*slot, mark.clone())),
                        None => drop(other.remove(slot)),
                    }
                }
            }
            assert_eq!(before, other, "neither what was there before, nor after {unsure:?}");
        }
        self.check_activities(server, unsure.as_ref()).await;
        self.check_crowd(server, unsure.as_ref()).await;
        self.check_settings(server, unsure.as_ref()).await;
        if let Some(step) = unsure {
            self.send_again(server, &step).await;
        }
        assert_eq!(self.found_records(server).await, self.records);
        self.await_what_waits(server).await;
        self.check_activities(server, None).await;
        self.check_crowd(server, None).await;
    }

    async fn send_again(&mut self, server: &impl Target, step: &Step) {
        match &step.after {
            // A tenant or a token would be a second one.
            After::Token(label) => {
                if labels(server).await.contains(label) {
                    self.tokens.insert(label.clone());
                }
            }
            _ if step.path == "/tenants" || step.path.starts_with(REPORT) => {}
            _ => {
                let response = step.send(server).await;
                assert!(self.take(step, response), "{step:?}");
            }
        }
    }

    async fn found_records(&self, server: &impl Target) -> BTreeMap<usize, String> {
        let mut found = BTreeMap::new();
        for slot in 0..SLOTS {
            let path = format!("/companies/extid-{}", self.external_id(slot));
            let (status, record) = server.send(Method::GET, &path, None, &Value::Null).await;
            match status {
                StatusCode::OK => {
                    found.insert(slot, record["name"].as_str().unwrap().to_owned());
                }
                status => assert_eq!(status, StatusCode::NOT_FOUND, "{record}"),
            }
        }
        found
    }

    async fn check_activities(&self, server: &impl Target, unsure: Option<&Step>) {
        for (user, expected) in &self.activities {
            let path = format!("/activities?limit=2000&endUserId=extid-{user}");
            let found = actions(&get(server, &path).await);
            let once: BTreeSet<_> = found.iter().cloned().collect();
            assert_eq!(once.len(), found.len(), "some of {found:?} twice");
            let missing: Vec<_> = expected.difference(&once).collect();
            let is_erased =
                matches!(unsure, Some(Step { after: After::Erased(erased), .. }) if erased == user);
            assert!(missing.is_empty() || is_erased, "{user} lost {missing:?}");
            let more: Vec<_> = once.difference(expected).collect();
            let may_be_more = match unsure {
                Some(Step { after: After::Activities(of, actions), .. }) if of == user => {
                    more.is_empty() || more.len() == actions.len()
                }
                _ => more.is_empty(),
            };
            assert!(may_be_more, "{user} has {more:?} beside, with {unsure:?}");
        }
        for user in &self.erased {
            let path = format!("/endusers/extid-{user}");
            let (status, _) = server.send(Method::GET, &path, None, &Value::Null).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{user} is back");
        }
    }

    /// Each of the crowd was active as often as all others.
    async fn check_crowd(&self, server: &impl Target, unsure: Option<&Step>) {
        let mut may_be = vec![self.crowded];
        if let Some(Step { after: After::Crowd(times), .. }) = unsure {
            may_be.push(*times);
        }
        for user in LOOKED_AT.map(|number| self.in_crowd(number)) {
            let path = format!("/endusers/extid-{user}");
            let (status, record) = server.send(Method::GET, &path, None, &Value::Null).await;
            let times = record["beatsTotal"].as_u64().unwrap_or(0) as usize;
            assert!(may_be.contains(&times), "{user}: {times}, not one of {may_be:?}");
            may_be = vec![times];
            if status == StatusCode::OK {
                let path = format!("/activities?limit=1&endUserId=extid-{user}");
                assert_eq!(actions(&get(server, &path).await), [self.gathering(times)]);
            }
        }
    }

    /// Events whose company has come are replayed without a request, after a crash too.
    async fn await_what_waits(&mut self, server: &impl Target) {
        for (user, action) in std::mem::take(&mut self.waiting) {
            let path = format!("/endusers/extid-{user}");
            let started = Instant::now();
            while server.send(Method::GET, &path, None, &Value::Null).await.0 != StatusCode::OK {
                assert!(started.elapsed() < PATIENCE, "{action} of {user} waits on");
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            self.activities.entry(user).or_default().insert(action);
        }
    }

    async fn check_settings(&mut self, server: &impl Target, unsure: Option<&Step>) {
        if let Some(expected) = self.time_zone {
            let found = get(server, "/settings").await;
            let other = match unsure {
                Some(Step { after: After::TimeZone(zone), .. }) => zone,
                _ => expected,
            };
            let found = found["timeZone"].as_str().unwrap();
            assert!([expected, other].contains(&found), "{found}, not {expected} or {other}");
        }
        let labels = labels(server).await;
        let missing: Vec<_> = self.tokens.difference(&labels).collect();
        assert!(missing.is_empty(), "tokens are lost: {missing:?}");
    }
}

async fn labels(server: &impl Target) -> BTreeSet<String> {
    let tokens = get(server, "/tokens").await;
    let labels = tokens.as_array().unwrap().iter().map(|token| token["label"].as_str().unwrap());
    labels.map(str::to_owned).collect()
}

fn actions(page: &Value) -> Vec<String> {
    let action_of = |activity: &Value| activity["action"].as_str().unwrap().to_owned();
    page.as_array().unwrap().iter().map(action_of).collect()
}

//! A case: one sentence of the contract as data, in `tests/cases/<area>/<sentence>.json`, and the one way to
//! compare what came with what it says. This file is part of two programs: the tests over HTTP, and those of
//! `core` alone (`core/tests/cases`).
//!
//! `given` is a list of steps that come before, and must succeed. In what follows, `{{id:0}}` is replaced by the `_id`
//! in the response to the first of them, or in the first item of a list, `{{token:0}}` by its `token`, `{{tenant}}` by
//! the tenant. A step has a `method` (else GET) and a `path`, `headers`, a `body` or its `text`; `anonymous` leaves the
//! token out, `as` an `operator` takes that one's; `now` sets the clock, which does not move otherwise. `expect.json`
//! names the members that must be there with just these values, with `null` for one that must be absent or null;
//! `expect.list` the same for each item of an array; `expect.headers` values of headers, `null` for one that must be
//! absent; `expect.text` the whole body, `expect.contains` a part of it. `not_on_core` is the reason why `core` alone
//! cannot carry the case out, in an area where it carries out the others.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    thread,
};

use serde_json::Value;

/// The tenant of servers that tests start.
pub const TENANT: &str = "67e55044-10b1-426f-9247-bb680e5fe0c8";

/// What the clock shows until a step sets it.
pub const NOW: &str = "2026-11-20T12:00:00.000Z";

pub struct Case {
    /// `<area>/<sentence>`.
    pub name: String,
    /// What the file says.
    pub says: Value,
}

/// A request, with its placeholders filled.
pub struct Step(Value);

/// The response to a request.
#[derive(Debug, Default)]
pub struct CaseResponse {
    /// HTTP's word for how it went.
    pub status: u16,
    /// The readable headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    pub text: String,
}

/// The folder of the whole project, seen from one of its packages.
pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

impl Case {
    /// Every case, by name.
    pub fn all() -> Vec<Self> {
        let root = project().join("tests/cases");
        let mut cases = Vec::new();
        for area in fs::read_dir(&root).unwrap() {
            for file in fs::read_dir(area.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                let text = fs::read_to_string(&path).unwrap();
                let says = serde_json::from_str(&text)
                    .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                let name = path.with_extension("");
                let name = name.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                cases.push(Self { name, says });
            }
        }
        cases.sort_by(|a, b| a.name.cmp(&b.name));
        cases
    }

    /// What part of the contract it belongs to.
    pub fn area(&self) -> &str {
        self.name.split('/').next().unwrap()
    }

    fn given(&self) -> impl Iterator<Item = &Value> {
        self.says["given"].as_array().into_iter().flatten()
    }

    /// The requests in their order, with the placeholders that a response fills.
    pub fn steps(&self) -> Vec<Step> {
        let requests = self.given().chain([&self.says["request"]]);
        requests.map(|step| Step(fill(step, &[]))).collect()
    }

    /// Carries the case out, step by step, and compares.
    ///
    /// # Errors
    /// What came out otherwise.
    pub fn run(&self, mut carry_out: impl FnMut(&Step) -> CaseResponse) -> Result<(), String> {
        let mut responses = Vec::new();
        for step in self.given() {
            let found = carry_out(&Step(fill(step, &responses)));
            if !(200..300).contains(&found.status) {
                return Err(format!("{}: given: {} {}", self.name, found.status, found.text));
            }
            responses.push(serde_json::from_str(&found.text).unwrap_or_default());
        }
        let found = carry_out(&Step(fill(&self.says["request"], &responses)));
        compare(&found, &fill(&self.says["expect"], &responses)).map_err(|reason| {
            format!("{}: {reason}; found {} {}", self.name, found.status, found.text)
        })
    }
}

/// How many cases run at once: most of their time is waiting for a disk.
const RUNNERS: usize = 8;

/// Runs cases, and panics with all that came out otherwise.
pub fn run_all(cases: &[Case], run: impl Fn(&Case) -> Result<(), String> + Sync) {
    let run = |case: &Case| {
        let panicked = |_| Err(format!("{}: panicked", case.name));
        catch_unwind(AssertUnwindSafe(|| run(case))).unwrap_or_else(panicked)
    };
    let run_part = |part: &[Case]| part.iter().filter_map(|case| run(case).err()).collect();
    let failed: Vec<String> = thread::scope(|scope| {
        let parts = cases.chunks(cases.len().div_ceil(RUNNERS));
        let runners: Vec<_> =
            parts.map(|part| scope.spawn(move || -> Vec<String> { run_part(part) })).collect();
        runners.into_iter().flat_map(|runner| runner.join().unwrap()).collect()
    });
    assert!(failed.is_empty(), "{} of {} cases:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

impl Step {
    /// The method, which is GET by default.
    pub fn method(&self) -> &str {
        self.0["method"].as_str().unwrap_or("GET")
    }

    pub fn path(&self) -> &str {
        self.0["path"].as_str().unwrap()
    }

    /// Names and values; a `body` is JSON if they do not say otherwise.
    pub fn headers(&self) -> Vec<(&str, &str)> {
        let sent = self.0["headers"].as_object().into_iter().flatten();
        let mut headers: Vec<_> =
            sent.map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
        let named = headers.iter().any(|(name, _)| *name == "content-type");
        if !named && !self.0["body"].is_null() {
            headers.push(("content-type", "application/json"));
        }
        headers
    }

    /// The body; empty without one.
    pub fn body(&self) -> String {
        match &self.0["text"] {
            Value::String(text) => text.clone(),
            _ if self.0["body"].is_null() => String::new(),
            _ => self.0["body"].to_string(),
        }
    }

    /// Whether it goes without the token.
    pub fn is_anonymous(&self) -> bool {
        self.0["anonymous"] == true
    }

    /// Whether it is the operator's.
    pub fn is_operators(&self) -> bool {
        self.0["as"] == "operator"
    }

    /// What the clock shows from now on.
    pub fn now(&self) -> Option<&str> {
        self.0["now"].as_str()
    }
}

/// A part of a case with its placeholders filled.
fn fill(value: &Value, responses: &[Value]) -> Value {
    let mut text = value.to_string().replace("{{tenant}}", TENANT);
    for (index, response) in responses.iter().enumerate() {
        let response = response.get(0).unwrap_or(response);
        for (word, member) in [("id", "_id"), ("token", "token")] {
            let filled = response[member].as_str().unwrap_or_default();
            text = text.replace(&format!("{{{{{word}:{index}}}}}"), filled);
        }
    }
    serde_json::from_str(&text).unwrap()
}

fn compare(found: &CaseResponse, expect: &Value) -> Result<(), String> {
    if expect["status"].as_u64() != Some(found.status.into()) {
        return Err(format!("expected {}", expect["status"]));
    }
    for (name, value) in expect["headers"].as_object().into_iter().flatten() {
        let header = found.headers.iter().find(|(known, _)| known == name);
        let header = header.map(|(_, value)| value.as_str());
        if header != value.as_str() {
            return Err(format!("expected {name}: {value}, found {header:?}"));
        }
    }
    let expected = |name: &str| expect[name].as_str();
    if expected("text").is_some_and(|text| found.text != text) {
        return Err(format!("expected {}", expect["text"]));
    }
    if expected("contains").is_some_and(|part| !found.text.contains(part)) {
        return Err(format!("expected {} in it", expect["contains"]));
    }
    if expect.get("json").is_some() {
        let body = serde_json::from_str(&found.text).map_err(|error| error.to_string())?;
        compare_members(&expect["json"], &body)?;
    }
    if let Some(list) = expect["list"].as_array() {
        let body: Vec<Value> =
            serde_json::from_str(&found.text).map_err(|error| error.to_string())?;
        if body.len() != list.len() {
            return Err(format!("expected {} items", list.len()));
        }
        list.iter().zip(&body).try_for_each(|(item, found)| compare_members(item, found))?;
    }
    Ok(())
}

/// The members that are named must be there with just these values.
fn compare_members(expect: &Value, found: &Value) -> Result<(), String> {
    match expect {
        Value::Object(members) if found.is_object() => {
            members.iter().try_for_each(|(name, value)| {
                compare_members(value, &found[name]).map_err(|path| format!("{name}/{path}"))
            })
        }
        Value::Array(items) if found.as_array().is_some_and(|found| found.len() == items.len()) => {
            (0..items.len()).try_for_each(|at| {
                compare_members(&items[at], &found[at]).map_err(|path| format!("{at}/{path}"))
            })
        }
        _ if expect == found => Ok(()),
        _ => Err(format!(": expected {expect}, found {found}")),
    }
}

//! What a browser says of a form while it is filled in is what the API says when it is sent: for every case that writes a
//! record, and for wrong texts in every field. What only a store can say is left to the API.

use std::sync::{Arc, Mutex};

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_core::{
    resources::{REGISTRY, license::LICENSE, settings::SETTINGS},
    schema::{
        ResourceDef,
        form::{self, FormBody},
    },
    value::{Document, Timestamp, ValidationError},
};
use svctrack_tests::{
    browser::{Browser, Kind, Setup},
    case::{Case, CaseResponse, NOW, Step, run_all},
    client::{Client, Response},
    in_process::{InProcess, StillClock},
};
use tokio::runtime::Runtime;

use crate::{cases, pages::token};

/// Codes of what a form does not say: what a store, the names of time zones or a header decide.
const OF_OTHERS: &[&str] =
    &["taken", "suppressed", "unknown_time_zone", "invalid_idempotency_key", "not_applicable"];
/// Properties that the service may have computed. Rules over several properties skip them in a change: only the service
/// knows whether it computes them again.
const MAY_BE_COMPUTED: &[(&str, &str)] = &[("licenses", "toDate"), ("users", "name")];
/// Texts that are no value of some kind, or a value at the end of its range.
const TEXTS: [&str; 34] = [
    "",
    " ",
    "x",
    "-1",
    "0",
    "0.05",
    "1.5",
    "6",
    "1e3",
    "1e16",
    "1e400",
    "1e-400",
    "1,5",
    "true",
    "TRUE",
    "[",
    "[1]",
    "[\"a\"]",
    "{",
    "{}",
    "{\"a\":{\"a\":1,\"a\":2}}",
    "[{\"status\":\"open\"}]",
    "a@",
    "'",
    "a, b",
    "extid-",
    "extid-nobody",
    "6712a0b4c3d2e1f009876543",
    "2026-02-30",
    "2026-01-31",
    "1969-12-31",
    "9999-12-31T23:59:59Z",
    "Europe/Nowhere",
    "\u{1}",
];
/// Forms that a browser checks at a time.
const BATCH: usize = 500;

/// A form as it is sent.
#[derive(Clone, Debug)]
struct Form {
    def: &'static ResourceDef,
    record: Option<Document>,
    sent: Vec<(String, String)>,
}

impl Form {
    /// The form of a record, filled in so that it sends a body.
    fn fill(def: &'static ResourceDef, record: Option<Document>, body: &Document) -> Self {
        let stored = |name: &str| record.as_ref().and_then(|record| record.get(name));
        let fields = def.fields.iter().filter(|field| field.is_sent());
        let sent = fields.map(|field| {
            let value = body.get(field.name).or_else(|| stored(field.name));
            (field.name.to_owned(), form::filled(field, value))
        });
        Self { def, sent: sent.collect(), record }
    }

    /// What the server makes of it.
    fn body(&self) -> FormBody {
        form::read(self.def, &self.sent, &self.record.clone().unwrap_or_default())
    }

    fn path(&self) -> String {
        let id = self.record.as_ref().and_then(|record| record.text("_id"));
        id.map_or_else(|| format!("/{}", self.def.path), |id| format!("/{}/{id}", self.def.path))
    }

    fn arguments(&self) -> (&str, Option<String>, Vec<String>) {
        let pairs = self.sent.iter().flat_map(|(name, text)| [name.clone(), text.clone()]);
        (self.def.path, self.record.as_ref().map(Document::to_text), pairs.collect())
    }

    /// What the module says that a browser loads, run in this process.
    fn says(&self) -> Vec<String> {
        let (resource, record, sent) = self.arguments();
        svctrack_wasm_forms::check(resource, record, sent)
    }

    /// Compares it with what the API says of its body.
    fn compare(&self, response: &Response) -> Result<(), String> {
        let says: Vec<_> = self.says().chunks(2).map(<[String]>::to_vec).collect();
        let errors: Vec<Value> = if response.status.is_success() {
            Vec::new()
        } else {
            match response.json()["errors"].as_array() {
                Some(errors) => errors.clone(),
                // It is about the request, not about the form.
                None => return Ok(()),
            }
        };
        let is_of_others = |issue: &&ValidationError| {
            OF_OTHERS.contains(&issue.code) || issue.code.ends_with("_not_found")
        };
        let is_open = |said: &Vec<String>| {
            self.record.is_some() && MAY_BE_COMPUTED.contains(&(self.def.path, said[0].as_str()))
        };
        let errors = self.body().all_issues(errors.iter().map(issue_of).collect());
        let has_others = errors.iter().any(|issue| is_of_others(&issue));
        let expected: Vec<_> =
            errors.iter().filter(|issue| !is_of_others(issue)).map(said).collect();
        let misses = expected.iter().any(|said| !says.contains(said) && !is_open(said));
        let adds = !has_others && says.len() > expected.len();
        if misses || adds {
            let (path, body) = (self.path(), self.body().document);
            return Err(format!("{path} {body}: the form says {says:?}, but the API {expected:?}"));
        }
        Ok(())
    }
}

/// An issue of the API, at the property that it is about.
fn issue_of(error: &Value) -> ValidationError {
    let [pointer, code, message] =
        ["pointer", "code", "message"].map(|name| error[name].as_str().unwrap().to_owned());
    let member = pointer.trim_start_matches('/').split('/').next().unwrap();
    ValidationError::of_member(member, code.leak(), message)
}

fn said(issue: &ValidationError) -> Vec<String> {
    vec![issue.member().to_owned(), issue.plain_message()]
}

/// The form that a step of a case would be, with the method of its call.
async fn form_of(client: &Client, step: &Step) -> Option<Form> {
    let path = step.path().split('?').next().unwrap().trim_start_matches('/');
    let (name, id) = path.split_once('/').map_or((path, None), |(name, id)| (name, Some(id)));
    let def = REGISTRY.iter().copied().chain([&SETTINGS]).find(|def| def.path == name)?;
    let body = Document::parse(step.body().as_bytes()).ok()?;
    let is_change = id.is_some() || *def == SETTINGS;
    match (step.method(), is_change) {
        ("POST", false) => Some(Form::fill(def, None, &body)),
        ("PUT", true) => {
            let record = client.get(&format!("/{path}")).await;
            let record = record.status.is_success().then(|| record.text().to_owned())?;
            Some(Form::fill(def, Document::parse(record.as_bytes()).ok(), &body))
        }
        _ => None,
    }
}

/// Carries a step out, and compares its issues with those of the form.
async fn carry_out(
    server: &InProcess,
    step: &Step,
    forms: &Mutex<Vec<Form>>,
) -> Result<CaseResponse, String> {
    let form = form_of(&server.client, step).await;
    let found = cases::send(server, step).await;
    let Some(form) = form else { return Ok(found) };
    let is_done = (200..300).contains(&found.status);
    let body = form.body().document;
    if is_done {
        // Where the form sends something else, it may be right or wrong.
        let is_same = Document::parse(step.body().as_bytes()).is_ok_and(|sent| sent == body);
        let says = form.says();
        if is_same && !says.is_empty() {
            return Err(format!("{} is taken by the API: {says:?}", step.body()));
        }
    } else {
        let method: Method = step.method().parse().unwrap();
        let path = step.path().to_owned();
        let body = body.to_text();
        let response = server.client.send(method, &path, &step.headers(), body).await.unwrap();
        form.compare(&response)?;
    }
    forms.lock().unwrap().push(form);
    Ok(found)
}

#[test]
fn every_case_is_reported_by_a_form_as_by_the_api() {
    let writes = |case: &Case| {
        ["POST", "PUT"].contains(&case.says["request"]["method"].as_str().unwrap_or_default())
    };
    let cases: Vec<Case> = Case::all().into_iter().filter(writes).collect();
    let (runtime, forms) = (Runtime::new().unwrap(), Mutex::new(Vec::new()));
    run_all(&cases, |case| {
        let clock = Arc::new(StillClock::at(Timestamp::parse(NOW).unwrap()));
        let server = runtime.block_on(InProcess::with_clock(clock.clone()));
        let mut wrong = None;
        let ran = case.run(|step| {
            if let Some(now) = step.now() {
                clock.set(Timestamp::parse(now).unwrap());
            }
            runtime.block_on(carry_out(&server, step, &forms)).unwrap_or_else(|found| {
                wrong = Some(found);
                CaseResponse::default()
            })
        });
        wrong.map_or(ran, |wrong| Err(format!("{}: {wrong}", case.name)))
    });
    let forms = forms.into_inner().unwrap();
    assert!(forms.len() > 300, "{} forms", forms.len());
    runtime.block_on(check_in_browser(&forms));
}

/// Sends a form to the API, and compares what both say.
async fn compare_with_api(client: &Client, form: &Form) -> Result<(), String> {
    let body = form.body().document;
    let method = if form.record.is_some() { Method::PUT } else { Method::POST };
    let json_type = [("content-type", "application/json")];
    let response = client.send(method, &form.path(), &json_type, body.to_text()).await.unwrap();
    form.compare(&response)
}

#[test]
fn a_wrong_text_in_any_field_is_named_as_the_api_names_it() {
    let runtime = Runtime::new().unwrap();
    let forms = runtime.block_on(async {
        let server = InProcess::start().await;
        server.client.post("/companies", &json!({"name": "Demo", "externalId": "demo"})).await;
        let (mut forms, mut wrong) = (Vec::new(), Vec::new());
        for def in REGISTRY.iter().copied().chain([&SETTINGS]) {
            let path = made(&server.client, def).await;
            for field in def.fields.iter().filter(|field| field.is_sent()) {
                for text in &TEXTS {
                    for form in forms_with(&server.client, def, &path, (field.name, text)).await {
                        wrong.extend(compare_with_api(&server.client, &form).await.err());
                        forms.push(form);
                    }
                }
            }
        }
        let advice = "a field that a rule reads and the service may compute is in MAY_BE_COMPUTED";
        assert!(
            wrong.is_empty(),
            "{} of {}; {advice}:\n{}",
            wrong.len(),
            forms.len(),
            wrong.join("\n")
        );
        forms
    });
    assert!(forms.len() > 5_000, "{} forms", forms.len());
    runtime.block_on(check_in_browser(&forms));
}

/// What a renewal and a loss ask for, and a body that each takes.
const DECISIONS: [(&str, &[&str], &str); 2] = [
    ("renew", &["fromDate", "length", "mrr"], "{}"),
    ("lose", &["lostReason", "toDate"], r#"{"lostReason": "Too dear"}"#),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_term_of_a_renewal_or_a_loss_is_named_as_the_api_names_it() {
    let server = InProcess::start().await;
    let client = &server.client;
    client.post("/companies", &json!({"name": "Demo", "externalId": "demo"})).await;
    let terms = json!({"companyId": "extid-demo", "externalId": "l", "_currency": "EUR", "fixedPeriod": true,
        "fromDate": "2026-01-01", "toDate": "2026-12-31", "mrr": 100});
    client.post("/licenses", &terms).await;
    let mut named = 0;
    for (verb, asked, body) in DECISIONS {
        let path = format!("/licenses/extid-l/{verb}?dryRun=true");
        let decided = client.post(&path, &serde_json::from_str(body).unwrap()).await;
        assert_eq!(decided.status, StatusCode::OK, "{}", decided.text());
        // A loss is filled in from the license as it is.
        let license = client.get("/licenses/extid-l").await;
        let shown = if verb == "renew" { decided } else { license };
        let shown = Document::parse(shown.text().as_bytes()).unwrap();
        for (field, text) in asked.iter().flat_map(|field| TEXTS.map(|text| (*field, text))) {
            let filled = asked.iter().map(|name| {
                let row = LICENSE.field(name).unwrap();
                (name.to_string(), form::filled(row, shown.get(name)))
            });
            let mut sent: Vec<_> = filled.collect();
            sent.iter_mut().filter(|(name, _)| name == field).for_each(|(_, filled)| {
                text.clone_into(filled);
            });
            let form = Form { def: &LICENSE, record: Some(shown.clone()), sent };
            let body = form.body().document;
            let json_type = [("content-type", "application/json")];
            let response =
                client.send(Method::POST, &path, &json_type, body.to_text()).await.unwrap();
            let errors = match response.status.is_success() {
                true => Vec::new(),
                false => {
                    response.json()["errors"].as_array().unwrap().iter().map(issue_of).collect()
                }
            };
            let errors: Vec<_> = form.body().all_issues(errors).iter().map(said).collect();
            let says: Vec<_> = form.says().chunks(2).map(<[String]>::to_vec).collect();
            named += says.len();
            assert!(
                says.iter().all(|said| errors.contains(said)),
                "{verb} {body}: {says:?}, {errors:?}"
            );
        }
    }
    assert!(named > 20, "only {named} mistakes were named");
}

/// The path of the example of a resource, which is created.
async fn made(client: &Client, def: &ResourceDef) -> String {
    if *def == SETTINGS {
        return "/settings".to_owned();
    }
    let example = serde_json::from_str(def.example).unwrap();
    let made = client.post(&format!("/{}", def.path), &example).await;
    assert_eq!(made.status, StatusCode::OK, "{}", made.text());
    format!("/{}/{}", def.path, made.json()["_id"].as_str().unwrap())
}

/// The form of a new record and that of a change, with a text in one of their fields.
async fn forms_with(
    client: &Client,
    def: &'static ResourceDef,
    path: &str,
    (name, text): (&str, &str),
) -> Vec<Form> {
    let record = Document::parse(client.get(path).await.text().as_bytes()).unwrap();
    let mut forms = vec![Form::fill(def, Some(record), &Document::default())];
    if let Ok(example) = Document::parse(def.example.as_bytes()) {
        forms.push(Form::fill(def, None, &example));
    }
    for (field, filled) in forms.iter_mut().flat_map(|form| &mut form.sent) {
        if field == name {
            text.clone_into(filled);
        }
    }
    forms
}

/// Has the module of the build check all forms in a browser, which says what it says here.
async fn check_in_browser(forms: &[Form]) {
    if svctrack_web::IS_BUNDLE_SKIPPED {
        return eprintln!("skipped: this build has no bundle (SVCTRACK_BUNDLE=skip)");
    }
    let server = InProcess::start().await;
    let browser = Browser::start_as(Kind::Chromium, Setup::Usual).await;
    let open = async |path: &str| {
        browser.page.goto(&format!("{}{path}", server.base)).await.unwrap();
    };
    open("/").await;
    browser.fill("#token", &token(&server)).await;
    browser.click("button.main").await;
    browser.wait_for("h1", "Today").await;
    open("/app/records/companies/new").await;
    let load = "const done = arguments[0];
        (async () => {
            window.glue = await import('/forms.js');
            const wasm = fetch('/forms.wasm');
            const { instance } = await WebAssembly.instantiateStreaming(wasm, { glue: window.glue });
            window.glue.start(instance.exports);
            return 'loaded';
        })().then(done, (error) => done(String(error)));";
    assert_eq!(browser.page.execute_async(load, Vec::new()).await.unwrap(), json!("loaded"));
    let check = "return arguments[0].map(([resource, record, sent]) =>
        window.glue.check(resource, record ?? undefined, sent))";
    for batch in forms.chunks(BATCH) {
        let arguments: Vec<Value> = batch.iter().map(|form| json!(form.arguments())).collect();
        let said = browser.page.execute(check, vec![Value::from(arguments)]).await.unwrap();
        for (at, form) in batch.iter().enumerate() {
            // The names of time zones are here alone.
            let says = form.says();
            let says: Vec<_> =
                says.chunks(2).filter(|said| said[0] != "timeZone").flatten().collect();
            assert_eq!(said[at], json!(says), "{} {:?}", form.path(), form.sent);
        }
    }
    browser.close().await;
}

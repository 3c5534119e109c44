//! Cases about records and events, carried out by `core` alone: commands planned over a store in memory, with the same
//! responses as over HTTP. Further parts of HTTP, such as authorization and headers, are tested there.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may panic: that is how they fail"
)]

#[path = "../../../tests/src/case.rs"]
#[allow(dead_code, unreachable_pub, reason = "the file is a public module of another program too")]
mod case;
mod events;

use case::{Case, CaseResponse, NOW, Step, run_all};
use serde_json::{Value, json};
use svctrack_core::{
    plan::{
        self, Change, Ctx, KnownPerson, ParkedWait, Planned, Rejection, RenewalDecision,
        memory::Memory,
        upsert::{self, MAX_ITEMS, UpsertAccess, UpsertOutcome, UpsertSummary},
    },
    resources::{
        self, REGISTRY,
        end_user::END_USER,
        license::LICENSE,
        settings::{SETTINGS, SETTINGS_ID},
        ticket::TICKET,
    },
    schema::{
        BodyOrigin, CheckedBody, FieldDef, ListQuery, Lookup as _, ReadCtx, ReadQuery, ResourceDef,
        UnknownMemberPolicy, UnknownParameter, checked_body,
    },
    tracking::{
        intake::{releases_parked_events, wait_for_creation},
        integration_issues::{self, ReportEntry},
    },
    value::{
        Document, IdSequence, Malformed, ObjectId, RecordRef, Timestamp, ValidationError,
        json_rows::JsonRows,
    },
};

/// Areas of `tests/cases`, besides the resources, whose cases are about records and events, their rules and their
/// lists.
const AREAS: &[&str] = &[
    "activities",
    "bulk",
    "engagement",
    "import",
    "integrationissues",
    "lists",
    "settings",
    "tracking",
];

/// Headers that depend on a command's outcome; all others are HTTP's own.
const HEADERS: &[&str] = &[
    "svctrack-bulk-errors",
    "svctrack-ignored",
    "svctrack-parked",
    "svctrack-rejected",
    "svctrack-rejected-count",
    "svctrack-total",
];

/// Statuses of missing permissions and of missing routes.
const STATUSES_OF_HTTP: &[u64] = &[401, 405];

#[test]
fn every_case_comes_out_on_core_alone() {
    let mut cases: Vec<Case> = Case::all();
    cases.retain(|case| {
        let status = case.says["expect"]["status"].as_u64().unwrap();
        let is_for_core = case.says["not_on_core"].is_null()
            && case.says["request"]["method"] != "OPTIONS"
            && !STATUSES_OF_HTTP.contains(&status);
        let is_of_resource = REGISTRY.iter().any(|def| def.path == case.area());
        (is_of_resource || AREAS.contains(&case.area())) && is_for_core && !reads_a_file(case)
    });
    assert!(cases.len() >= 1_000, "only {} cases were found", cases.len());
    for case in &mut cases {
        if let Some(headers) = case.says["expect"]["headers"].as_object_mut() {
            headers.retain(|name, _| HEADERS.contains(&name.as_str()));
        }
    }
    run_all(&cases, |case| {
        let mut world = World::new();
        case.run(|step| world.carry_out(step))
    });
}

/// Whether an import of a case is about its file rather than its rows: only the server reads tables, checks the file as
/// a whole, and names lines.
fn reads_a_file(case: &Case) -> bool {
    let given = case.says["given"].as_array().into_iter().flatten();
    given.chain([&case.says["request"]]).any(|step| {
        let path = step["path"].as_str().unwrap();
        path.starts_with("/import/")
            && (step["headers"]["content-type"] != "application/x-ndjson" || path.contains('?'))
    }) || case.says["expect"]["status"] == 400 && case.area() == "import"
}

/// One tenant, with its settings and the user that its token acts as.
struct World {
    store: Memory,
    ctx: Ctx,
    /// The report, an entry for each cause.
    entries: Vec<ReportEntry>,
    /// Index entries that parked events may have waited for, and that exist now.
    woken: Vec<ParkedWait>,
}

/// The error: the status over HTTP, and the issues.
struct ErrorResponse(u16, Vec<ValidationError>);

impl From<Rejection> for ErrorResponse {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::NotFound => not_found("not_found"),
            Rejection::Invalid(issues) => Self(422, issues),
            Rejection::Conflict(issues) => Self(409, issues),
            Rejection::Lookup(error) => panic!("{error}"),
        }
    }
}

impl From<Malformed> for ErrorResponse {
    fn from(fault: Malformed) -> Self {
        Self(400, vec![ValidationError::of_body(fault.code, fault.message)])
    }
}

type CallResult = Result<CaseResponse, ErrorResponse>;

impl World {
    fn new() -> Self {
        let ids = IdSequence::new([1, 2, 3, 4, 5]);
        let ctx = Ctx::new(Timestamp::parse(NOW).unwrap(), ids, None);
        let store = Memory::default();
        let mut world = Self { store, ctx, entries: Vec::new(), woken: Vec::new() };
        let changes = plan::settings(&world.store, &mut world.ctx).unwrap();
        world.store.apply(&changes);
        let (user, changes) = plan::token_user(None, "test", &world.store, &mut world.ctx).unwrap();
        world.store.apply(&changes);
        world.ctx.actor = Some(user);
        world
    }

    fn carry_out(&mut self, step: &Step) -> CaseResponse {
        if let Some(now) = step.now() {
            self.ctx.now = Timestamp::parse(now).unwrap();
            self.ctx.settled = self.ctx.now;
        }
        let response = self.respond(step);
        self.settle();
        response.unwrap_or_else(|ErrorResponse(status, issues)| {
            let code = issues.first().map(|issue| issue.code);
            let errors: Vec<Value> = issues
                .iter()
                .map(|issue| json!({"pointer": issue.pointer, "code": issue.code, "message": issue.message}))
                .collect();
            let problem = json!({ "status": status, "code": code, "errors": errors });
            CaseResponse { status, headers: Vec::new(), text: problem.to_string() }
        })
    }

    fn respond(&mut self, step: &Step) -> CallResult {
        let (path, query) = step.path().split_once('?').unwrap_or((step.path(), ""));
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        if let Some(response) = self.respond_about_events(&parts, query, step) {
            return response;
        }
        let (name, id) = (parts[0], parts.get(1));
        if name == "import" {
            return self.import(parts[1], step);
        }
        let settings = RecordRef::Id(SETTINGS_ID);
        match step.method() {
            "GET" if name == SETTINGS.path => return self.read(&SETTINGS, &settings),
            _ if name == SETTINGS.path => return self.update(&SETTINGS, &settings, step),
            _ => {}
        }
        let def = REGISTRY.iter().copied().find(|def| def.path == name);
        let def = def.ok_or_else(|| not_found("route_not_found"))?;
        let invalid_id = || ErrorResponse(400, vec![ValidationError::of_body("invalid_id", "")]);
        let reference = id.map(|id| RecordRef::parse(id).ok_or_else(invalid_id)).transpose()?;
        match (step.method(), reference) {
            ("POST", None) => self.create(def, step),
            ("PUT", None) => self.upsert(def, step),
            ("GET", None) => self.list(def, query, step),
            ("GET", Some(reference)) if parts.len() == 2 => self.read(def, &reference),
            ("POST", Some(reference)) if parts.ends_with(&["renew"]) => {
                self.decide(RenewalDecision::Renew, &reference, step)
            }
            ("POST", Some(reference)) if parts.ends_with(&["lose"]) => {
                self.decide(RenewalDecision::Lose, &reference, step)
            }
            ("PUT" | "PATCH", Some(reference)) => self.update(def, &reference, step),
            ("DELETE", Some(reference)) if query == "erase=true" => self.erase(&reference),
            ("DELETE", Some(reference)) => self.delete(def, &reference),
            (method, _) => panic!("{method} {path} is not for core"),
        }
    }

    fn create(&mut self, def: &'static ResourceDef, step: &Step) -> CallResult {
        let sent = Document::parse(step.body().as_bytes())?;
        let body =
            CheckedBody { handling: handling(step), ..checked_body::check_create(def, &sent) };
        let planned = plan::create(def, body, &self.store, &mut self.ctx)?;
        Ok(self.apply(def, planned))
    }

    fn read(&self, def: &'static ResourceDef, reference: &RecordRef) -> CallResult {
        let id = self.locate(def, reference)?;
        Ok(done(self.shown(def, &self.store.record(def, id).unwrap().unwrap()).to_text()))
    }

    fn update(
        &mut self,
        def: &'static ResourceDef,
        reference: &RecordRef,
        step: &Step,
    ) -> CallResult {
        let sent = Document::parse(step.body().as_bytes())?;
        let body =
            CheckedBody { handling: handling(step), ..checked_body::check_update(def, &sent) };
        let id = self.locate(def, reference)?;
        let planned = plan::update(def, id, body, &self.store, &mut self.ctx)?;
        Ok(self.apply(def, planned))
    }

    fn decide(
        &mut self,
        decision: RenewalDecision,
        reference: &RecordRef,
        step: &Step,
    ) -> CallResult {
        let sent = Document::parse(step.body().as_bytes())?;
        let body = checked_body::check_update(&LICENSE, &sent);
        let id = self.locate(&LICENSE, reference)?;
        let planned = decision.plan(id, body, &self.store, &mut self.ctx)?;
        Ok(self.apply(&LICENSE, planned))
    }

    fn delete(&mut self, def: &'static ResourceDef, reference: &RecordRef) -> CallResult {
        let id = match self.locate(def, reference) {
            Err(_) if !def.delete_returns_record => return Ok(deleted(0)),
            found => found?,
        };
        let shown = self.read(def, reference)?;
        let changes = plan::delete(def, id, &self.store)?;
        self.commit(&changes);
        Ok(if def.delete_returns_record { shown } else { deleted(1) })
    }

    /// Erasure of a person, as far as the rules read it.
    fn erase(&mut self, reference: &RecordRef) -> CallResult {
        let Ok(id) = self.locate(&END_USER, reference) else { return Ok(deleted(0)) };
        let user = self.store.record(&END_USER, id).unwrap().unwrap();
        let person = KnownPerson::from_record(id, &user);
        self.store.apply(&plan::delete(&END_USER, id, &self.store)?);
        person.keys.iter().for_each(|(row, key)| self.store.suppress(row, key));
        self.store.activities.retain(|activity| activity.end_user_id != id);
        let tickets: Vec<Document> = self.store.records(&TICKET).cloned().collect();
        for ticket in tickets.iter().filter(|ticket| person.is_on_ticket(*ticket)) {
            let id = ObjectId::parse(&ticket.text("_id").unwrap()).unwrap();
            self.store.apply(&plan::clear_ticket(id, ticket, &self.store, &self.ctx)?);
        }
        Ok(deleted(1))
    }

    fn upsert(&mut self, def: &'static ResourceDef, step: &Step) -> CallResult {
        let body = step.body();
        let items = match Document::parse(body.as_bytes()) {
            Ok(single) if def.bulk_returns_counts_only => vec![Ok(single)],
            _ => JsonRows::check(body.as_bytes())?.map(|row| row.members).collect(),
        };
        assert!(items.len() <= MAX_ITEMS, "how many items a request has is for HTTP");
        let access = UpsertAccess { create: true, update: true };
        let mut summary = UpsertSummary::default();
        for (index, item) in items.iter().enumerate() {
            let upserted = upsert::upsert(
                def,
                index,
                item,
                access,
                handling(step),
                &self.store,
                &mut self.ctx,
            )
            .unwrap();
            self.commit(&upserted.changes);
            if let (true, UpsertOutcome::Failed(_, element)) =
                (def.bulk_returns_counts_only, &upserted.outcome)
            {
                self.store
                    .findings
                    .push(integration_issues::rejected_ticket(element, self.ctx.now));
            }
            summary.add(upserted.outcome);
            summary.ignore(upserted.ignored);
        }
        let (ignored, errors) = (summary.ignored().to_vec(), summary.errors());
        let mut found = done(summary.into_response(def));
        found.name_ignored(&ignored);
        found.headers.push(("svctrack-bulk-errors".to_owned(), errors.to_string()));
        Ok(found)
    }

    /// Imports the rows of a file with one in each line.
    fn import(&mut self, path: &str, step: &Step) -> CallResult {
        let def = REGISTRY.iter().copied().find(|def| def.path == path).unwrap();
        let access = UpsertAccess { create: true, update: true };
        let [mut created, mut updated, mut unchanged] = [0; 3];
        let mut refusals = Vec::new();
        self.ctx.origin = BodyOrigin::Row;
        for (line, text) in (1..).zip(step.body().lines()) {
            let item = Document::parse(text.as_bytes());
            let (store, ctx) = (&self.store, &mut self.ctx);
            let upserted = upsert::upsert(def, 0, &item, access, handling(step), store, ctx);
            let upserted = upserted.unwrap();
            assert!(upserted.ignored.is_empty(), "an import names columns, not members of rows");
            self.commit(&upserted.changes);
            match upserted.outcome {
                UpsertOutcome::Created(..) => created += 1,
                UpsertOutcome::Updated(_) => updated += 1,
                UpsertOutcome::Unchanged(_) => unchanged += 1,
                UpsertOutcome::Failed(_, element) => {
                    let [code, message] = ["code", "message"].map(|name| element.text(name));
                    refusals.push(json!({ "line": line, "code": code, "message": message }));
                }
                UpsertOutcome::Dropped => panic!("{:?}", upserted.outcome),
            }
        }
        self.ctx.origin = BodyOrigin::Request;
        let counts = json!({ "created": created, "updated": updated, "unchanged": unchanged, "refused": refusals.len(), "refusals": refusals });
        Ok(done(counts.to_string()))
    }

    fn list(&self, def: &'static ResourceDef, query: &str, step: &Step) -> CallResult {
        let (mut query, ignored) = known(ListQuery::parse(def, &pairs(query)), step)?;
        resources::resolve(&mut query.filters, def, &self.store).unwrap();
        let ctx = ReadCtx::new(self.ctx.now, &self.store);
        let select = query.select.clone().unwrap_or_default();
        let wanted = |field: &FieldDef| {
            !field.is_on_request() || select.iter().any(|name| name == field.name)
        };
        let shown = |stored| plan::response_fields(def, stored, &wanted, &ctx).unwrap();
        let records = self.store.records(def).map(shown);
        let listed = query.page(def, records.collect());
        Ok(page(&listed.records, query.count.then_some(listed.total), &ignored))
    }

    fn locate(&self, def: &ResourceDef, reference: &RecordRef) -> Result<ObjectId, Rejection> {
        self.store.locate(def, reference).unwrap().ok_or(Rejection::NotFound)
    }

    fn apply(&mut self, def: &'static ResourceDef, planned: Planned) -> CaseResponse {
        self.commit(&planned.changes);
        let mut found = done(self.shown(def, &planned.document).to_text());
        found.name_ignored(&planned.ignored);
        found
    }

    /// Applies changes, and notes those that release parked events.
    fn commit(&mut self, changes: &[Change]) {
        for change in changes {
            let (def, added, removed) = match change {
                Change::Put { def, document, added, removed, .. } => {
                    let finding =
                        integration_issues::ticket_without_company(def, document, self.ctx.now);
                    self.store.findings.extend(finding);
                    (def, &**added, removed)
                }
                Change::Delete { def, removed, .. } => (def, &[][..], removed),
                Change::Append(_) => continue,
            };
            if *def == &SETTINGS {
                self.woken.push(wait_for_creation());
            }
            for entry in added.iter().chain(removed).filter(|_| releases_parked_events(def)) {
                let (row, key) = (entry.row.to_owned(), entry.key.clone());
                self.woken.push(ParkedWait { resource: def.code, row, key });
            }
        }
        self.store.apply(changes);
    }

    fn shown(&self, def: &ResourceDef, stored: &Document) -> Document {
        plan::to_response(def, stored, &ReadCtx::new(self.ctx.now, &self.store)).unwrap()
    }
}

fn handling(step: &Step) -> UnknownMemberPolicy {
    match step.headers().contains(&("prefer", "handling=strict")) {
        true => UnknownMemberPolicy::Strict,
        false => UnknownMemberPolicy::Lenient,
    }
}

fn pairs(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn not_found(code: &'static str) -> ErrorResponse {
    ErrorResponse(404, vec![ValidationError::of_body(code, "")])
}

/// A query without unknown parameters, unless these are allowed, and the unknown ones.
fn known<T>(
    read: Result<ReadQuery<T>, Vec<ValidationError>>,
    step: &Step,
) -> Result<(T, Vec<String>), ErrorResponse> {
    let read = read.map_err(|issues| ErrorResponse(400, issues))?;
    let is_lenient = step.headers().contains(&("prefer", "handling=lenient"));
    if !is_lenient && !read.unknown.is_empty() {
        return Err(ErrorResponse(400, read.unknown.iter().map(UnknownParameter::issue).collect()));
    }
    let unknown = read.unknown.into_iter().map(|unknown| unknown.name);
    Ok((read.query, unknown.chain(read.ignored).collect()))
}

/// A page of a list, the total number, where it is requested, and the unknown parameters.
fn page(records: &[Document], total: Option<usize>, ignored: &[String]) -> CaseResponse {
    let texts: Vec<String> = records.iter().map(Document::to_text).collect();
    let mut found = done(format!("[{}]", texts.join(",")));
    found.name("svctrack-total", total.map(|total| total.to_string()));
    found.name_ignored(ignored);
    found
}

impl CaseResponse {
    fn name(&mut self, header: &str, value: Option<String>) {
        self.headers.extend(value.map(|value| (header.to_owned(), value)));
    }

    fn name_ignored(&mut self, names: &[String]) {
        let names: Vec<String> = names.iter().map(|name| name.replace(' ', "%20")).collect();
        self.name("svctrack-ignored", (!names.is_empty()).then(|| names.join(", ")));
    }
}

fn done(text: String) -> CaseResponse {
    CaseResponse { status: 200, headers: Vec::new(), text }
}

fn deleted(count: u8) -> CaseResponse {
    done(format!(r#"{{"n":{count},"ok":1,"deletedCount":{count}}}"#))
}

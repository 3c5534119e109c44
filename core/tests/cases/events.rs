//! Events on their routes, and the responses with them and the report about them: the part of a store around the rules,
//! as plainly as possible.

use svctrack_core::{
    plan::{self, Activity, AppendedRow, Change, Finding, Route},
    resources::{
        self,
        company::COMPANY,
        end_user::{self, END_USER},
    },
    schema::{Lookup as _, UnknownMemberPolicy, list::selected},
    tracking::{
        Event, Unreadable, activity,
        activity_query::{ActivityOrder, ActivityQuery},
        bulk, group,
        intake::{self, ReceivedEvent, TrackingSettings, wait_for_entry},
        integration_issues::{self, IntegrationIssueQuery, ReportEntry},
        list_fields::{ACTIVITY, ENTRY},
        pipeline::{self, ReadCall, SDK_CALLS},
        realtime,
        unknown_members::{self, UnreadMembers},
    },
    value::{
        Document, Malformed, ObjectId, RecordRef, ValidationError,
        json_rows::{Envelope, JsonRow, JsonRows},
    },
};

use super::{
    CallResult, ErrorResponse, World,
    case::{CaseResponse, Step, TENANT},
    deleted, done, handling, known, not_found, page, pairs,
};

/// Maximum number of indexes that are named.
const MAX_REJECTED: usize = 100;

impl From<Unreadable> for ErrorResponse {
    fn from(problem: Unreadable) -> Self {
        match problem {
            Unreadable::Malformed(fault) => fault.into(),
            Unreadable::Invalid(issues) => Self(422, issues),
        }
    }
}

/// Contents of one request.
struct Call {
    route: Route,
    events: Vec<Event>,
    findings: Vec<Finding>,
    unread: UnreadMembers,
    /// Rows with a `count` that counts as 1.
    other_counts: u64,
    rejected: Vec<usize>,
}

impl World {
    /// Response of a route for events; none where the path is that of another one.
    pub(super) fn respond_about_events(
        &mut self,
        path: &[&str],
        query: &str,
        step: &Step,
    ) -> Option<CallResult> {
        let ok = || "OK".to_owned();
        let success = || r#"{"success":true}"#.to_owned();
        Some(match (step.method(), path) {
            ("POST", ["analytics", "bulk", TENANT]) => self.take_rows(Route::Bulk, step),
            ("POST", ["analytics", TENANT]) => self.take_event(step),
            ("POST", ["analytics", ..]) => Err(not_found("tenant_not_found")),
            ("POST", ["dock", name, ..]) if !pipeline::is_pipeline_name(name) => {
                Err(not_found("route_not_found"))
            }
            ("POST", ["dock", _]) => self.take_calls(None, step, ok()),
            ("POST", ["dock", _, "v1", call] | ["v1", call]) => {
                self.take_calls(Some(*call), step, success())
            }
            ("GET", ["activities"]) => self.list_activities(query, step),
            ("GET", ["integrationissues"]) => self.list_entries(query, step),
            ("DELETE", ["integrationissues", id]) => self.delete_entry(id),
            ("POST", ["integrationissues", id, "replay"]) => self.replay_entry(id),
            ("POST", ["endusers", "unsuppress"]) => self.unsuppress(step),
            _ => return None,
        })
    }

    fn take_event(&mut self, step: &Step) -> CallResult {
        let taken = realtime::read(step.body().as_bytes(), self.ctx.now)?;
        self.take_one(Route::Realtime, ReadCall::Taken(taken), step, "OK".to_owned())
    }

    fn take_calls(&mut self, named: Option<&str>, step: &Step, text: String) -> CallResult {
        let body = step.body();
        let expected = |what: &str| {
            let message = format!("expected {what}");
            ErrorResponse::from(Malformed { code: "call_expected", message, offset: 0 })
        };
        if body.trim_start().starts_with('[') {
            return match named {
                None => self.take_rows(Route::Pipeline, step),
                Some("batch") => Err(expected("an object with `batch`, an array of calls")),
                Some(_) => Err(expected("one call, an object without `batch`")),
            };
        }
        let envelope = Envelope::check(body.as_bytes(), &["context"])?;
        let one = match named {
            None | Some("batch") if envelope.has_rows() => {
                let context = envelope.members.value("context");
                let context = context.and_then(|context| context.to_document());
                let context = context.unwrap_or_default();
                let unread = pipeline::unread_of_envelope(&envelope);
                if handling(step) == UnknownMemberPolicy::Strict && !unread.is_empty() {
                    return Err(ErrorResponse(
                        422,
                        unknown_members::rejected(Route::Pipeline, &unread),
                    ));
                }
                let rows = envelope.rows(body.as_bytes());
                let read = |row| pipeline::read_row(row, &context);
                let mut call = self.read_rows(Route::Pipeline, rows, read, step);
                call.unread.add(unread);
                return self.take(call, text);
            }
            None => None,
            Some(call) => match SDK_CALLS.into_iter().find(|known| *known == call) {
                Some(call) if !envelope.has_rows() => Some(call),
                Some(_) => return Err(expected("one call, an object without `batch`")),
                None if call == "batch" => {
                    return Err(expected("an object with `batch`, an array of calls"));
                }
                None => return Err(not_found("route_not_found")),
            },
        };
        let read = pipeline::read(body.as_bytes(), one, &Document::default())?;
        self.take_one(Route::Pipeline, read, step, text)
    }

    fn take_one(&mut self, route: Route, read: ReadCall, step: &Step, text: String) -> CallResult {
        let mut call = Call::on_route(route);
        match read {
            ReadCall::Taken(taken) => {
                if handling(step) == UnknownMemberPolicy::Strict && !taken.unread.is_empty() {
                    return Err(ErrorResponse(
                        422,
                        unknown_members::rejected(route, &taken.unread),
                    ));
                }
                call.unread.add(taken.unread);
                call.events.push(taken.event);
            }
            ReadCall::Ignored(ignored) => {
                call.findings.push(integration_issues::ignored(route, &ignored, self.ctx.now));
            }
        }
        self.take(call, text)
    }

    fn take_rows(&mut self, route: Route, step: &Step) -> CallResult {
        let body = step.body();
        let rows = JsonRows::check(body.as_bytes())?;
        let call = match route {
            Route::Bulk => {
                let read = |row| bulk::read(row).map(ReadCall::Taken);
                self.read_rows(route, rows, read, step)
            }
            _ => {
                let read = |row| pipeline::read_row(row, &Document::default());
                self.read_rows(route, rows, read, step)
            }
        };
        self.take(call, "OK".to_owned())
    }

    fn read_rows(
        &self,
        route: Route,
        rows: JsonRows<'_>,
        read: impl Fn(JsonRow) -> Result<ReadCall, Unreadable>,
        step: &Step,
    ) -> Call {
        let mut call = Call::on_route(route);
        let read = |row| match read(row)? {
            ReadCall::Taken(taken)
                if handling(step) == UnknownMemberPolicy::Strict && !taken.unread.is_empty() =>
            {
                Err(Unreadable::Invalid(unknown_members::rejected(route, &taken.unread)))
            }
            read => Ok(read),
        };
        for (index, row) in rows.enumerate() {
            match read(row) {
                Ok(ReadCall::Taken(taken)) => {
                    call.other_counts += u64::from(taken.has_other_count);
                    call.unread.add(taken.unread);
                    call.events.push(taken.event);
                }
                Ok(ReadCall::Ignored(ignored)) => {
                    call.findings.push(integration_issues::ignored(route, &ignored, self.ctx.now));
                }
                Err(problem) => {
                    let issue = problem.into_issue();
                    call.rejected.push(index);
                    call.findings.push(integration_issues::rejected(
                        route,
                        index,
                        &issue,
                        self.ctx.now,
                    ));
                }
            }
        }
        call
    }

    /// Stores the events of a request, each after the one before.
    fn take(&mut self, call: Call, text: String) -> CallResult {
        let settings = TrackingSettings::of_tenant(&self.store).unwrap();
        let (mut parked, mut ignored) = (Vec::new(), Vec::new());
        let Call { route, events, mut findings, unread, other_counts, rejected } = call;
        if other_counts > 0 {
            findings.push(integration_issues::count_out_of_range(
                route,
                other_counts,
                self.ctx.now,
            ));
        }
        for event in &events {
            let sent = ReceivedEvent { event, received_at: self.ctx.now, route, settings };
            let changes = group::plan(&sent, &self.store, &mut self.ctx).unwrap();
            self.commit(&changes);
            for name in group::ignored(&changes) {
                if !ignored.contains(&name) {
                    ignored.push(name);
                }
            }
            let changes = intake::plan(&sent, &self.store, &mut self.ctx).unwrap();
            for change in &changes {
                if let Change::Append(AppendedRow::Parked(event)) = change
                    && !parked.contains(&event.code)
                {
                    parked.push(event.code.clone());
                }
            }
            self.commit(&changes);
        }
        findings.extend(unread.findings(route, self.ctx.now));
        self.store.findings.extend(findings);
        let mut found = done(text);
        let names = unread.names().chain(ignored.iter().copied());
        found.name_ignored(&names.map(str::to_owned).collect::<Vec<_>>());
        found.name("svctrack-parked", (!parked.is_empty()).then(|| parked.join(", ")));
        if !rejected.is_empty() {
            let mut indexes: Vec<String> =
                rejected.iter().take(MAX_REJECTED).map(usize::to_string).collect();
            indexes.extend((rejected.len() > MAX_REJECTED).then(|| "...".to_owned()));
            found.name("svctrack-rejected-count", Some(rejected.len().to_string()));
            found.name("svctrack-rejected", Some(indexes.join(",")));
        }
        Ok(found)
    }

    /// Work of a store after each command: parked events that wait for a new record are processed, and findings are
    /// folded into the report.
    pub(super) fn settle(&mut self) {
        while !self.woken.is_empty() {
            let woken = std::mem::take(&mut self.woken);
            self.replay(|event| event.waits.iter().any(|wait| woken.contains(wait)));
        }
        let mut findings = std::mem::take(&mut self.store.findings);
        findings.sort_by(|a, b| (a.code, a.route, &a.cause).cmp(&(b.code, b.route, &b.cause)));
        for finding in findings {
            let is_its = |entry: &&mut ReportEntry| {
                (entry.route, &*entry.code, &*entry.cause)
                    == (finding.route, finding.code, &*finding.cause)
            };
            match self.entries.iter_mut().find(is_its) {
                Some(entry) => entry.fold(&finding, Vec::new()),
                None => {
                    let id = self.ctx.ids.next(self.ctx.now).unwrap();
                    self.entries.push(ReportEntry::from_finding(&finding, id, Vec::new()));
                }
            }
        }
    }

    /// Plans parked events that `may` be processed again, and returns how many were processed.
    fn replay(&mut self, may: impl Fn(&plan::ParkedEvent) -> bool) -> usize {
        let settings = TrackingSettings::of_tenant(&self.store).unwrap();
        let mut gone_on = 0;
        for parked in std::mem::take(&mut self.store.parked) {
            if !may(&parked) {
                self.store.parked.push(parked);
                continue;
            }
            let event: Event = serde_json::from_str(&parked.event).unwrap();
            let (received_at, route) = (parked.received_at, parked.route);
            let sent = ReceivedEvent { event: &event, received_at, route, settings };
            let changes = group::replay(&sent, &self.store, &mut self.ctx).unwrap();
            self.commit(&changes);
            match intake::replay(&sent, &self.store, &mut self.ctx).unwrap() {
                Some(changes) => {
                    self.commit(&changes);
                    gone_on += 1;
                }
                None => self.store.parked.push(parked),
            }
        }
        gone_on
    }

    fn list_activities(&self, query: &str, step: &Step) -> CallResult {
        let (mut query, ignored) = known(ActivityQuery::parse(&pairs(query)), step)?;
        resources::resolve(&mut query.page.filters, &ACTIVITY, &self.store).unwrap();
        // Activities outlive their user and company.
        let locate = |def, reference: &RecordRef| match reference {
            RecordRef::Id(id) => Some(*id),
            other => self.store.locate(def, other).unwrap(),
        };
        let companies = query.companies.as_ref().map(|references| {
            let ids = references.iter().filter_map(|reference| locate(&COMPANY, reference));
            ids.collect::<Vec<_>>()
        });
        let end_user = query.end_user.as_ref().map(|reference| locate(&END_USER, reference));
        if end_user == Some(None) {
            return Ok(page(&[], query.page.count.then_some(0), &ignored));
        }
        let shown = |activity: &Activity| {
            let user = self.store.record(&END_USER, activity.end_user_id).unwrap();
            let company =
                activity.company_id.and_then(|id| self.store.record(&COMPANY, id).unwrap());
            activity::to_response(activity, user.as_ref(), company.as_ref())
        };
        let is_asked_for = |activity: &&Activity| {
            query.matches(activity, companies.as_deref(), end_user.flatten())
                && query.page.filters.iter().all(|filter| filter.matches(&shown(activity)))
        };
        let mut found: Vec<&Activity> = self.store.activities.iter().collect();
        found.sort_by_key(|activity| match query.order {
            ActivityOrder::NewestStored => (None, activity.id),
            ActivityOrder::NewestDate => (Some(activity.date), activity.id),
        });
        found.reverse();
        let first = match query.page.after.map(|after| found.iter().position(|one| one.id == after))
        {
            None => 0,
            Some(Some(place)) => place + 1,
            Some(None) => {
                let issue = ValidationError::of_member("after", "activity_not_found", "");
                return Err(ErrorResponse(422, vec![issue]));
            }
        };
        let total = found.iter().copied().filter(is_asked_for).count();
        let asked_for =
            found.iter().skip(first).copied().filter(is_asked_for).take(query.page.limit);
        let responses = asked_for.map(|one| selected(query.page.select.as_deref(), shown(one)));
        Ok(page(&responses.collect::<Vec<_>>(), query.page.count.then_some(total), &ignored))
    }

    fn list_entries(&self, query: &str, step: &Step) -> CallResult {
        let (mut query, ignored) = known(IntegrationIssueQuery::parse(&pairs(query)), step)?;
        resources::resolve(&mut query.page.filters, &ENTRY, &self.store).unwrap();
        let entries = self.entries.iter().rev();
        let found: Vec<&ReportEntry> =
            entries.filter(|entry| query.matches(entry, self.parked_of(entry))).collect();
        let of_page =
            found.iter().filter(|entry| query.page.after.is_none_or(|after| entry.id < after));
        let of_page = of_page.take(query.page.limit);
        let responses = of_page.map(|entry| entry.to_response_with(self.parked_of(entry)));
        let responses = responses.map(|response| selected(query.page.select.as_deref(), response));
        Ok(page(&responses.collect::<Vec<_>>(), query.page.count.then_some(found.len()), &ignored))
    }

    fn parked_of(&self, entry: &ReportEntry) -> u64 {
        let wait = wait_for_entry(entry.route, &entry.code, &entry.cause);
        self.store.parked.iter().filter(|event| event.waits.contains(&wait)).count() as u64
    }

    fn delete_entry(&mut self, id: &str) -> CallResult {
        let before = self.entries.len();
        let id = id_of_entry(id)?;
        self.entries.retain(|entry| entry.id != id);
        Ok(deleted(u8::from(self.entries.len() < before)))
    }

    fn replay_entry(&mut self, id: &str) -> CallResult {
        let id = id_of_entry(id)?;
        let entry = self.entries.iter().find(|entry| entry.id == id);
        let entry = entry.ok_or_else(|| not_found("not_found"))?;
        let wait = wait_for_entry(entry.route, &entry.code, &entry.cause);
        let replayed = self.replay(|event| event.waits.contains(&wait));
        Ok(done(format!(r#"{{"replayed":{replayed}}}"#)))
    }

    fn unsuppress(&mut self, step: &Step) -> CallResult {
        let sent = Document::parse(step.body().as_bytes())?;
        let (keys, ignored) =
            end_user::read_keys(&sent).map_err(|issues| ErrorResponse(422, issues))?;
        let known = keys.iter().filter(|(row, key)| self.store.unsuppress(row, key)).count();
        let mut found: CaseResponse = done(format!(r#"{{"unsuppressed":{known}}}"#));
        found.name_ignored(&ignored);
        Ok(found)
    }
}

impl Call {
    fn on_route(route: Route) -> Self {
        let (events, findings, rejected) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            route,
            events,
            findings,
            unread: UnreadMembers::default(),
            other_counts: 0,
            rejected,
        }
    }
}

fn id_of_entry(text: &str) -> Result<ObjectId, ErrorResponse> {
    ObjectId::parse(text)
        .ok_or_else(|| ErrorResponse(400, vec![ValidationError::of_body("invalid_id", "")]))
}

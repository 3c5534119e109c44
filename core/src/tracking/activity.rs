//! Activities (R38): the query of a list, and the form in which they are returned.

use std::borrow::Cow;

use super::{
    event::{Event, name},
    list_fields::ACTIVITY,
};
use crate::{
    plan::{Activity, ParkedEvent},
    resources::{company, end_user, settings::activity_retention_days},
    schema::{
        LogPage,
        filter::{Comparison, Condition, Filter, Operand, split_operator, unreadable},
        list::{COMPANY_NAMES, parse_time},
        parameter_reader::{ParameterReader, ReadQuery},
    },
    value::{
        Document, Json, Number, ObjectId, RecordRef, Timestamp, ValidationError,
        member::SelectedMembers, quoted::quoted_list, time::DAY_MS,
    },
};

#[doc(inline)]
pub use super::list_fields::LIST;

/// Parameters of a list of activities that are not properties, besides those of every log.
const OWN_PARAMETERS: [&str; 5] = ["from", "to", "sort", "cId", "c"];

/// In which order activities are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ActivityOrder {
    /// Newest stored first, `-_id`.
    #[default]
    NewestStored,
    /// Latest date first, `-date`: of one user or one company only, since all of their activities are read.
    NewestDate,
}

impl ActivityOrder {
    /// Names of the orders, as `sort` has them.
    pub const NAMES: [&'static str; 2] = ["-_id", "-date"];

    fn parse(name: &str, value: &str) -> Result<Self, ValidationError> {
        match value {
            "-_id" => Ok(Self::NewestStored),
            "-date" => Ok(Self::NewestDate),
            _ => Err(unreadable(name, &format!("one of {}", quoted_list(&Self::NAMES)), value)),
        }
    }
}

/// Page, order and filters of a list of activities.
#[derive(Clone, Debug)]
pub struct ActivityQuery {
    /// Only activities of these companies; no filter when not given.
    pub companies: Option<Vec<RecordRef>>,
    /// Only activities of this end user.
    pub end_user: Option<RecordRef>,
    /// Only activities with exactly one of these actions.
    pub actions: Option<Vec<String>>,
    /// Earliest date of an activity, inclusive.
    pub from: Option<Timestamp>,
    /// Latest date of an activity, exclusive.
    pub to: Option<Timestamp>,
    /// Only passive activities, or only others.
    pub passive: Option<bool>,
    /// The order of the page.
    pub order: ActivityOrder,
    /// Page of these activities, and their properties.
    pub page: LogPage,
}

impl ActivityQuery {
    /// All of a user.
    pub fn of_user(user: ObjectId, limit: usize, after: Option<ObjectId>) -> Self {
        let page = LogPage { limit, after, ..LogPage::first(&ACTIVITY) };
        Self { end_user: Some(RecordRef::Id(user)), page, ..Self::all() }
    }

    fn all() -> Self {
        Self {
            companies: None,
            end_user: None,
            actions: None,
            from: None,
            to: None,
            passive: None,
            order: ActivityOrder::default(),
            page: LogPage::first(&ACTIVITY),
        }
    }

    /// Reads the query of a request.
    ///
    /// # Errors
    /// Every parameter that cannot be read.
    pub fn parse(pairs: &[(String, String)]) -> Result<ReadQuery<Self>, Vec<ValidationError>> {
        let mut query = Self::all();
        let mut reader = ParameterReader::default();
        for (name, value) in pairs {
            query.read(&long_name(name), value, &mut reader);
        }
        query.take_filters();
        query.narrow_by_dates();
        if query.order == ActivityOrder::NewestDate && !query.is_of_one() {
            let message = "`sort=-date` needs an `endUserId`, or one `companyId`";
            reader.issues.push(ValidationError::of_member("sort", "invalid_parameter", message));
        }
        reader.finish(query)
    }

    fn read(&mut self, name: &str, value: &str, reader: &mut ParameterReader) {
        match name {
            "from" => reader.set(name, &mut self.from, parse_time(name, value).map(Some)),
            "to" => reader.set(name, &mut self.to, parse_time(name, value).map(Some)),
            "sort" => reader.set(name, &mut self.order, ActivityOrder::parse(name, value)),
            _ => self.page.read(&OWN_PARAMETERS, name, value, reader),
        }
    }

    /// Takes the filters that an activity meets or not by what is stored of it, without its user and its company.
    fn take_filters(&mut self) {
        for filter in std::mem::take(&mut self.page.filters) {
            if !self.take(&filter) {
                self.page.filters.push(filter);
            }
        }
    }

    /// Takes a filter; false for one that needs the activity as it is returned.
    fn take(&mut self, filter: &Filter) -> bool {
        match (filter.field.name, filter.texts(), &filter.condition) {
            ("companyId", Some(texts), _) => {
                self.companies = texts.into_iter().map(RecordRef::parse).collect();
                self.companies.is_some()
            }
            ("endUserId", Some(texts), _) => {
                self.end_user = match texts.as_slice() {
                    [text] => RecordRef::parse(text),
                    _ => None,
                };
                self.end_user.is_some()
            }
            ("action", Some(texts), _) => {
                self.actions = Some(texts.into_iter().map(str::to_owned).collect());
                true
            }
            ("passive", _, Condition::OneOf(operands)) => match operands.as_slice() {
                [Operand::Bool(passive)] => {
                    self.passive = Some(*passive);
                    true
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Narrows the scan where dates end: whole stretches of the log need not be read.
    fn narrow_by_dates(&mut self) {
        for filter in self.page.filters.iter().filter(|filter| filter.field.name == "date") {
            match &filter.condition {
                Condition::Compared(Comparison::AtLeast, Operand::Date(date, _)) => {
                    self.from = self.from.max(Some(*date));
                }
                Condition::Compared(Comparison::Below, Operand::Date(date, _)) => {
                    self.to = Some(self.to.map_or(*date, |to| to.min(*date)));
                }
                _ => {}
            }
        }
    }

    /// Whether the query is for one user or one company.
    fn is_of_one(&self) -> bool {
        self.end_user.is_some() || self.companies.as_ref().is_some_and(|some| some.len() == 1)
    }

    /// Whether an activity passes the filters that need no other record; `companies` and `end_user` are the ids of the
    /// query's references.
    pub fn matches(
        &self,
        activity: &Activity,
        companies: Option<&[ObjectId]>,
        end_user: Option<ObjectId>,
    ) -> bool {
        let company = |ids: &[ObjectId]| activity.company_id.is_some_and(|id| ids.contains(&id));
        companies.is_none_or(company)
            && end_user.is_none_or(|id| id == activity.end_user_id)
            && self.actions.as_ref().is_none_or(|actions| actions.contains(&activity.action))
            && self.from.is_none_or(|from| activity.date >= from)
            && self.to.is_none_or(|to| activity.date < to)
            && self.passive.is_none_or(|passive| passive == activity.passive)
    }
}

/// The long form of a short name (R49).
fn long_name(name: &str) -> Cow<'_, str> {
    match split_operator(name) {
        (path, None) if COMPANY_NAMES.contains(&path) => Cow::Borrowed("companyId"),
        (path, Some(operator)) if COMPANY_NAMES.contains(&path) => {
            Cow::Owned(format!("companyId[{operator}]"))
        }
        _ => Cow::Borrowed(name),
    }
}

/// Id of the first activity that is still retained (`activityRetentionDays`), unless all are: earlier activities were
/// stored longer ago than the tenant's settings allow.
pub fn first_kept(settings: &Document, now: Timestamp) -> Option<ObjectId> {
    let days = activity_retention_days(settings)?;
    let since = now.as_ms().saturating_sub(days.saturating_mul(DAY_MS));
    Some(ObjectId::first_at(Timestamp::from_ms_clamped(since)))
}

/// Properties of the user that the response for an activity has, from the text of the record as it is stored.
pub fn of_user(stored: &[u8]) -> Document {
    let fields = [end_user::EXTERNAL_ID.name, end_user::NAME.name, end_user::EMAIL.name];
    SelectedMembers::find(stored, fields).to_document()
}

/// Properties of the company that the response for an activity has, from the text of the record as it is stored.
pub fn of_company(stored: &[u8]) -> Document {
    SelectedMembers::find(stored, [company::NAME.name]).to_document()
}

/// Response for an activity: names and e-mail are those that the user and the company have now (R38, R51).
pub fn to_response(
    activity: &Activity,
    user: Option<&Document>,
    company: Option<&Document>,
) -> Document {
    let mut response = Document::default();
    let id = |id: ObjectId| Json::string(&id.to_string());
    let text = |text: &Option<String>| text.as_deref().map_or_else(Json::null, Json::string);
    let value_of = |record: Option<&Document>, field: &str| {
        record
            .and_then(|record| record.value(field))
            .map_or_else(Json::null, |value| value.to_json())
    };
    let info = activity.info.as_deref().and_then(|info| Json::parse(info.as_bytes()).ok());
    response.set("_id", id(activity.id));
    response.set("companyId", activity.company_id.map_or_else(Json::null, id));
    response.set("companyName", value_of(company, company::NAME.name));
    response.set("endUserId", id(activity.end_user_id));
    response.set("endUserName", value_of(user, end_user::NAME.name));
    response.set("email", value_of(user, end_user::EMAIL.name));
    response.set("externalId", value_of(user, end_user::EXTERNAL_ID.name));
    response.set("assetId", activity.asset_id.map_or_else(Json::null, id));
    response.set("assetExtId", text(&activity.asset));
    response.set("projectId", activity.project_id.map_or_else(Json::null, id));
    response.set("projectExtId", text(&activity.project));
    response.set("action", Json::string(&activity.action));
    response.set("info", info.unwrap_or_else(Json::null));
    response.set("count", Json::integer(activity.count.into()));
    response.set("weight", weight(activity.weight));
    response.set("passive", Json::bool(activity.passive));
    response.set("date", Json::string(&activity.date.to_string()));
    response.set("receivedAt", Json::string(&activity.received_at.to_string()));
    response.set("route", Json::string(activity.route.name()));
    response.set("messageId", text(&activity.message_id));
    response
}

/// Response for a parked event (R35), as it was sent.
pub fn parked_response(parked: &ParkedEvent) -> Document {
    let mut response = Document::default();
    response.set("_id", Json::string(&parked.id.to_string()));
    response.set("code", Json::string(&parked.code));
    response.set("receivedAt", Json::string(&parked.received_at.to_string()));
    response.set("route", Json::string(parked.route.name()));
    let Ok(event) = serde_json::from_str::<Event>(&parked.event) else { return response };
    let texts = [
        (name::ACTION, event.action.as_deref()),
        (name::MESSAGE_ID, event.message_id.as_deref()),
        (name::DATE, event.date.map(|date| date.to_string()).as_deref()),
    ]
    .map(|(name, text)| (name, text.map(str::to_owned)));
    let members = event.identity.members().into_iter();
    let members = members.map(|(name, value)| (name, value.map(str::to_owned)));
    for (name, value) in members.chain(texts) {
        if let Some(value) = value {
            response.set(name, Json::string(&value));
        }
    }
    let info = event.info.and_then(|info| Json::parse(info.as_bytes()).ok());
    response.set(name::INFO, info.unwrap_or_else(Json::null));
    response
}

/// The shortest text of a weight; a weight beyond the range of amounts is a float.
fn weight(weight: f64) -> Json {
    let text = weight.to_string();
    match Number::parse(&text) {
        Some(number) => Json::number(number),
        None => Json::parse(text.as_bytes()).unwrap_or_else(|_| Json::null()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        plan::Route,
        tracking::{Identity, event::PipelineCall},
    };

    const ID: &str = "6553f1000102030405000001";
    const OTHER: &str = "6553f1000102030405000002";

    fn read(query: &str) -> Result<ActivityQuery, Vec<ValidationError>> {
        let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap());
        let pairs: Vec<_> =
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let read = ActivityQuery::parse(&pairs)?;
        assert!(read.unknown.is_empty(), "{query}");
        Ok(read.query)
    }

    fn id(text: &str) -> ObjectId {
        ObjectId::parse(text).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    pub(in crate::tracking) fn sample() -> Activity {
        Activity {
            id: id(ID),
            company_id: Some(id(ID)),
            end_user_id: id(OTHER),
            action: "Login".to_owned(),
            asset: None,
            project: None,
            info: None,
            count: 1,
            weight: 1.0,
            passive: false,
            date: at("2026-11-20"),
            received_at: at("2026-11-20"),
            route: Route::Bulk,
            message_id: None,
            asset_id: None,
            project_id: None,
        }
    }

    #[test]
    fn what_is_shown_of_user_and_company_is_picked_from_the_stored_text() {
        let stored =
            br#"{"_id":"1","name":"Ada","email":"ada@acme.example","externalId":"a","phone":"1"}"#;
        let user = of_user(stored);
        let shown = ["name", "email", "externalId", "phone"];
        let shown = shown.map(|name| user.text(name).map(std::borrow::Cow::into_owned));
        let expect = [Some("Ada"), Some("ada@acme.example"), Some("a"), None];
        assert_eq!(shown, expect.map(|text| text.map(str::to_owned)));
        let company = of_company(stored);
        assert_eq!(company.text("name").as_deref(), Some("Ada"));
        assert_eq!(company.text("email"), None);
    }

    #[test]
    fn an_activity_matches_when_all_of_a_query_does() {
        let check = |query: &str, expect: bool| {
            let query = read(query).unwrap();
            assert_eq!(query.matches(&sample(), None, None), expect, "{query:?}");
        };
        for admitted in [
            "limit=1",
            "from=2026-11-20",
            "to=2026-11-20T00:00:00.001Z",
            "from=2026-11-19&to=2026-11-21",
            "action=Login,Logout",
            "passive=false",
        ] {
            check(admitted, true);
        }
        for other in [
            "from=2026-11-20T00:00:00.001Z",
            "to=2026-11-20",
            "to=2026-11-19",
            "action=login",
            "passive=true",
            "from=2026-11-21&action=Login",
            "passive=true&action=Login",
        ] {
            check(other, false);
        }
        let all = read("limit=1").unwrap();
        assert!(all.matches(&sample(), Some(&[id(OTHER), id(ID)]), Some(id(OTHER))));
        assert!(!all.matches(&sample(), Some(&[id(OTHER)]), None));
        assert!(!all.matches(&sample(), None, Some(id(ID))));
    }

    #[test]
    fn one_user_and_companies_are_looked_up_and_the_rest_are_filters() {
        let one = read(&format!("endUserId={ID}&c={ID},{OTHER}")).unwrap();
        assert_eq!(one.end_user, Some(RecordRef::Id(id(ID))));
        assert_eq!(one.companies.map(|some| some.len()), Some(2));
        assert!(one.page.filters.is_empty());
        for filtered in [
            format!("endUserId={ID},{OTHER}"),
            "companyId=null".to_owned(),
            format!("companyId={ID},null"),
            format!("companyId={ID}&c=null"),
            "passive=null".to_owned(),
            "passive=true,false".to_owned(),
            "passive=true&passive=false".to_owned(),
            "action=Login,null".to_owned(),
            format!("c[ne]={ID}"),
            "count=5".to_owned(),
        ] {
            let query = read(&filtered).unwrap();
            assert_eq!((query.page.filters.len(), query.page.count), (1, false), "{filtered}");
            assert!(query.companies.is_none() && query.end_user.is_none(), "{filtered}");
        }
        assert!(read("count=true").unwrap().page.count);
        assert_eq!(read("select=action").unwrap().page.select, Some(vec!["action".to_owned()]));
    }

    #[test]
    fn the_ends_of_dates_that_are_filtered_bound_the_stretch_of_the_log() {
        let ends = |query: &str| {
            let query = read(query).unwrap();
            (query.from, query.to)
        };
        let (early, late) = (Some(at("2026-11-10")), Some(at("2026-11-20")));
        assert_eq!(ends("date[gte]=2026-11-10&date[lt]=2026-11-20"), (early, late));
        assert_eq!(ends("from=2026-11-20&date[gte]=2026-11-10"), (late, None));
        assert_eq!(ends("to=2026-11-10&date[lt]=2026-11-20"), (None, early));
        assert_eq!(ends("date[gt]=2026-11-10&date[lte]=2026-11-20"), (None, None));
        assert_eq!(ends("receivedAt[gte]=2026-11-10&receivedAt[lt]=2026-11-20"), (None, None));
    }

    #[test]
    fn the_order_of_dates_is_for_one_user_or_one_company() {
        let order = |query: &str| {
            read(query).map(|query| query.order).map_err(|issues| issues[0].pointer.clone())
        };
        assert_eq!(order("sort=-_id"), Ok(ActivityOrder::NewestStored));
        assert_eq!(order(&format!("sort=-date&endUserId={ID}")), Ok(ActivityOrder::NewestDate));
        assert_eq!(order(&format!("sort=-date&c={ID}")), Ok(ActivityOrder::NewestDate));
        for rejected in
            ["sort=-date".to_owned(), format!("sort=-date&c={ID},{OTHER}"), "sort=date".to_owned()]
        {
            assert_eq!(order(&rejected), Err("/sort".to_owned()), "{rejected}");
        }
    }

    #[test]
    fn all_of_a_user_are_asked_for_in_pages() {
        let query = ActivityQuery::of_user(id(ID), 7, Some(id(OTHER)));
        assert_eq!(query.end_user, Some(RecordRef::Id(id(ID))));
        assert_eq!((query.page.limit, query.page.after), (7, Some(id(OTHER))));
    }

    #[test]
    fn activities_are_retained_for_the_days_that_are_set() {
        let now = at("2026-11-20T12:00:00Z");
        let set = Document::parse(br#"{"activityRetentionDays":10}"#).unwrap();
        let first = ObjectId::first_at(at("2026-11-10T12:00:00Z"));
        assert_eq!(first_kept(&set, now), Some(first));
        assert_eq!(first_kept(&Document::default(), now), None);
    }

    #[test]
    fn an_event_that_waits_is_shown_as_it_was_sent() {
        let event = Event {
            group: None,
            identity: Identity { external_id: Some("7".to_owned()), ..Identity::default() },
            action: Some("Login".to_owned()),
            info: Some(r#"{"n":1.10}"#.to_owned()),
            passive: false,
            weight: None,
            count: None,
            date: Some(at("2026-11-19")),
            message_id: Some("m".to_owned()),
            call: PipelineCall::Event,
        };
        let parked = ParkedEvent {
            id: id(ID),
            code: "user_unknown".to_owned(),
            received_at: at("2026-11-20"),
            route: Route::Realtime,
            event: serde_json::to_string(&event).unwrap(),
            waits: Vec::new(),
        };
        assert_eq!(
            parked_response(&parked).to_text(),
            format!(
                r#"{{"_id":"{ID}","code":"user_unknown","receivedAt":"2026-11-20T00:00:00.000Z","route":"realtime","externalId":"7","action":"Login","messageId":"m","date":"2026-11-19T00:00:00.000Z","info":{{"n":1.10}}}}"#
            )
        );
    }

    #[test]
    fn a_weight_is_shown_as_it_was_sent() {
        for (sent, shown) in [(1.0, "1"), (0.25, "0.25"), (1e300, "1e300")] {
            let shown: f64 = shown.parse().unwrap();
            assert_eq!(weight(sent).as_ref().text().parse::<f64>().ok(), Some(shown));
        }
    }
}

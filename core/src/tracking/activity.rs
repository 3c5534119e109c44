//! Reading activities back (R38): what a list of them asks for, and how one is answered.

use super::{Event, event::name};
use crate::{
    plan::{Activity, ParkedEvent},
    resources::{end_user, settings::activity_retention_days},
    schema::{
        ListLimits,
        list::{PairReader, Read, parse_after, parse_limit, parse_time, unreadable},
    },
    value::{
        Document, Issue, Json, Number, ObjectId, RecordRef, Timestamp, issue::quoted_list,
        time::DAY_MS,
    },
};

/// How many activities a list returns (R38).
pub const LIST: ListLimits = ListLimits { default: 100, max: 2_000 };

/// In which order activities are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ActivityOrder {
    /// Newest stored first, `-_id`.
    #[default]
    NewestStored,
    /// Those that happened last first, `-date`: of one user or one company only, since all of theirs
    /// are looked at.
    NewestDate,
}

impl ActivityOrder {
    /// As `sort` names them.
    pub const NAMES: [&'static str; 2] = ["-_id", "-date"];

    fn parse(name: &str, value: &str) -> Result<Self, Issue> {
        match value {
            "-_id" => Ok(Self::NewestStored),
            "-date" => Ok(Self::NewestDate),
            _ => Err(unreadable(name, &format!("one of {}", quoted_list(&Self::NAMES)), value)),
        }
    }
}

/// What a list of activities asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivityQuery {
    /// Of one of these companies; no filter when not given.
    pub companies: Option<Vec<RecordRef>>,
    /// Of this user.
    pub end_user: Option<RecordRef>,
    /// With exactly this action.
    pub action: Option<String>,
    /// That happened at this time or later.
    pub from: Option<Timestamp>,
    /// That happened before this time.
    pub to: Option<Timestamp>,
    /// Passive ones only, or none of these.
    pub passive: Option<bool>,
    /// In which order.
    pub order: ActivityOrder,
    /// How many at the most.
    pub limit: usize,
    /// Only those behind this one in the order: the last of the page before.
    pub after: Option<ObjectId>,
}

impl ActivityQuery {
    /// All of a user.
    pub fn of_user(user: ObjectId, limit: usize, after: Option<ObjectId>) -> Self {
        Self { end_user: Some(RecordRef::Id(user)), limit, after, ..Self::all() }
    }

    fn all() -> Self {
        Self {
            companies: None,
            end_user: None,
            action: None,
            from: None,
            to: None,
            passive: None,
            order: ActivityOrder::default(),
            limit: LIST.default,
            after: None,
        }
    }

    /// Reads the query of a request.
    ///
    /// # Errors
    /// Every parameter that cannot be read.
    pub fn parse(pairs: &[(String, String)]) -> Result<Read<Self>, Vec<Issue>> {
        let mut query = Self::all();
        let mut reader = PairReader::default();
        for (name, value) in pairs {
            match name.as_str() {
                "companyId" => {
                    reader.set(&mut query.companies, parse_references(name, value).map(Some))
                }
                "endUserId" => {
                    reader.set(&mut query.end_user, parse_reference(name, value).map(Some))
                }
                "action" => query.action = Some(value.clone()),
                "from" => reader.set(&mut query.from, parse_time(name, value).map(Some)),
                "to" => reader.set(&mut query.to, parse_time(name, value).map(Some)),
                "passive" => reader.set(&mut query.passive, parse_bool(name, value).map(Some)),
                "sort" => reader.set(&mut query.order, ActivityOrder::parse(name, value)),
                "limit" => reader.set(&mut query.limit, parse_limit(value, LIST)),
                "after" => reader.set(&mut query.after, parse_after(value).map(Some)),
                _ => reader.ignored.push(name.clone()),
            }
        }
        if query.order == ActivityOrder::NewestDate && !query.is_of_one() {
            let message = "`sort=-date` needs an `endUserId`, or one `companyId`";
            reader.issues.push(Issue::of_member("sort", "invalid_parameter", message));
        }
        reader.finish(query)
    }

    /// Whether it asks for one user or one company.
    fn is_of_one(&self) -> bool {
        self.end_user.is_some() || self.companies.as_ref().is_some_and(|some| some.len() == 1)
    }

    /// Whether an activity passes the filters that need no other record; `companies` and `end_user`
    /// are the ids that the query's references name.
    pub fn admits(
        &self,
        activity: &Activity,
        companies: Option<&[ObjectId]>,
        end_user: Option<ObjectId>,
    ) -> bool {
        let company = |ids: &[ObjectId]| activity.company_id.is_some_and(|id| ids.contains(&id));
        companies.is_none_or(company)
            && end_user.is_none_or(|id| id == activity.end_user_id)
            && self.action.as_ref().is_none_or(|action| *action == activity.action)
            && self.from.is_none_or(|from| activity.date >= from)
            && self.to.is_none_or(|to| activity.date < to)
            && self.passive.is_none_or(|passive| passive == activity.passive)
    }
}

fn parse_reference(name: &str, value: &str) -> Result<RecordRef, Issue> {
    RecordRef::parse(value).ok_or_else(|| unreadable(name, RecordRef::FORMS, value))
}

fn parse_references(name: &str, value: &str) -> Result<Vec<RecordRef>, Issue> {
    value.split(',').map(|reference| parse_reference(name, reference)).collect()
}

fn parse_bool(name: &str, value: &str) -> Result<bool, Issue> {
    value.parse().map_err(|_| unreadable(name, "`true` or `false`", value))
}

/// The first activity that is still kept (`activityRetentionDays`), where they are not kept for ever: those before it
/// were stored longer ago than the tenant's settings say.
pub fn first_kept(settings: &Document, now: Timestamp) -> Option<ObjectId> {
    let days = activity_retention_days(settings)?;
    let since = now.as_ms().saturating_sub(days.saturating_mul(DAY_MS));
    Some(ObjectId::first_at(Timestamp::from_ms_clamped(since)))
}

/// The answer for an activity: names and e-mail are those of the user now (R38).
pub fn answer(activity: &Activity, user: Option<&Document>) -> Document {
    let mut answer = Document::default();
    let id = |id: ObjectId| Json::string(&id.to_string());
    let text = |text: &Option<String>| text.as_deref().map_or_else(Json::null, Json::string);
    let of_user = |row: &str| {
        user.and_then(|user| user.value(row)).map_or_else(Json::null, |value| value.to_json())
    };
    let info = activity.info.as_deref().and_then(|info| Json::parse(info.as_bytes()).ok());
    answer.set("_id", id(activity.id));
    answer.set("companyId", activity.company_id.map_or_else(Json::null, id));
    answer.set("endUserId", id(activity.end_user_id));
    answer.set("endUserName", of_user(end_user::NAME.name));
    answer.set("email", of_user(end_user::EMAIL.name));
    answer.set("externalId", of_user(end_user::EXTERNAL_ID.name));
    answer.set("assetId", activity.asset_id.map_or_else(Json::null, id));
    answer.set("assetExtId", text(&activity.asset));
    answer.set("projectId", activity.project_id.map_or_else(Json::null, id));
    answer.set("projectExtId", text(&activity.project));
    answer.set("action", Json::string(&activity.action));
    answer.set("info", info.unwrap_or_else(Json::null));
    answer.set("count", Json::integer(activity.count.into()));
    answer.set("weight", weight(activity.weight));
    answer.set("passive", Json::bool(activity.passive));
    answer.set("date", Json::string(&activity.date.to_string()));
    answer.set("receivedAt", Json::string(&activity.received_at.to_string()));
    answer.set("route", Json::string(activity.route.name()));
    answer.set("messageId", text(&activity.message_id));
    answer
}

/// The answer for an event that waits for its user (R35), as it was sent.
pub fn answer_parked(parked: &ParkedEvent) -> Document {
    let mut answer = Document::default();
    answer.set("_id", Json::string(&parked.id.to_string()));
    answer.set("code", Json::string(&parked.code));
    answer.set("receivedAt", Json::string(&parked.received_at.to_string()));
    answer.set("route", Json::string(parked.route.name()));
    let Ok(event) = serde_json::from_str::<Event>(&parked.event) else { return answer };
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
            answer.set(name, Json::string(&value));
        }
    }
    let info = event.info.and_then(|info| Json::parse(info.as_bytes()).ok());
    answer.set(name::INFO, info.unwrap_or_else(Json::null));
    answer
}

/// A weight as it prints shortest; one beyond the range of amounts as a float.
fn weight(weight: f64) -> Json {
    let text = weight.to_string();
    match Number::parse(&text) {
        Some(number) => Json::number(number),
        None => Json::parse(text.as_bytes()).unwrap_or_else(|_| Json::null()),
    }
}

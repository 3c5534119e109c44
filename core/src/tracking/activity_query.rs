//! Query of a list of activities (R38, R49): filters, order and page.

use std::borrow::Cow;

use super::list_fields::ACTIVITY;
use crate::{
    plan::Activity,
    schema::{
        LogPage,
        filter::{Comparison, Condition, Filter, Operand, split_operator, unreadable},
        list::{COMPANY_NAMES, parse_time},
        parameter_reader::{ParameterReader, ReadQuery},
    },
    value::{ObjectId, RecordRef, Timestamp, ValidationError, quoted::quoted_list},
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracking::activity::tests::{ID, OTHER, at, id, sample};

    fn read(query: &str) -> Result<ActivityQuery, Vec<ValidationError>> {
        let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap());
        let pairs: Vec<_> =
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let read = ActivityQuery::parse(&pairs)?;
        assert!(read.unknown.is_empty(), "{query}");
        Ok(read.query)
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
}

//! Activities, as several pages show them.

use serde::Deserialize;
use svctrack_core::value::{Day, Timestamp};
use svctrack_web::pages::{ActivityColumns, ActivityLine, DayCount, RecordSection, address};

use super::visit::Visit;
use crate::error::Error;

/// The newest activities on the page of a record.
const NEWEST: &str = "10";
/// Days of the picture of a record's activity.
const DAYS: i64 = 28;
/// Maximum number of activities that are read for the chart: the maximum of a list.
const COUNTED: usize = 2_000;

/// Properties of an activity that the chart needs.
#[derive(Deserialize)]
struct ChartActivity {
    date: String,
    count: u64,
}

/// Activities of one user or company: by day, and the newest. `property` is the reference to the user or company.
pub(super) async fn sections(
    visit: &Visit,
    (property, id): (&'static str, &str),
    of: ActivityColumns,
) -> Result<Vec<RecordSection>, Error> {
    if !visit.api.may("activities:read") {
        return Ok(Vec::new());
    }
    let newest = address("/activities", &[], &[(property, id), ("limit", NEWEST)]);
    let lines: Vec<ActivityLine> = visit.api.get(&newest).await?;
    let (days, is_partial) = by_day(visit, (property, id)).await?;
    let live = address("/app/live", &[], &[(property, id)]);
    Ok(vec![
        RecordSection::Days { days, is_partial },
        RecordSection::Activities { of, lines, live },
    ])
}

/// Number of activities on each of the last days; and whether there may be more than were counted.
async fn by_day(visit: &Visit, filter: (&str, &str)) -> Result<(Vec<DayCount>, bool), Error> {
    let zone = visit.shell.zone;
    let mut days: Vec<DayCount> =
        (0..DAYS).rev().map(|ago| DayCount { day: visit.day(-ago), count: 0 }).collect();
    let first = days.first().and_then(|first| Day::parse(&first.day)?.begin(zone));
    let (from, limit) = (first.unwrap_or(Timestamp::MIN).to_string(), COUNTED.to_string());
    let query = [filter, ("from", &from), ("limit", &limit), ("select", "date,count")];
    let counted: Vec<ChartActivity> = visit.api.get(&address("/activities", &[], &query)).await?;
    for activity in &counted {
        let date = Timestamp::parse(&activity.date).map(|at| Day::at(at, zone).to_string());
        let of_day = days.iter_mut().find(|day| Some(&day.day) == date.as_ref());
        if let Some(day) = of_day {
            day.count = day.count.saturating_add(activity.count);
        }
    }
    Ok((days, counted.len() >= COUNTED))
}

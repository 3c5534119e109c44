//! Activities in a table, and their number by day.

use hypertext::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use svctrack_core::schema::filter_text::escaped;

use super::{
    address::address,
    format::{grouped, instant},
    parts::scroll,
    shell::{Shell, record_address},
    svg_elements::hypertext_elements,
};

/// Maximum number of characters of the data of an activity in a row.
const SHOWN: usize = 160;

/// An activity, as the API returns it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ActivityLine {
    #[serde(rename = "_id")]
    pub id: String,
    pub end_user_id: String,
    pub end_user_name: Option<String>,
    pub email: Option<String>,
    pub external_id: Option<String>,
    pub company_id: Option<String>,
    pub company_name: Option<String>,
    pub action: String,
    pub info: Option<Value>,
    pub count: u64,
    pub passive: bool,
    pub date: String,
}

impl ActivityLine {
    /// Name of the user, or else the e-mail or an id.
    pub fn who(&self) -> &str {
        let names = [&self.end_user_name, &self.email, &self.external_id];
        let mut names = names.into_iter().flatten().filter(|name| !name.is_empty());
        names.next().map_or(self.end_user_id.as_str(), String::as_str)
    }

    /// Data that was sent, in short: `report: Monthly revenue`.
    pub fn data(&self) -> String {
        let text = match &self.info {
            None | Some(Value::Null) => String::new(),
            Some(Value::Object(members)) => {
                let each = members.iter().map(|(name, value)| format!("{name}: {}", plain(value)));
                each.collect::<Vec<_>>().join(", ")
            }
            Some(other) => plain(other),
        };
        match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
            None => text,
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Columns of a table of activities: one of a person or a company does not repeat them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ActivityColumns {
    #[default]
    All,
    Company,
    Person,
}

/// Rows of activities, in a table whose body has an id, so that a script can add to it.
pub(super) fn activity_table<'a>(
    shell: &'a Shell,
    caption: &'a str,
    of: ActivityColumns,
    lines: &'a [ActivityLine],
) -> impl Renderable + 'a {
    // A script adds to a table of all activities: it has every column.
    let has_data = of == ActivityColumns::All || lines.iter().any(|line| !line.data().is_empty());
    let table = maud! {
        table.activities {
            caption.hidden-label { (caption) }
            thead {
                tr {
                    th scope="col" { "Time" }
                    @if of != ActivityColumns::Person { th scope="col" { "User" } }
                    th scope="col" { "Action" }
                    @if of == ActivityColumns::All { th scope="col" { "Company" } }
                    @if has_data { th scope="col" { "Data" } }
                    th.num scope="col" { "Count" }
                }
            }
            tbody #activities { @for line in lines { (row(shell, of, has_data, line)) } }
        }
    };
    scroll(caption, table)
}

fn row<'a>(
    shell: &'a Shell,
    of: ActivityColumns,
    has_data: bool,
    line: &'a ActivityLine,
) -> impl Renderable + 'a {
    let action = escaped(&line.action);
    let of_record = match of {
        ActivityColumns::All => None,
        ActivityColumns::Company => Some("companyId").zip(line.company_id.as_deref()),
        ActivityColumns::Person => Some(("endUserId", line.end_user_id.as_str())),
    };
    let query: Vec<_> = [("action", action.as_str())].into_iter().chain(of_record).collect();
    let action = address("/app/live", &[], &query);
    maud! {
        tr {
            td { (instant(&line.date)) }
            @if of != ActivityColumns::Person {
                th scope="row" { (shell.record_link("endusers", &line.end_user_id, line.who())) }
            }
            td {
                a.plain-link href=(action) { (line.action) }
                @if line.passive { " " span.badge.plain { "passive" } }
            }
            @if of == ActivityColumns::All {
                td {
                    @if let Some(company) = &line.company_id {
                        @let name = line.company_name.as_deref().unwrap_or("Company");
                        @if shell.reads("companies") {
                            a.plain-link href=(record_address("companies", company)) { (name) }
                        } @else {
                            (name)
                        }
                    }
                }
            }
            @if has_data { td.data { (line.data()) } }
            td.num { (line.count) }
        }
    }
}

/// Number of activities of a day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayCount {
    pub day: String,
    pub count: u64,
}

/// Height of the picture of days, in pixels.
const HEIGHT: u64 = 72;

/// A bar for each day, and a sentence that says the same.
pub(super) fn day_bars(days: &[DayCount]) -> impl Renderable {
    let most = days.iter().map(|day| day.count).max().unwrap_or_default().max(1);
    let sum: u64 = days.iter().map(|day| day.count).sum();
    let first = days.first().map(|day| day.day.as_str()).unwrap_or_default();
    let last = days.last().map(|day| day.day.as_str()).unwrap_or_default();
    let best = days.iter().max_by_key(|day| day.count);
    let width = 100.0 / days.len().max(1) as f64;
    let number = |count: u64| grouped(&count.to_string());
    let says = match best {
        Some(best) if best.count > 0 => {
            format!(
                "{} {} from {first} to {last}; most on {}: {}.",
                number(sum),
                if sum == 1 { "activity" } else { "activities" },
                best.day,
                number(best.count)
            )
        }
        _ => format!("No activity from {first} to {last}."),
    };
    let label = says.clone();
    maud! {
        svg.days role="img" aria-label=(label) width="100%" height=(HEIGHT) {
            @for (at, day) in days.iter().enumerate() {
                g {
                    title { (day.day) ": " (day.count) }
                    rect.day-ground x={ (place(at as f64 * width)) } y="0" width=(place(width * 0.8)) height=(HEIGHT) {}
                    rect.day x=(place(at as f64 * width)) y=(HEIGHT - bar(day.count, most))
                        width=(place(width * 0.8)) height=(bar(day.count, most)) {}
                }
            }
        }
        p.muted { (says) }
    }
}

/// Height of a bar; a bar with a count is always visible.
fn bar(count: u64, most: u64) -> u64 {
    if count == 0 { 0 } else { (count.saturating_mul(HEIGHT) / most).max(2) }
}

/// A position along a picture.
pub(super) fn place(percent: f64) -> String {
    format!("{percent:.2}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_activity_shows_who_did_it_and_with_what() {
        let line = |text: &str| serde_json::from_str::<ActivityLine>(text).unwrap();
        let named = line(
            r#"{"endUserId":"1","endUserName":"","email":"a@b.example","info":{"a":"x","n":2}}"#,
        );
        assert_eq!((named.who(), named.data().as_str()), ("a@b.example", "a: x, n: 2"));
        let unnamed = line(r#"{"endUserId":"1","info":null}"#);
        assert_eq!((unnamed.who(), unnamed.data().as_str()), ("1", ""));
    }

    #[test]
    fn long_data_is_shortened_between_characters() {
        let info = Some(Value::from("é".repeat(SHOWN + 1)));
        let line = ActivityLine { info, ..ActivityLine::default() };
        assert_eq!(line.data().chars().count(), SHOWN + 1);
        assert!(line.data().ends_with("é…"));
    }

    #[test]
    fn a_day_with_activity_has_a_bar_that_is_seen() {
        assert_eq!([bar(0, 10), bar(1, 1_000), bar(5, 10), bar(10, 10)], [0, 2, 36, HEIGHT]);
    }
}

//! The licenses of a company along time.

use hypertext::prelude::*;
use serde::Deserialize;
use svctrack_core::value::{Timestamp, time::DAY_MS};

use super::{
    activity::place,
    format::{day, epoch_day, money},
    parts::badge,
    shell::record_address,
    svg_elements::hypertext_elements,
};

/// Least days of the timeline after today: a license without an end reaches to there.
const DAYS_AHEAD: i64 = 90;
/// Marks of months that the axis has at the most.
const MARKS: i64 = 8;
/// Possible distances of two marks, in months.
const STEPS: &[i64] = &[1, 3, 6, 12, 24, 60, 120, 600];
/// Places, in percent, before and after which half of a label of the axis may be beyond the picture of a phone.
const AT_START: f64 = 8.0;
const AT_END: f64 = 92.0;
/// Days of a month, near enough to choose a step.
const MONTH_DAYS: i64 = 30;

/// A license, as the API returns it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LicenseLine {
    #[serde(rename = "_id")]
    pub id: String,
    pub product: Option<String>,
    #[serde(rename = "_currency")]
    pub currency: Option<String>,
    pub from_date: Option<String>,
    pub to_date: Option<String>,
    pub mrr: Option<f64>,
    pub renewal_status: Option<String>,
    pub is_overdue: Option<bool>,
    /// Why figures leave the license out, in words; none where it counts.
    #[serde(skip)]
    pub left_out: Option<String>,
}

/// Licenses of a company, and the day of the view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    pub licenses: Vec<LicenseLine>,
    pub today: String,
    /// Whether the company has more licenses.
    pub has_more: bool,
}

/// The days that the picture reaches over, as days since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TimelineSpan {
    from: i64,
    to: i64,
}

impl TimelineSpan {
    fn covering(view: &Timeline, today: i64) -> Self {
        let days = |date: fn(&LicenseLine) -> Option<i64>| view.licenses.iter().filter_map(date);
        let from = days(LicenseLine::starts).min().unwrap_or(today).min(today);
        let to = days(LicenseLine::ends).max().unwrap_or(today).max(today + DAYS_AHEAD);
        Self { from, to: to.max(from + 1) }
    }

    /// Position of a day, in percent of the whole.
    fn at(self, day: i64) -> f64 {
        (day - self.from) as f64 * 100.0 / (self.to - self.from) as f64
    }

    /// First days of months that are marked, each with its name.
    fn marks(self) -> Vec<(String, f64)> {
        let months = (self.to - self.from) / MONTH_DAYS;
        let step = STEPS.iter().copied().find(|step| months / step < MARKS);
        let step = step.unwrap_or(MARKS * MARKS * 12);
        let first = month_of(self.from).map(|month| month + 1).unwrap_or_default();
        let first =
            first.div_euclid(step) * step + if first.rem_euclid(step) == 0 { 0 } else { step };
        let mut marks = Vec::new();
        for at in 0..=MARKS {
            let month = first + at * step;
            let name = format!("{:04}-{:02}", month.div_euclid(12), month.rem_euclid(12) + 1);
            let Some(day) = days_of(&format!("{name}-01")) else { continue };
            if day < self.to {
                marks.push((name, self.at(day)));
            }
        }
        marks
    }
}

/// Months since the year 0 of a day since 1970.
fn month_of(days: i64) -> Option<i64> {
    let text = epoch_day(days);
    let number = |range| text.get(range).and_then(|text: &str| text.parse::<i64>().ok());
    Some(number(0..4)? * 12 + number(5..7)? - 1)
}

fn days_of(text: &str) -> Option<i64> {
    Some(Timestamp::parse(text)?.as_ms().div_euclid(DAY_MS))
}

impl LicenseLine {
    fn starts(&self) -> Option<i64> {
        days_of(self.from_date.as_deref()?)
    }

    /// End of the license; one in the year 9999 counts as none.
    fn ends(&self) -> Option<i64> {
        days_of(self.to_date.as_deref().filter(|date| !date.starts_with("9999"))?)
    }

    /// State of the license in a word.
    fn state(&self, today: i64) -> &str {
        match self.renewal_status.as_deref() {
            _ if self.is_overdue == Some(true) => "overdue",
            Some("ongoing") | None => match (self.starts(), self.ends()) {
                (Some(start), _) if start > today => "coming",
                (_, Some(end)) if end <= today => "ended",
                _ => "active",
            },
            Some(other) => other,
        }
    }
}

/// Licenses, each with its bar below a line of text.
pub(super) fn timeline(view: &Timeline) -> impl Renderable {
    let today = days_of(&view.today).unwrap_or_default();
    let span = TimelineSpan::covering(view, today);
    maud! {
        ol.timeline {
            @for license in &view.licenses { (line_of(license, span, today)) }
        }
        svg.axis aria-hidden="true" width="100%" height="18" {
            @for (name, at) in &span.marks() {
                text.(anchor(*at)) x=(place(*at)) y="13" { (name) }
            }
            line.today x1=(place(span.at(today))) x2=(place(span.at(today))) y1="0" y2="4" {}
        }
        p.muted { "The red line is today, " (view.today) "." }
        @if view.has_more { p.muted { "The newest " (view.licenses.len()) "." } }
    }
}

/// Class of a label of the axis: one at an end is within the picture.
fn anchor(at: f64) -> &'static str {
    if at < AT_START {
        "first"
    } else if at > AT_END {
        "last"
    } else {
        "between"
    }
}

fn line_of(license: &LicenseLine, span: TimelineSpan, today: i64) -> impl Renderable {
    let start = license.starts().unwrap_or(span.from);
    let end = license.ends().unwrap_or(span.to).max(start);
    let width = (span.at(end) - span.at(start)).max(0.4);
    let state = license.state(today).to_owned();
    let tone = match state.as_str() {
        "lost" => "lost",
        "overdue" => "overdue",
        "coming" => "coming",
        "active" => "active",
        _ => "past",
    };
    let name = license.product.as_deref().filter(|name| !name.is_empty()).unwrap_or("License");
    let currency = license.currency.as_deref().unwrap_or_default();
    maud! {
        li {
            span.term {
                a href=(record_address("licenses", &license.id)) { (name) }
                (badge(&state))
                @if let Some(reason) = &license.left_out { strong { (reason) } }
                @if let Some(mrr) = license.mrr { span { (money(mrr, currency)) " per month" } }
                span.muted {
                    (day(license.from_date.as_deref().unwrap_or("open")))
                    " to "
                    (day(license.ends().and(license.to_date.as_deref()).unwrap_or("no end")))
                }
            }
            svg aria-hidden="true" width="100%" height="14" {
                @for (_, at) in &span.marks() {
                    line.mark x1=(place(*at)) x2=(place(*at)) y1="0" y2="14" {}
                }
                rect.bar.(tone) x=(place(span.at(start))) y="3" width=(place(width)) height="8" rx="2" {}
                line.today x1=(place(span.at(today))) x2=(place(span.at(today))) y1="0" y2="14" {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn license(from: &str, to: &str) -> LicenseLine {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        LicenseLine { from_date: text(from), to_date: text(to), ..LicenseLine::default() }
    }

    fn span(licenses: Vec<LicenseLine>) -> TimelineSpan {
        let view = Timeline { licenses, ..Timeline::default() };
        TimelineSpan::covering(&view, days_of("2026-06-01").unwrap())
    }

    #[test]
    fn the_picture_reaches_over_all_licenses_and_some_days_ahead() {
        let day = |text| days_of(text).unwrap();
        let (today, ahead) = (day("2026-06-01"), day("2026-06-01") + DAYS_AHEAD);
        for (from, to, first, last) in [
            ("2025-01-01", "2027-01-01", day("2025-01-01"), day("2027-01-01")),
            ("2025-01-01", "", day("2025-01-01"), ahead),
            ("2025-01-01", "9999-01-01", day("2025-01-01"), ahead),
            ("2026-07-01", "2026-07-02", today, ahead),
            ("", "", today, ahead),
        ] {
            assert_eq!(
                span(vec![license(from, to)]),
                TimelineSpan { from: first, to: last },
                "{from} {to}"
            );
        }
    }

    #[test]
    fn labels_at_the_ends_of_an_axis_are_within_it() {
        let view = Timeline {
            licenses: vec![license("2024-12-18", "2026-12-18")],
            today: "2026-06-01".to_owned(),
            has_more: false,
        };
        let html = timeline(&view).render().into_inner();
        let label = |name: &str| html.split("<text ").find(|text| text.contains(name)).unwrap();
        assert!(label("2025-01").starts_with("class=\"first\""), "{html}");
        assert!(label("2025-07").starts_with("class=\"between\""), "{html}");
    }

    #[test]
    fn an_axis_has_a_mark_at_the_first_of_every_few_months() {
        let marks = |from, to| {
            let marks = span(vec![license(from, to)]).marks();
            marks.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        let years = ["2024-01", "2024-07", "2025-01", "2025-07", "2026-01", "2026-07"];
        assert_eq!(marks("2023-12-15", "2026-12-01"), years);
        assert_eq!(marks("2026-06-15", "2026-07-01"), ["2026-07", "2026-08"]);
        assert!(marks("0001-01-01", "9998-01-01").len() <= MARKS as usize + 1);
    }

    #[test]
    fn a_license_has_a_state_in_a_word() {
        let today = days_of("2026-06-01").unwrap();
        let state_of = |license: LicenseLine| license.state(today).to_owned();
        let with = |status: &str| LicenseLine {
            renewal_status: Some(status.to_owned()),
            ..license("2026-01-01", "2026-12-31")
        };
        assert_eq!(state_of(with("ongoing")), "active");
        assert_eq!(state_of(with("lost")), "lost");
        assert_eq!(state_of(license("2026-07-01", "")), "coming");
        assert_eq!(state_of(license("2026-01-01", "2026-06-01")), "ended");
        assert_eq!(state_of(license("2026-01-01", "2026-06-02")), "active");
        assert_eq!(state_of(LicenseLine { is_overdue: Some(true), ..with("ongoing") }), "overdue");
    }
}

//! What a user chooses of a report: its days, and by name the company, the segments and the currency.

use svctrack_core::{
    resources::company::COMPANY,
    revenue::{Interval, RenewalsBy, SegmentBy},
};
use svctrack_web::pages::{Choice, Problem, parameter_label, property_label};

use super::{
    currencies::{CURRENCY, currency_choice, license_currencies},
    references::{references, resolve},
    report_names::{FORECAST, MRR, RENEWALS, RETENTION, USAGE},
    submitted_form::{sent, unknown_parameters},
    visit::Visit,
};
use crate::error::Error;

/// The parts of the usage report, by their names in the API.
const PARTS: &[&str] = &["figures", "cohorts", "actions"];

/// Label of `by` in the report of renewals.
const DUE_AT: &str = "Due at";

/// Parameters of the pages of reports; a report that has no use for one of them ignores it.
const PARAMETERS: &[&str] = &["from", "to", "interval", "companyId", "by", "part", CURRENCY];

/// Months that a report shows by default: a year until now, or a year from now.
const MONTHS: i32 = 12;

/// Parameters of a report, each with the value that was chosen, or its default; and what is wrong with them.
pub(super) async fn choices_of(
    visit: &Visit,
    report: &str,
    pairs: &[(String, String)],
) -> Result<(Vec<Choice>, Vec<Problem>), Error> {
    let (from, to) = default_days(visit, report);
    let choice = |name: &'static str, default: &str, values: &[&str]| Choice {
        name,
        value: match sent(pairs, name) {
            "" => default.to_owned(),
            text => text.to_owned(),
        },
        values: values.iter().map(|value| (*value).to_owned()).collect(),
        ..Choice::default()
    };
    let (company, problem) = company(visit, choice("companyId", "", &[])).await?;
    let mut choices = vec![
        choice("from", &from, &[]),
        choice("to", &to, &[]),
        choice("interval", "month", &Interval::NAMES),
        company,
    ];
    if report == MRR {
        choices.push(segments(choice("by", "", &[])));
    }
    if report == RENEWALS {
        choices.push(Choice { label: Some(DUE_AT), ..choice("by", "end", RenewalsBy::NAMES) });
    }
    if report == USAGE {
        let part = choice("part", "figures", PARTS);
        // The cohorts of users are always by week.
        choices.retain(|choice| choice.name != "interval" || part.value != "cohorts");
        choices.push(part);
    } else {
        let text = Some("each currency and total".to_owned());
        let licensed = license_currencies(visit).await?;
        choices.push(Choice { text, ..currency_choice(visit, pairs, &licensed.all) });
    }
    if report == RETENTION {
        let text = Some("Figures".to_owned());
        let part = Choice { text, ..choice("part", "", &["", "cohorts"]) };
        if part.value == "cohorts" {
            let interval = choices.iter_mut().filter(|choice| choice.name == "interval");
            interval.for_each(limit_to_cohorts);
        }
        choices.push(part);
    }
    let mut problems = unknown_parameters(pairs, |name| PARAMETERS.contains(&name));
    problems.extend(problem);
    Ok((choices, problems))
}

/// Leaves out the intervals that are too short for the cohorts of revenue; one that was chosen for the figures becomes a
/// month.
fn limit_to_cohorts(interval: &mut Choice) {
    let is_short = |name: &str| matches!(name, "day" | "week");
    interval.values.retain(|name| !is_short(name));
    if is_short(&interval.value) {
        "month".clone_into(&mut interval.value);
    }
}

/// Labels of the parameters of a report.
pub(super) fn labels_of(report: &str) -> fn(&str) -> String {
    match report {
        RENEWALS => |name| if name == "by" { DUE_AT.to_owned() } else { parameter_label(name) },
        _ => parameter_label,
    }
}

/// Choice of a company by its name.
async fn company(visit: &Visit, mut choice: Choice) -> Result<(Choice, Option<Problem>), Error> {
    let mut problem = None;
    match resolve(visit, &COMPANY, &choice.value).await? {
        Ok(reference) => choice.value = reference,
        Err(message) => {
            problem = Some(Problem { field: String::new(), message });
            choice.text = Some(std::mem::take(&mut choice.value));
        }
    }
    let asked = [(&COMPANY, choice.value.as_str())].into_iter();
    let found = references(visit, asked).await?;
    let name = found.names.into_iter().next().map(|(_, name)| name);
    choice.text = choice.text.or(name);
    if let Some((path, texts)) = found.suggestions.into_iter().next() {
        (choice.resource, choice.suggested) = (Some(path), texts);
    }
    Ok((choice, problem))
}

/// Choice of a property of companies by its label; a property of `custom` by its name.
fn segments(mut choice: Choice) -> Choice {
    let fields = COMPANY.fields.iter().filter(|field| SegmentBy::parse(field.name).is_ok());
    let labels = fields.map(|field| (field.name, property_label(field.name)));
    let labels: Vec<(&str, String)> = labels.collect();
    let chosen = choice.value.to_lowercase();
    let is_it =
        |(name, label): &&(&str, String)| *name == choice.value || label.to_lowercase() == chosen;
    if let Some((name, label)) = labels.iter().find(is_it) {
        choice.text = Some(label.clone());
        choice.value = (*name).to_owned();
    }
    choice.suggested = labels.into_iter().map(|(_, label)| label).collect();
    choice
}

/// Default days of a report, by whole months.
pub(super) fn default_days(visit: &Visit, name: &str) -> (String, String) {
    let today = visit.day(0);
    let number = |range| today.get(range).and_then(|text: &str| text.parse().ok()).unwrap_or(0_i32);
    let month = number(0..4) * 12 + number(5..7) - 1;
    let first_of =
        |month: i32| format!("{:04}-{:02}-01", month.div_euclid(12), month.rem_euclid(12) + 1);
    match name == FORECAST {
        true => (first_of(month), first_of(month + MONTHS)),
        false => (first_of(month + 1 - MONTHS), first_of(month + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_chosen_by_a_label_or_a_name() {
        let check = |chosen: &str, name: &str, text: Option<&str>| {
            let choice = Choice { value: chosen.to_owned(), ..Choice::default() };
            let found = segments(choice);
            assert_eq!((found.value.as_str(), found.text.as_deref()), (name, text));
            assert!(found.suggested.contains(&"Co owner".to_owned()), "{:?}", found.suggested);
        };
        check("phase", "phase", Some("Phase"));
        check("co owner", "coOwner", Some("Co owner"));
        check("custom.plan", "custom.plan", None);
        check("", "", None);
    }
}

//! Values as text for people.

use std::cell::Cell;

use hypertext::{Buffer, prelude::*};
use svctrack_core::value::{Timestamp, Zone, time::DAY_MS};

/// Words that are written in capitals.
const CAPITALS: &[&str] = &["mrr", "arr", "nrr", "grr", "arpa", "asp", "fx", "csm", "id", "url"];
/// Names whose words are not visible in them.
const SPELLED: &[(&str, &str)] = &[
    ("__v", "Version"),
    ("enduser", "End user"),
    ("endusers", "End users"),
    ("integrationissue", "Integration issue"),
    ("integrationissues", "Integration issues"),
    ("timeentry", "Time entry"),
    ("timeentries", "Time entries"),
    ("toDateIncluded", "Has an end date"),
];

/// Properties that refer to another record.
const REFERENCES: &[&str] = &["companyId", "endUserId", "userId", "projectId", "assignedId"];

/// Maximum number of codes that a sentence names.
const MAX_NAMED: usize = 20;

/// The first of these codes, for a sentence.
pub(super) fn named_codes(codes: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut codes = codes.into_iter();
    let mut text = String::new();
    for code in codes.by_ref().take(MAX_NAMED) {
        text.push_str(if text.is_empty() { "" } else { ", " });
        text.push_str(code.as_ref());
    }
    match codes.count() {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

/// Label of a name of the API: `newCustomers` as `New customers`.
pub fn label_of(name: &str) -> String {
    if let Some((_, words)) = SPELLED.iter().find(|(known, _)| *known == name) {
        return (*words).to_owned();
    }
    let name = name.strip_prefix("custom.").unwrap_or(name).trim_start_matches('_');
    let mut words = vec![String::new()];
    for character in name.chars() {
        let is_start = character.is_uppercase() || matches!(character, '_' | '.');
        if is_start && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| !matches!(character, '_' | '.')) {
            word.extend(character.to_lowercase());
        }
    }
    for (at, word) in words.iter_mut().enumerate() {
        if word == "fc" {
            "forecast".clone_into(word);
        }
        if CAPITALS.contains(&word.as_str()) {
            *word = word.to_uppercase();
        } else if at == 0 {
            *word = capitalized(word);
        }
    }
    words.join(" ")
}

/// Label of a property in a message or a filter, where a reference is called as its target: `companyId` as `Company`.
pub fn property_label(name: &str) -> String {
    let label = label_of(name);
    match label.strip_suffix(" ID").filter(|_| REFERENCES.contains(&name)) {
        Some(target) => target.to_owned(),
        None => label,
    }
}

/// A text with a capital letter at its beginning.
pub fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(characters).collect()
}

/// A number with separated thousands, and its decimals: `-1234567.5` as `-1,234,567.5`.
pub fn grouped(number: &str) -> String {
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", number),
    };
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return number.to_owned();
    }
    let mut text = sign.to_owned();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if decimals.bytes().any(|digit| digit != b'0') {
        text.push('.');
        text.push_str(decimals);
    }
    text
}

/// An amount in whole units, with its currency: `EUR 1,235`; one of less than a unit has its cents.
pub fn money(amount: f64, currency: &str) -> String {
    let rounded = if amount.abs() < 1.0 { cents(amount) } else { grouped(&format!("{amount:.0}")) };
    if currency.is_empty() { rounded } else { format!("{currency} {rounded}") }
}

/// An amount with its cents, where it has some: `1,235.50`.
pub(super) fn cents(amount: f64) -> String {
    let text = grouped(&format!("{amount:.2}"));
    if text == "-0" { "0".to_owned() } else { text }
}

/// Decimals of an amount with cents.
const CENTS: usize = 2;

/// Decimals of amounts below each other: those of cents if one of them has some.
pub(super) fn decimals_of(amounts: impl IntoIterator<Item = f64>) -> usize {
    let has_cents = |amount: f64| (amount * 100.0).round() % 100.0 != 0.0;
    if amounts.into_iter().any(has_cents) { CENTS } else { 0 }
}

/// Decimals of a number without trailing zeros.
pub(super) fn needed_decimals(number: &str) -> usize {
    number.split_once('.').map_or(0, |(_, decimals)| decimals.trim_end_matches('0').len())
}

/// A number with a fixed number of decimals, also where they are zero: `1,235.00`.
pub(super) fn fixed(number: f64, decimals: usize) -> String {
    let rounded = format!("{number:.decimals$}");
    let is_zero = rounded.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'));
    let rounded = rounded.strip_prefix('-').filter(|_| is_zero).unwrap_or(&rounded);
    match rounded.split_once('.') {
        Some((whole, decimals)) => [&grouped(whole), ".", decimals].concat(),
        None => grouped(rounded),
    }
}

/// A number rounded to decimals, without needless ones: `12384.50` as `12,384.5`.
pub(super) fn rounded(number: f64, most: usize) -> String {
    let text = grouped(&format!("{number:.most$}"));
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A formula of a report: amounts with separated thousands and at most two decimals.
pub(super) fn formula_text(formula: &str) -> String {
    let word = |word: &str| {
        let number = word.trim_end_matches([':', ',']);
        let is_amount = number.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
        match number.parse::<f64>() {
            _ if word == "->" => "→".to_owned(),
            Ok(amount) if is_amount => cents(amount) + word.get(number.len()..).unwrap_or_default(),
            _ => word.to_owned(),
        }
    };
    formula.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// A share in percents: `0.1234` as `12.3 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

thread_local! {
    /// Time zone of the page that this thread renders. A page is rendered in one go, so that the many parts with a time
    /// need not pass it on.
    static ZONE: Cell<Zone> = const { Cell::new(Zone::UTC) };
}

/// A part of a page whose times are those of a zone.
pub(super) struct InZone<R>(pub(super) Zone, pub(super) R);

impl<R: Renderable> Renderable for InZone<R> {
    fn render_to(&self, buffer: &mut Buffer) {
        let before = ZONE.replace(self.0);
        self.1.render_to(buffer);
        ZONE.set(before);
    }
}

/// The zone of the page that is rendered.
pub(super) fn zone() -> Zone {
    ZONE.get()
}

/// End of an instant of the API where a day was sent: it is shown as that day in every zone.
const MIDNIGHT: &str = "T00:00:00.000Z";
const DAY_CHARS: usize = "2026-01-01".len();
const SECOND_CHARS: usize = "2026-01-01 00:00:00".len();

/// Time that clocks show at an instant of the API, to the second; none for any other text.
fn clock(zone: Zone, instant: &str) -> Option<String> {
    let time = Timestamp::parse(instant).filter(|_| instant.ends_with('Z'))?;
    let mut shown = zone.clock(time).to_string();
    shown.truncate(SECOND_CHARS);
    Some(shown)
}

/// Day of an instant of the API, in the zone of the page; any other text as it is.
pub(super) fn day_text(instant: &str) -> String {
    day_in(zone(), instant)
}

/// Day of an instant of the API in a zone.
pub(super) fn day_in(zone: Zone, instant: &str) -> String {
    let zone = if instant.ends_with(MIDNIGHT) { Zone::UTC } else { zone };
    match clock(zone, instant) {
        Some(mut shown) => {
            shown.truncate(DAY_CHARS);
            shown
        }
        None => instant.to_owned(),
    }
}

/// The date of a day since 1970-01-01.
pub fn epoch_day(days: i64) -> String {
    let mut text = Timestamp::from_ms_clamped(days.saturating_mul(DAY_MS)).to_string();
    text.truncate(DAY_CHARS);
    text
}

/// An instant of the API in the zone of the page, to the second: `2026-11-24 17:11:18`, and with `UTC` where that is
/// the zone; any other text as it is.
pub(super) fn instant_text(instant: &str) -> String {
    match clock(zone(), instant) {
        Some(shown) if zone() == Zone::UTC => shown + " UTC",
        Some(shown) => shown,
        None => instant.to_owned(),
    }
}

/// Day as [`day_text`] has it, with the time in UTC for a reader who points at it.
pub(super) fn day(text: &str) -> impl Renderable {
    element(text, day_text)
}

/// Instant as [`instant_text`] has it, with the time in UTC for a reader who points at it.
pub(super) fn instant(text: &str) -> impl Renderable {
    element(text, instant_text)
}

fn element(text: &str, shown: fn(&str) -> String) -> impl Renderable {
    maud! {
        @if let Some(utc) = clock(Zone::UTC, text) {
            time datetime=(text) title={ (utc) " UTC" } { (shown(text)) }
        } @else {
            (text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words() {
        for (name, words) in [
            ("newCustomers", "New customers"),
            ("_id", "ID"),
            ("__v", "Version"),
            ("mrr", "MRR"),
            ("custom.plan", "Plan"),
            ("mrrByCurrency", "MRR by currency"),
            ("_currency", "Currency"),
            ("endusers", "End users"),
            ("fcNewMrr", "Forecast new MRR"),
        ] {
            assert_eq!(label_of(name), words);
        }
    }

    #[test]
    fn numbers_have_their_thousands_apart() {
        for (number, text) in [
            ("0", "0"),
            ("999", "999"),
            ("-1234567.50", "-1,234,567.50"),
            ("5.00", "5"),
            ("x", "x"),
            ("", ""),
        ] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(money(-0.2, "EUR"), "EUR -0.20");
        assert_eq!(money(0.004, "EUR"), "EUR 0");
        assert_eq!(fixed(-0.001, 2), "0.00");
        assert_eq!(fixed(-1234.5, 2), "-1,234.50");
        assert_eq!(fixed(1234.5, 0), "1,234");
        assert_eq!(decimals_of([5.0, 5.004]), 0);
        assert_eq!(decimals_of([5.0, 5.5]), CENTS);
        assert_eq!(money(1234.5, ""), "1,234");
    }

    #[test]
    fn a_formula_has_amounts_of_people() {
        for (formula, text) in [
            (
                "end: 5805.00000012771 -> -7290.5 -> 0: churn 1",
                "end: 5,805 → -7,290.50 → 0: churn 1",
            ),
            ("end = 300.0000000066 + 2 more = 1234567", "end = 300 + 2 more = 1,234,567"),
            ("active from 2026-01-01", "active from 2026-01-01"),
            ("", ""),
        ] {
            assert_eq!(formula_text(formula), text);
        }
    }

    #[track_caller]
    fn check(zone: &str, shown: impl Renderable, expect: &str) {
        let page = InZone(Zone::parse(zone).unwrap(), shown);
        assert_eq!(page.render().into_inner(), expect);
        assert_eq!(super::zone(), Zone::UTC);
    }

    #[test]
    fn an_instant_is_shown_in_the_zone_with_utc_to_point_at() {
        let evening = "2026-11-24T16:11:18.926Z";
        let time = |shown: &str| {
            format!("<time datetime=\"{evening}\" title=\"2026-11-24 16:11:18 UTC\">{shown}</time>")
        };
        check("UTC", instant(evening), &time("2026-11-24 16:11:18 UTC"));
        check("Europe/Berlin", instant(evening), &time("2026-11-24 17:11:18"));
        check("Asia/Tokyo", instant(evening), &time("2026-11-25 01:11:18"));
        check("Asia/Tokyo", day(evening), &time("2026-11-25"));
    }

    #[test]
    fn a_day_that_was_sent_is_shown_as_that_day_in_every_zone() {
        for zone in ["UTC", "America/New_York", "Asia/Tokyo"] {
            let day = day("2026-06-01T00:00:00.000Z");
            check(
                zone,
                day,
                "<time datetime=\"2026-06-01T00:00:00.000Z\" title=\"2026-06-01 00:00:00 UTC\">2026-06-01</time>",
            );
        }
    }

    #[test]
    fn what_is_no_instant_is_shown_unchanged() {
        for other in ["", "T", "The Tall One", "2026-11-24"] {
            check("Asia/Tokyo", instant(other), other);
            check("Asia/Tokyo", day(other), other);
        }
    }
}

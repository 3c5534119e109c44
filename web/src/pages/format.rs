//! Values as people read them.

/// Words that are written in capitals.
const CAPITALS: &[&str] = &["mrr", "arr", "nrr", "grr", "arpa", "asp", "fx", "csm", "id", "url"];
/// Names that do not show their words.
const SPELLED: &[(&str, &str)] = &[
    ("__v", "Version"),
    ("enduser", "End user"),
    ("endusers", "End users"),
    ("timeentry", "Time entry"),
    ("timeentries", "Time entries"),
];

/// A name of the API in words: `newCustomers` as `New customers`.
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
        if CAPITALS.contains(&word.as_str()) {
            *word = word.to_uppercase();
        } else if at == 0 {
            *word = capitalized(word);
        }
    }
    words.join(" ")
}

fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(characters).collect()
}

/// A number with its thousands apart, and its decimals: `-1234567.5` as `-1,234,567.5`.
pub(super) fn grouped(number: &str) -> String {
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

/// An amount in whole units, with its currency: `EUR 1,235`.
pub fn money(amount: f64, currency: &str) -> String {
    let rounded = grouped(&format!("{amount:.0}"));
    let rounded = if rounded == "-0" { "0".to_owned() } else { rounded };
    if currency.is_empty() { rounded } else { format!("{currency} {rounded}") }
}

/// A share in percents: `0.1234` as `12.3 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The day of an instant as the API writes it.
pub(super) fn day(instant: &str) -> &str {
    match instant.split_once('T') {
        Some((day, _)) if day.len() == "2026-01-01".len() => day,
        _ => instant,
    }
}

/// An instant as the API writes it, to the second: `2026-11-24 16:11:18 UTC`.
pub(super) fn instant(instant: &str) -> String {
    match instant.split_once('T').zip(instant.strip_suffix('Z')) {
        Some(((day, _), _)) if day.len() == "2026-01-01".len() => {
            let time = instant.get(day.len() + 1..day.len() + 1 + "00:00:00".len());
            format!("{day} {} UTC", time.unwrap_or_default())
        }
        _ => instant.to_owned(),
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
            ("fcNewMrr", "Fc new MRR"),
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
        assert_eq!(money(-0.2, "EUR"), "EUR 0");
        assert_eq!(money(1234.5, ""), "1,234");
    }

    #[test]
    fn a_day_is_cut_from_an_instant_alone() {
        assert_eq!(day("2026-11-24T16:11:18.926Z"), "2026-11-24");
        assert_eq!(day("The Tall One"), "The Tall One");
    }
    #[test]
    fn an_instant_is_shown_to_the_second() {
        assert_eq!(instant("2026-11-24T16:11:18.926Z"), "2026-11-24 16:11:18 UTC");
        for other in ["", "T", "The Tall One", "2026-11-24"] {
            assert_eq!(instant(other), other);
        }
    }
}

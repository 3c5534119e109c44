//! Replaces constants of a script by their values, and uses one word for all declarations: both compress into fewer
//! bytes.

/// Replaces each constant of a script by its value. A constant is a line that gives a number or a text to a name in
/// capitals; no text and no member of the script has such a name.
pub(crate) fn inline(script: &str) -> String {
    let mut constants = vec![("const", "let")];
    let mut kept = String::with_capacity(script.len());
    for line in script.lines() {
        match constant(line) {
            Some(constant) => constants.push(constant),
            None => kept.extend([line, "\n"]),
        }
    }
    let value_of = |word: &str| constants.iter().find(|(name, _)| *name == word);
    let mut inlined = String::with_capacity(kept.len());
    let mut rest = kept.as_str();
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|character| is_of_word(character) != is_of_word(first));
        let (text, after) = rest.split_at(end.unwrap_or(rest.len()));
        inlined.push_str(value_of(text).map_or(text, |(_, value)| value));
        rest = after;
    }
    inlined
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || "_$".contains(character)
}

fn constant(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix("const ")?.strip_suffix(';')?.split_once(" = ")?;
    let is_capital =
        name.chars().all(|character| character.is_ascii_uppercase() || character == '_');
    let is_literal = value.starts_with('\'') || value.parse::<f64>().is_ok();
    (is_capital && is_literal).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, expect: &str) {
        assert_eq!(inline(script), expect);
    }

    #[test]
    fn constants_replace_their_names() {
        check("const LAST_MS = 60000;\nlet first = LAST_MS / 2;", "let first = 60000 / 2;\n");
        check("const NAME = 'a';\nlet names = [NAME];", "let names = ['a'];\n");
        check("const MAX = 1;\nf(MAX_AGE, AMAX, $MAX);", "f(MAX_AGE, AMAX, $MAX);\n");
    }

    #[test]
    fn what_is_no_constant_stays() {
        check("const NAMES = ['a'];", "let NAMES = ['a'];\n");
        check("const count = 1;", "let count = 1;\n");
        check("export const MAX = 1;", "export let MAX = 1;\n");
        check("  const MAX = 1;", "  let MAX = 1;\n");
    }
}

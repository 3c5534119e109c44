//! Makes JavaScript smaller: no comments, no blanks, short names. It reads tokens, not scopes: within one
//! statement of the script, such as a function, a name is replaced by the same short one wherever it stands
//! for a variable; one that is declared outside of functions, in all of them. This changes no meaning.
//!
//! It is for the scripts of this package and for the glue of wasm-bindgen: statements end with a semicolon,
//! and a block does not begin where a value could.

use std::collections::{HashMap, HashSet};

/// Words that are no names.
const KEYWORDS: &[&str] = &[
    "arguments",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "default",
    "delete",
    "do",
    "else",
    "export",
    "false",
    "finally",
    "for",
    "from",
    "function",
    "get",
    "if",
    "import",
    "in",
    "instanceof",
    "let",
    "new",
    "null",
    "of",
    "return",
    "set",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "yield",
];
/// Words after which a name is declared, or a pattern of names.
const DECLARING: &[&str] = &["const", "let", "var", "function", "class"];

/// So many short names there are, more than any script here has.
const MAX_NAMES: usize = 2_000;
/// So many of the shortest are used anew in every statement.
const OWN_NAMES: usize = 9;

/// A token: what it is, and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    /// A keyword, a name or a number.
    Word(&'a str),
    /// A string, a regular expression, or a part of a template: kept as it is.
    Text(&'a str),
    /// One sign, or `...`, `=>`, `?.`, `++` or `--`.
    Sign(&'a str),
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Word(text) | Self::Text(text) | Self::Sign(text) => text,
        }
    }

    fn is_name(self) -> bool {
        let begins = |text: &str| !text.starts_with(|first: char| first.is_ascii_digit());
        matches!(self, Self::Word(text) if begins(text) && !KEYWORDS.contains(&text))
    }
}

/// The script with as few bytes as its meaning allows. What it exports keeps its name.
pub(crate) fn minify(script: &str) -> String {
    let tokens = without_needless(&with_constants(&tokens(script)));
    let places = places(&tokens);
    let statements = statements(&tokens);
    let short = short_names(&tokens, &places, &statements);
    let commas = joined(&tokens);
    let mut minified = String::new();
    for (at, ((token, place), statement)) in tokens.iter().zip(&places).zip(&statements).enumerate()
    {
        let text = token.text();
        let names = [short.get(&(None, text)), short.get(&(Some(*statement), text))];
        let name = names.into_iter().flatten().next().filter(|_| token.is_name());
        match (place, name) {
            _ if commas.contains(&at) => minified.push(','),
            _ if at.checked_sub(1).is_some_and(|before| commas.contains(&before)) => {}
            (Place::Variable, Some(name)) => push(&mut minified, name),
            (Place::Shorthand, Some(name)) => push(&mut minified, &[text, ":", name].concat()),
            (Place::Variable, None) => push(&mut minified, shorter(text)),
            _ => push(&mut minified, text),
        }
    }
    minified
}

/// The same value in fewer bytes.
fn shorter(text: &str) -> &str {
    match text {
        "true" => "!0",
        "false" => "!1",
        "undefined" => "void 0",
        _ => text,
    }
}

/// Where one declaration ends and another begins that can go on after a comma. One that is exported stays
/// alone.
fn joined(tokens: &[Token<'_>]) -> HashSet<usize> {
    let mut joined = HashSet::new();
    // Of each bracket that is open: whether a declaration is under way.
    let mut declares = vec![false];
    for (at, pair) in tokens.windows(2).enumerate() {
        let [token, after] = pair else { continue };
        let is_declaring = declares.last() == Some(&true);
        match (token, after) {
            (Token::Sign(";"), Token::Word("let")) if is_declaring => drop(joined.insert(at)),
            (Token::Sign("{" | "(" | "["), _) => declares.push(false),
            (Token::Sign("}" | ")" | "]"), _) => drop(declares.pop()),
            (Token::Sign(";"), _) | (Token::Word("export"), _) => set_last(&mut declares, false),
            (Token::Word("let"), _) if !is_exported(tokens, at) => set_last(&mut declares, true),
            _ => {}
        }
    }
    joined
}

fn is_exported(tokens: &[Token<'_>], at: usize) -> bool {
    at.checked_sub(1).and_then(|before| tokens.get(before)) == Some(&Token::Word("export"))
}

fn set_last(all: &mut [bool], value: bool) {
    if let Some(last) = all.last_mut() {
        *last = value;
    }
}

/// Puts constants, named in capitals, in the place of their names.
fn with_constants<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut constants = HashMap::new();
    let mut kept = Vec::with_capacity(tokens.len());
    let mut rest = tokens;
    while let Some((token, after)) = rest.split_first() {
        match rest {
            [
                Token::Word("const"),
                Token::Word(name),
                Token::Sign("="),
                value,
                Token::Sign(";"),
                after @ ..,
            ] if is_capital(name) && !value.is_name() => {
                constants.insert(*name, *value);
                rest = after;
            }
            _ => {
                kept.push(constants.get(token.text()).copied().unwrap_or(*token));
                rest = after;
            }
        }
    }
    kept
}

fn is_capital(name: &str) -> bool {
    name.chars().all(|character| character.is_ascii_uppercase() || character == '_')
}

/// Leaves out what means nothing: a semicolon or a comma at the end of a block or an object, and brackets
/// around one parameter.
fn without_needless<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    let mut kept = Vec::with_capacity(tokens.len());
    let mut rest = tokens;
    while let Some((token, after)) = rest.split_first() {
        rest = match rest {
            [Token::Sign(";" | ","), Token::Sign("}"), ..] => after,
            // One word for all that is declared packs better.
            [Token::Word("const"), ..] => {
                kept.push(Token::Word("let"));
                after
            }
            [Token::Sign("("), name, Token::Sign(")"), Token::Sign("=>"), ..] if name.is_name() => {
                kept.push(*name);
                rest.get(3..).unwrap_or_default()
            }
            _ => {
                kept.push(*token);
                after
            }
        };
    }
    kept
}

/// Appends a token, after a blank where the two would be read as one.
fn push(minified: &mut String, text: &str) {
    let is_word = |character: char| character.is_alphanumeric() || "_$#".contains(character);
    let (last, first) = (minified.chars().next_back(), text.chars().next());
    if let (Some(last), Some(first)) = (last, first) {
        let is_sign = "+-".contains(last) && last == first;
        if is_sign || (is_word(last) && is_word(first)) {
            minified.push(' ');
        }
    }
    minified.push_str(text);
}

fn tokens(script: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    // How many brackets are open in each `${` that is.
    let mut templates = Vec::new();
    let mut rest = script.trim_start();
    while !rest.is_empty() {
        let is_value = is_value_next(&tokens);
        let token = match rest.as_bytes() {
            [b'/', b'/', ..] => {
                rest = rest.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
                continue;
            }
            [b'/', b'*', ..] => {
                rest = rest.split_once("*/").map_or("", |(_, rest)| rest).trim_start();
                continue;
            }
            [b'/', ..] if is_value => Token::Text(front(rest, regular_expression(rest))),
            [quote @ (b'\'' | b'"'), ..] => Token::Text(front(rest, quoted(rest, *quote))),
            [b'`', ..] => Token::Text(front(rest, template(rest))),
            [b'}', ..] if templates.last() == Some(&0) => {
                templates.pop();
                Token::Text(front(rest, template(rest)))
            }
            [b'.', b'.', b'.', ..] => Token::Sign(front(rest, 3)),
            [b'=', b'>', ..] | [b'?', b'.', ..] | [b'+', b'+', ..] | [b'-', b'-', ..] => {
                Token::Sign(front(rest, 2))
            }
            _ => {
                let is_other =
                    |character: char| !(character.is_alphanumeric() || "_$#".contains(character));
                match rest.find(is_other).unwrap_or(rest.len()) {
                    0 => Token::Sign(front(rest, rest.chars().next().map_or(1, char::len_utf8))),
                    end => Token::Word(front(rest, end)),
                }
            }
        };
        if let Some(open) = templates.last_mut() {
            *open += i32::from(token == Token::Sign("{")) - i32::from(token == Token::Sign("}"));
        }
        if matches!(token, Token::Text(text) if text.ends_with("${")) {
            templates.push(0);
        }
        let after = rest.get(token.text().len()..).unwrap_or("");
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

fn front(text: &str, end: usize) -> &str {
    text.get(..end).unwrap_or(text)
}

/// Whether a value comes next, and no operator.
fn is_value_next(tokens: &[Token<'_>]) -> bool {
    match tokens.last() {
        None => true,
        Some(Token::Sign(sign)) => !matches!(*sign, ")" | "]" | "}"),
        Some(Token::Word(word)) => matches!(*word, "return" | "typeof" | "case"),
        Some(Token::Text(_)) => false,
    }
}

/// Where the first byte after the opening one is that `ends` says so of; what is escaped is passed over.
fn end_of(text: &str, mut ends: impl FnMut(u8, Option<&u8>) -> bool) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'\\' {
            at += 1;
        } else if ends(*byte, bytes.get(at + 1)) {
            break;
        }
        at += 1;
    }
    at + 1
}

fn quoted(text: &str, quote: u8) -> usize {
    end_of(text, |byte, _| byte == quote)
}

fn regular_expression(text: &str) -> usize {
    let mut is_class = false;
    let body = end_of(text, |byte, _| {
        is_class = (is_class || byte == b'[') && byte != b']';
        byte == b'/' && !is_class
    });
    let flags = text.get(body..).unwrap_or("").bytes().take_while(u8::is_ascii_lowercase).count();
    body + flags
}

/// A part of a template: up to its end, or to the `${` of the next value.
fn template(text: &str) -> usize {
    let mut opens = false;
    let end = end_of(text, |byte, next| {
        opens = byte == b'$' && next == Some(&b'{');
        byte == b'`' || opens
    });
    end + usize::from(opens)
}

/// What a name stands for where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A variable, or what is no name at all.
    Variable,
    /// A member of an object, which keeps its name.
    Member,
    /// Both: `{ name }` is short for `{ name: name }`.
    Shorthand,
}

fn places(tokens: &[Token<'_>]) -> Vec<Place> {
    let text =
        |at: Option<usize>| at.and_then(|at| tokens.get(at)).map_or("", |token| token.text());
    // The brackets that are open: of an object or not.
    let mut open = Vec::new();
    let mut places = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        let (before, after) = (text(at.checked_sub(1)), text(at.checked_add(1)));
        let is_first = open.last() == Some(&true) && matches!(before, "{" | ",");
        places.push(match after {
            _ if matches!(before, "." | "?.") => Place::Member,
            ":" | "(" if is_first => Place::Member,
            "," | "}" | "=" if is_first => Place::Shorthand,
            _ => Place::Variable,
        });
        match token {
            Token::Sign("{") => open.push(is_object(before)),
            Token::Sign("(" | "[") => open.push(false),
            Token::Sign(")" | "]" | "}") => drop(open.pop()),
            _ => {}
        }
    }
    places
}

/// Whether a `{` after this begins an object, or a pattern of one, and no block.
fn is_object(before: &str) -> bool {
    matches!(
        before,
        "=" | "(" | "," | "[" | ":" | "?" | "|" | "&" | "return" | "const" | "let" | "..."
    )
}

/// The number of the statement, outside of all functions, that each token belongs to.
fn statements(tokens: &[Token<'_>]) -> Vec<usize> {
    let (mut depth, mut statement) = (0, 0);
    let number = |token: &Token<'_>| {
        let own = statement;
        depth += depth_of(token);
        statement += usize::from(depth == 0 && matches!(token, Token::Sign("}" | ";")));
        own
    };
    tokens.iter().map(number).collect()
}

/// By how much a token leads deeper into brackets.
fn depth_of(token: &Token<'_>) -> i32 {
    match token {
        Token::Sign("(" | "[" | "{") => 1,
        Token::Sign(")" | "]" | "}") => -1,
        _ => 0,
    }
}

/// A name, and the statement in which it is declared; none for the whole script.
type Scoped<'a> = (Option<usize>, &'a str);

/// Short names for all that are declared and not exported, the shortest for the most frequent.
fn short_names<'a>(
    tokens: &[Token<'a>],
    places: &[Place],
    statements: &[usize],
) -> HashMap<Scoped<'a>, String> {
    let (shared, own) = declared(tokens, places, statements);
    let mut uses: HashMap<Scoped<'_>, usize> = HashMap::new();
    let mut fixed: HashSet<&str> = KEYWORDS.iter().copied().collect();
    for ((token, place), statement) in tokens.iter().zip(places).zip(statements) {
        let name = token.text();
        match (shared.contains(name), own.contains(&(*statement, name))) {
            _ if !token.is_name() || *place == Place::Member => {}
            (true, _) => *uses.entry((None, name)).or_default() += 1,
            (false, true) => *uses.entry((Some(*statement), name)).or_default() += 1,
            (false, false) => drop(fixed.insert(name)),
        }
    }
    let mut names: Vec<_> = uses.into_iter().collect();
    names.sort_by(|(one, count), (other, other_count)| other_count.cmp(count).then(one.cmp(other)));
    let free: Vec<_> =
        (0..MAX_NAMES).map(short_name).filter(|name| !fixed.contains(name.as_str())).collect();
    // The first names are those of every function, the next ones those of the whole script.
    let shared_count = names.iter().filter(|((scope, _), _)| scope.is_none()).count();
    let mut next: HashMap<Option<usize>, usize> = HashMap::new();
    let short = names.into_iter().filter_map(|((scope, name), _)| {
        let at = next.entry(scope).or_insert(if scope.is_none() { OWN_NAMES } else { 0 });
        if scope.is_some() && *at == OWN_NAMES {
            *at += shared_count;
        }
        *at += 1;
        Some(((scope, name), free.get(*at - 1)?.clone()))
    });
    short.collect()
}

/// The names in the order of their lengths: `a` to `Z`, then `aa`.
fn short_name(number: usize) -> String {
    const LETTERS: &[u8] = b"etnairoscldupmhgfvbyjkwxqzETNAIROSCLDUPMHGFVBYJKWXQZ";
    let letter = |at: usize| LETTERS.get(at).map(|byte| char::from(*byte));
    match number.checked_sub(LETTERS.len()) {
        None => letter(number).into_iter().collect(),
        Some(rest) => {
            let (first, second) = (rest / LETTERS.len(), rest % LETTERS.len());
            letter(first).into_iter().chain(letter(second)).collect()
        }
    }
}

/// The variables that the script itself declares: outside of functions, but for those that it exports, and
/// within, each with its statement. One that is missed keeps its name.
fn declared<'a>(
    tokens: &[Token<'a>],
    places: &[Place],
    statements: &[usize],
) -> (HashSet<&'a str>, HashSet<(usize, &'a str)>) {
    let (mut shared, mut own, mut exported) = (HashSet::new(), HashSet::new(), HashSet::new());
    let names = |start| names_in(tokens, places, start);
    let is = |at: Option<usize>, text| at.and_then(|at| tokens.get(at)) == Some(&text);
    let mut depth = 0;
    for (at, ((token, place), statement)) in tokens.iter().zip(places).zip(statements).enumerate() {
        depth += depth_of(token);
        let before = at.checked_sub(1);
        let is_member = *place == Place::Member;
        let is_method = is_member && (is(before, Token::Sign("{")) || is(before, Token::Sign(",")));
        let parameters = match token {
            Token::Word("function") => at + 1 + usize::from(!is(Some(at + 1), Token::Sign("("))),
            Token::Word("catch") if !is_member => at + 1,
            Token::Word(_) if is_method => at + 1,
            Token::Sign("=>") => opening_of(tokens, at),
            _ => at,
        };
        let is_list = is(Some(parameters), Token::Sign("("));
        if parameters != at && (is_list || *token == Token::Sign("=>")) {
            own.extend(names(parameters).into_iter().map(|name| (*statement, name)));
        }
        if matches!(token, Token::Word(word) if DECLARING.contains(word)) && parameters != at + 1 {
            match depth {
                0 if is(before, Token::Word("export")) => exported.extend(names(at + 1)),
                0 => shared.extend(names(at + 1)),
                _ => own.extend(names(at + 1).into_iter().map(|name| (*statement, name))),
            }
        }
    }
    shared.retain(|name| !exported.contains(name));
    own.retain(|(_, name)| !exported.contains(name));
    (shared, own)
}

/// Where the parameters before an arrow begin.
fn opening_of(tokens: &[Token<'_>], arrow: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().take(arrow).rev() {
        depth -= depth_of(token);
        if depth == 0 {
            return at;
        }
    }
    arrow
}

/// The names from `start` on: one alone, or those in the brackets that open there, without default values.
fn names_in<'a>(tokens: &[Token<'a>], places: &[Place], start: usize) -> Vec<&'a str> {
    let mut depth = 0;
    let mut names = Vec::new();
    let mut before = "";
    for (token, place) in tokens.iter().zip(places).skip(start) {
        depth += depth_of(token);
        if token.is_name() && *place != Place::Member && before != "=" {
            names.push(token.text());
        }
        if depth == 0 {
            break;
        }
        before = token.text();
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, expect: &str) {
        assert_eq!(minify(script), expect);
    }

    #[test]
    fn comments_and_blanks_go() {
        check("// a\nf(1, /* b */ 'c // d'); // e\n", "f(1,'c // d');");
        check("return a + +b - -c++;", "return a+ +b- -c++;");
    }

    #[test]
    fn a_variable_gets_the_same_short_name_everywhere() {
        check(
            "const count = 1; function double(count) { return count * 2; }",
            "let l=1;function d(l){return l*2}",
        );
        check("items.map(([first, second]) => first + second);", "items.map(([e,t])=>e+t);");
    }

    #[test]
    fn what_is_not_declared_keeps_its_name() {
        check("const now = Date.now();", "let l=Date.now();");
        check("let first = l;", "let d=l;");
        check("try { f(); } catch { console.log(); }", "try{f()}catch{console.log()}");
        check("f((fetch) => fetch); fetch();", "f(e=>e);fetch();");
        check("load().catch((error) => warn(other(error)));", "load().catch(e=>warn(other(e)));");
    }

    #[test]
    fn members_keep_their_names() {
        check("const text = { text: 1, other() {} }.text;", "let l={text:1,other(){}}.text;");
        check(
            "const { name, first: one = 1 } = call; name(one);",
            "let{name:l,first:d=1}=call;l(d);",
        );
        check("const name = 1; f({ name, [name]: 1 });", "let l=1;f({name:l,[l]:1});");
        check("const name = is ? name : other;", "let l=is?l:other;");
    }

    #[test]
    fn declarations_in_a_row_become_one() {
        check("let a = 1; const b = f(2); g();", "let l=1,d=f(2);g();");
        check("let a = { b() { let c; let d; } }; let e;", "let l={b(){let e,t}},d;");
        check("export let one = 1; let two = 2;", "export let one=1;let l=2;");
        check("let a = 1; g(); let b = 2;", "let l=1;g();let d=2;");
    }

    #[test]
    fn plain_values_get_shorter() {
        check(
            "f(true, false, undefined, a.true, { true: 1, });",
            "f(!0,!1,void 0,a.true,{true:1});",
        );
    }

    #[test]
    fn constants_stand_in_the_place_of_their_names() {
        check("const LAST_MS = 60000; const first = LAST_MS / 2;", "let l=60000/2;");
        check("const NAME = 'a'; const NAMES = [NAME];", "let l=['a'];");
    }

    #[test]
    fn texts_are_kept() {
        check(
            "const name = 1; f(`name ${name + `${name}`} name`);",
            "let l=1;f(`name ${l+`${l}`} name`);",
        );
        check("const n = 1; /[/n]\\/n/g.test('\\'n') / n;", "let l=1;/[/n]\\/n/g.test('\\'n')/l;");
    }

    #[test]
    fn what_is_exported_keeps_its_name() {
        check(
            "export function send(request) { return request; }",
            "export function send(e){return e}",
        );
    }
}

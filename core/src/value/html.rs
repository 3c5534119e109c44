//! Plain text of HTML, for previews (R56).
//!
//! The tokenizer follows the HTML standard. It builds no tree and stores no attributes, so time is linear in the text,
//! and nesting costs nothing.

use std::{borrow::Cow, mem};

use html5gum::{
    Readable, Reader, Span, StringReader, Tokenizer,
    emitters::callback::{CallbackEmitter, CallbackEvent},
};
use memchr::{memchr2_iter, memrchr};

/// Elements that begin and end a line, a cell or an item, sorted: they separate words.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "caption",
    "center",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hgroup",
    "hr",
    "html",
    "legend",
    "li",
    "listing",
    "main",
    "menu",
    "nav",
    "ol",
    "optgroup",
    "option",
    "p",
    "plaintext",
    "pre",
    "search",
    "section",
    "select",
    "summary",
    "table",
    "tbody",
    "td",
    "textarea",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
    "xmp",
];

/// Elements whose text is not shown. The tokenizer reads each up to its end tag as one text.
const HIDDEN: &[&[u8]] = &[b"script", b"style", b"title", b"noscript", b"iframe", b"noembed"];

/// Longest name of a character reference, in bytes, with room to spare: `CounterClockwiseContourIntegral`.
const MAX_REFERENCE_BYTES: usize = 40;

/// First `max_chars` characters of the visible text of HTML: without markup, styles and scripts, entities decoded, each
/// run of blanks and each break as one blank, without blanks at the ends. Plain text stays: `1 < 2`, `<ada@x.example>`,
/// `R&D`, `?a=1&section=2`.
///
/// ```
/// use svctrack_core::value::html::plain_text;
/// assert_eq!(plain_text("<p>Tom &amp; Jerry:</p>call<br>back", 100), "Tom & Jerry: call back");
/// ```
pub fn plain_text(html: &str, max_chars: usize) -> String {
    let html = escape_what_is_no_markup(html);
    let mut text = Text { max_chars, ..Text::default() };
    let read = |event: CallbackEvent<'_>, _: Span<()>| text.read(event);
    let mut emitter = CallbackEmitter::new(read);
    emitter.naively_switch_states(true);
    // The first token means that there is enough text; without one, this reads to the end.
    let Ok(_) = Tokenizer::new_with_emitter(TextReader::new(&html), emitter).next().transpose();
    text.shown
}

/// Reads a text without the blanks after quoted values of attributes. The tokenizer (html5gum 0.9) calls itself at each
/// such blank, and so a tag of many attributes would overflow the stack; elsewhere it returns before the next state.
struct TextReader<'h> {
    text: StringReader<'h>,
    is_after_value: bool,
}

impl<'h> TextReader<'h> {
    fn new(html: &'h str) -> Self {
        Self { text: html.to_reader(), is_after_value: false }
    }
}

impl<'h> Reader for TextReader<'h> {
    type Error = <StringReader<'h> as Reader>::Error;

    fn read_byte(&mut self) -> Result<Option<u8>, Self::Error> {
        let is_after_value = mem::take(&mut self.is_after_value);
        let mut next = self.text.read_byte()?;
        while is_after_value && next.is_some_and(|byte| byte.is_ascii_whitespace()) {
            next = self.text.read_byte()?;
        }
        Ok(next)
    }

    fn read_until<'b>(
        &'b mut self,
        needle: &[u8],
        char_buf: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, Self::Error> {
        let read = self.text.read_until(needle, char_buf)?;
        // In this state alone is a quote the first character that the tokenizer looks for.
        self.is_after_value = needle.first() == Some(&b'"') && read == Some(b"\"");
        Ok(read)
    }

    fn try_read_string(&mut self, text: &[u8], case_sensitive: bool) -> Result<bool, Self::Error> {
        self.text.try_read_string(text, case_sensitive)
    }
}

/// The text has reached its limit.
struct TextLimitReached;

/// The text that has been read.
#[derive(Default)]
struct Text {
    shown: String,
    chars: usize,
    max_chars: usize,
    /// Whether a blank precedes the next character.
    is_apart: bool,
    is_hidden: bool,
}

impl Text {
    fn read(&mut self, event: CallbackEvent<'_>) -> Option<TextLimitReached> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.is_hidden = HIDDEN.contains(&name);
                self.is_apart |= is_block(name);
            }
            CallbackEvent::EndTag { name } => {
                self.is_hidden = false;
                self.is_apart |= is_block(name);
            }
            CallbackEvent::String { value } if !self.is_hidden => {
                return self.add(&String::from_utf8_lossy(value));
            }
            _ => {}
        }
        None
    }

    fn add(&mut self, text: &str) -> Option<TextLimitReached> {
        for next in text.chars() {
            if next.is_whitespace() {
                self.is_apart = true;
                continue;
            }
            let blanks = usize::from(self.is_apart && self.chars > 0);
            if self.chars + blanks >= self.max_chars {
                return Some(TextLimitReached);
            }
            self.shown.extend((blanks > 0).then_some(' '));
            self.shown.push(next);
            self.chars += blanks + 1;
            self.is_apart = false;
        }
        None
    }
}

fn is_block(name: &[u8]) -> bool {
    BLOCKS.binary_search_by(|block| block.as_bytes().cmp(name)).is_ok()
}

/// Writes `<` and `&` that begin no markup as references, since the standard would take many of them for broken markup:
/// `<ada@x.example>` for a tag, `&section` for `§ion`.
fn escape_what_is_no_markup(html: &str) -> Cow<'_, str> {
    let last_end = memrchr(b'>', html.as_bytes());
    let mut escaped = String::new();
    let mut copied = 0;
    for at in memchr2_iter(b'<', b'&', html.as_bytes()) {
        let (Some(before), Some(rest)) = (html.get(copied..at), html.get(at + 1..)) else {
            continue;
        };
        let (is_markup, reference) = match html.as_bytes().get(at) {
            Some(b'<') => (last_end > Some(at) && begins_tag(rest.as_bytes()), "&lt;"),
            _ => (begins_reference(rest.as_bytes()), "&amp;"),
        };
        if !is_markup {
            escaped.push_str(before);
            escaped.push_str(reference);
            copied = at + 1;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(html);
    }
    escaped.push_str(html.get(copied..).unwrap_or_default());
    Cow::Owned(escaped)
}

/// Whether a tag, a comment or a declaration follows a `<`: the name of a tag has letters, digits, `-` and the
/// `:` of a prefix, and a blank, `/` or `>` ends it.
fn begins_tag(rest: &[u8]) -> bool {
    let begins = |prefix: &[u8]| {
        rest.get(..prefix.len()).is_some_and(|first| first.eq_ignore_ascii_case(prefix))
    };
    if [&b"!--"[..], b"![", b"!doctype"].into_iter().any(begins) {
        return true;
    }
    let name = rest.strip_prefix(b"/").or(rest.strip_prefix(b"?")).unwrap_or(rest);
    let is_in_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-:".contains(byte);
    let length = name.iter().position(|byte| !is_in_name(byte)).unwrap_or(name.len());
    let (name, end) = name.split_at(length);
    name.first().is_some_and(u8::is_ascii_alphabetic)
        && name.last() != Some(&b':')
        && end.first().is_some_and(|end| end.is_ascii_whitespace() || b"/>".contains(end))
}

/// Whether a character reference with its `;` follows a `&`.
fn begins_reference(rest: &[u8]) -> bool {
    let name = rest.get(..MAX_REFERENCE_BYTES).unwrap_or(rest);
    let end = name.iter().position(|byte| *byte == b';');
    let name = end.and_then(|end| name.get(..end)).unwrap_or_default();
    let digits = name.strip_prefix(b"#").unwrap_or(name);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(html: &str, expect: &str) {
        assert_eq!(plain_text(html, 300), expect, "{html}");
    }

    #[test]
    fn the_blocks_are_sorted_so_that_they_can_be_searched() {
        assert!(BLOCKS.is_sorted());
    }

    #[test]
    fn markup_is_left_out() {
        check(" <p>Hello <b>wor</b>ld</p>\n", "Hello world");
        check("<P TITLE='a > b'>t</P>", "t");
        check("a<!-- b > c -->d<![CDATA[e]]>f", "adf");
        check("<!DOCTYPE html><?xml version='1.0'?>a<o:p></o:p><my-tag>b</my-tag>", "ab");
        check("<style>p { color: red }</style>a<script>if (a < b) { '</p>' }</script>b", "ab");
        check("<head><title>T</title><noscript><p>N</p></noscript></head><body>B", "B");
        check("a<style>never closed", "a");
    }

    #[test]
    fn the_stack_suffices_for_a_tag_of_any_number_of_attributes() {
        let attributes = [
            r#" a="b""#,
            r#" a="b"/"#,
            "a=\"b\"\r\n\t",
            r#" a ="" "#,
            " a='b' ",
            " a='b'/",
            " a=b ",
            " a=b/",
            " a",
            "/",
            r#" a="&amp;" "#,
            r#"" "#,
            " =",
        ];
        for attribute in attributes {
            let html = format!("<p {}>shown</p>\" \" apart", attribute.repeat(100_000));
            assert_eq!(plain_text(&html, 300), "shown \" \" apart", "{attribute}");
        }
    }

    #[test]
    fn blocks_and_breaks_part_words() {
        check("call<br>back", "call back");
        check("call<br/><BR>back", "call back");
        check("<div>a</div><div>b</div>c", "a b c");
        check("<table><tr><td>a</td><td>b</td></tr></table>", "a b");
        check("<ul><li>a<li>b</ul>", "a b");
        check("a<span>b</span><i>c</i>", "abc");
        check("a \n\t&nbsp;&#160; b", "a b");
    }

    #[test]
    fn entities_are_decoded_once() {
        check(
            "Tom &amp; Jerry&#39;s &eacute;t&#xE9; &hellip; &lt;b&gt;",
            "Tom & Jerry's été … <b>",
        );
        check("&amp;lt;", "&lt;");
        check("&nosuch; &;", "&nosuch; &;");
    }

    #[test]
    fn plain_text_stays_as_it_is() {
        for text in [
            "1 < 2 and 3 > 2",
            "1 <2, 3> 2",
            "a <b and no more",
            "<- back, forth ->",
            "i <3 <>",
            "Ada <ada@x.example> wrote <https://x.example/a?b=1&c=2>:",
            "see <www.x.example>",
            "R&D & more&",
            "https://x.example/?a=1&section=2&copy=3&lt=4",
            "a &amp",
        ] {
            check(text, text);
        }
        check("<b>a</b> <c", "a <c");
    }

    #[test]
    fn no_blank_is_left_at_the_cut() {
        assert_eq!(plain_text("ab cd", 3), "ab");
        assert_eq!(plain_text("ab cd", 4), "ab c");
        assert_eq!(plain_text("<p>ab</p> <p>cd</p>", 2), "ab");
        assert_eq!(plain_text(&"ö ".repeat(400), 300).chars().count(), 299);
        assert_eq!(plain_text("a", 0), "");
    }

    proptest! {
        #[test]
        fn what_is_shown_is_short_and_has_no_blank_runs(
            html in "(<|</|>|!--|-->|&|#|;|p|br|b|script|style|title|=|\"|'|amp|x| |\n|é){0,60}",
            max in 0_usize..40,
        ) {
            let text = plain_text(&html, max);
            prop_assert!(text.chars().count() <= max);
            let words: Vec<&str> = text.split_whitespace().collect();
            prop_assert_eq!(words.join(" "), text);
        }

        #[test]
        fn words_of_plain_text_come_out_as_they_are(text in "[a-zé0-9<& ]{0,60}") {
            let words: Vec<&str> = text.split_whitespace().collect();
            prop_assert_eq!(plain_text(&text, 1_000), words.join(" "));
        }
    }
}

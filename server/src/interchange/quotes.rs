//! Quotes of a CSV table that are never closed, which a CSV reader does not report.

/// Position of the reader among quotes.
#[derive(Clone, Copy, Debug)]
enum QuoteState {
    /// At the beginning of a cell.
    Start,
    /// In a cell, out of quotes.
    Plain,
    Quoted,
    /// After a quote in a quoted cell: it ends the cell, or is the first of two.
    Closed,
}

/// Follows quotes as a reader of CSV does. A cell of several lines whose last quote is followed by text was never
/// closed: that quote opens another cell.
pub(super) struct Quotes {
    separator: u8,
    line: u64,
    place: QuoteState,
    /// The line on which the latest quote opened.
    opened: u64,
    fault: Option<UnclosedQuote>,
}

/// Byte at which an unclosed quote is detected, and the line of the quote.
#[derive(Clone, Copy)]
struct UnclosedQuote {
    at: u64,
    opened: u64,
}

impl Quotes {
    /// Quotes of a table from its line `line` on.
    pub(super) fn new(separator: u8, line: u64) -> Self {
        Self { separator, line, place: QuoteState::Start, opened: line, fault: None }
    }

    /// Line of a quote that was found up to this byte to be never closed.
    pub(super) fn unclosed_until(&self, byte: u64) -> Option<u64> {
        self.fault.filter(|fault| fault.at <= byte).map(|fault| fault.opened)
    }

    pub(super) fn note(&mut self, at: u64, byte: u8) {
        self.place = match (self.place, byte) {
            (QuoteState::Quoted, b'"') => QuoteState::Closed,
            (QuoteState::Quoted, _) | (QuoteState::Closed, b'"') => QuoteState::Quoted,
            (_, b'\n' | b'\r') => QuoteState::Start,
            (_, byte) if byte == self.separator => QuoteState::Start,
            (QuoteState::Start, b'"') => {
                self.opened = self.line;
                QuoteState::Quoted
            }
            (QuoteState::Closed, _) if self.opened < self.line => {
                self.fault(at);
                QuoteState::Plain
            }
            (QuoteState::Start | QuoteState::Plain | QuoteState::Closed, _) => QuoteState::Plain,
        };
        self.line += u64::from(byte == b'\n');
    }

    pub(super) fn end(&mut self, at: u64) {
        if matches!(self.place, QuoteState::Quoted) {
            self.fault(at);
        }
    }

    fn fault(&mut self, at: u64) {
        let opened = self.opened;
        self.fault.get_or_insert(UnclosedQuote { at, opened });
    }
}

//! The table of what was measured.

use std::fmt::Write as _;

/// What a row is about, and under which conditions it was measured.
pub(crate) struct Case<'c> {
    pub(crate) what: &'c str,
    pub(crate) baseline: &'c str,
    pub(crate) connections: usize,
    pub(crate) body: String,
    /// Times of the disk where what is measured is durable, else none.
    pub(crate) durable: Option<&'c str>,
}

/// What a figure must come to.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// The ratio to the baseline is at most this.
    AtMost(f64),
    /// The ratio to the baseline is at least this.
    AtLeast(f64),
    /// The figure itself is below this.
    Below(f64),
    /// The figure itself is above this.
    Above(f64),
    /// It is measured for comparison.
    None,
}

/// The rows so far.
#[derive(Default)]
pub(crate) struct Report {
    rows: String,
}

impl Report {
    /// Adds a row of rounds that took turns with the baseline's; `unit` is of both.
    pub(crate) fn compare(
        &mut self,
        case: &Case<'_>,
        unit: &str,
        target: Target,
        mut ours: Vec<f64>,
        mut theirs: Vec<f64>,
    ) {
        let (ours, theirs) = (median(&mut ours), median(&mut theirs));
        let shown = format!("{} {unit} ({})", round(theirs), case.baseline);
        self.add(
            case,
            &format!("{} {unit}", round(ours)),
            &shown,
            Some(ours / theirs),
            target,
            ours,
        );
    }

    /// Adds a row of a figure that has no baseline.
    pub(crate) fn note(
        &mut self,
        case: &Case<'_>,
        unit: &str,
        target: Target,
        mut rounds: Vec<f64>,
    ) {
        let figure = median(&mut rounds);
        self.add(case, &format!("{} {unit}", round(figure)), case.baseline, None, target, figure);
    }

    fn add(
        &mut self,
        case: &Case<'_>,
        ours: &str,
        theirs: &str,
        ratio: Option<f64>,
        target: Target,
        figure: f64,
    ) {
        let (target, met) = match (target, ratio) {
            (Target::AtMost(most), Some(ratio)) => (format!("<= {most}"), ratio <= most),
            (Target::AtLeast(least), Some(ratio)) => (format!(">= {least}"), ratio >= least),
            (Target::Below(limit), _) => (format!("< {}", limit_of(limit)), figure < limit),
            (Target::Above(limit), _) => (format!("> {}", limit_of(limit)), figure > limit),
            _ => ("-".to_owned(), true),
        };
        let met = if target == "-" {
            "-"
        } else if met {
            "yes"
        } else {
            "NO"
        };
        let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
        let durable = case.durable.map_or("no".to_owned(), |disk| format!("yes; disk {disk}"));
        let Case { what, connections, body, .. } = case;
        let row = format!(
            "| {what} | {ours} | {theirs} | {ratio} | {target} | {met} | {connections} | {body} | {durable} |"
        );
        eprintln!("{row}");
        writeln!(self.rows, "{row}").unwrap();
    }

    pub(crate) fn to_markdown(&self) -> String {
        format!(
            "| what | svctrack | baseline | ratio | target | met | connections | body | durable; \
             fdatasync p50 / p99 |\n|---|---|---|---|---|---|---|---|---|\n{}",
            self.rows
        )
    }
}

/// The middle of them.
pub(crate) fn median(rounds: &mut [f64]) -> f64 {
    rounds.sort_by(f64::total_cmp);
    rounds[rounds.len() / 2]
}

/// A limit, which may come from a figure of the same run.
fn limit_of(limit: f64) -> f64 {
    if limit < 10.0 { limit } else { (limit * 10.0).round() / 10.0 }
}

fn round(figure: f64) -> String {
    if figure >= 1_000.0 { format!("{figure:.0}") } else { format!("{figure:.1}") }
}

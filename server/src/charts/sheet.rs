//! The parts around the plots of a chart: title, legends and labels. No text covers another one or a mark in any of
//! [`FONTS`], although they are wider than the one that measures texts.

use std::sync::Arc;

use charts_rs::{
    ChartBase, Color, FontConfig, Line, Margin, Rect, Text, Theme, get_theme,
    measure_text_width_family,
};
use svctrack_core::revenue::{Chart, SeriesMark};

use super::colors::{Style, ground};

/// The fonts that texts are shown with. The library knows no family of this name and measures with Roboto.
pub(super) const FONTS: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, Arial, 'Liberation Sans', Helvetica, sans-serif";
/// How much wider a text may be in another of [`FONTS`] than in the one that measures it.
const WIDER_FONT: f32 = 1.3;
/// First character beyond the Latin, Greek and Cyrillic of the measured font, and what is missing of the width of a
/// character that it lacks, in heights of the text.
const FIRST_OF_OTHER_SCRIPTS: char = '\u{590}';
const MISSING_WIDTH: f32 = 0.6;
/// How much wider a bold text is.
const BOLD: f32 = 1.15;
/// Sizes of the title, and of the note below a narrow one.
const TITLE_SIZE: f32 = 18.0;
const NARROW_TITLE_SIZE: f32 = 15.0;
const NARROW_NOTE_SIZE: f32 = 13.0;
/// Height of a line of text, and its part above the baseline.
const LINE_HEIGHT: f32 = 22.0;
const BASELINE: f32 = 16.0;
/// Space around a chart, and between a text and what is next to it.
const MARGIN: f32 = 8.0;
const GAP: f32 = 6.0;
/// Size of the mark of a series in the legend, and how far it is above the baseline.
const MARK_WIDTH: f32 = 25.0;
const MARK_HEIGHT: f32 = 10.0;
const MARK_MIDDLE: f32 = 5.0;
/// Space between two entries of a legend.
const ENTRY_GAP: f32 = 14.0;
/// Space below a legend.
const LEGEND_GAP: f32 = 12.0;
/// Length of the tick at a label of the time axis.
const TICK: f32 = 5.0;
/// Space around a plot for what is drawn across its edge: points and strokes.
const OVERHANG: f32 = 6.0;
/// Dashes of a line.
pub(super) const DASHES: &str = "4,4";

/// A chart that is drawn from its top down.
pub(super) struct Sheet {
    style: Style,
    theme: Arc<Theme>,
    /// Height at which the next part begins.
    pub(super) top: f32,
    parts: Vec<String>,
}

/// Position of a plot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plot {
    pub(super) left: f32,
    pub(super) right: f32,
    pub(super) top: f32,
    pub(super) height: f32,
}

/// An entry of a legend.
#[derive(Clone, Debug)]
pub(super) struct LegendEntry<'c> {
    pub(super) name: &'c str,
    pub(super) color: Color,
    pub(super) mark: SeriesMark,
}

/// Side of its place that a text is at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Sheet {
    /// A sheet with the title of the chart, and below it what is not drawn.
    pub(super) fn with_heading(content: &Chart, style: Style) -> Self {
        let theme = get_theme(style.theme);
        let mut sheet = Self { style, theme, top: MARGIN, parts: Vec::new() };
        let (title, note) = (sheet.theme.title.font.clone(), sheet.theme.sub_title.font.clone());
        let (title_size, note_size) = if style.is_narrow {
            (NARROW_TITLE_SIZE, NARROW_NOTE_SIZE)
        } else {
            (TITLE_SIZE, note.size)
        };
        let bold_size = title_size * BOLD;
        sheet.lines(&content.title, &FontConfig { size: title_size, ..title }, bold_size);
        sheet.lines(&content.note, &FontConfig { size: note_size, ..note }, note_size);
        sheet
    }

    /// A text in lines that are not wider than the sheet, where those of `measured` are as wide as its own.
    fn lines(&mut self, text: &str, font: &FontConfig, measured: f32) {
        let room = self.style.width() - 2.0 * MARGIN;
        for line in wrapped(text, |line| room_of(line, measured) > room) {
            self.text(&line, font, (MARGIN, self.top + BASELINE), Anchor::Start);
            self.top += LINE_HEIGHT;
        }
    }

    /// Adds a text whose baseline is at a place.
    pub(super) fn text(
        &mut self,
        text: &str,
        font: &FontConfig,
        (x, y): (f32, f32),
        anchor: Anchor,
    ) {
        let anchor = match anchor {
            Anchor::Start => None,
            Anchor::Middle => Some("middle".to_owned()),
            Anchor::End => Some("end".to_owned()),
        };
        let text = Text {
            text: text.to_owned(),
            font_family: Some(FONTS.to_owned()),
            font_size: Some(font.size),
            font_color: Some(font.color),
            font_weight: font.weight.clone(),
            x: Some(x),
            y: Some(y),
            text_anchor: anchor,
            ..Text::default()
        };
        self.parts.push(text.svg());
    }

    /// Adds the names of series next to their marks, in as many rows as they need.
    pub(super) fn legend(&mut self, entries: &[LegendEntry<'_>]) {
        let font = self.theme.legend.font.clone();
        let mut left = MARGIN;
        for entry in entries {
            let width = MARK_WIDTH + GAP + room_of(entry.name, font.size);
            if left > MARGIN && left + width > self.style.width() - MARGIN {
                (left, self.top) = (MARGIN, self.top + LINE_HEIGHT);
            }
            let baseline = self.top + BASELINE;
            self.parts.push(entry.mark_at(left, baseline - MARK_MIDDLE));
            self.text(entry.name, &font, (left + MARK_WIDTH + GAP, baseline), Anchor::Start);
            left += width + ENTRY_GAP;
        }
        self.top += LINE_HEIGHT + LEGEND_GAP;
    }

    /// Adds labels left of a plot, each at a height of it.
    pub(super) fn labels_left_of(&mut self, plot: Plot, labels: &[(f32, String)]) {
        let font = self.theme.y_axis.font.clone();
        for (y, label) in labels {
            let place = (plot.left - GAP, y + font.size / 3.0);
            self.text(label, &font, place, Anchor::End);
        }
    }

    /// Adds a line across a plot.
    pub(super) fn line_across(&mut self, plot: Plot, y: f32) {
        let color = Some(self.theme.x_axis.stroke_color);
        let (left, right) = (plot.left, plot.right);
        self.parts.push(Line { color, left, right, top: y, bottom: y, ..Line::default() }.svg());
    }

    /// Adds labels of the time axis below a plot: as many as there is room for.
    pub(super) fn labels_below(&mut self, plot: Plot, labels: &[String]) {
        let font = self.theme.x_axis.font.clone();
        let color = Some(self.theme.x_axis.stroke_color);
        let slot = (plot.right - plot.left) / count(labels.len());
        let every = ((self.width_of_times(labels) + GAP) / slot).ceil().max(1.0) as usize;
        let mut center = plot.left + slot / 2.0;
        for label in labels.iter().step_by(every) {
            let (left, right, top) = (center, center, self.top);
            self.parts.push(
                Line { color, left, right, top, bottom: top + TICK, ..Line::default() }.svg(),
            );
            let place = (center, self.top + TICK + BASELINE);
            self.text(label, &font, place, Anchor::Middle);
            center += slot * count(every);
        }
        self.top += TICK + LINE_HEIGHT;
    }

    /// Width of the widest label of values.
    pub(super) fn width_of_values<'l>(&self, labels: impl IntoIterator<Item = &'l String>) -> f32 {
        widest(labels, self.theme.y_axis.font.size)
    }

    /// Width of the widest label of the time axis.
    pub(super) fn width_of_times(&self, labels: &[String]) -> f32 {
        widest(labels, self.theme.x_axis.font.size)
    }

    /// A plot of this height, with room for labels of these widths on both sides.
    pub(super) fn plot(&self, left: f32, right: f32, height: f32) -> Plot {
        let right = self.style.width() - MARGIN - right;
        Plot { left: MARGIN + left + GAP, right, top: self.top, height }
    }

    /// Has the library draw what is in the plot, and nothing around it.
    pub(super) fn place(&self, base: &mut ChartBase, plot: Plot) {
        (base.x, base.y) = (plot.left - OVERHANG, plot.top - OVERHANG);
        base.width = plot.right - plot.left + 2.0 * OVERHANG;
        base.height = plot.height + 2.0 * OVERHANG;
        base.margin = Margin::from(OVERHANG);
        FONTS.clone_into(&mut base.font_family);
        base.background_color = Color::transparent();
        base.legend.show = Some(false);
        (base.x_axis.hidden, base.y_axis_hidden) = (true, true);
    }

    /// Adds what is drawn in a plot.
    pub(super) fn drawn(&mut self, plot: Plot, svg: String) {
        self.parts.push(svg);
        self.top = plot.top + plot.height;
    }

    /// Colour of the names in a legend.
    pub(super) fn text_color(&self) -> Color {
        self.theme.legend.font.color
    }

    /// Font of the values of a ranking.
    pub(super) fn value_font(&self) -> FontConfig {
        self.theme.legend.font.clone()
    }

    pub(super) fn into_svg(self) -> String {
        let (width, height) = (self.style.width(), (self.top + MARGIN).ceil());
        let fill = Some(ground(self.style.theme).into());
        let ground = Rect { fill, width, height, ..Rect::default() }.svg();
        let parts = self.parts.join("\n");
        format!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             xmlns=\"http://www.w3.org/2000/svg\">\n{ground}\n{parts}\n</svg>"
        )
    }
}

impl LegendEntry<'_> {
    /// Mark of the series, its middle at a height.
    fn mark_at(&self, left: f32, middle: f32) -> String {
        if self.mark == SeriesMark::Bars {
            let (fill, top) = (Some(self.color.into()), middle - MARK_HEIGHT / 2.0);
            let (width, height) = (MARK_WIDTH, MARK_HEIGHT);
            return Rect { fill, left, top, width, height, ..Rect::default() }.svg();
        }
        let dashes = (self.mark == SeriesMark::Dashes).then(|| DASHES.to_owned());
        let line = Line {
            color: Some(self.color),
            stroke_width: 2.0,
            stroke_dash_array: dashes,
            left,
            right: left + MARK_WIDTH,
            top: middle,
            bottom: middle,
        };
        line.svg()
    }
}

/// Width that a text may have in any of [`FONTS`]. Characters of scripts that the measured font lacks, most of them as
/// wide as they are high, have a narrow one in it.
fn room_of(text: &str, size: f32) -> f32 {
    let measured = measure_text_width_family(FONTS, size, text).map_or(0.0, |found| found.width());
    let others = text.chars().filter(|char| *char >= FIRST_OF_OTHER_SCRIPTS).count();
    let more = if others > 0 { count(others) * size * MISSING_WIDTH } else { 0.0 };
    measured.mul_add(WIDER_FONT, more)
}

fn widest<'l>(labels: impl IntoIterator<Item = &'l String>, size: f32) -> f32 {
    labels.into_iter().map(|label| room_of(label, size)).fold(0.0, f32::max)
}

/// A number of labels, as a factor of lengths.
pub(super) fn count(labels: usize) -> f32 {
    f32::from(u16::try_from(labels).unwrap_or(u16::MAX)).max(1.0)
}

/// A text in lines that are not too wide, unless a word is.
fn wrapped(text: &str, is_wide: impl Fn(&str) -> bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match (lines.last_mut(), longer.filter(|longer| !is_wide(longer))) {
            (Some(line), Some(longer)) => *line = longer,
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

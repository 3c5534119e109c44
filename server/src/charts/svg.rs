//! Charts of reports as standalone SVG, drawn by one function for every report.

use charts_rs::{
    BarChart, ChartBase, Color, HorizontalBarChart, Series, SeriesCategory, Symbol, THEME_DARK,
    THEME_LIGHT, svg_with_accessibility,
};
use svctrack_core::{
    revenue::{Chart, ChartSeries, Report, ReportQuery, SeriesMark, UnfinishedIntervals},
    value::Number,
};
use svctrack_store::StoreError;
use svctrack_web::pages::grouped;

use super::{
    axis::ValueAxis,
    colors::{Style, ground},
    sheet::{Anchor, DASHES, LegendEntry, Plot, Sheet, count},
};

/// Height of a plot over time.
const PLOT_HEIGHT: f32 = 300.0;
/// Height of one of several plots, and the space below it.
const PANEL_HEIGHT: f32 = 180.0;
const PANEL_GAP: f32 = 14.0;
/// Height of a bar of a ranking.
const BAR_HEIGHT: f32 = 26.0;
/// Height of the lowest bar: it can still be seen, also where the chart is shown smaller.
const LEAST_BAR: f32 = 2.0;
/// Radius of a point of a line, and the least distance of two that are drawn.
const POINT_RADIUS: f32 = 2.5;
const LEAST_POINT_DISTANCE: f32 = 12.0;
/// Opacity of the bars of an interval that is not over, out of 255.
const UNFINISHED_ALPHA: u8 = 120;
/// Text of the chart of a report that has nothing to show.
const NO_DATA: &str = "no data";
/// Characters of a label of a ranking, and of a narrow one.
const MAX_LABEL_CHARS: usize = 28;
const MAX_NARROW_LABEL_CHARS: usize = 16;
/// Shortest label of a ranking, in characters, where values are wide.
const MIN_LABEL_CHARS: usize = 5;
/// Least width of the bars of a ranking, next to its labels and values.
const LEAST_PLOT_WIDTH: f32 = 80.0;

pub(crate) fn to_svg(report: &Report, query: &ReportQuery) -> Result<String, StoreError> {
    let content = report.chart(query);
    let theme = if query.is_dark() { THEME_DARK } else { THEME_LIGHT };
    let style = Style { theme, is_narrow: query.is_narrow() };
    let drawn =
        if content.is_ranking { ranking(&content, style) } else { over_time(&content, style) };
    let svg = drawn.map_err(|error| StoreError::Internal(error.to_string()))?;
    Ok(svg_with_accessibility(&svg, &content.title, &content.description))
}

fn over_time(content: &Chart, style: Style) -> charts_rs::Result<String> {
    let mut sheet = Sheet::with_heading(content, style);
    let panels = panels(content, style);
    let axes: Vec<_> = panels.iter().map(|panel| ValueAxis::around(panel.extent())).collect();
    let values: Vec<_> = axes.iter().flat_map(ValueAxis::labels).map(|(_, label)| label).collect();
    let right = sheet.width_of_times(&content.labels) / 2.0;
    let left = sheet.width_of_values(&values).max(right);
    let height = if panels.len() > 1 { PANEL_HEIGHT } else { PLOT_HEIGHT };
    for (panel, axis) in panels.iter().zip(axes) {
        sheet.legend(&panel.legend(sheet.text_color()));
        let plot = sheet.plot(left, right, height);
        panel.draw(&mut sheet, plot, axis)?;
        sheet.top += PANEL_GAP;
    }
    sheet.top -= PANEL_GAP;
    sheet.labels_below(sheet.plot(left, right, 0.0), &content.labels);
    Ok(sheet.into_svg())
}

/// Series that are drawn in one plot.
struct Panel<'c> {
    labels: &'c [String],
    series: &'c [ChartSeries],
    /// Place of the colour of the first series.
    first: usize,
    unfinished: UnfinishedIntervals,
    style: Style,
}

/// The panels of a chart. Colours begin in the lowest one.
fn panels(content: &Chart, style: Style) -> Vec<Panel<'_>> {
    let mut first: usize = content.panels.iter().map(Vec::len).sum();
    let panels = content.panels.iter().map(|series| {
        first -= series.len();
        Panel { labels: &content.labels, series, first, unfinished: content.unfinished, style }
    });
    panels.collect()
}

impl<'c> Panel<'c> {
    /// Names of the series, with their colours and marks.
    fn legend(&self, text: Color) -> Vec<LegendEntry<'c>> {
        let series = self.series.iter().zip(self.first..);
        let entries = series.map(|(drawn, at)| LegendEntry {
            name: &drawn.name,
            color: self.style.color(at),
            mark: drawn.mark,
        });
        let has_bars = self.series.iter().any(|drawn| drawn.mark == SeriesMark::Bars);
        let (color, mark) = if has_bars {
            (unfinished_of(text), SeriesMark::Bars)
        } else {
            (text, SeriesMark::Dashes)
        };
        let unfinished = LegendEntry { name: self.unfinished.name, color, mark };
        entries.chain((self.unfinished.count > 0).then_some(unfinished)).collect()
    }

    /// Draws the plot, and the labels of its values.
    fn draw(&self, sheet: &mut Sheet, plot: Plot, axis: ValueAxis) -> charts_rs::Result<()> {
        let svg = self.svg(sheet, plot, axis)?;
        sheet.drawn(plot, svg);
        let at = |value| axis.place_of(value, plot.top, plot.height);
        let labels = axis.labels().into_iter().map(|(value, label)| (at(value), label));
        sheet.labels_left_of(plot, &labels.collect::<Vec<_>>());
        sheet.line_across(plot, at(0.0));
        Ok(())
    }

    /// The lines and bars of the plot.
    fn svg(&self, sheet: &Sheet, plot: Plot, axis: ValueAxis) -> charts_rs::Result<String> {
        let least = (axis.highest - axis.lowest) * LEAST_BAR / plot.height;
        let series = self.series.iter().map(|drawn| series_of(drawn, least));
        let (series, colors) = self.unfinished_apart(series);
        let mut chart = BarChart::new_with_theme(series, self.labels.to_vec(), self.style.theme);
        self.paint(&mut chart.base);
        chart.base.series.colors = colors;
        sheet.place(&mut chart.base, plot);
        let is_dense = (plot.right - plot.left) / count(self.labels.len()) < LEAST_POINT_DISTANCE;
        let point = Symbol::Circle(POINT_RADIUS, Some(ground(self.style.theme)));
        chart.base.series.symbol = Some(if is_dense { Symbol::None } else { point });
        for config in &mut chart.y_axis_configs {
            (config.min, config.max) = (Some(axis.lowest), Some(axis.highest));
            config.split_number = axis.steps;
        }
        chart.svg()
    }

    /// The series with their colours: bars of intervals that are not over are lighter, and lines to them are dashed.
    fn unfinished_apart(&self, all: impl Iterator<Item = Series>) -> (Vec<Series>, Vec<Color>) {
        let over = self.labels.len().saturating_sub(self.unfinished.count);
        let mut apart = Vec::new();
        for (mut series, at) in all.zip(self.first..) {
            let color = self.style.color(at);
            if series.category.is_none() {
                let colors = (0..series.data.len()).map(|at| at >= over);
                let colors = colors.map(|is_open| is_open.then_some(unfinished_of(color)));
                series.colors = Some(colors.collect());
            } else if self.unfinished.count > 0 {
                let mut dashed = series.clone();
                dashed.stroke_dash_array = Some(DASHES.to_owned());
                dashed.data.iter_mut().take(over.saturating_sub(1)).for_each(|value| *value = None);
                series.data.truncate(over);
                apart.push((dashed, color));
            }
            apart.push((series, color));
        }
        apart.into_iter().unzip()
    }

    /// Colours of the series, and the text where there are none.
    fn paint(&self, base: &mut ChartBase) {
        let places = self.first..self.first + self.series.len();
        base.series.colors = places.map(|at| self.style.color(at)).collect();
        base.empty_text = Some(NO_DATA.to_owned());
    }

    /// Lowest and highest value: the bars of a label add up, those below zero separately.
    fn extent(&self) -> (f32, f32) {
        let mut extent = (0.0_f32, 0.0_f32);
        for place in 0..self.labels.len() {
            let mut bars = (0.0, 0.0);
            for drawn in self.series {
                let value = drawn.values.get(place).copied().flatten().map_or(0.0, height_of);
                let (below, above) = (value.min(0.0), value.max(0.0));
                if drawn.mark == SeriesMark::Bars {
                    bars = (bars.0 + below, bars.1 + above);
                } else {
                    extent = (extent.0.min(below), extent.1.max(above));
                }
            }
            extent = (extent.0.min(bars.0), extent.1.max(bars.1));
        }
        extent
    }

    /// Draws a ranking: labels, bars and values.
    fn rank(&self, sheet: &mut Sheet) -> charts_rs::Result<()> {
        // Each item of a ranking has a value.
        let numbers = self.series.iter().flat_map(|drawn| &drawn.values);
        let numbers: Vec<Number> = numbers.copied().flatten().collect();
        let values: Vec<_> = numbers.iter().map(|number| value_label(*number)).collect();
        let (labels, plot) = self.ranked_labels(sheet, sheet.width_of_values(&values));
        let (lowest, highest) = self.extent();
        let svg = self.ranked(sheet, plot)?;
        sheet.drawn(plot, svg);
        let rows = labels.into_iter().zip(1_u16..);
        let middle = |row| BAR_HEIGHT.mul_add(f32::from(row) - 0.5, plot.top);
        let labels: Vec<_> = rows.map(|(label, row)| (middle(row), label)).collect();
        sheet.labels_left_of(plot, &labels);
        let share = (plot.right - plot.left) / (highest - lowest).max(f32::MIN_POSITIVE);
        let font = sheet.value_font();
        for ((number, value), (y, _)) in numbers.into_iter().zip(values).zip(labels) {
            let end = (height_of(number).max(0.0) - lowest).mul_add(share, plot.left);
            sheet.text(&value, &font, (end + 4.0, y + font.size / 3.0), Anchor::Start);
        }
        Ok(())
    }

    /// Labels of a ranking, as long as they leave room for the bars, and its plot.
    fn ranked_labels(&self, sheet: &Sheet, right: f32) -> (Vec<String>, Plot) {
        let mut most = if self.style.is_narrow { MAX_NARROW_LABEL_CHARS } else { MAX_LABEL_CHARS };
        loop {
            let labels: Vec<_> = self.labels.iter().map(|label| shortened(label, most)).collect();
            let left = sheet.width_of_values(&labels);
            let plot = sheet.plot(left, right, BAR_HEIGHT * count(labels.len()));
            if plot.right - plot.left >= LEAST_PLOT_WIDTH || most <= MIN_LABEL_CHARS {
                return (labels, plot);
            }
            most -= 1;
        }
    }

    /// The bars of a ranking, the first at the top.
    fn ranked(&self, sheet: &Sheet, plot: Plot) -> charts_rs::Result<String> {
        // The label of a bar is its value, however short the bar is.
        let series = self.series.iter().map(|drawn| series_of(drawn, 0.0));
        let mut series: Vec<Series> = series.collect();
        // Bars are drawn from the bottom up.
        series.iter_mut().for_each(|series| series.data.reverse());
        let labels = self.labels.to_vec();
        let mut chart = HorizontalBarChart::new_with_theme(series, labels, self.style.theme);
        self.paint(&mut chart.base);
        sheet.place(&mut chart.base, plot);
        chart.base.grid.stroke_width = 0.0;
        let (lowest, highest) = self.extent();
        for config in chart.y_axis_configs.iter_mut().filter(|_| lowest < highest) {
            (config.min, config.max) = (Some(lowest), Some(highest));
        }
        chart.svg()
    }
}

fn ranking(content: &Chart, style: Style) -> charts_rs::Result<String> {
    // Without items, a ranking has no height for the text in a plot.
    if content.labels.is_empty() {
        return over_time(content, style);
    }
    let mut sheet = Sheet::with_heading(content, style);
    for panel in panels(content, style) {
        sheet.legend(&panel.legend(sheet.text_color()));
        panel.rank(&mut sheet)?;
    }
    Ok(sheet.into_svg())
}

/// A value of a ranking: in whole units and cents.
fn value_label(number: Number) -> String {
    grouped(&number.as_decimal().round_dp(2).to_string())
}

/// A label of at most this many characters.
fn shortened(label: &str, most: usize) -> String {
    let cut = label.chars().nth(most).and_then(|_| label.char_indices().nth(most - 1));
    cut.and_then(|(at, _)| label.get(..at)).map_or(label.to_owned(), |cut| format!("{cut}…"))
}

/// Series of a chart whose bars are at least as high as that of the value `least`, unless they are 0.
fn series_of(drawn: &ChartSeries, least: f32) -> Series {
    let height = |number| match height_of(number) {
        value if value != 0.0 && drawn.mark == SeriesMark::Bars => {
            value.abs().max(least).copysign(value)
        }
        value => value,
    };
    let values = drawn.values.iter().map(|value| value.map(height)).collect();
    let mut series = Series::new_nullable(drawn.name.clone(), values);
    match drawn.mark {
        SeriesMark::Bars => series.stack = Some("bars".to_owned()),
        SeriesMark::Line => series.category = Some(SeriesCategory::Line),
        SeriesMark::Dashes => {
            series.category = Some(SeriesCategory::Line);
            series.stroke_dash_array = Some(DASHES.to_owned());
        }
    }
    series
}

/// The lighter colour of what is not over.
fn unfinished_of(color: Color) -> Color {
    color.with_alpha(UNFINISHED_ALPHA)
}

/// A number as precise as a chart is.
fn height_of(number: Number) -> f32 {
    number.to_string().parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_of_a_label_add_up_and_lines_do_not() {
        let drawn = |mark, values: [i64; 2]| {
            let values = values.map(|value| Number::parse(&value.to_string())).to_vec();
            ChartSeries { name: String::new(), values, mark }
        };
        let series = vec![
            drawn(SeriesMark::Bars, [40, 5]),
            drawn(SeriesMark::Bars, [22, -3]),
            drawn(SeriesMark::Bars, [-9, -4]),
            drawn(SeriesMark::Line, [60, -1]),
        ];
        let labels = vec!["a".to_owned(), "b".to_owned()];
        let content = Chart { labels, panels: vec![series], ..Chart::default() };
        let style = Style { theme: THEME_LIGHT, is_narrow: false };
        let extents: Vec<_> = panels(&content, style).iter().map(Panel::extent).collect();
        assert_eq!(extents, [(-9.0, 62.0)]);
    }

    #[test]
    fn a_bar_that_is_not_zero_is_at_least_a_pixel_high() {
        let drawn = |mark, values: [&str; 3]| {
            let values = values.map(Number::parse).to_vec();
            ChartSeries { name: String::new(), values, mark }
        };
        let series = vec![
            drawn(SeriesMark::Bars, ["0.01", "-0.01", "0"]),
            drawn(SeriesMark::Line, ["400000", "0", "1"]),
        ];
        let labels = ["a", "b", "c"].map(str::to_owned).to_vec();
        let content = Chart { labels, panels: vec![series], ..Chart::default() };
        let style = Style { theme: THEME_LIGHT, is_narrow: false };
        let svg = over_time(&content, style).unwrap();
        let bars = svg.split("<rect ").filter(|rect| rect.contains("#5B7CF5"));
        let heights: Vec<f32> = bars
            .filter_map(|bar| bar.split("height=\"").nth(1)?.split('"').next()?.parse().ok())
            .collect();
        assert!(
            matches!(heights[..], [_mark, a, b, 0.0] if a > 1.1 && b > 1.1),
            "{heights:?}: {svg}"
        );
    }

    #[test]
    fn a_narrow_ranking_has_bars_next_to_any_names_and_values() {
        for name in ["ACME MANUFACTURING COMPANY", "株式会社日本電気通信システム"] {
            let values = vec![Number::parse("12345678901.23")];
            let series = vec![ChartSeries { name: String::new(), values, mark: SeriesMark::Bars }];
            let labels = vec![name.to_owned()];
            let content = Chart { labels, panels: vec![series], ..Chart::default() };
            let style = Style { theme: THEME_LIGHT, is_narrow: true };
            let (sheet, panel) =
                (Sheet::with_heading(&content, style), &panels(&content, style)[0]);
            let values = sheet.width_of_values(&["12,345,678,901.23".to_owned()]);
            let (labels, plot) = panel.ranked_labels(&sheet, values);
            assert!(plot.right - plot.left >= LEAST_PLOT_WIDTH, "{labels:?}: {plot:?}");
            assert!(labels[0].chars().count() >= MIN_LABEL_CHARS, "{labels:?}");
            let square = sheet.value_font().size * count(labels[0].chars().count() - 1);
            assert!(name.is_ascii() || plot.left > square, "{labels:?}: {plot:?}");
        }
    }
}

//! Charts of reports as standalone SVG, drawn by one function for every report.

use charts_rs::{
    BarChart, ChartBase, Color, HorizontalBarChart, Series, SeriesCategory, THEME_DARK,
    THEME_LIGHT, YAxisConfig, svg_with_accessibility,
};
use svctrack_core::{
    revenue::{Drawn, Mark, Picture, Report, ReportQuery},
    value::Number,
};
use svctrack_store::StoreError;

const WIDTH: f32 = 960.0;
const HEIGHT: f32 = 420.0;
/// Height of a bar of a ranking, and of the space around all of them.
const BAR_HEIGHT: f32 = 26.0;
const FRAME_HEIGHT: f32 = 120.0;
/// Space on the right of a ranking for the label of its longest bar.
const LABEL_WIDTH: f32 = 60.0;
/// Space on the right for the half of the last label that is beyond its place.
const LAST_LABEL_WIDTH: f32 = 30.0;
/// Background of dark charts: that of the pages.
const DARK_GROUND: (u8, u8, u8) = (0x14, 0x16, 0x1b);
/// Text of the chart of a report that has nothing to show.
const NO_DATA: &str = "no data";
/// Steps of an axis; one more where values below zero are not whole steps.
const STEPS: f32 = 5.0;
/// Characters of a label of a ranking.
const MAX_LABEL_CHARS: usize = 28;

/// The fonts that texts are shown with. The library knows no family of this name and measures with Roboto: where that is
/// not installed, the next ones are about as wide.
const FONTS: &str = "Roboto, Arial, 'Liberation Sans', Helvetica, sans-serif";
/// Height of the line below the title.
const NOTE_HEIGHT: f32 = 20.0;

/// The picture of a report.
pub(super) fn to_svg(report: &Report, query: &ReportQuery) -> Result<String, StoreError> {
    let picture = report.picture(query);
    let theme = if query.is_dark() { THEME_DARK } else { THEME_LIGHT };
    let drawn =
        if picture.is_ranking { ranking(&picture, theme) } else { over_time(&picture, theme) };
    let svg = drawn.map_err(|error| StoreError::Internal(error.to_string()))?;
    Ok(svg_with_accessibility(&svg, &picture.title, &picture.description))
}

fn over_time(picture: &Picture, theme: &str) -> charts_rs::Result<String> {
    let series = picture.series.iter().map(series_of).collect();
    let mut chart = BarChart::new_with_theme(series, picture.labels.clone(), theme);
    (chart.base.width, chart.base.height) = (WIDTH, HEIGHT);
    frame(&mut chart.base, picture, theme);
    chart.base.margin.right += LAST_LABEL_WIDTH;
    for axis in &mut chart.y_axis_configs {
        axis.formatter = Some("{t}".to_owned());
        fit(axis, extent(picture));
    }
    chart.svg()
}

/// Lowest and highest value of the chart: the bars of a label add up, those below zero separately.
fn extent(picture: &Picture) -> (f32, f32) {
    let mut extent = (0.0_f32, 0.0_f32);
    for place in 0..picture.labels.len() {
        let mut bars = (0.0, 0.0);
        for drawn in &picture.series {
            let value = drawn.values.get(place).copied().flatten().map_or(0.0, height_of);
            let (below, above) = (value.min(0.0), value.max(0.0));
            if drawn.mark == Mark::Bars {
                bars = (bars.0 + below, bars.1 + above);
            } else {
                extent = (extent.0.min(below), extent.1.max(above));
            }
        }
        extent = (extent.0.min(bars.0), extent.1.max(bars.1));
    }
    extent
}

/// Extends an axis around all values, in round steps: those of the library are odd, and where values are below zero, it
/// may end too early.
fn fit(axis: &mut YAxisConfig, (lowest, highest): (f32, f32)) {
    if lowest < highest {
        let step = round_step((highest - lowest) / STEPS);
        let (below, above) = ((lowest / step).floor(), (highest / step).ceil());
        (axis.min, axis.max) = (Some(below * step), Some(above * step));
        axis.split_number = (above - below) as usize;
    }
}

/// Least step that is not below this one and easy to read: 1, 2, 2.5 or 5 of a power of ten.
fn round_step(least: f32) -> f32 {
    let power = 10_f32.powf(least.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0].map(|step| step * power);
    steps.into_iter().find(|step| *step >= least).unwrap_or(10.0 * power)
}

fn ranking(picture: &Picture, theme: &str) -> charts_rs::Result<String> {
    let mut series: Vec<Series> = picture.series.iter().map(series_of).collect();
    for series in &mut series {
        // Bars are drawn from the bottom up.
        series.data.reverse();
        series.label_show = true;
    }
    let short = |label: &String| label.chars().take(MAX_LABEL_CHARS).collect();
    let labels: Vec<String> = picture.labels.iter().rev().map(short).collect();
    let count = u16::try_from(labels.len()).unwrap_or(u16::MAX);
    let mut chart = HorizontalBarChart::new_with_theme(series, labels, theme);
    chart.base.width = WIDTH;
    chart.base.margin.right += LABEL_WIDTH;
    chart.base.height = f32::from(count).mul_add(BAR_HEIGHT, FRAME_HEIGHT);
    frame(&mut chart.base, picture, theme);
    chart.svg()
}

/// What every chart has around what it draws: the title, and below it what is not drawn.
fn frame(base: &mut ChartBase, picture: &Picture, theme: &str) {
    FONTS.clone_into(&mut base.font_family);
    base.title.text.clone_from(&picture.title);
    base.background_color = ground(theme);
    base.empty_text = Some(NO_DATA.to_owned());
    if !picture.note.is_empty() {
        base.sub_title.text.clone_from(&picture.note);
        base.height += NOTE_HEIGHT;
    }
}

fn ground(theme: &str) -> Color {
    if theme == THEME_DARK { DARK_GROUND.into() } else { Color::white() }
}

fn series_of(drawn: &Drawn) -> Series {
    let values = drawn.values.iter().map(|value| value.map(height_of)).collect();
    let mut series = Series::new_nullable(drawn.name.clone(), values);
    match drawn.mark {
        Mark::Bars => series.stack = Some("bars".to_owned()),
        Mark::Line => series.category = Some(SeriesCategory::Line),
        Mark::Dashes => {
            series.category = Some(SeriesCategory::Line);
            series.stroke_dash_array = Some("4,4".to_owned());
        }
    }
    series
}

/// A number as precise as a picture is.
fn height_of(number: Number) -> f32 {
    number.to_string().parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_reaches_around_all_that_is_drawn_in_round_steps() {
        for (lowest, highest, expect) in [
            (-16.0, 62.0, (-20.0, 80.0, 5)),
            (-1.0, 0.0, (-1.0, 0.0, 5)),
            (-0.25, 0.15, (-0.3, 0.2, 5)),
            (-1_234.0, 98_765.0, (-20_000.0, 100_000.0, 6)),
            (-62.0, 16.0, (-80.0, 20.0, 5)),
            (0.0, 92_000.0, (0.0, 100_000.0, 5)),
            (0.0, 7.0, (0.0, 8.0, 4)),
        ] {
            let mut axis = YAxisConfig::default();
            fit(&mut axis, (lowest, highest));
            let found = (axis.min.unwrap(), axis.max.unwrap(), axis.split_number);
            assert!((found.0 - expect.0).abs() < 1e-3, "{found:?}");
            assert!((found.1 - expect.1).abs() < 1e-3, "{found:?}");
            assert_eq!(found.2, expect.2, "{found:?}");
        }
        let mut axis = YAxisConfig::default();
        fit(&mut axis, (0.0, 0.0));
        assert_eq!(axis.max, None);
    }

    #[test]
    fn bars_of_a_label_add_up_and_lines_do_not() {
        let drawn = |mark, values: [i64; 2]| {
            let values = values.map(|value| Number::parse(&value.to_string())).to_vec();
            Drawn { name: String::new(), values, mark }
        };
        let series = vec![
            drawn(Mark::Bars, [40, 5]),
            drawn(Mark::Bars, [22, -3]),
            drawn(Mark::Bars, [-9, -4]),
            drawn(Mark::Line, [60, -1]),
        ];
        let labels = vec!["a".to_owned(), "b".to_owned()];
        let (title, note, description) = (String::new(), String::new(), String::new());
        let picture = Picture { title, note, description, labels, series, is_ranking: false };
        assert_eq!(extent(&picture), (-9.0, 62.0));
    }
}

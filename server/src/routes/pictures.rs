//! Pictures of reports, as standalone SVG: drawn by one function, whatever the report.

use charts_rs::{
    BarChart, Color, HorizontalBarChart, Series, SeriesCategory, THEME_DARK, THEME_LIGHT,
    svg_with_accessibility,
};
use svctrack_core::{
    revenue::{Drawn, Mark, Picture, Report, ReportQuery},
    value::Number,
};
use svctrack_store::StoreError;

const WIDTH: f32 = 960.0;
const HEIGHT: f32 = 420.0;
/// Height of a bar of a ranking, and of what is around all of them.
const BAR_HEIGHT: f32 = 26.0;
const FRAME_HEIGHT: f32 = 120.0;
/// Room on the right of a ranking for the label of its longest bar.
const LABEL_WIDTH: f32 = 60.0;
/// What dark pictures are drawn on: the ground of the pages.
const DARK_GROUND: (u8, u8, u8) = (0x14, 0x16, 0x1b);
/// What is drawn of a report that has nothing to show.
const NO_DATA: &str = "no data";
/// Characters of a label of a ranking.
const MAX_LABEL_CHARS: usize = 28;

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
    chart.base.title.text.clone_from(&picture.title);
    chart.base.background_color = ground(theme);
    chart.base.empty_text = Some(NO_DATA.to_owned());
    for axis in &mut chart.y_axis_configs {
        axis.formatter = Some("{t}".to_owned());
    }
    chart.svg()
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
    chart.base.title.text.clone_from(&picture.title);
    chart.base.background_color = ground(theme);
    chart.base.empty_text = Some(NO_DATA.to_owned());
    chart.svg()
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

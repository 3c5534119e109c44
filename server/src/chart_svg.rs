//! Charts of reports as standalone SVG, drawn by one function for every report.

use charts_rs::{
    BarChart, ChartBase, Color, FontConfig, HorizontalBarChart, LegendCategory, Margin, Series,
    SeriesCategory, THEME_DARK, THEME_LIGHT, TextConfig, YAxisConfig, measure_text_width_family,
    svg_with_accessibility,
};
use svctrack_core::{
    revenue::{Chart, ChartSeries, Mark, Report, ReportQuery},
    value::Number,
};
use svctrack_store::StoreError;

const WIDTH: f32 = 960.0;
/// Width of a chart on a phone, where its texts are as large as those of the page.
const NARROW_WIDTH: f32 = 360.0;
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
/// Height of the lowest bar, as a part of [`HEIGHT`]: a bar of a pixel can still be seen next to a high line, also where
/// the chart is shown smaller and its axis begins and ends beyond its values.
const LEAST_BAR: f32 = 3.0;
/// Colours of series on a light and on a dark background, in their order: each has a contrast of 3 to the background,
/// and differs from the next one also for colour-blind readers. The fourth is red: churn, and what was lost.
const LIGHT_SERIES: [(u8, u8, u8); 8] = [
    (0x5b, 0x7c, 0xf5),
    (0x00, 0x58, 0x84),
    (0x2f, 0x9e, 0x77),
    (0xa8, 0x20, 0x1a),
    (0xc4, 0x7d, 0x1c),
    (0x1a, 0x1d, 0x23),
    (0x64, 0x15, 0x9a),
    (0xdd, 0x3c, 0x8a),
];
const DARK_SERIES: [(u8, u8, u8); 8] = [
    (0x82, 0xb2, 0xfd),
    (0x1f, 0x7b, 0xa3),
    (0x5f, 0xe0, 0xa4),
    (0xe0, 0x37, 0x3f),
    (0xf2, 0xaa, 0x3c),
    (0xe8, 0xea, 0xee),
    (0xbb, 0x90, 0xe7),
    (0xd2, 0x30, 0x7f),
];
/// Text of the chart of a report that has nothing to show.
const NO_DATA: &str = "no data";
/// Steps of an axis; one more where values below zero are not whole steps.
const STEPS: f32 = 5.0;
/// Characters of a label of a ranking, and of a narrow one.
const MAX_LABEL_CHARS: usize = 28;
const MAX_NARROW_LABEL_CHARS: usize = 16;
/// Space below the legend of a narrow chart, which is above the label of the axis.
const LEGEND_GAP: f32 = 8.0;

/// The fonts that texts are shown with. The library knows no family of this name and measures with Roboto: where that is
/// not installed, the next ones are about as wide.
const FONTS: &str = "Roboto, Arial, 'Liberation Sans', Helvetica, sans-serif";
/// Height of a line below the title.
const NOTE_HEIGHT: f32 = 20.0;
/// Sizes of the lines above a narrow chart: the title, and what is not drawn.
const NARROW_TITLE_SIZE: f32 = 15.0;
const NARROW_NOTE_SIZE: f32 = 13.0;
/// How much wider a text may be in another of [`FONTS`] than in the one that measures it.
const WIDER_FONT: f32 = 1.3;

/// How a chart is drawn.
#[derive(Clone, Copy, Debug)]
struct Style {
    theme: &'static str,
    is_narrow: bool,
}

pub(super) fn to_svg(report: &Report, query: &ReportQuery) -> Result<String, StoreError> {
    let content = report.chart(query);
    let theme = if query.is_dark() { THEME_DARK } else { THEME_LIGHT };
    let style = Style { theme, is_narrow: query.is_narrow() };
    let drawn =
        if content.is_ranking { ranking(&content, style) } else { over_time(&content, style) };
    let svg = drawn.map_err(|error| StoreError::Internal(error.to_string()))?;
    Ok(svg_with_accessibility(&svg, &content.title, &content.description))
}

fn over_time(content: &Chart, style: Style) -> charts_rs::Result<String> {
    let (lowest, highest) = extent(content);
    let least = (highest - lowest) * LEAST_BAR / HEIGHT;
    let series = content.series.iter().map(|drawn| series_of(drawn, least)).collect();
    let mut chart = BarChart::new_with_theme(series, content.labels.clone(), style.theme);
    (chart.base.width, chart.base.height) = (style.width(), HEIGHT);
    frame(&mut chart.base, content, style);
    chart.base.margin.right += LAST_LABEL_WIDTH;
    for axis in &mut chart.y_axis_configs {
        axis.formatter = Some("{t}".to_owned());
        fit(axis, (lowest, highest));
    }
    chart.svg()
}

/// Lowest and highest value of the chart: the bars of a label add up, those below zero separately.
fn extent(content: &Chart) -> (f32, f32) {
    let mut extent = (0.0_f32, 0.0_f32);
    for place in 0..content.labels.len() {
        let mut bars = (0.0, 0.0);
        for drawn in &content.series {
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

fn ranking(content: &Chart, style: Style) -> charts_rs::Result<String> {
    // The label of a bar is its value, however short the bar is.
    let series = content.series.iter().map(|drawn| series_of(drawn, 0.0));
    let mut series: Vec<Series> = series.collect();
    for series in &mut series {
        // Bars are drawn from the bottom up.
        series.data.reverse();
        series.label_show = true;
    }
    let most = if style.is_narrow { MAX_NARROW_LABEL_CHARS } else { MAX_LABEL_CHARS };
    let short = |label: &String| shortened(label, most);
    let labels: Vec<String> = content.labels.iter().rev().map(short).collect();
    let count = u16::try_from(labels.len()).unwrap_or(u16::MAX);
    let mut chart = HorizontalBarChart::new_with_theme(series, labels, style.theme);
    chart.base.width = style.width();
    chart.base.margin.right += LABEL_WIDTH;
    chart.base.height = f32::from(count).mul_add(BAR_HEIGHT, FRAME_HEIGHT);
    frame(&mut chart.base, content, style);
    if style.is_narrow {
        // Half as many steps: their labels are next to each other.
        chart.y_axis_configs.iter_mut().for_each(|axis| axis.split_number /= 2);
    }
    chart.svg()
}

/// A label of at most this many characters.
fn shortened(label: &str, most: usize) -> String {
    let cut = label.chars().nth(most).and_then(|_| label.char_indices().nth(most - 1));
    cut.and_then(|(at, _)| label.get(..at)).map_or(label.to_owned(), |cut| format!("{cut}…"))
}

/// What every chart has around what it draws: the title, and below it what is not drawn.
fn frame(base: &mut ChartBase, content: &Chart, style: Style) {
    FONTS.clone_into(&mut base.font_family);
    base.background_color = ground(style.theme);
    base.series.colors = series_colors(style.theme).map(Color::from).to_vec();
    base.empty_text = Some(NO_DATA.to_owned());
    if content.series.iter().any(|drawn| drawn.mark == Mark::Bars) {
        base.legend.category = LegendCategory::Rect;
    }
    if style.is_narrow {
        base.legend.margin = Some(Margin { bottom: LEGEND_GAP, ..Margin::default() });
        base.texts = narrow_lines(base, content);
        base.height += NOTE_HEIGHT * f32::from(u8::try_from(base.texts.len()).unwrap_or(u8::MAX));
        return;
    }
    base.title.text.clone_from(&content.title);
    if !content.note.is_empty() {
        base.sub_title.text.clone_from(&content.note);
        base.height += NOTE_HEIGHT;
    }
}

/// The title and the note of a narrow chart: in lines, where a title of the library has one line, which it cuts.
fn narrow_lines(base: &ChartBase, content: &Chart) -> Vec<TextConfig> {
    let bold = Some("bold".to_owned());
    let title = FontConfig { size: NARROW_TITLE_SIZE, color: base.title.font.color, weight: bold };
    let note = FontConfig { size: NARROW_NOTE_SIZE, weight: None, ..title.clone() };
    let room = (base.width - base.margin.left - base.margin.right) / WIDER_FONT;
    let lines = |text: &str, font: &FontConfig| -> Vec<(String, FontConfig)> {
        let is_wide = |line: &str| {
            measure_text_width_family(FONTS, font.size, line).is_ok_and(|it| it.width() > room)
        };
        wrapped(text, is_wide).into_iter().map(|line| (line, font.clone())).collect()
    };
    let all = [lines(&content.title, &title), lines(&content.note, &note)].concat();
    let mut top = base.margin.top;
    let placed = |(text, font)| {
        let line =
            TextConfig { text, font, top: Some(top), reserve: true, ..TextConfig::default() };
        top += NOTE_HEIGHT;
        line
    };
    all.into_iter().map(placed).collect()
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

impl Style {
    fn width(self) -> f32 {
        if self.is_narrow { NARROW_WIDTH } else { WIDTH }
    }
}

fn ground(theme: &str) -> Color {
    if theme == THEME_DARK { DARK_GROUND.into() } else { Color::white() }
}

fn series_colors(theme: &str) -> [(u8, u8, u8); 8] {
    if theme == THEME_DARK { DARK_SERIES } else { LIGHT_SERIES }
}

/// Series of a chart whose bars are at least as high as that of the value `least`, unless they are 0.
fn series_of(drawn: &ChartSeries, least: f32) -> Series {
    let height = |number| match height_of(number) {
        value if value != 0.0 && drawn.mark == Mark::Bars => value.abs().max(least).copysign(value),
        value => value,
    };
    let values = drawn.values.iter().map(|value| value.map(height)).collect();
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

/// A number as precise as a chart is.
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
            ChartSeries { name: String::new(), values, mark }
        };
        let series = vec![
            drawn(Mark::Bars, [40, 5]),
            drawn(Mark::Bars, [22, -3]),
            drawn(Mark::Bars, [-9, -4]),
            drawn(Mark::Line, [60, -1]),
        ];
        let labels = vec!["a".to_owned(), "b".to_owned()];
        let (title, note, description) = (String::new(), String::new(), String::new());
        let content = Chart { title, note, description, labels, series, is_ranking: false };
        assert_eq!(extent(&content), (-9.0, 62.0));
    }

    /// A channel of a colour, as the share of the light that it emits.
    fn linear(channel: u8) -> f64 {
        let share = f64::from(channel) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    }

    fn weighted((r, g, b): (u8, u8, u8), [of_r, of_g, of_b]: [f64; 3]) -> f64 {
        linear(r) * of_r + linear(g) * of_g + linear(b) * of_b
    }

    /// Contrast of two colours, as WCAG defines it.
    fn contrast(one: (u8, u8, u8), other: (u8, u8, u8)) -> f64 {
        let [one, other] = [one, other].map(|it| weighted(it, [0.2126, 0.7152, 0.0722]) + 0.05);
        one.max(other) / one.min(other)
    }

    /// Distance of two colours in the space OKLab, in which equal distances look equal; black and white have 1.
    fn distance(one: (u8, u8, u8), other: (u8, u8, u8)) -> f64 {
        let lab = |color| {
            let [l, m, s] = [
                [0.412_221, 0.536_333, 0.051_446],
                [0.211_903, 0.680_700, 0.107_397],
                [0.088_302, 0.281_719, 0.629_979],
            ]
            .map(|of| weighted(color, of).cbrt());
            [
                0.210_454 * l + 0.793_618 * m - 0.004_072 * s,
                1.977_998 * l - 2.428_592 * m + 0.450_594 * s,
                0.025_904 * l + 0.782_772 * m - 0.808_676 * s,
            ]
        };
        let pairs = lab(one).into_iter().zip(lab(other));
        pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn series_contrast_with_the_background_and_with_each_other_in_both_themes() {
        let page = include_str!("../../web/static/theme.css");
        let grounds = [(0xff, 0xff, 0xff), DARK_GROUND];
        let [light, dark] = grounds.map(|(r, g, b)| format!("#{r:02x}{g:02x}{b:02x}"));
        assert!(page.contains(&format!("--bg: light-dark({light}, {dark});")));
        for (theme, ground) in [THEME_LIGHT, THEME_DARK].into_iter().zip(grounds) {
            let colors = series_colors(theme);
            let next = colors.iter().cycle().skip(1);
            for (color, next) in colors.iter().zip(next) {
                let (seen, apart) = (contrast(*color, ground), distance(*color, *next));
                assert!(seen >= 3.0, "{theme}: {color:x?} has a contrast of {seen}");
                assert!(apart >= 0.2, "{theme}: {color:x?} and {next:x?} are {apart} apart");
            }
        }
        assert!((contrast((0, 0, 0), (255, 255, 255)) - 21.0).abs() < 1e-6);
    }

    #[test]
    fn a_bar_that_is_not_zero_is_at_least_a_pixel_high() {
        let drawn = |mark, values: [&str; 3]| {
            let values = values.map(Number::parse).to_vec();
            ChartSeries { name: String::new(), values, mark }
        };
        let series = vec![
            drawn(Mark::Bars, ["0.01", "-0.01", "0"]),
            drawn(Mark::Line, ["400000", "0", "1"]),
        ];
        let labels = ["a", "b", "c"].map(str::to_owned).to_vec();
        let (title, note, description) = (String::new(), String::new(), String::new());
        let content = Chart { title, note, description, labels, series, is_ranking: false };
        let style = Style { theme: THEME_LIGHT, is_narrow: false };
        let svg = over_time(&content, style).unwrap();
        let bars = svg.split("<rect ").filter(|rect| rect.contains("#5B7CF5"));
        let heights: Vec<f32> = bars
            .filter_map(|bar| bar.split("height=\"").nth(1)?.split('"').next()?.parse().ok())
            .collect();
        assert!(matches!(heights[..], [a, b, 0.0] if a > 1.1 && b > 1.1), "{heights:?}: {svg}");
    }
}

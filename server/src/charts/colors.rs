//! The two themes of charts: widths, backgrounds and colours of series.

use charts_rs::{Color, THEME_DARK};

/// Width of a chart, and on a phone, where its texts are as large as those of the page.
const WIDTH: f32 = 960.0;
const NARROW_WIDTH: f32 = 360.0;
/// Background of dark charts: that of the pages.
const DARK_GROUND: (u8, u8, u8) = (0x14, 0x16, 0x1b);
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

/// How a chart is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) theme: &'static str,
    pub(super) is_narrow: bool,
}

impl Style {
    pub(super) fn width(self) -> f32 {
        if self.is_narrow { NARROW_WIDTH } else { WIDTH }
    }

    /// Colour of a series, by its place.
    pub(super) fn color(self, series: usize) -> Color {
        let colors = series_colors(self.theme);
        colors.into_iter().cycle().nth(series % colors.len()).unwrap_or_default().into()
    }
}

pub(super) fn ground(theme: &str) -> Color {
    if theme == THEME_DARK { DARK_GROUND.into() } else { Color::white() }
}

fn series_colors(theme: &str) -> [(u8, u8, u8); 8] {
    if theme == THEME_DARK { DARK_SERIES } else { LIGHT_SERIES }
}

#[cfg(test)]
mod tests {
    use charts_rs::THEME_LIGHT;

    use super::*;

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
        let page = include_str!("../../../web/static/theme.css");
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
}

//! Charts of reports as SVG. What a chart shows is decided in `core`.

mod axis;
mod colors;
mod sheet;
pub(crate) mod svg;

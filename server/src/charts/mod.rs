//! Charts of reports as SVG. What a chart shows is decided in `core`.

pub(crate) mod axis;
pub(crate) mod colors;
pub(crate) mod sheet;
pub(crate) mod svg;

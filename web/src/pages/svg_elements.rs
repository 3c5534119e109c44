//! The elements of pictures within pages, for the check of names.

pub(super) mod hypertext_elements {
    use hypertext::define_elements;
    pub(in crate::pages) use hypertext::validation::hypertext_elements::*;

    define_elements! {
        /// A picture in the text of a page, with these sizes.
        svg { width height }
        /// A group, named by its `title`.
        g
        /// A rectangle of a class, which sets its colour.
        rect { x y width height rx }
        /// A text in a picture.
        text { x y }
        /// A line of a class, which sets its colour.
        line { x1 y1 x2 y2 }
    }
}

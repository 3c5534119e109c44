//! Saved views of a list: links to each, and the form that saves or removes the shown one.

use hypertext::prelude::*;

use super::{
    address::address,
    shell::{Shell, csrf, hidden},
};

/// A view of a list that was saved under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedView {
    pub name: String,
    /// Address of the list with this view.
    pub path: String,
}

/// The saved views of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedViews {
    /// Address of the list, without a query.
    pub list: String,
    pub saved: Vec<SavedView>,
    /// Whether views may be saved and removed.
    pub may_save: bool,
}

/// Saved views, and the form that saves or removes the shown one: the list with `query`.
pub(super) fn saved_views<'v>(
    shell: &'v Shell,
    views: &'v SavedViews,
    query: &[(&str, &str)],
) -> impl Renderable + 'v {
    let path = address(&views.list, &[], query);
    let query = path.split_once('?').map_or("", |(_, query)| query).to_owned();
    let is_shown = move |saved: &SavedView| saved.path == path;
    let shown = views.saved.iter().find(|saved| is_shown(saved));
    let action = address(&[&views.list, "/views"].concat(), &[], &[]);
    maud! {
        @if !views.saved.is_empty() {
            nav.views aria-label="Saved views" {
                @for saved in &views.saved {
                    a href=(saved.path) aria-current=[is_shown(saved).then_some("page")] { (saved.name) }
                }
            }
        }
        @if views.may_save && !query.is_empty() {
            @match shown {
                Some(saved) => form.views method="post" action=(action) {
                    (csrf(shell))
                    (hidden("name", &saved.name))
                    (hidden("query", &query))
                    button type="submit" name="step" value="remove" { "Remove this view" }
                }
                None => details.columns {
                    summary { "Save this view" }
                    form.stack method="post" action=(action) {
                        (csrf(shell))
                        (hidden("query", &query))
                        label for="v-name" { "Name" }
                        input #v-name name="name" required maxlength="80" autocomplete="off" aria-describedby="h-view";
                        p #h-view .help { "All users of this tenant can see the view." }
                        button type="submit" { "Save" }
                    }
                }
            }
        }
    }
}

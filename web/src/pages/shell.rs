//! Frame of every page: the head, the sidebar, and a place for notices.

use hypertext::prelude::*;
use svctrack_core::value::Zone;

use super::{address::address, format::InZone};

/// A part of the application in the sidebar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub label: String,
    pub path: String,
    /// Group in the sidebar; empty for the sections at the top.
    pub group: &'static str,
}

/// Frame of a page for a user who is signed in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shell {
    pub tenant: String,
    /// The parts that the token may see.
    pub sections: Vec<Section>,
    /// The path of the page.
    pub path: String,
    /// CSRF token that a form must send along, so that no other site can send it.
    pub csrf: String,
    /// Names in paths of the resources that the token may not read.
    pub unreadable: Vec<&'static str>,
    /// Time zone of the page's times.
    pub zone: Zone,
    /// Notice of the action that was just done.
    pub notice: Option<String>,
}

/// Start of a document: the same for all users.
pub(super) fn document<'a>(title: &'a str, body: impl Renderable + 'a) -> impl Renderable + 'a {
    maud! {
        !DOCTYPE
        html lang="en" {
            head {
                meta charset="utf-8";
                title { (title) " · svctrack" }
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                link rel="icon" href="/favicon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/theme.css";
                link rel="stylesheet" href="/app.css";
                script type="module" src="/app.js" {}
                script type="module" src="/shortcuts.js" {}
            }
            (body)
        }
    }
}

/// A page within the application.
pub(super) fn layout<'a>(
    shell: &'a Shell,
    title: &'a str,
    main: impl Renderable + 'a,
) -> impl Renderable + 'a {
    let body = maud! {
        body.app {
            a.skip href="#main" { "Skip to the page" }
            header.side {
                a.brand href="/" { "svctrack" }
                p.tenant { (shell.tenant) }
                button.menu-opener type="button" popovertarget="menu" { "Menu" }
                (search_form())
                // On a phone the button opens the menu; elsewhere it is always visible.
                div #menu .menu popover {
                    button.menu-opener type="button" popovertarget="menu" { "Close" }
                    (navigation(shell))
                    form method="post" action="/sign-out" {
                        (csrf(shell))
                        button.quiet type="submit" { "Sign out" }
                        button.quiet type="submit" name="everywhere" value="true"
                            title="Ends all sessions of your token" { "Sign out everywhere" }
                    }
                }
            }
            main #main tabindex="-1" {
                @if let Some(notice) = &shell.notice {
                    p.notice role="status" { (notice) }
                }
                (InZone(shell.zone, &main))
            }
        }
    };
    document(title, body)
}

fn search_form() -> impl Renderable {
    maud! {
        form.find role="search" method="get" action="/app/search" {
            label.hidden-label for="find" { "Search everything" }
            input #find type="search" name="q" placeholder="Search" autocomplete="off";
        }
    }
}

fn navigation(shell: &Shell) -> impl Renderable {
    let mut groups: Vec<(&'static str, Vec<&Section>)> = Vec::new();
    for section in &shell.sections {
        match groups.last_mut() {
            Some((group, listed)) if *group == section.group => listed.push(section),
            _ => groups.push((section.group, vec![section])),
        }
    }
    maud! {
        nav aria-label="Sections" {
            @for (group, listed) in &groups {
                @if !group.is_empty() { p.group { (group) } }
                ul {
                    @for section in listed {
                        li {
                            a href=(section.path) aria-current=[is_current(shell, section)] {
                                (section.label)
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Pages that belong to a section with another path: begin of their path, and what it is in the section.
const BELONGING: &[(&str, &str)] = &[
    ("/app/import/", "/app/records/"),
    ("/app/licenses/", "/app/renewals/"),
    ("/app/records/tickets", "/app/tickets"),
    ("/app/records/timesheets", "/app/timesheets"),
];

/// Whether a section is the page itself, or one that the page belongs to.
fn is_current(shell: &Shell, section: &Section) -> Option<&'static str> {
    let mut path = shell.path.clone();
    for (begin, within) in BELONGING {
        if let Some(rest) = path.strip_prefix(begin) {
            path = [within, rest].concat();
        }
    }
    match path.strip_prefix(section.path.as_str())? {
        "" if path == shell.path => Some("page"),
        rest if rest.is_empty() || section.path != "/" && rest.starts_with('/') => Some("true"),
        _ => None,
    }
}

/// Field of a form that proves that it comes from a page of this session.
pub(super) fn csrf(shell: &Shell) -> impl Renderable {
    maud! { input type="hidden" name="csrf" value=(shell.csrf); }
}

/// Hidden field of a form; nothing where the value is empty.
pub(super) fn hidden(name: &str, value: &str) -> impl Renderable {
    maud! {
        @if !value.is_empty() { input type="hidden" name=(name) value=(value) autocomplete="off"; }
    }
}

/// Head of a page: its title, and its actions.
pub(super) fn title_bar<'a>(title: &'a str, actions: impl Renderable + 'a) -> impl Renderable + 'a {
    maud! {
        div.title-bar {
            h1 { (title) }
            div.actions { (actions) }
        }
    }
}

impl Shell {
    /// Whether the token may open pages of a resource.
    pub fn reads(&self, resource: &str) -> bool {
        !self.unreadable.contains(&resource)
    }

    /// Whether the menu has a page.
    pub fn has(&self, path: &str) -> bool {
        self.sections.iter().any(|section| section.path == path)
    }

    /// A name of a record; a link to its page where the token may open it.
    pub(super) fn record_link<'a>(
        &'a self,
        resource: &'a str,
        id: &'a str,
        name: impl Renderable + 'a,
    ) -> impl Renderable + 'a {
        self.link(resource, record_address(resource, id), name)
    }

    /// A text on records of a resource; a link to their page where the token may open it.
    pub(super) fn link<'a>(
        &'a self,
        resource: &'a str,
        path: impl AsRef<str> + 'a,
        text: impl Renderable + 'a,
    ) -> impl Renderable + 'a {
        maud! {
            @if self.reads(resource) { a href=(path.as_ref()) { (text) } } @else { (text) }
        }
    }
}

/// The page of a record.
pub(super) fn record_address(resource: &str, id: &str) -> String {
    address("/app/records/{}/{}", &[resource, id], &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_menu_marks_the_section_of_a_page() {
        let check = |path: &str, section: &str, mark: Option<&str>| {
            let shell = Shell { path: path.to_owned(), ..Shell::default() };
            let section = Section { path: section.to_owned(), label: String::new(), group: "" };
            assert_eq!(is_current(&shell, &section), mark, "{path} in {}", section.path);
        };
        check("/", "/", Some("page"));
        check("/app/live", "/", None);
        check("/app/reports/mrr", "/app/reports/mrr", Some("page"));
        check("/app/reports/mrr/explain", "/app/reports/mrr", Some("true"));
        check("/app/records/users/6/edit", "/app/records/users", Some("true"));
        check("/app/records/users", "/app/records/usersets", None);
        check("/app/records/timesheets/6", "/app/timesheets", Some("true"));
        check("/app/records/tickets", "/app/tickets", Some("true"));
        check("/app/import/tickets", "/app/tickets", Some("true"));
        check("/app/import/users", "/app/records/users", Some("true"));
        check("/app/licenses/6/renew", "/app/renewals", Some("true"));
    }
}

//! Markdown to HTML: headings get ids of their words, links to other pages lead to their addresses, and raw HTML is
//! text.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
};

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html::push_html};

use super::{code, contents::Page, frame::root_of, search::Section};
use crate::Failure;

/// Valid targets of links.
pub(crate) struct Targets {
    pub(crate) project: PathBuf,
    /// Address and headings of each page, by its file.
    pub(crate) pages: BTreeMap<&'static str, (&'static str, BTreeSet<String>)>,
}

/// A page as HTML.
pub(crate) struct Rendered {
    pub(crate) title: String,
    pub(crate) html: String,
    /// Sections of the page, each from a heading to the next.
    pub(crate) sections: Vec<Section>,
    /// Pictures of the page, from the top of the project.
    pub(crate) pictures: Vec<String>,
}

/// Prefix of addresses of this server that a page may link to: they are written in this way so that they work elsewhere
/// too.
const OWN_SERVER: &str = "http://127.0.0.1:8080/";

fn parse(source: &str) -> Parser<'_> {
    Parser::new_ext(source, Options::ENABLE_TABLES)
}

/// The ids of all headings.
pub(crate) fn headings(source: &str) -> Result<BTreeSet<String>, Failure> {
    let mut ids = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in parse(source) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let id = id_of(&heading.take().unwrap_or_default());
                if !ids.insert(id.clone()) {
                    return Err(format!("there are two headings `#{id}`"));
                }
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            _ => {}
        }
    }
    Ok(ids)
}

/// Id of a heading: `Roll back: when?` as `roll-back-when`, as code hosts do it.
fn id_of(heading: &str) -> String {
    let kept = heading.chars().filter(|char| char.is_alphanumeric() || " -_".contains(*char));
    kept.flat_map(char::to_lowercase).map(|char| if char == ' ' { '-' } else { char }).collect()
}

/// The state of a page that is being rendered.
struct Renderer<'a> {
    page: &'a Page,
    targets: &'a Targets,
    done: Rendered,
    /// Events of the block or heading that is being read, with its text.
    heading: Option<(Vec<Event<'a>>, String)>,
    code: Option<(String, String)>,
    events: Vec<Event<'a>>,
    /// Whether each open link is shown as one.
    links: Vec<bool>,
}

pub(crate) fn render(page: &Page, source: &str, targets: &Targets) -> Result<Rendered, Failure> {
    let done = Rendered {
        title: String::new(),
        html: String::new(),
        sections: Vec::new(),
        pictures: Vec::new(),
    };
    let mut renderer = Renderer {
        page,
        targets,
        done,
        heading: None,
        code: None,
        events: Vec::new(),
        links: Vec::new(),
    };
    for event in parse(source) {
        renderer.take(event)?;
    }
    let Renderer { events, mut done, .. } = renderer;
    push_html(&mut done.html, events.into_iter());
    Ok(done)
}

impl<'a> Renderer<'a> {
    fn take(&mut self, event: Event<'a>) -> Result<(), Failure> {
        match event {
            Event::Start(Tag::Heading { .. }) => self.heading = Some(Default::default()),
            Event::End(TagEnd::Heading(level)) => self.end_heading(level as usize),
            Event::Start(Tag::CodeBlock(kind)) => {
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((info, String::new()));
            }
            Event::End(TagEnd::CodeBlock) => {
                let (info, text) = self.code.take().unwrap_or_default();
                self.found(&text);
                self.push_html(code::block(&info, &text));
            }
            Event::Start(Tag::Table(columns)) => {
                self.push_html(
                    r#"<div class="scroll" tabindex="0" role="group" aria-label="Table">"#,
                );
                self.events.push(Event::Start(Tag::Table(columns)));
            }
            Event::End(TagEnd::Table) => {
                self.events.push(Event::End(TagEnd::Table));
                self.push_html("</div>");
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let to = self.address(&dest_url)?;
                self.links.push(to.is_some());
                if let Some(to) = to {
                    let dest_url = to.into();
                    self.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
                }
            }
            Event::End(TagEnd::Link) => {
                if self.links.pop() == Some(true) {
                    self.push(Event::End(TagEnd::Link));
                }
            }
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                let dest_url = self.picture(&dest_url)?.into();
                self.push(Event::Start(Tag::Image { link_type, dest_url, title, id }));
            }
            Event::Html(text) | Event::InlineHtml(text) => self.push(Event::Text(text)),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => {
                    self.found(&text);
                    self.push(Event::Text(text));
                }
            },
            Event::Code(text) => {
                self.found(&text);
                self.push(Event::Code(text));
            }
            other => self.push(other),
        }
        Ok(())
    }

    fn push(&mut self, event: Event<'a>) {
        match &mut self.heading {
            Some((events, text)) => {
                if let Event::Text(said) | Event::Code(said) = &event {
                    text.push_str(said);
                }
                events.push(event);
            }
            None => self.events.push(event),
        }
    }

    fn push_html(&mut self, html: impl Into<CowStr<'a>>) {
        self.events.push(Event::Html(html.into()));
    }

    /// Adds text to the section that is being read, for the search.
    fn found(&mut self, text: &str) {
        if self.heading.is_none()
            && let Some(section) = self.done.sections.last_mut()
        {
            section.text.push(' ');
            section.text.push_str(text);
        }
    }

    fn end_heading(&mut self, level: usize) {
        let (events, text) = self.heading.take().unwrap_or_default();
        let id = id_of(&text);
        if level == 1 {
            self.done.title.clone_from(&text);
        }
        self.push_html(format!("<h{level} id=\"{id}\">"));
        self.events.extend(events);
        if level > 1 {
            self.push_html(format!(
                " <a class=\"anchor\" href=\"#{id}\" aria-label=\"Link to this section\">#</a>"
            ));
        }
        self.push_html(format!("</h{level}>\n"));
        self.done.sections.push(Section { id, heading: text, level, text: String::new() });
    }

    /// Address of a link on the server; none for a file that it does not serve.
    fn address(&self, link: &str) -> Result<Option<String>, Failure> {
        if let Some(path) = link.strip_prefix(OWN_SERVER) {
            return Ok(Some(format!("{}{path}", root_of(self.page.slug))));
        }
        if link.contains("://") || link.starts_with("mailto:") {
            return Ok(Some(link.to_owned()));
        }
        let (path, id) = link.split_once('#').map_or((link, None), |(path, id)| (path, Some(id)));
        let file = if path.is_empty() { self.page.file.to_owned() } else { self.resolve(path)? };
        let Some((slug, ids)) = self.targets.pages.get(file.as_str()) else {
            return Ok(None);
        };
        if let Some(id) = id
            && !ids.contains(id)
        {
            return Err(format!("`{link}` leads to no heading"));
        }
        let hash = id.map(|id| format!("#{id}")).unwrap_or_default();
        if path.is_empty() {
            return Ok(Some(hash));
        }
        let below = if slug.is_empty() { "docs".to_owned() } else { format!("docs/{slug}") };
        Ok(Some(format!("{}{below}{hash}", root_of(self.page.slug))))
    }

    fn picture(&mut self, link: &str) -> Result<String, Failure> {
        let file = self.resolve(link)?;
        let (name, _) = super::picture_name(&file)?;
        self.done.pictures.push(file);
        Ok(format!("{}{name}", root_of(self.page.slug)))
    }

    /// A path that a page names, from the top of the project.
    fn resolve(&self, path: &str) -> Result<String, Failure> {
        let beside = Path::new(self.page.file).parent().unwrap_or(Path::new(""));
        let mut names: Vec<String> = Vec::new();
        for part in beside.join(path).components() {
            match part {
                Component::ParentDir => drop(names.pop()),
                Component::Normal(name) => names.push(name.to_string_lossy().into_owned()),
                _ => {}
            }
        }
        let file = names.join("/");
        if self.targets.project.join(&file).exists() {
            Ok(file)
        } else {
            Err(format!("`{path}` does not exist"))
        }
    }
}

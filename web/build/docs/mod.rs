//! Docs: Markdown becomes pages when the package is built, with their sidebar and an index for the search. A broken
//! link, a repeated heading or a missing picture fails the build.

mod code;
mod contents;
mod frame;
mod markdown;
mod search;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    Failure,
    docs::{
        contents::{Page, RESERVED, pages},
        markdown::{Rendered, Targets},
    },
    embed::{Embedded, PNG, SVG},
    folder,
};

/// Renders all pages, writes their table `docs.rs` for `src/docs.rs`, and returns the files that they load.
pub(crate) fn files() -> Result<Vec<Embedded>, Failure> {
    let project = folder("CARGO_MANIFEST_DIR")?.join("..");
    let sources = read(&project)?;
    let targets = targets(&project, &sources)?;
    let mut rendered = Vec::new();
    for (page, source) in &sources {
        let done = markdown::render(page, source, &targets)
            .map_err(|error| format!("{}: {error}", page.file))?;
        rendered.push((*page, done));
    }
    write(&rendered, &folder("OUT_DIR")?)?;
    let mut files = Vec::new();
    for picture in pictures(&rendered) {
        let bytes =
            fs::read(project.join(&picture)).map_err(|error| format!("{picture}: {error}"))?;
        println!("cargo::rerun-if-changed=../{picture}");
        let (name, content_type) = picture_name(&picture)?;
        files.push(Embedded::new(name, content_type, bytes));
    }
    Ok(files)
}

/// The Markdown of each page.
fn read(project: &Path) -> Result<Vec<(&'static Page, String)>, Failure> {
    let mut sources = Vec::new();
    for page in pages() {
        if RESERVED.contains(&page.slug) {
            return Err(format!("{}: `{}` is no page of Markdown", page.file, page.slug));
        }
        println!("cargo::rerun-if-changed=../{}", page.file);
        let text = fs::read_to_string(project.join(page.file))
            .map_err(|error| format!("{} cannot be read: {error}", page.file))?;
        sources.push((page, text));
    }
    Ok(sources)
}

/// Valid targets of links: the headings of each page by its file.
fn targets(project: &Path, sources: &[(&'static Page, String)]) -> Result<Targets, Failure> {
    let mut pages = BTreeMap::new();
    for (page, source) in sources {
        let ids = markdown::headings(source).map_err(|error| format!("{}: {error}", page.file))?;
        pages.insert(page.file, (page.slug, ids));
    }
    Ok(Targets { project: project.to_owned(), pages })
}

/// Pictures of the pages, each once.
fn pictures(rendered: &[(&Page, Rendered)]) -> Vec<String> {
    let mut all: Vec<_> = rendered.iter().flat_map(|(_, page)| page.pictures.clone()).collect();
    all.sort();
    all.dedup();
    all
}

/// The name under which a picture is served, and its media type.
fn picture_name(path: &str) -> Result<(&'static str, &'static str), Failure> {
    let known = [(".svg", SVG), (".png", PNG)];
    let form = known.into_iter().find(|(ending, _)| path.ends_with(ending));
    match (path.rsplit_once('/'), form) {
        (Some((_, name)), Some((_, form))) => Ok((format!("docs-{name}").leak(), form)),
        _ => Err(format!("{path}: a picture of the docs is an SVG or a PNG in a folder")),
    }
}

/// Writes the finished pages and their table.
fn write(rendered: &[(&Page, Rendered)], folder: &Path) -> Result<(), Failure> {
    let cannot =
        |path: PathBuf| move |error| format!("{} cannot be written: {error}", path.display());
    let mut table = String::from("&[\n");
    for (at, (page, done)) in rendered.iter().enumerate() {
        let name = format!("docs-{}.html", if page.slug.is_empty() { "index" } else { page.slug });
        let path = folder.join(&name);
        fs::write(&path, frame::page(page, done, neighbours(rendered, at)))
            .map_err(cannot(path))?;
        let _ = writeln!(
            table,
            "DocPage {{ slug: {:?}, title: {:?}, file: {:?}, html: include_str!({name:?}), sections: {} }},",
            page.slug,
            done.title,
            page.file,
            search::to_rust(done),
        );
    }
    table.push(']');
    for (name, text) in [
        ("docs.rs", table),
        ("docs-api.html", frame::reference()),
        ("docs-search.html", frame::results()),
        ("docs-missing.html", frame::missing()),
    ] {
        let path = folder.join(name);
        fs::write(&path, text).map_err(cannot(path))?;
    }
    Ok(())
}

/// Previous and next page of a page.
fn neighbours<'a>(
    rendered: &[(&'a Page, Rendered)],
    at: usize,
) -> (Option<&'a Page>, Option<&'a Page>) {
    let page = |at: Option<usize>| rendered.get(at?).map(|(page, _)| *page);
    (page(at.checked_sub(1)), page(Some(at + 1)))
}

//! The files of the server, apart from its store: none imports itself by way of others. What counts are `use` lines and
//! paths, but for those of tests.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use svctrack_tests::project;
use syn::Item;

/// The path of a file among the modules: `["routes", "files"]` of `routes/files.rs`, `[]` of `main.rs` and `lib.rs`.
type Module = Vec<String>;

/// The files that each file imports.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

#[test]
fn no_file_imports_itself_by_way_of_others() {
    let mut files = BTreeMap::new();
    read(&project().join("server/src"), &Module::new(), &mut files);
    assert!(files.len() > 60, "{} files were read", files.len());
    let circles = circles(imports(&files));
    let lines = circles.iter().map(|(module, imported)| {
        let imported: Vec<_> = imported.iter().map(|module| module.join("::")).collect();
        format!("`{}` imports `{}`", module.join("::"), imported.join("`, `"))
    });
    let lines: Vec<_> = lines.collect();
    assert!(lines.is_empty(), "files import each other:\n{}", lines.join("\n"));
}

/// What is left when all that is in no circle is taken away: what imports nothing of the rest, or is imported by none.
fn circles(mut imports: Imports) -> Imports {
    loop {
        let before = imports.clone();
        imports.retain(|module, _| before.values().any(|imported| imported.contains(module)));
        for imported in imports.values_mut() {
            imported.retain(|module| before.contains_key(module));
        }
        imports.retain(|_, imported| !imported.is_empty());
        if imports == before {
            return imports;
        }
    }
}

/// Reads the code of all files in a folder, which is a module itself.
fn read(folder: &Path, module: &[String], files: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let is_root = matches!(name.as_str(), "main" | "lib" | "mod");
        let own = if is_root { module.to_vec() } else { [module, &[name]].concat() };
        if path.is_dir() {
            read(&path, &own, files);
        } else {
            files.entry(own).or_default().push_str(&code(&path));
        }
    }
}

/// The code of a file with blanks between all tokens, without the modules in it, which are tests.
fn code(path: &Path) -> String {
    let mut file = syn::parse_file(&fs::read_to_string(path).unwrap()).unwrap();
    file.items.retain(|item| !matches!(item, Item::Mod(module) if module.content.is_some()));
    let code = tokens(file.to_token_stream()).join(" ");
    // What ends a path and is no name of its own.
    code.replace(": :", "::").replace(":: <", "<").replace(":: *", "*") + "\n"
}

fn tokens(stream: TokenStream) -> Vec<String> {
    let texts = stream.into_iter().flat_map(|token| match token {
        TokenTree::Group(group) => {
            [vec!["{".to_owned()], tokens(group.stream()), vec!["}".to_owned()]].concat()
        }
        TokenTree::Literal(_) => vec!["_".to_owned()],
        other => vec![other.to_string()],
    });
    texts.collect()
}

fn imports(files: &BTreeMap<Module, String>) -> Imports {
    let imported = |(module, code): (&Module, &String)| {
        let named = paths(code).into_iter().filter_map(|path| target(&path, module, files));
        (module.clone(), named.filter(|named| named != module).collect())
    };
    files.iter().map(imported).collect()
}

/// All paths in some code. Each of those in the braces of a `use` begins with what is before the braces.
fn paths(code: &str) -> Vec<Vec<&str>> {
    let tokens: Vec<&str> = code.split_whitespace().collect();
    let (mut paths, mut path, mut open) = (Vec::new(), Vec::new(), vec![Vec::new()]);
    let mut before = "";
    for (at, &token) in tokens.iter().enumerate() {
        match token {
            "{" => open.push(if before == "::" { path.clone() } else { Vec::new() }),
            "}" => drop(open.pop()),
            // Another name for the same is of no importance here.
            name if name.starts_with(char::is_alphabetic) && name != "as" && before != "as" => {
                if before != "::" {
                    path.clone_from(open.last().unwrap());
                }
                path.push(name);
                if tokens.get(at + 1) != Some(&"::") {
                    paths.push(path.clone());
                }
            }
            _ => {}
        }
        before = token;
    }
    paths
}

/// The file that a path in a module leads to; the module's own for a path of another crate.
fn target(path: &[&str], module: &Module, files: &BTreeMap<Module, String>) -> Option<Module> {
    let (mut target, mut rest) = match path {
        // A name alone, such as that of a variable, or a visibility.
        [] | [_] => return None,
        ["crate", rest @ ..] => (Module::new(), rest),
        ["super", rest @ ..] => (module.split_last()?.1.to_vec(), rest),
        ["self", rest @ ..] => (module.clone(), rest),
        // The path of a module that this one declares, or of another crate.
        _ => (module.clone(), path),
    };
    while let Some((name, after)) = rest.split_first() {
        match *name {
            "super" => drop(target.pop()),
            name => target.push(name.to_owned()),
        }
        if !files.contains_key(&target) {
            target.pop();
            break;
        }
        rest = after;
    }
    Some(target)
}

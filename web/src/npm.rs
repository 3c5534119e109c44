//! The npm package: `npm/` with the script of this build.

use std::borrow::Cow;

use crate::{
    addresses::{GLUE_PATH, WASM_PATH, loader},
    asset::asset,
    npm_types::types,
    page::fill,
};

/// Argument of the script in a page, and in the package.
const IN_A_PAGE: &str = "(document.currentScript)";
const IN_THE_PACKAGE: &str = "(files)";

/// The files of the package, by name.
pub fn npm_package() -> Vec<(&'static str, Cow<'static, [u8]>)> {
    let package = include_str!("../npm/package.json");
    let version = [("version", env!("CARGO_PKG_VERSION").to_owned())];
    let index = fill(include_str!("../npm/index.js"), &[("script", script())]);
    let bytes = |path| asset(path).map_or(&[][..], |asset| asset.bytes);
    vec![
        ("package.json", Cow::Owned(fill(package, &version).into_bytes())),
        ("index.js", Cow::Owned(index.into_bytes())),
        ("index.d.ts", Cow::Owned(types().into_bytes())),
        ("README.md", Cow::Borrowed(include_bytes!("../npm/README.md"))),
        ("LICENSE", Cow::Borrowed(include_bytes!("../../LICENSE"))),
        ("svctrack_glue.js", Cow::Borrowed(bytes("/svctrack_glue.js"))),
        ("svctrack_bg.wasm", Cow::Borrowed(bytes("/svctrack_bg.wasm"))),
    ]
}

/// The script, with the address of its files, since it has no tag of its own.
fn script() -> String {
    let script = loader().map(|asset| String::from_utf8_lossy(asset.bytes)).unwrap_or_default();
    let quoted = |path: &str| format!("`{}`", path.trim_start_matches('/'));
    let script =
        script.replace(&quoted(WASM_PATH), "script.wasm").replace(IN_A_PAGE, IN_THE_PACKAGE);
    // import(<address of>(`<name>`))
    let import = script.split_once(&format!("({}))", quoted(GLUE_PATH)));
    let import = import.and_then(|(start, end)| Some((start.rsplit_once("import(")?.0, end)));
    import.map_or_else(String::new, |(start, end)| [start, "script.glue()", end].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_asks_for_the_files_of_the_package() {
        let script = script();
        for part in ["await script.glue()", "(script.wasm)"] {
            assert_eq!(script.matches(part).count(), 1, "{part}: {script}");
        }
        assert!(script.ends_with(IN_THE_PACKAGE), "{script}");
        assert!(!script.contains("currentScript") && !script.contains("import("), "{script}");
    }
}

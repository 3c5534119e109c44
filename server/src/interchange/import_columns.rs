//! Columns of an imported table: each column name matches a property, exactly or nearly, or is mapped to one (D10).

use std::collections::HashMap;

use svctrack_core::{
    schema::{FieldDef, FieldKind, ResourceDef, VERSION, checked_body, csv_cell},
    value::{
        Document, Json, near_name,
        quoted::{quoted, shortened},
    },
};

/// Maximum number of problems with heads in a message, which a person reads.
const MAX_HEAD_PROBLEMS: usize = 20;

/// Heads of columns, each with its property; an empty one leaves the column out.
pub(super) type ColumnMap = Vec<(String, String)>;

/// Target of the cells of a column.
#[derive(Clone, Debug)]
enum ImportCells {
    /// The value of a property.
    Whole(&'static FieldDef),
    /// A key of a free-form property, such as `custom.seats`.
    Member(&'static FieldDef, String),
    LeftOut,
}

/// The columns of a table.
#[derive(Debug)]
pub(super) struct ImportColumns {
    def: &'static ResourceDef,
    heads: Vec<String>,
    columns: Vec<ImportCells>,
    /// Heads whose cells are not read, since the service sets the property; none of an export, which has all of them.
    pub(super) read_only: Vec<String>,
}

/// Message of a mapped head that no table has. Several mappings in one argument read as a head with `=` in it.
pub fn unknown_head(head: &str) -> String {
    let hint = if head.contains('=') { ": write each mapping on its own" } else { "" };
    format!("no column is called {}{hint}", quoted(head))
}

/// Problems of heads that are mapped to several properties.
fn mapped_twice(map: &ColumnMap) -> Vec<String> {
    let mut known = HashMap::new();
    let is_other = |(head, name): &&(String, String)| {
        known.insert(plain(head), name.clone()).is_some_and(|before| before != *name)
    };
    let again = map.iter().filter(is_other).take(MAX_HEAD_PROBLEMS);
    again.map(|(head, _)| format!("{} is mapped twice", quoted(head))).collect()
}

impl ImportColumns {
    /// Reads the heads of a table; `map_option` is the caller's option to map one.
    ///
    /// # Errors
    /// A message with every problem, up to [`MAX_HEAD_PROBLEMS`]: heads that match no property, and properties under two
    /// heads.
    pub(super) fn read<'a>(
        def: &'static ResourceDef,
        heads: impl Iterator<Item = &'a str>,
        map: &ColumnMap,
        map_option: &str,
    ) -> Result<Self, String> {
        let mut read = Self { def, heads: Vec::new(), columns: Vec::new(), read_only: Vec::new() };
        let mut written = WrittenProperties::default();
        let (mut problems, mut has_version) = (mapped_twice(map), false);
        for head in heads {
            let column = column_of(def, head.trim(), map, map_option).and_then(|column| {
                if let ImportCells::Whole(field) = &column {
                    has_version |= field.name == VERSION;
                    if !field.is_sent() && field.name != "_id" {
                        read.read_only.push(field.name.to_owned());
                    }
                    if !field.is_imported() && field.name != VERSION {
                        return Ok(ImportCells::LeftOut);
                    }
                }
                written.add(&column, head, map_option).map(|()| column)
            });
            read.heads.push(head.to_owned());
            match column {
                Ok(column) => read.columns.push(column),
                Err(problem) => problems.push(problem),
            }
            if problems.len() >= MAX_HEAD_PROBLEMS {
                break;
            }
        }
        if has_version {
            read.read_only.clear();
        }
        if problems.is_empty() {
            return Ok(read);
        }
        // Several mappings in one argument.
        let joined = map.iter().map(|(head, _)| head).filter(|head| head.contains('='));
        problems.extend(joined.filter(|head| !read.has_head(head)).map(|head| unknown_head(head)));
        problems.truncate(MAX_HEAD_PROBLEMS);
        Err(problems.join("; "))
    }

    /// Whether a column has this head.
    pub(super) fn has_head(&self, head: &str) -> bool {
        self.heads.iter().any(|known| is_same(known, head))
    }

    pub(super) fn count(&self) -> usize {
        self.columns.len()
    }

    /// Record in a line of cells; none where all of them are empty.
    ///
    /// # Errors
    /// A message with every problem: cells that do not fit their properties.
    pub(super) fn record<'a>(
        &self,
        cells: impl Iterator<Item = &'a str>,
    ) -> Result<Option<Document>, String> {
        let mut record = Document::default();
        let mut members: Vec<(&'static FieldDef, Document)> = Vec::new();
        let mut problems = Vec::new();
        let mut is_empty = true;
        for (column, cell) in self.columns.iter().zip(cells) {
            is_empty &= cell.trim().is_empty();
            match column {
                ImportCells::LeftOut => {}
                ImportCells::Whole(field) => match csv_cell::value_of(field, cell) {
                    Ok(Some(value)) => record.set(field.name, value),
                    Ok(None) => {}
                    Err(problem) => problems.push(problem),
                },
                ImportCells::Member(field, key) => {
                    let Some(value) = csv_cell::member_of(cell) else { continue };
                    let known = members.iter().position(|(known, _)| known.name == field.name);
                    let at = known.unwrap_or_else(|| {
                        members.push((field, Document::default()));
                        members.len() - 1
                    });
                    if let Some((_, object)) = members.get_mut(at) {
                        object.set(key, value);
                    }
                }
            }
        }
        for (field, object) in members {
            record.set(field.name, Json::object(&object));
        }
        // A cell is held to the limits of JSON (R9).
        problems.extend(Document::parse(record.to_text().as_bytes()).err().map(|it| it.message));
        if !problems.is_empty() {
            return Err(all_problems(self.def, &record, problems));
        }
        Ok((!is_empty).then_some(record))
    }
}

/// Problems of a row as text: `problems` of its form, and those of the values that could be read.
pub(super) fn all_problems(
    def: &ResourceDef,
    read: &Document,
    mut problems: Vec<String>,
) -> String {
    let issues = checked_body::check_update(def, read).issues;
    problems.extend(issues.into_iter().map(|issue| issue.message));
    problems.join("; ")
}

/// Property with the name of a head without a map, if there is one.
pub(super) fn property_of(def: &'static ResourceDef, head: &str) -> Option<String> {
    match column_of(def, head.trim(), &ColumnMap::new(), "").ok()? {
        ImportCells::Whole(row) => Some(row.name.to_owned()),
        ImportCells::Member(row, key) => Some(format!("{}.{key}", row.name)),
        ImportCells::LeftOut => None,
    }
}

fn column_of(
    def: &'static ResourceDef,
    head: &str,
    map: &ColumnMap,
    map_option: &str,
) -> Result<ImportCells, String> {
    let mapped = map.iter().find(|(known, _)| is_same(known, head)).map(|(_, name)| name.as_str());
    if mapped == Some("") {
        return Ok(ImportCells::LeftOut);
    }
    let name = mapped.unwrap_or(head);
    if let Some(column) = property(def, name) {
        return Ok(column);
    }
    let mut alike = def.fields.iter().filter(|field| is_same(field.name, name));
    if let (Some(field), None) = (alike.next(), alike.next()) {
        return Ok(ImportCells::Whole(field));
    }
    let near = near_property(def, name);
    let (head, name) = (shortened(head), shortened(name));
    Err(match mapped {
        Some(_) => format!(
            "the column `{head}` is mapped to `{name}`, which is not a property of {}{near}",
            def.path
        ),
        None => format!(
            "unknown column `{head}`: map it with {map_option}\"{head}=PROPERTY\", or skip it with {map_option}\"{head}=\"{near}"
        ),
    })
}

/// The property that may be meant by a name, as the end of a message.
pub(super) fn near_property(def: &ResourceDef, name: &str) -> String {
    let sent = def.fields.iter().filter(|field| field.is_sent()).map(|field| field.name);
    near_name(name, sent)
}

/// Property with a name, or the key of a free-form one.
fn property(def: &'static ResourceDef, name: &str) -> Option<ImportCells> {
    if let Some(field) = def.field(name) {
        return Some(ImportCells::Whole(field));
    }
    let (object, key) = name.split_once('.')?;
    let field =
        def.field(object).filter(|field| field.kind == FieldKind::Object && !key.is_empty())?;
    Some(ImportCells::Member(field, key.to_owned()))
}

/// Whether two heads differ only in case, blanks, `_` and `-`.
fn is_same(one: &str, other: &str) -> bool {
    plain(one) == plain(other)
}

/// A head without case, blanks, `_` and `-`.
fn plain(head: &str) -> String {
    let kept = head.chars().filter(|char| !" _-".contains(*char));
    kept.flat_map(char::to_lowercase).collect()
}

/// Properties that columns write, with the head of each.
#[derive(Default)]
struct WrittenProperties {
    /// Head of the column of a whole property.
    whole: HashMap<&'static str, String>,
    /// Heads of the columns of keys, and of the first key of a property.
    keys: HashMap<(&'static str, String), String>,
    first_keys: HashMap<&'static str, String>,
}

impl WrittenProperties {
    /// Adds what a column writes.
    ///
    /// # Errors
    /// A message when an earlier column writes the same.
    fn add(&mut self, column: &ImportCells, head: &str, map_option: &str) -> Result<(), String> {
        let own = || head.to_owned();
        let (earlier, name) = match column {
            ImportCells::LeftOut => return Ok(()),
            ImportCells::Whole(field) => {
                let same = self.whole.insert(field.name, own());
                (self.first_keys.get(field.name).cloned().or(same), quoted(field.name))
            }
            ImportCells::Member(field, key) => {
                self.first_keys.entry(field.name).or_insert_with(own);
                let same = self.keys.insert((field.name, key.clone()), own());
                match self.whole.get(field.name) {
                    Some(whole) => (Some(whole.clone()), quoted(field.name)),
                    None => (same, quoted(&format!("{}.{key}", field.name))),
                }
            }
        };
        let Some(earlier) = earlier else { return Ok(()) };
        Err(match is_same(&earlier, head) {
            true => format!("two columns map to {name}: rename one, or remove it"),
            false => {
                let head = shortened(head);
                format!(
                    "two columns map to {name}: rename one, or skip it with {map_option}\"{head}=\""
                )
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use svctrack_core::resources::company::COMPANY;

    use super::*;

    fn record(heads: &[&str], map: &[(&str, &str)], cells: &[&str]) -> Result<String, String> {
        let own = |(head, name): &(&str, &str)| ((*head).to_owned(), (*name).to_owned());
        let map = map.iter().map(own).collect();
        let columns = ImportColumns::read(&COMPANY, heads.iter().copied(), &map, "--map ")?;
        let record = columns.record(cells.iter().copied())?;
        Ok(record.map(|record| record.to_text()).unwrap_or_default())
    }

    #[test]
    fn heads_are_found_in_their_own_spelling_a_near_one_or_a_map() {
        let expect = Ok(r#"{"name":"A","externalId":"a"}"#.to_owned());
        assert_eq!(record(&["name", "externalId"], &[], &["A", "a"]), expect);
        assert_eq!(record(&["Name", " External ID "], &[], &["A", "a"]), expect);
        let map = [("Company name", "name"), ("Nr", "externalId"), ("X", "")];
        assert_eq!(record(&["Company Name", "Nr", "X"], &map, &["A", "a", "x"]), expect);
    }

    #[test]
    fn members_of_a_free_form_property_have_columns_of_their_own() {
        let heads = ["name", "custom.seats", "custom.plan", "custom.zip", "custom.on"];
        let expect = r#"{"name":"A","custom":{"seats":5,"plan":"pro","zip":"01234","on":true}}"#;
        let cells = ["A", "5", "pro", "01234", "TRUE"];
        assert_eq!(record(&heads, &[], &cells).as_deref(), Ok(expect));
        assert_eq!(record(&heads, &[], &["A", "", "", "", ""]).as_deref(), Ok(r#"{"name":"A"}"#));
        assert_eq!(record(&heads, &[], &["", " ", "", "", ""]).as_deref(), Ok(""));
    }

    #[test]
    fn a_cell_is_held_to_the_limits_of_json() {
        let nul = Err("strings must be without U+0000".to_owned());
        for (head, cell) in
            [("name", "a\0b"), ("name", "'=\0"), ("domains", "a|\0"), ("custom.a", "\0")]
        {
            assert_eq!(record(&[head], &[], &[cell]), nul, "{head} {cell:?}");
        }
        assert_eq!(record(&["custom.a\0b"], &[], &["1"]), nul);
        assert_eq!(record(&["name"], &[("name", "")], &["a\0b"]), Ok("{}".to_owned()));
        let said = record(&["csmScore", "name"], &[], &["x", "a\0b"]).unwrap_err();
        assert!(said.starts_with("`csmScore` must be") && said.contains("U+0000"), "{said}");
        let long = "x".repeat(64 * 1024 + 1);
        let said = record(&["custom.plan"], &[], &[&long]).unwrap_err();
        assert!(said.contains("a string must be at most 65536 bytes long"), "{said}");
    }

    #[test]
    fn what_is_wrong_with_a_head_is_explained() {
        let check = |heads: &[&str], map: &[(&str, &str)], expect: &str| {
            let said = record(heads, map, &[]).unwrap_err();
            assert!(said.contains(expect), "{said}");
        };
        check(&["nmae"], &[], "nmae=\"; did you mean `name`?");
        check(&["Firma"], &[], "unknown column `Firma`: map it with --map \"Firma=PROPERTY\"");
        check(
            &["Firma"],
            &[("Firma", "nmae")],
            "is not a property of companies; did you mean `name`?",
        );
        check(&["name", "Name"], &[], "two columns map to `name`");
        check(&["custom", "custom.a"], &[], "two columns map to `custom`");
        check(&["custom.a", "custom"], &[], "two columns map to `custom`");
        check(&["custom.a", "Custom.a"], &[], "unknown column `Custom.a`");
        check(&["custom.a", "custom.b", "custom.a"], &[], "two columns map to `custom.a`");
        check(&["X", "custom.a"], &[("X", "custom.a")], "or skip it with --map \"custom.a=\"");
        let two = "=\"; unknown column `Notes`: map it";
        check(&["Firma", "name", "Notes"], &[], two);
    }

    #[test]
    fn a_message_repeats_no_more_than_the_beginning_of_a_head_and_few_of_them() {
        let long = "a".repeat(100_000);
        let check = |heads: &[&str], map: &[(&str, &str)], most: usize| {
            let said = record(heads, map, &[]).unwrap_err();
            assert!(said.len() <= most, "{} bytes: {}", said.len(), &said[..100]);
        };
        check(&[&long], &[], 400);
        check(&["X"], &[("X", &long)], 400);
        let key = format!("custom.{long}");
        check(&[&key, "X"], &[("X", &key)], 400);
        let many: Vec<String> = (0..10_000).map(|number| format!("x{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        check(&many, &[], 5_000);
        let names: Vec<String> = (0..100).map(|number| format!("n{number}")).collect();
        let repeated: Vec<_> = names.iter().map(|name| ("q", name.as_str())).collect();
        check(&many, &repeated, 5_000);
        let joined: Vec<String> = (0..100).map(|number| format!("a=b{number}")).collect();
        let joined: Vec<_> = joined.iter().map(|head| (head.as_str(), "name")).collect();
        check(&["X"], &joined, 5_000);
    }

    #[test]
    fn a_head_is_mapped_to_one_property_however_often() {
        let skipped = [("", ""), ("", ""), ("Notes", ""), ("notes", "")];
        let heads = ["name", "", "", "Notes", "notes"];
        assert!(record(&heads, &skipped, &["A", "", "", "x", "y"]).is_ok());
        let said = record(&["A"], &[("A", "name"), ("a", "web")], &["x"]).unwrap_err();
        assert!(said.starts_with("`a` is mapped twice"), "{said}");
    }

    #[test]
    fn read_only_properties_are_named_and_left_out() {
        let heads = ["name", "mrr", "createdAt", "_id"];
        let columns =
            ImportColumns::read(&COMPANY, heads.into_iter(), &ColumnMap::new(), "--map ").unwrap();
        assert_eq!(columns.read_only, ["mrr", "createdAt"]);
    }
}

//! `svctrack export` and `svctrack import`: of one tenant, through a running server or on a store that is
//! stopped, or of all tenants of a stopped one, each in a folder that is named by its UUID.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use serde_json::{Map, Value, json};
use svctrack_core::schema::ResourceDef;
use svctrack_server::{
    admin::{Admin, Whose},
    backups::Unfinished,
    interchange::{Format, Options, Separator, parse_mapping},
    transfer::{self, Earlier, Imported, Reading, check_folder},
};
use svctrack_store::TenantRecord;

use super::{
    output::{print_err, text_at},
    progress,
    target::TargetArgs,
};

/// The exit code that says that some records were refused.
const REFUSED: u8 = 2;
/// Property that is in exports alone.
const VERSION: &str = "__v";
/// File that names the tenants whose folders stand beside it.
const TENANTS: &str = "tenants.json";

#[derive(Args)]
struct OfTenants {
    #[command(flatten)]
    at: TargetArgs,
    /// UUID of the tenant, on a stopped store [default: the only one]
    #[arg(long, value_name = "UUID", conflicts_with = "server")]
    tenant: Option<String>,
    /// All tenants, on a stopped store
    #[arg(long, conflicts_with_all = ["server", "tenant"])]
    all_tenants: bool,
}

impl OfTenants {
    async fn admin(&self) -> Result<Admin, String> {
        let whose = match self.all_tenants {
            true => Whose::Operator,
            false => Whose::of(self.tenant.as_deref()),
        };
        self.at.admin(whose).await
    }
}

/// `svctrack export`.
#[derive(Args)]
pub(crate) struct Export {
    #[command(flatten)]
    of: OfTenants,
    /// Directory to write the files to
    #[arg(long, value_name = "DIRECTORY")]
    to: PathBuf,
    /// Replace the files of an earlier export
    #[arg(long)]
    force: bool,
    /// File format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Resources, separated by commas [default: all, and settings]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    resources: Vec<String>,
}

impl Export {
    pub(crate) async fn run(self) -> Result<(), String> {
        let defs = named(&self.resources)?;
        let admin = self.of.admin().await?;
        if !self.of.all_tenants {
            let told = self.tenant(&admin, &defs, &self.to).await?;
            return self.of.at.show(&told, || lines_of(&told));
        }
        let tenants = admin.of_each_tenant().await?;
        let mut told = Map::new();
        for (tenant, admin) in &tenants {
            let id = tenant.id.to_string();
            told.insert(id.clone(), self.tenant(admin, &defs, &self.to.join(&id)).await?);
        }
        let told = told.into();
        let records: Vec<_> = tenants.iter().map(|(tenant, _)| tenant).collect();
        let text = serde_json::to_string(&records).map_err(|error| error.to_string())?;
        write_tenants(&self.to, &text).map_err(|error| error.to_string())?;
        self.of.at.show(&told, || lines_of(&told))
    }

    async fn tenant(
        &self,
        admin: &Admin,
        defs: &[&'static ResourceDef],
        folder: &Path,
    ) -> Result<Value, String> {
        let kept = if self.force { Earlier::Replaced } else { Earlier::Kept };
        check_folder(defs, folder, kept)?;
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut told = Map::new();
        for def in defs {
            let count = transfer::export(admin, def, self.format, folder, kept).await?;
            told.insert(def.path.to_owned(), json!(count));
        }
        Ok(told.into())
    }
}

/// Writes the file of the tenants, for its owner alone, as all files of an export are.
fn write_tenants(folder: &Path, text: &str) -> io::Result<()> {
    let unfinished = Unfinished::in_folder(folder)?;
    unfinished.file()?.write_all(text.as_bytes())?;
    unfinished.replace(&folder.join(TENANTS))
}

/// The resources that are named; all when none is.
fn named(names: &[String]) -> Result<Vec<&'static ResourceDef>, String> {
    if names.is_empty() {
        return Ok(transfer::everything());
    }
    names.iter().map(|name| transfer::resource_named(name)).collect()
}

/// `svctrack import`.
#[derive(Args)]
pub(crate) struct Import {
    #[command(flatten)]
    of: OfTenants,
    /// Directory with the files of an export, or one file
    #[arg(long, value_name = "PATH")]
    from: PathBuf,
    /// Resource in a single file [default: from the file name, such as companies.csv]
    #[arg(long, value_name = "RESOURCE", conflicts_with = "all_tenants")]
    resource: Option<String>,
    /// CSV separator: one character, or `tab` [default: detected from the first line]
    #[arg(long, value_name = "CHARACTER")]
    separator: Option<Separator>,
    /// Map a column to a property, such as "Company name=name"; nothing after `=` skips the column
    #[arg(long, value_name = "HEAD=PROPERTY", value_parser = parse_mapping)]
    map: Vec<(String, String)>,
    /// Report every record that would be rejected, and write nothing
    #[arg(long, conflicts_with = "all_tenants")]
    dry_run: bool,
}

impl Import {
    pub(crate) async fn run(self) -> Result<ExitCode, String> {
        let mut refused = 0;
        let told = match self.of.all_tenants {
            true => self.each_tenant(&mut refused).await?,
            false => self.from(&self.of.admin().await?, &self.from, &mut refused).await?,
        };
        self.of.at.show(&told, || lines_of(&told))?;
        Ok(if refused == 0 { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) })
    }

    async fn each_tenant(&self, refused: &mut usize) -> Result<Value, String> {
        let (admin, tokens) = Admin::with_tenants(&self.of.at.config()?, self.tenants()?).await?;
        for (tenant, token) in tokens {
            print_err(&format!(
                "the first token of {tenant}, shown only this once: {}",
                token.reveal()
            ));
        }
        let mut told = Map::new();
        for (tenant, admin) in admin.of_each_tenant().await? {
            let id = tenant.id.to_string();
            let folder = self.from.join(&id);
            if folder.exists() {
                told.insert(id, self.from(&admin, &folder, refused).await?);
            }
        }
        Ok(told.into())
    }

    /// Imports a folder, or a file, into a tenant.
    async fn from(&self, admin: &Admin, from: &Path, refused: &mut usize) -> Result<Value, String> {
        if !from.is_file() {
            tell_others(from)?;
        }
        let options = Options::of_files(self.separator, self.map.clone());
        let files = transfer::files_at(from, self.resource.as_deref(), &options)?;
        let mut tell_refused = |one: transfer::Refused| {
            progress::clear();
            print_err(&format!("{} line {}: {}", one.file.display(), one.line, one.reason));
        };
        let reading = Reading { options: &options, open: &progress::open, tell: &mut tell_refused };
        let done = match self.dry_run {
            true => transfer::try_out(admin, &files, reading).await?,
            false => transfer::import(admin, &files, reading).await?,
        };
        let mut told = Map::new();
        for (file, done) in files.iter().zip(done) {
            *refused += done.refused;
            told.insert(file.def.path.to_owned(), counts(file.def.path, done));
        }
        if self.dry_run {
            print_err("dry run: nothing was written");
        }
        Ok(told.into())
    }

    /// The tenants that were exported.
    fn tenants(&self) -> Result<Vec<TenantRecord>, String> {
        let path = self.from.join(TENANTS);
        let words = |error: &dyn std::error::Error| format!("{}: {error}", path.display());
        let text = fs::read(&path).map_err(|error| words(&error))?;
        serde_json::from_slice(&text).map_err(|error| words(&error))
    }
}

/// Says of what in a folder nothing is imported.
fn tell_others(folder: &Path) -> Result<(), String> {
    let others = transfer::others_in(folder);
    let others = others.map_err(|error| format!("{}: {error}", folder.display()))?;
    for name in others.iter().filter(|name| *name != TENANTS) {
        print_err(&format!("{}: not imported", folder.join(name).display()));
    }
    Ok(())
}

/// What became of the records of a file, as JSON; what else is to be known is told.
fn counts(resource: &str, done: Imported) -> Value {
    let Imported { taken, refused, without_key, ignored } = done;
    if without_key > 0 {
        print_err(&format!(
            "{resource}: {without_key} new records have no key; importing them again creates them twice"
        ));
    }
    // An export has all that the service sets: nobody expects it to be read.
    if !ignored.is_empty() && !ignored.iter().any(|name| name == VERSION) {
        print_err(&format!("{resource}: read-only properties ignored: {}", ignored.join(", ")));
    }
    json!({ "taken": taken, "refused": refused, "withoutKey": without_key, "ignoredColumns": ignored })
}

/// Counts as lines, below the names of tenants where there are several.
fn lines_of(told: &Value) -> String {
    let members = told.as_object().into_iter().flatten();
    let line = |(name, value): (&String, &Value)| match value {
        Value::Object(counts) if counts.contains_key("taken") => {
            let count = |name| text_at(value, name);
            format!("{name}  {} accepted, {} rejected", count("/taken"), count("/refused"))
        }
        Value::Object(_) => format!("{name}\n  {}", lines_of(value).replace('\n', "\n  ")),
        count => format!("{name}  {count}"),
    };
    members.map(line).collect::<Vec<_>>().join("\n")
}

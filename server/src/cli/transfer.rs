//! `svctrack export` and `svctrack import`: of one tenant, through a running server or on a store that is
//! stopped, or of all tenants of a stopped one, each in a folder that is named by its UUID.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use serde_json::{Map, Value, json};
use svctrack_core::schema::ResourceDef;
use svctrack_server::{
    admin::{Admin, Whose},
    auth::TenantRecord,
    transfer::{self, Format, Imported},
};

use super::{At, tell};

/// The exit code that says that some records were refused.
const REFUSED: u8 = 2;
/// File that names the tenants whose folders stand beside it.
const TENANTS: &str = "tenants.json";

/// Whose records.
#[derive(Args)]
struct OfTenants {
    #[command(flatten)]
    at: At,
    /// UUID of the tenant, on a stopped store [default: the only one]
    #[arg(long, value_name = "UUID", conflicts_with = "server")]
    tenant: Option<String>,
    /// All tenants, on a stopped store
    #[arg(long, conflicts_with_all = ["server", "tenant"])]
    all_tenants: bool,
}

impl OfTenants {
    fn admin(&self) -> Result<Admin, String> {
        self.at.admin(if self.all_tenants {
            Whose::Operator
        } else {
            Whose::of(self.tenant.as_deref())
        })
    }
}

/// `svctrack export`.
#[derive(Args)]
pub(crate) struct Export {
    #[command(flatten)]
    of: OfTenants,
    /// Folder that the files are made in; none that is there is replaced
    #[arg(long, value_name = "FOLDER")]
    to: PathBuf,
    /// How records stand in a file
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Resources, separated by commas [default: all, and settings]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    resources: Vec<String>,
}

impl Export {
    pub(crate) async fn run(self) -> Result<(), String> {
        let defs = named(&self.resources)?;
        let admin = self.of.admin()?;
        if !self.of.all_tenants {
            let told = self.tenant(&admin, &defs, &self.to).await?;
            return self.of.at.show(&told, || lines_of(&told));
        }
        let tenants = admin.of_each_tenant()?;
        let mut told = Map::new();
        for (tenant, admin) in &tenants {
            let id = tenant.id.to_string();
            told.insert(id.clone(), self.tenant(admin, &defs, &self.to.join(&id)).await?);
        }
        let told = told.into();
        let records: Vec<_> = tenants.iter().map(|(tenant, _)| tenant).collect();
        let text = serde_json::to_string(&records).map_err(|error| error.to_string())?;
        fs::write(self.to.join(TENANTS), text).map_err(|error| error.to_string())?;
        self.of.at.show(&told, || lines_of(&told))
    }

    async fn tenant(
        &self,
        admin: &Admin,
        defs: &[&'static ResourceDef],
        folder: &Path,
    ) -> Result<Value, String> {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut told = Map::new();
        for def in defs {
            let count = transfer::export(admin, def, self.format, folder).await?;
            told.insert(def.path.to_owned(), json!(count));
        }
        Ok(told.into())
    }
}

/// The resources that are named; all when none is.
fn named(names: &[String]) -> Result<Vec<&'static ResourceDef>, String> {
    let all = transfer::everything();
    if names.is_empty() {
        return Ok(all);
    }
    let find = |name: &String| {
        let found = all.iter().copied().find(|def| def.path == name);
        found.ok_or_else(|| format!("there is no resource `{name}`"))
    };
    names.iter().map(find).collect()
}

/// `svctrack import`.
#[derive(Args)]
pub(crate) struct Import {
    #[command(flatten)]
    of: OfTenants,
    /// Folder that holds the files of an export
    #[arg(long, value_name = "FOLDER")]
    from: PathBuf,
}

impl Import {
    pub(crate) async fn run(self) -> Result<ExitCode, String> {
        let mut refused = 0;
        let told = match self.of.all_tenants {
            true => self.each_tenant(&mut refused).await?,
            false => from_folder(&self.of.admin()?, &self.from, &mut refused).await?,
        };
        self.of.at.show(&told, || lines_of(&told))?;
        Ok(if refused == 0 { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) })
    }

    async fn each_tenant(&self, refused: &mut usize) -> Result<Value, String> {
        let (admin, tokens) = Admin::with_tenants(&self.of.at.config()?, self.tenants()?).await?;
        for (tenant, token) in tokens {
            tell(&format!("the first token of {tenant}, shown only this once: {}", token.reveal()));
        }
        let mut told = Map::new();
        for (tenant, admin) in admin.of_each_tenant()? {
            let id = tenant.id.to_string();
            let folder = self.from.join(&id);
            if folder.exists() {
                told.insert(id, from_folder(&admin, &folder, refused).await?);
            }
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

async fn from_folder(admin: &Admin, folder: &Path, refused: &mut usize) -> Result<Value, String> {
    let others = transfer::others_in(folder);
    let others = others.map_err(|error| format!("{}: {error}", folder.display()))?;
    for name in others.iter().filter(|name| *name != TENANTS) {
        tell(&format!("{}: nothing is brought in of it", folder.join(name).display()));
    }
    let mut tell_refused = |one: transfer::Refused| {
        tell(&format!("{} line {}: {}", folder.join(one.file).display(), one.line, one.reason));
    };
    let mut told = Map::new();
    for (def, done) in transfer::import(admin, folder, &mut tell_refused).await? {
        let Imported { taken, refused: of_file, without_key } = done;
        *refused += of_file;
        if without_key > 0 {
            tell(&format!(
                "{}: {without_key} new ones have no key, and come a second time when they are imported again",
                def.path
            ));
        }
        let counts = json!({ "taken": taken, "refused": of_file, "withoutKey": without_key });
        told.insert(def.path.to_owned(), counts);
    }
    Ok(told.into())
}

/// Names and numbers as lines.
fn lines_of(told: &Value) -> String {
    let members = told.as_object().into_iter().flatten();
    members.map(|(name, value)| format!("{name}  {value}")).collect::<Vec<_>>().join("\n")
}

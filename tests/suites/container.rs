//! The image of `server/ops/Dockerfile`: it is built without a network, a container of it serves, and its own health check
//! notices that. What the image sets are settings of the server.

use std::{
    ffi::OsStr,
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::Client,
    process::{PATIENCE, binary, read_until, signal},
    project,
    required_tools::{self, not_tried},
};
use tempfile::TempDir;
use tokio::process::Child;

/// Folders of the machine that a container sees, since the binary of the tests needs libraries, unlike a release.
const LIBRARIES: [&str; 3] = ["/bin", "/lib", "/lib64"];

/// Images and containers of a test, in a folder of their own.
struct Containers(TempDir);

impl Containers {
    fn buildah(&self) -> Command {
        let mut buildah = Command::new("buildah");
        let folder = self.0.path();
        buildah.args(["--storage-driver", "vfs", "--root"]).arg(folder.join("root"));
        buildah.arg("--runroot").arg(folder.join("run")).env("BUILDAH_ISOLATION", "chroot");
        buildah
    }

    /// What a call prints; the error is what it reports.
    fn call<I: AsRef<OsStr>>(&self, arguments: &[I]) -> Result<String, String> {
        let output = self.buildah().args(arguments).output().map_err(|error| error.to_string())?;
        let [printed, said] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        if output.status.success() { Ok(printed.trim_end().to_owned()) } else { Err(said) }
    }

    /// A call that runs a command in a container, with these settings besides those of its image.
    fn in_container(&self, container: &str, settings: &[&str], command: &[String]) -> Vec<String> {
        let mut call = vec!["run".to_owned()];
        for folder in LIBRARIES.iter().filter(|folder| Path::new(folder).exists()) {
            call.push(format!("--volume={folder}:{folder}:ro"));
        }
        call.extend(settings.iter().map(|setting| format!("--env={setting}")));
        call.extend([container.to_owned(), "--".to_owned()]);
        call.extend_from_slice(command);
        call
    }

    /// Folders of images and containers, where this machine can run one.
    fn here() -> Option<Self> {
        let here = Self(tempfile::tempdir().unwrap());
        if here.call(&["--version"]).is_err() {
            not_tried(required_tools::TOOLS, "`buildah` is not installed");
            return None;
        }
        let command = here.in_container("probe", &[], &["/bin/true".to_owned()]);
        let tried = here.call(&["from", "--name", "probe", "scratch"]);
        if let Err(obstacle) = tried.and_then(|_| here.call(&command)) {
            // As those disks it takes root, and mounts.
            not_tried(required_tools::DISKS, &format!("a container cannot run: {obstacle}"));
            return None;
        }
        Some(here)
    }

    /// Builds the image with the binary of the tests; returns its configuration.
    fn build(&self) -> Value {
        let context = self.0.path().join("context");
        fs::create_dir_all(context.join("data")).unwrap();
        fs::copy(binary(), context.join("svctrack")).unwrap();
        let recipe = project().join("server/ops/Dockerfile").display().to_string();
        let context = context.display().to_string();
        self.call(&["bud", "--format", "docker", "-t", "svctrack", "-f", &recipe, &context])
            .unwrap();
        let shown = self.call(&["inspect", "--type", "image", "svctrack"]).unwrap();
        serde_json::from_str::<Value>(&shown).unwrap()["Docker"]["config"].take()
    }
}

/// The words of a command in the configuration of an image.
fn words(command: &Value) -> Vec<String> {
    let words = command.as_array().unwrap().iter();
    words.map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// A running container; it ends when dropped, for which buildah must be asked.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        signal(&self.0, "TERM");
        // The folders of its container are removed next.
        while self.0.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_of_the_image_serves_and_its_health_check_notices() {
    let Some(containers) = Containers::here() else { return };
    let image = containers.build();
    let name = containers.call(&["from", "--pull-never", "svctrack"]).unwrap();
    let check = words(&image["Healthcheck"]["Test"]);
    assert_eq!(check[0], "CMD", "without a shell");
    let is_healthy = || containers.call(&containers.in_container(&name, &[], &check[1..]));
    assert!(is_healthy().unwrap_err().contains("cannot be reached"));

    let token = Token::generate().unwrap();
    let bootstrap = format!("SVCTRACK_BOOTSTRAP_TOKEN={}", token.reveal());
    let tenant = format!("SVCTRACK_BOOTSTRAP_TENANT={TENANT}");
    // Other servers of this machine have the usual ports.
    let own = ["SVCTRACK_LISTEN=127.0.0.1:0", "SVCTRACK_ADMIN_LISTEN=off", &bootstrap, &tenant];
    let command = [words(&image["Entrypoint"]), words(&image["Cmd"])].concat();
    let mut serve = containers.buildah();
    serve
        .args(containers.in_container(&name, &own, &command))
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut running = Running(tokio::process::Command::from(serve).spawn().unwrap());
    let printed = read_until(&mut running.0, "serves on ").await;
    let started = Instant::now();
    while is_healthy().as_deref() != Ok("ok") {
        assert!(started.elapsed() < PATIENCE, "{:?}", is_healthy());
    }
    let base = printed.split("serves on ").nth(1).unwrap().split_whitespace().next().unwrap();
    let client = Client::new(base, Some(token.reveal()));
    let acme = json!({"name": "Acme", "externalId": "acme"});
    assert_eq!(client.post("/companies", &acme).await.status, 200);
    assert_eq!(client.get("/companies/extid-acme").await.status, 200);
}

#[test]
fn the_image_sets_what_the_server_knows() {
    let recipe = fs::read_to_string(project().join("server/ops/Dockerfile")).unwrap();
    let set = recipe.lines().find_map(|line| line.strip_prefix("ENV ")).unwrap().split(' ');
    let settings: Vec<_> = set.map(|setting| setting.split_once('=').unwrap()).collect();
    let known = settings_in_force(&settings);
    assert_eq!(known["data"]["value"], "/data");
    assert_eq!(known["listen"]["value"], "0.0.0.0:8080");
    assert!(recipe.contains("\nVOLUME /data\n") && recipe.contains("\nEXPOSE 8080\n"));
}

/// The settings of a server with these variables, each of which must be one of a setting.
pub(crate) fn settings_in_force(variables: &[(&str, &str)]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let mut serve = Command::new(binary());
    serve.args(["serve", "--print-config", "--json"]).current_dir(folder.path()).env_clear();
    let output = serve.envs(variables.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    let settings: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (variable, _) in variables {
        let source = format!("environment {variable}");
        let mut all = settings.as_object().unwrap().values();
        assert!(all.any(|setting| setting["source"] == source), "{variable}");
    }
    settings
}

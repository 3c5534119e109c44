//! Events, each on disk before it is answered, against nginx that takes them and forgets them.

use std::{fs, path::Path};

use svctrack_server::auth::Token;
use svctrack_tests::{TENANT, process::Server};

use crate::{
    data::{self, COMPANIES, USERS},
    disk, folder,
    load::Load,
    nginx::Nginx,
    report::{Case, Report, Target},
};

const ROUNDS: usize = 5;
const CONNECTIONS: [usize; 2] = [64, 512];

/// Every event has a message id of its own; its argument tells rounds apart.
const SCRIPT: &str = r#"
local count, round = 0, ""
function init(args) round = args[1]; math.randomseed(7) end
function request()
  count = count + 1
  local user = math.random(0, USERS - 1)
  local body = string.format(
    '{"externalId":"u%d","companyExternalId":"c%d","action":"Opened report","info":{"pages":3},"messageId":"%s-%d"}',
    user, user % COMPANIES, round, count)
  return wrk.format("POST", nil, {["Content-Type"] = "text/plain"}, body)
end
"#;

pub(crate) async fn measure(report: &mut Report) {
    let folder = folder();
    let server = Server::start(folder.path(), &Token::generate().unwrap()).await;
    data::load(&server.client, "/companies", COMPANIES, data::company).await;
    data::load(&server.client, "/endusers", USERS, data::user).await;
    let nginx = Nginx::start(folder.path(), "OK", "OK").await;
    let script = write_script(folder.path());
    for connections in CONNECTIONS {
        let sync = disk::sync_times(folder.path());
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let round = format!("{connections}-{round}");
            let load = Load { connections, token: None, script: Some((&script, &round)) };
            theirs.push(load.round(&format!("{}/return", nginx.base)).await);
            ours.push(load.round(&format!("{}/analytics/{TENANT}", server.base)).await);
        }
        let case = Case {
            what: "events, route 1",
            yardstick: "nginx, return 200",
            connections,
            body: format!("110 B, {USERS} users, {COMPANIES} companies"),
            durable: Some(&sync),
        };
        report.compare(&case, "events/s", Target::None, ours, theirs);
    }
    server.kill().await;
}

fn write_script(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("events.lua");
    let script =
        SCRIPT.replace("USERS", &USERS.to_string()).replace("COMPANIES", &COMPANIES.to_string());
    fs::write(&path, script).unwrap();
    path
}

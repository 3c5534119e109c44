//! One record and a long list, against nginx with the same bytes.

use svctrack_server::auth::Token;
use svctrack_tests::process::Server;

use crate::{
    data::{self, BULK},
    folder,
    load::Load,
    nginx::Nginx,
    report::{Case, Report, Target},
};

const ROUNDS: usize = 5;
/// What of nginx's rate is to be reached.
const MIN_OF_NGINX: f64 = 0.6;
const RECORD_CONNECTIONS: usize = 64;
const LIST_CONNECTIONS: usize = 8;
/// The longest list of products.
const LIST: &str = "/products?limit=2000";
const RECORD: &str = "/products/extid-ext-7";

pub(crate) async fn measure(report: &mut Report) {
    let folder = folder();
    let token = Token::generate().unwrap();
    let server = Server::start(folder.path(), &token).await;
    data::upsert(&server.client, "/products", &data::products(0, 100)).await;
    let (record, list) = (server.client.get(RECORD).await, server.client.get(LIST).await);
    let nginx = Nginx::start(folder.path(), record.text(), list.text()).await;
    let by_id = format!("/products/{}", record.json()["_id"].as_str().unwrap());
    for (what, path, baseline, connections, body) in [
        (
            "GET of a record by `_id`",
            by_id.as_str(),
            "/return",
            RECORD_CONNECTIONS,
            record.body.len(),
        ),
        (
            "GET of a record by `externalId`",
            RECORD,
            "/return",
            RECORD_CONNECTIONS,
            record.body.len(),
        ),
        ("list of 2,000 products", LIST, "/file", LIST_CONNECTIONS, list.body.len()),
    ] {
        let ours = Load { connections, token: Some(token.reveal()), script: None };
        let theirs = Load { connections, token: None, script: None };
        let (mut our_rounds, mut their_rounds) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            their_rounds.push(theirs.round(&format!("{}{baseline}", nginx.base)).await);
            our_rounds.push(ours.round(&format!("{}{path}", server.base)).await);
        }
        let case = Case {
            what,
            baseline: if baseline == "/file" { "nginx, a file" } else { "nginx, return 200" },
            connections,
            body: format!("{body} B of {BULK} records"),
            durable: None,
        };
        report.compare(
            &case,
            "requests/s",
            Target::AtLeast(MIN_OF_NGINX),
            our_rounds,
            their_rounds,
        );
    }
    server.kill().await;
}

//! Bulk upsert of products, against one statement of PostgreSQL with the same rows.

use std::time::Instant;

use serde_json::Value;
use svctrack_server::auth::Token;
use svctrack_tests::{client::Client, process::Server};

use crate::{
    data::{BULK, PRODUCT_BYTES, products},
    disk, folder,
    postgres::Postgres,
    report::{Case, Report, Target},
};

/// Rounds of each; the store grows by a bulk of new records in each.
const ROUNDS: usize = 9;

const TABLE: &str = "CREATE TABLE products (id text PRIMARY KEY, external_id text UNIQUE, \
                     source_id text UNIQUE, body jsonb NOT NULL, version integer NOT NULL);";

/// Milliseconds of each round.
#[derive(Default)]
struct Times {
    new: Vec<f64>,
    changed: Vec<f64>,
    unchanged: Vec<f64>,
    postgres_new: Vec<f64>,
    postgres_changed: Vec<f64>,
}

pub(crate) async fn measure(report: &mut Report) {
    let folder = folder();
    let postgres = Postgres::start(folder.path());
    postgres.time(TABLE);
    let server = Server::start(folder.path(), &Token::generate().unwrap()).await;
    let sync = disk::sync_times(folder.path());
    let mut times = Times::default();
    for round in 0..ROUNDS {
        let (new, changed) = (products(round * BULK, 100), products(round * BULK, 101));
        times.postgres_new.push(statement(&postgres, &new));
        times.new.push(upsert(&server.client, &new).await);
        times.postgres_changed.push(statement(&postgres, &changed));
        times.changed.push(upsert(&server.client, &changed).await);
        times.unchanged.push(upsert(&server.client, &changed).await);
    }
    server.kill().await;
    let case = |what, baseline| Case {
        what,
        baseline,
        connections: 1,
        body: format!("{BULK} x {PRODUCT_BYTES} B"),
        durable: Some(&sync),
    };
    let statement = "PostgreSQL, INSERT of unnest ON CONFLICT DO UPDATE";
    let new = case("bulk upsert, new", statement);
    report.compare(&new, "ms", Target::AtMost(1.3), times.new.clone(), times.postgres_new);
    let all = case("bulk upsert, known, all changed", "new ones");
    report.compare(&all, "ms", Target::AtMost(1.5), times.changed.clone(), times.new.clone());
    let none = case("bulk upsert, known, none changed", "new ones");
    report.compare(&none, "ms", Target::AtMost(1.5), times.unchanged, times.new);
    let all = case("bulk upsert, known, all changed", statement);
    report.compare(&all, "ms", Target::None, times.changed, times.postgres_changed);
}

async fn upsert(client: &Client, products: &Value) -> f64 {
    let body = products.to_string();
    let json = [("content-type", "application/json")];
    let started = Instant::now();
    let response = client.send(hyper::Method::PUT, "/products", &json, body).await.unwrap();
    let elapsed = started.elapsed().as_secs_f64() * 1e3;
    assert_eq!(response.headers["svctrack-bulk-errors"], "0");
    elapsed
}

fn statement(postgres: &Postgres, products: &Value) -> f64 {
    let products = products.as_array().unwrap();
    let column = |value: &dyn Fn(&Value) -> String| {
        let items: Vec<String> = products
            .iter()
            .map(|product| {
                format!("\"{}\"", value(product).replace('\\', "\\\\").replace('"', "\\\""))
            })
            .collect();
        format!("'{{{}}}'", items.join(",").replace('\'', "''"))
    };
    let text = |name: &'static str| {
        move |product: &Value| product[name].as_str().unwrap_or_default().to_owned()
    };
    // Ids ascend, as those of the server do.
    let id = |product: &Value| {
        format!("6553f100000000000{:0>12}", &product["externalId"].as_str().unwrap()[4..])
    };
    let statement = format!(
        "INSERT INTO products SELECT *, 0 FROM unnest({}::text[], {}::text[], {}::text[], {}::jsonb[])
         ON CONFLICT (source_id) DO UPDATE SET body = excluded.body, version = products.version + 1;",
        column(&id),
        column(&text("externalId")),
        column(&text("sourceId")),
        column(&Value::to_string),
    );
    postgres.time(&statement).as_secs_f64() * 1e3
}

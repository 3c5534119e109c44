//! The description of the API holds: each operation has a description and examples, what they send works unchanged, and
//! the response has the schema, the headers and the status that are described.

use std::collections::BTreeSet;

use boon::{Compiler, Schemas};
use hyper::Method;
use serde_json::{Value, json};
use svctrack_core::resources::REGISTRY;
use svctrack_tests::{
    case::Case,
    client::{Client, Response},
    in_process::InProcess,
};

/// An operation of the description.
pub(crate) struct Operation {
    pub(crate) method: Method,
    /// With `{id}` in the place of ids.
    pub(crate) path: String,
    pub(crate) says: Value,
}

impl Operation {
    pub(crate) fn all(document: &Value) -> Vec<Self> {
        let mut operations = Vec::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, says) in methods.as_object().unwrap() {
                let method = method.to_uppercase().parse().unwrap();
                operations.push(Self { method, path: path.clone(), says: says.clone() });
            }
        }
        operations
    }

    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The bodies that it takes, by media type.
    fn bodies(&self) -> Vec<(&str, &Value)> {
        let content = self.says["requestBody"]["content"].as_object().into_iter().flatten();
        content.map(|(media_type, content)| (media_type.as_str(), content)).collect()
    }

    /// Values of the parameters in the path.
    pub(crate) fn path_examples(&self) -> Vec<(String, String)> {
        let parameters = self.says["parameters"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        parameters
            .filter(|parameter| parameter["in"] == "path")
            .map(|parameter| (text(&parameter["name"]), text(&parameter["example"])))
            .collect()
    }

    /// The parameters that the query must have.
    fn required_query(&self) -> String {
        let parameters = self.says["parameters"].as_array().unwrap().iter();
        let required = parameters.filter(|it| it["in"] == "query" && it["required"] == true);
        let pair =
            |it: &Value| Some(format!("{}={}", it["name"].as_str()?, it["example"].as_str()?));
        required.map(|it| pair(it).unwrap()).collect::<Vec<_>>().join("&")
    }

    /// A stream has no end, and pages are for people.
    pub(crate) fn is_tried(&self) -> bool {
        self.path != "/activities/stream"
    }
}

pub(crate) async fn description(server: &InProcess) -> Value {
    server.anonymous.get("/openapi.json").await.json()
}

/// A server as its first start leaves it, and an event that waits for its company.
pub(crate) async fn first_start() -> InProcess {
    let server = InProcess::start().await;
    let demo = json!({"name": "Demo company", "externalId": "demo"});
    assert!(server.client.post("/companies", &demo).await.status.is_success());
    let event = json!({"externalId": "x", "companyExternalId": "unknown", "action": "x"});
    assert!(server.client.track(&event).await.unwrap().status.is_success());
    server
}

/// What `pointer` refers to, if it refers to something.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(reference) => document.pointer(&reference[1..]).unwrap(),
        None => value,
    }
}

/// Why a value does not have a schema.
fn fault(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    let whole = json!({"allOf": [schema], "components": document["components"]});
    let mut compiler = Compiler::new();
    compiler.enable_format_assertions();
    compiler.add_resource("schema.json", whole).unwrap();
    let mut schemas = Schemas::new();
    let schema = compiler.compile("schema.json", &mut schemas).unwrap();
    schemas.validate(value, schema).err().map(|error| format!("{error:#}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_has_a_description_and_examples_that_have_its_schemas() {
    let document = description(&InProcess::start().await).await;
    let mut wrong = Vec::new();
    for operation in Operation::all(&document) {
        let name = operation.name();
        let described = operation.says["description"].as_str().is_some_and(|text| text.len() > 10);
        if !described {
            wrong.push(format!("{name}: no description"));
        }
        for (parameter, example) in operation.path_examples() {
            if example.is_empty() {
                wrong.push(format!("{name}: no example of `{parameter}`"));
            }
        }
        let content = &operation.says["responses"]["200"]["content"];
        let contents = ["application/json", "text/plain"].map(|kind| &content[kind]);
        let is_open = |content: &&Value| content["schema"] == json!({"type": "object"});
        let contents = contents.into_iter().filter(|content| !is_open(content));
        let taken = operation.bodies().into_iter().map(|(_, content)| content);
        for content in contents.chain(taken).filter(|content| !content.is_null()) {
            match &content["example"] {
                Value::Null => wrong.push(format!("{name}: no example of a body")),
                example => {
                    let fault = fault(&document, &content["schema"], example);
                    wrong.extend(fault.map(|fault| format!("{name}: example: {fault}")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_works_in_the_order_of_the_document_with_the_response_that_is_described() {
    let server = first_start().await;
    let document = description(&server).await;
    let mut operations = Operation::all(&document);
    operations.retain(Operation::is_tried);
    // `delete` comes before `get` in the alphabet, and would leave nothing to read.
    operations.sort_by_key(|operation| operation.method == Method::DELETE);
    let mut wrong = Vec::new();
    for operation in operations {
        let mut bodies = operation.bodies();
        if bodies.is_empty() {
            bodies.push(("", &Value::Null));
        }
        for (media_type, content) in bodies {
            let response = send(&server, &operation, media_type, &content["example"]).await;
            let faults = response_faults(&document, &operation, &response);
            wrong.extend(faults.iter().map(|fault| format!("{}: {fault}", operation.name())));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Sends an example of an operation.
async fn send(
    server: &InProcess,
    operation: &Operation,
    media_type: &str,
    example: &Value,
) -> Response {
    let client = match operation.says["x-scope"].as_str() {
        Some("operator") => &server.operator,
        _ => &server.client,
    };
    let pipeline = server.client.as_pipeline();
    let client =
        if operation.says["security"] == json!([{"tenant": []}]) { &pipeline } else { client };
    let mut path = operation.path.clone();
    for (name, example) in operation.path_examples() {
        let value = assigned_id(client, operation).await.unwrap_or(example);
        path = path.replace(&format!("{{{name}}}"), &value);
    }
    let query = operation.required_query();
    if !query.is_empty() {
        path = format!("{path}?{query}");
    }
    let body = match (media_type, example) {
        ("", _) => String::new(),
        ("application/json", example) => example.to_string(),
        (_, example) => example.as_str().unwrap().to_owned(),
    };
    let kind = [("content-type", media_type)];
    let headers = if media_type.is_empty() { &[][..] } else { &kind };
    client.send(operation.method.clone(), &path, headers, body).await.unwrap()
}

/// The id that the service has assigned, where no example can name it: of what an example has created, else of any.
pub(crate) async fn assigned_id(client: &Client, operation: &Operation) -> Option<String> {
    let collection = operation.path.split("/{id}").next().unwrap();
    let is_resource = REGISTRY.iter().any(|def| def.path == &collection[1..]);
    if is_resource || !operation.path.contains("/{id}") {
        return None;
    }
    let listed = client.get(collection).await.json();
    let listed = listed.as_array()?;
    let is_example = |item: &&Value| item["label"] == "Example" || item["name"] == "Example";
    let found = listed.iter().find(is_example).or(listed.last())?;
    Some(found["_id"].as_str()?.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_list_is_returned_as_csv_and_so_described() {
    let server = first_start().await;
    let document = description(&server).await;
    let mut lists = 0;
    for operation in Operation::all(&document) {
        let content = &operation.says["responses"]["200"]["content"];
        let is_report = operation.method == Method::GET
            && operation.path.starts_with("/reports/")
            && !operation.path.contains('{');
        let is_list = is_report || content["application/json"]["schema"]["type"] == "array";
        let words = operation.says["responses"]["200"]["description"].as_str().unwrap_or_default();
        assert_eq!(words.contains("`Accept: text/csv`"), is_list, "{}", operation.name());
        if is_list {
            let operator = operation.says["x-scope"] == "operator";
            let client = if operator { &server.operator } else { &server.client };
            let csv = [("accept", "text/csv")];
            let response = client.send(Method::GET, &operation.path, &csv, "").await.unwrap();
            let kind = response.headers["content-type"].to_str().unwrap();
            assert!(kind.starts_with("text/csv"), "{}: {}", operation.name(), response.text());
            lists += 1;
        }
    }
    // Activities, integration issues, lean companies, tokens, tenants, the audit log and closed months are lists too, and
    // there are six reports.
    assert_eq!(lists, REGISTRY.len() + 13);
}

/// What is otherwise in a response than it is described.
fn response_faults(document: &Value, operation: &Operation, response: &Response) -> Vec<String> {
    let described = &operation.says["responses"][response.status.as_str()];
    let worked = response.status.is_success() || response.status.is_redirection();
    if !worked || described.is_null() {
        return vec![format!("{} {}", response.status, response.text())];
    }
    let mut faults = header_faults(described, response);
    if response.headers.get("svctrack-bulk-errors").is_some_and(|count| count != "0") {
        faults.push(response.text().to_owned());
    }
    let kind = response.headers.get("content-type").map(|kind| kind.to_str().unwrap());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    let content = &described["content"][kind];
    if content.is_null() != kind.is_empty() {
        faults.push(format!("answered as `{kind}`"));
    }
    let body = match kind {
        "application/json" => response.json(),
        "text/plain" => Value::String(response.text().to_owned()),
        _ => return faults,
    };
    faults.extend(fault(document, &content["schema"], &body));
    if body["refused"].as_u64().is_some_and(|count| count > 0) {
        faults.push(response.text().to_owned());
    }
    faults
}

/// Our own headers, and those that callers act on, are described where they come.
fn header_faults(described: &Value, response: &Response) -> Vec<String> {
    let acted_on = ["etag", "link", "idempotent-replayed", "x-request-id"];
    let described: BTreeSet<String> =
        described["headers"].as_object().unwrap().keys().map(|name| name.to_lowercase()).collect();
    let names = response.headers.keys().map(|name| name.as_str());
    names
        .filter(|name| name.starts_with("svctrack-") || acted_on.contains(name))
        .filter(|name| !described.contains(*name))
        .map(|name| format!("the header `{name}` is not described"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_status_that_a_case_expects_is_described() {
    let document = description(&InProcess::start().await).await;
    let operations = Operation::all(&document);
    let mut missing = BTreeSet::new();
    for case in Case::all() {
        let request = &case.says["request"];
        let status = case.says["expect"]["status"].to_string();
        let method = request["method"].as_str().unwrap_or("GET");
        let path = request["path"].as_str().unwrap().split('?').next().unwrap();
        let fits = operations.iter().filter(|operation| operation.method == method);
        let fitting = fits.filter(|operation| fits_path(&operation.path, path));
        // `/endusers/unsuppress` is more than an id.
        let Some(operation) = fitting.min_by_key(|operation| operation.path.matches('{').count())
        else {
            continue;
        };
        if resolved(&document, &operation.says["responses"][&status]).is_null() {
            missing.insert(format!("{} {status}: {}", operation.name(), case.name));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

fn fits_path(described: &str, path: &str) -> bool {
    let (described, path): (Vec<_>, Vec<_>) =
        (described.split('/').collect(), path.split('/').collect());
    described.len() == path.len()
        && described.iter().zip(&path).all(|(part, name)| part.starts_with('{') || part == name)
}

/// Pointers to the schemas in a value that require members without being an object, and how many require some.
fn untyped(value: &Value, pointer: &str, wrong: &mut Vec<String>) -> usize {
    let is_object = value["type"] == "object"
        || value["type"].as_array().is_some_and(|kinds| kinds.contains(&json!("object")));
    let requires = value["required"].is_array();
    if requires && !is_object {
        wrong.push(pointer.to_owned());
    }
    let below = match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| untyped(member, &format!("{pointer}/{name}"), wrong))
            .sum(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| untyped(item, &format!("{pointer}/{index}"), wrong))
            .sum(),
        _ => 0,
    };
    usize::from(requires) + below
}

#[tokio::test(flavor = "multi_thread")]
async fn every_schema_that_requires_members_is_of_an_object() {
    let document = description(&InProcess::start().await).await;
    let mut wrong = Vec::new();
    let requiring = untyped(&document, "", &mut wrong);
    assert!(requiring > 100, "only {requiring} schemas require members");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

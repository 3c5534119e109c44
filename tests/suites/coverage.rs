//! Everything in the contract has a case: its fields, responses, parameters and routes, as they are listed in
//! `tests/contract.json`, and the rows and routes that we have besides these.

use std::{collections::BTreeSet, fs};

use serde_json::Value;
use svctrack_core::resources::REGISTRY;
use svctrack_tests::{case::Case, in_process::InProcess, project};

#[test]
fn every_field_of_the_contract_has_a_case() {
    let (cases, mut missing) = (Case::all(), Vec::new());
    for part in ["fields", "bulk answers"] {
        let bulk = part == "bulk answers";
        for (resource, fields) in listed(part) {
            let returned = returned(&cases, &resource, |case| is_bulk(case) == bulk);
            let lacking = fields.iter().filter(|field| !returned.contains(*field));
            missing.extend(lacking.map(|field| format!("{resource}: {field}")));
        }
    }
    assert!(missing.is_empty(), "no case expects a value of: {missing:#?}");
}

#[test]
fn every_field_has_a_case() {
    let (cases, mut missing) = (Case::all(), Vec::new());
    for def in REGISTRY {
        let lacking = without_case(&cases, def.path, def.fields.iter().map(|row| row.name));
        missing.extend(lacking.iter().map(|name| format!("{}: {name}", def.path)));
    }
    assert!(missing.is_empty(), "no case expects a value of: {missing:#?}");
}

#[test]
fn every_parameter_of_a_list_has_a_case() {
    let cases = Case::all();
    let mut missing = Vec::new();
    for (resource, parameters) in listed("list parameters") {
        let queries: Vec<&str> = cases
            .iter()
            .filter_map(|case| path_of(&case.says["request"]).split_once('?'))
            .filter(|(path, _)| *path == format!("/{resource}"))
            .flat_map(|(_, query)| query.split('&').filter_map(|pair| pair.split('=').next()))
            .collect();
        let lacking = parameters.iter().filter(|name| !queries.contains(&name.as_str()));
        missing.extend(lacking.map(|name| format!("{resource}: {name}")));
    }
    assert!(missing.is_empty(), "no case asks with: {missing:#?}");
}

#[test]
fn every_field_of_an_event_has_a_case() {
    let cases = Case::all();
    let steps: Vec<&Value> = cases.iter().flat_map(steps).collect();
    let not_yet = not_yet();
    let mut missing = Vec::new();
    for (path, fields) in listed("event fields") {
        let sent: BTreeSet<String> = steps
            .iter()
            .filter(|step| fits(&path, path_of(step)))
            .flat_map(|step| members(&step["body"]))
            .collect();
        let lacking = fields.iter().filter(|field| !sent.contains(*field));
        let lacking: Vec<_> = lacking.map(|field| format!("{path}: {field}")).collect();
        if !not_yet.contains(&path) {
            missing.extend(lacking);
        }
    }
    assert!(missing.is_empty(), "no case sends: {missing:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_has_a_case() {
    let contract = contract();
    let mut routes: BTreeSet<String> = texts(&contract["routes"]).into_iter().collect();
    let described = InProcess::start().await.anonymous.get("/openapi.json").await.json();
    routes.extend(described_routes(&described));
    let cases = Case::all();
    let has_case = |route: &String| has_case(&cases, route);
    let is_not_yet = |route: &&String| not_yet().iter().any(|path| route.ends_with(path.as_str()));
    let (not_yet, now): (Vec<_>, Vec<_>) = routes.iter().partition(is_not_yet);
    let missing: Vec<_> = now.into_iter().filter(|route| !has_case(route)).collect();
    assert!(missing.is_empty(), "no case requests: {missing:#?}");
    let there: Vec<_> = not_yet.into_iter().filter(|route| has_case(route)).collect();
    assert!(there.is_empty(), "there now; take them off the list of what is not yet: {there:#?}");
}

/// The routes of a description of the API, each as its method and path.
pub(crate) fn described_routes(description: &Value) -> Vec<String> {
    let paths = description["paths"].as_object().unwrap().iter();
    let routes = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        methods.map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    routes.collect()
}

/// Whether a case requests a route.
pub(crate) fn has_case(cases: &[Case], route: &str) -> bool {
    let (method, path) = route.split_once(' ').unwrap();
    cases.iter().map(|case| &case.says["request"]).any(|request| {
        method == request["method"].as_str().unwrap_or("GET") && fits(path, path_of(request))
    })
}

/// The fields of a resource whose value no case expects.
pub(crate) fn without_case<'a>(
    cases: &[Case],
    resource: &str,
    fields: impl Iterator<Item = &'a str>,
) -> Vec<&'a str> {
    let returned = returned(cases, resource, |case| !is_bulk(case));
    fields.filter(|name| !returned.contains(*name)).collect()
}

fn contract() -> Value {
    let text = fs::read_to_string(project().join("tests/contract.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A part of the contract: names by what they belong to.
fn listed(part: &str) -> Vec<(String, Vec<String>)> {
    let contract = contract();
    let of = contract[part].as_object().unwrap();
    of.iter().map(|(name, listed)| (name.clone(), texts(listed))).collect()
}

/// Paths of the contract that nothing serves yet.
fn not_yet() -> Vec<String> {
    texts(&contract()["not yet"])
}

fn texts(array: &Value) -> Vec<String> {
    array.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn steps(case: &Case) -> impl Iterator<Item = &Value> {
    case.says["given"].as_array().into_iter().flatten().chain([&case.says["request"]])
}

fn path_of(step: &Value) -> &str {
    step["path"].as_str().unwrap()
}

/// Whether a path has the shape of a route, where a name in braces matches any one part.
fn fits(route: &str, path: &str) -> bool {
    let parts: Vec<&str> = path.split('?').next().unwrap().split('/').collect();
    let wanted: Vec<&str> = route.split('/').collect();
    let same = |(wanted, part): (&&str, &&str)| wanted.starts_with('{') || wanted == part;
    parts.len() == wanted.len() && wanted.iter().zip(&parts).all(same)
}

fn is_bulk(case: &Case) -> bool {
    let request = &case.says["request"];
    request["method"] == "PUT" && path_of(request).matches('/').count() == 1
}

/// The names to which a case about a resource expects a value.
fn returned(cases: &[Case], resource: &str, wanted: impl Fn(&Case) -> bool) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for case in cases.iter().filter(|case| wanted(case)) {
        let path = path_of(&case.says["request"]);
        if path.split(['/', '?']).nth(1) == Some(resource) {
            let expect = &case.says["expect"];
            names.extend(members(&expect["json"]));
            names.extend(members(&expect["list"]));
            names.extend(["text", "contains"].iter().flat_map(|name| {
                let text = expect[*name].as_str().unwrap_or_default();
                text.split('"').map(str::to_owned).collect::<Vec<_>>()
            }));
        }
    }
    names
}

/// The names of an object's members, or of the objects' in an array, that are not null.
fn members(value: &Value) -> Vec<String> {
    let named = |object: &Value| -> Vec<String> {
        let members = object.as_object().into_iter().flatten();
        members.filter(|(_, value)| !value.is_null()).map(|(name, _)| name.clone()).collect()
    };
    match value {
        Value::Array(items) => items.iter().flat_map(named).collect(),
        other => named(other),
    }
}

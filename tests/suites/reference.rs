//! The reference of the API at `/docs/api`, as a reader without script has it: it has every operation with its scope and
//! an example, the commands of the examples work, and no link leads nowhere.

use std::collections::{BTreeMap, BTreeSet};

use hyper::Method;
use svctrack_core::resources::REGISTRY;
use svctrack_tests::{TENANT, client::Client, in_process::InProcess, reader::attribute};
use tokio::process::Command;

use crate::openapi::{Operation, assigned_id, description, first_start};

/// All its pages by their paths.
async fn pages(client: &Client) -> BTreeMap<String, String> {
    let overview = client.get("/docs/api").await.text().to_owned();
    let links = attribute(&overview, " href").filter_map(|link| link.strip_prefix("api/"));
    let groups: BTreeSet<_> = links.map(|link| link.split('#').next().unwrap()).collect();
    let mut pages = BTreeMap::new();
    for group in groups {
        let path = format!("/docs/api/{group}");
        pages.insert(path.clone(), client.get(&path).await.text().to_owned());
    }
    assert!(pages.len() > REGISTRY.len(), "{:?}", pages.keys());
    pages.insert("/docs/api".to_owned(), overview);
    pages
}

fn section<'p>(pages: &'p BTreeMap<String, String>, operation: &Operation) -> &'p str {
    let group = operation.says["tags"][0].as_str().unwrap();
    let page = &pages[&format!("/docs/api/{group}")];
    let id = format!(" id=\"{}\"", operation.says["operationId"].as_str().unwrap());
    let found = page.split("<section>").find(|section| section.contains(&id));
    found.unwrap_or_else(|| panic!("no {} on the page of {group}", operation.name()))
}

/// The commands that a section shows.
fn commands(section: &str) -> impl Iterator<Item = String> {
    const BEFORE: &str = "<figcaption>Request</figcaption><pre tabindex=\"0\"><code>";
    section.split(BEFORE).skip(1).map(|rest| {
        let escaped = rest.split("</code>").next().unwrap();
        escaped.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_there_with_its_scope_its_parameters_and_an_example() {
    let server = InProcess::start().await;
    let pages = pages(&server.anonymous).await;
    let overview = &pages["/docs/api"];
    for operation in Operation::all(&description(&server).await) {
        let (name, section) = (operation.name(), section(&pages, &operation));
        let call = format!("<b>{}</b> <code>{}</code>", operation.method, operation.path);
        assert!(section.contains(&call), "{name}: {section}");
        for scope in operation.says["x-scope"].as_str().iter().flat_map(|all| all.split(' ')) {
            assert!(section.contains(&format!(" <code>{scope}</code>")), "{name}: {section}");
        }
        for parameter in operation.says["parameters"].as_array().unwrap() {
            let parameter = parameter["name"].as_str().unwrap();
            assert!(section.contains(&format!("<code>{parameter}</code>")), "{name}: {parameter}");
        }
        assert!(commands(section).next().is_some(), "{name} has no example");
        let content = &operation.says["responses"]["200"]["content"];
        let kinds = ["application/json", "text/plain"];
        let has_example = kinds.iter().any(|kind| !content[kind]["example"].is_null());
        assert!(!has_example || section.contains("Response 200"), "{name}: {section}");
        let group = operation.says["tags"][0].as_str().unwrap();
        let id = operation.says["operationId"].as_str().unwrap();
        assert!(
            overview.contains(&format!("\"api/{group}#{id}\"")),
            "{name} is not on the overview"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_member_of_every_object_is_there() {
    let server = InProcess::start().await;
    let pages = pages(&server.anonymous).await;
    let sections = pages.values().flat_map(|page| page.split("<section>").skip(1));
    let sections: BTreeMap<_, _> =
        sections.filter_map(|text| Some((attribute(text, " id").next()?, text))).collect();
    let document = description(&server).await;
    let mut members = 0;
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        // A form of an object, such as its update, is described with the object.
        let section = sections.iter().rev().find(|(id, _)| name.starts_with(**id));
        let (_, section) = section.unwrap_or_else(|| panic!("{name} is nowhere"));
        for member in schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
            assert!(section.contains(&format!("<code>{member}</code>")), "{name}.{member}");
            members += 1;
        }
    }
    assert!(members > 500, "{members} members");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_command_works_as_it_is_shown() {
    let server = first_start().await;
    let pages = pages(&server.anonymous).await;
    let mut operations = Operation::all(&description(&server).await);
    operations.retain(Operation::is_tried);
    // What the examples create is deleted last.
    operations.sort_by_key(|operation| operation.method == Method::DELETE);
    let (mut wrong, mut tried) = (Vec::new(), BTreeSet::new());
    for operation in operations {
        let is_of_operators = operation.says["x-scope"] == "operator";
        let client = if is_of_operators { &server.operator } else { &server.client };
        let assigned = assigned_id(client, &operation).await;
        for mut command in commands(section(&pages, &operation)) {
            if !tried.insert(command.clone()) {
                continue;
            }
            for (_, example) in operation.path_examples() {
                let assigned = assigned.as_deref().unwrap_or(&example);
                command = command.replace(&format!("/{example}"), &format!("/{assigned}"));
            }
            let (status, printed) = run(&server, &command).await;
            if !status.starts_with('2') && status != "308" {
                wrong.push(format!("{command}\n{status} {printed}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(tried.len() > 100, "{} commands", tried.len());
}

/// The status of the response to a command, and its body.
async fn run(server: &InProcess, command: &str) -> (String, String) {
    let token = |client: &Client| {
        client.authorization().unwrap().strip_prefix("Bearer ").unwrap().to_owned()
    };
    let output = Command::new("sh")
        .args(["-euc", &format!("{command} -w '\\n%{{http_code}}'")])
        .env("BASE", format!("http://{}", server.anonymous.address()))
        .env("TENANT", TENANT)
        .env("TOKEN", token(&server.client))
        .env("OPERATOR", token(&server.operator))
        .output();
    let output = output.await.unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let (body, status) = printed.rsplit_once('\n').unwrap_or(("", &printed));
    (status.to_owned(), body.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_id_is_there_twice_and_no_link_leads_nowhere() {
    let server = InProcess::start().await;
    let pages = pages(&server.anonymous).await;
    let ids_of = |path: &str| attribute(&pages[path], " id").collect::<Vec<_>>();
    let mut links = 0;
    for (path, html) in &pages {
        assert_eq!(html.matches("<h1").count(), 1, "{path}");
        let ids = ids_of(path);
        assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len(), "{path} has an id twice");
        for link in attribute(html, " href").filter(|link| link.contains('#')) {
            let (page, id) = link.split_once('#').unwrap();
            let folder = path.rsplit_once('/').unwrap().0;
            let page = match page {
                "" => path.clone(),
                page => format!("{folder}/{page}").replace("/api/../", "/"),
            };
            assert!(ids_of(&page).contains(&id), "{path}: {link}");
            links += 1;
        }
    }
    assert!(links > 1_000, "{links} links");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_finds_operations_and_properties_of_the_reference() {
    let server = InProcess::start().await;
    for (query, expect) in [
        ("renew+license", "../docs/api/licenses#post_licenses_id_renew"),
        ("fcNewMrrOptimistic", "../docs/api/licenses#License"),
        ("mrr/reports", "../docs/api/reports#get_reports_mrr"),
        ("retry-after", "../docs/api#headers"),
    ] {
        let found = server.anonymous.get(&format!("/docs/search?q={query}")).await;
        let links: Vec<_> = attribute(found.text(), " href").collect();
        assert!(links.contains(&expect), "{query}: {links:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_there_is_not_is_a_404_and_a_slash_at_the_end_leads_to_the_page() {
    let server = InProcess::start().await;
    assert_eq!(server.anonymous.get("/docs/api/nothing").await.status, 404);
    let moved = server.anonymous.get("/docs/api/companies/").await;
    assert_eq!(
        (moved.status.as_u16(), &moved.headers["location"]),
        (308, &"../companies".parse().unwrap())
    );
}

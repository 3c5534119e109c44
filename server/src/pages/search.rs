//! Search over everything: records of several resources, and pages.

use poem::Response;
use serde_json::{Map, Value};
use svctrack_core::{
    resources::{
        REGISTRY, company::COMPANY, end_user::END_USER, license::LICENSE, ticket::TICKET,
        user::USER,
    },
    schema::{ResourceDef, filter_text::escaped},
};
use svctrack_web::pages::{
    HitGroup, SearchHit, SearchView, address, label_of, search_page, title_of,
};

use super::{
    by_ids::text, import, rates, records, respond::html, submitted_form::sent, visit::Visit,
};
use crate::{error::Error, routes::query_pairs, routing::path_tree::RoutedRequest};

/// Maximum number of hits of a resource that are shown.
const SHOWN: usize = 6;

/// Parameter that searches the texts of a resource, and takes them literally.
const SEARCH: &str = "search";

/// Parameters that find a record by an id, of the service or of the tenant's own systems.
const IDS: [&str; 3] = ["externalId", "sourceId", ID];
/// Id of the service, which has small letters.
const ID: &str = "_id";
/// Longest id that is looked for in other spellings, in bytes: three of them fit in an address.
const MAX_ID_BYTES: usize = 256;
/// Parameter that finds a company by the beginning of a domain.
const DOMAIN: &str = "domains[prefix]";

/// Search of a resource.
struct SearchedResource {
    def: &'static ResourceDef,
    /// Parameters by which a list finds a text besides [`IDS`], the best first.
    by: &'static [&'static str],
    /// Properties that distinguish a record from others of the same name.
    notes: &'static [&'static str],
}

const SEARCHED: &[SearchedResource] = &[
    SearchedResource {
        def: &COMPANY,
        by: &["name[contains]", DOMAIN],
        notes: &["status", "externalId"],
    },
    SearchedResource {
        def: &END_USER,
        by: &["name[contains]", "email[prefix]"],
        notes: &["email", "companyName"],
    },
    SearchedResource {
        def: &LICENSE,
        by: &["product[contains]"],
        notes: &["companyName", "fromDate", "toDate"],
    },
    SearchedResource {
        def: &TICKET,
        by: &[SEARCH],
        notes: &["externalId", "status", "companyName", "name"],
    },
    SearchedResource { def: &USER, by: &["name[contains]", "email[prefix]"], notes: &["email"] },
];

/// `GET /app/search`
pub(super) async fn search(visit: Visit, request: RoutedRequest<'_>) -> Result<Response, Error> {
    let pairs = query_pairs(&request);
    let query = sent(&pairs, "q").trim().to_owned();
    let may_read = |searched: &&SearchedResource| visit.shell.reads(searched.def.path);
    let readable: Vec<&SearchedResource> = SEARCHED.iter().filter(may_read).collect();
    let only_pages = readable.is_empty();
    let mut view = SearchView { query, groups: Vec::new(), only_pages };
    if !view.query.is_empty() {
        view.groups.push(pages(&visit, &view.query));
        for searched in readable {
            view.groups.push(hits_of(&visit, searched, &view.query).await?);
        }
        view.groups.retain(|group| !group.hits.is_empty());
    }
    Ok(html(search_page(&visit.shell, &view)))
}

/// Pages in whose name a text begins a word: those of the menu, and those that one of them leads to.
fn pages(visit: &Visit, query: &str) -> HitGroup {
    let query = format!(" {}", query.to_lowercase());
    let page = |label: String, note: &str, path: String| {
        let is_found = format!(" {}", label.to_lowercase()).contains(&query);
        is_found.then(|| SearchHit { label, note: note.to_owned(), path })
    };
    let sections = visit.shell.sections.iter();
    let sections = sections
        .filter_map(|section| page(section.label.clone(), section.group, section.path.clone()));
    let rates =
        visit.shell.has("/app/settings").then_some(("Exchange rates", "Settings", rates::PAGE));
    let rates = rates.and_then(|(label, note, path)| page(label.to_owned(), note, path.to_owned()));
    let new = REGISTRY.iter().filter(|def| records::may(visit, def, "create"));
    let new = new.filter_map(|def| {
        let label = format!("New {}", label_of(def.name).to_lowercase());
        page(label, "", address("/app/records/{}/new", &[def.path], &[]))
    });
    let imports = REGISTRY.iter().filter(|def| import::may_import(visit, def));
    let imports = imports.filter_map(|def| {
        let label = format!("Import {}", label_of(def.path).to_lowercase());
        page(label, "", address("/app/import/{}", &[def.path], &[]))
    });
    HitGroup {
        label: "Pages".to_owned(),
        hits: sections.chain(rates).chain(new).chain(imports).collect(),
        all: None,
    }
}

/// The records of a resource in which a text is found. Lists are read one after another: each uses all processors that
/// are idle.
async fn hits_of(
    visit: &Visit,
    searched: &SearchedResource,
    query: &str,
) -> Result<HitGroup, Error> {
    let path = searched.def.path;
    let limit = (SHOWN + 1).to_string();
    let (mut hits, mut all) = (Vec::new(), None);
    for by in IDS.iter().filter(|id| searched.def.field(id).is_some()).chain(searched.by) {
        let text = text_for(by, query);
        if text.is_empty() {
            continue;
        }
        let list = address("/{}", &[path], &[(by, &text), ("limit", &limit)]);
        let list: Result<Vec<Map<String, Value>>, _> = visit.api.get(&list).await;
        // A text that cannot be searched for, such as one that is too long, is found nowhere.
        let list = list.or_else(|error| error.into_issues().map(|_| Vec::new()))?;
        if list.len() > SHOWN && all.is_none() {
            all = Some(address("/app/records/{}", &[path], &[(by, &text)]));
        }
        for record in &list {
            let hit = hit(searched, record);
            if hits.len() < SHOWN && !hits.contains(&hit) {
                hits.push(hit);
            }
        }
    }
    Ok(HitGroup { label: label_of(path), hits, all })
}

/// The part of a text that a parameter finds.
fn text_for(by: &str, query: &str) -> String {
    match by {
        SEARCH => query.to_owned(),
        DOMAIN => escaped(domain_of(query)),
        ID => escaped(&query.trim_start_matches('#').to_lowercase()),
        by if IDS.contains(&by) => in_each_case(query.trim_start_matches('#')),
        _ => escaped(query),
    }
}

/// List of values for an id: as it is written, and in small and capital letters.
fn in_each_case(id: &str) -> String {
    if id.len() > MAX_ID_BYTES {
        return escaped(id);
    }
    let mut each = vec![escaped(id), escaped(&id.to_lowercase()), escaped(&id.to_uppercase())];
    each.dedup();
    each.join(",")
}

/// The domain in an e-mail address or a URL; any other text as it is.
fn domain_of(text: &str) -> &str {
    let text = text.rsplit_once('@').map_or(text, |(_, domain)| domain);
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    let text = text.strip_prefix("www.").unwrap_or(text);
    text.split('/').next().unwrap_or_default()
}

fn hit(searched: &SearchedResource, record: &Map<String, Value>) -> SearchHit {
    let label = title_of(searched.def, record);
    let day = |name: &str, text: &str| {
        let is_day = name.ends_with("Date");
        if is_day { text.get(..10).unwrap_or(text).to_owned() } else { text.to_owned() }
    };
    let notes = searched.notes.iter().map(|name| day(name, text(record, name)));
    let notes: Vec<String> = notes.filter(|note| !note.is_empty() && *note != label).collect();
    SearchHit {
        label,
        note: notes.join(" · "),
        path: address("/app/records/{}/{}", &[searched.def.path, text(record, "_id")], &[]),
    }
}

//! Requests as text, several one after the other, each input on a store of its own: method, path, headers and body
//! reach whatever reads them, such as credentials, cookies, conditions, queries and forms.

use std::{
    str::FromStr as _,
    sync::{Arc, LazyLock},
};

use poem::{
    Endpoint as _, EndpointExt as _, Request, Response,
    endpoint::BoxEndpoint,
    http::{HeaderName, HeaderValue, Method, StatusCode, Uri},
};
use serde_json::Value;
use svctrack_core::value::Timestamp;
use svctrack_server::{
    app::{App, Limits},
    routing::router,
};
use svctrack_store::{Clock as _, memory::Memory};
use svctrack_web::Addresses;
use tokio::runtime::Runtime;

use crate::{
    case::{Case, NOW, Step},
    in_process::StillClock,
    tokens::Tokens,
};

/// A line that separates one request from the next.
const SEPARATOR: &str = "\n====\n";
/// Requests of one input, at most.
const MAX_REQUESTS: usize = 8;

/// The words of seeds that become what a store of its own has.
const TOKEN: &str = "{{token}}";
const OPERATOR: &str = "{{operator}}";

struct Server {
    endpoint: BoxEndpoint<'static, Response>,
    tokens: Tokens,
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// No request gets an error of the server.
pub(super) fn check(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    RUNTIME.block_on(async {
        let server = Server::start().await;
        let (mut ids, mut is_accepted) = (Vec::new(), false);
        for request in text.split(SEPARATOR).take(MAX_REQUESTS) {
            let Some(request) = server.request(request, &ids) else { continue };
            let (method, uri) = (request.method().clone(), request.uri().clone());
            let response = server.endpoint.call(request).await.unwrap();
            let status = response.status();
            assert_ne!(status, StatusCode::INTERNAL_SERVER_ERROR, "{method} {uri}");
            is_accepted |= status.is_success();
            // A stream has no end.
            let is_json = response.content_type().is_some_and(|kind| kind.contains("json"));
            let body = if is_json { response.into_body().into_vec().await } else { Ok(Vec::new()) };
            let body: Value = serde_json::from_slice(&body.unwrap()).unwrap_or_default();
            let id = &body.get(0).unwrap_or(&body)["_id"];
            ids.push(id.as_str().unwrap_or_default().to_owned());
        }
        is_accepted
    })
}

impl Server {
    async fn start() -> Self {
        let clock = Arc::new(StillClock::at(Timestamp::parse(NOW).unwrap()));
        let store = Arc::new(Memory::new(clock.clone()).unwrap());
        let tokens = Tokens::create(&*store, clock.now(), |_| {}).await;
        let addresses = Addresses::new("http://svctrack.example");
        let app = App::new(store, clock, addresses, Limits::default());
        let endpoint = router::endpoint(&app).unwrap().boxed();
        Self { endpoint, tokens }
    }

    /// A request as text: its first line, its headers, an empty line, and its body; none for what no server gets to see.
    fn request(&self, text: &str, ids: &[String]) -> Option<Request> {
        let mut text = text.replace(TOKEN, &self.tokens.tenant);
        text = text.replace(OPERATOR, &self.tokens.operator);
        for (index, id) in ids.iter().enumerate() {
            text = text.replace(&format!("{{{{id:{index}}}}}"), id);
        }
        let (head, body) = text.split_once("\n\n").unwrap_or((&text, ""));
        let mut lines = head.split('\n');
        let (method, path) = lines.next()?.split_once(' ')?;
        let uri = Uri::from_str(path).ok().filter(|uri| uri.path().starts_with('/'))?;
        let mut request =
            Request::builder().method(Method::from_str(method).ok()?).uri(uri).finish();
        for line in lines {
            let (name, value) = line.split_once(':')?;
            let value = HeaderValue::from_bytes(value.trim().as_bytes()).ok()?;
            request.headers_mut().append(HeaderName::from_str(name).ok()?, value);
        }
        request.set_body(body.to_owned());
        Some(request)
    }
}

/// The requests of each case as text.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let as_input = |case: &Case| {
        let steps: Vec<_> = case.steps().iter().map(as_text).collect();
        steps.join(SEPARATOR).into_bytes()
    };
    Case::all().iter().map(as_input).collect()
}

fn as_text(step: &Step) -> String {
    let mut head = format!("{} {}\nhost: svctrack.example", step.method(), step.path());
    for (name, value) in step.headers() {
        head += &format!("\n{name}: {value}");
    }
    match step {
        _ if step.is_anonymous() => {}
        _ if step.is_operators() => head += &format!("\nauthorization: Bearer {OPERATOR}"),
        _ => head += &format!("\nauthorization: Bearer {TOKEN}"),
    }
    format!("{head}\n\n{}", step.body())
}

/// The bodies of all cases.
pub(super) fn bodies() -> Vec<Vec<u8>> {
    let steps = Case::all().iter().flat_map(Case::steps).collect::<Vec<_>>();
    let bodies = steps.iter().map(|step| step.body().into_bytes());
    bodies.filter(|body| !body.is_empty()).collect()
}

/// The queries of all cases.
pub(super) fn queries() -> Vec<Vec<u8>> {
    let steps = Case::all().iter().flat_map(Case::steps).collect::<Vec<_>>();
    let queries = steps.iter().filter_map(|step| step.path().split_once('?'));
    queries.map(|(_, query)| query.as_bytes().to_vec()).collect()
}

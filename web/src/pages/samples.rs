//! Code that sends a first event, with the values of a tenant filled in: three routes in four languages.

use crate::page::fill;

/// The languages of the samples: the name in an address, and the label.
pub const LANGUAGES: &[(&str, &str)] =
    &[("curl", "curl"), ("python", "Python"), ("javascript", "JavaScript"), ("rust", "Rust")];

const ONE: &str = r#"{
  "externalId": "user-1",
  "name": "Ada Lovelace",
  "companyExternalId": "{{company}}",
  "action": "Opened report"
}"#;
const PIPELINE: &str = r#"{
  "type": "track",
  "userId": "user-1",
  "event": "Opened report",
  "traits": {"name": "Ada Lovelace", "companyId": "{{company}}"}
}"#;
const BULK: &str = r#"[
  {"euExtId": "user-1", "cId": "{{company}}", "action": "Opened report", "count": 3},
  {"euExtId": "user-2", "cId": "{{company}}", "action": "Signed in", "date": "{{day}}"}
]"#;

/// The sample prints the head of the response, where `Svctrack-Parked` is present for a parked event.
const CURL: &str = "curl -i '{{url}}'{{user}} -d '{{body}}'";
const PYTHON: &str = r#"import json
import sys
import urllib.error
import urllib.request

url = "{{url}}"
event = {{body}}
request = urllib.request.Request(url, json.dumps(event).encode()){{headers}}
try:
    with urllib.request.urlopen(request, timeout=10) as response:
        # An event of an unknown user or company waits: this header says why.
        print(response.read().decode(), response.headers.get("Svctrack-Parked", ""))
except urllib.error.HTTPError as error:
    # The body says what is wrong.
    sys.exit(f"{error}: {error.read().decode()}")"#;
const JAVASCRIPT: &str = r#"const url = "{{url}}";
const event = {{body}};
const response = await fetch(url, {
  method: "POST",{{headers}}
  body: JSON.stringify(event),
});
// An event of an unknown user or company waits: this header says why.
console.log(response.status, await response.text(), response.headers.get("Svctrack-Parked") ?? "");"#;
const RUST: &str = r##"// cargo add ureq
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let event = r#"{{body}}"#;
    let mut response = ureq::post("{{url}}"){{headers}}
        .config()
        // An error has a body too, which says what is wrong.
        .http_status_as_error(false)
        .build()
        .send(event)?;
    println!("{} {}", response.status(), response.body_mut().read_to_string()?);
    // An event of an unknown user or company waits: this header says why.
    if let Some(parked) = response.headers().get("Svctrack-Parked") {
        println!("waits: {}", parked.to_str()?);
    }
    Ok(())
}"##;

/// Values for the placeholders of the samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleValues {
    /// Address of the server, without a slash at its end.
    pub base_url: String,
    /// The address to which the events of the tenant go.
    pub endpoint: String,
    /// The address of the bulk call.
    pub bulk: String,
    /// The UUID of the tenant.
    pub tenant: String,
    /// The value of an `Authorization` header with the UUID as user name.
    pub basic: String,
    /// The `externalId` of a company.
    pub company: String,
    /// A day, such as today.
    pub day: String,
}

/// A route with its sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    pub(super) code: String,
}

/// Samples in a language; in the first one where the name is not known.
pub(super) fn samples(values: &SampleValues, language: &str) -> Vec<Sample> {
    let dock = format!("{}/dock/segment", values.base_url);
    let code_of = |body: &str, url: &str, basic: &str| {
        let filled = [("company", values.company.clone()), ("day", values.day.clone())];
        code(language, url, basic, &values.tenant, &fill(body, &filled))
    };
    vec![
        Sample {
            title: "One event",
            about: "For events as they happen. A `messageId` of your choice makes a retry safe: the event is stored once.",
            code: code_of(ONE, &values.endpoint, ""),
        },
        Sample {
            title: "Customer-data pipeline",
            about: "For a pipeline that forwards events: the path ends with its name in lower case, and the UUID is the user name of HTTP Basic.",
            code: code_of(PIPELINE, &dock, &values.basic),
        },
        Sample {
            title: "Many events",
            about: "For batches and history, up to 32 MiB a call. Invalid rows do not affect valid ones.",
            code: code_of(BULK, &values.bulk, ""),
        },
    ]
}

fn code(language: &str, url: &str, basic: &str, tenant: &str, body: &str) -> String {
    let with = |text: String| if basic.is_empty() { String::new() } else { text };
    let (template, headers) = match language {
        "python" => (PYTHON, with(format!("\nrequest.add_header(\"Authorization\", \"{basic}\")"))),
        "javascript" => {
            (JAVASCRIPT, with(format!("\n  headers: {{ Authorization: \"{basic}\" }},")))
        }
        "rust" => (RUST, with(format!("\n        .header(\"Authorization\", \"{basic}\")"))),
        _ => (CURL, String::new()),
    };
    let user = with(format!(" -u {tenant}:"));
    let values =
        [("url", url.to_owned()), ("user", user), ("headers", headers), ("body", body.to_owned())];
    fill(template, &values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_has_the_values_of_the_tenant() {
        let values = SampleValues {
            base_url: "https://a.example".to_owned(),
            endpoint: "https://a.example/analytics/4f1c".to_owned(),
            bulk: "https://a.example/analytics/bulk/4f1c".to_owned(),
            tenant: "4f1c".to_owned(),
            basic: "Basic NGYxYzo=".to_owned(),
            company: "acme".to_owned(),
            day: "2026-11-24".to_owned(),
        };
        for (language, _) in LANGUAGES {
            let samples = samples(&values, language);
            let [one, pipeline, bulk] = samples.as_slice() else { panic!("{}", samples.len()) };
            for (sample, url) in [
                (one, &*values.endpoint),
                (pipeline, "https://a.example/dock/segment"),
                (bulk, &values.bulk),
            ] {
                let code = &sample.code;
                assert!(code.contains(url) && code.contains("\"acme\""), "{code}");
                assert!(!code.contains("{{"), "{code}");
            }
            let has_user = |code: &str| code.contains("-u 4f1c:") || code.contains(&values.basic);
            assert!(has_user(&pipeline.code) && !has_user(&one.code) && !has_user(&bulk.code));
        }
    }
}

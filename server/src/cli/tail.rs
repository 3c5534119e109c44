//! `svctrack tail`: the last activities, then further ones as they are stored.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use bytes::Bytes;
use clap::Args;
use poem::http::{Method, StatusCode};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use svctrack_core::value::ObjectId;
use svctrack_server::api_client::{ApiClient, ApiResponse};
use svctrack_web::pages::{ActivityLine, address};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    time::timeout,
};

use super::output::{print_err, print_line};

/// Pause before the stream is opened again.
const PAUSE: Duration = Duration::from_secs(1);
/// Silence after which a stream counts as lost: three times that of a stream without activities.
const SILENCE: Duration = Duration::from_secs(45);
/// Width of the columns of actions, users and companies, in characters; longer texts move the rest of their line.
const WIDTH: usize = 24;
/// Parameters of the list of activities that are no filters.
const NO_FILTERS: &[&str] = &["after", "select", "sort"];

/// Show activities as they are stored
///
/// Prints the last activities of a tenant, then each further one: its time, action, user, company and data. After an
/// interruption it continues where it was. Ends with Ctrl+C.
#[derive(Args)]
#[command(after_help = "Examples:
  svctrack tail --server http://127.0.0.1:8080 --token $TOKEN
  svctrack tail action=login companyId=extid-acme --json --server http://127.0.0.1:8080 --token $TOKEN")]
pub(crate) struct Tail {
    /// Filters, as GET /activities has them, such as action=login [default: none; all activities]
    #[arg(value_name = "NAME=VALUE")]
    filters: Vec<String>,
    /// URL of a running server
    #[arg(long, env = "SVCTRACK_SERVER", value_name = "URL")]
    server: String,
    /// Token of the tenant, with the scope activities:read
    #[arg(long, env = "SVCTRACK_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    token: String,
    /// Certificate to trust for an https:// server, in PEM: of its authority, or its own [default: none; authorities
    /// that browsers trust]
    #[arg(long, env = "SVCTRACK_CA_CERT", value_name = "FILE")]
    ca_cert: Option<PathBuf>,
    /// Number of earlier activities to print first
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 10,
        value_parser = clap::value_parser!(u16).range(0..=1_000))]
    lines: u16,
    /// End after the earlier activities
    #[arg(long)]
    no_follow: bool,
    /// Print JSON, one activity per line
    #[arg(long)]
    json: bool,
}

/// How a stream ended.
enum StreamEnd {
    /// Nobody reads the output any longer.
    Unread,
    /// The stream is opened again after a pause; with the reason for which it ended.
    Lost(String, Duration),
}

/// Id of an activity.
#[derive(Deserialize)]
struct ActivityId {
    #[serde(rename = "_id")]
    id: String,
}

impl Tail {
    pub(crate) async fn run(self) -> Result<ExitCode, String> {
        let filters = self.filters()?;
        let client = ApiClient::running(&self.server, &self.token, self.ca_cert.as_deref())?;
        // Where nothing matches the filters yet, the stream begins after the newest activity of all.
        let newest: Vec<ActivityId> = list(&client, &[("limit", "1")]).await?;
        let mut after =
            newest.into_iter().next().map_or_else(|| ObjectId::MIN.to_string(), |it| it.id);
        let is_read = self.lines == 0 || self.print_earlier(&client, &filters, &mut after).await?;
        if self.no_follow || !is_read {
            return Ok(ExitCode::SUCCESS);
        }
        loop {
            let query = [&filters[..], &[("after", &after)]].concat();
            let path = address("/activities/stream", &[], &query);
            let ended = match client.send(Method::GET, &path, Bytes::new()).await {
                Ok(response) if response.status.is_success() => {
                    self.follow(response, &mut after).await?
                }
                Ok(response) => rejected(response).await?,
                Err(error) => StreamEnd::Lost(error, PAUSE),
            };
            let StreamEnd::Lost(cause, pause) = ended else { return Ok(ExitCode::SUCCESS) };
            print_err(&format!("interrupted: {cause}; trying again"));
            tokio::time::sleep(pause).await;
        }
    }

    fn filters(&self) -> Result<Vec<(&str, &str)>, String> {
        self.filters.iter().map(|filter| filter_of(filter)).collect()
    }

    /// Prints the last activities; `after` becomes the newest of them. Returns whether somebody still reads the output.
    async fn print_earlier(
        &self,
        client: &ApiClient,
        filters: &[(&str, &str)],
        after: &mut String,
    ) -> Result<bool, String> {
        let limit = self.lines.to_string();
        let query = [filters, &[("limit", &limit)]].concat();
        let earlier: Vec<Box<RawValue>> = list(client, &query).await?;
        for activity in earlier.iter().rev() {
            if !self.print(activity.get())? {
                return Ok(false);
            }
        }
        let newest = earlier.first().map(|newest| serde_json::from_str(newest.get()));
        if let Some(Ok(ActivityId { id })) = newest {
            // One that was stored since the newest of all was asked for.
            *after = id.max(std::mem::take(after));
        }
        Ok(true)
    }

    /// Prints the activities of a stream until it ends; `after` is the cursor from which the next one continues.
    async fn follow(&self, response: ApiResponse, after: &mut String) -> Result<StreamEnd, String> {
        let mut lines = BufReader::new(response.body.into_async_read()).lines();
        let mut id = String::new();
        let lost = |cause: String| Ok(StreamEnd::Lost(cause, PAUSE));
        loop {
            let Ok(line) = timeout(SILENCE, lines.next_line()).await else {
                return lost(format!("nothing was received for {} seconds", SILENCE.as_secs()));
            };
            let line = match line {
                Ok(Some(line)) => line,
                Ok(None) => return lost("the server ended the stream".to_owned()),
                Err(error) => return lost(error.to_string()),
            };
            match line.split_once(": ") {
                Some(("id", found)) => found.clone_into(&mut id),
                Some(("data", activity)) => {
                    // The last message to a slow reader is no activity.
                    let is_activity = serde_json::from_str::<ActivityId>(activity).is_ok();
                    if is_activity && !self.print(activity)? {
                        return Ok(StreamEnd::Unread);
                    }
                }
                // The end of a message: only now nothing of it is missed.
                None if line.is_empty() && !id.is_empty() => after.clone_from(&id),
                _ => {}
            }
        }
    }

    /// Prints an activity, in JSON as it was received. Returns whether somebody still reads the output.
    fn print(&self, activity: &str) -> Result<bool, String> {
        if self.json { print_line(activity) } else { print_line(&line_of(activity)) }
    }
}

/// Activities of a query.
async fn list<T: DeserializeOwned>(
    client: &ApiClient,
    query: &[(&str, &str)],
) -> Result<Vec<T>, String> {
    let path = address("/activities", &[], query);
    client.send_again(Method::GET, &path, Bytes::new()).await?.read().await
}

/// Decides on a rejected stream: one that the token or the query does not allow is an error, any other is opened again.
async fn rejected(response: ApiResponse) -> Result<StreamEnd, String> {
    let (status, pause) = (response.status, response.retry_after());
    let cause = response.json().await.err().unwrap_or_else(|| status.to_string());
    match status {
        StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(cause),
        _ => Ok(StreamEnd::Lost(cause, pause.unwrap_or(PAUSE).max(PAUSE))),
    }
}

/// Name and value of a filter.
fn filter_of(text: &str) -> Result<(&str, &str), String> {
    match text.split_once('=') {
        Some(("limit", _)) => Err("use --lines instead of `limit`".to_owned()),
        Some(("count", "true" | "false")) => Err("`count` is a number in a filter".to_owned()),
        Some((name, _)) if NO_FILTERS.contains(&name) => Err(format!("`{name}` is not a filter")),
        Some(filter) => Ok(filter),
        None => Err(format!("a filter is NAME=VALUE, such as action=login; found `{text}`")),
    }
}

/// An activity as a line: time, action, user, company, data, and how often it is counted unless that is once.
fn line_of(activity: &str) -> String {
    let Ok(line) = serde_json::from_str::<ActivityLine>(activity) else {
        return activity.to_owned();
    };
    let action =
        if line.passive { format!("{} (passive)", line.action) } else { line.action.clone() };
    let times = if line.count == 1 { String::new() } else { format!("× {}", line.count) };
    let company = line.company_name.as_deref().unwrap_or("-");
    let (who, data) = (line.who(), line.data());
    let text =
        format!("{}  {action:WIDTH$}  {who:WIDTH$}  {company:WIDTH$}  {data}  {times}", line.date);
    text.trim_end().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use poem::{
        Body,
        http::{HeaderMap, header},
    };
    use serde_json::{Value, json};

    use super::*;

    #[tokio::test]
    async fn a_stream_is_opened_again_unless_the_token_or_the_query_does_not_allow_it() {
        for (status, after, pause) in [
            (StatusCode::TOO_MANY_REQUESTS, Some("7"), Some(7)),
            (StatusCode::SERVICE_UNAVAILABLE, None, Some(1)),
            (StatusCode::BAD_GATEWAY, None, Some(1)),
            (StatusCode::NOT_FOUND, None, Some(1)),
            (StatusCode::BAD_REQUEST, None, None),
            (StatusCode::UNAUTHORIZED, None, None),
            (StatusCode::FORBIDDEN, None, None),
        ] {
            let after = after.map(|after| (header::RETRY_AFTER, after.parse().unwrap()));
            let headers = HeaderMap::from_iter(after);
            let body = Body::from_string(r#"{"detail":"no"}"#.to_owned());
            let found = rejected(ApiResponse { status, headers, body }).await;
            let found = match found {
                Ok(StreamEnd::Lost(cause, pause)) => (cause, Some(pause.as_secs())),
                Ok(StreamEnd::Unread) => panic!("{status}"),
                Err(cause) => (cause, None),
            };
            assert_eq!(found, ("no".to_owned(), pause), "{status}");
        }
    }

    #[test]
    fn an_activity_is_a_line() {
        let mut activity = json!({
            "_id": "6a19f2c0e4b0a1c2d3e4f506", "date": "2026-11-20T10:00:00.000Z", "action": "report",
            "externalId": "ada", "companyName": "Acme", "info": {"name": "Revenue\nby month"}, "count": 1,
        });
        let line = "2026-11-20T10:00:00.000Z  report                    ada                       \
                    Acme                      name: Revenue by month";
        assert_eq!(line_of(&activity.to_string()), line);
        activity["count"] = json!(3);
        activity["passive"] = json!(true);
        activity["info"] = Value::Null;
        let line = "2026-11-20T10:00:00.000Z  report (passive)          ada                       \
                    Acme                        × 3";
        assert_eq!(line_of(&activity.to_string()), line);
    }
}

//! `svctrack tail`: the last activities, then further ones as they are stored.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use bytes::Bytes;
use clap::Args;
use poem::http::Method;
use serde_json::Value;
use svctrack_server::api_client::{ApiClient, ApiResponse};
use svctrack_web::pages::{ActivityLine, address};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::output::{print_err, print_line, text_at};

/// Pause before the stream is opened again.
const PAUSE: Duration = Duration::from_secs(1);
/// Width of the columns of actions, users and companies, in characters; longer texts move the rest of their line.
const WIDTH: usize = 24;

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
    /// The connection ended, for the reason in words.
    Lost(String),
}

impl Tail {
    pub(crate) async fn run(self) -> Result<ExitCode, String> {
        let filters = self.filters()?;
        let client = ApiClient::running(&self.server, &self.token, self.ca_cert.as_deref())?;
        let mut after = String::new();
        let is_read = self.lines == 0 || self.print_earlier(&client, &filters, &mut after).await?;
        if self.no_follow || !is_read {
            return Ok(ExitCode::SUCCESS);
        }
        loop {
            let place = Some(("after", after.as_str())).filter(|(_, after)| !after.is_empty());
            let query: Vec<_> = filters.iter().copied().chain(place).collect();
            let path = address("/activities/stream", &[], &query);
            let ended = match client.send(Method::GET, &path, Bytes::new()).await {
                Ok(response) => self.follow(response, &mut after).await?,
                Err(error) if after.is_empty() => return Err(error),
                Err(error) => StreamEnd::Lost(error),
            };
            match ended {
                StreamEnd::Unread => return Ok(ExitCode::SUCCESS),
                StreamEnd::Lost(cause) => print_err(&format!("interrupted: {cause}; trying again")),
            }
            tokio::time::sleep(PAUSE).await;
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
        let stored = client.call(Method::GET, &address("/activities", &[], &query), None).await?;
        for activity in stored.as_array().into_iter().flatten().rev() {
            text_at(activity, "/_id").clone_into(after);
            if !self.print(activity)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Prints the activities of a stream until it ends; `after` is the cursor from which the next one continues.
    async fn follow(&self, response: ApiResponse, after: &mut String) -> Result<StreamEnd, String> {
        if response.status.is_client_error() {
            return Err(response.json().await.err().unwrap_or_default());
        }
        if !response.status.is_success() {
            let cause = response.json().await.err().unwrap_or_default();
            return Ok(StreamEnd::Lost(cause));
        }
        let mut lines = BufReader::new(response.body.into_async_read()).lines();
        let mut id = String::new();
        loop {
            let line = match lines.next_line().await {
                Ok(Some(line)) => line,
                Ok(None) => return Ok(StreamEnd::Lost("the server ended the stream".to_owned())),
                Err(error) => return Ok(StreamEnd::Lost(error.to_string())),
            };
            match line.split_once(": ") {
                Some(("id", found)) => found.clone_into(&mut id),
                Some(("data", json)) => {
                    let activity: Value = serde_json::from_str(json).unwrap_or_default();
                    if activity.get("_id").is_some() && !self.print(&activity)? {
                        return Ok(StreamEnd::Unread);
                    }
                }
                // The end of a message: only now nothing of it is missed.
                None if line.is_empty() && !id.is_empty() => after.clone_from(&id),
                _ => {}
            }
        }
    }

    /// Prints an activity. Returns whether somebody still reads the output.
    fn print(&self, activity: &Value) -> Result<bool, String> {
        print_line(&if self.json { activity.to_string() } else { in_words(activity) })
    }
}

/// Name and value of a filter.
fn filter_of(text: &str) -> Result<(&str, &str), String> {
    match text.split_once('=') {
        Some(("limit", _)) => Err("use --lines instead of `limit`".to_owned()),
        Some(filter) => Ok(filter),
        None => Err(format!("a filter is NAME=VALUE, such as action=login; found `{text}`")),
    }
}

/// An activity as a line: time, action, user, company, data, and how often it is counted unless that is once.
fn in_words(activity: &Value) -> String {
    let Ok(line) = serde_json::from_value::<ActivityLine>(activity.clone()) else {
        return activity.to_string();
    };
    let action =
        if line.passive { format!("{} (passive)", line.action) } else { line.action.clone() };
    let times = if line.count == 1 { String::new() } else { format!("× {}", line.count) };
    let (who, company, data) =
        (line.who(), line.company_name.as_deref().unwrap_or("-"), line.data());
    let text =
        format!("{}  {action:WIDTH$}  {who:WIDTH$}  {company:WIDTH$}  {data}  {times}", line.date);
    text.trim_end().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_activity_is_a_line() {
        let mut activity = json!({
            "_id": "6a19f2c0e4b0a1c2d3e4f506", "date": "2026-11-20T10:00:00.000Z", "action": "report",
            "externalId": "ada", "companyName": "Acme", "info": {"name": "Revenue\nby month"}, "count": 1,
        });
        let line = "2026-11-20T10:00:00.000Z  report                    ada                       \
                    Acme                      name: Revenue by month";
        assert_eq!(in_words(&activity), line);
        activity["count"] = json!(3);
        activity["passive"] = json!(true);
        activity["info"] = Value::Null;
        let line = "2026-11-20T10:00:00.000Z  report (passive)          ada                       \
                    Acme                        × 3";
        assert_eq!(in_words(&activity), line);
    }
}

//! Activities as they are stored (R38), as server-sent events: each listener reads the log from its cursor when a
//! commit has added to it, so that the writer does not know the listeners.

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::stream;
use poem::{Body, Request, Response, http::header};
use svctrack_core::{
    tracking::activity_query::{ActivityOrder, ActivityQuery},
    value::{ObjectId, TenantId, ValidationError, quoted::quoted},
};
use svctrack_store::{Tenant, support::fair_shares::Share};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::{query_parameters::query_pairs, respond::name_ignored, strict::Strictness};
use crate::{app::App, auth::authorize, error::Error};

/// Longest silence of a stream without activities: less than proxies wait before they close it.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Least time between two reads of a listener, in which commits add up: far below the 100 ms within which an activity
/// is shown.
const BETWEEN_READS: Duration = Duration::from_millis(20);
/// How long a listener may take to accept a piece. A slower one is dropped: it keeps a connection that others could
/// use.
const MAX_STALL: Duration = Duration::from_secs(30);
/// Last message to a listener that is too slow; it can come back with `Last-Event-ID`.
const TOO_SLOW: &str = "event: dropped\ndata: {\"reason\":\"too slow\"}\n\n";

/// `GET /activities/stream`: from now on, or from `Last-Event-ID` (or `after`).
pub(crate) async fn listen(app: &Arc<App>, request: &mut Request) -> Result<Response, Error> {
    let caller = authorize(app, request, "activities:read").await?;
    let pairs = query_pairs(request);
    let mut read = ActivityQuery::parse(&pairs).map_err(Error::BadRequest)?;
    // A number is a filter of the property `count`.
    let is_of_pages = |name: &str, value: &str| {
        name == "limit" || (name == "count" && matches!(value, "true" | "false"))
    };
    if let Some((name, _)) = pairs.iter().find(|(name, value)| is_of_pages(name, value)) {
        let message = format!("`{name}` is not supported here: a stream has no pages");
        let issue = ValidationError::of_member(name, "invalid_parameter", message);
        return Err(Error::BadRequest(vec![issue]));
    }
    let ignored = Strictness::from_request(request).check_list(&read)?;
    if read.query.order != ActivityOrder::NewestStored {
        let message =
            "`sort` is not supported here: a stream has the order in which activities are stored";
        let issue = ValidationError::of_member("sort", "invalid_parameter", message);
        return Err(Error::BadRequest(vec![issue]));
    }
    read.query.page.after = last_event_id(request)?.or(read.query.page.after);
    let place = app.streams.take(caller.tenant.id(), 1).ok_or(Error::Overloaded)?;
    let commits = app.store.commits(&caller.tenant);
    if read.query.page.after.is_none() {
        read.query.page.after =
            Some(app.store.activities_since(&caller.tenant, read.query.clone()).await?.cursor);
    }
    let listener = Listener {
        app: app.clone(),
        tenant: caller.tenant,
        token: caller.token().map(str::to_owned),
        query: read.query,
        commits,
        stopping: app.stopping.subscribe(),
        handed_over: None,
        _place: place,
    };
    let events = stream::unfold(Some(listener), |listener| async move {
        let mut listener = listener?;
        let (text, goes_on) = listener.next().await?;
        listener.handed_over = Some(Instant::now());
        Some((Ok::<_, io::Error>(Bytes::from(text)), goes_on.then_some(listener)))
    });
    let mut response = Response::builder()
        .content_type("text/event-stream")
        .header(header::CACHE_CONTROL, "no-store")
        .header("X-Accel-Buffering", "no")
        .body(Body::from_bytes_stream(events));
    name_ignored(&mut response, &ignored);
    Ok(response)
}

fn last_event_id(request: &Request) -> Result<Option<ObjectId>, Error> {
    let Some(text) = request.header("last-event-id") else {
        return Ok(None);
    };
    let id = ObjectId::parse(text).ok_or_else(|| {
        let message = format!("`Last-Event-ID` must be an `_id`; found {}", quoted(text));
        Error::BadRequest(vec![ValidationError::of_body("invalid_id", message)])
    });
    id.map(Some)
}

struct Listener {
    app: Arc<App>,
    tenant: Tenant,
    token: Option<String>,
    /// Query of the subscription; `after` is the cursor.
    query: ActivityQuery,
    commits: watch::Receiver<u64>,
    stopping: watch::Receiver<bool>,
    /// Time at which the last piece was sent; none before the first.
    handed_over: Option<Instant>,
    _place: Share<TenantId>,
}

impl Listener {
    /// Next piece of the stream, and whether another one follows; `None` ends it at once.
    async fn next(&mut self) -> Option<(String, bool)> {
        let Some(handed_over) = self.handed_over else {
            let after = self.query.page.after.map(|id| format!("id: {id}\n"));
            return Some((format!("retry: 1000\n{}\n", after.unwrap_or_default()), true));
        };
        if handed_over.elapsed() > MAX_STALL {
            tracing::info!("stream closed: slow reader");
            return Some((TOO_SLOW.to_owned(), false));
        }
        sleep(BETWEEN_READS.saturating_sub(handed_over.elapsed())).await;
        let deadline = Instant::now() + HEARTBEAT;
        loop {
            if *self.stopping.borrow() || !self.may_still_listen().await {
                return None;
            }
            self.commits.mark_unchanged();
            let (text, is_caught_up) = self.read().await?;
            if !text.is_empty() {
                return Some((text, true));
            }
            if !is_caught_up {
                continue;
            }
            tokio::select! {
                changed = self.commits.changed() => changed.ok()?,
                stopped = self.stopping.changed() => stopped.ok()?,
                () = tokio::time::sleep_until(deadline) => {
                    return Some((": still there\n\n".to_owned(), true));
                }
            }
            sleep(BETWEEN_READS).await;
        }
    }

    /// Activities that have been stored since, and whether these are all.
    async fn read(&mut self) -> Option<(String, bool)> {
        let since = self.app.store.activities_since(&self.tenant, self.query.clone()).await;
        let since = match since {
            Ok(since) => since,
            Err(error) => {
                tracing::warn!(cause = %error, "stream closed");
                return None;
            }
        };
        self.query.page.after = Some(since.cursor);
        let mut text = String::new();
        for (id, activity) in since.items {
            text.push_str(&format!("id: {id}\nevent: activity\ndata: {activity}\n\n"));
        }
        Some((text, since.is_caught_up))
    }

    /// Whether the token is still valid, and its tenant is served.
    async fn may_still_listen(&self) -> bool {
        let Some(token) = &self.token else { return true };
        let now = self.app.clock.now();
        let known = self.app.store.token(token).await.ok().flatten();
        known.is_some_and(|token| {
            !token.tenant.is_suspended && token.record.expires_at.is_none_or(|end| end > now)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENANT: TenantId = TenantId::from_bytes([1; 16]);

    #[tokio::test]
    async fn a_listener_who_is_too_slow_is_notified_and_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let app = App::for_test(folder.path());
        let tenant = Tenant::assume_authorized(TENANT);
        let mut listener = Listener {
            tenant,
            token: None,
            query: ActivityQuery::parse(&[]).unwrap().query,
            commits: app.store.commits(&tenant),
            stopping: app.stopping.subscribe(),
            handed_over: Instant::now().checked_sub(MAX_STALL + HEARTBEAT),
            _place: app.streams.take(TENANT, 1).unwrap(),
            app: app.clone(),
        };
        assert_eq!(listener.next().await, Some((TOO_SLOW.to_owned(), false)));
        listener.handed_over = Some(Instant::now());
        app.stop();
        assert_eq!(listener.next().await, None);
    }
}

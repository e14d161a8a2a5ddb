//! One list-and-watch loop: everything once, then every change, for as long as it is wanted.

use std::{fmt, sync::Arc, time::Duration};

use futures::StreamExt;
use http::{Request, header};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout};

use super::{backoff::Backoff, head::Head, state::WatchState};
use crate::{
    api_error::ApiError,
    client::{ApiClient, METADATA_ONLY, METADATA_ONLY_LIST},
    object::{ApiType, parse_version},
    random,
};

/// Without a line for so long (the API server sends a bookmark every minute), the connection is taken for dead. Cheap if it was
/// not: the watch goes on where it stood.
const SILENCE: Duration = Duration::from_secs(90);

/// A watch that was live for so long is well, whatever it ended of.
const WELL_AFTER: Duration = Duration::from_secs(5);

/// A plain list may take so long.
const LIST_DEADLINE: Duration = Duration::from_mins(1);

/// What a feed tells.
#[derive(Debug)]
pub(crate) enum FeedEvent<'a> {
    /// A full list begins: whatever it will not show is gone.
    ListBegins,
    /// An object as it is.
    Seen(&'a Head, &'a str),
    /// An object that was deleted.
    Deleted(&'a Head),
    /// The list is complete as of this version. What follows are changes.
    ListEnds(u64),
}

/// How a feed fares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Condition {
    /// Connected, and the list is complete.
    Live,
    /// Not connected, or not complete.
    Syncing(String),
    /// Not permitted.
    Forbidden(String),
}

impl From<Condition> for WatchState {
    fn from(condition: Condition) -> Self {
        match condition {
            Condition::Live => Self::Live,
            Condition::Syncing(why) => Self::Syncing(why),
            Condition::Forbidden(why) => Self::Forbidden(why),
        }
    }
}

/// Takes in what a feed tells. Must not block.
pub(crate) trait Sink: Send {
    /// Something was seen.
    fn on_event(&mut self, on_event: FeedEvent<'_>);
    /// The feed fares differently now.
    fn condition(&mut self, condition: Condition);
}

/// Where to list and watch.
pub(crate) struct Feed {
    client: ApiClient,
    api: Arc<ApiType>,
    backoff: Backoff,
    /// Of this connection.
    live_since: Option<Instant>,
    /// Where the watch stands; `None`: a list is needed.
    version: Option<u64>,
    /// The API server does not know streaming lists.
    plain_list: bool,
}

impl fmt::Debug for Feed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "feed of {} at {:?}", self.api.kind, self.version)
    }
}

impl Feed {
    pub(crate) fn new(client: ApiClient, api: Arc<ApiType>) -> Self {
        Self {
            client,
            api,
            backoff: Backoff::default(),
            live_since: None,
            version: None,
            plain_list: false,
        }
    }

    /// With a new list.
    pub(crate) fn begin_anew(&mut self) {
        self.version = None;
    }

    /// Runs until it is dropped. No error ends it.
    pub(crate) async fn run(&mut self, sink: &mut dyn Sink) {
        loop {
            self.live_since = None;
            let ended = self.connect(sink).await;
            if self.live_since.is_some_and(|since| since.elapsed() >= WELL_AFTER) {
                self.backoff.reset();
            }
            let Err(error) = ended else {
                // Nothing is wrong; but if each connection is ended soon, they come less and less often.
                let ended = ApiError::Interrupted("the server ended it".to_owned());
                tokio::time::sleep(self.backoff.after(&ended)).await;
                continue;
            };
            let delay = self.backoff.after(&error);
            tracing::debug!(kind = %self.api.kind, %error, ?delay, "a watch was interrupted");
            match &error {
                ApiError::Expired(_) => self.version = None,
                // What it says is only that streaming lists are not known here.
                ApiError::Invalid(_) if self.version.is_none() => self.plain_list = true,
                _ => {}
            }
            sink.condition(match error {
                ApiError::Forbidden(why) => Condition::Forbidden(why),
                error => Condition::Syncing(error.to_string()),
            });
            tokio::time::sleep(delay).await;
        }
    }

    /// One connection, until it ends. `Ok`: the server ended it in the ordinary way.
    async fn connect(&mut self, sink: &mut dyn Sink) -> Result<(), ApiError> {
        if self.version.is_none() && self.plain_list {
            self.list(sink).await?;
        }
        let request = self.request(&self.watch_query(), METADATA_ONLY)?;
        let mut listing = self.version.is_none();
        let mut lines = std::pin::pin!(self.client.stream(&self.api.plural, request).await?);
        if listing {
            sink.on_event(FeedEvent::ListBegins);
        } else {
            self.live(sink);
        }
        let mut fruitful = false;
        loop {
            let line = match timeout(SILENCE, lines.next()).await {
                Ok(Some(line)) => line?,
                Ok(None) if listing => {
                    return Err(ApiError::Interrupted("the list ended too soon".to_owned()));
                }
                Ok(None) if fruitful => return Ok(()),
                Ok(None) => return Err(ApiError::Interrupted("the watch ended at once".to_owned())),
                Err(_elapsed) => return Err(ApiError::Interrupted("the watch fell silent".to_owned())),
            };
            fruitful = true;
            self.line(&line, &mut listing, sink)?;
        }
    }

    fn live(&mut self, sink: &mut dyn Sink) {
        self.live_since = Some(Instant::now());
        sink.condition(Condition::Live);
    }

    fn line(&mut self, line: &str, listing: &mut bool, sink: &mut dyn Sink) -> Result<(), ApiError> {
        let consecutive_failures =
            |e: serde_json::Error| ApiError::Interrupted(format!("a line of the watch is not JSON: {e}"));
        let line: Line<'_> = serde_json::from_str(line).map_err(consecutive_failures)?;
        let json = line.object.get();
        match line.event {
            "BOOKMARK" => {
                let bookmark: Bookmark = serde_json::from_str(json).map_err(consecutive_failures)?;
                let version = parse_version(bookmark.metadata.resource_version.as_deref());
                if bookmark
                    .metadata
                    .annotations
                    .is_some_and(|a| a.initial_events_end.is_some())
                    && *listing
                {
                    *listing = false;
                    sink.on_event(FeedEvent::ListEnds(version.unwrap_or_default()));
                    self.live(sink);
                }
                self.advance(version, *listing);
            }
            "ERROR" => {
                let status: Failure = serde_json::from_str(json).map_err(consecutive_failures)?;
                let code = http::StatusCode::from_u16(status.code)
                    .unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
                // Whatever it is, going on from the same place may bring it again.
                self.version = None;
                let path = self.api.collection_path(None);
                return Err(ApiError::from_answer(&path, code, None, json.as_bytes()));
            }
            event => match Head::read(&self.api, json) {
                Some(head) => {
                    sink.on_event(if event == "DELETED" {
                        FeedEvent::Deleted(&head)
                    } else {
                        FeedEvent::Seen(&head, json)
                    });
                    self.advance(Some(head.version), *listing);
                }
                None => {
                    tracing::warn!(kind = %self.api.kind, "an object without name, uid or version was passed over");
                }
            },
        }
        Ok(())
    }

    /// Versions within a list are in no order: only its end counts.
    fn advance(&mut self, version: Option<u64>, listing: bool) {
        if let Some(version) = version
            && !listing
        {
            self.version = Some(version);
        }
    }

    /// All objects in one answer: for API servers without streaming lists.
    async fn list(&mut self, sink: &mut dyn Sink) -> Result<(), ApiError> {
        let request = self.request("resourceVersion=0", METADATA_ONLY_LIST)?;
        let client = self.client.clone().with_deadline(LIST_DEADLINE);
        let text = client.call_text("list", &self.api.plural, request).await?;
        let list: List<'_> = serde_json::from_str(&text).map_err(|e| ApiError::Unusable(e.to_string()))?;
        let version = parse_version(list.metadata.resource_version.as_deref())
            .ok_or_else(|| ApiError::Unusable("the list has no version".to_owned()))?;
        sink.on_event(FeedEvent::ListBegins);
        for item in list.items {
            if let Some(head) = Head::read(&self.api, item.get()) {
                sink.on_event(FeedEvent::Seen(&head, item.get()));
            }
        }
        sink.on_event(FeedEvent::ListEnds(version));
        self.version = Some(version);
        Ok(())
    }

    fn watch_query(&self) -> String {
        // Spread, so that not all watches begin anew at once.
        let seconds = random::between(240..300);
        let common = format!("watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}");
        match self.version {
            Some(version) => format!("{common}&resourceVersion={version}"),
            None => format!("{common}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
        }
    }

    fn request(&self, query: &str, metadata_only: &'static str) -> Result<Request<Vec<u8>>, ApiError> {
        let mut request = Request::get(format!("{}?{query}", self.api.collection_path(None)));
        if self.api.is_metadata_only() {
            request = request.header(header::ACCEPT, metadata_only);
        }
        request
            .body(Vec::new())
            .map_err(|e| ApiError::Unusable(e.to_string()))
    }
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    event: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct List<'a> {
    metadata: BookmarkMeta,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Bookmark {
    metadata: BookmarkMeta,
}

#[derive(Deserialize)]
struct BookmarkMeta {
    #[serde(rename = "resourceVersion")]
    resource_version: Option<String>,
    annotations: Option<BookmarkAnnotations>,
}

#[derive(Deserialize)]
struct BookmarkAnnotations {
    #[serde(rename = "k8s.io/initial-events-end")]
    initial_events_end: Option<String>,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default)]
    code: u16,
}

#[cfg(test)]
#[path = "feed_tests.rs"]
mod tests;

//! One watch: what is there, where that is asked for, then every change, bookmarks, and an end.

use std::{collections::VecDeque, io, sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    Shared,
    api::{Call, form, metadata_only},
    fault::Chaos,
    reply::{ErrorReply, bad_request, expired, invalid},
    resource::{Id, Resource},
    service::CLOSED,
    state::{ClusterState, EventKind},
};

/// From one bookmark of a watch to the next.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);

pub(crate) struct Watch {
    shared: Arc<Shared>,
    chaos: Arc<dyn Chaos>,
    resource: Resource,
    id: Id,
    /// The namespace that is watched; empty: all.
    namespace: String,
    metadata_only: bool,
    /// uid of the definition; empty: built in.
    definition: String,
    /// The definition is deleted: no event is sent any more, also if it comes back, as by a real API server.
    blind: bool,
    /// How much of the history was read.
    seen: usize,
    revision: u64,
    cut: u64,
    ends: Instant,
    bookmark: Instant,
    lines: VecDeque<String>,
    over: bool,
}

impl Watch {
    pub(crate) fn begin(
        shared: &Arc<Shared>,
        state: &ClusterState,
        chaos: &Arc<dyn Chaos>,
        call: &Call,
        resource: Resource,
    ) -> Result<Self, ErrorReply> {
        let initial = call.parameter("sendInitialEvents") == Some("true");
        if initial && state.no_streaming {
            let why = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
            return Err(invalid(&resource, "", why));
        }
        let id = resource.id();
        let seconds = call.number("timeoutSeconds").unwrap_or(1800);
        let now = Instant::now();
        let mut watch = Self {
            shared: Arc::clone(shared),
            chaos: Arc::clone(chaos),
            id,
            namespace: call.namespace.clone(),
            metadata_only: call.metadata_only,
            definition: state.definition_uid(&resource),
            blind: false,
            seen: state.history.len(),
            revision: state.revision,
            cut: state.cut,
            ends: now + Duration::from_secs(seconds),
            bookmark: now + BOOKMARK_EVERY,
            lines: VecDeque::new(),
            over: false,
            resource,
        };
        watch.chaos.watching(&watch.resource.plural, true);
        let from = call.number("resourceVersion").unwrap_or(0);
        if initial && call.parameter("resourceVersionMatch") != Some("NotOlderThan") {
            return Err(bad_request(
                "resourceVersionMatch must be NotOlderThan with sendInitialEvents",
            ));
        }
        if initial || from == 0 {
            let objects = state.objects.get(&watch.id).into_iter().flatten();
            for (storage_key, object) in objects {
                if watch.namespace.is_empty() || watch.namespace == storage_key.0 {
                    watch.push("ADDED", object);
                }
            }
            if initial {
                watch.push_bookmark(true);
            }
        } else if from < state.compacted {
            let body = expired(&watch.resource);
            watch
                .lines
                .push_back(format!("{}\n", json!({"type": "ERROR", "object": body})));
            watch.over = true;
        } else {
            watch.seen = state.history.partition_point(|commit| commit.revision <= from);
            watch.revision = from;
        }
        Ok(watch)
    }

    fn push(&mut self, word: &str, object: &Value) {
        let object = if self.metadata_only {
            metadata_only(object)
        } else {
            form::shown(&self.resource, object)
        };
        self.lines
            .push_back(format!("{}\n", json!({"type": word, "object": object})));
    }

    fn push_bookmark(&mut self, initial_events_end: bool) {
        let mut metadata = json!({"resourceVersion": self.revision.to_string()});
        if initial_events_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object = json!({
            "apiVersion": self.resource.api_version(),
            "kind": self.resource.kind,
            "metadata": metadata,
        });
        self.lines
            .push_back(format!("{}\n", json!({"type": "BOOKMARK", "object": object})));
    }

    /// The next line; `None`: the watch is over.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, io::Error>> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Some(Ok(Bytes::from(line)));
            }
            if self.over {
                return None;
            }
            let shared = Arc::clone(&self.shared);
            let changed = shared.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let found = match self.look() {
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
                Ok(found) => found,
            };
            if found {
                let telling = self.chaos.telling(&self.resource.plural);
                if telling.cut {
                    self.over = true;
                    return Some(Err(reset()));
                }
                if !telling.late.is_zero() {
                    tokio::time::sleep(telling.late).await;
                }
                while self.chaos.closed() {
                    tokio::time::sleep(CLOSED).await;
                }
                self.take(telling.twice);
                continue;
            }
            let now = Instant::now();
            if now >= self.ends {
                self.over = true;
                continue;
            }
            if now >= self.bookmark {
                self.bookmark = now + BOOKMARK_EVERY;
                self.push_bookmark(false);
                continue;
            }
            // When either comes, or something changes, check again.
            let until = self.bookmark.min(self.ends);
            let _ = tokio::time::timeout_at(until, changed).await;
        }
    }

    /// Whether there are events to send.
    fn look(&mut self) -> Result<bool, io::Error> {
        let shared = Arc::clone(&self.shared);
        let state = shared.state.lock();
        if state.down || state.cut != self.cut {
            return Err(reset());
        }
        let fresh = &state.history[self.seen..];
        let concerns = !self.blind && fresh.iter().any(|commit| commit.resource == self.id);
        if !concerns {
            self.seen = state.history.len();
            self.revision = state.revision;
        }
        Ok(concerns)
    }

    fn take(&mut self, twice: bool) {
        let shared = Arc::clone(&self.shared);
        let state = shared.state.lock();
        let mut first = twice;
        for commit in &state.history[self.seen..] {
            let ended = commit.happened == EventKind::Deleted && !self.definition.is_empty();
            if self.blind || (ended && commit.new["metadata"]["uid"] == self.definition) {
                self.blind = true;
                break;
            }
            let namespace = commit.new["metadata"]["namespace"].as_str().unwrap_or_default();
            if commit.resource != self.id || !(self.namespace.is_empty() || self.namespace == namespace) {
                continue;
            }
            self.push(commit.happened.word(), &commit.new);
            if std::mem::take(&mut first) {
                self.push(commit.happened.word(), &commit.new);
            }
        }
        self.seen = state.history.len();
        self.revision = state.revision;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.chaos.watching(&self.resource.plural, false);
    }
}

fn reset() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by peer")
}

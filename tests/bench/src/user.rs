//! What a user does to many objects, and how long it takes until it is visible.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use futures::StreamExt;
use kube::api::{DeleteParams, DynamicObject, PostParams};

use crate::board::Board;

/// Requests of the user at the same time.
const AT_ONCE: usize = 16;

pub(crate) fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}-{number}")).collect()
}

/// Creates all of them, many at the same time; how long each took from its request until it was seen `Ready`, in milliseconds.
pub(crate) async fn create(
    board: &Board,
    names: &[String],
    manifest: impl Fn(&str) -> DynamicObject,
) -> Vec<f64> {
    let sent: HashMap<&String, Instant> = futures::stream::iter(names)
        .map(async |name| (name, post(board, name, &manifest(name)).await))
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    to_millis(names, &sent, &board.until_ready(names).await)
}

/// The same, one after another, so that none waits for another one.
pub(crate) async fn create_paced(
    board: &Board,
    names: &[String],
    pace: Duration,
    manifest: impl Fn(&str) -> DynamicObject,
) -> Vec<f64> {
    let mut tick = tokio::time::interval(pace);
    let mut sent = HashMap::new();
    for name in names {
        tick.tick().await;
        sent.insert(name, post(board, name, &manifest(name)).await);
    }
    to_millis(names, &sent, &board.until_ready(names).await)
}

/// When the request was sent.
async fn post(board: &Board, name: &str, object: &DynamicObject) -> Instant {
    let sent = Instant::now();
    let created = board.api.create(&PostParams::default(), object).await;
    created.unwrap_or_else(|error| panic!("cannot create {name}: {error}"));
    sent
}

/// From each request until what was seen, in milliseconds.
pub(crate) fn to_millis(
    names: &[String],
    sent: &HashMap<&String, Instant>,
    seen: &HashMap<String, Instant>,
) -> Vec<f64> {
    let took = |name: &String| Some(seen.get(name)?.duration_since(*sent.get(name)?));
    let times = names.iter().filter_map(took);
    times.map(|time| time.as_secs_f64() * 1000.0).collect()
}

/// Requests the deletion of all of them, many at the same time; when each was requested.
pub(crate) async fn request_deletion<'n>(board: &Board, names: &'n [String]) -> HashMap<&'n String, Instant> {
    futures::stream::iter(names)
        .map(async |name| {
            let sent = Instant::now();
            let deleted = board.api.delete(name, &DeleteParams::default()).await;
            deleted.unwrap_or_else(|error| panic!("cannot delete {name}: {error}"));
            (name, sent)
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await
}

/// The same, one after another at this pace.
pub(crate) async fn request_deletion_paced<'n>(
    board: &Board,
    names: &'n [String],
    pace: Duration,
) -> HashMap<&'n String, Instant> {
    let mut sent = HashMap::new();
    let mut tick = tokio::time::interval(pace);
    for name in names {
        tick.tick().await;
        sent.extend(request_deletion(board, std::slice::from_ref(name)).await);
    }
    sent
}

/// Deletes all of them; seconds from the first request until the last was seen deleted.
pub(crate) async fn delete(board: &Board, names: &[String]) -> f64 {
    let begun = Instant::now();
    request_deletion(board, names).await;
    let deleted = board.until_deleted(names).await;
    let last = deleted.values().max().copied().unwrap_or(begun);
    last.duration_since(begun).as_secs_f64()
}

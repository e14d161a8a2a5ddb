//! What the user does to objects.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use futures::StreamExt;
use kube::api::{DeleteParams, DynamicObject, Patch, PostParams};
use serde_json::{Value, json};

use super::{Kind, board::Board, subject::Subject};

/// Requests of the user at the same time.
const AT_ONCE: usize = 16;
/// Between two that are paced.
pub(crate) const PACE: Duration = Duration::from_millis(100);
/// Objects that are created, or changed, at that pace.
pub(crate) const PACED: usize = 100;

pub(crate) fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}-{number}")).collect()
}

/// A change of the spec.
pub(crate) fn size(size: i64) -> Patch<Value> {
    Patch::Merge(json!({"spec": {"forProvider": {"size": size}}}))
}

/// What an ordinary resource has; its size is that of its description.
fn manifest(kind: Kind, name: &str, padding: usize) -> DynamicObject {
    let rules: Vec<Value> = (0..2)
        .map(|port| json!({"port": 8000 + port, "protocol": "tcp", "sources": ["10.0.0.0/8", "192.168.0.0/16"]}))
        .collect();
    let tags: HashMap<String, String> = (0..3)
        .map(|tag| (format!("tag-{tag}"), format!("value of tag {tag}")))
        .collect();
    let object = json!({
        "apiVersion": "bench.example.org/v1alpha1",
        "kind": kind.name,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"forProvider": {
            "region": "north", "size": 1, "description": "d".repeat(padding), "rules": rules, "tags": tags,
        }},
    });
    serde_json::from_value(object).expect("an object")
}

/// What is done once, the first time, is no part of anything. Of these few objects is also seen how they are to be padded.
pub(crate) async fn warm_up(subject: &mut Subject, board: &Board, kind: Kind) {
    const PADDINGS: [usize; 2] = [1, 401];
    let mut sizes = Vec::new();
    let mut names = Vec::new();
    for padding in PADDINGS {
        subject.padding = padding;
        let some = self::names(&format!("first-{padding}"), 4);
        create(subject, board, kind, &some).await;
        sizes.push(bytes(board, &some[0]).await);
        names.extend(some);
    }
    subject.padding = padding(PADDINGS, [sizes[0], sizes[1]], subject.settings.pad);
    delete(board, &names).await;
}

/// With which objects reach that size, by the sizes of two paddings: a controller may write a part of the spec elsewhere, too.
fn padding(paddings: [usize; 2], sizes: [usize; 2], wanted: usize) -> usize {
    /// Where nothing is to be padded.
    const USUAL: usize = 160;
    if wanted == 0 {
        return USUAL;
    }
    let rise = sizes[1].saturating_sub(sizes[0]).max(1);
    let missing = wanted.saturating_sub(sizes[0]);
    paddings[0] + missing * (paddings[1] - paddings[0]) / rise
}

/// As the API server has it, with managedFields.
pub(crate) async fn bytes(board: &Board, name: &str) -> usize {
    let object = board.api.get(name).await.expect("an object");
    serde_json::to_vec(&object).map_or(0, |bytes| bytes.len())
}

/// Creates all of them, many at the same time; how long each took from its request until it was seen `Ready`, in milliseconds.
pub(crate) async fn create(subject: &Subject, board: &Board, kind: Kind, names: &[String]) -> Vec<f64> {
    let sent: HashMap<&String, Instant> = futures::stream::iter(names)
        .map(async |name| (name, post(subject, board, kind, name).await))
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    taken(board, names, &sent).await
}

/// The same, one after another, so that none waits for another one.
pub(crate) async fn create_paced(subject: &Subject, board: &Board, kind: Kind, names: &[String]) -> Vec<f64> {
    let mut tick = tokio::time::interval(PACE);
    let mut sent = HashMap::new();
    for name in names {
        tick.tick().await;
        sent.insert(name, post(subject, board, kind, name).await);
    }
    taken(board, names, &sent).await
}

/// When the request was sent.
async fn post(subject: &Subject, board: &Board, kind: Kind, name: &str) -> Instant {
    let sent = Instant::now();
    let created = board
        .api
        .create(&PostParams::default(), &manifest(kind, name, subject.padding))
        .await;
    created.unwrap_or_else(|error| panic!("cannot create {name}: {error}"));
    sent
}

async fn taken(board: &Board, names: &[String], sent: &HashMap<&String, Instant>) -> Vec<f64> {
    let ready = board.until_ready(names).await;
    let took = |name: &String| Some(ready.get(name)?.duration_since(*sent.get(name)?));
    let times = names.iter().filter_map(took);
    times.map(|time| time.as_secs_f64() * 1000.0).collect()
}

/// Deletes all of them; seconds from the first request until the last was seen deleted.
pub(crate) async fn delete(board: &Board, names: &[String]) -> f64 {
    let begun = Instant::now();
    futures::stream::iter(names)
        .for_each_concurrent(AT_ONCE, async |name| {
            let deleted = board.api.delete(name, &DeleteParams::default()).await;
            deleted.unwrap_or_else(|error| panic!("cannot delete {name}: {error}"));
        })
        .await;
    let deleted = board.until_deleted(names).await;
    let last = deleted.values().max().copied().unwrap_or(begun);
    last.duration_since(begun).as_secs_f64()
}

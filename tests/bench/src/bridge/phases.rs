//! What is done to the objects, and what of it is noted.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use bridge_bench::{
    figures::{per, quantile},
    report::Report,
};
use futures::StreamExt;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::{
    Kind,
    board::Board,
    subject::{Subject, Usage, now_micros},
};

/// Requests of the user at the same time.
const AT_ONCE: usize = 16;
/// Between two that are paced.
const PACE: Duration = Duration::from_millis(100);
/// Objects that are created, or changed, at that pace.
const PACED: usize = 100;
/// For how long what is at rest is watched.
const REST: Duration = Duration::from_secs(30);

/// Creation in a burst and at a pace, rest, changes and deletion.
pub(crate) async fn lives(subject: &mut Subject, kind: Kind, objects: usize, report: &mut Report) {
    let board = Board::watch(subject, kind);
    warm_up(&board, kind).await;
    paced(&board, kind, report).await;

    let names = names("burst", objects);
    let before = subject.usage(kind).await;
    let took = create(&board, kind, &names).await;
    let created = subject.usage(kind).await;
    note_times(report, kind, "burst: create to Ready", &took);

    rest(subject, kind, objects, report).await;
    changes(subject, &board, kind, &names, report).await;

    let resting = subject.usage(kind).await;
    let seconds = delete(&board, &names).await;
    let deleted = subject.usage(kind).await;
    report.note(row(kind, "drain"), "per s", f64_of(objects) / seconds);
    note_lives(report, kind, objects, [(&before, &created), (&resting, &deleted)]);
}

/// Memory, rest and a restart with many objects.
pub(crate) async fn many(
    subject: &mut Subject,
    kind: Kind,
    objects: usize,
    poll: Duration,
    report: &mut Report,
) {
    let board = Board::watch(subject, kind);
    warm_up(&board, kind).await;
    let (bridge_before, plugin_before) = subject.resident_kb();
    let names = names("many", objects);
    create(&board, kind, &names).await;
    // Each is observed once more: what a burst needs for itself is no longer in use.
    let count = u64::try_from(objects).unwrap_or_default();
    subject.until_observed(subject.printed.observed() + count).await;
    let (bridge, plugin) = subject.resident_kb();
    let each = |after: f64, before: f64| per(after - before, objects);
    report.note(
        row(kind, &format!("{objects}: memory of the bridge per object")),
        "KB",
        each(bridge, bridge_before),
    );
    report.note(
        row(kind, &format!("{objects}: memory of the plugin per object")),
        "KB",
        each(plugin, plugin_before),
    );

    subject.stop_bridge().await;
    let Some(last) = names.last() else { return };
    board
        .api
        .patch(last, &PatchParams::default(), &size(7))
        .await
        .expect("a change");
    let (begun, observed) = (now_micros(), subject.printed.observed());
    let before = subject.usage(kind).await;
    subject.start_bridge();
    board.until_synced(std::slice::from_ref(last), 2).await;
    let updates = subject.printed.updates();
    // Where the cloud gives the names it is the only one that was updated.
    let first = updates.values().copied().filter(|at| *at > begun).min();
    let first = Duration::from_micros(first.unwrap_or(begun).saturating_sub(begun));
    subject.until_observed(observed + count).await;
    tokio::time::sleep(poll / 10).await;
    let after = subject.usage(kind).await;
    let restart = |what: &str| row(kind, &format!("{objects}: restart, {what}"));
    report.note(
        restart("processor time of the API server"),
        "s",
        after.api_server - before.api_server,
    );
    report.note(restart("processor time of the bridge"), "s", after.bridge);
    // One is the Update's.
    report.note(restart("writes"), "", whole(after.writes_since(&before)) - 1.0);
    report.note(restart("change to Update"), "s", first.as_secs_f64());
}

fn row(kind: Kind, what: &str) -> String {
    format!("{what} ({})", kind.what)
}

fn f64_of(count: usize) -> f64 {
    u32::try_from(count).map_or(0.0, f64::from)
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}-{number}")).collect()
}

/// About 3.5 KB with what the API server and the bridge add to it.
fn manifest(kind: Kind, name: &str) -> DynamicObject {
    let rules: Vec<Value> = (0..4)
        .map(|port| json!({"port": 8000 + port, "protocol": "tcp", "sources": ["10.0.0.0/8", "192.168.0.0/16"]}))
        .collect();
    let tags: HashMap<String, String> = (0..6)
        .map(|tag| (format!("tag-{tag}"), format!("value of tag {tag}")))
        .collect();
    let object = json!({
        "apiVersion": "bench.example.org/v1alpha1",
        "kind": kind.name,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"forProvider": {
            "region": "north", "size": 1, "description": "d".repeat(160), "rules": rules, "tags": tags,
        }},
    });
    serde_json::from_value(object).expect("an object")
}

/// A change of the spec.
fn size(size: i64) -> Patch<Value> {
    Patch::Merge(json!({"spec": {"forProvider": {"size": size}}}))
}

/// What is done once, the first time, is no part of anything.
async fn warm_up(board: &Board, kind: Kind) {
    let names = names("first", 4);
    create(board, kind, &names).await;
    delete(board, &names).await;
}

/// Creates all of them, many at the same time; how long each took from its request until it was seen `Ready`.
async fn create(board: &Board, kind: Kind, names: &[String]) -> Vec<Duration> {
    let sent: HashMap<&String, Instant> = futures::stream::iter(names)
        .map(async |name| (name, post(board, kind, name).await))
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    taken(board, names, &sent).await
}

/// When the request was sent.
async fn post(board: &Board, kind: Kind, name: &str) -> Instant {
    let sent = Instant::now();
    let created = board
        .api
        .create(&PostParams::default(), &manifest(kind, name))
        .await;
    created.unwrap_or_else(|error| panic!("cannot create {name}: {error}"));
    sent
}

async fn taken(board: &Board, names: &[String], sent: &HashMap<&String, Instant>) -> Vec<Duration> {
    let ready = board.until_ready(names).await;
    let took = |name: &String| Some(ready.get(name)?.duration_since(*sent.get(name)?));
    names.iter().filter_map(took).collect()
}

/// One after another, so that none waits for another one.
async fn paced(board: &Board, kind: Kind, report: &mut Report) {
    let names = names("paced", PACED);
    let mut tick = tokio::time::interval(PACE);
    let mut sent = HashMap::new();
    for name in &names {
        tick.tick().await;
        sent.insert(name, post(board, kind, name).await);
    }
    let took = taken(board, &names, &sent).await;
    note_times(report, kind, "paced, 10 per s: create to Ready", &took);
    delete(board, &names).await;
}

fn note_times(report: &mut Report, kind: Kind, what: &str, took: &[Duration]) {
    for percent in [50, 99] {
        let time = quantile(took, percent).as_secs_f64() * 1000.0;
        report.note(row(kind, &format!("{what}, p{percent}")), "ms", time);
    }
}

/// What a poll costs that finds nothing new, and that nothing is written.
async fn rest(subject: &Subject, kind: Kind, objects: usize, report: &mut Report) {
    // The first observation after a creation may come sooner than the others.
    let count = u64::try_from(objects).unwrap_or_default();
    subject.until_observed(subject.printed.observed() + count).await;
    let (before, observed) = (subject.usage(kind).await, subject.printed.observed());
    tokio::time::sleep(REST).await;
    let (after, observed) = (subject.usage(kind).await, subject.printed.observed() - observed);
    let polls = usize::try_from(observed).unwrap_or_default();
    let of = |what: &str| row(kind, &format!("idle poll, {what}"));
    report.note(
        of("bridge"),
        "CPU-ms",
        per((after.bridge - before.bridge) * 1000.0, polls),
    );
    report.note(
        of("plugin"),
        "CPU-ms",
        per((after.plugin - before.plugin) * 1000.0, polls),
    );
    report.note(of("writes"), "", whole(after.writes_since(&before)));
}

/// From the user's request that changes the spec until the Update reaches the plugin.
async fn changes(subject: &Subject, board: &Board, kind: Kind, names: &[String], report: &mut Report) {
    let changed = &names[..names.len().min(PACED)];
    let mut tick = tokio::time::interval(PACE);
    let mut took = Vec::new();
    let before = subject.usage(kind).await;
    for name in changed {
        tick.tick().await;
        let known = subject.printed.updates();
        let sent = now_micros();
        let patched = board.api.patch(name, &PatchParams::default(), &size(2)).await;
        patched.unwrap_or_else(|error| panic!("cannot change {name}: {error}"));
        // Nothing else is changed meanwhile: the update that was not there before is this one.
        let arrived = eventually_new(subject, &known).await;
        took.push(Duration::from_micros(arrived.saturating_sub(sent)));
    }
    board.until_synced(changed, 2).await;
    let after = subject.usage(kind).await;
    note_times(report, kind, "spec change to Update", &took);
    let own = whole(after.writes_since(&before)) - f64_of(changed.len());
    report.note(row(kind, "writes per spec change"), "", per(own, changed.len()));
}

async fn eventually_new(subject: &Subject, known: &HashMap<String, u64>) -> u64 {
    let begun = Instant::now();
    loop {
        let new = subject.printed.updates();
        if let Some(at) = new
            .iter()
            .find_map(|(name, at)| (!known.contains_key(name)).then_some(*at))
        {
            return at;
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "no Update has come");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Deletes all of them; seconds from the first request until the last was seen deleted.
async fn delete(board: &Board, names: &[String]) -> f64 {
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

/// Of creation and deletion together, without the user's own two requests.
fn note_lives(report: &mut Report, kind: Kind, objects: usize, spans: [(&Usage, &Usage); 2]) {
    let sum = |of: fn(&Usage, &Usage) -> f64| -> f64 { spans.iter().map(|(from, to)| of(from, to)).sum() };
    let writes = sum(|from, to| whole(to.writes_since(from))) - 2.0 * f64_of(objects);
    report.note(row(kind, "writes per life"), "", per(writes, objects));
    let events = sum(|from, to| whole(to.events_since(from)));
    report.note(row(kind, "events per life"), "", per(events, objects));
    let mut cpu = |what: &str, seconds: f64| {
        let what = row(kind, &format!("CPU per 1,000 lives, {what}"));
        report.note(what, "s", per(seconds * 1000.0, objects));
    };
    cpu("API server", sum(|from, to| to.api_server - from.api_server));
    cpu("bridge", sum(|from, to| to.bridge - from.bridge));
    cpu("plugin", sum(|from, to| to.plugin - from.plugin));
}

fn whole(count: u64) -> f64 {
    f64_of(usize::try_from(count).unwrap_or_default())
}

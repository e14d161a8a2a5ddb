//! Many XRs of 10 objects: memory, rest, changes, a restart, an edit of their composition, and their deletion.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use bridge_bench::{
    composition_rows as rows,
    figures::per,
    report::{Notes, Report},
};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::{
    blocked::GIVEN_BACK_AFTER,
    lives::{FEW, PACE, f64_of, warm_up},
    manifests::{BATCH, Composite, PURCHASE, SINGLE, object},
    rest,
    subject::{Subject, Usage},
};
use crate::{
    board::Board,
    user::{create, names, request_deletion, request_deletion_paced, to_millis},
};

const KIND: &str = "XRs of 10 objects";
/// What is measured of other counts.
const KIND_AT_REST: &str = "XRs of 10 objects, at rest only";
/// They come and go before memory is measured: what a process takes once, however many it serves, is part of no count.
const FIRST: usize = 100;
/// Composed objects that a user changes.
const CHANGES: usize = 40;
/// Beyond this no further run follows a change.
const AFTER_CHANGE: Duration = Duration::from_millis(300);

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Many {
    pub(crate) objects: usize,
    /// For how long they are at rest.
    pub(crate) rest: Duration,
    /// The same with a TTL.
    pub(crate) ttl_rest: Duration,
}

pub(crate) async fn measure(subject: &mut Subject, many: Many, report: &mut Report) {
    let mut notes = report.of(subject.side, KIND, Some(many.objects));
    warm_up(subject, &BATCH, FEW).await;
    let (board, all) = at_rest(subject, many, &mut notes).await;
    changes(subject, &all, &mut notes).await;
    required_changes(subject, &mut notes).await;
    // For 90 seconds after a start a reference stays, as a former leader may still create what it names.
    removal(subject, &board, &all[1..], &mut notes).await;
    restart(subject, &board, &all, &mut notes).await;
    edit(subject, &board, all.len(), &mut notes).await;
    claims_deletion(subject, &mut notes).await;
    deletion(subject, &board, &all, &mut notes).await;
    rest::with_ttl(subject, many.objects, many.ttl_rest, &mut notes).await;
}

/// Rest and memory of so many, and nothing else.
pub(crate) async fn measure_rest(subject: &Subject, many: Many, report: &mut Report) {
    let mut notes = report.of(subject.side, KIND_AT_REST, Some(many.objects));
    subject.until_settled().await;
    warm_up(subject, &BATCH, FIRST).await;
    tokio::time::sleep(GIVEN_BACK_AFTER).await;
    subject.usage_when_quiet().await;
    let before = subject.resident_kb();
    at_rest(subject, many, &mut notes).await;
    notes.note(&rows::MEMORY, per(subject.resident_kb() - before, many.objects));
}

async fn at_rest(subject: &Subject, many: Many, notes: &mut Notes<'_>) -> (Board, Vec<String>) {
    let board = subject.board(&BATCH);
    let all = names("many", many.objects);
    create(&board, &all, |name| BATCH.manifest(name)).await;
    subject.usage_when_quiet().await;
    rest::without_ttl(subject, many.rest, notes).await;
    (board, all)
}

fn merge(patch: Value) -> Patch<Value> {
    Patch::Merge(patch)
}

/// A user changes a field that the function does not desire: from the request until the function is called.
async fn changes(subject: &Subject, all: &[String], notes: &mut Notes<'_>) {
    let parts = subject.parts();
    let listed = parts.list_metadata(&ListParams::default()).await.expect("a list");
    let one_of_each: BTreeMap<String, String> = listed
        .items
        .into_iter()
        .filter_map(|part| {
            let labels = part.metadata.labels.unwrap_or_default();
            Some((
                labels.get("crossplane.io/composite")?.clone(),
                part.metadata.name?,
            ))
        })
        .collect();
    let mut took = Vec::new();
    for number in 0..CHANGES {
        took.push(until_run(subject, &one_of_each[&all[number % all.len()]], number).await);
    }
    notes.note_all(&rows::CHANGE, took);
}

/// A user changes this part: milliseconds from the request until the function is called.
async fn until_run(subject: &Subject, part: &str, number: usize) -> f64 {
    tokio::time::sleep(AFTER_CHANGE).await;
    let sent = now_micros();
    let touched = merge(json!({"spec": {"touched": number + 1}}));
    let patched = subject
        .parts()
        .patch(part, &PatchParams::default(), &touched)
        .await;
    patched.unwrap_or_else(|error| panic!("cannot change {part}: {error}"));
    let called = subject.calls.until_after(sent).await;
    Duration::from_micros(called - sent).as_secs_f64() * 1000.0
}

/// Likewise of what the function of one more XR requires, and nobody composes.
async fn required_changes(subject: &Subject, notes: &mut Notes<'_>) {
    const REQUIRED: &str = "required";
    let of = SINGLE.of.resource();
    let part = object(json!({"apiVersion": of.api_version, "kind": of.kind, "metadata": {"name": REQUIRED}}));
    let created = subject.parts().create(&PostParams::default(), &part).await;
    created.unwrap_or_else(|error| panic!("cannot create {REQUIRED}: {error}"));
    let mut pipeline = SINGLE.pipeline(1);
    pipeline[0]["input"]["requires"] = json!({"part": {"apiVersion": of.api_version, "kind": of.kind, "matchName": REQUIRED, "namespace": "default"}});
    set_pipeline(subject, &SINGLE, &pipeline).await;
    let board = subject.board(&SINGLE);
    let one = names("requiring", 1);
    create(&board, &one, |name| SINGLE.manifest(name)).await;
    subject.usage_when_quiet().await;
    let mut took = Vec::new();
    for number in 0..CHANGES {
        took.push(until_run(subject, REQUIRED, number).await);
    }
    notes.note_all(&rows::REQUIRED_CHANGE, took);
    request_deletion(&board, &one).await;
    board.until_deleted(&one).await;
    set_pipeline(subject, &SINGLE, &SINGLE.pipeline(1)).await;
    let deleted = subject.parts().delete(REQUIRED, &DeleteParams::default()).await;
    deleted.unwrap_or_else(|error| panic!("cannot delete {REQUIRED}: {error}"));
}

async fn set_pipeline(subject: &Subject, of: &Composite, pipeline: &Value) {
    let edited = merge(json!({"spec": {"pipeline": pipeline}}));
    let compositions = subject.compositions();
    let patched = compositions
        .patch(of.plural, &PatchParams::default(), &edited)
        .await;
    patched.unwrap_or_else(|error| panic!("cannot edit the composition {}: {error}", of.plural));
}

fn now_micros() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or_default()
}

/// The first XR is changed while the bridge is stopped.
async fn restart(subject: &mut Subject, board: &Board, all: &[String], notes: &mut Notes<'_>) {
    subject.usage_when_quiet().await;
    subject.stop_controller().await;
    let changed = &all[..1];
    let generation = change_spec(board, &changed[0], json!({"description": "changed"})).await;
    let calls = subject.calls.count();
    let before = subject.usage().await;
    let begun = Instant::now();
    subject.start_controller();
    board.until_synced(changed, generation).await;
    notes.note(&rows::RESTART_FIRST, begun.elapsed().as_secs_f64());
    subject.until_called(calls + all.len()).await;
    notes.note(&rows::RESTART_LAST, begun.elapsed().as_secs_f64());
    let after = subject.usage_when_quiet().await;
    eprintln!("restart: {:?}", after.requests_since(&before));
    // One is the status of what was changed. Another process had used what was used before.
    notes.note(&rows::RESTART_WRITES, of_instances(&before, &after) - 1.0);
    notes.note(&rows::RESTART_CONTROLLER, after.controller);
    notes.note(&rows::RESTART_API_SERVER, after.api_server - before.api_server);
}

/// Gives the generation that follows.
async fn change_spec(board: &Board, name: &str, spec: Value) -> i64 {
    let patched = board
        .api
        .patch(name, &PatchParams::default(), &merge(json!({"spec": spec})))
        .await;
    let patched = patched.unwrap_or_else(|error| panic!("cannot change {name}: {error}"));
    patched.metadata.generation.unwrap_or_default()
}

/// One object of each changes, which POST has made.
async fn edit(subject: &Subject, board: &Board, count: usize, notes: &mut Notes<'_>) {
    let held = board
        .api
        .list_metadata(&ListParams::default())
        .await
        .expect("XRs");
    let generations = held.items.into_iter().filter_map(|one| {
        let metadata = one.metadata;
        Some((metadata.name?, metadata.generation?))
    });
    let generations: BTreeMap<String, i64> = generations.collect();
    let before = subject.usage().await;
    let begun = Instant::now();
    set_pipeline(subject, &BATCH, &BATCH.pipeline(2)).await;
    for (name, generation) in generations {
        // The reference to the revision is in the spec.
        board.until_synced(&[name], generation + 1).await;
    }
    notes.note(&rows::EDIT, begun.elapsed().as_secs_f64());
    let after = subject.usage_when_quiet().await;
    eprintln!("composition edited: {:?}", after.requests_since(&before));
    // The few of the composition and its revision do not grow with the number of XRs.
    notes.note(&rows::EDIT_WRITES, per(of_instances(&before, &after), count));
}

/// The spec of each XR changes so that its last object is no longer desired.
async fn removal(subject: &Subject, board: &Board, all: &[String], notes: &mut Notes<'_>) {
    let some = &all[..all.len().min(CHANGES)];
    let before = subject.usage().await;
    for name in some {
        change_spec(board, name, json!({"size": 2})).await;
    }
    let after = subject.usage_when_quiet().await;
    let came = after.requests_since(&before);
    eprintln!("composed objects removed: {came:?}");
    let status = came.get("PUT batches/status").copied().unwrap_or_default();
    let status = u32::try_from(status).map_or(f64::MAX, f64::from);
    // One of each is the user's.
    let own = of_instances(&before, &after) - status - f64_of(some.len());
    notes.note(&rows::REMOVED_WRITES, per(own, some.len()));
}

/// Writes of XRs and what they compose.
fn of_instances(before: &Usage, after: &Usage) -> f64 {
    let came = after.requests_since(before);
    let counted = came.iter().filter(|(key, _)| {
        let (verb, resource) = key.split_once(' ').unwrap_or_default();
        let is_read = matches!(verb, "GET" | "LIST" | "WATCH");
        !is_read && (resource.starts_with("parts") || resource.starts_with("batches"))
    });
    let sum: u64 = counted.map(|(_, count)| count).sum();
    u32::try_from(sum).map_or(f64::MAX, f64::from)
}

/// Claims, one after another, while all XRs are at rest.
async fn claims_deletion(subject: &Subject, notes: &mut Notes<'_>) {
    let board = subject.board(&PURCHASE);
    let claims = names("claimed", CHANGES);
    create(&board, &claims, |name| PURCHASE.manifest(name)).await;
    subject.usage_when_quiet().await;
    let sent = request_deletion_paced(&board, &claims, PACE).await;
    let deleting = board.until_deleting(&claims).await;
    notes.note_all(&rows::CLAIM_DELETING, to_millis(&claims, &sent, &deleting));
    board.until_deleted(&claims).await;
}

/// Some of them one after another while the others are at rest, and then those at once.
async fn deletion(subject: &Subject, board: &Board, all: &[String], notes: &mut Notes<'_>) {
    let before = subject.usage_when_quiet().await;
    let parts = subject.parts().list_metadata(&ListParams::default()).await;
    let composed = parts.expect("a list").items.len();
    let (some, others) = all.split_at(CHANGES.min(all.len() / 2));
    let sent = request_deletion_paced(board, some, PACE).await;
    let deleting = board.until_deleting(some).await;
    notes.note_all(&rows::DELETING, to_millis(some, &sent, &deleting));
    board.until_deleted(some).await;
    let sent = request_deletion(board, others).await;
    let deleting = board.until_deleting(others).await;
    notes.note_all(&rows::DELETING_AT_ONCE, to_millis(others, &sent, &deleting));
    board.until_deleted(others).await;
    subject.until_no_parts().await;
    let after = subject.usage_when_quiet().await;
    eprintln!(
        "deleted, {composed} composed: {:?}",
        after.requests_since(&before)
    );
    // Two of each are for the XR itself, one more is the user's; some have one object less.
    let beside = after.writes_since(&before) - f64_of(composed) - f64_of(all.len());
    notes.note(
        &rows::DELETION_WRITES,
        per(beside, all.len()) + f64_of(BATCH.composed),
    );
}

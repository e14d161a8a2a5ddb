//! Deletions that something outside holds up, all of them for long.

use std::time::Duration;

use bridge_bench::{composition_rows as rows, figures::per, report::Report};
use futures::StreamExt;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::{
    lives::f64_of,
    manifests::SINGLE,
    subject::{Subject, Usage},
};
use crate::{
    board::Board,
    user::{create, names, request_deletion},
};

/// Until then each deletion has said what holds it up: it does so after ten seconds without movement.
const SAID_AFTER: Duration = Duration::from_secs(30);
/// Until then the allocator has given back what nobody uses any more: it does so ten seconds after.
pub(crate) const GIVEN_BACK_AFTER: Duration = Duration::from_secs(45);
/// Requests of the user at the same time.
const AT_ONCE: usize = 16;

/// How many, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocked {
    pub(crate) objects: usize,
    pub(crate) span: Duration,
}

pub(crate) async fn measure(subject: &Subject, blocked: Blocked, report: &mut Report) {
    let mut notes = report.of(subject.side, "XRs of 1 object, held up", Some(blocked.objects));
    let board = subject.board(&SINGLE);
    subject.usage_when_quiet().await;
    let fresh = subject.resident_kb();
    // All that is done for the first time is done with these.
    let first = names("first", blocked.objects);
    held_up(subject, &board, &first).await;
    let_go(subject, &board, &first).await;
    let memory = subject.resident_kb();
    notes.note(&rows::MEMORY_AFTER_FIRST, memory * 100.0 / fresh);

    let all = names("held", blocked.objects);
    let before = held_up(subject, &board, &all).await;
    let said = subject.usage().await;
    tokio::time::sleep(blocked.span).await;
    let after = subject.usage().await;
    eprintln!("held up: {:?}", after.requests_since(&before));
    // One of each is the user's.
    let writes = after.writes_since(&before) - f64_of(all.len());
    notes.note(&rows::BLOCKED_WRITES, per(writes, all.len()));
    let share = (after.controller - said.controller) * 100.0 / after.seconds_since(&said);
    notes.note(&rows::BLOCKED_CONTROLLER, share);

    let_go(subject, &board, &all).await;
    notes.note(&rows::BLOCKED_MEMORY, subject.resident_kb() * 100.0 / memory);
}

/// Creates them, and deletes them until each has said what holds it up. Answers what was used before the deletion.
async fn held_up(subject: &Subject, board: &Board, names: &[String]) -> Usage {
    create(board, names, |name| SINGLE.manifest(name)).await;
    hold(subject, &json!(["bench.example.org/hold"])).await;
    let before = subject.usage_when_quiet().await;
    request_deletion(board, names).await;
    board.until_deleting(names).await;
    tokio::time::sleep(SAID_AFTER).await;
    before
}

/// Until nothing is left of them, and the allocator has given back what they took.
async fn let_go(subject: &Subject, board: &Board, names: &[String]) {
    hold(subject, &Value::Null).await;
    board.until_deleted(names).await;
    subject.until_no_parts().await;
    tokio::time::sleep(GIVEN_BACK_AFTER).await;
}

/// Gives each composed object these finalizers.
async fn hold(subject: &Subject, finalizers: &Value) {
    let parts = subject.parts();
    let listed = parts.list_metadata(&ListParams::default()).await.expect("a list");
    let names = listed.items.into_iter().filter_map(|part| part.metadata.name);
    let change = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
    futures::stream::iter(names)
        .for_each_concurrent(AT_ONCE, async |name| {
            let patched = parts.patch(&name, &PatchParams::default(), &change).await;
            patched.unwrap_or_else(|error| panic!("cannot change {name}: {error}"));
        })
        .await;
}

//! One XR of 1,000 objects: created, and one of them changed.

use std::time::Instant;

use bridge_bench::{composition_rows as rows, report::Report};
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;

use super::{manifests::LARGE, subject::Subject};
use crate::user::{create, delete, names};

pub(crate) async fn measure(subject: &Subject, report: &mut Report) {
    let mut notes = report.of(subject.side, "an XR of 1000 objects", None);
    subject.define_one(&LARGE).await;
    let board = subject.board(&LARGE);
    let all = names("large", 1);
    let ready = create(&board, &all, |name| LARGE.manifest(name)).await;
    notes.note(&rows::LARGE_READY, ready[0] / 1000.0);
    let opened = subject.metric("circuit_breaker_opens_total").await;
    notes.note(&rows::LARGE_THROTTLED, opened);
    let before = subject.usage_when_quiet().await;
    let held = board
        .api
        .list_metadata(&ListParams::default())
        .await
        .expect("XRs");
    let generation = held.items[0].metadata.generation.unwrap_or_default();
    let (begun, function) = (Instant::now(), subject.function());
    let edited = Patch::Merge(json!({"spec": {"pipeline": LARGE.pipeline(2)}}));
    let patched = subject
        .compositions()
        .patch(LARGE.plural, &PatchParams::default(), &edited)
        .await;
    patched.unwrap_or_else(|error| panic!("cannot edit the composition: {error}"));
    // The reference to the revision is in the spec.
    board.until_synced(&all, generation + 1).await;
    let took = begun.elapsed().as_secs_f64();
    notes.note(&rows::LARGE_CHANGE, took - (subject.function() - function));
    let after = subject.usage_when_quiet().await;
    eprintln!(
        "one of 1000 changed in {took:.2} s: {:?}",
        after.requests_since(&before)
    );
    delete(&board, &all).await;
    subject.until_no_parts().await;
}

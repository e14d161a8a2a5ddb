//! What it costs that deletions of what is in use are refused: by the policy, by the webhook, and while no bridge runs.

use std::time::{Duration, Instant};

use bridge_bench::{
    composition_rows as rows,
    report::{Notes, Report},
    rows::Row,
};
use bridge_e2e::{Handle, condition, eventually};
use futures::StreamExt;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;

use super::{
    definitions::create as create_one,
    lives::f64_of,
    manifests::{GROUP, PROTECTION, cluster_wide, object},
    subject::{Guard, Subject},
};

/// One after the other.
const DELETES: usize = 200;
/// So many at the same time.
const AT_ONCE: usize = 16;
/// In all.
const REFUSALS: usize = 2_000;
const USED: &str = "used";
const FREE: &str = "free";

/// Rows of one guard.
struct GuardRows {
    refusal: &'static Row,
    rate: &'static Row,
    free: &'static Row,
}

pub(crate) async fn measure(subject: &mut Subject, report: &mut Report) {
    for name in [USED, FREE] {
        let part = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "Part",
            "metadata": {"name": name, "namespace": "default"}, "spec": {},
        });
        create_one(&subject.parts(), object(part)).await;
    }
    let policy = GuardRows {
        refusal: &rows::POLICY_REFUSAL,
        rate: &rows::POLICY_RATE,
        free: &rows::POLICY_FREE,
    };
    let webhook = GuardRows {
        refusal: &rows::WEBHOOK_REFUSAL,
        rate: &rows::WEBHOOK_RATE,
        free: &rows::WEBHOOK_FREE,
    };
    let mut notes = report.of(subject.side, "guard of usages", None);
    of_guard(subject, &policy, &mut notes).await;
    refused_without_bridge(subject, &rows::POLICY_GONE, &mut notes).await;
    unguard(subject).await;
    notes.note_all(&rows::UNGUARDED, deletes(subject, FREE, false).await);
    subject.guard = Guard::Webhook;
    subject.start_controller();
    end_usage(subject).await;
    of_guard(subject, &webhook, &mut notes).await;
    refused_without_bridge(subject, &rows::WEBHOOK_GONE, &mut notes).await;
    subject.guard = Guard::Policy;
    subject.start_controller();
    end_usage(subject).await;
    for name in [USED, FREE] {
        let gone = subject.parts().delete(name, &DeleteParams::default()).await;
        gone.unwrap_or_else(|error| panic!("cannot delete {name}: {error}"));
    }
}

/// A usage is ready once its guard has been proved.
async fn of_guard(subject: &Subject, rows: &GuardRows, notes: &mut Notes<'_>) {
    usage(subject).create(manifest()).await;
    usage(subject).until("to be Ready", is_ready).await;
    notes.note_all(rows.refusal, deletes(subject, USED, true).await);
    notes.note_all(rows.free, deletes(subject, FREE, false).await);
    let begun = Instant::now();
    futures::stream::iter(0..REFUSALS)
        .for_each_concurrent(AT_ONCE, async |_| {
            delete(subject, USED, true).await;
        })
        .await;
    notes.note(rows.rate, f64_of(REFUSALS) / begun.elapsed().as_secs_f64());
    end_usage(subject).await;
}

async fn end_usage(subject: &Subject) {
    usage(subject).until("to be Ready", is_ready).await;
    usage(subject).delete().await;
    usage(subject).until_deleted().await;
}

/// Takes the policy of a bridge that is dead out of force.
async fn unguard(subject: &Subject) {
    let (group, kind) = ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding");
    let plural = "validatingadmissionpolicybindings";
    let bindings = cluster_wide(&subject.cluster.client, group, "v1", kind, plural);
    let listed = bindings
        .list_metadata(&ListParams::default())
        .await
        .expect("a list");
    for name in listed
        .items
        .into_iter()
        .filter_map(|binding| binding.metadata.name)
    {
        let deleted = bindings.delete(&name, &DeleteParams::default()).await;
        deleted.unwrap_or_else(|error| panic!("cannot delete {name}: {error}"));
    }
    // The API server takes note of it a moment later.
    eventually("nothing is refused", async || {
        subject.parts().delete(USED, &dry_run()).await.is_ok()
    })
    .await;
}

fn dry_run() -> DeleteParams {
    DeleteParams {
        dry_run: true,
        ..DeleteParams::default()
    }
}

/// The bridge is dead afterwards.
async fn refused_without_bridge(subject: &mut Subject, row: &'static Row, notes: &mut Notes<'_>) {
    usage(subject).create(manifest()).await;
    usage(subject).until("to be Ready", is_ready).await;
    subject.kill_controller().await;
    notes.note_all(row, deletes(subject, USED, true).await);
}

fn usage(subject: &Subject) -> Handle {
    subject
        .cluster
        .object(PROTECTION, "v1beta1", "Usage", "usages", "guarded")
}

fn manifest() -> serde_json::Value {
    json!({
        "apiVersion": format!("{PROTECTION}/v1beta1"), "kind": "Usage",
        "spec": {
            "of": {"apiVersion": format!("{GROUP}/v1"), "kind": "Part", "resourceRef": {"name": USED}},
            "reason": "it is measured",
        },
    })
}

fn is_ready(seen: &serde_json::Value) -> bool {
    condition(seen, "Ready")["status"] == "True"
}

/// Deletions of an object that stays, in milliseconds: each is refused, or a dry run.
async fn deletes(subject: &Subject, name: &str, is_refused: bool) -> Vec<f64> {
    let mut took = Vec::new();
    for _ in 0..DELETES {
        took.push(delete(subject, name, is_refused).await.as_secs_f64() * 1000.0);
    }
    took
}

async fn delete(subject: &Subject, name: &str, is_refused: bool) -> Duration {
    let begun = Instant::now();
    let deleted = subject.parts().delete(name, &dry_run()).await;
    let took = begun.elapsed();
    assert_eq!(deleted.is_err(), is_refused, "{name}: {deleted:?}");
    took
}

//! XRs beside others that are in trouble: those whose function hangs, and those that compose a kind that nobody can watch.

use std::time::{Duration, Instant};

use bridge_bench::{
    composition_rows as rows,
    figures::quantile,
    report::{Notes, Report},
    rows::Row,
};
use kube::{
    Api,
    api::{DynamicObject, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{
    definitions::create as create_one,
    lives::{PACE, warm_up},
    manifests::{Composed, Composite, GROUP, SINGLE, STUCK, UNWATCHED, cluster_wide, object, resource},
    subject::Subject,
};
use crate::{
    board::Board,
    user::{create_paced, delete, names, request_deletion},
};

/// XRs in trouble.
const TROUBLED: usize = 50;
/// How often they are asked whether they say so.
const ASKED_EVERY: Duration = Duration::from_millis(500);
/// Nothing is waited for longer.
const LIMIT: Duration = Duration::from_mins(5);

/// `count`: XRs that are well.
pub(crate) async fn measure(subject: &Subject, count: usize, report: &mut Report) {
    let mut notes = report.of(subject.side, "XRs of 1 object, beside trouble", Some(count));
    warm_up(subject, &SINGLE).await;
    let board = subject.board(&SINGLE);
    let well = paced(&board, "well", count).await;
    notes.note_all(&rows::WELL, well.clone());

    let hanging = subject.start_paused_function().await;
    subject.define_one(&STUCK).await;
    let stuck = troubled(subject, &STUCK).await;
    let times = paced(&board, "beside-hanging", count).await;
    until_all_say_so(&stuck).await;
    note(
        &mut notes,
        [&rows::BESIDE_HANGING, &rows::BESIDE_HANGING_RATIO],
        &well,
        times,
    );
    request_deletion(&stuck, &names("troubled", TROUBLED)).await;
    stuck.until_deleted(&names("troubled", TROUBLED)).await;
    drop(hanging);

    unconvertible(subject).await;
    subject.define_one(&UNWATCHED).await;
    let unwatched = troubled(subject, &UNWATCHED).await;
    let times = paced(&board, "beside-unwatched", count).await;
    until_all_say_so(&unwatched).await;
    note(
        &mut notes,
        [&rows::BESIDE_UNWATCHED, &rows::BESIDE_UNWATCHED_RATIO],
        &well,
        times,
    );
}

/// Milliseconds of each until it was Ready.
async fn paced(board: &Board, prefix: &str, count: usize) -> Vec<f64> {
    let all = names(prefix, count);
    let times = create_paced(board, &all, PACE, |name| SINGLE.manifest(name)).await;
    delete(board, &all).await;
    times
}

fn note(notes: &mut Notes<'_>, [times_row, ratio]: [&'static Row; 2], well: &[f64], times: Vec<f64>) {
    notes.note(ratio, quantile(&times, 99) / quantile(well, 99));
    notes.note_all(times_row, times);
}

/// They are in trouble, and say so.
async fn troubled(subject: &Subject, composite: &Composite) -> Board {
    let board = subject.board(composite);
    for name in names("troubled", TROUBLED) {
        create_one(&board.api, composite.manifest(&name)).await;
    }
    until_all_say_so(&board).await;
    board
}

/// Each is not in step with what it is to be.
async fn until_all_say_so(board: &Board) {
    let begun = Instant::now();
    let is_unsynced = |xr: &DynamicObject| {
        let conditions = xr.data["status"]["conditions"].as_array().into_iter().flatten();
        conditions
            .into_iter()
            .any(|one| one["type"] == "Synced" && one["status"] == "False")
    };
    loop {
        let listed = board.api.list(&ListParams::default()).await.expect("a list");
        let unsynced = listed.items.iter().filter(|xr| is_unsynced(xr)).count();
        if unsynced == TROUBLED {
            return;
        }
        assert!(
            begun.elapsed() < LIMIT,
            "only {unsynced} of {TROUBLED} say that something is wrong"
        );
        tokio::time::sleep(ASKED_EVERY).await;
    }
}

/// A kind that can be created, and not listed: what converts the object that is stored in its former version is not there.
async fn unconvertible(subject: &Subject) {
    let version = |name: &str, is_stored: bool| {
        json!({
            "name": name, "served": true, "storage": is_stored,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        })
    };
    let versions = |stored: &str| json!([version("v1", stored == "v1"), version("v2", stored == "v2")]);
    let of = Composed::Unconvertible.resource();
    let name = format!("{}.{GROUP}", of.plural);
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": of.kind, "plural": of.plural},
            "versions": versions("v1"),
            "conversion": {"strategy": "Webhook", "webhook": {
                "clientConfig": {"url": "https://127.0.0.1:1/convert"}, "conversionReviewVersions": ["v1"],
            }},
        },
    });
    let definitions = cluster_wide(
        &subject.cluster.client,
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    );
    create_one(&definitions, object(definition)).await;
    let stored = resource(GROUP, "v1", &of.kind, &of.plural);
    let api: Api<DynamicObject> = Api::namespaced_with(subject.cluster.client.clone(), "default", &stored);
    let one = json!({"apiVersion": stored.api_version, "kind": of.kind, "metadata": {"name": "stored"}});
    create_one(&api, object(one)).await;
    change(&definitions, &name, json!({"spec": {"versions": versions("v2")}})).await;
}

async fn change(api: &Api<DynamicObject>, name: &str, change: Value) {
    let changed = api
        .patch(name, &PatchParams::default(), &Patch::Merge(change))
        .await;
    changed.unwrap_or_else(|error| panic!("cannot change {name}: {error}"));
}

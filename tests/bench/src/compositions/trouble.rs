//! XRs beside others that are in trouble: those whose function hangs, and those that compose a kind that nobody can watch.

use bridge_bench::{composition_rows as rows, figures::quantile, report::Report};
use bridge_e2e::eventually;
use bridge_function::PLACES;
use kube::{
    Api,
    api::{DynamicObject, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{
    definitions::create as create_one,
    lives::{FEW, PACE, warm_up},
    manifests::{Composed, GROUP, OTHER_FUNCTION, SINGLE, STUCK, UNWATCHED, cluster_wide, object, resource},
    subject::Subject,
};
use crate::{
    board::Board,
    user::{create, create_paced, delete, names, request_deletion},
};

/// XRs in trouble.
const TROUBLED: usize = 50;

/// `count`: XRs that are well. They are made within the minute in which a function that hangs is waited for.
pub(crate) async fn measure(subject: &Subject, count: usize, report: &mut Report) {
    let mut notes = report.of(subject.side, "XRs of 1 object, beside trouble", Some(count));
    warm_up(subject, &SINGLE, FEW).await;
    let board = subject.board(&SINGLE);
    let mut well = paced(subject, &board, "well", count).await;
    remove(&board, "well", count).await;

    let hanging = subject.start_paused_function().await;
    subject.define_one(&STUCK).await;
    let stuck = subject.board(&STUCK);
    let all = names("stuck", TROUBLED);
    for name in &all {
        create_one(&stuck.api, STUCK.manifest(name)).await;
    }
    eventually("all places are taken", async || {
        hanging_calls(subject).await == PLACES
    })
    .await;
    let beside_hanging = paced(subject, &board, "beside-hanging", count).await;
    assert_eq!(hanging_calls(subject).await, PLACES, "it was given up meanwhile");
    remove(&board, "beside-hanging", count).await;
    request_deletion(&stuck, &all).await;
    stuck.until_deleted(&all).await;
    drop(hanging);
    // Some before, some after, as a process that has served more is not the same.
    well.extend(paced(subject, &board, "well-again", count).await);
    remove(&board, "well-again", count).await;

    unconvertible(subject).await;
    subject.define_one(&UNWATCHED).await;
    let unwatched = subject.board(&UNWATCHED);
    // What is composed of it is read, and not watched.
    create(&unwatched, &names("unwatched", TROUBLED), |name| {
        UNWATCHED.manifest(name)
    })
    .await;
    eventually("its watch fails", async || is_unwatched(subject).await).await;
    let beside_unwatched = paced(subject, &board, "beside-unwatched", count).await;
    assert!(is_unwatched(subject).await, "it is watched again");
    remove(&board, "beside-unwatched", count).await;

    let without = quantile(&well, 99);
    notes.note(
        &rows::BESIDE_HANGING_RATIO,
        quantile(&beside_hanging, 99) / without,
    );
    notes.note(
        &rows::BESIDE_UNWATCHED_RATIO,
        quantile(&beside_unwatched, 99) / without,
    );
    notes.note_all(&rows::WELL, well);
    notes.note_all(&rows::BESIDE_HANGING, beside_hanging);
    notes.note_all(&rows::BESIDE_UNWATCHED, beside_unwatched);
}

/// As soon as nothing else is under way: milliseconds of each until it was Ready.
async fn paced(subject: &Subject, board: &Board, prefix: &str, count: usize) -> Vec<f64> {
    subject.usage_when_quiet().await;
    create_paced(board, &names(prefix, count), PACE, |name| SINGLE.manifest(name)).await
}

async fn remove(board: &Board, prefix: &str, count: usize) {
    delete(board, &names(prefix, count)).await;
}

/// Calls of the other function that are on their way.
async fn hanging_calls(subject: &Subject) -> usize {
    let state: Value = serde_json::from_str(&subject.admin("/debug/state").await).expect("JSON");
    let functions = state["functions"].as_array().into_iter().flatten();
    let mut other = functions.filter(|function| function["name"] == OTHER_FUNCTION);
    other
        .next()
        .and_then(|function| usize::try_from(function["running"].as_u64()?).ok())
        .unwrap_or_default()
}

/// Whether the watch of what they compose is not there.
async fn is_unwatched(subject: &Subject) -> bool {
    let of = Composed::Unconvertible.resource();
    let shown = subject.admin("/readyz?verbose").await;
    shown.contains(&format!("watch {}.{GROUP}: syncing", of.kind))
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

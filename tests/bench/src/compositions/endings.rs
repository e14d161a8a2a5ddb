//! Usages, and the deletion of a definition with all its XRs.

use std::time::Instant;

use bridge_bench::{
    composition_rows as rows,
    figures::per,
    report::{Notes, Report},
};
use bridge_e2e::{condition, eventually};
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, ListParams},
};
use serde_json::json;

use super::{
    definitions::create as create_one,
    lives::f64_of,
    manifests::{GROUP, PROTECTION, SINGLE, cluster_wide, object},
    subject::Subject,
};
use crate::user::names;

const USAGES: usize = 10;
const NAMESPACES: usize = 20;

pub(crate) async fn measure(subject: &Subject, objects: usize, report: &mut Report) {
    let mut notes = report.of(subject.side, "usages", None);
    usages(subject, &mut notes).await;
    let mut notes = report.of(subject.side, "definition of XRs of 1 object", Some(objects));
    drain(subject, objects, &mut notes).await;
}

/// Each of one object by another one.
async fn usages(subject: &Subject, notes: &mut Notes<'_>) {
    let parts = subject.parts();
    for name in names("of", USAGES).iter().chain(&names("by", USAGES)) {
        let part = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "Part",
            "metadata": {"name": name, "namespace": "default"}, "spec": {},
        });
        create_one(&parts, object(part)).await;
    }
    let handles: Vec<_> = names("usage", USAGES)
        .iter()
        .map(|name| {
            let cluster = &subject.cluster;
            cluster.object(PROTECTION, "v1beta1", "Usage", "usages", name)
        })
        .collect();
    let before = subject.usage_when_quiet().await;
    for (number, usage) in handles.iter().enumerate() {
        let part = |name: &str| {
            json!({
                "apiVersion": format!("{GROUP}/v1"), "kind": "Part",
                "resourceRef": {"name": format!("{name}-{number}")},
            })
        };
        usage
            .create(json!({
                "apiVersion": format!("{PROTECTION}/v1beta1"), "kind": "Usage",
                "spec": {"of": part("of"), "by": part("by")},
            }))
            .await;
    }
    for usage in &handles {
        usage
            .until("to be Ready", |seen| condition(seen, "Ready")["status"] == "True")
            .await;
    }
    let created = subject.usage_when_quiet().await;
    eprintln!("usages made: {:?}", created.requests_since(&before));
    // One request of each is the user's.
    notes.note(
        &rows::USAGE_WRITES,
        per(created.writes_since(&before), USAGES) - 1.0,
    );
    for usage in &handles {
        usage.delete().await;
    }
    for usage in &handles {
        usage.until_deleted().await;
    }
    let deleted = subject.usage_when_quiet().await;
    eprintln!("usages gone: {:?}", deleted.requests_since(&created));
    notes.note(
        &rows::USAGE_GONE_WRITES,
        per(deleted.writes_since(&created), USAGES) - 1.0,
    );
    for name in names("of", USAGES).iter().chain(&names("by", USAGES)) {
        let gone = parts.delete(name, &DeleteParams::default()).await;
        gone.unwrap_or_else(|error| panic!("cannot delete {name}: {error}"));
    }
}

/// From the deletion of the definition until its CRD is absent, of XRs in many namespaces.
async fn drain(subject: &Subject, objects: usize, notes: &mut Notes<'_>) {
    let client = &subject.cluster.client;
    let all: Api<DynamicObject> = Api::all_with(client.clone(), &SINGLE.of_users());
    let spaces = names("space", NAMESPACES);
    for name in &spaces {
        create_one(
            &cluster_wide(client, "", "v1", "Namespace", "namespaces"),
            object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})),
        )
        .await;
    }
    for (number, name) in names("single", objects).iter().enumerate() {
        let mut single = SINGLE.manifest(name);
        let space = &spaces[number % NAMESPACES];
        single.metadata.namespace = Some(space.clone());
        let api = Api::namespaced_with(client.clone(), space, &SINGLE.of_users());
        create_one(&api, single).await;
    }
    eventually("all are Ready", async || {
        let listed = all.list(&ListParams::default()).await.expect("a list");
        let ready = listed
            .items
            .iter()
            .filter(|xr| condition(&xr.data, "Ready")["status"] == "True");
        ready.count() == objects
    })
    .await;
    subject.usage_when_quiet().await;
    let name = format!("{}.{GROUP}", SINGLE.plural);
    let begun = Instant::now();
    let definitions = subject.definitions("v2");
    let deleted = definitions.delete(&name, &DeleteParams::default()).await;
    deleted.unwrap_or_else(|error| panic!("cannot delete {name}: {error}"));
    let crd = subject.cluster.definition(&name);
    eventually("the CRD is absent", async || crd.get().await.is_none()).await;
    notes.note(&rows::DRAIN, f64_of(objects) / begun.elapsed().as_secs_f64());
}

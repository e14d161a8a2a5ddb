//! Whose turn a write is.

use std::sync::Arc;

use bridge_core::queue::Priority;
use bridge_engine::{
    object::{Metadata, Object},
    store::{Edge, Interest, LabelSelection},
};
use serde_json::json;

use crate::harness::{RealHarness, until};

fn annotated(object: &Object, value: &str) -> Object {
    let mut object = object.clone();
    let annotations = object.meta.annotations.get_or_insert_default();
    annotations.insert("x", value);
    object
}

/// A bucket whose first pass is over.
async fn seen(stage: &mut RealHarness, name: &str) -> Arc<Object> {
    stage.create(name).await;
    stage.pass(name).await.object.unwrap()
}

#[tokio::test]
async fn a_write_of_its_own_reconcile_is_stored_without_a_wake() {
    let mut stage = RealHarness::live().await;
    let object = seen(&mut stage, "a").await;
    let writer = stage.engine.writer.for_reconcile(&stage.key("a"));
    let written = writer.put(&annotated(&object, "1")).await.unwrap();
    let known = stage.engine.store.get(&stage.key("a")).unwrap();
    assert_eq!(known.annotation("x"), Some("1"));
    // Whatever comes after it in the watch has come after it.
    seen(&mut stage, "b").await;
    assert!(stage.passes.try_recv().is_err(), "no pass over a");
    let known = stage.engine.store.get(&stage.key("a")).unwrap();
    assert_eq!(known.resource_version(), written.resource_version());
}

#[tokio::test]
async fn what_another_reconcile_creates_and_changes_has_its_turn() {
    let mut stage = RealHarness::live().await;
    let writer = stage.engine.writer.for_reconcile(&stage.key("composite"));
    let meta = Metadata {
        name: Some("a".to_owned()),
        namespace: Some(stage.namespace.clone()),
        ..Metadata::default()
    };
    let mut desired = Object::new(Arc::clone(&stage.kind.api), meta);
    desired.set_spec(&json!({"size": 1}));
    writer.create(&desired).await.unwrap();
    let found = stage.pass("a").await;
    assert_eq!(found.pass.priority, Priority::UserChange);
    writer.put(&annotated(&found.object.unwrap(), "1")).await.unwrap();
    let found = stage.pass("a").await.object.unwrap();
    assert_eq!(found.annotation("x"), Some("1"));
}

#[tokio::test]
async fn status_labels_and_owners_wake_those_that_depend_on_them() {
    let mut stage = RealHarness::live().await;
    let key = stage.key("used");
    let edges = [
        Edge::references(Arc::new(move |bucket| match bucket.name() {
            "by-name" => vec![key.clone()],
            _ => Vec::new(),
        }))
        .with_interest(Interest::All),
        Edge::owned().with_interest(Interest::All),
        {
            let kind = stage.kind.api.kind.clone();
            Edge::selections(Arc::new(move |bucket| {
                let all = || LabelSelection {
                    kind: kind.clone(),
                    namespace: None,
                    labels: [("team".to_owned(), "red".to_owned())].into(),
                };
                (bucket.name() == "by-label").then(all).into_iter().collect()
            }))
        },
    ];
    stage.controller.edges = Arc::new(edges);
    // The newest count.
    let served = stage.engine.serve(stage.controller.clone());
    let (by_name, by_label, owner) = (
        seen(&mut stage, "by-name").await,
        seen(&mut stage, "by-label").await,
        seen(&mut stage, "owner").await,
    );
    assert_ne!(by_name.uid(), by_label.uid());
    seen(&mut stage, "used").await;
    assert_eq!(stage.pass("by-name").await.pass.priority, Priority::Dependency);

    let status = format!("{}/status", stage.path("used"));
    stage
        .admin
        .patch(&status, &json!({"status": {"ready": true}}))
        .await
        .unwrap();
    stage.pass("by-name").await;
    let labels = |team: &str| json!({"metadata": {"labels": {"team": team}}});
    stage
        .admin
        .patch(&stage.path("used"), &labels("red"))
        .await
        .unwrap();
    stage.pass("by-label").await;
    stage
        .admin
        .patch(&stage.path("used"), &labels("blue"))
        .await
        .unwrap();
    stage.pass("by-label").await;
    let owners = json!({"metadata": {"ownerReferences": [owner.controller_reference()]}});
    stage.admin.patch(&stage.path("used"), &owners).await.unwrap();
    stage.pass("owner").await;
    until("all passes are over", || {
        stage.engine.dispatcher.in_flight().is_empty()
    })
    .await;
    drop(served);
}

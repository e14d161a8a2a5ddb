//! What goes on while nothing changes: runs for a TTL, which write nothing, and the watches of what would.

use std::{sync::atomic::Ordering, time::Duration};

use bridge_core::{
    function::{Requirements, ResourceMatch, ResourceSelector},
    watch_plan::GroupKind,
};
use bridge_engine::{object::Key, watch::WatchState};
use serde_json::json;

use super::{
    bad_input::TTL_CALLS,
    claims::{claim, claims},
    stage::{Bridge, CLAIM, GROUP, Stage, order, orders},
};
use crate::harness::within;

/// All objects of a kind of the core group that bear a label.
pub fn of_kind(kind: &str) -> Requirements {
    let selector = ResourceSelector {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        matching: ResourceMatch::Labels([("required".to_owned(), "yes".to_owned())].into()),
        namespace: None,
    };
    Requirements {
        resources: [("kind".to_owned(), selector)].into(),
        ..Requirements::default()
    }
}

#[tokio::test]
async fn runs_that_are_repeated_for_a_ttl_write_nothing() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", orders(&namespace));
    stage
        .create(&orders(&namespace), &order("a", &json!({"case": "ttl"})))
        .await;
    stage.ready(&path).await;
    bridge.rests().await;

    let (writes, stored) = (bridge.writes(), stage.admin.get(&path).await.unwrap());
    let calls = TTL_CALLS.load(Ordering::Relaxed);
    within(async {
        while TTL_CALLS.load(Ordering::Relaxed) < calls + 5 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_eq!(bridge.writes(), writes);
    assert_eq!(stage.admin.get(&path).await.unwrap(), stored);

    // What `/debug/objects` says of it.
    let key = Key::new(GroupKind::new(GROUP, "Order"), Some(&namespace), "a");
    let uid = stored["metadata"]["uid"].as_str().unwrap();
    let ttl = async {
        loop {
            let report = bridge.engine.report(&key, uid).unwrap();
            if report["run"]["state"] == "succeeded" && !report["memory"].is_null() {
                return report;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let report = within(ttl).await;
    assert_eq!(report["run"]["ttlSeconds"], 1.0, "{report}");
    assert_eq!(report["memory"]["failedRuns"], 0, "{report}");
    bridge.end().await;
}

async fn watched(bridge: &Bridge, kind: GroupKind) {
    let is_live = || {
        let state = bridge.engine.state();
        let mut kinds = state.kinds.into_iter();
        kinds.any(|one| one.watch.kind == kind && one.watch.state == WatchState::Live)
    };
    let wait = async {
        while !is_live() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let became = tokio::time::timeout(crate::harness::LIMIT, wait).await;
    assert!(
        became.is_ok(),
        "{kind} is not watched: {:#?}",
        bridge.engine.state()
    );
}

/// What is not watched is looked at again after some seconds: without these nobody would miss the watch.
#[tokio::test]
async fn all_kinds_that_anything_depends_on_are_watched() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    let core = |kind: &str| GroupKind::new("", kind);

    // Of what is composed.
    let composes = json!({"case": "kind", "kind": "ServiceAccount"});
    stage.create(&orders(&namespace), &order("a", &composes)).await;
    watched(&bridge, core("ServiceAccount")).await;
    // Of what is required.
    let requires = json!({"kind": "LimitRange"});
    stage.create(&orders(&namespace), &order("b", &requires)).await;
    watched(&bridge, core("LimitRange")).await;
    // Of what uses, and of what is used.
    let named = |kind: &str| json!({"apiVersion": "v1", "kind": kind, "resourceRef": {"name": "any"}});
    let usage = json!({
        "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage", "metadata": {"name": "any"},
        "spec": {"of": named("ResourceQuota"), "by": named("PodTemplate")},
    });
    let usages = format!("/apis/protection.crossplane.io/v1beta1/namespaces/{namespace}/usages");
    stage.create(&usages, &usage).await;
    watched(&bridge, core("ResourceQuota")).await;
    watched(&bridge, core("PodTemplate")).await;
    // Of claims and what they bind.
    stage
        .create(&claims(&namespace), &claim("c", &json!({"first": "1"})))
        .await;
    watched(&bridge, GroupKind::new(GROUP, CLAIM)).await;
    watched(&bridge, GroupKind::new(GROUP, "XPurchase")).await;

    let needs = bridge.engine.state().needs;
    for kind in ["ServiceAccount", "LimitRange", "ResourceQuota", "PodTemplate"] {
        assert!(needs.contains(&format!("{kind} v1")), "{kind}: {needs:?}");
    }
    bridge.end().await;
}

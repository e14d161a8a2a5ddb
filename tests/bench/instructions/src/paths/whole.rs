//! Paths through the engine as it runs.

use std::sync::Arc;

use bridge_engine::store::{Change, Listener};
use serde_json::json;
use tokio::sync::mpsc;

use crate::{
    MOST, documents,
    kube_api::KubeApi,
    stage::{POLL, Stage},
};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn run<T>(path: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().build();
    runtime.expect("a runtime").block_on(path)
}

/// Changes of one object after the other, as one connection brings them.
pub fn watch_event(runs: u32) {
    run(async {
        let server = Arc::new(KubeApi::default());
        let definition = json!({"type": "ADDED", "object": {
            "metadata": {"name": "buckets.example.org", "uid": "d", "resourceVersion": "1"},
            "spec": {"group": "example.org", "scope": "Namespaced", "names": {"kind": "Bucket", "plural": "buckets"},
                "versions": [{"name": "v1", "served": true, "storage": true}]},
            "status": {"conditions": [{"type": "Established", "status": "True"}]},
        }});
        server.watch(DEFINITIONS, format!("{definition}\n{}", list_end()).into_bytes());
        let stage = Stage::new(Arc::clone(&server));
        let events = (0..=MOST).map(|i| {
            let object = documents::ready(&format!("o{i}"), &(100 + i).to_string());
            format!("{}\n", json!({"type": "MODIFIED", "object": object}))
        });
        // All are made, and as many are sent as are asked for.
        let mut events: Vec<String> = events.collect();
        events.truncate(runs as usize + 1);
        let collection = stage.api.collection_path(None);
        server.watch(
            &collection,
            format!("{}{}", list_end(), events.concat()).into_bytes(),
        );
        let (send, mut seen) = mpsc::unbounded_channel();
        let listener: Arc<Listener> = Arc::new(move |change: &Change| {
            // Who waits may have heard enough.
            let _ = send.send(change.key.clone());
        });
        let _subscription = stage.engine.subscribe(&stage.api, "it is measured", &listener);
        for _ in 0..=runs {
            assert!(seen.recv().await.is_some(), "the watch has ended");
        }
    });
}

fn list_end() -> String {
    let object =
        json!({"metadata": {"resourceVersion": "50", "annotations": {"k8s.io/initial-events-end": "true"}}});
    format!("{}\n", json!({"type": "BOOKMARK", "object": object}))
}

/// One poll after the other of what does not change.
pub fn idle_pass(runs: u32) {
    run(async {
        let stage = Stage::new(Arc::default());
        let key = stage.make_ready("one").await;
        stage.clock.go_on(POLL * 2);
        stage.reconcile(&key).await;
        let (requests, observed) = (stage.server.requests(), stage.cloud.observed());
        for _ in 0..runs {
            stage.clock.go_on(POLL);
            stage.reconcile(&key).await;
        }
        assert_eq!(
            stage.server.requests(),
            requests,
            "an idle pass asks the API server nothing"
        );
        assert_eq!(
            stage.cloud.observed(),
            observed + u64::from(runs),
            "each pass observes once"
        );
    });
}

/// One object after the other.
pub fn life(runs: u32) {
    run(async {
        let stage = Stage::new(Arc::default());
        for i in 0..=runs {
            let name = i.to_string();
            let key = stage.make_ready(&name).await;
            let deleted = stage.server.edit(&stage.path(&name), |object| {
                object["metadata"]["deletionTimestamp"] = json!("2027-01-15T08:00:00Z");
                object["metadata"]["deletionGracePeriodSeconds"] = json!(0);
            });
            stage.show(&deleted.unwrap_or_default());
            stage
                .until(&key, |stage| stage.engine.store.get(&key).is_none())
                .await;
        }
    });
}

//! Managed resources of `bench-plugin`: what serves them on each side, and what they are.

use std::{collections::HashMap, path::Path, time::Duration};

use bridge_control_plane::process::Spawn;
use bridge_e2e::{Cluster, binary, condition};
use serde_json::{Value, json};

pub(crate) const GROUP: &str = "bench.example.org";
pub(crate) const VERSION: &str = "v1alpha1";

/// Of lives, so that no poll falls into what is measured: each of the peer's is a write.
pub(crate) const POLL_OF_LIVES: Duration = Duration::from_mins(10);
/// For so long the peer does not believe that what it has created is absent, during a deletion neither.
pub(crate) const GRACE: Duration = Duration::from_secs(30);

/// The plugin of ours. Its cloud lives as long as it.
pub(crate) fn plugin(endpoint: &str) -> Spawn {
    Spawn::new(binary("bench-plugin")).env("PROVIDER_PLUGIN_ENDPOINT", endpoint)
}

/// What the bridge is told of that plugin.
pub(crate) fn plugin_flags(endpoint: &str, poll: Duration) -> [String; 6] {
    let poll = in_seconds(poll);
    ["--plugin", endpoint, "--poll", &poll, "--poll-jitter", "1s"].map(str::to_owned)
}

/// The provider of the peer, with the same cloud.
pub(crate) fn provider(kubeconfig: &Path, poll: Duration) -> Spawn {
    Spawn::new(binary("bench-peer"))
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["--poll", &in_seconds(poll)])
}

fn in_seconds(time: Duration) -> String {
    format!("{}s", time.as_secs())
}

/// Until both kinds are served, and have the configuration that they name if they name none.
pub(crate) async fn define(cluster: &Cluster) {
    for plural in ["clusterproviderconfigs", "named", "given"] {
        let definition = cluster.definition(&format!("{plural}.{GROUP}"));
        definition
            .until("to be established", |seen| {
                condition(seen, "Established")["status"] == "True"
            })
            .await;
    }
    let config = cluster.object(
        GROUP,
        VERSION,
        "ClusterProviderConfig",
        "clusterproviderconfigs",
        "default",
    );
    config
        .create(json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": "ClusterProviderConfig",
            "spec": {"settings": {}, "credentials": {"source": "None"}},
        }))
        .await;
}

/// What an ordinary resource has; its size is that of its description.
pub(crate) fn parameters(padding: usize) -> Value {
    let rules: Vec<Value> = (0..2)
        .map(|port| json!({"port": 8000 + port, "protocol": "tcp", "sources": ["10.0.0.0/8", "192.168.0.0/16"]}))
        .collect();
    let tags: HashMap<String, String> = (0..3)
        .map(|tag| (format!("tag-{tag}"), format!("value of tag {tag}")))
        .collect();
    json!({"region": "north", "size": 1, "description": "d".repeat(padding), "rules": rules, "tags": tags})
}

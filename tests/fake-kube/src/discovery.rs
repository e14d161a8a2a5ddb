//! What is served, told: the aggregated discovery document, and the `APIServices`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    resource::{self, Id, Resource},
    state::{ClusterState, StorageKey},
};

const MADE_BY: &str = "kube-aggregator.kubernetes.io/automanaged";

/// `APIGroupDiscoveryList` of the core group, or of all others. Left out: short names, categories, subresources.
pub(crate) fn document(served: &[Resource], of_core: bool) -> Value {
    let mut groups = BTreeMap::<&str, BTreeMap<&str, Vec<Value>>>::new();
    for resource in served
        .iter()
        .filter(|resource| resource.group.is_empty() == of_core)
    {
        let versions = groups.entry(&resource.group).or_default();
        versions.entry(&resource.version).or_default().push(json!({
            "resource": resource.plural,
            "responseKind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
            "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
            "singularResource": resource.kind.to_lowercase(),
            "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        }));
    }
    let group = |(name, versions): (&str, BTreeMap<&str, Vec<Value>>)| {
        let version = |(version, resources): (&str, Vec<Value>)| json!({"version": version, "freshness": "Current", "resources": resources});
        let versions: Vec<Value> = versions.into_iter().map(version).collect();
        let metadata = if name.is_empty() {
            json!({})
        } else {
            json!({"name": name})
        };
        json!({"metadata": metadata, "versions": versions})
    };
    let items: Vec<Value> = groups.into_iter().map(group).collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

impl ClusterState {
    /// There is one `APIService` for each group and version that is served; those of definitions come and go with them.
    pub(crate) fn follow_services(&mut self, now: Timestamp) {
        let id: Id = ("apiservices".to_owned(), "apiregistration.k8s.io".to_owned());
        let built_in: BTreeSet<String> = resource::built_in().iter().map(name).collect();
        let served: BTreeMap<String, Resource> = self
            .served()
            .iter()
            .map(|resource| (name(resource), resource.clone()))
            .collect();
        let known: Vec<StorageKey> = self
            .objects
            .get(&id)
            .into_iter()
            .flat_map(BTreeMap::keys)
            .cloned()
            .collect();
        for key in known.iter().filter(|(_, name)| !served.contains_key(name)) {
            self.remove(&id, key, None, "", now);
        }
        for (name, resource) in served {
            let key = (String::new(), name.clone());
            if known.contains(&key) {
                continue;
            }
            let made_by = if built_in.contains(&name) {
                "onstart"
            } else {
                "true"
            };
            let service = json!({
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": name, "labels": {MADE_BY: made_by}},
                "spec": {
                    "group": resource.group, "version": resource.version, "groupPriorityMinimum": 1000, "versionPriority": 100,
                },
                "status": {"conditions": [{
                    "type": "Available", "status": "True", "reason": "Local", "message": "Local APIServices are always available",
                }]},
            });
            self.insert(&id, key, service, "", now);
        }
    }
}

fn name(resource: &Resource) -> String {
    format!("{}.{}", resource.version, resource.group)
}

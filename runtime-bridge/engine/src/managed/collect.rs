//! Gathers what a decision is made from.

use std::sync::Arc;

use bridge_core::{
    managed::{
        Blocker, Fresh, Managed, Neighbour, Neighbours, Problem, ReconcileMemory, Snapshot, SnapshotAdditions,
    },
    protection::names::{IN_USE, IN_USE_BY},
};

use super::{reconciler::ManagedReconciler, view};
use crate::{
    object::{Key, Object},
    protection::{StoredUsages, unknown_usages},
    random,
};

impl ManagedReconciler {
    /// What is known of an object without asking anybody: enough for [`bridge_core::managed::decide_without_config`].
    pub(super) fn collect_cached(&self, object: &Object, managed: Managed) -> Snapshot {
        let shared = &self.shared;
        let unasked = Problem {
            reason: "NotAsked".to_owned(),
            message: "it was not asked for yet".to_owned(),
        };
        Snapshot {
            kind: Arc::clone(&self.kind),
            managed,
            desired: Err(unasked.clone()),
            bare: super::desired_state::bare(&self.kind, object),
            config: Err(unasked),
            suspension: None,
            blocker: self.blocker(object),
            conflicting_object: None,
            // The driver asks for the lease.
            may_act: false,
            marker: view::ownership_marker(&shared.cluster_id, object.uid()),
            plugin_version: self.plugin_version.clone(),
            settings: Arc::clone(&shared.settings),
            fresh: Fresh {
                token: random::token(),
                question: random::question(),
                jitter: random::fraction(),
            },
            now: shared.clock.now(),
        }
    }

    /// Who uses an object that is being deleted: its external resource stays as long.
    fn blocker(&self, object: &Object) -> Option<Blocker> {
        if !object.is_deleting() {
            return None;
        }
        let shared = &self.shared;
        // Its usages are another process's to see to: their mark tells. In this order: a list that is completed in between brings usages that are then
        // found. Who asks for a kind has it looked up and followed: only what is marked does.
        let is_marked = object.label(IN_USE) == Some("true");
        let are_unknown = is_marked && unknown_usages(&shared.watches, true).is_some();
        let usages = StoredUsages::new(&shared.store).protecting(object);
        let by = match usages.first() {
            Some(usage) => usage.text(),
            None if are_unknown => object.annotation(IN_USE_BY).unwrap_or("a usage").to_owned(),
            None => return None,
        };
        let message = format!("in use by {by}");
        Some(Blocker {
            message,
            is_unknown: are_unknown && usages.is_empty(),
        })
    }

    /// What has to be asked for, which may take long.
    pub(super) async fn collect(
        &self,
        snapshot: &Snapshot,
        object: &Object,
        memory: &ReconcileMemory,
    ) -> SnapshotAdditions {
        let shared = &self.shared;
        let config = self.configs.resolve(object).await;
        let desired = super::desired_state::read(&self.kind, object, &shared.secrets, &shared.digester).await;
        let now = shared.clock.now();
        let group = &self.kind.capabilities.rate_limit_group;
        let suspension = config
            .as_ref()
            .ok()
            .and_then(|config| shared.suspensions.of(config, group, now));
        let neighbours = StoredNeighbours { of: self, object };
        let title = self.name_of(object);
        let mut claims = shared.claims.lock();
        let conflicting_object = claims.conflicting_object(snapshot, &config, memory, &title, &neighbours);
        drop(claims);
        let conflicting_object = conflicting_object.map(|other| {
            let shown = shown_in(object.namespace(), &self.kind.resource_type.kind, &other);
            if shown != other {
                tracing::debug!(object = %object.key(), other, "an object of another namespace has the same external resource");
            }
            shown
        });
        SnapshotAdditions {
            desired,
            config,
            suspension,
            conflicting_object,
            now,
        }
    }

    fn name_of(&self, object: &Object) -> String {
        let kind = &self.kind.resource_type.kind;
        match object.namespace() {
            Some(namespace) => format!("{kind} {namespace}/{}", object.name()),
            None => format!("{kind} {}", object.name()),
        }
    }
}

/// The title of another object, as the users of a namespace may know it: names of other namespaces are for the log.
fn shown_in(namespace: Option<&str>, kind: &str, other: &str) -> String {
    match namespace {
        Some(namespace) if !other.starts_with(&format!("{kind} {namespace}/")) => {
            format!("a {kind} of another namespace")
        }
        _ => other.to_owned(),
    }
}

/// The objects of a kind, as the store holds them, beside one of them.
struct StoredNeighbours<'a> {
    of: &'a ManagedReconciler,
    object: &'a Object,
}

impl StoredNeighbours<'_> {
    fn neighbour(&self, other: &Object) -> Neighbour {
        Neighbour {
            title: self.of.name_of(other),
            managed: view::managed(other),
            parameters: super::desired_state::bare(&self.of.kind, other),
            same_config: self.of.flow(self.object) == self.of.flow(other),
        }
    }
}

impl Neighbours for StoredNeighbours<'_> {
    fn with_external_name(&self, name: &str) -> Vec<Neighbour> {
        let store = &self.of.shared.store;
        let keys = store.with_external_name(&self.of.api.kind, name).into_iter();
        keys.filter_map(|key| store.get(&key))
            .filter(|other| other.uid() != self.object.uid())
            .map(|other| self.neighbour(&other))
            .collect()
    }

    fn get(&self, namespace: &str, name: &str) -> Option<Neighbour> {
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
        let key = Key::new(self.of.api.kind.clone(), namespace, name);
        self.of.shared.store.get(&key).map(|other| self.neighbour(&other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_other_namespaces_are_not_named() {
        assert_eq!(
            shown_in(Some("team"), "Bucket", "Bucket team/logs"),
            "Bucket team/logs"
        );
        assert_eq!(
            shown_in(Some("team"), "Bucket", "Bucket team-b/logs"),
            "a Bucket of another namespace"
        );
        assert_eq!(shown_in(None, "Bucket", "Bucket logs"), "Bucket logs");
    }
}

//! The garbage collector of kube-controller-manager, one round at a time.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    admission,
    resource::Id,
    state::{ClusterState, StorageKey, finalizers, is_deleting},
};

/// Finalizer of what goes after its dependents.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// Finalizer of what goes once its dependents no longer name it.
pub(crate) const ORPHAN: &str = "orphan";

/// What is to be done about one object.
enum Step {
    Delete,
    /// It no longer names this owner.
    Orphan(String),
    /// It is not held by this finalizer any more.
    Release(&'static str),
}

impl ClusterState {
    /// One round: what no owner keeps any more is deleted, and what waits for its dependents goes on. Returns how many objects were to be
    /// changed; a policy may have refused to delete one.
    pub fn collect_garbage(&mut self, now: Timestamp) -> usize {
        let steps = self.steps();
        for (id, key, step) in &steps {
            self.take_step(id, key, step, now);
        }
        steps.len()
    }

    fn steps(&self) -> Vec<(Id, StorageKey, Step)> {
        let all = || {
            let of_kind = |(id, objects): (_, _)| pairs(id, objects);
            self.objects.iter().flat_map(of_kind)
        };
        let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let (mut alive, mut foreground, mut orphaning) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for (.., object) in all() {
            let uid = uid(object);
            if is_deleting(object) && finalizers(object).contains(&FOREGROUND) {
                foreground.insert(uid.clone());
            }
            if is_deleting(object) && finalizers(object).contains(&ORPHAN) {
                orphaning.insert(uid.clone());
            }
            alive.insert(uid);
        }
        // Owners that their dependents hold, and owners that are named at all.
        let (mut held, mut named) = (BTreeSet::new(), BTreeSet::new());
        let mut steps = Vec::new();
        for (id, key, object) in all() {
            let owners = owners(object);
            for owner in &owners {
                named.insert((*owner).to_owned());
                if blocks(object, owner) {
                    held.insert((*owner).to_owned());
                }
            }
            let orphaned = owners.iter().find(|owner| orphaning.contains(**owner));
            let step = if let Some(owner) = orphaned {
                Some(Step::Orphan((*owner).to_owned()))
            } else if !owners.is_empty() && !is_deleting(object) {
                let solid = owners
                    .iter()
                    .any(|owner| alive.contains(*owner) && !foreground.contains(*owner));
                (!solid).then_some(Step::Delete)
            } else {
                None
            };
            steps.extend(step.map(|step| (id.clone(), key.clone(), step)));
        }
        for (id, key, object) in all() {
            let uid = uid(object);
            if foreground.contains(&uid) && !held.contains(&uid) {
                steps.push((id.clone(), key.clone(), Step::Release(FOREGROUND)));
            } else if orphaning.contains(&uid) && !named.contains(&uid) {
                steps.push((id.clone(), key.clone(), Step::Release(ORPHAN)));
            }
        }
        steps
    }

    fn take_step(&mut self, id: &Id, key: &StorageKey, step: &Step, now: Timestamp) {
        let object = self.objects.get(id).and_then(|objects| objects.get(key));
        let Some(mut object) = object.cloned() else {
            return;
        };
        let metadata = &mut object["metadata"];
        match step {
            Step::Delete => {
                // As every client is: it comes back to it later.
                if admission::refusal(self, &object).is_none() {
                    self.begin_deletion(id, key, now);
                }
                return;
            }
            Step::Orphan(uid) => {
                let owners = metadata["ownerReferences"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                let others: Vec<Value> = owners.into_iter().filter(|owner| owner["uid"] != **uid).collect();
                set(metadata, "ownerReferences", &others);
            }
            Step::Release(finalizer) => {
                let finalizers = metadata["finalizers"].as_array().cloned().unwrap_or_default();
                let others: Vec<Value> = finalizers.into_iter().filter(|one| one != finalizer).collect();
                set(metadata, "finalizers", &others);
            }
        }
        self.replace(id, key, object, "", now);
    }
}

fn pairs<'a>(
    id: &'a Id,
    objects: &'a BTreeMap<StorageKey, Value>,
) -> impl Iterator<Item = (&'a Id, &'a StorageKey, &'a Value)> {
    objects.iter().map(move |(key, object)| (id, key, object))
}

fn set(metadata: &mut Value, field: &str, items: &[Value]) {
    if !items.is_empty() {
        metadata[field] = json!(items);
    } else if let Some(fields) = metadata.as_object_mut() {
        fields.remove(field);
    }
}

fn owners(object: &Value) -> Vec<&str> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners
        .into_iter()
        .flatten()
        .filter_map(|owner| owner["uid"].as_str())
        .collect()
}

fn blocks(object: &Value, uid: &str) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners
        .into_iter()
        .flatten()
        .any(|owner| owner["uid"] == uid && owner["blockOwnerDeletion"] == true)
}

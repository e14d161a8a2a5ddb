//! What etcd and the API server know.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::resource::{self, Id, Resource};

/// Namespace (empty: none) and name.
pub type StorageKey = (String, String);

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// Created by this write.
    Added,
    /// Changed by this write.
    Modified,
    /// Removed by this write.
    Deleted,
}

impl EventKind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// One committed write, as watches send it.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    /// Revision of the store.
    pub revision: u64,
    /// When it was committed.
    pub at: Timestamp,
    /// The resource of the object.
    pub resource: Id,
    /// What the write did to the object.
    pub happened: EventKind,
    /// The object before; `Null`: there was none.
    pub old: Value,
    /// The object after; of a deletion, as it was last.
    pub new: Value,
    /// Field manager of the write; empty: none was given.
    pub manager: String,
}

/// What etcd and the API server know.
#[derive(Debug, Clone, Default)]
#[allow(clippy::struct_excessive_bools)] // Each is set by itself.
pub struct ClusterState {
    pub(crate) objects: BTreeMap<Id, BTreeMap<StorageKey, Value>>,
    /// Every committed write since the start, oldest first.
    pub history: Vec<Commit>,
    pub(crate) revision: u64,
    /// Watches from before this revision are answered that it is too old.
    pub(crate) compacted: u64,
    /// Grows with each order to end all watches.
    pub(crate) cut: u64,
    /// No client can reach it.
    pub down: bool,
    /// Lists are not streamed, as by older API servers.
    pub no_streaming: bool,
    /// Nobody is noted down as owner of a field, and an apply removes nothing: for who applies nothing, and is in a hurry.
    pub no_owners: bool,
    /// Definitions are not established before this is false again.
    pub slow_definitions: bool,
    uids: u64,
    /// Worked out since a definition changed.
    served: Option<Arc<Vec<Resource>>>,
}

impl ClusterState {
    /// Every object of a resource.
    pub fn all(&self, plural: &str, group: &str) -> impl Iterator<Item = &Value> {
        let objects = self.objects.get(&(plural.to_owned(), group.to_owned()));
        objects.into_iter().flat_map(BTreeMap::values)
    }

    /// One object; an empty namespace for what has none.
    pub fn object(&self, plural: &str, group: &str, namespace: &str, name: &str) -> Option<&Value> {
        self.objects
            .get(&(plural.to_owned(), group.to_owned()))?
            .get(&(namespace.to_owned(), name.to_owned()))
    }

    /// All watches end now; their clients come back where they stood.
    pub fn cut_watches(&mut self) {
        self.cut += 1;
    }

    /// What happened up to now is forgotten: watches from before are answered that their version is too old.
    pub fn compact(&mut self) {
        self.compacted = self.revision;
    }

    /// Creates a namespace with the API server's own finalizer.
    pub fn add_namespace(&mut self, name: &str, now: Timestamp) {
        let mut namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        crate::api::namespaces::begin(&mut namespace, name);
        let id = ("namespaces".to_owned(), String::new());
        self.insert(&id, (String::new(), name.to_owned()), namespace, "", now);
    }

    /// An unknown actor finalises a namespace by force: it goes, and what is in it stays.
    pub fn drop_namespace(&mut self, name: &str, now: Timestamp) {
        let id = ("namespaces".to_owned(), String::new());
        self.remove(&id, &(String::new(), name.to_owned()), None, "", now);
    }

    /// Everything that is served, definitions included.
    pub(crate) fn served(&mut self) -> Arc<Vec<Resource>> {
        if let Some(served) = &self.served {
            return Arc::clone(served);
        }
        let mut served = resource::built_in();
        for definition in self.all("customresourcedefinitions", "apiextensions.k8s.io") {
            if is_established(definition) {
                served.extend(Resource::of_definition(definition));
            }
        }
        let served = Arc::new(served);
        self.served = Some(Arc::clone(&served));
        served
    }

    /// A resource as it was so many commits ago, but not before what was forgotten.
    pub(crate) fn past(&self, id: &Id, commits: u32) -> Self {
        let mut objects = self.objects.get(id).cloned().unwrap_or_default();
        let mut revision = self.revision;
        let known = |commit: &&Commit| commit.revision > self.compacted;
        for commit in self.history.iter().rev().take(commits as usize).take_while(known) {
            revision = commit.revision - 1;
            if commit.resource != *id {
                continue;
            }
            let text = |field| {
                commit.new["metadata"][field]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            };
            let storage_key = (text("namespace"), text("name"));
            match commit.happened {
                EventKind::Added => drop(objects.remove(&storage_key)),
                EventKind::Modified | EventKind::Deleted => {
                    drop(objects.insert(storage_key, commit.old.clone()));
                }
            }
        }
        Self {
            objects: BTreeMap::from([(id.clone(), objects)]),
            revision,
            ..Self::default()
        }
    }

    /// Of the definition behind a resource; empty: it has none, or none any more.
    pub(crate) fn definition_uid(&self, resource: &Resource) -> String {
        let name = format!("{}.{}", resource.plural, resource.group);
        let definition = self.object("customresourcedefinitions", "apiextensions.k8s.io", "", &name);
        let uid = definition.and_then(|definition| definition["metadata"]["uid"].as_str());
        uid.unwrap_or_default().to_owned()
    }

    pub(crate) fn uid(&mut self) -> String {
        self.uids += 1;
        format!("00000000-0000-4000-8000-{:012}", self.uids)
    }

    /// Puts a new object in: uid, creation time and version are filled in.
    pub(crate) fn insert(
        &mut self,
        id: &Id,
        storage_key: StorageKey,
        mut object: Value,
        manager: &str,
        now: Timestamp,
    ) -> Value {
        self.revision += 1;
        let uid = self.uid();
        let metadata = &mut object["metadata"];
        metadata["uid"] = uid.into();
        metadata["creationTimestamp"] = format!("{now:.0}").into();
        metadata["resourceVersion"] = self.revision.to_string().into();
        self.objects
            .entry(id.clone())
            .or_default()
            .insert(storage_key, object.clone());
        self.note(id, EventKind::Added, Value::Null, object.clone(), manager, now);
        object
    }

    /// Replaces an object. One that did not change keeps its version, and no watch is notified. One that is being deleted and has no
    /// finalizer left is removed.
    pub(crate) fn replace(
        &mut self,
        id: &Id,
        storage_key: &StorageKey,
        mut object: Value,
        manager: &str,
        now: Timestamp,
    ) -> Value {
        let Some(old) = self
            .objects
            .get(id)
            .and_then(|objects| objects.get(storage_key))
            .cloned()
        else {
            return object;
        };
        object["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
        if object == old {
            return object;
        }
        // The answer is what was sent, of the version before; watches receive the object as it was stored last.
        if is_deleting(&object) && !is_held(&object) {
            self.remove(id, storage_key, None, manager, now);
            return object;
        }
        self.revision += 1;
        object["metadata"]["resourceVersion"] = self.revision.to_string().into();
        self.objects
            .entry(id.clone())
            .or_default()
            .insert(storage_key.clone(), object.clone());
        self.note(id, EventKind::Modified, old, object.clone(), manager, now);
        object
    }

    /// Removes an object, as it was last.
    pub(crate) fn remove(
        &mut self,
        id: &Id,
        storage_key: &StorageKey,
        last: Option<Value>,
        manager: &str,
        now: Timestamp,
    ) -> Value {
        let Some(old) = self
            .objects
            .get_mut(id)
            .and_then(|objects| objects.remove(storage_key))
        else {
            return Value::Null;
        };
        self.revision += 1;
        let mut last = last.unwrap_or_else(|| old.clone());
        last["metadata"]["resourceVersion"] = self.revision.to_string().into();
        self.note(id, EventKind::Deleted, old, last.clone(), manager, now);
        self.finish_definitions(now);
        last
    }

    fn note(&mut self, id: &Id, happened: EventKind, old: Value, new: Value, manager: &str, at: Timestamp) {
        if id.0 == "customresourcedefinitions" {
            self.served = None;
        }
        self.history.push(Commit {
            revision: self.revision,
            at,
            resource: id.clone(),
            happened,
            old,
            new,
            manager: manager.to_owned(),
        });
        if id.0 == "customresourcedefinitions" {
            self.follow_services(at);
        }
    }

    /// Removes an object, or marks it where finalizers hold it. Returns it as it is then.
    pub(crate) fn begin_deletion(&mut self, id: &Id, storage_key: &StorageKey, now: Timestamp) -> Value {
        let Some(object) = self
            .objects
            .get(id)
            .and_then(|objects| objects.get(storage_key))
            .cloned()
        else {
            return Value::Null;
        };
        if finalizers(&object).is_empty() {
            return self.remove(id, storage_key, None, "", now);
        }
        if is_deleting(&object) {
            return object;
        }
        let mut marked = object;
        Self::mark(&mut marked, now);
        self.replace(id, storage_key, marked, "", now)
    }

    /// Marks an object as being deleted, which counts as a change of generation.
    pub(crate) fn mark(object: &mut Value, now: Timestamp) {
        let metadata = &mut object["metadata"];
        metadata["deletionTimestamp"] = format!("{now:.0}").into();
        metadata["deletionGracePeriodSeconds"] = 0.into();
        if let Some(generation) = metadata["generation"].as_i64() {
            metadata["generation"] = (generation + 1).into();
        }
    }

    /// Definitions that are being deleted go with their last instance.
    pub(crate) fn finish_definitions(&mut self, now: Timestamp) {
        let id: Id = (
            "customresourcedefinitions".to_owned(),
            "apiextensions.k8s.io".to_owned(),
        );
        let deleting: Vec<(StorageKey, Id)> = self
            .objects
            .get(&id)
            .into_iter()
            .flatten()
            .filter(|(_, definition)| is_deleting(definition))
            .map(|(storage_key, definition)| (storage_key.clone(), instances_of(definition)))
            .collect();
        for (storage_key, instances) in deleting {
            if self.objects.get(&instances).is_none_or(BTreeMap::is_empty) {
                self.remove(&id, &storage_key, None, "", now);
            }
        }
    }
}

pub(crate) fn instances_of(definition: &Value) -> Id {
    let text = |pointer: &str| {
        definition
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    (text("/spec/names/plural"), text("/spec/group"))
}

pub(crate) fn is_established(definition: &Value) -> bool {
    let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// A finalizer keeps it; of a namespace, its content too.
pub(crate) fn is_held(object: &Value) -> bool {
    !finalizers(object).is_empty()
        || (object["kind"] == "Namespace" && !object["spec"]["finalizers"].is_null())
}

pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    let finalizers = object["metadata"]["finalizers"].as_array();
    finalizers
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

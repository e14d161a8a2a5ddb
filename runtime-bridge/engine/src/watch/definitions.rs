//! What the API server's custom resource definitions say, without their schemas.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    sync::Arc,
};

use bridge_core::{
    crd::PLUGIN,
    watch_plan::{Definition, Definitions, GroupKind},
};
use parking_lot::Mutex;
use serde::{Deserialize, de::IgnoredAny};

use super::{
    changes::ServedChanges,
    feed::{Condition, FeedEvent, Sink},
};
use crate::object::ApiType;

/// All definitions, kept up to date by a feed.
#[derive(Debug)]
pub(super) struct KnownDefinitions {
    state: Mutex<DefinitionTable>,
    changed: Arc<ServedChanges>,
}

/// One definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownDefinition {
    kind: GroupKind,
    /// As the plan of watches wants it.
    pub(super) definition: Definition,
    pub(super) plural: String,
    pub(super) namespaced: bool,
    /// It is being deleted.
    pub(super) terminating: bool,
    /// Uid of the object that controls it.
    controller: Option<String>,
}

#[derive(Debug)]
struct DefinitionTable {
    by_name: BTreeMap<String, KnownDefinition>,
    /// Found in `by_name` since that changed.
    by_kind: Option<Arc<BTreeMap<GroupKind, KnownDefinition>>>,
    /// Name of the definition -> the plugin that it notes, and its versions that are served, the stored one first.
    by_plugin: BTreeMap<String, (String, Vec<Arc<ApiType>>)>,
    /// Name of the definition -> its version, also of one that cannot be read.
    versions: BTreeMap<String, u64>,
    /// What the list in progress has shown.
    listed: BTreeSet<String>,
    /// Why nothing is known: no list was ever complete.
    unknown: Option<String>,
    condition: Condition,
}

impl KnownDefinitions {
    pub(super) fn new(changed: Arc<ServedChanges>) -> Arc<Self> {
        let syncing = "waiting for the initial list".to_owned();
        let state = DefinitionTable {
            by_name: BTreeMap::new(),
            by_kind: None,
            by_plugin: BTreeMap::new(),
            versions: BTreeMap::new(),
            listed: BTreeSet::new(),
            unknown: Some(syncing.clone()),
            condition: Condition::Syncing(syncing),
        };
        Arc::new(Self {
            state: Mutex::new(state),
            changed,
        })
    }

    /// By kind. Where two claim one kind, the API server establishes only one.
    pub(super) fn by_kind(&self) -> Result<Arc<BTreeMap<GroupKind, KnownDefinition>>, String> {
        let mut state = self.state.lock();
        if let Some(why) = &state.unknown {
            return Err(why.clone());
        }
        if let Some(by_kind) = &state.by_kind {
            return Ok(Arc::clone(by_kind));
        }
        let mut by_kind = BTreeMap::new();
        for known in state.by_name.values() {
            match by_kind.entry(known.kind.clone()) {
                Entry::Vacant(place) => {
                    place.insert(known.clone());
                }
                Entry::Occupied(mut place) if known.definition.established => {
                    place.insert(known.clone());
                }
                Entry::Occupied(_) => {}
            }
        }
        let by_kind = Arc::new(by_kind);
        state.by_kind = Some(Arc::clone(&by_kind));
        Ok(by_kind)
    }

    /// The kinds whose definitions note this plugin, each as it can be read; `None`: not known yet.
    pub(super) fn of_plugin(&self, plugin: &str) -> Option<BTreeMap<GroupKind, Vec<Arc<ApiType>>>> {
        let state = self.state.lock();
        if state.unknown.is_some() {
            return None;
        }
        let noted = state.by_plugin.values().filter(|(noted, _)| noted == plugin);
        Some(
            noted
                .filter_map(|(_, apis)| Some((apis.first()?.kind.clone(), apis.clone())))
                .collect(),
        )
    }

    /// As the plan of watches wants them.
    pub(super) fn snapshot(&self) -> Definitions {
        let by_kind = self.by_kind()?;
        let definition =
            |(kind, known): (&GroupKind, &KnownDefinition)| (kind.clone(), known.definition.clone());
        Ok(by_kind.iter().map(definition).collect())
    }

    /// Names of those that the object of this uid controls; `None`: not known yet.
    pub(super) fn controlled_by(&self, uid: &str) -> Option<Vec<String>> {
        let state = self.state.lock();
        if state.unknown.is_some() {
            return None;
        }
        let all = state.by_name.iter();
        let its = all.filter(|(_, known)| known.controller.as_deref() == Some(uid));
        Some(its.map(|(name, _)| name.clone()).collect())
    }

    /// Version of one, by name.
    pub(super) fn version(&self, name: &str) -> Option<u64> {
        self.state.lock().versions.get(name).copied()
    }

    pub(super) fn condition(&self) -> Condition {
        self.state.lock().condition.clone()
    }

    pub(super) fn sink(self: &Arc<Self>) -> impl Sink + use<> {
        DefinitionSink(Arc::clone(self))
    }
}

struct DefinitionSink(Arc<KnownDefinitions>);

impl Sink for DefinitionSink {
    fn on_event(&mut self, on_event: FeedEvent<'_>) {
        let mut state = self.0.state.lock();
        state.by_kind = None;
        match on_event {
            FeedEvent::ListBegins => state.listed.clear(),
            FeedEvent::Seen(head, json) => {
                let name = head.key.name().to_owned();
                state.listed.insert(name.clone());
                // An API server whose cache is behind lists what was before.
                if state
                    .versions
                    .get(&name)
                    .is_some_and(|known| *known > head.version)
                {
                    return;
                }
                state.versions.insert(name.clone(), head.version);
                match serde_json::from_str::<Wire>(json) {
                    Ok(wire) => {
                        match wire.of_plugin() {
                            Some(noted) => state.by_plugin.insert(name.clone(), noted),
                            None => state.by_plugin.remove(&name),
                        };
                        state.by_name.insert(name, wire.read(&head.uid));
                    }
                    Err(error) => tracing::warn!(name, %error, "a CRD cannot be read"),
                }
            }
            FeedEvent::Deleted(head) => {
                let name = head.key.name();
                // A former one of this name says nothing of its successor.
                if state
                    .versions
                    .get(name)
                    .is_some_and(|known| *known <= head.version)
                {
                    state.versions.remove(name);
                }
                if state
                    .by_name
                    .get(name)
                    .is_some_and(|known| known.definition.uid == head.uid)
                {
                    state.by_name.remove(name);
                    state.by_plugin.remove(name);
                }
            }
            // What is newer than the list could not be in it.
            FeedEvent::ListEnds(version) => {
                let DefinitionTable {
                    by_name,
                    by_plugin,
                    versions,
                    listed,
                    unknown,
                    ..
                } = &mut *state;
                let listed = std::mem::take(listed);
                versions.retain(|name, known| listed.contains(name) || *known > version);
                by_name.retain(|name, _| versions.contains_key(name));
                by_plugin.retain(|name, _| versions.contains_key(name));
                *unknown = None;
            }
        }
        if state.unknown.is_none() {
            drop(state);
            self.0.changed.tell();
        }
    }

    fn condition(&mut self, condition: Condition) {
        let mut state = self.0.state.lock();
        if let (Some(unknown), Condition::Syncing(why) | Condition::Forbidden(why)) =
            (&mut state.unknown, &condition)
        {
            unknown.clone_from(why);
        }
        state.condition = condition;
        drop(state);
        self.0.changed.tell();
    }
}

#[derive(Deserialize)]
struct Wire {
    metadata: Metadata,
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    deletion_timestamp: Option<IgnoredAny>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<Owner>>,
}

#[derive(Deserialize)]
struct Owner {
    uid: String,
    #[serde(default)]
    controller: bool,
}

#[derive(Deserialize)]
struct Spec {
    group: String,
    #[serde(default)]
    scope: String,
    names: Names,
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Names {
    kind: String,
    #[serde(default)]
    plural: String,
}

#[derive(Deserialize)]
struct Version {
    name: String,
    served: bool,
    #[serde(default)]
    storage: bool,
}

#[derive(Deserialize, Default)]
struct Status {
    #[serde(default)]
    conditions: Option<Vec<StatusCondition>>,
}

#[derive(Deserialize)]
struct StatusCondition {
    #[serde(rename = "type")]
    condition_type: String,
    status: String,
}

impl Wire {
    fn of_plugin(&self) -> Option<(String, Vec<Arc<ApiType>>)> {
        let plugin = self.metadata.annotations.as_ref()?.get(PLUGIN)?.clone();
        let Spec {
            group,
            scope,
            names,
            versions,
        } = &self.spec;
        let mut versions: Vec<&Version> = versions.iter().filter(|version| version.served).collect();
        versions.sort_by_key(|version| !version.storage);
        let api = |version: &Version| {
            Arc::new(ApiType {
                kind: GroupKind::new(group, &names.kind),
                version: version.name.clone(),
                plural: names.plural.clone(),
                namespaced: scope == "Namespaced",
            })
        };
        Some((plugin, versions.into_iter().map(api).collect()))
    }

    fn read(self, uid: &str) -> KnownDefinition {
        let established = |c: &StatusCondition| c.condition_type == "Established" && c.status == "True";
        let mut owners = self.metadata.owner_references.into_iter().flatten();
        let served = self.spec.versions.into_iter().filter(|v| v.served);
        KnownDefinition {
            kind: GroupKind::new(&self.spec.group, &self.spec.names.kind),
            definition: Definition {
                uid: uid.to_owned(),
                served: served.map(|v| v.name).collect(),
                established: self.status.conditions.iter().flatten().any(established),
            },
            plural: self.spec.names.plural,
            namespaced: self.spec.scope == "Namespaced",
            terminating: self.metadata.deletion_timestamp.is_some(),
            controller: owners.find(|owner| owner.controller).map(|owner| owner.uid),
        }
    }
}

#[cfg(test)]
#[path = "definitions_tests.rs"]
mod tests;

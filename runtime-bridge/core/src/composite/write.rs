//! The one write of a composite resource beside its status: finalizer, label, composition, references and requirements together.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    ResourceRef,
    decision::CompositeWrite,
    digest::ContentDigest,
    memory::CompositeMemory,
    names,
    requires::{self, StepRequirements},
    snapshot::{Chosen, Snapshot},
    xr::machinery_field,
};
use crate::{definition::Scope, managed::Event};

/// Field of a legacy composite resource: where its connection details go.
const CONNECTION_SECRET: &str = "writeConnectionSecretToRef";

/// The object with all that the bridge stores in it before it composes anything; what it refers to and requires is as it was.
pub(super) fn with_machinery(snapshot: &Snapshot, chosen: &Chosen) -> Value {
    let xr = &snapshot.xr;
    let mut object = xr.object.clone();
    let metadata = &mut object["metadata"];
    metadata["finalizers"] = json!(finalizers(snapshot));
    metadata["labels"] = json!(labels(snapshot));
    object["spec"] = spec(snapshot, chosen, None);
    object
}

/// What is to be written; `None`: it is stored already. `refs`: `None` leaves them as they are.
pub(super) fn composite_write(
    snapshot: &Snapshot,
    memory: &CompositeMemory,
    chosen: &Chosen,
    refs: Option<&[ResourceRef]>,
    requirements: &StepRequirements,
    events: Vec<Event>,
) -> Option<CompositeWrite> {
    let xr = &snapshot.xr;
    let metadata = &xr.object["metadata"];
    let mut annotations = text_map(&metadata["annotations"]);
    let mut requirements = requirements.clone();
    if let Ok(pipeline) = &chosen.pipeline {
        requirements.add(&pipeline.requirements());
    }
    match requires::encode(&requirements) {
        Some(text) => drop(annotations.insert(names::REQUIRES.to_owned(), text)),
        None => drop(annotations.remove(names::REQUIRES)),
    }
    let write = CompositeWrite {
        why: Vec::new(),
        finalizers: finalizers(snapshot),
        labels: labels(snapshot),
        annotations,
        spec: spec(snapshot, chosen, refs),
        events,
    };
    let mut why = Vec::new();
    if !xr.has_finalizer(names::FINALIZER) {
        why.push("finalizer");
    }
    if write.labels != text_map(&metadata["labels"]) {
        why.push("label");
    }
    if write.annotations != text_map(&metadata["annotations"]) {
        why.push("requirements");
    }
    if write.spec != spec_of(&xr.object) {
        let new = refs.map(<[ResourceRef]>::to_vec);
        why.push(match new {
            Some(new) if new != xr.refs => "references",
            _ => "composition",
        });
    }
    // What our last write did not bring is not written again to the same version: somebody takes it off.
    let is_in_vain = || {
        memory.verified.as_deref() == Some(xr.resource_version()) && memory.last_write == Some(digest(&write))
    };
    if why.is_empty() || is_in_vain() {
        return None;
    }
    Some(CompositeWrite { why, ..write })
}

/// Of all that it brings.
pub(super) fn digest(write: &CompositeWrite) -> ContentDigest {
    let metadata = json!([write.finalizers, write.labels, write.annotations]);
    ContentDigest::of_all([&metadata, &write.spec].map(ContentDigest::of_value))
}

fn finalizers(snapshot: &Snapshot) -> Vec<String> {
    let stored = snapshot.xr.object["metadata"]["finalizers"].as_array();
    let mut finalizers: Vec<String> = stored
        .into_iter()
        .flatten()
        .filter_map(|one| one.as_str().map(ToOwned::to_owned))
        .collect();
    if !finalizers.iter().any(|one| one == names::FINALIZER) {
        finalizers.push(names::FINALIZER.to_owned());
    }
    finalizers
}

fn labels(snapshot: &Snapshot) -> BTreeMap<String, String> {
    let mut labels = text_map(&snapshot.xr.object["metadata"]["labels"]);
    let label = labels.entry(names::COMPOSITE.to_owned()).or_default();
    if label.is_empty() {
        snapshot.xr.name().clone_into(label);
    }
    labels
}

fn spec_of(object: &Value) -> Value {
    match &object["spec"] {
        Value::Null => json!({}),
        spec => spec.clone(),
    }
}

fn spec(snapshot: &Snapshot, chosen: &Chosen, refs: Option<&[ResourceRef]>) -> Value {
    let xr = &snapshot.xr;
    let mut spec = spec_of(&xr.object);
    let machinery = match machinery_field(xr.scope) {
        Some(field) => {
            if !spec[field].is_object() {
                spec[field] = json!({});
            }
            &mut spec[field]
        }
        None => &mut spec,
    };
    for (field, value) in chosen.selected.machinery() {
        machinery[field] = value;
    }
    let unnamed = xr.scope == Scope::LegacyCluster && machinery[CONNECTION_SECRET].is_null();
    if let Some(namespace) = chosen.secrets_namespace.as_ref().filter(|_| unnamed) {
        machinery[CONNECTION_SECRET] = json!({"name": xr.uid(), "namespace": namespace});
    }
    if let Some(refs) = refs {
        let entries: Vec<Value> = refs.iter().map(ResourceRef::to_value).collect();
        let has = machinery.get("resourceRefs").is_some();
        // None is the same as an empty list, which the API server keeps apart.
        if !entries.is_empty() || has {
            machinery["resourceRefs"] = Value::Array(entries);
        }
    }
    spec
}

fn text_map(value: &Value) -> BTreeMap<String, String> {
    let entries = value.as_object().into_iter().flatten();
    entries
        .filter_map(|(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect()
}

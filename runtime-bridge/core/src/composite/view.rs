//! The composite resource and what it composed as functions see them, and the digests of that.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value, json};

use super::{
    digest::{ContentDigest, for_functions},
    facts::Facts,
    names,
    pipeline::Lookup,
    secrets,
    snapshot::{Basis, Chosen},
    status::OURS,
    write,
};
use crate::function::{Observed, Resource};

/// What all calls of a run are shown: the composite resource as it is about to be stored, and what it composed.
pub(super) fn observed(of: &Facts, chosen: &Chosen) -> Arc<Observed> {
    let composite = Resource::of(for_functions(write::with_machinery(of.snapshot, chosen)));
    let resources = of
        .observed()
        .into_iter()
        .filter_map(|(name, same)| {
            let (_, object) = same.first()?;
            Some((
                name.to_owned(),
                Resource::of(for_functions(object.object().clone())),
            ))
        })
        .collect();
    Arc::new(Observed { composite, resources })
}

/// What a run would be begun for.
pub(super) fn basis(of: &Facts, chosen: &Chosen) -> Basis {
    let xr = &of.snapshot.xr;
    let metadata = &xr.object["metadata"];
    let desired = json!({
        "uid": xr.uid(),
        "spec": user_spec(of),
        "revision": [&chosen.selected.revision, &chosen.revision_uid],
    });
    let observed = of.observed();
    let resources = observed.iter().filter_map(|(name, same)| {
        let (_, object) = same.first()?;
        Some([ContentDigest::of_value(&json!(name)), object.content()])
    });
    let composite = json!({
        "status": foreign_status(xr.status()),
        "labels": without(&metadata["labels"], |name| name == names::COMPOSITE),
        "annotations": without(&metadata["annotations"], is_own_annotation),
        "deleting": xr.is_deleting(),
    });
    let observed = std::iter::once(ContentDigest::of_value(&composite)).chain(resources.flatten());
    let required: BTreeMap<Lookup, ContentDigest> = of
        .snapshot
        .required
        .iter()
        .filter_map(|(lookup, found)| Some((lookup.clone(), *found.as_ref().ok()?)))
        .collect();
    Basis {
        desired: ContentDigest::of_value(&desired),
        observed: ContentDigest::of_all(observed),
        required,
        secrets: secrets::of_basis(xr, &of.snapshot.secrets),
    }
}

/// Fields of the composition layer in the spec of a legacy composite resource.
const MACHINERY: [&str; 8] = [
    "claimRef",
    "compositionRef",
    "compositionRevisionRef",
    "compositionRevisionSelector",
    "compositionSelector",
    "compositionUpdatePolicy",
    "resourceRefs",
    "writeConnectionSecretToRef",
];

/// The spec without the fields of the composition layer: what they mean is in the revision, and defaults and the bridge write them too.
fn user_spec(of: &Facts) -> Value {
    let xr = &of.snapshot.xr;
    let mut spec = xr.object["spec"].clone();
    if let Some(fields) = spec.as_object_mut() {
        match super::xr::machinery_field(xr.scope) {
            Some(field) => drop(fields.remove(field)),
            None => fields.retain(|name, _| !MACHINERY.contains(&name.as_str())),
        }
    }
    spec
}

/// The status without the conditions that the bridge sets by itself: they follow from runs.
fn foreign_status(status: &Value) -> Value {
    let mut status = status.clone();
    // It follows from a run.
    super::digest::remove(&mut status, &["connectionDetails"]);
    if let Some(Value::Array(conditions)) = status.get_mut("conditions") {
        conditions.retain(|condition| !OURS.iter().any(|ours| condition["type"] == *ours));
        if conditions.is_empty() {
            status.as_object_mut().map(|status| status.remove("conditions"));
        }
    }
    if status.as_object().is_some_and(Map::is_empty) {
        status = Value::Null;
    }
    status
}

fn without(map: &Value, is_out: impl Fn(&str) -> bool) -> Value {
    let kept = map.as_object().into_iter().flatten();
    let kept: Map<String, Value> = kept
        .filter(|(name, _)| !is_out(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Value::Object(kept)
}

/// An annotation of our own: functions never see it.
fn is_own_annotation(name: &str) -> bool {
    name.starts_with(names::OUR_PREFIX)
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;

//! The one write of a usage beside its status: finalizer, details, owner, the objects that were found.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    decision::UsageWrite,
    facts::Facts,
    names,
    record::{Identity, Record},
    snapshot::Resolution,
    usage::{Side, Usage},
};
use crate::composite::{LiveObject, ResourceRef};

/// What is to be written; `None`: it is stored already, or what it is about is not found.
pub(super) fn usage_write(of: &Facts) -> Option<UsageWrite> {
    let (reference, object) = of.found()?;
    if !of.has_using() {
        return None;
    }
    let usage = &of.snapshot.usage;
    let former = usage.record();
    let record = Record {
        usage: usage.uid().to_owned(),
        of: identity(reference, object),
        by: using(of, former.as_ref()),
    };
    let by = record.by.as_ref();
    let stored = text_map(&usage.object()["metadata"]["annotations"]);
    let mut annotations = stored.clone();
    let using_name = by.map(|by| by.reference.name.as_str());
    annotations.insert(
        names::DETAILS.to_owned(),
        usage.details(&reference.name, using_name),
    );
    annotations.insert(names::RECORD.to_owned(), record.to_string());
    let write = UsageWrite {
        why: Vec::new(),
        finalizers: finalizers(usage),
        owners: owners(of, former.as_ref(), by),
        spec: spec(usage, reference, by),
        annotations,
    };
    let mut why = Vec::new();
    if !usage.has_finalizer() {
        why.push("finalizer");
    }
    if write.annotations.get(names::DETAILS) != stored.get(names::DETAILS) {
        why.push("details");
    }
    if former.as_ref() != Some(&record) {
        why.push("what it is about");
    }
    if write.owners != stored_owners(usage) {
        why.push("owner");
    }
    if write.spec != usage.object()["spec"] {
        why.push("references");
    }
    // What our last write did not bring is not written again to the same version: somebody takes it off.
    let is_in_vain = of.memory.verified.as_deref() == Some(usage.resource_version())
        && of
            .memory
            .last_write
            .as_ref()
            .is_some_and(|last| is_same(last, &write));
    (!why.is_empty() && !is_in_vain).then_some(UsageWrite { why, ..write })
}

fn is_same(one: &UsageWrite, other: &UsageWrite) -> bool {
    one.finalizers == other.finalizers
        && one.annotations == other.annotations
        && one.owners == other.owners
        && one.spec == other.spec
}

fn identity(reference: &ResourceRef, object: &LiveObject) -> Identity {
    Identity {
        reference: reference.clone(),
        uid: object.uid().to_owned(),
    }
}

/// What uses the resource: the object that was found first, else the one that is found now.
fn using(of: &Facts, former: Option<&Record>) -> Option<Identity> {
    if of.keeps_using() {
        return former?.by.clone();
    }
    match of.snapshot.by.as_ref()? {
        Resolution::Found(reference, object) => Some(Identity {
            // Crossplane's owner reference may name one that was found before.
            uid: of
                .uid(Side::Using)
                .filter(|_| former.is_none())
                .unwrap_or_else(|| object.uid().to_owned()),
            reference: reference.clone(),
        }),
        _ => None,
    }
}

fn finalizers(usage: &Usage) -> Vec<String> {
    let mut finalizers: Vec<String> = usage.finalizers().map(ToOwned::to_owned).collect();
    if !usage.has_finalizer() {
        finalizers.push(names::FINALIZER.to_owned());
    }
    finalizers
}

fn stored_owners(usage: &Usage) -> Vec<Value> {
    let owners = usage.object()["metadata"]["ownerReferences"].as_array();
    owners.cloned().unwrap_or_default()
}

/// The collector deletes the usage once what uses the resource is gone.
fn owners(of: &Facts, former: Option<&Record>, by: Option<&Identity>) -> Vec<Value> {
    let mut owners = stored_owners(&of.snapshot.usage);
    let uid = by.map(|by| by.uid.as_str());
    // The former using object is no owner any more. What controls the usage stays one.
    if let Some(former) = former
        .and_then(|former| former.by.as_ref())
        .filter(|one| Some(one.uid.as_str()) != uid)
    {
        owners.retain(|owner| owner["uid"] != former.uid.as_str() || owner["controller"] == true);
    }
    let lives = match &of.snapshot.by {
        Some(Resolution::Found(_, object)) => Some(object.uid()) == uid,
        _ => false,
    };
    let Some(by) = by.filter(|_| lives) else {
        return owners;
    };
    if !owners.iter().any(|owner| owner["uid"] == by.uid.as_str()) {
        owners.push(json!({
            "apiVersion": by.reference.api_version,
            "kind": by.reference.kind,
            "name": by.reference.name,
            "uid": by.uid,
        }));
    }
    owners
}

/// With what the selectors found.
fn spec(usage: &Usage, reference: &ResourceRef, by: Option<&Identity>) -> Value {
    let mut spec = usage.object()["spec"].clone();
    let is_named = |spec: &Value, side: Side| {
        let name = &spec[side.field()]["resourceRef"]["name"];
        name.as_str().is_some_and(|name| !name.is_empty())
    };
    if !is_named(&spec, Side::Used) {
        let mut named = json!({"name": reference.name});
        let elsewhere = reference
            .namespace
            .as_deref()
            .filter(|one| Some(*one) != usage.namespace());
        if let Some(namespace) = elsewhere {
            named["namespace"] = namespace.into();
        }
        spec["of"]["resourceRef"] = named;
    }
    if let Some(by) = by.filter(|_| !is_named(&spec, Side::Using)) {
        spec["by"]["resourceRef"] = json!({"name": by.reference.name});
    }
    spec
}

fn text_map(value: &Value) -> BTreeMap<String, String> {
    let entries = value.as_object().into_iter().flatten();
    entries
        .filter_map(|(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect()
}

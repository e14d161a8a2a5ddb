//! The one write of a claim beside its status: finalizer, composite resource, composition and external name together.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{ClaimWrite, facts::Facts, names};
use crate::{composite::Selected, definition::UpdatePolicy};

/// What is to be written; `None`: it is stored already.
pub(super) fn claim_write(of: &Facts) -> Option<ClaimWrite> {
    let claim = &of.snapshot.claim;
    let metadata = &claim.object["metadata"];
    let stored = text_map(&metadata["annotations"]);
    let write = ClaimWrite {
        why: Vec::new(),
        finalizers: finalizers(of),
        annotations: annotations(of, stored.clone()),
        spec: spec(of),
    };
    let mut why = Vec::new();
    if !claim.has_finalizer() {
        why.push("finalizer");
    }
    if write.spec["resourceRef"] != claim.spec()["resourceRef"] {
        why.push("composite resource");
    }
    let without_reference = |spec: &Value| {
        let mut spec = spec.as_object().cloned().unwrap_or_default();
        spec.remove("resourceRef");
        spec
    };
    if without_reference(&write.spec) != without_reference(claim.spec()) {
        why.push("composition");
    }
    if write.annotations != stored {
        why.push("external name");
    }
    // What our last write did not bring is not written again to the same version: somebody takes it off.
    let is_in_vain = of.memory.verified.as_deref() == Some(claim.resource_version())
        && of.memory.last_write.as_ref().is_some_and(|last| {
            let parts = |write: &ClaimWrite| {
                (
                    write.finalizers.clone(),
                    write.annotations.clone(),
                    write.spec.clone(),
                )
            };
            parts(last) == parts(&write)
        });
    (!why.is_empty() && !is_in_vain).then_some(ClaimWrite { why, ..write })
}

fn finalizers(of: &Facts) -> Vec<String> {
    let claim = &of.snapshot.claim;
    let stored = claim.object["metadata"]["finalizers"].as_array();
    let mut finalizers: Vec<String> = stored
        .into_iter()
        .flatten()
        .filter_map(|one| one.as_str().map(ToOwned::to_owned))
        .collect();
    if !claim.has_finalizer() {
        finalizers.push(names::FINALIZER.to_owned());
    }
    finalizers
}

fn annotations(of: &Facts, mut stored: BTreeMap<String, String>) -> BTreeMap<String, String> {
    if let Some(name) = of.bindable().and_then(|xr| xr.annotation(names::EXTERNAL_NAME)) {
        stored.insert(names::EXTERNAL_NAME.to_owned(), name.to_owned());
    }
    stored
}

fn spec(of: &Facts) -> Value {
    let (snapshot, claim) = (of.snapshot, &of.snapshot.claim);
    let mut spec = match claim.spec() {
        Value::Object(_) => claim.spec().clone(),
        _ => json!({}),
    };
    spec["resourceRef"] = json!({
        "apiVersion": snapshot.terms.api_version(),
        "kind": snapshot.terms.kind.kind(),
        "name": snapshot.name,
    });
    let of_xr = of.bindable().map(|xr| &xr.object()["spec"]);
    let of_choice = snapshot.choice.as_ref().filter(|_| of_xr.is_none());
    let fields = of_choice.map(Selected::machinery).unwrap_or_default();
    let chosen = |field: &str| {
        let of_choice = fields.iter().find(|(name, _)| *name == field);
        let value = of_xr
            .and_then(|spec| spec.get(field))
            .or(of_choice.map(|(_, value)| value));
        value.filter(|value| !value.is_null()).cloned()
    };
    let is_missing = |spec: &Value, field: &str| spec[field].is_null();
    let is_enforced = snapshot.terms.enforced_composition.is_some();
    for (field, takes) in [
        (
            "compositionRef",
            is_enforced || is_missing(&spec, "compositionRef"),
        ),
        (
            "compositionRevisionSelector",
            is_missing(&spec, "compositionRevisionSelector"),
        ),
        (
            "compositionRevisionRef",
            of.policy() != Some(UpdatePolicy::Manual),
        ),
    ] {
        if let Some(value) = chosen(field).filter(|_| takes) {
            spec[field] = value;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        claim::{
            ClaimMemory, Snapshot,
            sample::{exists, snapshot, terms_of, xr},
        },
        composite::Selected,
    };

    fn write(of: &Snapshot) -> Option<ClaimWrite> {
        claim_write(&Facts::new(of, &ClaimMemory::default()))
    }

    fn chosen() -> Selected {
        Selected {
            composition: "c".to_owned(),
            revision: "c-1".to_owned(),
            revision_selector: None,
            changes: Vec::new(),
        }
    }

    #[test]
    fn a_new_claim_gets_all_in_one_write() {
        let mut of = snapshot();
        of.choice = Some(chosen());
        assert_eq!(
            write(&of).unwrap(),
            ClaimWrite {
                why: vec!["finalizer", "composite resource", "composition"],
                finalizers: vec![names::FINALIZER.to_owned()],
                annotations: BTreeMap::new(),
                spec: json!({
                    "size": 3,
                    "resourceRef": {"apiVersion": "shop.example.org/v1", "kind": "XShop", "name": "shop-8x5fk"},
                    "compositionRef": {"name": "c"},
                    "compositionRevisionRef": {"name": "c-1"},
                }),
            }
        );
    }

    #[test]
    fn a_claim_that_has_it_all_is_not_written() {
        let mut of = snapshot();
        of.choice = Some(chosen());
        let first = write(&of).unwrap();
        of.claim.object["metadata"]["finalizers"] = json!(first.finalizers);
        of.claim.object["spec"] = first.spec;
        assert_eq!(write(&of), None);
        of.xr = exists(xr());
        assert_eq!(write(&of), None);
    }

    #[test]
    fn what_the_composite_resource_is_composed_by_crosses_back() {
        let mut of = snapshot();
        let mut it = xr();
        it.object_mut()["spec"]["compositionRef"] = json!({"name": "d"});
        it.object_mut()["spec"]["compositionRevisionRef"] = json!({"name": "d-2"});
        it.object_mut()["spec"]["compositionRevisionSelector"] = json!({"matchLabels": {"a": "b"}});
        it.object_mut()["metadata"]["annotations"][names::EXTERNAL_NAME] = json!("its");
        of.xr = exists(it);
        of.claim.object["spec"]["compositionRef"] = json!({"name": "c"});
        let spec = |of: &Snapshot| write(of).unwrap().spec;
        assert_eq!(write(&of).unwrap().annotations[names::EXTERNAL_NAME], "its");
        // The claim's own composition stays, unless one is enforced.
        assert_eq!(spec(&of)["compositionRef"]["name"], "c");
        assert_eq!(spec(&of)["compositionRevisionRef"]["name"], "d-2");
        assert_eq!(spec(&of)["compositionRevisionSelector"]["matchLabels"]["a"], "b");
        terms_of(&mut of).enforced_composition = Some("d".to_owned());
        assert_eq!(spec(&of)["compositionRef"]["name"], "d");
        of.claim.object["spec"]["compositionUpdatePolicy"] = json!("Manual");
        assert_eq!(spec(&of)["compositionRevisionRef"], Value::Null);
    }

    #[test]
    fn what_somebody_takes_off_again_is_not_fought() {
        let mut of = snapshot();
        let written = write(&of).unwrap();
        of.claim.object["metadata"]["resourceVersion"] = json!("7");
        let memory = ClaimMemory {
            verified: Some("7".to_owned()),
            last_write: Some(written),
            ..ClaimMemory::default()
        };
        assert_eq!(claim_write(&Facts::new(&of, &memory)), None);
    }
}

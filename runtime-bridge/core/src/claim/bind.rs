//! What of a claim crosses to its composite resource.

use serde_json::{Map, Value, json};

use super::{CompositeBody, bond, facts::Facts, names};
use crate::{
    composite::{Difference, Reapplication, differences, names as composite_names},
    definition::UpdatePolicy,
    rule::Rule,
};

/// Fields of the composition layer in the spec of a claim or of a legacy composite resource. None of them crosses as an author's field does,
/// whatever the schema lets through.
const MACHINERY: [&str; 10] = [
    "claimRef",
    "compositeDeletePolicy",
    "compositionRef",
    "compositionRevisionRef",
    "compositionRevisionSelector",
    "compositionSelector",
    "compositionUpdatePolicy",
    "resourceRef",
    "resourceRefs",
    "writeConnectionSecretToRef",
];

/// What the claim wants of its composite resource.
pub(super) fn body(of: &Facts) -> CompositeBody {
    let terms = &of.snapshot.terms;
    let content = json!({
        "metadata": {"labels": labels(of), "annotations": annotations(of)},
        "spec": spec(of),
    });
    CompositeBody::new(terms.api_version(), terms.kind.kind(), content)
}

/// The composite resource is the claim's, and every field is as it is wanted, or what the API server made of it before.
pub(super) fn is_in_step(of: &Facts, body: &CompositeBody) -> bool {
    let Some(xr) = of.ours() else { return false };
    let as_wanted = xr.mark().is_some_and(|mark| mark.digest == body.digest());
    let differences = differences(body.content(), xr.object());
    let is_known = |(uid, known): &(String, Vec<Difference>)| uid == xr.uid() && *known == differences;
    as_wanted && (differences.is_empty() || of.memory.altered.as_ref().is_some_and(is_known))
}

/// The same was applied to the composite resource again and again, as it does not stay.
pub(super) fn disputed<'a>(of: &Facts<'a>) -> Option<&'a Reapplication> {
    let (uid, one) = of.memory.reapplied.as_ref()?;
    of.bindable().filter(|xr| xr.uid() == uid)?;
    one.is_disputed(&body(of).digest(), of.snapshot.now)
        .then_some(one)
}

fn labels(of: &Facts) -> Map<String, Value> {
    let claim = &of.snapshot.claim;
    let mut labels = crossing(&claim.object["metadata"]["labels"]);
    labels.remove(composite_names::IN_USE);
    // The composite resource's own: what it composes is named and found by it.
    labels.remove(composite_names::COMPOSITE);
    labels.insert(composite_names::CLAIM_NAME.to_owned(), claim.name().into());
    labels.insert(
        composite_names::CLAIM_NAMESPACE.to_owned(),
        claim.namespace().into(),
    );
    labels
}

fn annotations(of: &Facts) -> Map<String, Value> {
    let claim = &of.snapshot.claim;
    let mut annotations = crossing(&claim.object["metadata"]["annotations"]);
    annotations.retain(|name, _| {
        let is_own = name.starts_with(composite_names::OUR_PREFIX)
            || name.starts_with(names::USAGE_PREFIX)
            || name == composite_names::RESOURCE_NAME;
        !is_own
    });
    // The name of what is outside is the composite resource's to say, once it says one.
    if let Some(name) = of.bindable().and_then(|xr| xr.annotation(names::EXTERNAL_NAME)) {
        annotations.insert(names::EXTERNAL_NAME.to_owned(), name.into());
    }
    annotations.insert(names::CLAIM_UID.to_owned(), claim.uid().into());
    annotations
}

/// Those that are not Kubernetes' own.
fn crossing(map: &Value) -> Map<String, Value> {
    let is_kubernetes = |name: &str| {
        let prefix = name.split_once('/').map_or("", |(prefix, _)| prefix);
        prefix.ends_with("kubernetes.io") || prefix.ends_with("k8s.io")
    };
    let entries = map.as_object().into_iter().flatten();
    entries
        .filter(|(name, value)| value.is_string() && !is_kubernetes(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn spec(of: &Facts) -> Value {
    let claim = &of.snapshot.claim;
    let own = claim.spec();
    let mut spec = own.as_object().cloned().unwrap_or_default();
    if !Rule::MachineryNeverCrosses.is_off() {
        spec.retain(|name, _| !MACHINERY.contains(&name.as_str()));
    }
    let mut crosses = vec![
        "compositionSelector",
        "compositionUpdatePolicy",
        "compositionRevisionSelector",
    ];
    // What is enforced, the composite resource takes by itself.
    if of.snapshot.terms.enforced_composition.is_none() {
        crosses.push("compositionRef");
    }
    if of.policy() == Some(UpdatePolicy::Manual) {
        crosses.push("compositionRevisionRef");
    }
    for field in crosses {
        if let Some(value) = own.get(field).filter(|value| !value.is_null()) {
            spec.insert(field.to_owned(), value.clone());
        }
    }
    spec.insert("claimRef".to_owned(), bond::reference(claim));
    spec.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::{
        Claim, ClaimMemory, Snapshot,
        sample::{self, exists, snapshot},
    };

    fn content(of: &Snapshot) -> Value {
        body(&Facts::new(of, &ClaimMemory::default())).content().clone()
    }

    fn of_claim(edit: impl FnOnce(&mut Claim)) -> Value {
        let mut of = snapshot();
        edit(&mut of.claim);
        content(&of)
    }

    #[test]
    fn the_authors_fields_cross_with_the_reference_of_the_claim() {
        assert_eq!(
            content(&snapshot()),
            json!({
                "metadata": {
                    "labels": {"crossplane.io/claim-name": "shop", "crossplane.io/claim-namespace": "team"},
                    "annotations": {"crossbridge.dev/claim": "uid-claim"},
                },
                "spec": {
                    "size": 3,
                    "claimRef": {
                        "apiVersion": "shop.example.org/v1", "kind": "Shop", "namespace": "team", "name": "shop",
                    },
                },
            })
        );
    }

    #[test]
    fn no_machinery_field_of_a_claim_crosses_as_an_authors() {
        let before = of_claim(|_| {});
        for field in MACHINERY {
            let after = of_claim(|claim| claim.object["spec"][field] = json!({"name": "smuggled"}));
            let mut expected = before.clone();
            if [
                "compositionRef",
                "compositionSelector",
                "compositionUpdatePolicy",
                "compositionRevisionSelector",
            ]
            .contains(&field)
            {
                expected["spec"][field] = json!({"name": "smuggled"});
            }
            assert_eq!(after, expected, "{field}");
        }
    }

    #[test]
    fn labels_and_annotations_cross_but_those_of_one_object() {
        let crossed = of_claim(|claim| {
            claim.object["metadata"]["labels"] = json!({
                "team": "a", "app.kubernetes.io/name": "x", "x.k8s.io/y": "x", "crossplane.io/in-use": "true",
                "crossplane.io/claim-name": "smuggled",
            });
            claim.object["metadata"]["annotations"] = json!({
                "note": "b", "kubectl.kubernetes.io/last-applied-configuration": "{}", "crossbridge.dev/applied": "x",
                "crossbridge.dev/claim": "smuggled", "crossplane.io/composition-resource-name": "x",
                "usage.crossplane.io/deletion-attempt-with-policy": "x", "crossplane.io/external-name": "mine",
            });
        });
        let metadata = json!({
            "labels": {"team": "a", "crossplane.io/claim-name": "shop", "crossplane.io/claim-namespace": "team"},
            "annotations": {
                "note": "b", "crossplane.io/external-name": "mine", "crossbridge.dev/claim": "uid-claim",
            },
        });
        assert_eq!(crossed["metadata"], metadata);
    }

    #[test]
    fn a_revision_crosses_where_it_is_moved_by_hand() {
        let crossed = |policy: Option<&str>, default: Option<UpdatePolicy>| {
            let mut of = snapshot();
            of.claim.object["spec"]["compositionRevisionRef"] = json!({"name": "r"});
            if let Some(policy) = policy {
                of.claim.object["spec"]["compositionUpdatePolicy"] = json!(policy);
            }
            sample::terms_of(&mut of).default_update_policy = default;
            content(&of)["spec"]["compositionRevisionRef"] == json!({"name": "r"})
        };
        assert!(!crossed(None, None));
        assert!(!crossed(Some("Automatic"), Some(UpdatePolicy::Manual)));
        assert!(crossed(Some("Manual"), None));
        assert!(crossed(None, Some(UpdatePolicy::Manual)));
    }

    #[test]
    fn an_enforced_composition_does_not_cross() {
        let mut of = snapshot();
        of.claim.object["spec"]["compositionRef"] = json!({"name": "c"});
        assert_eq!(content(&of)["spec"]["compositionRef"], json!({"name": "c"}));
        sample::terms_of(&mut of).enforced_composition = Some("e".to_owned());
        assert_eq!(content(&of)["spec"]["compositionRef"], Value::Null);
    }

    #[test]
    fn the_external_name_of_the_composite_resource_wins() {
        let mut of = snapshot();
        of.claim.object["metadata"]["annotations"] = json!({"crossplane.io/external-name": "mine"});
        let mut xr = sample::xr();
        xr.object_mut()["metadata"]["annotations"]["crossplane.io/external-name"] = json!("its");
        of.xr = exists(xr);
        assert_eq!(
            content(&of)["metadata"]["annotations"]["crossplane.io/external-name"],
            "its"
        );
    }
}

//! What the API server holds of compositions.

use fake_kube::state::ClusterState;
use serde_json::Value;

use super::manifests::GROUP;
use crate::simulation::invariants::text;

/// What may be composed: plural and group.
pub(super) const COMPOSED: [(&str, &str); 4] = [
    ("tables", "fake.example.org"),
    ("configmaps", ""),
    ("usages", "protection.crossplane.io"),
    ("orders", GROUP),
];

/// Composite resources, by plural and kind: those of seeds and of scenarios.
const COMPOSITES: [(&str, &str); 4] = [
    ("orders", "Order"),
    ("xpurchases", "XPurchase"),
    ("chains", "Chain"),
    ("shops", "Shop"),
];

/// The owner that controls an object.
pub(super) fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    owners.iter().find(|owner| owner["controller"] == true)
}

/// A composite resource of this uid.
pub(super) fn composite<'a>(state: &'a ClusterState, uid: &str) -> Option<&'a Value> {
    let mut all = composites(state);
    all.find(|composite| text(composite, "/metadata/uid") == uid)
}

/// All composite resources.
pub(super) fn composites(state: &ClusterState) -> impl Iterator<Item = &Value> {
    COMPOSITES
        .into_iter()
        .flat_map(|(plural, _)| state.all(plural, GROUP))
}

/// Whether a composite resource's kind is named by an owner.
pub(super) fn is_composite_kind(owner: &Value) -> bool {
    let group = owner["apiVersion"]
        .as_str()
        .and_then(|version| version.split_once('/'));
    group.is_some_and(|(group, _)| group == GROUP)
        && COMPOSITES.iter().any(|(_, kind)| owner["kind"] == *kind)
}

/// All that is composed, and the composite resource that controls it, by its uid.
pub(super) fn composed(state: &ClusterState) -> impl Iterator<Item = (&Value, &str)> {
    COMPOSED
        .into_iter()
        .flat_map(|(plural, group)| state.all(plural, group))
        .filter_map(|object| {
            let owner = controller(object).filter(|owner| is_composite_kind(owner))?;
            Some((object, owner["uid"].as_str()?))
        })
}

/// Whether its references name an object.
pub(super) fn lists(composite: &Value, object: &Value) -> bool {
    let modern = composite.pointer("/spec/crossplane/resourceRefs");
    let refs = modern.or_else(|| composite.pointer("/spec/resourceRefs"));
    let refs = refs.and_then(Value::as_array);
    refs.into_iter().flatten().any(|reference| {
        let namespace = reference["namespace"].as_str();
        let namespace = namespace.unwrap_or_else(|| text(composite, "/metadata/namespace"));
        reference["kind"] == object["kind"]
            && reference["name"] == object["metadata"]["name"]
            && namespace == text(object, "/metadata/namespace")
    })
}

pub(super) fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Whether the definition of composite resources of this plural is being deleted.
pub(super) fn is_definition_deleting(state: &ClusterState, plural: &str) -> bool {
    let name = format!("{plural}.{GROUP}");
    let definition = state.object(
        "compositeresourcedefinitions",
        "apiextensions.crossplane.io",
        "",
        &name,
    );
    definition.is_some_and(is_deleting)
}

/// Status and reason of a condition.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> (&'a str, &'a str) {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let condition = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == kind);
    condition
        .map(|condition| (text(condition, "/status"), text(condition, "/reason")))
        .unwrap_or_default()
}

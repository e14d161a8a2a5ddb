//! What a composite resource composed: which objects, and of which kinds beside those that have a CRD.

use std::collections::BTreeSet;

use bridge_core::{
    composite::{ResourceRef, names},
    watch_plan::GroupKind,
};
use kube::{ResourceExt, api::DynamicObject, core::GroupVersionKind};
use serde_json::Value;

/// All that it refers to; nothing, unless it is a composite resource.
fn refs(object: &DynamicObject) -> impl Iterator<Item = ResourceRef> {
    let spec = &object.data["spec"];
    [&spec["crossplane"]["resourceRefs"], &spec["resourceRefs"]]
        .into_iter()
        .filter_map(Value::as_array)
        .flatten()
        .filter_map(ResourceRef::parse)
}

/// Kind, namespace and name of all that it refers to.
pub fn composes(object: &DynamicObject) -> BTreeSet<String> {
    let home = object.metadata.namespace.as_deref();
    let place = |namespace: Option<String>| namespace.map(|one| format!("{one}/")).unwrap_or_default();
    refs(object)
        .map(|one| {
            let id = one.id(home);
            format!("{} {}{}", id.kind, place(id.namespace), id.name)
        })
        .collect()
}

/// The kinds that it refers to, each in one version.
pub fn kinds(object: &DynamicObject) -> Vec<(GroupKind, GroupVersionKind)> {
    let mut kinds: Vec<(GroupKind, GroupVersionKind)> = Vec::new();
    for one in refs(object) {
        let (group, version) = one.api_version.rsplit_once('/').unwrap_or(("", &one.api_version));
        let kind = GroupKind::new(group, &one.kind);
        if !kinds.iter().any(|(known, _)| *known == kind) {
            kinds.push((kind, GroupVersionKind::gvk(group, version, &one.kind)));
        }
    }
    kinds
}

/// What it is composed as, and by which composite resource.
pub fn origin(object: &DynamicObject) -> Option<String> {
    let name = object.annotations().get(names::RESOURCE_NAME)?;
    let owners = object.owner_references().iter();
    let owner = owners.into_iter().find(|owner| owner.controller == Some(true))?;
    Some(format!("{name:?} of {} {}", owner.kind, owner.name))
}

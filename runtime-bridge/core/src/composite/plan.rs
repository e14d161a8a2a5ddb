//! What the result of a run means for the objects that exist.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    ObjectId, ResourceRef,
    desired::{ComposedResource, CompositeIdentity, DesiredContext, ObservedName, Scope, desired_resources},
    desired_error::DesiredWarning,
    facts::Facts,
    live::{LiveObject, ObjectState, Ownership},
    name::child_name,
    names,
    object_id::group_of,
    rules,
    snapshot::Chosen,
    write,
};
use crate::{
    function::DesiredState, managed::Event, reasons::CompositeEvent, rule::Rule, watch_plan::GroupKind,
};

/// What the result of a run means for the objects that exist.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    /// By composition resource name; `Err`: it cannot be composed, and why.
    pub desired: BTreeMap<String, Result<ComposedResource, String>>,
    /// All that the composite resource is to refer to, in order.
    pub refs: Vec<ResourceRef>,
    /// Ours, and not desired.
    pub obsolete: Vec<(ObjectId, ResourceRef)>,
    /// Ours, and of another kind than is desired now under that name.
    pub replaced: Vec<(ObjectId, String)>,
    /// Not desired and not found: each is kept until it is certain that nothing of it can come any more.
    pub unconfirmed: Vec<(ObjectId, ResourceRef)>,
    /// Nothing at all can be composed, and why.
    pub problem: Option<String>,
    /// What was changed of what functions desire.
    pub warnings: Vec<Event>,
}

impl Plan {
    pub fn of(of: &Facts, chosen: &Chosen, result: &DesiredState) -> Self {
        let (snapshot, xr) = (of.snapshot, &of.snapshot.xr);
        let composed = desired_resources(
            result,
            &DesiredContext {
                composite: identity(&write::with_machinery(snapshot, chosen)),
                observed: kept(of, result),
                scopes: snapshot
                    .namespaced
                    .iter()
                    .map(|(kind, namespaced)| {
                        (
                            kind.clone(),
                            if *namespaced {
                                Scope::Namespaced
                            } else {
                                Scope::Cluster
                            },
                        )
                    })
                    .collect(),
            },
        );
        let mut plan = Self {
            desired: composed
                .resources
                .into_iter()
                .map(|(name, one)| (name, one.map_err(|error| error.to_string())))
                .collect(),
            refs: Vec::new(),
            obsolete: Vec::new(),
            replaced: Vec::new(),
            unconfirmed: Vec::new(),
            problem: None,
            warnings: composed.warnings.iter().map(overridden).collect(),
        };
        let desired: BTreeMap<&ObjectId, &ComposedResource> = plan
            .desired
            .values()
            .filter_map(|one| one.as_ref().ok())
            .map(|one| (&one.id, one))
            .collect();
        let mut refs: BTreeMap<ObjectId, ResourceRef> = desired
            .iter()
            .map(|(id, one)| ((*id).clone(), one.reference(xr.namespace().is_some())))
            .collect();
        // Of a reference of before it was known that the kind has no namespaces: both of its ids show one object.
        let is_shown_without_namespace = |id: &ObjectId| {
            let without = ObjectId {
                namespace: None,
                ..id.clone()
            };
            let uid = of.object(id).map(LiveObject::uid);
            uid.is_some() && desired.contains_key(&without) && of.object(&without).map(LiveObject::uid) == uid
        };
        for (id, reference) in of.ids() {
            if desired.contains_key(&id) || is_shown_without_namespace(&id) {
                continue;
            }
            let keep = match of.seen(&id) {
                Some(ObjectState::Exists(object)) => match object.ownership(xr.uid()) {
                    Ownership::Foreign => {
                        plan.warnings.push(dropped(&id, object));
                        false
                    }
                    // Neither deleted nor forgotten: a restore may have taken its owner off.
                    Ownership::Uncontrolled => true,
                    Ownership::Ours => {
                        match object.resource_name() {
                            None if rules::lists(xr, &id) => plan.problem = Some(unnamed(&id)),
                            None => continue,
                            // What cannot be composed as it is desired now stays as it was.
                            Some(name) if matches!(plan.desired.get(name), Some(Err(_))) => {}
                            Some(name)
                                if is_other_kind(result, name, &id) && !Rule::FormerKindStays.is_off() =>
                            {
                                plan.replaced.push((id.clone(), name.to_owned()));
                            }
                            Some(name)
                                if Rule::OneObjectPerName.is_off() && result.resources.contains_key(name) => {
                            }
                            Some(_) => plan.obsolete.push((id.clone(), reference.clone())),
                        }
                        true
                    }
                },
                Some(ObjectState::KindGone) => false,
                Some(ObjectState::Absent) => {
                    let gone = rules::is_gone_for_good(snapshot, of.memory, &id);
                    if !gone {
                        plan.unconfirmed.push((id.clone(), reference.clone()));
                    }
                    !gone
                }
                Some(ObjectState::Unknown(_)) | None => true,
            };
            if keep {
                refs.insert(id, reference.clone());
            }
        }
        plan.refs = refs.into_values().collect();
        plan.refs.sort_by_key(ResourceRef::order);
        plan
    }

    /// What can be composed.
    pub fn composable(&self) -> impl Iterator<Item = (&str, &ComposedResource)> {
        self.desired
            .iter()
            .filter_map(|(name, one)| Some((name.as_str(), one.as_ref().ok()?)))
    }
}

fn overridden(warning: &DesiredWarning) -> Event {
    Event::warning(CompositeEvent::NamespaceOverridden, &warning.to_string())
}

/// Its reference goes: it has another owner.
fn dropped(id: &ObjectId, object: &LiveObject) -> Event {
    let message = format!(
        "dropped the reference to {id}, which {} controls: it is neither changed nor deleted",
        object.controller_name()
    );
    Event::warning(CompositeEvent::ComposeResources, &message)
}

/// The composite resource as composed resources name it.
fn identity(object: &Value) -> CompositeIdentity {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let label = |name: &str| object["metadata"]["labels"][name].as_str().map(ToOwned::to_owned);
    CompositeIdentity {
        api_version: text("/apiVersion"),
        kind: text("/kind"),
        name: text("/metadata/name"),
        namespace: Some(text("/metadata/namespace")).filter(|namespace| !namespace.is_empty()),
        uid: text("/metadata/uid"),
        root: label(names::COMPOSITE).unwrap_or_default(),
        claim: label(names::CLAIM_NAME).zip(label(names::CLAIM_NAMESPACE)),
    }
}

/// Whether the name is desired, of another kind.
fn is_other_kind(result: &DesiredState, name: &str, id: &ObjectId) -> bool {
    let text = |object: &Value, field: &str| object[field].as_str().unwrap_or_default().to_owned();
    result.resources.get(name).is_some_and(|desired| {
        let api_version = text(&desired.object, "apiVersion");
        (group_of(&api_version), text(&desired.object, "kind")) != (id.group.as_str(), id.kind.clone())
    })
}

fn unnamed(id: &ObjectId) -> String {
    format!(
        "encountered composed resource without required {:?} annotation: {id}",
        names::RESOURCE_NAME
    )
}

/// Of all objects of one composition resource name and kind the one that stays: which has the name that is desired, else the one that is made for
/// it, else the oldest.
fn kept(of: &Facts, result: &DesiredState) -> BTreeMap<(String, GroupKind), ObservedName> {
    let mut kept = BTreeMap::new();
    for (name, mut same) in of.observed() {
        let wanted = result
            .resources
            .get(name)
            .and_then(|one| one.object["metadata"]["name"].as_str());
        let generated = child_name("x", of.snapshot.xr.uid(), name);
        let own = generated.trim_start_matches("x-");
        same.sort_by_key(|(id, object)| {
            (
                object.is_deleting(),
                Some(id.name.as_str()) != wanted,
                !id.name.ends_with(own),
                object.created(),
                id.clone(),
            )
        });
        let mut kinds = BTreeSet::new();
        for (id, object) in same {
            if kinds.insert((id.group.clone(), id.kind.clone())) {
                let generate_name = object.object()["metadata"]["generateName"].as_str();
                let observed = ObservedName {
                    namespace: id.namespace.clone(),
                    name: id.name.clone(),
                    generate_name: generate_name.map(ToOwned::to_owned),
                };
                kept.insert((name.to_owned(), id.group_kind()), observed);
            }
        }
    }
    kept
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;

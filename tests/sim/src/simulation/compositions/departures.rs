//! What a user does by hand to what composes and is composed, beside a scenario.

use fake_kube::state::ClusterState;
use http::Method;
use serde_json::{Value, json};

use super::{
    manifests::{GROUP, NAMESPACE},
    state::{self, COMPOSED, controller, is_composite_kind, is_deleting},
    trouble::resource_name,
};
use crate::simulation::environment::Environment;

/// A `ConfigMap` of a user that nobody composes.
const BYSTANDER: &str = "bystander";

impl Environment {
    /// A user lets the first reference of a composite resource name an object that is none of its.
    pub(crate) fn edit_references(&self) -> bool {
        let collection = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
        let bystander = json!({"metadata": {"name": BYSTANDER}});
        self.kube.request(&Method::POST, &collection, &bystander);
        self.change_references(|references| {
            references[0] = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "name": BYSTANDER, "namespace": NAMESPACE,
            });
        })
    }

    /// A user removes the first reference of a composite resource.
    pub(crate) fn remove_reference(&self) -> bool {
        self.change_references(|references| {
            references.remove(0);
        })
    }

    /// False: there is no reference.
    fn change_references(&self, change: impl FnOnce(&mut Vec<Value>)) -> bool {
        let found = {
            let state = self.kube.state();
            let mut all = state::composites(&state);
            let found = all.find(|composite| !state::references(composite).is_empty());
            found.cloned()
        };
        let Some(composite) = found else { return false };
        let mut references = state::references(&composite).to_vec();
        change(&mut references);
        let is_modern = composite.pointer("/spec/crossplane/resourceRefs").is_some();
        let spec = if is_modern {
            json!({"crossplane": {"resourceRefs": references}})
        } else {
            json!({"resourceRefs": references})
        };
        let path = state::path(state::composite_plural(&composite), GROUP, &composite);
        let change = json!({"spec": spec});
        self.kube.request(&Method::PATCH, &path, &change).0 < 300
    }

    /// A user takes the owner references off something that is composed.
    pub(crate) fn strip_owner(&self) -> bool {
        let path = self.first_composed(&["configmaps", "tables"]);
        let change = json!({"metadata": {"ownerReferences": null}});
        path.is_some_and(|path| self.kube.request(&Method::PATCH, &path, &change).0 < 300)
    }

    /// A user deletes a usage that is composed.
    pub(crate) fn delete_usage(&self) -> bool {
        let path = self.first_composed(&["usages"]);
        path.is_some_and(|path| self.kube.request(&Method::DELETE, &path, &Value::Null).0 < 300)
    }

    fn first_composed(&self, plurals: &[&str]) -> Option<String> {
        let state = self.kube.state();
        let of_kinds = COMPOSED
            .into_iter()
            .filter(|(plural, _)| plurals.contains(plural));
        let mut all = of_kinds.flat_map(|(plural, group)| {
            let objects = state.all(plural, group);
            objects.map(move |object| (plural, group, object))
        });
        let is_it =
            |object: &Value| !is_deleting(object) && controller(object).is_some_and(is_composite_kind);
        let (plural, group, object) = all.find(|(.., object)| is_it(object))?;
        Some(state::path(plural, group, object))
    }

    /// People delete what was composed and has no owner any more, as they have released or stripped it: nobody else does. Returns whether any of it
    /// is left.
    pub(crate) fn delete_ownerless(&self) -> bool {
        self.delete_composed_without_owner(|_, _| true)
    }

    /// Likewise what was orphaned and is in the way: usages protect what people want to delete, managed resources have the external names that later ones ask
    /// for.
    pub(super) fn delete_orphaned(&self) -> bool {
        self.delete_composed_without_owner(|state, object| {
            (object["kind"] == "Usage" || object["kind"] == "Table") && state::was_orphaned(state, object)
        })
    }

    /// Likewise a usage that was there before the deletion of what it protects began, and turned to that only then: it holds it, and `Ready` says so.
    pub(super) fn delete_usages_of_deleted(&self) {
        let holding: Vec<String> = {
            let state = self.kube.state();
            let holds = |usage: &&Value| {
                let used = state::used(usage);
                let now = state::object_of(&state, &used);
                let began = state::as_deletion_began(&state, &used);
                // It bore no label then, and does now.
                let came_later = now.is_some_and(|now| state::is_in_use(now.object))
                    && began.is_some_and(|began| !state::is_in_use(began));
                came_later && began.and_then(deleted_at) >= usage["metadata"]["creationTimestamp"].as_str()
            };
            // What goes with its composite resource goes by itself.
            let is_kept = |usage: &&Value| {
                let owner = controller(usage).and_then(|owner| owner["uid"].as_str());
                let owner = owner.and_then(|uid| state::composite(&state, uid));
                !is_deleting(usage) && owner.is_some_and(|owner| !is_deleting(owner))
            };
            let holding = state::usages(&state).filter(is_kept).filter(holds);
            holding
                .map(|usage| state::path("usages", "protection.crossplane.io", usage))
                .collect()
        };
        for path in &holding {
            self.kube.request(&Method::DELETE, path, &Value::Null);
        }
    }

    fn delete_composed_without_owner(&self, is_meant: impl Fn(&ClusterState, &Value) -> bool) -> bool {
        let ownerless: Vec<String> = {
            let state = self.kube.state();
            let all = COMPOSED.into_iter().flat_map(|(plural, group)| {
                let objects = state.all(plural, group);
                objects.map(move |object| (plural, group, object))
            });
            let ownerless = all.filter(|(.., object)| {
                controller(object).is_none()
                    && !resource_name(object).is_empty()
                    && state::is_composed(object)
                    && is_meant(&state, object)
            });
            ownerless
                .map(|(plural, group, object)| state::path(plural, group, object))
                .collect()
        };
        for path in &ownerless {
            self.kube.request(&Method::DELETE, path, &Value::Null);
        }
        !ownerless.is_empty()
    }
}

fn deleted_at(object: &Value) -> Option<&str> {
    object["metadata"]["deletionTimestamp"].as_str()
}

//! What users do, past all faults.

use http::Method;
use serde_json::{Value, json};

use super::{
    manifests::{Kind, NAMESPACE},
    plan::Propagation,
};
use crate::simulation::{environment::Environment, invariants::text};

const COMPOSITIONS: &str = "/apis/apiextensions.crossplane.io/v1/compositions";

/// An object that users apply, change and delete.
pub(super) struct Object<'a> {
    pub(super) environment: &'a Environment,
    pub(super) kind: Kind,
    pub(super) name: &'a str,
}

impl Object<'_> {
    fn path(&self) -> String {
        format!("{}/{}", self.kind.collection(), self.name)
    }

    pub(super) fn get(&self) -> Option<Value> {
        get(self.environment, &self.path())
    }

    /// Creates it, unless it exists.
    pub(super) fn apply(&self) {
        let object = json!({"metadata": {"name": self.name}, "spec": {"size": 1}});
        self.environment
            .kube
            .request(&Method::POST, &self.kind.collection(), &object);
    }

    pub(super) fn patch(&self, change: &Value) {
        self.environment
            .kube
            .request(&Method::PATCH, &self.path(), change);
    }

    pub(super) fn delete(&self, propagation: Propagation) {
        let policy = format!("{propagation:?}");
        self.environment.kube.request(
            &Method::DELETE,
            &self.path(),
            &json!({"propagationPolicy": policy}),
        );
    }

    /// The composite resource behind it, if there is one.
    pub(super) fn composite(&self) -> Option<Value> {
        let own = self.get()?;
        if self.kind == Kind::Order {
            return Some(own);
        }
        let name = text(&own, "/spec/resourceRef/name");
        let plural = self.kind.composite_plural();
        let path = format!("/apis/{}/v1/{plural}/{name}", super::manifests::GROUP);
        get(self.environment, &path).filter(|_| !name.is_empty())
    }

    /// The `ConfigMaps` that it composes.
    pub(super) fn config_maps(&self) -> Vec<Value> {
        let Some(composite) = self.composite() else {
            return Vec::new();
        };
        let uid = text(&composite, "/metadata/uid").to_owned();
        let state = self.environment.kube.state();
        let maps = state.all("configmaps", "");
        maps.filter(|map| super::state::controller(map).is_some_and(|owner| owner["uid"] == *uid))
            .cloned()
            .collect()
    }

    /// A person deletes one of them. False: there is none, or it is in use.
    pub(super) fn delete_composed(&self, number: u32) -> bool {
        let maps = self.config_maps();
        let Some(map) = maps.get(number as usize) else {
            return false;
        };
        let name = text(map, "/metadata/name");
        let path = format!("/api/v1/namespaces/{NAMESPACE}/configmaps/{name}");
        self.environment
            .kube
            .request(&Method::DELETE, &path, &Value::Null)
            .0
            < 300
    }
}

fn get(environment: &Environment, path: &str) -> Option<Value> {
    let (code, object) = environment.kube.request(&Method::GET, path, &Value::Null);
    (code == 200).then_some(object)
}

impl Environment {
    /// Defines the kind. False: definitions are not served yet.
    pub(super) fn define(&self, kind: Kind) -> bool {
        let created = self
            .kube
            .request(&Method::POST, &kind.definitions(), &kind.definition());
        created.0 < 300 || created.0 == 409
    }

    /// Applies its composition.
    pub(super) fn compose(&self, kind: Kind, variant: u32) -> bool {
        let composition = kind.composition(variant);
        let (code, _) = self.kube.request(&Method::POST, COMPOSITIONS, &composition);
        if code != 409 {
            return code < 300;
        }
        let path = format!("{COMPOSITIONS}/{}", kind.composite_plural());
        let change = json!({"spec": composition["spec"]});
        self.kube.request(&Method::PATCH, &path, &change).0 < 300
    }

    /// Whether users can make objects of the kind.
    pub(super) fn serves(&self, kind: Kind) -> bool {
        get(self, &kind.collection()).is_some()
    }

    /// Whether deletions of what is in use are refused.
    pub(super) fn is_guarded(&self) -> bool {
        let state = self.kube.state();
        let mut bindings = state.all(
            "validatingadmissionpolicybindings",
            "admissionregistration.k8s.io",
        );
        bindings.next().is_some()
    }
}

//! What users do, past all faults.

use http::Method;
use serde_json::{Value, json};

use super::{
    functions::ProgramOptions,
    manifests::{GROUP, Kind, NAMESPACE},
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
    pub(super) fn apply(&self, object: &Value) {
        self.environment
            .kube
            .request(&Method::POST, &self.kind.collection(), object);
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
        if self.kind != Kind::Purchase {
            return Some(own);
        }
        let name = text(&own, "/spec/resourceRef/name");
        get(self.environment, &self.composite_path(name)).filter(|_| !name.is_empty())
    }

    /// Path of the composite resource of this name behind it.
    pub(super) fn composite_path(&self, name: &str) -> String {
        match self.kind {
            Kind::Purchase => format!("/apis/{GROUP}/v1/{}/{name}", self.kind.composite_plural()),
            _ => self.path(),
        }
    }

    /// Path of what it composes under this number, of what people have to do with.
    pub(super) fn composed(&self, number: u32) -> Option<String> {
        let composite = self.composite()?;
        let uid = text(&composite, "/metadata/uid");
        let state = self.environment.kube.state();
        let of_kinds = BY_HAND.into_iter().flat_map(|(root, plural, group)| {
            let all = state.all(plural, group).filter(move |object| {
                super::state::controller(object).is_some_and(|owner| owner["uid"] == *uid)
            });
            all.map(move |object| {
                let name = text(object, "/metadata/name");
                format!("{root}/namespaces/{NAMESPACE}/{plural}/{name}")
            })
        });
        of_kinds.collect::<Vec<_>>().get(number as usize).cloned()
    }

    /// A person deletes one of them. False: there is none, or it is in use.
    pub(super) fn delete_composed(&self, number: u32) -> bool {
        let delete = |path: &String| {
            self.environment
                .kube
                .request(&Method::DELETE, path, &Value::Null)
                .0
        };
        self.composed(number)
            .as_ref()
            .is_some_and(|path| delete(path) < 300)
    }
}

/// Root of the path, plural and group of what people delete and hold by hand.
const BY_HAND: [(&str, &str, &str); 3] = [
    ("/api/v1", "configmaps", ""),
    ("/apis/fake.example.org/v1alpha1", "tables", "fake.example.org"),
    ("/apis/shop.example.org/v1", "orders", GROUP),
];

/// The finalizer that a person puts on what is composed.
const HOLD: &str = "shop.example.org/hold";

fn get(environment: &Environment, path: &str) -> Option<Value> {
    let (code, object) = environment.kube.request(&Method::GET, path, &Value::Null);
    (code == 200).then_some(object)
}

fn definition_path(kind: Kind) -> String {
    format!("{}/{}", kind.definitions(), kind.definition_name())
}

impl Environment {
    /// Defines the kind. False: it is defined, or definitions are not served yet.
    pub(super) fn define(&self, kind: Kind, edits: u32) -> bool {
        let definition = kind.definition(edits);
        self.kube
            .request(&Method::POST, &kind.definitions(), &definition)
            .0
            < 300
    }

    /// Its definition, as it is.
    pub(super) fn definition(&self, kind: Kind) -> Option<Value> {
        get(self, &definition_path(kind))
    }

    /// Deletes its definition. False: there is none.
    pub(super) fn undefine(&self, kind: Kind) -> bool {
        self.kube
            .request(&Method::DELETE, &definition_path(kind), &Value::Null)
            .0
            < 300
    }

    /// Changes the schema in its definition. False: there is none.
    pub(super) fn edit_definition(&self, kind: Kind, edits: u32) -> bool {
        let change = json!({"spec": {"versions": kind.versions(edits)}});
        self.kube
            .request(&Method::PATCH, &definition_path(kind), &change)
            .0
            < 300
    }

    /// Whether its definition says that it cannot be deleted, as something of it is in use.
    pub(super) fn is_held_by_usages(&self, kind: Kind) -> bool {
        self.definition(kind).is_some_and(|definition| {
            let says = definition["status"]["conditions"].to_string();
            super::state::is_deleting(&definition) && says.contains("it is in use by Usage")
        })
    }

    /// Puts the finalizer of a person on an object, or takes it off. False: it does not exist, or has gone in the meantime.
    pub(super) fn set_held(&self, path: &str, held: bool) -> bool {
        let Some(object) = get(self, path) else {
            return false;
        };
        let finalizers = object["metadata"]["finalizers"].as_array().cloned();
        let mut finalizers = finalizers.unwrap_or_default();
        finalizers.retain(|one| one != HOLD);
        // The API server lets nobody add one to what is being deleted.
        if held && !super::state::is_deleting(&object) {
            finalizers.push(HOLD.into());
        }
        let change = json!({"metadata": {"finalizers": finalizers}});
        self.kube.request(&Method::PATCH, path, &change).0 < 300
    }

    /// Applies its composition.
    pub(super) fn compose(&self, kind: Kind, variant: u32, options: &ProgramOptions) -> bool {
        let composition = kind.composition(variant, options);
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

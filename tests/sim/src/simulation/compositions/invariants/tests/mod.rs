//! Each invariant can fail: what breaks it is found, and what comes next to it is not.

mod creations;
mod endings;
mod reports;
mod usages;

use std::sync::Arc;

use fake_kube::{Kube, fault::Request};
use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{CompositionChecker, Sender};

const SHOP: &str = "/apis/shop.example.org/v1";
const PROTECTION: &str = "/apis/protection.crossplane.io/v1/namespaces/default/usages";
const TABLES: &str = "/apis/fake.example.org/v1alpha1/namespaces/default/tables";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const COMPOSITIONS: &str = "/apis/apiextensions.crossplane.io/v1/compositions";
const DEFINITIONS: &str = "/apis/apiextensions.crossplane.io/v1/compositeresourcedefinitions";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// Holds what is deleted.
const HELD: &str = "example.org/held";

/// An API server, and who checks it.
struct World {
    kube: Kube,
    checker: CompositionChecker,
}

impl World {
    fn new(vanishing_parents: bool) -> Self {
        let kube = Kube::new(Arc::new(|| Timestamp::UNIX_EPOCH));
        for (group, version, kind, plural, scope) in [
            ("shop.example.org", "v1", "Order", "orders", "Namespaced"),
            ("shop.example.org", "v1", "Purchase", "purchases", "Namespaced"),
            ("shop.example.org", "v1", "XPurchase", "xpurchases", "Cluster"),
            ("fake.example.org", "v1alpha1", "Table", "tables", "Namespaced"),
            ("protection.crossplane.io", "v1", "Usage", "usages", "Namespaced"),
            (
                "apiextensions.crossplane.io",
                "v1",
                "Composition",
                "compositions",
                "Cluster",
            ),
            (
                "apiextensions.crossplane.io",
                "v1",
                "CompositeResourceDefinition",
                "compositeresourcedefinitions",
                "Cluster",
            ),
        ] {
            let crd = json!({
                "metadata": {"name": format!("{plural}.{group}")},
                "spec": {
                    "group": group, "scope": scope,
                    "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
                    "versions": [{"name": version, "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    }}}],
                },
            });
            let (code, answer) = kube.request(&Method::POST, CRDS, &crd);
            assert!(code < 300, "{answer}");
        }
        Self {
            kube,
            checker: CompositionChecker::new(vanishing_parents),
        }
    }

    fn ask(&self, method: &Method, path: &str, body: &Value) -> Value {
        let (code, answer) = self.kube.request(method, path, body);
        assert!(code < 300, "{method} {path}: {answer}");
        answer
    }

    /// Creates an object, and returns its uid.
    fn create(&self, collection: &str, object: &Value) -> String {
        let created = self.ask(&Method::POST, collection, object);
        created["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    fn patch(&self, path: &str, change: &Value) {
        self.ask(&Method::PATCH, path, change);
    }

    fn revision(&self) -> u64 {
        let state = self.kube.state();
        state.history.last().map_or(0, |commit| commit.revision)
    }

    fn delete(&self, path: &str) {
        self.ask(&Method::DELETE, path, &Value::Null);
    }

    /// Which invariants do not hold since the last look.
    fn broken(&mut self, request: Option<&Request>) -> Vec<String> {
        self.broken_by(request, Sender::default())
    }

    /// Likewise, of a request of this sender.
    fn broken_by(&mut self, request: Option<&Request>, sender: Sender) -> Vec<String> {
        let wrong = self.checker.look(&self.kube.state(), request, sender);
        let names = wrong.iter().filter_map(|wrong| wrong.split(':').next());
        names.map(str::to_owned).collect()
    }

    /// All that happened up to now is none of the test's business.
    fn forget(&mut self) {
        self.broken(None);
    }

    /// Which do not hold once a bridge has deleted this.
    fn broken_by_delete(&mut self, collection: &str, name: &str) -> Vec<String> {
        self.forget();
        self.delete(&format!("{collection}/{name}"));
        let request = of_bridge("delete", collection, name);
        self.broken(Some(&request))
    }

    /// An order of this name, that refers to `ConfigMaps` of these names.
    fn order(&self, name: &str, references: &[&str]) -> String {
        let config_maps = references.iter().map(|name| ("v1", "ConfigMap", *name));
        let tables = ["one", "two"].map(|name| ("fake.example.org/v1alpha1", "Table", name));
        let references: Vec<Value> = config_maps
            .chain([("protection.crossplane.io/v1", "Usage", "usage")])
            .chain(tables)
            .map(|(version, kind, name)| json!({"apiVersion": version, "kind": kind, "name": name}))
            .collect();
        let order = json!({
            "metadata": {"name": name, "finalizers": [HELD]},
            "spec": {"crossplane": {"resourceRefs": references}},
        });
        self.create(&orders(), &order)
    }

    /// A composed `ConfigMap` of the order of this uid.
    fn config_map(&self, name: &str, order: &str) -> String {
        self.create(CONFIG_MAPS, &composed(name, order))
    }

    /// The order says that it is being deleted.
    fn say_deleting(&self, name: &str) {
        let status =
            json!({"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Deleting"}]}});
        self.patch(&format!("{}/{name}", orders()), &status);
    }

    /// A usage by the order: what uses what, by uid.
    fn usage(&self, order: &str, of: &str, by: &str) {
        let mut usage = composed("usage", order);
        usage["metadata"]["annotations"]["crossbridge.dev/usage"] =
            json!({"of": {"uid": of}, "by": {"uid": by}}).to_string().into();
        usage["metadata"]["finalizers"] = json!([HELD]);
        usage["status"] = json!({"conditions": [{"type": "Ready", "status": "True", "reason": "Available"}]});
        self.create(PROTECTION, &usage);
    }

    /// A composition that asks for this resource in any case.
    fn compose(&self, resource: &str) {
        let composition = json!({
            "metadata": {"name": "orders"},
            "spec": {
                "compositeTypeRef": {"kind": "Order"},
                "pipeline": [{"input": {"resources": {resource: {"object": {}}}}}],
            },
        });
        self.create(COMPOSITIONS, &composition);
    }
}

fn orders() -> String {
    format!("{SHOP}/namespaces/default/orders")
}

fn claims() -> String {
    format!("{SHOP}/namespaces/default/purchases")
}

fn composites() -> String {
    format!("{SHOP}/xpurchases")
}

/// What the order of this uid composes.
fn composed(name: &str, order: &str) -> Value {
    json!({"metadata": {
        "name": name,
        "annotations": {"crossplane.io/composition-resource-name": name},
        "labels": {"crossplane.io/composite": "web"},
        "ownerReferences": [{
            "apiVersion": "shop.example.org/v1", "kind": "Order", "name": "web", "uid": order, "controller": true,
        }],
    }})
}

fn of_bridge(verb: &'static str, collection: &str, name: &str) -> Request {
    let namespace = if collection.contains("/namespaces/") {
        "default"
    } else {
        ""
    };
    Request {
        verb,
        resource: collection.rsplit('/').next().unwrap().to_owned(),
        subresource: String::new(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        names_uid: true,
        names_version: true,
        revision: u64::MAX,
    }
}

/// The composite resource of a claim of this uid.
fn bound(claim: &str) -> Value {
    json!({
        "metadata": {"name": "web-1", "finalizers": [HELD], "annotations": {"crossbridge.dev/claim": claim}},
        "spec": {"claimRef": {"name": "web", "namespace": "default"}},
    })
}

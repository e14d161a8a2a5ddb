//! What the function requires: `ConfigMaps` of users, whose values it copies into what is composed.

use fake_kube::state::ClusterState;
use http::Method;
use serde_json::{Value, json};

use super::manifests::{Kind, NAMESPACE};
use crate::simulation::{environment::Environment, invariants::text};

/// The first is required by its name, the others by their label.
pub(super) const NAMES: [&str; 3] = ["setting", "setting-a", "setting-b"];
/// Requirement, and the key of its copy.
const NAMED: &str = "named";
const LABELLED: &str = "labelled";
const LABEL: &str = "setting";

const COLLECTION: &str = "/api/v1/namespaces/default/configmaps";

/// The requirements of a program.
pub(super) fn requirements() -> Value {
    let of = |matching: &str, what: Value| {
        let mut entry = json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": NAMESPACE});
        entry[matching] = what;
        entry
    };
    json!({
        NAMED: of("matchName", NAMES[0].into()),
        LABELLED: of("matchLabels", json!({LABEL: "yes"})),
    })
}

/// What a program copies of them.
pub(super) fn copies() -> Value {
    json!({
        "/data/named": {"of": NAMED, "path": "/data/value"},
        "/data/labelled": {"of": LABELLED, "path": "/data/value"},
    })
}

/// The composition resource name of the `ConfigMap` that holds the copies, which is desired in any case.
pub(super) fn holder(kind: Kind) -> &'static str {
    match kind {
        Kind::Order | Kind::Purchase => "store",
        Kind::Chain => "note",
        Kind::Shop => "page",
    }
}

/// What the copies hold beside other data, as the settings are now.
pub(super) fn add_copies(object: &mut Value, state: &ClusterState) {
    let value = |name: &str| {
        let setting = state.object("configmaps", "", NAMESPACE, name);
        setting.map(|setting| text(setting, "/data/value"))
    };
    let labelled: Vec<&str> = NAMES[1..].iter().filter_map(|name| value(name)).collect();
    object["data"][NAMED] = value(NAMES[0]).unwrap_or_default().into();
    object["data"][LABELLED] = labelled.join(",").into();
}

impl Environment {
    /// A user gives a setting a value, and creates it where it is absent.
    pub(super) fn change_setting(&self, number: usize, value: u32) {
        let name = NAMES[number];
        let mut labels = json!({});
        if number > 0 {
            labels[LABEL] = "yes".into();
        }
        let setting = json!({
            "metadata": {"name": name, "labels": labels}, "data": {"value": value.to_string()},
        });
        if self.kube.request(&Method::POST, COLLECTION, &setting).0 == 409 {
            let path = format!("{COLLECTION}/{name}");
            self.kube.request(&Method::PATCH, &path, &setting);
        }
    }

    /// A user deletes a setting. False: there is none.
    pub(super) fn delete_setting(&self, number: usize) -> bool {
        let path = format!("{COLLECTION}/{}", NAMES[number]);
        self.kube.request(&Method::DELETE, &path, &Value::Null).0 < 300
    }
}

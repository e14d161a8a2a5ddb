//! What users do, past all faults.

use bridge_core::managed::names;
use bridge_engine::clock::Clock;
use fake_cloud::{
    cloud::Cloud,
    kinds::{GROUP, VERSION},
};
use http::Method;
use serde_json::{Value, json};

use super::{
    coverage::ScenarioFeature,
    environment::Environment,
    invariants::{annotation, plural_of, text},
};

const NAMESPACE: &str = "default";
/// The Secret that objects take their password from.
pub(crate) const PASSWORD: &str = "password";

/// An object that users apply, change and delete.
pub(crate) struct Object<'a> {
    environment: &'a Environment,
    kind: &'a str,
    name: &'a str,
}

/// How an object is created.
pub(crate) struct ManifestFields<'a> {
    /// With a password from a Secret.
    pub(crate) password: bool,
    /// With policies of its own.
    pub(crate) policies: bool,
    /// Of this external name.
    pub(crate) external_name: Option<&'a str>,
}

impl Environment {
    pub(crate) fn object<'a>(&'a self, kind: &'a str, name: &'a str) -> Object<'a> {
        Object {
            environment: self,
            kind,
            name,
        }
    }

    /// The config that all objects refer to. False: its kind is not served yet.
    pub(crate) fn make_config(&self) -> bool {
        let config = json!({
            "metadata": {"name": "default"},
            "spec": {"credentials": {"source": "None"}},
        });
        let path = format!("/apis/{GROUP}/{VERSION}/clusterproviderconfigs");
        self.kube.request(&Method::POST, &path, &config).0 < 300
    }

    /// The Secret with the password: `canary-` and the number, in base64.
    pub(crate) fn make_password(&self, number: u32) {
        let data = ["Y2FuYXJ5LTA=", "Y2FuYXJ5LTE=", "Y2FuYXJ5LTI="][number as usize % 3];
        let secrets = "/api/v1/namespaces/default/secrets";
        let secret = json!({"metadata": {"name": PASSWORD}, "data": {"it": data}});
        if self.kube.request(&Method::POST, secrets, &secret).0 == 409 {
            let path = format!("{secrets}/{PASSWORD}");
            self.kube.request(&Method::PATCH, &path, &secret);
        }
    }

    /// Whether all kinds are served.
    pub(crate) fn serves_all(&self) -> bool {
        self.kinds
            .iter()
            .all(|kind| self.kube.request(&Method::GET, &collection(kind), &Value::Null).0 == 200)
    }
}

fn collection(kind: &str) -> String {
    format!(
        "/apis/{GROUP}/{VERSION}/namespaces/{NAMESPACE}/{}",
        plural_of(kind)
    )
}

impl Object<'_> {
    fn path(&self) -> String {
        format!("{}/{}", collection(self.kind), self.name)
    }

    /// As it is; `None`: it is not there.
    pub(crate) fn get(&self) -> Option<Value> {
        let (code, object) = self
            .environment
            .kube
            .request(&Method::GET, &self.path(), &Value::Null);
        (code == 200).then_some(object)
    }

    /// Creates it, unless it exists.
    pub(crate) fn apply(&self, fields: &ManifestFields) {
        let mut object = json!({
            "metadata": {"name": self.name},
            "spec": {"forProvider": {"size": 1}, "writeConnectionSecretToRef": {"name": self.name}},
        });
        if let Some(name) = fields.external_name {
            object["metadata"]["annotations"] = json!({names::EXTERNAL_NAME: name});
        }
        if fields.password {
            object["spec"]["forProvider"]["passwordSecretRef"] = json!({"name": PASSWORD, "key": "it"});
        }
        if fields.policies {
            object["spec"]["managementPolicies"] = json!(["Observe", "Create", "Update", "Delete"]);
        }
        self.environment
            .kube
            .request(&Method::POST, &collection(self.kind), &object);
    }

    /// Sends a merge patch, past all faults.
    pub(crate) fn patch(&self, change: &Value) {
        self.environment
            .kube
            .request(&Method::PATCH, &self.path(), change);
    }

    pub(crate) fn delete(&self) {
        self.environment
            .kube
            .request(&Method::DELETE, &self.path(), &Value::Null);
    }

    pub(crate) fn annotate(&self, key: &str, value: Value) {
        let mut annotations = json!({});
        annotations[key] = value;
        self.patch(&json!({"metadata": {"annotations": annotations}}));
    }

    /// An unknown actor removes its external object by hand. False: there was none.
    pub(crate) fn remove_by_hand(&self) -> bool {
        let Some(object) = self.get() else { return false };
        let mut cloud = self.environment.cloud.lock();
        let made = cloud.created_for(text(&object, "/metadata/uid")).next().cloned();
        if let Some(made) = &made {
            cloud.remove_by_hand(&made.kind, &made.name);
        }
        made.is_some()
    }

    /// Its external name, where any client can know it beforehand and its kind identifies the owner; empty otherwise.
    fn foreseen_name(&self) -> String {
        match self.kind {
            "Bucket" | "Table" => self.name.to_owned(),
            "Queue" => format!("https://cloud/{NAMESPACE}/{}", self.name),
            _ => String::new(),
        }
    }

    /// Another owner creates an external object of its name, unless there is one. False: there is, or its name cannot be known.
    pub(crate) fn foreign(&self) -> bool {
        let (name, now) = (self.foreseen_name(), self.environment.time.now());
        let mut cloud = self.environment.cloud.lock();
        let exists = |cloud: &Cloud| {
            let mut objects = cloud.objects.iter();
            objects.any(|one| one.kind == self.kind && one.name == name)
        };
        let makes = !name.is_empty() && !exists(&cloud);
        if makes {
            cloud.foreign(self.kind, &name, "another-owner", now);
        }
        makes
    }

    /// The other owner has no use for it any more.
    pub(crate) fn remove_foreign(&self) {
        let name = self.foreseen_name();
        let mut cloud = self.environment.cloud.lock();
        let foreign = cloud
            .objects
            .iter()
            .any(|one| one.kind == self.kind && one.name == name && one.created_for.is_empty());
        if foreign {
            cloud.remove_by_hand(self.kind, &name);
        }
    }

    /// Answers what the bridge asks, truthfully.
    pub(crate) fn answer(&self) {
        let Some(object) = self.get() else { return };
        let question = text(&object, "/status/crossbridge/question/id");
        if question.is_empty() {
            return;
        }
        let mut cloud = self.environment.cloud.lock();
        cloud.settle(self.environment.time.now());
        let made = cloud.created_for(text(&object, "/metadata/uid")).next().cloned();
        drop(cloud);
        let answer = match made {
            Some(made) => format!("exists/{question}/{}", made.name),
            None => format!("absent/{question}"),
        };
        if annotation(&object, names::CREATE_OUTCOME) != answer {
            self.environment.log.note(|| {
                let word = answer.split('/').next().unwrap_or_default();
                format!("user: {} answers: {word}", self.name)
            });
            self.environment
                .coverage
                .count("world", ScenarioFeature::Answered);
            self.annotate(names::CREATE_OUTCOME, answer.into());
        }
    }

    /// Why it is not as it should be; `None`: it is, or it is not there.
    pub(crate) fn trouble(&self) -> Option<String> {
        let object = self.get()?;
        let uid = text(&object, "/metadata/uid");
        if !object["metadata"]["deletionTimestamp"].is_null() {
            return Some(format!("{} is being deleted: {}", self.name, conditions(&object)));
        }
        for condition in ["Ready", "Synced"] {
            if status_of(&object, condition) != "True" {
                return Some(format!(
                    "{} is not {condition}: {}",
                    self.name,
                    conditions(&object)
                ));
            }
        }
        let cloud = self.environment.cloud.lock();
        let Some(made) = cloud.created_for(uid).next() else {
            return Some(format!("{} has no external object", self.name));
        };
        if annotation(&object, names::EXTERNAL_NAME) != made.name {
            return Some(format!("{} does not know its name {:?}", self.name, made.name));
        }
        if made.parameters.get("size") != object.pointer("/spec/forProvider/size") {
            return Some(format!("{} differs from its desired state", self.name));
        }
        None
    }
}

fn status_of<'a>(object: &'a Value, kind: &str) -> &'a str {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let condition = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == kind);
    condition
        .map(|condition| text(condition, "/status"))
        .unwrap_or_default()
}

fn conditions(object: &Value) -> String {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .map(|condition| {
            format!(
                "{}={} {} {}; ",
                text(condition, "/type"),
                text(condition, "/status"),
                text(condition, "/reason"),
                text(condition, "/message")
            )
        })
        .collect()
}

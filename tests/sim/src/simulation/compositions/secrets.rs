//! Connection details: from the function into the Secret of a composite resource, and from there into that of its claim.

use http::Method;
use serde_json::{Value, json};

use super::{
    manifests::{GROUP, Kind, NAMESPACE},
    state,
};
use crate::simulation::{environment::Environment, invariants::text};

/// The function's credential, by the name of which a Secret is composed.
pub(super) const DETAILS: &str = "details";
/// The Secret that holds it.
const CREDENTIALS: &str = "credentials";
/// Its value, which itself reads as base64, and no object but Secrets may hold.
const VALUE: &str = "canary01";
/// The same as a Secret holds it.
const ENCODED: &str = "Y2FuYXJ5MDE=";
/// Type of the Secrets in which composite resources and claims publish.
const CONNECTION: &str = "connection.crossplane.io/v1alpha1";

/// Of the step of a pipeline.
pub(super) fn credentials() -> Value {
    json!([{
        "name": DETAILS, "source": "Secret", "secretRef": {"namespace": NAMESPACE, "name": CREDENTIALS},
    }])
}

/// Whether connection details are published in it: it is composed by nobody.
pub(super) fn is_connection(secret: &Value) -> bool {
    secret["type"] == CONNECTION
}

/// The Secret in which a claim of this name publishes.
pub(super) fn of_claim(name: &str) -> String {
    format!("{name}-connection")
}

impl Environment {
    /// Creates the function's credential.
    pub(super) fn make_credentials(&self) {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
        let secret = json!({"metadata": {"name": CREDENTIALS}, "data": {"user": ENCODED}});
        self.kube.request(&Method::POST, &path, &secret);
    }

    /// A person deletes the Secrets of claims and composite resources that were orphaned: nobody else does, and nobody publishes in them.
    pub(super) fn delete_orphaned_secrets(&self) {
        let orphaned: Vec<String> = {
            let state = self.kube.state();
            let secrets = state.all("secrets", "");
            secrets
                .filter(|secret| is_connection(secret) && state::controller(secret).is_none())
                .map(|secret| text(secret, "/metadata/name").to_owned())
                .collect()
        };
        for name in orphaned {
            let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets/{name}");
            self.kube.request(&Method::DELETE, &path, &Value::Null);
        }
    }

    /// What is wrong with the Secrets; `None`: each has an owner, and each claim and composite resource has what is published.
    pub(super) fn trouble_of_secrets(&self) -> Option<String> {
        let state = self.kube.state();
        let secrets = || state.all("secrets", "");
        let lost = secrets().filter(|secret| is_connection(secret)).find(|secret| {
            let owner = state::controller(secret).and_then(|owner| owner["uid"].as_str());
            owner.is_some_and(|uid| {
                let mut claims = state.all(Kind::Purchase.plural(), GROUP);
                state::composite(&state, uid).is_none()
                    && !claims.any(|claim| text(claim, "/metadata/uid") == uid)
            })
        });
        if let Some(lost) = lost {
            return Some(format!(
                "the Secret {} is left over",
                text(lost, "/metadata/name")
            ));
        }
        let all = [Kind::Purchase.plural(), Kind::Purchase.composite_plural()];
        let mut publishing = all.into_iter().flat_map(|plural| state.all(plural, GROUP));
        publishing.find_map(|object| {
            let reference = &object["spec"]["writeConnectionSecretToRef"];
            let name = reference["name"].as_str().unwrap_or_default();
            let secret = state.object("secrets", "", NAMESPACE, name);
            let holds = secret.is_some_and(|secret| secret["data"] == json!({"user": ENCODED}));
            (!holds).then(|| {
                let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
                format!("{kind} {name} publishes no details")
            })
        })
    }
}

/// How a composed Secret differs from the function's credential.
pub(super) fn differs(secret: &Value) -> Option<String> {
    (secret["data"] != json!({"user": VALUE})).then(|| "holds something else than the credential".to_owned())
}

//! Which Secrets count for a composite resource, and when one of them is news.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    Composite, ObjectId,
    live::ObjectState,
    pipeline::PipelineSpec,
    publication::{SecretName, SecretVersions},
};
use crate::{
    definition::Scope,
    function::{ResourceMatch, ResourceSelector},
};

/// The Secret that an object wants its connection details in. That of a namespaced object is in its namespace, whatever it says.
pub fn secret_of(object: &Value) -> Option<SecretName> {
    let reference = &object["spec"]["writeConnectionSecretToRef"];
    let text = |value: &Value| Some(value.as_str()?.to_owned()).filter(|text| !text.is_empty());
    let home = text(&object["metadata"]["namespace"]);
    Some(SecretName {
        namespace: home.or_else(|| text(&reference["namespace"]))?,
        name: text(&reference["name"])?,
    })
}

/// The Secret of a composite resource. Legacy ones alone have one.
pub fn own_secret(xr: &Composite) -> Option<SecretName> {
    (xr.scope == Scope::LegacyCluster)
        .then(|| secret_of(&xr.object))
        .flatten()
}

/// All Secrets that what functions are shown depends on, and the composite resource's own.
pub fn secrets_that_count<'a>(
    xr: &Composite,
    seen: &BTreeMap<ObjectId, ObjectState>,
    pipeline: Option<&PipelineSpec>,
    required: impl IntoIterator<Item = &'a ResourceSelector>,
) -> BTreeSet<SecretName> {
    let composed = seen.values().filter_map(|state| match state {
        ObjectState::Exists(object) => secret_of(object.object()),
        ObjectState::Absent | ObjectState::KindGone | ObjectState::Unknown(_) => None,
    });
    let steps = pipeline.into_iter().flat_map(|pipeline| &pipeline.steps);
    let credentials = steps.flat_map(|step| &step.credentials).map(|one| SecretName {
        namespace: one.namespace.clone(),
        name: one.secret.clone(),
    });
    let required = required.into_iter().filter_map(|selector| {
        let ResourceMatch::Name(name) = &selector.matching else {
            return None;
        };
        let is_secret = selector.api_version == "v1" && selector.kind == "Secret";
        is_secret.then(|| SecretName {
            namespace: selector.namespace.clone().unwrap_or_default(),
            name: name.clone(),
        })
    });
    let all = composed.chain(credentials).chain(required);
    all.chain(own_secret(xr)).collect()
}

/// A Secret that a run was shown, or was to be shown, has another content now. One that is gone, or is watched no longer, says nothing.
pub(super) fn has_news(then: &SecretVersions, now: &SecretVersions) -> bool {
    now.iter()
        .any(|(secret, version)| version.is_some() && then.get(secret).copied().flatten() != *version)
}

/// What a run is begun for: versions of all Secrets but that which follows from it.
pub(super) fn of_basis(xr: &Composite, secrets: &SecretVersions) -> SecretVersions {
    let own = own_secret(xr);
    let mut secrets = secrets.clone();
    secrets.retain(|secret, _| Some(secret) != own.as_ref());
    secrets
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secret(namespace: &str, name: &str) -> SecretName {
        SecretName {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    #[test]
    fn the_secret_of_a_namespaced_object_is_in_its_namespace() {
        let object = |namespace: Value, reference: Value| json!({"metadata": {"namespace": namespace}, "spec": {"writeConnectionSecretToRef": reference}});
        let both = json!({"name": "a", "namespace": "elsewhere"});
        assert_eq!(
            secret_of(&object(json!("home"), both.clone())),
            Some(secret("home", "a"))
        );
        assert_eq!(
            secret_of(&object(Value::Null, both)),
            Some(secret("elsewhere", "a"))
        );
        assert_eq!(secret_of(&object(Value::Null, json!({"name": "a"}))), None);
        assert_eq!(secret_of(&object(json!("home"), json!({"name": ""}))), None);
        assert_eq!(secret_of(&object(json!("home"), Value::Null)), None);
    }

    #[test]
    fn another_version_and_a_new_secret_are_news() {
        let of = |version: Option<u64>| SecretVersions::from([(secret("n", "a"), version)]);
        assert!(has_news(&of(Some(1)), &of(Some(2))));
        assert!(has_news(&of(None), &of(Some(1))));
        assert!(has_news(&SecretVersions::new(), &of(Some(1))));
        for now in [of(Some(1)), of(None), SecretVersions::new()] {
            assert!(!has_news(&of(Some(1)), &now));
        }
    }
}

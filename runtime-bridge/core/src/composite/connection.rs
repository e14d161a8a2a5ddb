//! Connection details: which Secrets hold them, and what of them a legacy composite resource publishes (reference 5.4).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use jiff::Timestamp;
use serde_json::Value;

use super::{
    Composite, ObjectId, context::Context, digest::ContentDigest, live::ObjectState, pipeline::PipelineSpec,
    snapshot::RunState,
};
use crate::{
    definition::Scope,
    function::{ResourceMatch, ResourceSelector, SecretData},
};

/// A Secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretName {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Secrets that count -> `resourceVersion`; `None`: there is none, or nobody watches them.
pub type SecretVersions = BTreeMap<SecretName, Option<u64>>;

/// What is to be in the connection Secret of a composite resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// Which Secret.
    pub secret: SecretName,
    /// The keys that are published. Others in it stay.
    pub data: SecretData,
}

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
        ObjectState::Exists(object) => secret_of(&object.object),
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
pub(super) fn of_basis(of: &super::facts::Facts) -> SecretVersions {
    let own = own_secret(&of.snapshot.xr);
    let mut secrets = of.snapshot.secrets.clone();
    secrets.retain(|secret, _| Some(secret) != own.as_ref());
    secrets
}

/// A connection Secret as it was published last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Published {
    pub secret: SecretName,
    pub digest: ContentDigest,
    pub version: u64,
    pub at: Timestamp,
}

/// What was written is shown by its watch within this time.
const SHOWN_WITHIN: Duration = Duration::from_secs(5);

/// What is to be published, and is not.
pub(super) fn due(of: &Context) -> Option<Publication> {
    let publication = desired(of)?;
    let is_published = of.memory.published.as_ref().is_some_and(|known| {
        known.secret == publication.secret
            && known.digest == ContentDigest::of_secret(&publication.data)
            && match of.snapshot.secrets.get(&known.secret).copied().flatten() {
                Some(version) => version <= known.version,
                None => of.snapshot.now < known.at + SHOWN_WITHIN,
            }
    });
    (!is_published).then_some(publication)
}

/// When it is known again whether the Secret is as it was published.
pub(super) fn shown_at(of: &Context) -> Option<Timestamp> {
    let known = of.memory.published.as_ref()?;
    let is_shown = of
        .snapshot
        .secrets
        .get(&known.secret)
        .copied()
        .flatten()
        .is_some();
    (!is_shown).then_some(known.at + SHOWN_WITHIN)
}

fn desired(of: &Context) -> Option<Publication> {
    let secret = own_secret(&of.snapshot.xr)?;
    let RunState::Ended { outcome, .. } = &of.snapshot.run else {
        return None;
    };
    // Of a run for something else there is no plan.
    of.plan.as_ref()?;
    let composite = outcome.result.as_ref().ok()?.composite.as_ref();
    let details = composite.map(|one| one.connection_details.clone());
    let mut data = details.unwrap_or_default();
    let keys = &of.snapshot.connection_keys;
    if !keys.is_empty() {
        data.0.retain(|key, _| keys.contains(key));
    }
    Some(Publication { secret, data })
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

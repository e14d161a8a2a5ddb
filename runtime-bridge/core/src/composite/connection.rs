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
    back_off::policies,
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
    /// How often the same was written again, as somebody had changed it.
    pub repeats: u32,
}

/// A publication that failed: the same is not tried again at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FailedPublication {
    pub secret: SecretName,
    /// What was known of the Secret: whatever a person did since is worth another try.
    pub version: Option<u64>,
    pub digest: ContentDigest,
    /// For people.
    pub message: String,
    /// Another writer was faster: nothing is wrong.
    pub is_conflict: bool,
    /// In a row.
    pub failures: u32,
    pub retry_at: Timestamp,
}

/// What was written is shown by its watch within this time.
const SHOWN_WITHIN: Duration = Duration::from_secs(5);

/// Who changes the Secret back after so long does not fight for it.
const PEACE: Duration = Duration::from_mins(10);

impl Published {
    /// The same was published again at `now`.
    pub fn repeats_at(&self, now: Timestamp) -> u32 {
        if now < self.at + PEACE {
            self.repeats.saturating_add(1)
        } else {
            0
        }
    }

    /// When it is written again though it was written before: who else writes it is not fought without end.
    fn again_at(&self) -> Timestamp {
        match self.repeats {
            0 => self.at,
            repeats => self.at + policies::API.wait(repeats, 0.0),
        }
    }
}

/// What is to be published, and is not; `Err`: until when it waits.
pub(super) fn due(of: &Context) -> Option<Result<Publication, Timestamp>> {
    let publication = desired(of)?;
    let digest = ContentDigest::of_secret(&publication.data);
    let (now, shown) = (of.snapshot.now, version(of, &publication.secret));
    let known = of.memory.published.as_ref();
    let known = known.filter(|known| known.secret == publication.secret && known.digest == digest);
    if let Some(known) = known {
        match shown {
            Some(version) if version <= known.version => return None,
            None if !of.snapshot.secrets_watched => return None,
            None if now < known.at + SHOWN_WITHIN => return Some(Err(known.at + SHOWN_WITHIN)),
            Some(_) | None if now < known.again_at() => return Some(Err(known.again_at())),
            Some(_) | None => {}
        }
    }
    let failed = of.memory.failed_publication.as_ref();
    let same = failed.filter(|failed| {
        failed.secret == publication.secret && failed.version == shown && failed.digest == digest
    });
    match same {
        Some(failed) if now < failed.retry_at => Some(Err(failed.retry_at)),
        _ => Some(Ok(publication)),
    }
}

/// Why what is to be published is not, if that is no matter of a moment.
pub(super) fn failure<'a>(of: &'a Context) -> Option<&'a FailedPublication> {
    let failed = of.memory.failed_publication.as_ref()?;
    (!failed.is_conflict && due(of).is_some()).then_some(failed)
}

/// Version of a Secret, if it is known.
pub(super) fn version(of: &super::facts::Facts, secret: &SecretName) -> Option<u64> {
    of.snapshot.secrets.get(secret).copied().flatten()
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
    fn who_else_writes_the_secret_is_not_fought_without_end() {
        let at = |time: &str| -> Timestamp { time.parse().unwrap() };
        let published = |repeats| Published {
            secret: secret("n", "a"),
            digest: ContentDigest::of_secret(&SecretData::default()),
            version: 1,
            at: at("2026-01-01T00:00:00Z"),
            repeats,
        };
        let waits = [0, 1, 2, 5, 100].map(|repeats| {
            let wait = published(repeats)
                .again_at()
                .duration_since(at("2026-01-01T00:00:00Z"));
            wait.as_secs()
        });
        assert_eq!(waits, [0, 1, 2, 16, 60]);
        assert_eq!(published(3).repeats_at(at("2026-01-01T00:09:59Z")), 4);
        assert_eq!(published(3).repeats_at(at("2026-01-01T00:10:00Z")), 0);
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

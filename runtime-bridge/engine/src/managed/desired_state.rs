//! The desired state with its secrets, as the plugin is to have it.

use std::sync::Arc;

use bridge_core::{
    crd::{SecretRef, split_secret_refs},
    external::{Document, Secrets},
    kind::Kind,
    limits,
    managed::{Problem, ResolvedDesiredState},
    reasons::ProblemReason,
};
use serde_json::Value;

use super::digest::{self, Digester};
use crate::{
    object::{Key, Object},
    secret::SecretReader,
};

/// Values of Secrets that one object may refer to, in bytes, each as often as it does: no message is larger, and they are copied into one.
const MOST_SENSITIVE: usize = limits::ANSWER;

/// Values of Secrets that one object may refer to: each is sought, in all its forms, in whatever the plugin answers.
const MOST_SECRETS: usize = 1024;

/// Reads the desired state of an object, and the Secrets that it points to.
pub(super) async fn read(
    kind: &Kind,
    object: &Object,
    secrets: &SecretReader,
    digester: &Digester,
) -> Result<Arc<ResolvedDesiredState>, Problem> {
    let spec = object.spec_value();
    let empty = serde_json::Map::new();
    let for_provider = spec
        .get("forProvider")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    if !for_provider.values().all(limits::is_shallow) {
        return Err(problem(
            ProblemReason::ParametersTooDeep,
            format!(
                "spec.forProvider is nested more than {} levels deep",
                limits::DEPTH
            ),
        ));
    }
    let split = split_secret_refs(kind, for_provider)
        .map_err(|error| problem(ProblemReason::InvalidSecretReference, error.to_string()))?;
    let count = split.secret_refs.len();
    if count > MOST_SECRETS {
        return Err(problem(
            ProblemReason::TooManySecrets,
            format!(
                "spec.forProvider refers to {count} values of Secrets; at most {MOST_SECRETS} are allowed"
            ),
        ));
    }
    let mut sensitive = Secrets::default();
    let mut room = MOST_SENSITIVE;
    for (pointer, reference) in &split.secret_refs {
        let namespace = namespace_of(object, reference);
        let secret = secrets.read(namespace, &reference.name).await.map_err(|error| {
            problem(
                error.reason(),
                format!("{error}, to which spec.forProvider{pointer} refers"),
            )
        })?;
        let Some(value) = secret.data.0.get(&reference.key) else {
            return Err(problem(
                ProblemReason::SecretKeyMissing,
                format!(
                    "the Secret {namespace}/{} has no key {:?}, to which spec.forProvider{pointer} refers",
                    reference.name, reference.key
                ),
            ));
        };
        if std::str::from_utf8(value).is_err() {
            return Err(problem(
                ProblemReason::SecretNotText,
                format!(
                    "key {:?} of the Secret {namespace}/{} is not UTF-8 text",
                    reference.key, reference.name
                ),
            ));
        }
        room = room.checked_sub(value.len()).ok_or_else(|| {
            problem(
                ProblemReason::SecretsTooLarge,
                format!(
                    "the values of the Secrets to which spec.forProvider refers are larger than {} MiB together",
                    MOST_SENSITIVE >> 20
                ),
            )
        })?;
        sensitive.0.insert(pointer.clone(), value.clone());
    }
    let digest = || digest::plain(&serde_json::to_string(&split.parameters).unwrap_or_default());
    Ok(Arc::new(ResolvedDesiredState {
        // Where nothing can be taken out of the parameters, they are those of the spec, whatever else the kind says of them.
        digest: if has_sensitive_fields(kind) {
            digest()
        } else {
            object.spec_digest(digest).to_owned()
        },
        sensitive_digest: digester.of(&sensitive),
        parameters: split.parameters,
        sensitive,
    }))
}

/// The parameters without secrets; as they stand where a reference is malformed.
pub(super) fn bare(kind: &Kind, object: &Object) -> Document {
    let spec = object.spec_value();
    let Some(for_provider) = spec.get("forProvider").and_then(Value::as_object) else {
        return Document::new();
    };
    split_secret_refs(kind, for_provider).map_or_else(|_| for_provider.clone(), |split| split.parameters)
}

/// The Secrets that an object's spec points to: a change of one wakes it.
pub fn secret_references(kind: &Kind, object: &Object) -> Vec<Key> {
    // Asked of every version that a watch brings: most kinds need not have it parsed.
    if !has_sensitive_fields(kind) {
        return Vec::new();
    }
    let spec = object.spec_value();
    let Some(for_provider) = spec.get("forProvider").and_then(Value::as_object) else {
        return Vec::new();
    };
    let references = split_secret_refs(kind, for_provider)
        .map(|split| split.secret_refs)
        .unwrap_or_default();
    references
        .iter()
        .map(|(_, reference)| Key::secret(namespace_of(object, reference), &reference.name))
        .collect()
}

fn has_sensitive_fields(kind: &Kind) -> bool {
    kind.field_rules.iter().any(|rule| rule.sensitive)
}

/// A namespaced object reads its own namespace only.
fn namespace_of<'a>(object: &'a Object, reference: &'a SecretRef) -> &'a str {
    object
        .namespace()
        .or(reference.namespace.as_deref())
        .unwrap_or_default()
}

fn problem(reason: ProblemReason, message: String) -> Problem {
    Problem {
        reason: reason.as_str().to_owned(),
        message,
    }
}

//! Carries out one action: with real requests to the API server.

use std::sync::Arc;

use bridge_core::{
    claim::{
        Action, ClaimWrite, CompositeBody, CompositeChange, CompositeDeletion, Performed, Propagated,
        PropagationFailure, SecretRefs, SecretVersions, names,
    },
    composite::{
        LiveObject, WriteFailure, WriteFailureKind,
        names::{CREATED_MANAGER, CROSSPLANE_MANAGER},
    },
    driver::Input,
};

use super::{pass::ClaimInput, reconciler::ClaimReconciler};
use crate::{
    api_error::ApiError,
    composite::{GuardedApply, failure, live},
    object::{Key, Object},
    write::{Deleted, Deletion, Finalized, Propagation, Writer},
};

/// What creates a composite resource under another manager than what changes it later: it is handed over first.
const FORMER: [&str; 1] = [CREATED_MANAGER];

impl ClaimReconciler {
    pub(super) async fn perform(&self, claim: &Arc<Object>, action: &Action) -> ClaimInput {
        let key = claim.key();
        let writer = self.writer(claim).as_manager(CROSSPLANE_MANAGER);
        let version = |object: Arc<Object>| Performed::Version(object.resource_version().to_string());
        let result = match action {
            Action::Observe(name) => Ok(Performed::Observed(self.observe(name).await)),
            Action::VerifyResourceVersion => writer.get_live(&self.api, &key).await.map(version),
            Action::Write(write) => match writer.put(&changed(claim, write)).await {
                // Until a person changes something: the status says so.
                Err(error) if failure(&error).kind == WriteFailureKind::Rejected => {
                    Ok(Performed::Refused(failure(&error)))
                }
                written => written.map(version),
            },
            Action::Create(name, body) => Ok(Performed::Written(self.create(claim, name, body).await)),
            Action::Apply(change) => Ok(Performed::Written(self.apply(claim, change).await)),
            Action::Propagate(refs, uid) => Ok(Performed::Propagated(self.propagate(claim, refs, uid).await)),
            Action::Delete(deletion) => Ok(Performed::Deleted(self.delete(claim, deletion).await)),
            Action::DeleteSecret(secret) => {
                let secrets = &self.shared.connection_secrets;
                let deleted = secrets.delete_controlled(secret, claim.uid()).await;
                deleted.map(Performed::SecretDeleted)
            }
            Action::WriteStatus(write) => {
                let mut new = Object::clone(claim);
                new.set_status(&write.status);
                let written = writer.put_status(&new).await;
                written.map(|stored| Performed::StatusWritten {
                    version: stored.resource_version().to_string(),
                    stored: stored.status_value(),
                })
            }
            Action::RemoveFinalizer => {
                let removed = writer.remove_finalizer(claim, names::FINALIZER).await;
                removed.map(|removed| Performed::FinalizerRemoved(matches!(removed, Finalized::Gone)))
            }
        };
        match result {
            Ok(performed) => Input::Performed(performed),
            Err(error) => {
                if matches!(error, ApiError::Conflict(_) | ApiError::NotFound(_)) {
                    tracing::debug!(object = %key, %action, %error, "not written");
                } else {
                    tracing::warn!(object = %key, %action, %error, "not written; will retry");
                }
                Input::Failed(self.shared.api_failure(claim, &error))
            }
        }
    }

    fn writer(&self, claim: &Object) -> Writer {
        self.shared.writer.for_reconcile(&claim.key())
    }

    fn composite(&self, name: &str) -> Key {
        Key::new(self.composites().kind.clone(), None, name)
    }

    async fn create(
        &self,
        claim: &Object,
        name: &str,
        body: &CompositeBody,
    ) -> Result<LiveObject, WriteFailure> {
        let writer = self.writer(claim).as_manager(CREATED_MANAGER);
        let created = writer
            .create_document(&self.composites(), None, &body.created(name))
            .await;
        created
            .and_then(|object| live(&object))
            .map_err(|error| failure(&error))
    }

    async fn apply(&self, claim: &Object, change: &CompositeChange) -> Result<LiveObject, WriteFailure> {
        let writer = self.writer(claim).as_manager(names::CLAIM_MANAGER);
        let apply = GuardedApply {
            key: self.composite(&change.name),
            uid: &change.uid,
            version: &change.resource_version,
            fields: change.body.applied(),
            former: if change.convert { &FORMER } else { &[] },
        };
        let applied = apply.send(&writer, &self.composites()).await;
        applied
            .and_then(|object| live(&object))
            .map_err(|error| failure(&error))
    }

    /// In the background, whatever the claim's policy: claim and composite resource stay until all is gone in either case, and what is composed
    /// goes in the order of the bridge.
    async fn delete(&self, claim: &Object, deletion: &CompositeDeletion) -> Result<bool, WriteFailure> {
        let options = Deletion {
            uid: &deletion.uid,
            version: deletion.resource_version.parse().ok(),
            propagation: Propagation::Background,
        };
        let deleted = self
            .writer(claim)
            .delete(&self.composites(), &self.composite(&deletion.name), options)
            .await;
        match deleted {
            Ok(Deleted::Gone) => Ok(true),
            Ok(Deleted::Marked(_)) => Ok(false),
            Err(error) => Err(failure(&error)),
        }
    }

    async fn propagate(
        &self,
        claim: &Object,
        refs: &SecretRefs,
        controller: &str,
    ) -> Result<Propagated, PropagationFailure> {
        let source = Key::secret(&refs.source_namespace, &refs.source);
        let target = Key::secret(claim.namespace().unwrap_or_default(), &refs.target);
        let secrets = &self.shared.connection_secrets;
        match secrets.propagate(claim, &source, controller, &target).await {
            Ok(secret) => Ok(Propagated {
                versions: SecretVersions {
                    source: Some(secret.source),
                    target: Some(secret.target),
                },
                changed: secret.changed,
            }),
            Err(error) => Err(PropagationFailure {
                is_conflict: error.is_conflict(),
                message: error.to_string(),
            }),
        }
    }
}

fn changed(object: &Object, write: &ClaimWrite) -> Object {
    let mut object = object.clone();
    object.meta.finalizers = Some(write.finalizers.clone());
    object.meta.annotations = Some(write.annotations.clone().into_iter().collect());
    object.set_spec(&write.spec);
    object
}

//! Carries out one action: with real requests to the API server.

use std::sync::Arc;

use bridge_core::{
    composite::{ResourceRef, WriteFailure, WriteFailureKind, names::CROSSPLANE_MANAGER},
    driver::Input,
    protection::{Action, MarkWrite, Performed, Replay, ReplayPolicy, UsageWrite, names},
};

use super::{pass::UsageInput, reconciler::UsageReconciler};
use crate::{
    api_error::ApiError,
    composite::{Finder, failure, key_of},
    object::{ApiType, Key, Object},
    write::{Deletion, Finalized, Merge, Propagation, Writer},
};

impl UsageReconciler {
    pub(super) async fn perform(&self, usage: &Arc<Object>, action: &Action) -> UsageInput {
        let key = usage.key();
        let writer = self
            .shared
            .writer
            .for_reconcile(&key)
            .as_manager(CROSSPLANE_MANAGER);
        let version = |object: Arc<Object>| Performed::Version(object.resource_version().to_string());
        let result = match action {
            Action::Observe(subject) => Ok(Performed::Observed(self.observe(usage, *subject).await)),
            Action::VerifyResourceVersion => writer.get_live(&self.api, &key).await.map(version),
            Action::Write(write) => match changed(usage, write) {
                Ok(object) => writer.put(&object).await.map(version),
                Err(error) => Err(error),
            },
            Action::Mark(write) => Ok(Performed::Written(self.mark(&writer, write).await)),
            Action::Replay(replay) => Ok(Performed::Written(self.replay(&writer, replay).await)),
            Action::WriteStatus(write) => {
                let mut new = Object::clone(usage);
                new.set_status(&write.status);
                let written = writer.put_status(&new).await;
                written.map(|stored| Performed::StatusWritten {
                    version: stored.resource_version().to_string(),
                    stored: stored.status_value(),
                })
            }
            Action::RemoveFinalizer => {
                let removed = writer.remove_finalizer(usage, names::FINALIZER).await;
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
                Input::Failed(self.shared.api_failure(usage, &error))
            }
        }
    }

    async fn mark(&self, writer: &Writer, write: &MarkWrite) -> Result<(), WriteFailure> {
        let (api, key) = self.place(&write.reference)?;
        let merge = Merge {
            uid: &write.uid,
            version: write.resource_version.parse().ok(),
            change: write.mark.patch(),
        };
        let written = writer.merge(&api, &key, merge).await;
        written.map(drop).map_err(|error| failure(&error))
    }

    async fn replay(&self, writer: &Writer, replay: &Replay) -> Result<(), WriteFailure> {
        let (api, key) = self.place(&replay.reference)?;
        let options = Deletion {
            uid: &replay.uid,
            version: replay.resource_version.parse().ok(),
            propagation: match replay.policy {
                ReplayPolicy::Background => Propagation::Background,
                ReplayPolicy::Foreground => Propagation::Foreground,
                ReplayPolicy::Orphan => Propagation::Orphan,
            },
        };
        let deleted = writer.delete(&api, &key, options).await;
        deleted.map(drop).map_err(|error| failure(&error))
    }

    fn place(&self, reference: &ResourceRef) -> Result<(Arc<ApiType>, Key), WriteFailure> {
        let finder = Finder::in_any_version(&self.shared);
        match finder.api(&reference.api_version, &reference.kind) {
            Ok(api) => {
                let key = key_of(&api, reference, None);
                Ok((api, key))
            }
            Err(_) => Err(WriteFailure {
                kind: WriteFailureKind::NotDone,
                message: format!(
                    "the cluster does not serve {} in {}",
                    reference.kind, reference.api_version
                ),
            }),
        }
    }
}

fn changed(object: &Object, write: &UsageWrite) -> Result<Object, ApiError> {
    let mut object = object.clone();
    let owners = serde_json::to_value(&write.owners).and_then(serde_json::from_value);
    object.meta.owner_references = Some(owners.map_err(|error| ApiError::Unusable(error.to_string()))?);
    object.meta.finalizers = Some(write.finalizers.clone());
    object.meta.annotations = Some(write.annotations.clone().into_iter().collect());
    object.set_spec(&write.spec);
    Ok(object)
}

//! The trial in the cluster: a deletion that deletes nothing, of an object that is there for it alone.

use std::{sync::Arc, time::Duration};

use bridge_core::{
    composite::names::IN_USE,
    crd::{MANAGED_BY, MANAGED_BY_LABEL},
    protection::guard::{GuardKind, Trial, TrialAnswer, names, trial_object},
    watch_plan::GroupKind,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    api_error::ApiError,
    object::{ApiType, Key, Object},
    write::{Deletion, Merge, Propagation, Writer},
};

/// A create without an answer lands within this time, or not at all: as of what is composed.
const LATE_CREATE: Duration = Duration::from_mins(2);

/// Its object is created for a trial, and removed when the trial has proved the guard.
pub(super) struct TrialObject {
    api: Arc<ApiType>,
    key: Key,
    namespace: String,
    /// It is there, or may be.
    left: bool,
    /// Until when a create of it that had no answer may land: of this process, or of one that led before.
    lands_until: Instant,
}

impl TrialObject {
    /// In the bridge's own namespace.
    pub(super) fn new(namespace: &str) -> Self {
        let api = Arc::new(ApiType {
            kind: GroupKind::new("", "ConfigMap"),
            version: "v1".to_owned(),
            plural: "configmaps".to_owned(),
            namespaced: true,
        });
        Self {
            key: Key::new(api.kind.clone(), Some(namespace), names::TRIAL),
            api,
            namespace: namespace.to_owned(),
            left: false,
            lands_until: Instant::now(),
        }
    }

    /// Another process may lead until this one does, and leave an object, or a create that has not landed.
    pub(super) fn begin_term(&mut self) {
        self.left = true;
        self.lands_until = Instant::now() + LATE_CREATE;
    }

    /// Whether the guard refuses now.
    pub(super) async fn run(&mut self, writer: &Writer, guard: GuardKind) -> Trial {
        let answer = match self.try_delete(writer).await {
            Ok(()) => TrialAnswer::Deleted,
            Err(ApiError::Denied(why)) => TrialAnswer::Denied(why),
            Err(ApiError::Forbidden(why)) => TrialAnswer::Forbidden(why),
            Err(error) => TrialAnswer::Failed(error.to_string()),
        };
        Trial::of(guard, &answer)
    }

    async fn try_delete(&mut self, writer: &Writer) -> Result<(), ApiError> {
        let object = self.bring(writer).await?;
        writer.try_delete(&self.api, &self.key, object.uid()).await
    }

    async fn bring(&mut self, writer: &Writer) -> Result<Arc<Object>, ApiError> {
        let object = match writer.get_live(&self.api, &self.key).await {
            Err(ApiError::NotFound(_)) => {
                self.left = true;
                let namespace = Some(self.namespace.as_str());
                let created = writer
                    .create_document(&self.api, namespace, &trial_object())
                    .await;
                if created.as_ref().is_err_and(ApiError::may_have_taken_effect) {
                    self.lands_until = Instant::now() + LATE_CREATE;
                }
                return created;
            }
            found => found?,
        };
        if !is_own(&object) {
            return Err(ApiError::AlreadyExists(format!(
                "the ConfigMap {} is not the bridge's: delete it, or give it another name",
                self.key
            )));
        }
        self.left = true;
        if object.label(IN_USE) == Some("true") {
            return Ok(object);
        }
        self.label(writer, &object, json!("true")).await
    }

    /// Removes it, if it is there: without its label nothing refuses that. Returns when that is to be done once more.
    pub(super) async fn remove(&mut self, writer: &Writer) -> Result<Option<Instant>, ApiError> {
        if !self.left {
            return Ok(None);
        }
        let begun = Instant::now();
        match writer.get_live(&self.api, &self.key).await {
            Err(ApiError::NotFound(_)) => {}
            Ok(found) if !is_own(&found) => {}
            found => {
                let found = found?;
                let object = self.label(writer, &found, Value::Null).await?;
                let deletion = Deletion {
                    uid: object.uid(),
                    version: None,
                    propagation: Propagation::Background,
                };
                writer.delete(&self.api, &self.key, deletion).await?;
            }
        }
        self.left = begun < self.lands_until;
        Ok(self.left.then_some(self.lands_until))
    }

    async fn label(&self, writer: &Writer, object: &Object, value: Value) -> Result<Arc<Object>, ApiError> {
        let merge = Merge {
            uid: object.uid(),
            version: None,
            change: json!({"metadata": {"labels": {IN_USE: value}}}),
        };
        writer.merge(&self.api, &self.key, merge).await
    }
}

/// Objects of other owners are neither labelled nor deleted.
fn is_own(object: &Object) -> bool {
    object.label(MANAGED_BY_LABEL) == Some(MANAGED_BY)
}

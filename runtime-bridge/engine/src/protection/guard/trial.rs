//! The trial in the cluster: a deletion that deletes nothing, of an object that is there for it alone.

use std::{sync::Arc, time::Duration};

use bridge_core::{
    composite::names::IN_USE,
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
    /// When a create of it had no good answer: it may come yet.
    lost_create: Option<Instant>,
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
            lost_create: None,
        }
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
                if created.is_err() {
                    self.lost_create = Some(Instant::now());
                }
                return created;
            }
            found => found?,
        };
        self.left = true;
        if object.label(IN_USE) == Some("true") {
            return Ok(object);
        }
        self.label(writer, &object, json!("true")).await
    }

    /// Whether it is there, or may be, and is to be removed.
    pub(super) fn is_left(&self) -> bool {
        self.left
    }

    /// Removes it, if it is there: without its label nothing refuses that.
    pub(super) async fn remove(&mut self, writer: &Writer) -> Result<(), ApiError> {
        if !self.left {
            return Ok(());
        }
        match writer.get_live(&self.api, &self.key).await {
            Err(ApiError::NotFound(_)) => {}
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
        self.left = self.lost_create.is_some_and(|at| at.elapsed() < LATE_CREATE);
        Ok(())
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

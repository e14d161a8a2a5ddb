//! Deletion of exactly the object that it was decided on.

use std::sync::Arc;

use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::{Writer, decode};
use crate::{
    api_error::ApiError,
    object::{ApiType, Key, Object},
};

/// What becomes of the objects that name a deleted one as their owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// The garbage collector deletes them afterwards.
    Background,
    /// The garbage collector deletes them first: until then the finalizer `foregroundDeletion` holds their owner.
    Foreground,
    /// They lose the reference, and stay: until then the finalizer `orphan` holds their owner.
    Orphan,
}

impl Propagation {
    fn policy(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

/// What is to be deleted, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deletion<'a> {
    /// Of the object: another one of its name is left alone.
    pub uid: &'a str,
    /// The `resourceVersion` that it was decided on: of another one, nothing was decided. `None`: whatever changed meanwhile.
    pub version: Option<u64>,
    /// What becomes of what it owns.
    pub propagation: Propagation,
}

/// What came of a deletion.
#[derive(Debug, Clone)]
pub enum Deleted {
    /// It is gone.
    Gone,
    /// It is marked, and held: by finalizers, or by a grace period.
    Marked(Arc<Object>),
}

#[derive(Deserialize)]
struct Kind {
    kind: String,
}

impl Writer {
    /// Deletes one object. Not to find it is success.
    ///
    /// # Errors
    /// [`ApiError::Conflict`] if another object has the name, or this one is of another version: read, and decide again.
    pub async fn delete(
        &self,
        api: &Arc<ApiType>,
        key: &Key,
        deletion: Deletion<'_>,
    ) -> Result<Deleted, ApiError> {
        let path = api.object_path(key)?;
        let mut preconditions = json!({"uid": deletion.uid});
        if let Some(version) = deletion.version {
            preconditions["resourceVersion"] = version.to_string().into();
        }
        let options = json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": preconditions,
            "propagationPolicy": deletion.propagation.policy(),
        });
        let answer = self
            .send("delete", Method::DELETE, api, &path, "application/json", &options)
            .await;
        match answer {
            Ok(answer) => self.take_in_deleted(api, key, deletion.uid, &answer),
            Err(ApiError::NotFound(_)) => Ok(self.deleted(key, deletion.uid)),
            Err(error) => Err(error),
        }
    }

    /// Tries whether one object could be deleted, which deletes nothing.
    ///
    /// # Errors
    /// Those that the deletion would have.
    pub async fn try_delete(&self, api: &Arc<ApiType>, key: &Key, uid: &str) -> Result<(), ApiError> {
        let path = api.object_path(key)?;
        let options = json!({
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": {"uid": uid},
            "dryRun": ["All"],
        });
        self.send("delete", Method::DELETE, api, &path, "application/json", &options)
            .await
            .map(drop)
    }

    /// The answer is a `Status` if the object is gone, else the object; of some kinds it is the object in either case, as it was last.
    fn take_in_deleted(
        &self,
        api: &Arc<ApiType>,
        key: &Key,
        uid: &str,
        answer: &str,
    ) -> Result<Deleted, ApiError> {
        let Kind { kind } = serde_json::from_str(answer).map_err(|e| ApiError::Unusable(e.to_string()))?;
        if kind == "Status" {
            return Ok(self.deleted(key, uid));
        }
        let object = Arc::new(decode(api, answer)?);
        if !object.is_deleting() || object.is_finally_deleted() {
            return Ok(self.deleted(key, uid));
        }
        self.store.observe_write(Arc::clone(&object), self.by.as_ref());
        Ok(Deleted::Marked(object))
    }

    fn deleted(&self, key: &Key, uid: &str) -> Deleted {
        self.store.observe_gone(key, uid, self.by.as_ref());
        Deleted::Gone
    }
}

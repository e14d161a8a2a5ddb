//! Merge patches of exactly the object that they were decided on.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use super::{Writer, patch};
use crate::{
    api_error::ApiError,
    object::{ApiType, Key, Object},
};

/// A change of an object.
#[derive(Debug, Clone)]
pub struct Merge<'a> {
    /// Uid of the object: another one of its name is left alone.
    pub uid: &'a str,
    /// The `resourceVersion` that it was decided on; `None`: whatever changed meanwhile.
    pub version: Option<u64>,
    /// As a merge patch (RFC 7386) with a field `metadata`. Nothing else of the object is sent: the store may not have all of it.
    pub change: Value,
}

impl Writer {
    /// Changes fields of an object.
    ///
    /// # Errors
    /// [`ApiError::Conflict`] if it is another object, or has changed: read, and decide again.
    pub async fn merge(
        &self,
        api: &Arc<ApiType>,
        key: &Key,
        merge: Merge<'_>,
    ) -> Result<Arc<Object>, ApiError> {
        let mut change = merge.change;
        change["metadata"]["uid"] = merge.uid.into();
        if let Some(version) = merge.version {
            change["metadata"]["resourceVersion"] = json!(version.to_string());
        }
        let path = api.object_path(key)?;
        let answer = self
            .send("patch", Method::PATCH, api, &path, patch::MERGE, &change)
            .await;
        match answer {
            Ok(answer) => self.take_in(api, &answer),
            // So the API server answers if another object has the name.
            Err(ApiError::Invalid(why)) if why.contains("metadata.uid: Invalid value") => {
                Err(ApiError::Conflict(why))
            }
            Err(error) => Err(error),
        }
    }
}

//! Changes to a part of an object, of which nothing else is sent.

use std::sync::Arc;

use http::Method;
use serde_json::Value;

use super::{Writer, patch};
use crate::{
    api_error::ApiError,
    object::{ApiType, Key, Object},
};

/// The object that a change was decided on.
#[derive(Debug, Clone, Copy)]
pub struct Guarded<'a> {
    /// Its uid: another object of its name is left alone.
    pub uid: &'a str,
    /// The version that it must have; `None`: whatever changed meanwhile.
    pub version: Option<u64>,
}

impl Writer {
    /// Merges a change into one object.
    ///
    /// # Errors
    /// [`ApiError::Conflict`] if it is another object, or has changed.
    pub async fn merge(
        &self,
        api: &Arc<ApiType>,
        key: &Key,
        guarded: Guarded<'_>,
        mut change: Value,
    ) -> Result<Arc<Object>, ApiError> {
        change["metadata"]["uid"] = guarded.uid.into();
        if let Some(version) = guarded.version {
            change["metadata"]["resourceVersion"] = version.to_string().into();
        }
        let path = api.object_path(key)?;
        let answer = self
            .send("patch", Method::PATCH, api, &path, patch::MERGE, &change)
            .await?;
        self.take_in(api, &answer)
    }
}

//! Taking finalizers off.

use std::sync::Arc;

use http::Method;
use serde_json::json;

use super::{Writer, patch};
use crate::{
    api_error::ApiError,
    object::{ApiType, Key, Object},
};

/// What became of an object when a finalizer was taken off.
#[derive(Debug, Clone)]
pub enum Finalized {
    /// It is gone.
    Gone,
    /// It stays: it is not being deleted, or others hold it.
    Remains(Arc<Object>),
}

/// What must not have changed of an object since something was decided about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Still {
    /// Nothing else matters.
    Whatever,
    /// It is of this `resourceVersion`.
    Version(u64),
}

fn finalized(object: Arc<Object>) -> Finalized {
    if object.is_finally_deleted() {
        Finalized::Gone
    } else {
        Finalized::Remains(object)
    }
}

impl Writer {
    /// Takes a finalizer off the object with this uid, if it is `still` as it was when that was decided. [`ApiError::Conflict`] if that, or
    /// the list of finalizers, changed meanwhile. Not to find it, or to find another object of that name, is success.
    pub async fn remove_finalizer(
        &self,
        api: &Arc<ApiType>,
        key: &Key,
        uid: &str,
        finalizer: &str,
        still: Still,
    ) -> Result<Finalized, ApiError> {
        let known = match self.store.get(key) {
            Some(object) if object.uid() == uid => Ok(object),
            _ => self.get_live(api, key).await,
        };
        let object = match known {
            Ok(object) if object.uid() == uid => object,
            Ok(_) | Err(ApiError::NotFound(_)) => return Ok(self.gone(key, uid)),
            Err(error) => return Err(error),
        };
        let Some(place) = object
            .meta
            .finalizers
            .iter()
            .flatten()
            .position(|f| f == finalizer)
        else {
            return Ok(Finalized::Remains(object));
        };
        if let Still::Version(version) = still {
            return self.put_without_finalizer(&object, finalizer, version).await;
        }
        let place = format!("/metadata/finalizers/{place}");
        let change = json!([
            {"op": "test", "path": "/metadata/uid", "value": uid},
            {"op": "test", "path": place, "value": finalizer},
            {"op": "remove", "path": place},
        ]);
        let path = api.object_path(key)?;
        match self
            .send("patch", Method::PATCH, api, &path, patch::JSON, &change)
            .await
        {
            Ok(answer) => self.take_in(api, &answer).map(finalized),
            Err(ApiError::NotFound(why)) => {
                self.confirm_absence(api, key, uid, why).await?;
                Ok(Finalized::Gone)
            }
            // So the API server answers when a test of a patch fails, and says no more.
            Err(ApiError::Invalid(message)) if message.starts_with("the server rejected our request") => Err(
                ApiError::Conflict("it, or its finalizers, changed, or it is another object".to_owned()),
            ),
            Err(error) => Err(error),
        }
    }

    /// Of just this version. A replacement costs the API server two thirds of what a patch does.
    async fn put_without_finalizer(
        &self,
        object: &Object,
        finalizer: &str,
        version: u64,
    ) -> Result<Finalized, ApiError> {
        if object.resource_version() != version {
            let why = format!("{} has changed since it was seen", object.key());
            return Err(ApiError::Conflict(why));
        }
        let mut without = object.clone();
        without
            .meta
            .finalizers
            .iter_mut()
            .for_each(|all| all.retain(|one| one != finalizer));
        match self.put(&without).await {
            Ok(object) => Ok(finalized(object)),
            Err(ApiError::NotFound(_)) => Ok(Finalized::Gone),
            Err(error) => Err(error),
        }
    }

    fn gone(&self, key: &Key, uid: &str) -> Finalized {
        self.store.observe_gone(key, uid, self.by.as_ref());
        Finalized::Gone
    }
}

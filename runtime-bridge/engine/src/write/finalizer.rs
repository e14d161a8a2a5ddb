//! Taking finalizers off.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

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
pub enum Still<'a> {
    /// Nothing else matters.
    Whatever,
    /// The annotation of this name has this value.
    Annotated(&'a str, &'a str),
    /// It is of this `resourceVersion`.
    Version(u64),
}

impl Still<'_> {
    /// As an operation of a JSON patch (RFC 6902).
    fn test(self) -> Option<Value> {
        match self {
            Self::Whatever => None,
            Self::Annotated(name, value) => {
                let name = name.replace('~', "~0").replace('/', "~1");
                let path = format!("/metadata/annotations/{name}");
                Some(json!({"op": "test", "path": path, "value": value}))
            }
            Self::Version(version) => {
                let version = version.to_string();
                Some(json!({"op": "test", "path": "/metadata/resourceVersion", "value": version}))
            }
        }
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
        still: Still<'_>,
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
        let place = format!("/metadata/finalizers/{place}");
        let mut change = vec![
            json!({"op": "test", "path": "/metadata/uid", "value": uid}),
            json!({"op": "test", "path": place, "value": finalizer}),
        ];
        change.extend(still.test());
        change.push(json!({"op": "remove", "path": place}));
        let change = Value::from(change);
        let path = api.object_path(key)?;
        match self
            .send("patch", Method::PATCH, api, &path, patch::JSON, &change)
            .await
        {
            Ok(answer) => {
                let object = self.take_in(api, &answer)?;
                Ok(if object.is_finally_deleted() {
                    Finalized::Gone
                } else {
                    Finalized::Remains(object)
                })
            }
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

    fn gone(&self, key: &Key, uid: &str) -> Finalized {
        self.store.observe_gone(key, uid, self.by.as_ref());
        Finalized::Gone
    }
}

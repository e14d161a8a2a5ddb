//! Writes, and the reads that must be live. Each has a deadline, none is repeated, and each answer reaches the store.

mod connection_secret;

use std::sync::Arc;

use http::{Method, Request, header};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};

pub use self::connection_secret::{CONNECTION_SECRET_TYPE, ConnectionSecrets, PublishError, Published};
use crate::{
    api_error::ApiError,
    client::ApiClient,
    object::{ApiType, Key, Object},
    store::Store,
};

/// Objects of one page of a list.
const PAGE: u32 = 500;

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMeta,
    items: Vec<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
struct PageMeta {
    #[serde(rename = "continue")]
    continuation: Option<String>,
}

/// Content types of patches.
mod patch {
    pub(super) const JSON: &str = "application/json-patch+json";
    pub(super) const MERGE: &str = "application/merge-patch+json";
}

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

/// Writes objects under one field manager.
#[derive(Clone)]
pub struct Writer {
    client: ApiClient,
    store: Arc<Store>,
    manager: Arc<str>,
}

impl Writer {
    /// `manager`: the field manager that the API server notes down for each field.
    pub fn new(client: ApiClient, store: Arc<Store>, manager: &str) -> Self {
        Self {
            client,
            store,
            manager: manager.into(),
        }
    }

    /// The same under another field manager. For the layer of compositions; nothing else uses it yet.
    #[must_use]
    pub fn as_manager(&self, manager: &str) -> Self {
        Self {
            manager: manager.into(),
            ..self.clone()
        }
    }

    /// Makes an object. For the layer of compositions; nothing else uses it yet.
    pub async fn create(&self, object: &Object) -> Result<Arc<Object>, ApiError> {
        let path = object.api.collection_path(object.namespace());
        let answer = self
            .send(
                "create",
                Method::POST,
                &object.api,
                &path,
                "application/json",
                object,
            )
            .await?;
        self.take_in(&object.api, &answer)
    }

    /// Replaces metadata and spec, if the object still has this `resourceVersion` and uid: else [`ApiError::Conflict`].
    /// Status and managed fields stay as they are.
    pub async fn put(&self, object: &Object) -> Result<Arc<Object>, ApiError> {
        let path = object.api.object_path(&object.key())?;
        self.replace(object, &path, object.without_status()).await
    }

    /// Replaces the status, if the object still has this `resourceVersion` and uid: else [`ApiError::Conflict`].
    /// Everything else stays as it is.
    pub async fn put_status(&self, object: &Object) -> Result<Arc<Object>, ApiError> {
        let path = format!("{}/status", object.api.object_path(&object.key())?);
        self.replace(object, &path, object.clone()).await
    }

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
                let gone = object.is_deleting() && object.meta.finalizers.as_ref().is_none_or(Vec::is_empty);
                Ok(if gone {
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

    /// Deletes the object with this uid. Not to find it is success. For the layer of compositions; nothing else uses it yet.
    pub async fn delete(&self, api: &Arc<ApiType>, key: &Key, uid: &str) -> Result<(), ApiError> {
        let path = api.object_path(key)?;
        let options = json!({"preconditions": {"uid": uid}});
        match self
            .send("delete", Method::DELETE, api, &path, "application/json", &options)
            .await
        {
            Ok(_) | Err(ApiError::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Reads one object from the API server, past the store, and takes it in.
    pub async fn get_live(&self, api: &Arc<ApiType>, key: &Key) -> Result<Arc<Object>, ApiError> {
        let path = api.object_path(key)?;
        let answer = self
            .client
            .call_text("get", &api.plural, request(Method::GET, &path, None, Vec::new())?)
            .await?;
        let object = Arc::new(decode(api, &answer)?);
        self.store.observe_read(Arc::clone(&object));
        Ok(object)
    }

    /// Whether any object of a kind is as asked for, by the API server itself and past the store, in pages.
    pub async fn any_live(
        &self,
        api: &Arc<ApiType>,
        is_it: impl Fn(&Object) -> bool,
    ) -> Result<bool, ApiError> {
        let mut next = String::new();
        loop {
            let path = format!("{}?limit={PAGE}{next}", api.collection_path(None));
            let request = request(Method::GET, &path, None, Vec::new())?;
            let page: Page = self.client.call("list", &api.plural, request).await?;
            for item in &page.items {
                if is_it(&decode(api, item.get())?) {
                    return Ok(true);
                }
            }
            match page.metadata.continuation {
                Some(token) if !token.is_empty() => next = format!("&continue={token}"),
                _ => return Ok(false),
            }
        }
    }

    /// Whether the object with this uid is gone for good: known from its deletion, or by one direct read. Never by a cache miss. For the layer of
    /// compositions; nothing else uses it yet.
    pub async fn is_gone(&self, api: &Arc<ApiType>, key: &Key, uid: &str) -> Result<bool, ApiError> {
        if self.store.is_tombstoned(uid) {
            return Ok(true);
        }
        match self.get_live(api, key).await {
            Ok(object) if object.uid() == uid => Ok(false),
            Ok(_) | Err(ApiError::NotFound(_)) => {
                self.store.observe_gone(key, uid);
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    fn gone(&self, key: &Key, uid: &str) -> Finalized {
        self.store.observe_gone(key, uid);
        Finalized::Gone
    }

    async fn replace(&self, object: &Object, path: &str, body: Object) -> Result<Arc<Object>, ApiError> {
        if object.resource_version() == 0 || object.uid().is_empty() {
            return Err(ApiError::Invalid(
                "a replacement needs a resourceVersion and a uid".to_owned(),
            ));
        }
        let answer = self
            .send(
                "update",
                Method::PUT,
                &object.api,
                path,
                "application/json",
                &body,
            )
            .await;
        match answer {
            Ok(answer) => self.take_in(&object.api, &answer),
            Err(ApiError::NotFound(why)) => {
                let (key, uid) = (object.key(), object.uid());
                self.confirm_absence(&object.api, &key, uid, why.clone()).await?;
                Err(ApiError::NotFound(why))
            }
            Err(error) => Err(error),
        }
    }

    /// A write was answered "not found". So the API server also answers while the kind has no such subresource, for a moment after its
    /// definition changed: one read decides, as a uid that is once taken for gone stays so.
    async fn confirm_absence(
        &self,
        api: &Arc<ApiType>,
        key: &Key,
        uid: &str,
        why: String,
    ) -> Result<(), ApiError> {
        match self.get_live(api, key).await {
            Ok(object) if object.uid() == uid => {
                let why =
                    format!("{why}, but the object exists: perhaps its CRD lacks the subresource status");
                Err(ApiError::NotServed(why))
            }
            Ok(_) | Err(ApiError::NotFound(_)) => {
                self.store.observe_gone(key, uid);
                Ok(())
            }
            Err(error) => {
                tracing::debug!(object = %key, %error, "failed to confirm that an object is gone");
                Err(ApiError::NotServed(why))
            }
        }
    }

    fn take_in(&self, api: &Arc<ApiType>, answer: &str) -> Result<Arc<Object>, ApiError> {
        let object = Arc::new(decode(api, answer)?);
        self.store.observe_write(Arc::clone(&object));
        Ok(object)
    }

    async fn send(
        &self,
        verb: &'static str,
        method: Method,
        api: &ApiType,
        path: &str,
        content_type: &str,
        body: &impl Serialize,
    ) -> Result<String, ApiError> {
        let path = format!("{path}?fieldManager={}", self.manager);
        let body = serde_json::to_vec(body).map_err(|e| ApiError::Unusable(e.to_string()))?;
        self.client
            .call_text(
                verb,
                &api.plural,
                request(method, &path, Some(content_type), body)?,
            )
            .await
    }
}

fn request(
    method: Method,
    path: &str,
    content_type: Option<&str>,
    body: Vec<u8>,
) -> Result<Request<Vec<u8>>, ApiError> {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(content_type) = content_type {
        request = request.header(header::CONTENT_TYPE, content_type);
    }
    request.body(body).map_err(|e| ApiError::Unusable(e.to_string()))
}

fn decode(api: &Arc<ApiType>, answer: &str) -> Result<Object, ApiError> {
    Object::decode(api, answer).map_err(|e| ApiError::Unusable(e.to_string()))
}

#[cfg(test)]
mod tests;

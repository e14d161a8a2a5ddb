//! Writes, and the reads that must be live. Each has a deadline, none is repeated, and each answer reaches the store.

mod apply;
mod connection_secret;
mod current;
mod delete;
pub mod failpoint;
mod finalizer;
mod merge;
mod propagated_secret;
mod release;

use std::sync::Arc;

use http::{Method, Request, header};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use self::failpoint::{Failpoint, Side};

pub use self::{
    apply::{Apply, FieldManagers},
    connection_secret::{CONNECTION_SECRET_TYPE, ConnectionSecrets, PublishError, Published},
    delete::{Deleted, Deletion, Propagation},
    finalizer::Finalized,
    merge::Merge,
    propagated_secret::{PropagateError, PropagatedSecret},
    release::Release,
};
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
    pub(super) const APPLY: &str = "application/apply-patch+yaml";
    pub(super) const JSON: &str = "application/json-patch+json";
    pub(super) const MERGE: &str = "application/merge-patch+json";
}

/// Writes objects under one field manager.
#[derive(Clone)]
pub struct Writer {
    client: ApiClient,
    store: Arc<Store>,
    manager: Arc<str>,
    /// The object whose reconcile writes.
    by: Option<Key>,
}

impl Writer {
    /// `manager`: the field manager that the API server notes down for each field.
    pub fn new(client: ApiClient, store: Arc<Store>, manager: &str) -> Self {
        Self {
            client,
            store,
            manager: manager.into(),
            by: None,
        }
    }

    /// The same for one reconcile of this object. What it writes is no turn of that object, as its reconcile knows it, but of every other object
    /// that it concerns. Without it a write is everybody's news.
    #[must_use]
    pub fn for_reconcile(&self, of: &Key) -> Self {
        Self {
            by: Some(of.clone()),
            ..self.clone()
        }
    }

    /// The same under another field manager.
    #[must_use]
    pub fn as_manager(&self, manager: &str) -> Self {
        Self {
            manager: manager.into(),
            ..self.clone()
        }
    }

    /// Creates an object: [`ApiError::AlreadyExists`] if there is one of that name, which is not touched.
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

    /// Creates an object from a document: [`ApiError::AlreadyExists`] if there is one of that name, which is not touched.
    pub async fn create_document(
        &self,
        api: &Arc<ApiType>,
        namespace: Option<&str>,
        document: &Value,
    ) -> Result<Arc<Object>, ApiError> {
        let path = api.collection_path(namespace);
        let answer = self
            .send("create", Method::POST, api, &path, "application/json", document)
            .await?;
        self.take_in(api, &answer)
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

    /// Reads one object from the API server, past the store, and takes it in.
    pub async fn get_live(&self, api: &Arc<ApiType>, key: &Key) -> Result<Arc<Object>, ApiError> {
        self.read(api, key).await.map(|(object, _)| object)
    }

    /// Reads a document of the API server that is no object. `resource`: its name in metrics.
    pub async fn get_document(&self, resource: &str, path: &str) -> Result<Value, ApiError> {
        let request = request(Method::GET, path, None, Vec::new())?;
        self.client.call("get", resource, request).await
    }

    /// With the text that it was read from.
    async fn read(&self, api: &Arc<ApiType>, key: &Key) -> Result<(Arc<Object>, String), ApiError> {
        let path = api.object_path(key)?;
        let answer = self
            .client
            .call_text("get", &api.plural, request(Method::GET, &path, None, Vec::new())?)
            .await?;
        let object = Arc::new(decode(api, &answer)?);
        self.store.observe_read(Arc::clone(&object));
        Ok((object, answer))
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

    /// All objects of a kind, in one namespace or everywhere, by the API server itself and past the store, in pages.
    pub async fn list_live(
        &self,
        api: &Arc<ApiType>,
        namespace: Option<&str>,
    ) -> Result<Vec<Arc<Object>>, ApiError> {
        let mut objects = Vec::new();
        let mut next = String::new();
        loop {
            let path = format!("{}?limit={PAGE}{next}", api.collection_path(namespace));
            let request = request(Method::GET, &path, None, Vec::new())?;
            let page: Page = self.client.call("list", &api.plural, request).await?;
            for item in &page.items {
                objects.push(Arc::new(decode(api, item.get())?));
            }
            match page.metadata.continuation {
                Some(token) if !token.is_empty() => next = format!("&continue={token}"),
                _ => return Ok(objects),
            }
        }
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
                self.store.observe_gone(key, uid, self.by.as_ref());
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
        self.store.observe_write(Arc::clone(&object), self.by.as_ref());
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
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}fieldManager={}", self.manager);
        let body = serde_json::to_vec(body).map_err(|e| ApiError::Unusable(e.to_string()))?;
        let failpoint = Failpoint::of(verb, &api.plural, &path, &body);
        failpoint.reach(Side::Before).await;
        let answer = self
            .client
            .call_text(
                verb,
                &api.plural,
                request(method, &path, Some(content_type), body)?,
            )
            .await;
        failpoint.reach(Side::After).await;
        answer
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

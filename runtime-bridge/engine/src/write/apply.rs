//! Server-side apply, over exactly the object that it was decided on.

use std::sync::Arc;

use bridge_core::managed_fields;
use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Writer, decode, patch};
use crate::{
    api_error::ApiError,
    object::{ApiType, Key, Object},
};

/// What one field manager wants of an object that exists.
#[derive(Debug, Clone, Copy)]
pub struct Apply<'a> {
    /// Its type.
    pub api: &'a Arc<ApiType>,
    /// Its name.
    pub key: &'a Key,
    /// Its uid: an apply creates nothing, and leaves another object of that name alone.
    pub uid: &'a str,
    /// The `resourceVersion` that it was decided on. `None`: whatever changed meanwhile.
    pub version: Option<u64>,
    /// All fields that the manager wants. What it alone owned, and what is not among them any more, is removed. What identifies the object is
    /// filled in.
    pub fields: &'a Value,
    /// Takes over what other managers own.
    pub force: bool,
}

impl Apply<'_> {
    fn body(&self) -> Result<Value, ApiError> {
        let mut body = self.fields.clone();
        let metadata = body.as_object_mut().map(|body| {
            body.entry("metadata")
                .or_insert_with(|| Value::Object(Map::new()))
        });
        let Some(Value::Object(metadata)) = metadata else {
            return Err(ApiError::Invalid("what is applied is no object".to_owned()));
        };
        let version = self.version.map(|version| version.to_string());
        for (field, value) in [
            ("name", Some(self.key.name())),
            ("namespace", self.key.namespace()),
            ("uid", Some(self.uid)),
            ("resourceVersion", version.as_deref()),
        ] {
            match value {
                Some(value) => drop(metadata.insert(field.to_owned(), value.into())),
                None => drop(metadata.remove(field)),
            }
        }
        body["apiVersion"] = self.api.api_version().into();
        body["kind"] = self.api.kind.kind().into();
        Ok(body)
    }
}

/// Who owns which fields of an object of one version.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FieldManagers(Vec<Value>);

impl FieldManagers {
    /// Entries of `metadata.managedFields`.
    pub fn entries(&self) -> &[Value] {
        &self.0
    }
}

#[derive(Deserialize)]
struct Managed {
    metadata: ManagedMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManagedMetadata {
    #[serde(default)]
    managed_fields: Vec<Value>,
}

impl Writer {
    /// Brings fields of an object to what the writer's manager wants.
    ///
    /// # Errors
    /// [`ApiError::Conflict`] if there is no object with this uid, or it is of another version: read, and decide again.
    /// [`ApiError::FieldConflict`] if another manager owns one of the fields, without `force`.
    pub async fn apply(&self, apply: Apply<'_>) -> Result<Arc<Object>, ApiError> {
        if apply.uid.is_empty() {
            return Err(ApiError::Invalid("an apply needs a uid".to_owned()));
        }
        let path = format!("{}?force={}", apply.api.object_path(apply.key)?, apply.force);
        let answer = self
            .send(
                "apply",
                Method::PATCH,
                apply.api,
                &path,
                patch::APPLY,
                &apply.body()?,
            )
            .await;
        match answer {
            Ok(answer) => {
                // Whatever changed meanwhile is in the answer too, and news also for who wrote it.
                let by = self.by.as_ref().filter(|_| apply.version.is_some());
                let object = Arc::new(decode(apply.api, &answer)?);
                self.store.observe_write(Arc::clone(&object), by);
                Ok(object)
            }
            // So the API server answers if another object has the name; if none has, it is a conflict.
            Err(ApiError::Invalid(why)) if why.contains("metadata.uid: Invalid value") => {
                Err(ApiError::Conflict(why))
            }
            Err(error) => Err(error),
        }
    }

    /// Reads one object from the API server, past the store, with who owns its fields: no other read parses that, and the store does not keep it.
    ///
    /// # Errors
    /// [`ApiError::Unusable`] also if the managed fields are nested too deeply to be parsed.
    pub async fn get_live_with_managers(
        &self,
        api: &Arc<ApiType>,
        key: &Key,
    ) -> Result<(Arc<Object>, FieldManagers), ApiError> {
        let (object, answer) = self.read(api, key).await?;
        let managed: Managed = serde_json::from_str(&answer)
            .map_err(|e| ApiError::Unusable(format!("cannot read managedFields: {e}")))?;
        Ok((object, FieldManagers(managed.metadata.managed_fields)))
    }

    /// Gives the writer's manager, as fields that it applies, what the managers in `from` own by create, update, or an apply of `kubectl` before it
    /// was the API server's: only then do its applies remove what it wants no more. `None`: they own nothing so, and nothing is written.
    ///
    /// # Errors
    /// [`ApiError::Conflict`] if the object is of another version than the one that was read.
    pub async fn convert(
        &self,
        object: &Object,
        managers: &FieldManagers,
        from: &[&str],
    ) -> Result<Option<Arc<Object>>, ApiError> {
        let Some(entries) = managed_fields::converted(&managers.0, from, &self.manager) else {
            return Ok(None);
        };
        let version = object.resource_version().to_string();
        // A version that is written is compared; one that is tested would be refused without saying why.
        let change = json!([
            {"op": "replace", "path": "/metadata/managedFields", "value": entries},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        ]);
        let path = object.api.object_path(&object.key())?;
        let answer = self
            .send("patch", Method::PATCH, &object.api, &path, patch::JSON, &change)
            .await?;
        self.take_in(&object.api, &answer).map(Some)
    }
}

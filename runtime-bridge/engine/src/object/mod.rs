//! Kubernetes objects as the bridge keeps them: typed metadata without managed fields, the rest as raw JSON.

mod api_type;
mod key;
mod metadata;
mod parts;
mod texts;
mod unreadable;

use std::{
    fmt,
    sync::{Arc, OnceLock, Weak},
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use parking_lot::Mutex;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Value, value::RawValue};

pub(crate) use self::unreadable::{Unreadable, unreadable};
pub use self::{
    api_type::{ApiType, BadName},
    key::Key,
    metadata::Metadata,
    texts::Texts,
};
use self::{parts::Parts, unreadable::has_reserved_key};

/// An object of a watched kind. Compact: managed fields are left out (the API server keeps them when they are not sent).
///
/// Objects that were read are shared as `Arc<Object>`; to write one, clone it, change the clone and hand it to the writer.
#[derive(Clone)]
pub struct Object {
    /// Its type, shared by all objects of a kind.
    pub api: Arc<ApiType>,
    /// Shared by all copies: whatever is known of the object is kept by it.
    key: Key,
    /// `metadata`, without `managedFields`.
    pub meta: Metadata,
    spec: Option<Arc<RawValue>>,
    /// Shared by all copies with this `spec`.
    of_spec: Arc<OfSpec>,
    status: Option<Arc<RawValue>>,
    /// Every other top-level field, so that a write of the whole object loses none.
    rest: Vec<(String, Arc<RawValue>)>,
}

/// What was made of a `spec`.
#[derive(Default)]
struct OfSpec {
    /// As it was parsed last, for as long as somebody holds that.
    parsed: Mutex<Weak<Value>>,
    digest: OnceLock<Box<str>>,
}

/// Why a text is not an object.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Not JSON, or `metadata` is not what Kubernetes sends.
    #[error("cannot read the object: {0}")]
    Json(#[from] serde_json::Error),
    /// Name, uid or a numeric resourceVersion is missing.
    #[error("the object has no {0}")]
    Missing(&'static str),
}

impl Object {
    /// A new one, to be created.
    pub fn new(api: Arc<ApiType>, meta: Metadata) -> Self {
        Self {
            key: key_of(&api, &meta),
            api,
            meta,
            spec: None,
            of_spec: Arc::default(),
            status: None,
            rest: Vec::new(),
        }
    }

    /// From the API server's JSON.
    pub fn decode(api: &Arc<ApiType>, json: &str) -> Result<Self, DecodeError> {
        let parts: Parts = serde_json::from_str(json)?;
        let meta = parts.metadata.ok_or(DecodeError::Missing("metadata"))?;
        if meta.name.as_deref().is_none_or(str::is_empty) {
            return Err(DecodeError::Missing("metadata.name"));
        }
        if meta.uid.is_none() {
            return Err(DecodeError::Missing("metadata.uid"));
        }
        if parse_version(meta.resource_version.as_deref()).is_none() {
            return Err(DecodeError::Missing("numeric metadata.resourceVersion"));
        }
        Ok(Self {
            api: Arc::clone(api),
            key: key_of(api, &meta),
            meta,
            spec: parts.spec,
            of_spec: Arc::default(),
            status: parts.status,
            rest: parts.rest,
        })
    }

    /// Its key.
    pub fn key(&self) -> Key {
        self.key.clone()
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        self.meta.name.as_deref().unwrap_or_default()
    }

    /// `metadata.namespace`.
    pub fn namespace(&self) -> Option<&str> {
        self.meta.namespace.as_deref()
    }

    /// `metadata.uid`; empty before it is created.
    pub fn uid(&self) -> &str {
        self.meta.uid.as_deref().unwrap_or_default()
    }

    /// `metadata.resourceVersion` as a number; 0 before it is created.
    pub fn resource_version(&self) -> u64 {
        parse_version(self.meta.resource_version.as_deref()).unwrap_or_default()
    }

    /// `metadata.generation`; 0 if there is none.
    pub fn generation(&self) -> i64 {
        self.meta.generation.unwrap_or_default()
    }

    /// It has a `deletionTimestamp`.
    pub fn is_deleting(&self) -> bool {
        self.meta.deletion_timestamp.is_some()
    }

    /// Value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.meta.annotations.as_ref()?.get(key)
    }

    /// Value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.meta.labels.as_ref()?.get(key)
    }

    /// Whether it carries this finalizer.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.meta.finalizers.iter().flatten().any(|f| f == finalizer)
    }

    /// Its owner references.
    pub fn owners(&self) -> &[OwnerReference] {
        self.meta.owner_references.as_deref().unwrap_or_default()
    }

    /// The reference with which a dependant names this object as its controller.
    pub fn controller_reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: self.api.api_version(),
            block_owner_deletion: Some(true),
            controller: Some(true),
            kind: self.api.kind.kind().to_owned(),
            name: self.name().to_owned(),
            uid: self.uid().to_owned(),
        }
    }

    /// `spec` as JSON text.
    pub fn spec(&self) -> Option<&RawValue> {
        self.spec.as_deref()
    }

    /// `status` as JSON text.
    pub fn status(&self) -> Option<&RawValue> {
        self.status.as_deref()
    }

    /// `spec`, parsed; `Null` if absent. While one who asked holds it, all others get the same.
    pub fn spec_value(&self) -> Arc<Value> {
        let mut parsed = self.of_spec.parsed.lock();
        if let Some(spec) = parsed.upgrade() {
            return spec;
        }
        let spec = Arc::new(parse(self.spec.as_deref()));
        *parsed = Arc::downgrade(&spec);
        spec
    }

    /// A digest of `spec`, which `make` makes for who asks first; it is kept as long as this version.
    pub(crate) fn spec_digest(&self, make: impl FnOnce() -> String) -> &str {
        self.of_spec.digest.get_or_init(|| make().into())
    }

    /// Whether `spec` can be read: else what it says is not known.
    pub fn has_readable_spec(&self) -> bool {
        // That it is parsed is known for as long as somebody holds it.
        self.spec
            .as_deref()
            .is_none_or(|spec| !self.spec_value().is_null() && !has_reserved_key(spec))
    }

    /// Likewise of `status`.
    pub fn has_readable_status(&self) -> bool {
        self.status
            .as_deref()
            .is_none_or(|status| unreadable(status).is_none())
    }

    /// Whether all of it can be read: else [`Object::to_value`] is not what is stored, and what the object says is not known. The API server stores what
    /// cannot be read, where a schema preserves unknown fields.
    pub fn is_readable(&self) -> bool {
        self.unreadable().is_none()
    }

    /// Why it is not [readable](Object::is_readable); `None`: it is.
    pub(crate) fn unreadable(&self) -> Option<Unreadable> {
        let rest = self.rest.iter().map(|(_, value)| value);
        let mut parts = self.spec.iter().chain(&self.status).chain(rest);
        parts.find_map(|part| unreadable(part))
    }

    /// The whole object, as it is written; of one that is not [readable](Object::is_readable) something else.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// `status`, parsed; `Null` if absent.
    pub fn status_value(&self) -> Value {
        parse(self.status.as_deref())
    }

    /// Replaces `spec`; `Null` removes it.
    pub fn set_spec(&mut self, spec: &Value) {
        self.spec = raw(spec);
        self.of_spec = Arc::default();
    }

    /// Replaces `status`; `Null` removes it.
    pub fn set_status(&mut self, status: &Value) {
        self.status = raw(status);
    }

    /// Without its status, for writes that leave it alone.
    #[must_use]
    pub fn without_status(&self) -> Self {
        Self {
            status: None,
            ..self.clone()
        }
    }

    /// Its metadata alone, which can be read of every object.
    #[must_use]
    pub fn only_metadata(&self) -> Self {
        Self::new(Arc::clone(&self.api), self.meta.clone())
    }

    /// What tells one version of a Secret from another, who owns and who selects it, and whether it is being deleted. Nobody asks for more, annotations may
    /// repeat its data, and a cluster may have very many.
    #[must_use]
    pub fn identity(&self) -> Self {
        let meta = &self.meta;
        let meta = Metadata {
            name: meta.name.clone(),
            namespace: meta.namespace.clone(),
            uid: meta.uid.clone(),
            resource_version: meta.resource_version.clone(),
            deletion_timestamp: meta.deletion_timestamp.clone(),
            finalizers: meta.finalizers.clone(),
            owner_references: meta.owner_references.clone(),
            labels: meta.labels.clone(),
            ..Metadata::default()
        };
        Self::new(Arc::clone(&self.api), meta)
    }

    /// Being deleted, and held by nothing: neither by finalizers, nor by the grace of a Pod, nor by what is in a Namespace.
    pub(crate) fn is_finally_deleted(&self) -> bool {
        let is_namespace = self.api.kind.group().is_empty() && self.api.kind.kind() == "Namespace";
        self.is_deleting()
            && self.meta.finalizers.as_ref().is_none_or(Vec::is_empty)
            && self.meta.deletion_grace_period_seconds.unwrap_or_default() == 0
            && !is_namespace
    }

    /// Whether everything is the same but `status`, `resourceVersion` and managed fields.
    pub fn same_but_status(&self, other: &Self) -> bool {
        let bare = |meta: &Metadata| Metadata {
            resource_version: None,
            ..meta.clone()
        };
        bare(&self.meta) == bare(&other.meta)
            && self.spec.as_deref().map(RawValue::get) == other.spec.as_deref().map(RawValue::get)
            && self.rest.len() == other.rest.len()
            && self
                .rest
                .iter()
                .zip(&other.rest)
                .all(|((name, value), (others, other))| name == others && value.get() == other.get())
    }
}

impl fmt::Debug for Object {
    /// Key and version only: a spec may hold what does not belong in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} uid {} version {}",
            self.key(),
            self.uid(),
            self.resource_version()
        )
    }
}

impl Serialize for Object {
    /// The whole object, as it is written.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("apiVersion", &self.api.api_version())?;
        map.serialize_entry("kind", self.api.kind.kind())?;
        map.serialize_entry("metadata", &self.meta)?;
        for (name, value) in &self.rest {
            map.serialize_entry(name, value.as_ref())?;
        }
        if let Some(spec) = &self.spec {
            map.serialize_entry("spec", spec.as_ref())?;
        }
        if let Some(status) = &self.status {
            map.serialize_entry("status", status.as_ref())?;
        }
        map.end()
    }
}

fn key_of(api: &ApiType, meta: &Metadata) -> Key {
    let name = meta.name.as_deref().unwrap_or_default();
    Key::new(api.kind.clone(), meta.namespace.as_deref(), name)
}

/// A resourceVersion as a number, by which the API server orders all writes to one store.
pub(crate) fn parse_version(version: Option<&str>) -> Option<u64> {
    version?.parse().ok()
}

fn parse(raw: Option<&RawValue>) -> Value {
    // A RawValue is JSON that was parsed once already: what is refused now is unreadable.
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or(Value::Null)
}

fn raw(value: &Value) -> Option<Arc<RawValue>> {
    if value.is_null() {
        return None;
    }
    RawValue::from_string(value.to_string()).ok().map(Arc::from)
}

#[cfg(test)]
mod tests;

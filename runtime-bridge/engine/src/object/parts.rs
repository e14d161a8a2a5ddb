use std::{fmt, sync::Arc};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::metadata::Metadata;

/// The top-level fields of an object. Not derived, as `flatten` would parse what is to stay raw.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) metadata: Option<Metadata>,
    pub(super) spec: Option<Arc<RawValue>>,
    pub(super) status: Option<Arc<RawValue>>,
    pub(super) rest: Vec<(String, Arc<RawValue>)>,
}

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PartsVisitor)
    }
}

struct PartsVisitor;

impl<'de> Visitor<'de> for PartsVisitor {
    type Value = Parts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parts, A::Error> {
        let mut parts = Parts::default();
        while let Some(field) = map.next_key::<String>()? {
            match field.as_str() {
                "apiVersion" | "kind" => drop(map.next_value::<String>()?),
                "metadata" => {
                    let meta: Metadata = map.next_value()?;
                    if parts.metadata.replace(meta.shrunk()).is_some() {
                        return Err(A::Error::duplicate_field("metadata"));
                    }
                }
                "spec" => parts.spec = map.next_value::<Option<Box<RawValue>>>()?.map(Arc::from),
                "status" => parts.status = map.next_value::<Option<Box<RawValue>>>()?.map(Arc::from),
                _ => parts
                    .rest
                    .push((field, Arc::from(map.next_value::<Box<RawValue>>()?))),
            }
        }
        parts.rest.shrink_to_fit();
        Ok(parts)
    }
}

//! Which object a text is about, without reading all of it.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};

use crate::object::{ApiType, Key, parse_version};

/// Identity of an object, which must be readable even if nothing else is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) key: Key,
    pub(crate) uid: String,
    pub(crate) version: u64,
}

impl Head {
    /// From JSON, of which nothing is read that stands behind its metadata. `None`: a part of it is missing.
    pub(crate) fn read(api: &ApiType, json: &str) -> Option<Self> {
        let mut found = None;
        // An error is how a visitor ends early; whether anything was found tells the two apart.
        let _ = serde_json::Deserializer::from_str(json).deserialize_map(Metadata(&mut found));
        let meta = found?;
        let key = Key::new(api.kind.clone(), meta.namespace.as_deref(), &meta.name?);
        let version = parse_version(meta.resource_version.as_deref())?;
        Some(Self {
            key,
            uid: meta.uid?,
            version,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeadMeta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Field {
    Metadata,
    #[serde(other)]
    Other,
}

/// Where to put what it finds.
struct Metadata<'a>(&'a mut Option<HeadMeta>);

impl<'de> Visitor<'de> for Metadata<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(field) = map.next_key()? {
            match field {
                Field::Metadata => {
                    *self.0 = Some(map.next_value()?);
                    return Err(A::Error::custom("nothing more is needed"));
                }
                Field::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_wherever_the_metadata_stands() {
        let api = ApiType::secrets();
        let metadata = r#""metadata": {"name": "a", "namespace": "ns", "labels": 7, "uid": "u", "resourceVersion": "12"}"#;
        for json in [
            format!(r#"{{"kind": "Secret", {metadata}, "data": {{"x": [1]}}}}"#),
            format!(r#"{{"data": {{"x": [1], "metadata": 1}}, {metadata}}}"#),
            // Whoever decodes it finds what is wrong with it.
            format!(r#"{{{metadata}, "spec": "#),
        ] {
            let head = Head::read(&api, &json).unwrap();
            let expected = (Key::secret("ns", "a"), "u".to_owned(), 12);
            assert_eq!((head.key, head.uid, head.version), expected, "{json}");
        }
        let without = [
            "[]",
            "{}",
            r#"{"metadata": {"name": "a", "uid": "u", "resourceVersion": "x"}}"#,
            r#"{"metadata": {"name": "a", "resourceVersion": "1"}}"#,
            r#"{"metadata": {"uid": "u", "resourceVersion": "1"}}"#,
        ];
        for json in without {
            assert_eq!(Head::read(&api, json), None, "{json}");
        }
    }
}

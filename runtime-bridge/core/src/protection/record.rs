//! The objects that a usage is about, as they were found first: successors of their names are others.

use std::fmt;

use serde_json::{Value, json};

use crate::composite::ResourceRef;

/// What a usage keeps of its resources, in annotation [`RECORD`](super::names::RECORD).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Uid of the usage itself: one that was restored from a backup bears the record of its former self. Empty: of an older bridge.
    pub usage: String,
    /// The used one.
    pub of: Identity,
    /// The using one; `None`: the usage has a reason alone.
    pub by: Option<Identity>,
}

/// One object, and no other of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Its namespace is that in which it is; `None`: its kind is cluster-scoped.
    pub reference: ResourceRef,
    /// Uid.
    pub uid: String,
}

impl Record {
    /// Reads the annotation; `None`: it is none of ours.
    pub fn parse(text: &str) -> Option<Self> {
        let record: Value = serde_json::from_str(text).ok()?;
        let by = match &record["by"] {
            Value::Null => None,
            by => Some(Identity::parse(by)?),
        };
        Some(Self {
            usage: record["usage"].as_str().unwrap_or_default().to_owned(),
            of: Identity::parse(&record["of"])?,
            by,
        })
    }
}

impl fmt::Display for Record {
    /// As it is stored.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut record = json!({"usage": self.usage, "of": self.of.to_value()});
        if let Some(by) = &self.by {
            record["by"] = by.to_value();
        }
        write!(f, "{record}")
    }
}

impl Identity {
    fn parse(value: &Value) -> Option<Self> {
        Some(Self {
            reference: ResourceRef::parse(value)?,
            uid: value["uid"].as_str().filter(|uid| !uid.is_empty())?.to_owned(),
        })
    }

    fn to_value(&self) -> Value {
        let mut value = self.reference.to_value();
        value["uid"] = self.uid.as_str().into();
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let identity = |name: &str| Identity {
            reference: ResourceRef {
                api_version: "v1".to_owned(),
                kind: "ConfigMap".to_owned(),
                namespace: Some("team".to_owned()),
                name: name.to_owned(),
            },
            uid: format!("uid-{name}"),
        };
        for by in [None, Some(identity("app"))] {
            let record = Record {
                usage: "uid".to_owned(),
                of: identity("db"),
                by,
            };
            assert_eq!(Record::parse(&record.to_string()), Some(record));
        }
        for text in ["", "{}", r#"{"of":{"kind":"A"}}"#] {
            assert_eq!(Record::parse(text), None, "{text}");
        }
    }
}

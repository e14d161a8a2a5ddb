//! What a usage protects, and how it is named in a refusal.

use serde_json::Value;

use super::super::names::RECORD;

/// The object that a usage protects, by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UsedName {
    /// API group; empty for the core group. Usages of any version of a kind protect its objects.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Namespace; empty where the usage is of cluster-scoped objects.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl UsedName {
    /// Without its namespace: a usage of a namespace may name a cluster-scoped object, of which it cannot be told apart by its text.
    #[must_use]
    pub fn anywhere(&self) -> Self {
        Self {
            namespace: String::new(),
            ..self.clone()
        }
    }

    /// What a usage of any of the three kinds protects; `None`: its selector is not resolved yet.
    pub fn of(usage: &Value) -> Option<Self> {
        let of = &usage["spec"]["of"];
        let text = |value: &Value| value.as_str().map(str::to_owned).filter(|text| !text.is_empty());
        let own_namespace = text(&usage["metadata"]["namespace"]);
        Some(Self {
            group: group(of["apiVersion"].as_str()?).to_owned(),
            kind: text(&of["kind"])?,
            // Only one that has a namespace may name another.
            namespace: own_namespace
                .map(|own| text(&of["resourceRef"]["namespace"]).unwrap_or(own))
                .unwrap_or_default(),
            name: text(&of["resourceRef"]["name"])?,
        })
    }
}

/// A usage, as a refusal speaks of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsageNote {
    /// Namespace; empty: none.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Version and kind.
    pub kind: String,
    /// Kind and name of what uses.
    pub by: Option<String>,
    /// Why it is protected.
    pub reason: Option<String>,
    /// Uid of the object that it protects; `None`: whatever has the name.
    pub used_uid: Option<String>,
}

impl UsageNote {
    /// Of a usage of any of the three kinds.
    pub fn of(usage: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (spec, metadata) = (&usage["spec"], &usage["metadata"]);
        let api_version = text(&usage["apiVersion"]);
        let version = api_version.rsplit('/').next().unwrap_or_default();
        let by = &spec["by"];
        Self {
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            kind: format!("{version}.{}", text(&usage["kind"])),
            by: by
                .is_object()
                .then(|| format!("{}/{}", text(&by["kind"]), text(&by["resourceRef"]["name"]))),
            reason: spec["reason"].as_str().map(str::to_owned),
            used_uid: metadata["annotations"][RECORD]
                .as_str()
                .and_then(|record| used_uid(record, metadata["uid"].as_str()?)),
        }
    }

    /// Whether it protects the object of this uid that has the name.
    pub fn protects(&self, uid: &str) -> bool {
        self.used_uid.as_deref().is_none_or(|used| used == uid)
    }
}

/// As recorded by the usage of this uid, or by an older bridge, and not by its former self.
fn used_uid(record: &str, usage: &str) -> Option<String> {
    let record: Value = serde_json::from_str(record).ok()?;
    let is_its_own = record["usage"].is_null() || record["usage"] == usage;
    is_its_own.then(|| record["of"]["uid"].as_str().map(str::to_owned))?
}

fn group(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn used(usage: &Value) -> Option<String> {
        let used = UsedName::of(usage)?;
        Some(format!(
            "{}/{}/{}/{}",
            used.group, used.kind, used.namespace, used.name
        ))
    }

    #[test]
    fn a_usage_protects_by_group_kind_namespace_and_name() {
        let mut usage = json!({
            "metadata": {"name": "u", "namespace": "shop"},
            "spec": {"of": {"apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": "db"}}},
        });
        assert_eq!(used(&usage).as_deref(), Some("/ConfigMap/shop/db"));
        usage["spec"]["of"]["resourceRef"]["namespace"] = "other".into();
        assert_eq!(used(&usage).as_deref(), Some("/ConfigMap/other/db"));
        usage["metadata"]["namespace"] = Value::Null;
        usage["spec"]["of"]["apiVersion"] = "apps/v1".into();
        assert_eq!(used(&usage).as_deref(), Some("apps/ConfigMap//db"));
        usage["spec"]["of"]["resourceRef"] = Value::Null;
        assert_eq!(used(&usage), None);
    }

    #[test]
    fn a_successor_of_the_name_is_not_protected() {
        let mut usage = json!({"metadata": {"name": "u"}});
        assert!(UsageNote::of(&usage).protects("any"));
        usage["metadata"]["uid"] = "u".into();
        usage["metadata"]["annotations"][RECORD] = r#"{"usage": "u", "of": {"uid": "first"}}"#.into();
        assert!(UsageNote::of(&usage).protects("first"));
        assert!(!UsageNote::of(&usage).protects("second"));
        // The record is that of its former self, which a backup holds.
        usage["metadata"]["uid"] = "another".into();
        assert!(UsageNote::of(&usage).protects("second"));
    }
}

//! Who owns which fields of an object, as the API server notes it down in `metadata.managedFields`.
//!
//! What a manager has written by create or update is never removed by its applies: the API server knows the two as different owners. Before the
//! first apply its entries are therefore converted, once.

use serde_json::{Map, Value};

use crate::{composite::names, protection::names::DETAILS};

/// Below `spec`, or `spec.crossplane`, what the machines of composite resources and claims write.
const MACHINERY: [&str; 4] = [
    "compositionRef",
    "compositionRevisionRef",
    "resourceRef",
    "resourceRefs",
];

/// The entries after `to` owns by apply what the managers in `from` own by create or update; `None`: they own nothing so.
///
/// Entries of subresources stay as they are, and so does the ownership of what a machine of the bridge has written into the object. Where entries are of
/// several versions of the kind, those of one version are united, and the others dropped, as their fields cannot be compared: those fields stay on the
/// object without an owner.
pub fn converted(entries: &[Value], from: &[&str], to: &str) -> Option<Vec<Value>> {
    let is_update = |entry: &Value| {
        let manager = entry["manager"].as_str().unwrap_or_default();
        entry["operation"] == "Update" && is_of_object(entry) && from.contains(&manager)
    };
    let is_target =
        |entry: &Value| entry["operation"] == "Apply" && is_of_object(entry) && entry["manager"] == to;
    let (mut former, mut kept) = (Vec::new(), Vec::new());
    for entry in entries.iter().filter(|entry| !is_target(entry)).cloned() {
        if is_update(&entry) {
            let (own, of_machine) = split(entry);
            former.extend(own);
            kept.extend(of_machine);
        } else {
            kept.push(entry);
        }
    }
    let first = former.first()?;
    let mut target = entries
        .iter()
        .find(|entry| is_target(entry))
        .unwrap_or(first)
        .clone();
    target["manager"] = to.into();
    target["operation"] = "Apply".into();
    for entry in &former {
        if entry["apiVersion"] == target["apiVersion"] {
            unite(&mut target["fieldsV1"], &entry["fieldsV1"]);
        }
    }
    Some(std::iter::once(target).chain(kept).collect())
}

fn is_of_object(entry: &Value) -> bool {
    entry["subresource"].as_str().unwrap_or_default().is_empty()
}

/// The entry without what a machine has written, and that alone. By the manager of old client-side applies machines write, too: finalizer, references and
/// revision of a composite resource that another one composes, what a usage is about, and the mark of what is in use. Whoever composes the object desires
/// none of it, and its apply would take it away.
fn split(mut entry: Value) -> (Option<Value>, Option<Value>) {
    if entry["manager"] != names::CROSSPLANE_MANAGER {
        return (Some(entry), None);
    }
    let taken = take_machinery(&mut entry["fieldsV1"], &mut Vec::new());
    let Some(taken) = taken else {
        return (Some(entry), None);
    };
    let mut of_machine = entry.clone();
    of_machine["fieldsV1"] = taken;
    let is_left = entry["fieldsV1"]
        .as_object()
        .is_some_and(|fields| !fields.is_empty());
    (is_left.then_some(entry), Some(of_machine))
}

/// Takes out the fields that a machine writes. The map that holds one, which is `.`, goes along.
fn take_machinery(fields: &mut Value, path: &mut Vec<String>) -> Option<Value> {
    let fields = fields.as_object_mut()?;
    let mut taken = Map::new();
    fields.retain(|name, below| {
        path.push(name.strip_prefix("f:").unwrap_or(name).to_owned());
        let is_whole = is_machinery(path);
        let part = if is_whole {
            Some(std::mem::take(below))
        } else {
            take_machinery(below, path)
        };
        path.pop();
        let stays = part.is_none() || (!is_whole && below.as_object().is_some_and(|left| !left.is_empty()));
        taken.extend(part.map(|part| (name.clone(), part)));
        stays
    });
    if taken.is_empty() {
        return None;
    }
    taken.extend(fields.remove_entry("."));
    Some(Value::Object(taken))
}

/// Whether only a machine writes what is at this path, or below it.
fn is_machinery(path: &[String]) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path[..] {
        ["metadata", "finalizers"] => true,
        ["metadata", "labels", label] => label == names::IN_USE,
        ["metadata", "annotations", annotation] => {
            annotation.starts_with(names::OUR_PREFIX) || annotation == DETAILS
        }
        ["spec", field] | ["spec", "crossplane", field] => MACHINERY.contains(&field),
        _ => false,
    }
}

/// A set of fields is a tree whose nodes are all that counts.
fn unite(fields: &mut Value, more: &Value) {
    let Value::Object(more) = more else { return };
    if !fields.is_object() {
        *fields = Value::Object(Map::new());
    }
    if let Value::Object(fields) = fields {
        for (name, below) in more {
            unite(fields.entry(name.clone()).or_insert(Value::Null), below);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, version: &str, fields: &Value) -> Value {
        json!({
            "manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1",
            "fieldsV1": fields, "time": "2026-01-01T00:00:00Z",
        })
    }

    fn status(manager: &str) -> Value {
        let mut entry = entry(manager, "Update", "v1", &json!({"f:status": {}}));
        entry["subresource"] = "status".into();
        entry
    }

    #[test]
    fn the_first_conversion_renames_what_was_created() {
        let created = entry(
            "created",
            "Update",
            "v1",
            &json!({"f:spec": {".": {}, "f:size": {}}}),
        );
        let person = entry("kubectl", "Update", "v1", &json!({"f:spec": {"f:colour": {}}}));
        let entries = [person.clone(), created, status("created")];
        let applied = entry("ours", "Apply", "v1", &json!({"f:spec": {".": {}, "f:size": {}}}));
        assert_eq!(
            converted(&entries, &["created"], "ours"),
            Some(vec![applied, person, status("created")])
        );
    }

    #[test]
    fn all_former_managers_are_united_with_what_is_applied() {
        let entries = [
            entry("ours", "Apply", "v1", &json!({"f:spec": {"f:a": {}}})),
            entry(
                "created",
                "Update",
                "v1",
                &json!({"f:spec": {"f:a": {}, "f:b": {"f:c": {}}}}),
            ),
            entry("old", "Update", "v1", &json!({"f:data": {"f:x": {}}})),
            entry("old", "Update", "v1beta1", &json!({"f:data": {"f:gone": {}}})),
        ];
        let united = json!({"f:spec": {"f:a": {}, "f:b": {"f:c": {}}}, "f:data": {"f:x": {}}});
        assert_eq!(
            converted(&entries, &["created", "old"], "ours"),
            Some(vec![entry("ours", "Apply", "v1", &united)])
        );
    }

    #[test]
    fn what_a_machine_wrote_stays_its_own() {
        let created = entry("created", "Update", "v1", &json!({"f:spec": {"f:size": {}}}));
        let applied = entry("ours", "Apply", "v1", &json!({"f:spec": {"f:size": {}}}));
        for (version, fields) in [
            (
                "v1",
                json!({
                    "f:metadata": {"f:finalizers": {".": {}, "v:\"a\"": {}}},
                    "f:spec": {"f:crossplane": {".": {}, "f:resourceRefs": {}}},
                }),
            ),
            (
                "v1",
                json!({"f:spec": {"f:resourceRefs": {}, "f:compositionRevisionRef": {"f:name": {}}}}),
            ),
            (
                "v1beta1",
                json!({"f:spec": {"f:crossplane": {"f:resourceRefs": {}}}}),
            ),
            (
                "v1",
                json!({"f:metadata": {"f:labels": {"f:crossplane.io/in-use": {}}}}),
            ),
            (
                "v1",
                json!({"f:metadata": {"f:annotations": {".": {}, "f:crossbridge.dev/in-use-by": {}, "f:crossplane.io/usage-details": {}}}}),
            ),
        ] {
            let machine = entry("crossplane", "Update", version, &fields);
            let entries = [created.clone(), machine.clone()];
            assert_eq!(
                converted(&entries, &["created", "crossplane"], "ours"),
                Some(vec![applied.clone(), machine.clone()])
            );
            assert_eq!(converted(&[machine], &["created", "crossplane"], "ours"), None);
        }
    }

    #[test]
    fn what_an_old_core_applied_is_converted_without_machinery() {
        let old = entry(
            "crossplane",
            "Update",
            "v1",
            &json!({
                "f:metadata": {
                    "f:finalizers": {"v:\"a\"": {}},
                    "f:labels": {".": {}, "f:crossplane.io/in-use": {}, "f:team": {}},
                },
                "f:spec": {"f:size": {}, "f:crossplane": {"f:resourceRefs": {}}},
            }),
        );
        let own = json!({"f:metadata": {"f:labels": {"f:team": {}}}, "f:spec": {"f:size": {}}});
        let of_machine = json!({
            "f:metadata": {
                "f:finalizers": {"v:\"a\"": {}},
                "f:labels": {".": {}, "f:crossplane.io/in-use": {}},
            },
            "f:spec": {"f:crossplane": {"f:resourceRefs": {}}},
        });
        assert_eq!(
            converted(&[old], &["created", "crossplane"], "ours"),
            Some(vec![
                entry("ours", "Apply", "v1", &own),
                entry("crossplane", "Update", "v1", &of_machine),
            ])
        );
    }

    #[test]
    fn nothing_is_converted_where_all_is_applied() {
        let entries = [
            entry("ours", "Apply", "v1", &json!({"f:spec": {}})),
            entry("created", "Apply", "v1", &json!({"f:spec": {}})),
            status("created"),
        ];
        assert_eq!(converted(&entries, &["created"], "ours"), None);
        assert_eq!(converted(&[], &["created"], "ours"), None);
    }
}

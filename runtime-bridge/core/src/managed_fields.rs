//! Who owns which fields of an object, as the API server notes it down in `metadata.managedFields`.
//!
//! What a manager has written by create or update is never removed by its applies: the API server knows the two as different owners. Before the
//! first apply its entries are therefore converted, once.

use serde_json::{Map, Value};

use crate::composite::names;

/// The entries after `to` owns by apply what the managers in `from` own by create or update; `None`: they own nothing so.
///
/// Entries of subresources stay as they are, and so does what a machine of the bridge has written into the object. Where entries are of several versions
/// of the kind, those of one version are united, and the others dropped, as their fields cannot be compared: those fields stay on the object without an
/// owner.
pub fn converted(entries: &[Value], from: &[&str], to: &str) -> Option<Vec<Value>> {
    let is_update = |entry: &Value| {
        let manager = entry["manager"].as_str().unwrap_or_default();
        entry["operation"] == "Update"
            && is_of_object(entry)
            && from.contains(&manager)
            && !is_of_machine(entry)
    };
    let is_target =
        |entry: &Value| entry["operation"] == "Apply" && is_of_object(entry) && entry["manager"] == to;
    let first = entries.iter().find(|entry| is_update(entry))?;
    let mut target = entries
        .iter()
        .find(|entry| is_target(entry))
        .unwrap_or(first)
        .clone();
    target["manager"] = to.into();
    target["operation"] = "Apply".into();
    for entry in entries.iter().filter(|entry| is_update(entry)) {
        if entry["apiVersion"] == target["apiVersion"] {
            unite(&mut target["fieldsV1"], &entry["fieldsV1"]);
        }
    }
    let kept = entries
        .iter()
        .filter(|entry| !is_update(entry) && !is_target(entry))
        .cloned();
    Some(std::iter::once(target).chain(kept).collect())
}

fn is_of_object(entry: &Value) -> bool {
    entry["subresource"].as_str().unwrap_or_default().is_empty()
}

/// By the manager of old client-side applies machines write, too: finalizer, references and revision of a composite resource that another one composes,
/// what a usage is about, and the mark of what is in use. Whoever composes the object desires none of it, and its apply would take it away.
fn is_of_machine(entry: &Value) -> bool {
    let metadata = &entry["fieldsV1"]["f:metadata"];
    let is_marked = !metadata["f:labels"][format!("f:{}", names::IN_USE)].is_null();
    entry["manager"] == names::CROSSPLANE_MANAGER && (is_marked || !metadata["f:finalizers"].is_null())
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
    fn what_a_machine_wrote_into_a_composed_object_stays_its_own() {
        let created = entry("created", "Update", "v1", &json!({"f:spec": {"f:size": {}}}));
        let applied = entry("ours", "Apply", "v1", &json!({"f:spec": {"f:size": {}}}));
        for fields in [
            json!({"f:metadata": {"f:finalizers": {".": {}}}, "f:spec": {"f:crossplane": {"f:resourceRefs": {}}}}),
            json!({"f:metadata": {"f:labels": {"f:crossplane.io/in-use": {}}}}),
        ] {
            let machine = entry("crossplane", "Update", "v1", &fields);
            let entries = [created.clone(), machine.clone()];
            assert_eq!(
                converted(&entries, &["created", "crossplane"], "ours"),
                Some(vec![applied.clone(), machine.clone()])
            );
            assert_eq!(converted(&[machine], &["created", "crossplane"], "ours"), None);
        }
        let old = entry("crossplane", "Update", "v1", &json!({"f:spec": {"f:size": {}}}));
        assert_eq!(
            converted(&[old], &["created", "crossplane"], "ours"),
            Some(vec![applied])
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

//! A managed resource as the machine sees it.

use std::{collections::BTreeMap, sync::Arc};

use bridge_core::managed::{Managed, MetadataChange, Policies, Status, names};
use serde_json::Value;

use crate::object::{Key, Object};

/// What was read of the newest version, so that each version is parsed once in a reconcile.
#[derive(Default)]
pub(super) struct Views(Option<Read>);

struct Read {
    object: Arc<Object>,
    managed: Arc<Managed>,
    /// Held for who reads the spec itself.
    _spec: Arc<Value>,
}

impl Views {
    /// Reads what the machine needs, unless this version was the last one that was read.
    pub(super) fn of(&mut self, object: &Arc<Object>) -> Arc<Managed> {
        match &self.0 {
            Some(read) if Arc::ptr_eq(&read.object, object) => Arc::clone(&read.managed),
            _ => {
                let spec = object.spec_value();
                let managed = Arc::new(managed(object));
                self.0 = Some(Read {
                    object: Arc::clone(object),
                    managed: Arc::clone(&managed),
                    _spec: spec,
                });
                managed
            }
        }
    }
}

/// Reads what the machine needs.
pub(super) fn managed(object: &Object) -> Managed {
    let spec = object.spec_value();
    let annotations = object.meta.annotations.iter().flatten();
    let annotations = annotations.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Managed {
        namespace: object.namespace().unwrap_or_default().to_owned(),
        name: object.name().to_owned(),
        uid: object.uid().to_owned(),
        generation: object.generation(),
        resource_version: object.resource_version().to_string(),
        deletion: object.meta.deletion_timestamp.as_ref().map(|time| time.0),
        finalizers: object.meta.finalizers.clone().unwrap_or_default(),
        annotations: annotations.collect::<BTreeMap<_, _>>().into(),
        policies: if object.has_readable_spec() && object.has_readable_status() {
            Policies::of(&spec)
        } else {
            Policies::NOTHING
        },
        wants_connection_secret: connection_secret(object).is_some(),
        status: Status::read(object.status_value()),
    }
}

/// Where the object's connection details go; a namespaced object's to its own namespace.
pub(super) fn connection_secret(object: &Object) -> Option<Key> {
    let spec = object.spec_value();
    let reference = spec.get("writeConnectionSecretToRef")?;
    let field = |name: &str| reference.get(name).and_then(Value::as_str);
    let namespace = object.namespace().or_else(|| field("namespace"))?;
    Some(Key::secret(namespace, field("name")?))
}

/// The object with the change made.
pub(super) fn changed(object: &Object, change: &MetadataChange) -> Object {
    let mut object = object.clone();
    if change.add_finalizer && !object.has_finalizer(names::FINALIZER) {
        object
            .meta
            .finalizers
            .get_or_insert_default()
            .push(names::FINALIZER.to_owned());
    }
    let annotations = object.meta.annotations.get_or_insert_default();
    for (key, value) in &change.annotations {
        match value {
            Some(value) => annotations.insert(key, value),
            None => annotations.remove(key),
        }
    }
    object
}

/// Tells our resources from those of other clusters and objects: at most 63 of `[a-z0-9-]`, begins with a letter. `cluster_id` is the uid of
/// the namespace `kube-system`.
pub fn ownership_marker(cluster_id: &str, uid: &str) -> String {
    let word = |text: &str, most: usize| -> String {
        text.chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .take(most)
            .collect()
    };
    format!("c{}-{}", word(cluster_id, 20), word(uid, 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_spec_that_cannot_be_read_nothing_is_done() {
        let api = std::sync::Arc::new(crate::object::ApiType::secrets());
        let depth = 200;
        let spec = format!(
            r#"{{"managementPolicies": ["Observe"], "deletionPolicy": "Orphan", "forProvider": {}1{}}}"#,
            r#"{"a":"#.repeat(depth),
            "}".repeat(depth)
        );
        let metadata = r#"{"name": "a", "uid": "u", "resourceVersion": "1"}"#;
        let text = format!(r#"{{"metadata": {metadata}, "spec": {spec}}}"#);
        let object = Object::decode(&api, &text).unwrap();
        let found = managed(&object).policies;
        assert!(found.paused && !found.delete && !found.create, "{found:?}");
        let text = format!(r#"{{"metadata": {metadata}, "status": {{"atProvider": {spec}}}}}"#);
        let of_status = managed(&Object::decode(&api, &text).unwrap()).policies;
        assert_eq!(of_status, found);
        let plain = Object::decode(&api, &format!(r#"{{"metadata": {metadata}, "spec": {{}}}}"#)).unwrap();
        assert!(managed(&plain).policies.delete);
    }

    #[test]
    fn a_marker_fits_everywhere() {
        let marker = ownership_marker(
            "0A1b2c3d-0000-1111-2222-333344445555",
            "99998888-7777-6666-5555-444433332222",
        );
        assert_eq!(marker, "c0a1b2c3d000011112222-99998888777766665555444433332222");
        assert!(marker.len() <= 63);
    }
}

//! What a claim depends on: whose changes are its turn.

use std::sync::Arc;

use bridge_core::watch_plan::GroupKind;

use crate::{
    object::{Key, Object},
    store::{Edge, Interest, NeededKind},
};

/// The edges of the claims of a kind whose composite resources are of this kind and version.
pub(super) fn edges(kind: &GroupKind, version: &str) -> Arc<[Edge]> {
    let composites = kind.clone();
    let composite = move |claim: &Object| {
        let spec = claim.spec_value();
        let name = spec["resourceRef"]["name"].as_str();
        let named = name.map(|name| Key::new(composites.clone(), None, name));
        named.into_iter().collect()
    };
    let secret = |claim: &Object| {
        let spec = claim.spec_value();
        let name = spec["writeConnectionSecretToRef"]["name"].as_str();
        let place = claim.namespace().zip(name);
        let secret = place.map(|(namespace, name)| Key::secret(namespace, name));
        secret.into_iter().collect()
    };
    let needed = NeededKind {
        kind: kind.clone(),
        version: version.to_owned(),
    };
    Arc::new([
        Edge::references(Arc::new(composite)).with_interest(Interest::All),
        Edge::references(Arc::new(secret)).with_interest(Interest::All),
        Edge::needs(Arc::new(move |_: &Object| vec![needed.clone()])),
    ])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{object::ApiType, store::Store};

    /// Of a claim alone its composite resource would be read again and again, and nothing of it be heard.
    #[test]
    fn the_kind_of_its_composite_resource_is_needed() {
        let claims = Arc::new(ApiType {
            kind: GroupKind::new("example.org", "Claim"),
            version: "v1".to_owned(),
            plural: "claims".to_owned(),
            namespaced: true,
        });
        let store = Arc::new(Store::default());
        store.open(&claims.kind);
        let edges = edges(&GroupKind::new("example.org", "Composite"), "v1");
        let _edges = store.register_edges(&claims.kind, edges);
        assert!(store.needed().is_empty());
        let claim = json!({
            "metadata": {"name": "a", "namespace": "team", "uid": "1", "resourceVersion": "1"}, "spec": {},
        });
        store.observe_read(Arc::new(Object::decode(&claims, &claim.to_string()).unwrap()));
        let needed = NeededKind {
            kind: GroupKind::new("example.org", "Composite"),
            version: "v1".to_owned(),
        };
        assert_eq!(store.needed(), [needed].into());
    }
}

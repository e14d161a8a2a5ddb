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

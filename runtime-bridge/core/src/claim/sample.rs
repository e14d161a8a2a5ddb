//! What tests of this module begin with.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::json;

use super::{Claim, Snapshot};
use crate::{
    composite::{LiveObject, ObjectState, Settings},
    definition::{ClaimTerms, Machinery, Scope, Terms},
    watch_plan::GroupKind,
};

pub fn claim() -> Claim {
    Claim::new(json!({
        "apiVersion": "shop.example.org/v1", "kind": "Shop",
        "metadata": {
            "name": "shop", "namespace": "team", "uid": "uid-claim", "resourceVersion": "1", "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {"size": 3},
    }))
}

/// The composite resource of that claim.
pub fn xr() -> LiveObject {
    LiveObject::new(json!({
        "apiVersion": "shop.example.org/v1", "kind": "XShop",
        "metadata": {
            "name": "shop-8x5fk", "uid": "uid-xr", "resourceVersion": "2",
            "creationTimestamp": "2026-01-01T00:00:01Z",
            "annotations": {"crossbridge.dev/claim": "uid-claim"},
        },
        "spec": {"claimRef": {
            "apiVersion": "shop.example.org/v1", "kind": "Shop", "namespace": "team", "name": "shop",
        }},
    }))
}

pub fn exists(xr: LiveObject) -> ObjectState {
    ObjectState::Exists(Arc::new(xr))
}

pub fn terms() -> Terms {
    Terms {
        definition: "xshops.shop.example.org".to_owned(),
        definition_uid: "uid-xrd".to_owned(),
        kind: GroupKind::new("shop.example.org", "XShop"),
        plural: "xshops".to_owned(),
        version: "v1".to_owned(),
        served: vec!["v1".to_owned()],
        scope: Scope::LegacyCluster,
        machinery: Machinery::Spec,
        claim: Some(ClaimTerms {
            kind: GroupKind::new("shop.example.org", "Shop"),
            plural: "shops".to_owned(),
            default_delete_policy: None,
        }),
        connection_keys: BTreeSet::new(),
        default_composition: None,
        enforced_composition: None,
        default_revision_selector: None::<BTreeMap<String, String>>,
        default_update_policy: None,
    }
}

pub fn terms_of(of: &mut Snapshot) -> &mut Terms {
    Arc::make_mut(&mut of.terms)
}

/// A new claim, of which nothing exists.
pub fn snapshot() -> Snapshot {
    Snapshot {
        claim: claim(),
        terms: Arc::new(terms()),
        name: "shop-8x5fk".to_owned(),
        xr: ObjectState::Absent,
        choice: None,
        secrets: None,
        in_use: None,
        unknown_usages: None,
        is_unwatched: false,
        term_began: "2025-12-31T00:00:00Z".parse().unwrap(),
        may_act: true,
        settings: Arc::new(Settings::default()),
        now: "2026-01-01T01:00:00Z".parse().unwrap(),
    }
}

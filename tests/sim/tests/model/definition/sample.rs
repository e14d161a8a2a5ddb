//! A definition of `Order` with claims, and what exists of it.

use bridge_core::definition::teardown::{Crd, Instance, Objects, Plan, Seen, Unlisted};
use jiff::Timestamp;

pub(super) const COMPOSITES: &str = "orders.example.org";
pub(super) const CLAIMS: &str = "claims.example.org";

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Its status says that it ends. Neither CRD exists.
pub(super) fn ending() -> Seen {
    let finalizers = [
        "defined.apiextensions.crossplane.io",
        "example.org/other",
        "offered.apiextensions.crossplane.io",
    ];
    Seen {
        uid: "own".to_owned(),
        finalizers: finalizers.map(ToOwned::to_owned).into(),
        is_reported: true,
        claims: None,
        composites: None,
        unlisted: None,
    }
}

pub(super) fn crd(name: &str, objects: Objects) -> Crd {
    Crd {
        name: name.to_owned(),
        uid: format!("uid-of-{name}"),
        resource_version: Some(7),
        controller: Some("own".to_owned()),
        is_deleting: false,
        objects,
    }
}

pub(super) fn order(name: &str) -> Instance {
    Instance {
        name: format!("Order.example.org {name}"),
        uid: format!("uid-{name}"),
        resource_version: 3,
        is_deleting: false,
        used_by: None,
    }
}

pub(super) fn deleting(name: &str) -> Instance {
    Instance {
        is_deleting: true,
        ..order(name)
    }
}

pub(super) fn in_use(name: &str) -> Instance {
    Instance {
        used_by: Some(format!("Usage one/keep-{name}")),
        ..order(name)
    }
}

/// Since the first second.
pub(super) fn unlisted() -> Unlisted {
    Unlisted {
        why: "Usage.protection.crossplane.io: still listing".to_owned(),
        since: at(0),
    }
}

pub(super) fn prints(plan: &Plan, lines: &[&str]) {
    let printed = plan.to_string();
    let printed: Vec<&str> = printed.lines().collect();
    assert_eq!(printed, lines);
}

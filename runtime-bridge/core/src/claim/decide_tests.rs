//! What is decided from one snapshot, step by step.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    ClaimMemory, SecretRefs, SecretVersions, Snapshot,
    bind::body,
    decide,
    decision::Action,
    facts::Facts,
    memory::{FailedWrite, PropagatedSecret},
    names,
    sample::{exists, snapshot, xr},
};
use crate::{
    composite::{AppliedMark, LiveObject, ObjectState, Settings, Written, names::APPLIED},
    managed::Decision,
};

pub(super) fn decided(of: &Snapshot, memory: &ClaimMemory) -> String {
    match decide(of, memory) {
        Decision::Act(Action::WriteStatus(write)) => {
            let conditions = write.status["conditions"].as_array().unwrap().iter();
            let said = conditions.map(|one| {
                let text = |field: &str| one[field].as_str().unwrap_or_default().to_owned();
                format!(
                    "{}={}/{}: {}",
                    text("type"),
                    text("status"),
                    text("reason"),
                    text("message")
                )
            });
            format!("status {}", said.collect::<Vec<_>>().join("; "))
        }
        Decision::Act(action) => action.to_string(),
        Decision::Rest(rest) => match rest.wake {
            Some(at) => format!("rest until {at}"),
            None => "rest".to_owned(),
        },
    }
}

pub(super) fn verified() -> ClaimMemory {
    ClaimMemory {
        verified: Some("1".to_owned()),
        ..ClaimMemory::default()
    }
}

pub(super) fn at(time: &str) -> Timestamp {
    time.parse().unwrap()
}

/// A live read of this time found no composite resource of the name.
fn read(time: &str) -> (String, Timestamp) {
    ("shop-8x5fk".to_owned(), at(time))
}

/// A claim that has all that is stored in it.
pub(super) fn named() -> Snapshot {
    let mut of = snapshot();
    of.claim.object["metadata"]["finalizers"] = json!([names::FINALIZER]);
    of.claim.object["spec"]["resourceRef"] =
        json!({"apiVersion": "shop.example.org/v1", "kind": "XShop", "name": "shop-8x5fk"});
    of
}

/// And a composite resource that is as it is wanted.
pub(super) fn bound(edit: impl FnOnce(&mut LiveObject)) -> Snapshot {
    let mut of = named();
    let body = body(&Facts::new(&of, &ClaimMemory::default()));
    let mark = AppliedMark {
        written: Written::Created,
        digest: body.digest(),
    };
    let mut it = xr();
    it.object_mut()["spec"]["size"] = json!(3);
    it.object_mut()["metadata"]["labels"] = body.content()["metadata"]["labels"].clone();
    it.object_mut()["metadata"]["annotations"][APPLIED] = mark.to_string().into();
    edit(&mut it);
    of.xr = exists(it);
    of
}

pub(super) fn ready(it: &mut LiveObject) {
    it.object_mut()["status"] = json!({"conditions": [
        {"type": "Synced", "status": "True", "reason": "ReconcileSuccess"},
        {"type": "Ready", "status": "True", "reason": "Available"},
    ]});
}

pub(super) fn deleting(mut of: Snapshot, is_reported: bool) -> Snapshot {
    of.claim.object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:59:00Z");
    if is_reported {
        of.claim.object["status"] = json!({"conditions": [
            {"type": "Ready", "status": "False", "reason": "Deleting", "observedGeneration": 1, "message": SINCE},
            {"type": "Synced", "status": "True", "reason": "ReconcileSuccess", "observedGeneration": 1},
        ]});
        for condition in of.claim.object["status"]["conditions"].as_array_mut().unwrap() {
            condition["lastTransitionTime"] = json!("2026-01-01T00:59:00Z");
        }
    }
    of
}

const SINCE: &str = "being deleted since 2026-01-01T00:59:00Z";
const LATE: &str = "a create of it that was sent before may still take effect";
const AVAILABLE: &str = "status Synced=True/ReconcileSuccess: ; Ready=True/Available: ";
const WAITS: &str = "status Synced=True/ReconcileSuccess: ; \
    Ready=False/Waiting: Claim is waiting for composite resource to become Ready";

#[test]
fn without_authority_nothing_is_done() {
    let mut of = snapshot();
    of.may_act = false;
    assert_eq!(decided(&of, &ClaimMemory::default()), "rest");
}

#[test]
fn a_composite_resource_in_use_is_not_deleted_with_its_claim() {
    let mut of = deleting(bound(ready), true);
    assert_eq!(decided(&of, &verified()), "delete composite resource shop-8x5fk");
    of.in_use = Some("ClusterUsage keep: why".to_owned());
    assert_eq!(
        decided(&of, &verified()),
        "status Synced=True/ReconcileSuccess: ; \
         Ready=False/Deleting: composite resource \"shop-8x5fk\" is in use by ClusterUsage keep: why (being deleted since 2026-01-01T00:59:00Z)"
    );
}

#[test]
fn a_claim_names_its_composite_resource_before_it_exists() {
    let none = ClaimMemory::default();
    assert_eq!(decided(&snapshot(), &none), "write finalizer, composite resource");
    assert_eq!(decided(&named(), &none), "verify resourceVersion");
    let mut memory = verified();
    // Somebody else may have created it since.
    assert_eq!(
        decided(&named(), &memory),
        "observe composite resource shop-8x5fk"
    );
    memory.looked = Some(read("2026-01-01T00:59:59Z"));
    assert_eq!(decided(&named(), &memory), "create composite resource shop-8x5fk");
    memory.looked = None;
    memory.named = Some("shop-8x5fk".to_owned());
    assert_eq!(decided(&named(), &memory), "create composite resource shop-8x5fk");
    memory.name_taken = true;
    assert_eq!(
        decided(&named(), &memory),
        "observe composite resource shop-8x5fk"
    );
    memory.failed_read = Some(at("2026-01-01T01:00:03Z"));
    assert_eq!(decided(&named(), &memory), WAITS);
}

#[test]
fn a_refused_create_is_told_and_tried_again_later() {
    let of = named();
    let mut memory = ClaimMemory {
        named: Some("shop-8x5fk".to_owned()),
        ..verified()
    };
    let body = body(&Facts::new(&of, &memory));
    memory.failed = Some(FailedWrite {
        desired: Some(body.digest()),
        message: "spec.size is too large".to_owned(),
        is_conflict: false,
        failures: 1,
        retry_at: at("2026-01-01T01:00:30Z"),
    });
    assert_eq!(
        decided(&of, &memory),
        "status Synced=False/ReconcileError: cannot bind and sync claim with composite resource: spec.size is too large; \
         Ready=False/Waiting: Claim is waiting for composite resource to become Ready"
    );
    let mut other = of.clone();
    other.claim.object["spec"]["size"] = json!(2);
    assert_eq!(decided(&other, &memory), "create composite resource shop-8x5fk");
    let mut later = of;
    later.now = at("2026-01-01T01:00:30Z");
    assert_eq!(decided(&later, &memory), "create composite resource shop-8x5fk");
}

#[test]
fn a_composite_resource_is_applied_where_it_differs() {
    let memory = verified();
    assert_eq!(decided(&bound(ready), &memory), AVAILABLE);
    let apply = "apply composite resource shop-8x5fk";
    for differs in [
        |it: &mut LiveObject| it.object_mut()["spec"]["size"] = json!(4),
        |it: &mut LiveObject| {
            drop(
                it.object_mut()["metadata"]["annotations"]
                    .as_object_mut()
                    .unwrap()
                    .remove(APPLIED),
            );
        },
        |it: &mut LiveObject| it.object_mut()["spec"]["claimRef"] = Value::Null,
        |it: &mut LiveObject| it.object_mut()["metadata"]["annotations"][names::CLAIM_UID] = json!("former"),
    ] {
        assert_eq!(decided(&bound(differs), &memory), apply);
        assert_eq!(
            decided(&bound(differs), &ClaimMemory::default()),
            "verify resourceVersion"
        );
    }
    // What the API server makes of a field is not fought.
    let of = bound(|it| it.object_mut()["spec"]["size"] = json!(4));
    let body = body(&Facts::new(&of, &memory));
    let ObjectState::Exists(it) = &of.xr else {
        unreachable!()
    };
    let altered = crate::composite::differences(body.content(), it.object());
    let memory = ClaimMemory {
        altered: Some(("uid-xr".to_owned(), altered)),
        ..memory
    };
    assert_eq!(decided(&of, &memory), WAITS);
}

#[test]
fn what_is_anothers_is_refused() {
    let memory = verified();
    let others = bound(|it| it.object_mut()["spec"]["claimRef"]["name"] = json!("other"));
    assert_eq!(
        decided(&others, &memory),
        "status Synced=False/ReconcileError: refusing to operate on composite resource \"shop-8x5fk\" that is not bound to this \
         claim: bound to claim \"other\"; Ready=False/Waiting: Claim is waiting for composite resource to become Ready"
    );
    let composed = bound(|it| {
        it.object_mut()["spec"]["claimRef"] = Value::Null;
        it.object_mut()["metadata"]["ownerReferences"] =
            json!([{"kind": "Parent", "name": "p", "uid": "u", "controller": true}]);
    });
    assert_eq!(
        decided(&composed, &memory),
        "status Synced=False/ReconcileError: cannot bind and sync claim with composite resource: composite resource \
         \"shop-8x5fk\" is controlled by Parent \"p\"; \
         Ready=False/Waiting: Claim is waiting for composite resource to become Ready"
    );
}

#[test]
fn what_is_not_known_is_waited_for_and_then_told() {
    let mut of = named();
    of.xr = ObjectState::Unknown("its watch is syncing".to_owned());
    let memory = ClaimMemory {
        unknown_since: Some(of.now),
        ..verified()
    };
    assert_eq!(decided(&of, &memory), "rest until 2026-01-01T01:00:05Z");
    of.now = at("2026-01-01T01:00:05Z");
    assert!(decided(&of, &memory).contains("cannot get bound composite resource: its watch is syncing"));
    of.xr = ObjectState::KindGone;
    let message =
        "cannot get bound composite resource: the cluster does not serve XShop in shop.example.org/v1";
    assert!(decided(&of, &memory).contains(message));
}

#[test]
fn progress_is_told_when_it_lasts() {
    let of = bound(|_| {});
    let memory = ClaimMemory {
        news_since: Some(of.now),
        ..verified()
    };
    assert_eq!(decided(&of, &memory), "rest until 2026-01-01T01:00:01Z");
    let mut later = of;
    later.now = at("2026-01-01T01:00:01Z");
    assert_eq!(decided(&later, &memory), WAITS);
    // An error and readiness are told at once.
    assert_eq!(decided(&bound(ready), &memory), AVAILABLE);
    let failing = bound(|it| {
        it.object_mut()["status"] =
            json!({"conditions": [{"type": "Synced", "status": "False", "message": "as it is"}]});
    });
    assert_eq!(
        decided(&failing, &memory),
        "status Synced=True/ReconcileSuccess: ; Ready=False/Waiting: as it is"
    );
}

#[test]
fn a_connection_secret_is_copied_before_the_claim_is_ready() {
    let mut of = bound(|it| {
        ready(it);
        it.object_mut()["spec"]["writeConnectionSecretToRef"] = json!({"namespace": "system", "name": "its"});
    });
    let mut memory = verified();
    assert_eq!(decided(&of, &memory), AVAILABLE);
    of.claim.object["spec"]["writeConnectionSecretToRef"] = json!({"name": "mine"});
    let versions = SecretVersions {
        source: Some(7),
        target: None,
    };
    of.secrets = Some(versions);
    assert_eq!(decided(&of, &memory), "propagate connection Secret mine");
    memory.propagated = Some(PropagatedSecret {
        refs: SecretRefs {
            source_namespace: "system".to_owned(),
            source: "its".to_owned(),
            target: "mine".to_owned(),
        },
        versions: SecretVersions {
            source: Some(7),
            target: Some(8),
        },
        at: of.now,
    });
    // What was just written is not shown yet; later it is known to be gone.
    assert_eq!(decided(&of, &memory), AVAILABLE);
    of.now = at("2026-01-01T01:00:05Z");
    assert_eq!(decided(&of, &memory), "propagate connection Secret mine");
    of.secrets = Some(SecretVersions {
        source: Some(9),
        target: Some(8),
    });
    assert_eq!(decided(&of, &memory), "propagate connection Secret mine");
    memory.failed_secret = Some((
        of.secrets,
        FailedWrite {
            desired: None,
            message: "cannot establish control of existing connection secret".to_owned(),
            is_conflict: false,
            failures: 1,
            retry_at: at("2026-01-01T01:00:06Z"),
        },
    ));
    assert!(decided(&of, &memory).starts_with(
        "status Synced=False/ReconcileError: cannot propagate connection details from composite resource: \
         cannot establish control of existing connection secret"
    ));
}

#[test]
fn a_deletion_is_told_first_and_then_carried_out() {
    let memory = verified();
    let of = |is_reported| deleting(bound(ready), is_reported);
    assert_eq!(
        decided(&of(false), &memory),
        format!("status Synced=True/ReconcileSuccess: ; Ready=False/Deleting: {SINCE}")
    );
    assert_eq!(
        decided(&of(true), &ClaimMemory::default()),
        "verify resourceVersion"
    );
    assert_eq!(
        decided(&of(true), &memory),
        "delete composite resource shop-8x5fk"
    );
    let mut released = of(true);
    released.claim.object["metadata"]["finalizers"] = json!([]);
    assert_eq!(decided(&released, &memory), "rest");
}

#[test]
fn where_parents_vanish_a_claim_goes_with_its_composite_resource_unless_it_asks_to_stay() {
    let of = |is_vanishing, policy: &str, is_sent, deleted: &str| {
        let memory = ClaimMemory {
            deleted: Some(deleted.to_owned()).filter(|uid| !uid.is_empty()),
            ..verified()
        };
        let mut of = deleting(
            bound(|it| {
                ready(it);
                if is_sent {
                    it.object_mut()["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:59:30Z");
                }
            }),
            true,
        );
        of.claim.object["spec"]["compositeDeletePolicy"] = json!(policy);
        let settings = Settings {
            vanishing_parents: is_vanishing,
            ..Settings::default()
        };
        of.settings = Arc::new(settings);
        decided(&of, &memory)
    };
    assert_eq!(
        of(true, "Background", false, ""),
        "delete composite resource shop-8x5fk"
    );
    assert_eq!(of(true, "Background", true, "uid-xr"), "remove finalizer");
    let stays = of(false, "Background", true, "uid-xr");
    assert!(
        stays.starts_with("status") || stays.starts_with("rest"),
        "{stays}"
    );
    assert_eq!(of(true, "Foreground", true, "uid-xr"), stays);
    // That a cache shows it going proves nothing: another one may have its name.
    for deleted in ["", "uid-of-a-former-one"] {
        assert_eq!(of(true, "Background", true, deleted), stays);
    }
}

#[test]
fn what_holds_up_a_deletion_shows_on_the_claim_too() {
    let mut of = deleting(
        bound(|it| {
            it.object_mut()["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:59:30Z");
            it.object_mut()["status"] = json!({"conditions": [
                {"type": "Ready", "status": "False", "reason": "Deleting", "message": "1 of 2 composed resources remain: x"},
                {"type": "DeletionBlocked", "status": "True", "reason": "Finalizers", "message": "x"},
                {"type": "Other", "status": "True", "reason": "Other", "message": ""},
            ]});
        }),
        true,
    );
    let memory = ClaimMemory {
        news_since: Some(of.now),
        ..verified()
    };
    assert_eq!(decided(&of, &memory), "rest until 2026-01-01T01:00:01Z");
    of.now = at("2026-01-01T01:00:01Z");
    assert_eq!(
        decided(&of, &memory),
        "status Synced=True/ReconcileSuccess: ; Ready=False/Deleting: 1 of 2 composed resources remain: x; \
         DeletionBlocked=True/Finalizers: x"
    );
}

#[test]
fn a_claim_goes_when_its_composite_resource_is_gone_for_good() {
    let held = deleting(
        bound(|it| it.object_mut()["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:59:30Z")),
        true,
    );
    assert_eq!(decided(&held, &verified()), "rest");
    let mut gone = deleting(named(), true);
    let observe = "observe composite resource shop-8x5fk";
    assert_eq!(decided(&gone, &verified()), observe);
    let looked = |time: &str| ClaimMemory {
        looked: Some(read(time)),
        ..verified()
    };
    let memory = looked("2026-01-01T00:59:59Z");
    assert_eq!(decided(&gone, &memory), "remove finalizer");
    // The answer of a create was lost.
    let lost = ClaimMemory {
        lost_create: Some(at("2026-01-01T00:59:00Z")),
        ..memory.clone()
    };
    let reported = |of: &Snapshot, end: &str| {
        let mut of = of.clone();
        of.claim.object["status"]["conditions"][0]["message"] = json!(format!(
            "composite resource \"shop-8x5fk\" is gone; until {end} {LATE} ({SINCE})"
        ));
        of
    };
    let status = |end: &str| {
        format!(
            "status Synced=True/ReconcileSuccess: ; Ready=False/Deleting: composite resource \"shop-8x5fk\" is gone; until {end} {LATE} ({SINCE})"
        )
    };
    let end = "2026-01-01T01:01:00Z";
    assert_eq!(decided(&gone, &lost), status(end));
    assert_eq!(decided(&reported(&gone, end), &lost), format!("rest until {end}"));
    // Another leader may have sent one.
    gone.term_began = at("2026-01-01T00:59:30Z");
    let end = "2026-01-01T01:01:30Z";
    assert_eq!(decided(&gone, &memory), status(end));
    assert_eq!(
        decided(&reported(&gone, end), &memory),
        format!("rest until {end}")
    );
    // But not after it was there.
    let seen = ClaimMemory {
        created: Some(at("2026-01-01T00:00:01Z")),
        ..memory.clone()
    };
    assert_eq!(decided(&gone, &seen), "remove finalizer");
    gone.now = at("2026-01-01T01:01:30Z");
    assert_eq!(decided(&gone, &memory), observe);
    assert_eq!(
        decided(&gone, &looked("2026-01-01T01:01:30Z")),
        "remove finalizer"
    );
    gone.xr = ObjectState::KindGone;
    assert_eq!(decided(&gone, &ClaimMemory::default()), "remove finalizer");
}

#[test]
fn a_claim_leaves_what_is_not_its_own() {
    for foreign in [
        |it: &mut LiveObject| it.object_mut()["spec"]["claimRef"]["name"] = json!("other"),
        |it: &mut LiveObject| it.object_mut()["spec"]["claimRef"] = Value::Null,
        |it: &mut LiveObject| {
            it.object_mut()["metadata"]["annotations"][names::CLAIM_UID] = json!("successor");
        },
    ] {
        let mut of = deleting(bound(foreign), true);
        // It was bound once.
        of.name = "shop-8x5fk".to_owned();
        assert_eq!(decided(&of, &verified()), "observe composite resource shop-8x5fk");
        let memory = ClaimMemory {
            looked: Some((of.name.clone(), of.now)),
            ..verified()
        };
        assert_eq!(decided(&of, &memory), "remove finalizer");
    }
}

#[test]
fn a_claim_says_that_it_is_deleted_before_all_usages_are_read() {
    let of = |is_reported| {
        let mut of = deleting(bound(ready), is_reported);
        of.unknown_usages = Some("the API server does not answer".to_owned());
        of
    };
    assert_eq!(
        decided(&of(false), &verified()),
        format!("status Synced=True/ReconcileSuccess: ; Ready=False/Deleting: {SINCE}")
    );
    // Nothing is deleted before.
    assert_eq!(
        decided(&of(true), &verified()),
        "rest until 2026-01-01T01:00:00.25Z"
    );
}

#[test]
fn the_connection_secret_of_a_claim_goes_just_before_it() {
    let mut of = deleting(named(), true);
    of.claim.object["spec"]["writeConnectionSecretToRef"] = json!({"name": "db"});
    assert_eq!(decided(&of, &verified()), "observe composite resource shop-8x5fk");
    let mut memory = ClaimMemory {
        looked: Some(read("2026-01-01T00:59:59Z")),
        ..verified()
    };
    let namespace = of.claim.namespace().to_owned();
    assert_eq!(
        decided(&of, &memory),
        format!("delete connection Secret {namespace}/db")
    );
    memory.secret_deleted = true;
    assert_eq!(decided(&of, &memory), "remove finalizer");
}

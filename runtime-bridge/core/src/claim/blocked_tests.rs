//! What keeps a claim from deleting its composite resource.

use serde_json::json;

use super::{
    ClaimMemory, Snapshot,
    decide_tests::{at, bound, decided, deleting, named, ready, verified},
    memory::FailedWrite,
};
use crate::{
    composite::{LiveObject, ObjectState},
    protection::names::IN_USE,
};

fn labelled(xr: &mut LiveObject) {
    ready(xr);
    xr.object_mut()["metadata"]["labels"][IN_USE] = json!("true");
}

/// What has been remembered once this has stood for so long.
fn after(mut of: Snapshot, mut memory: ClaimMemory, seconds: i8) -> String {
    memory.completed(&of);
    of.now = at(&format!("2026-01-01T01:00:{seconds:02}Z"));
    memory.completed(&of);
    decided(&of, &memory)
}

#[test]
fn a_composite_resource_in_use_blocks_its_claim_after_ten_seconds() {
    let mut of = deleting(bound(ready), true);
    of.in_use = Some("ClusterUsage keep: why".to_owned());
    let early = after(of.clone(), verified(), 9);
    assert!(early.contains("is in use by ClusterUsage keep: why"), "{early}");
    assert!(!early.contains("DeletionBlocked"), "{early}");
    let late = after(of, verified(), 10);
    let expected = "DeletionBlocked=True/InUse: composite resource \"shop-8x5fk\" (uid uid-xr), whose claim is being deleted since 2026-01-01T00:59:00Z, is in use by ClusterUsage keep: why. Delete what uses it, \
                    or its usage. See: kubectl get XShop.shop.example.org shop-8x5fk -o yaml";
    assert!(late.ends_with(expected), "{late}");
}

/// Its composite resource is not being deleted, and cannot say so.
#[test]
fn a_claim_that_is_held_is_overdue_after_its_deadline() {
    let mut of = deleting(bound(ready), true);
    of.in_use = Some("ClusterUsage keep: why".to_owned());
    of.claim.object["metadata"]["annotations"]["crossbridge.dev/deletion-deadline"] = json!("80s");
    let early = after(of.clone(), verified(), 19);
    assert!(!early.contains("DeletionOverdue"), "{early}");
    let late = after(of.clone(), verified(), 20);
    let expected = "DeletionOverdue=True/DeadlineExceeded: it is being deleted since 2026-01-01T00:59:00Z, longer than its deadline of 1m20s. Nothing is \
                    given up: see what remains in Ready and DeletionBlocked";
    assert!(late.contains(expected), "{late}");
    let conditions = of.claim.object["status"]["conditions"].as_array_mut().unwrap();
    conditions.push(
        json!({"type": "DeletionOverdue", "status": "True", "reason": "DeadlineExceeded", "message": "",
        "lastTransitionTime": "2026-01-01T01:00:20Z"}),
    );
    of.claim.object["metadata"]["annotations"]["crossbridge.dev/deletion-deadline"] = json!("1h");
    let later = after(of, verified(), 20);
    assert!(
        later.contains("DeletionOverdue=False/DeadlineExtended: "),
        "{later}"
    );
}

/// What it says may be its composite resource's, whose deadline is another one.
#[test]
fn a_claim_whose_composite_resource_cannot_be_read_says_of_overdue_what_it_said() {
    let mut of = deleting(bound(ready), true);
    let conditions = of.claim.object["status"]["conditions"].as_array_mut().unwrap();
    conditions.push(
        json!({"type": "DeletionOverdue", "status": "True", "reason": "DeadlineExceeded", "message": "",
        "lastTransitionTime": "2026-01-01T01:00:20Z"}),
    );
    of.xr = ObjectState::Unknown("no answer".to_owned());
    let said = after(of, verified(), 20);
    assert!(said.contains("DeletionBlocked=True/Unreachable"), "{said}");
    assert!(said.contains("DeletionOverdue=True/DeadlineExceeded"), "{said}");
}

/// Under the webhook guard it holds nothing; under the policy guard that says so, with the command that takes it off.
#[test]
fn a_label_without_a_usage_holds_no_claim() {
    let of = deleting(bound(labelled), true);
    assert_eq!(decided(&of, &verified()), "delete composite resource shop-8x5fk");
    let refused = ClaimMemory {
        failed_deletion: Some(FailedWrite {
            desired: None,
            message: "denied: take the label off".to_owned(),
            is_conflict: false,
            failures: 1,
            retry_at: at("2026-01-01T02:00:00Z"),
        }),
        ..verified()
    };
    let status = after(of, refused.clone(), 10);
    let expected = "DeletionBlocked=True/InUse: composite resource \"shop-8x5fk\" (uid uid-xr), whose claim is being deleted since 2026-01-01T00:59:00Z, is not deleted: denied: take the label off. See: ";
    assert!(status.contains(expected), "{status}");
    let status = after(deleting(bound(ready), true), refused, 10);
    assert!(status.contains("DeletionBlocked=True/Forbidden"), "{status}");
}

#[test]
fn usages_that_cannot_be_listed_are_named_after_ten_seconds() {
    let mut of = deleting(bound(labelled), true);
    of.unknown_usages = Some("Usage: the list fails".to_owned());
    assert_eq!(
        after(of.clone(), verified(), 9),
        "rest until 2026-01-01T01:00:09.25Z"
    );
    let late = after(of.clone(), verified(), 10);
    let expected = "DeletionBlocked=True/Unreachable: composite resource \"shop-8x5fk\" (uid uid-xr), whose claim is being deleted since 2026-01-01T00:59:00Z, is not deleted, as \
                    usages cannot be listed: Usage: the list fails.";
    assert!(late.contains(expected), "{late}");
    of.unknown_usages = None;
    assert_eq!(after(of, verified(), 10), "delete composite resource shop-8x5fk");
}

#[test]
fn what_held_a_claim_up_is_over_once_its_composite_resource_goes() {
    let mut of = deleting(bound(ready), true);
    let conditions = of.claim.object["status"]["conditions"].as_array_mut().unwrap();
    conditions.push(json!({
        "type": "DeletionBlocked", "status": "True", "reason": "InUse", "message": "x",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:59:30Z",
    }));
    // After a restart it stands: nothing has moved.
    let mut in_use = of.clone();
    in_use.in_use = Some("ClusterUsage keep: why".to_owned());
    let status = after(in_use, verified(), 1);
    assert!(
        status.contains("DeletionBlocked=True/InUse: composite resource"),
        "{status}"
    );
    let mut goes = of.clone();
    goes.xr = deleting(
        bound(|it| it.object_mut()["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:59:59Z")),
        true,
    )
    .xr;
    let status = after(goes, verified(), 1);
    assert!(status.ends_with("DeletionBlocked=False/Moving: "), "{status}");
}

#[test]
fn a_secret_that_may_not_be_deleted_blocks_the_claim() {
    let mut of = deleting(named(), true);
    of.claim.object["spec"]["writeConnectionSecretToRef"] = json!({"name": "db"});
    let refused = FailedWrite {
        desired: None,
        message: "cannot delete connection Secret team/db: forbidden".to_owned(),
        is_conflict: false,
        failures: 1,
        retry_at: at("2026-01-01T01:00:20Z"),
    };
    let memory = ClaimMemory {
        looked: Some(("shop-8x5fk".to_owned(), at("2026-01-01T00:59:59Z"))),
        failed_secret_deletion: Some(refused),
        ..verified()
    };
    let status = after(of.clone(), memory.clone(), 10);
    let expected = "DeletionBlocked=True/Forbidden: cannot delete connection Secret team/db: forbidden (the claim is \
                    being deleted since 2026-01-01T00:59:00Z)";
    assert!(status.contains(expected), "{status}");
    assert_eq!(after(of, memory, 20), "delete connection Secret team/db");
}

#![allow(clippy::needless_raw_string_hashes)] // As expect-test writes them.

use bridge_core::composite::ResourceRef;
use serde_json::{Value, json};

use super::{
    node::{Existence, Node, Parent},
    table::table,
};

const PARENT: Parent = Parent::Composite { uid: "x" };

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({ "type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": 2 })
}

fn composed(name: &str, owner: &Value) -> Value {
    let owners: Vec<&Value> = Some(owner).filter(|owner| !owner.is_null()).into_iter().collect();
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name, "namespace": "default", "uid": name,
            "annotations": { "crossplane.io/composition-resource-name": format!("the-{name}") },
            "ownerReferences": owners,
        },
    })
}

fn owner(uid: &str) -> Value {
    json!({ "apiVersion": "a/v1", "kind": "Order", "name": "a", "uid": uid, "controller": true })
}

fn root(conditions: &[Value]) -> Value {
    json!({
        "apiVersion": "shop.example.org/v1",
        "kind": "Order",
        "metadata": { "name": "a", "namespace": "default", "uid": "x", "generation": 2 },
        "status": { "conditions": conditions },
    })
}

#[test]
fn a_table_shows_what_each_object_of_a_tree_waits_for() {
    let mut tree = Node::of(
        &root(&[
            condition("Synced", "False", "ReconcileError", "cannot\napply"),
            condition("Ready", "True", "Available", ""),
        ]),
        None,
        true,
    );
    let mut nested = composed("nested", &owner("x"));
    nested["kind"] = json!("Part");
    nested["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    nested["metadata"]["finalizers"] = json!(["a.example.org/f", "b.example.org/f"]);
    let mut nested = Node::of(&nested, Some(PARENT), true);
    nested.children = vec![Node::of(
        &composed("below", &owner("nested")),
        Some(Parent::Composite { uid: "nested" }),
        true,
    )];
    let missing = |name: &str, existence| {
        let reference = ResourceRef {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespace: None,
            name: name.to_owned(),
        };
        Node::missing(&reference, Some("default"), existence)
    };
    tree.children = vec![
        nested,
        Node::of(&composed("free", &Value::Null), Some(PARENT), true),
        Node::of(&composed("theirs", &owner("y")), Some(PARENT), true),
        missing("gone", Existence::Absent),
        missing("odd", Existence::NotServed),
        missing("dark", Existence::Unknown("forbidden".to_owned())),
        Node::of(&composed("stray", &owner("x")), Some(PARENT), false),
    ];
    expect_test::expect![[r#"
        NAME                              RESOURCE     SYNCED   READY   STATUS
        Order/a (default)                              False    True    ReconcileError: cannot apply
        ├─ Part/nested (default)          the-nested   -        -       is being deleted since 2026-01-01T00:00:00Z, held by a.example.org/f, b.example.org/f
        │  └─ ConfigMap/below (default)   the-below    -        -
        ├─ ConfigMap/free (default)       the-free     -        -       has no controller
        ├─ ConfigMap/theirs (default)     the-theirs   -        -       is controlled by Order "a"
        ├─ ConfigMap/gone (default)                    -        -       does not exist
        ├─ ConfigMap/odd (default)                     -        -       the cluster does not serve ConfigMap in v1
        ├─ ConfigMap/dark (default)                    -        -       cannot be read: forbidden
        └─ ConfigMap/stray (default)      the-stray    -        -       is not among the references
    "#]]
    .assert_eq(&table(&tree));
}

#[test]
fn conditions_of_a_former_generation_are_marked() {
    let mut object = root(&[condition("Ready", "True", "Available", "")]);
    assert_eq!(Node::of(&object, None, true).status(), "Available");
    object["metadata"]["generation"] = json!(3);
    object["metadata"]["annotations"] = json!({ "crossplane.io/paused": "true" });
    assert_eq!(
        Node::of(&object, None, true).status(),
        "is paused; conditions are of generation 2; Available"
    );
}

#[test]
fn a_composite_resource_of_another_claim_is_named_so() {
    let of = |claim: Value| {
        let mut object = root(&[]);
        object["spec"] = json!({ "claimRef": claim });
        let parent = Parent::Claim {
            namespace: "team",
            name: "mine",
        };
        Node::of(&object, Some(parent), true).status()
    };
    assert_eq!(of(json!({ "namespace": "team", "name": "mine" })), "");
    assert_eq!(
        of(json!({ "namespace": "team", "name": "other" })),
        "is bound to another claim: team/other"
    );
    assert_eq!(of(Value::Null), "is bound to no claim");
}

#[test]
fn of_a_claim_the_composite_resource_below_it_is_explained() {
    let mut composite = Node::of(&root(&[]), None, true);
    composite.compose(None);
    let mut claim = Node::of(&composed("claim", &Value::Null), None, true);
    assert_eq!(claim.composite(), None);
    claim.children = vec![composite.clone()];
    assert_eq!(claim.composite(), Some(&composite));
    assert_eq!(composite.composite(), Some(&composite));
}

#[test]
fn no_content_of_an_object_is_in_a_trace() {
    let mut secret = composed("s", &owner("x"));
    secret["data"] = json!({ "password": "canary" });
    let node = Node::of(&secret, Some(PARENT), true);
    let text = serde_json::to_string(&node).unwrap() + &table(&node);
    assert!(!text.contains("canary") && text.contains("the-s"), "{text}");
}

#[test]
fn a_composite_resource_says_what_composes_it() {
    let mut node = Node::of(&root(&[]), None, true);
    assert_eq!(node.composed_by(), None);
    node.compose(None);
    assert_eq!(node.composed_by().unwrap(), "composition: none is chosen yet");
    let machinery = json!({
        "compositionRef": { "name": "orders" },
        "compositionRevisionRef": { "name": "orders-1" },
        "compositionUpdatePolicy": "Manual",
    });
    node.compose(machinery.as_object());
    assert_eq!(
        node.composed_by().unwrap(),
        "composition: orders, revision orders-1 (Manual)"
    );
}

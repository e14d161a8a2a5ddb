//! A tenant with all rights in one namespace, and what belongs to a stranger in another: the bridge has rights in both, and lends them to nobody.

use bridge_core::composite::Settings;
use bridge_engine::api_error::ApiError;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    claims::{claim, claims, composite_of},
    stage::{Bridge, GROUP, Stage, order, orders},
};
use crate::{admin::Admin, harness::within};

const TENANT: &str = "tenant";
const MINE: &str = "mine";
const THEIRS: &str = "theirs";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/mine";

fn maps(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

fn usages(namespace: &str) -> String {
    format!("/apis/protection.crossplane.io/v1beta1/namespaces/{namespace}/usages")
}

/// Both namespaces, a `ConfigMap` of the stranger that nothing controls, and the tenant.
async fn begin() -> (Stage, Bridge, Admin) {
    let mut stage = Stage::bare().await;
    let kubeconfig = stage.plane.user_kubeconfig(TENANT, None).unwrap();
    let bridge = Bridge::start_with(&stage.plane, Settings::default()).await;
    stage.install().await;
    for namespace in [MINE, THEIRS] {
        stage.admin.namespace(namespace).await;
    }
    let plain = json!({"metadata": {"name": "plain"}, "data": {"value": "theirs"}});
    stage.create(&maps(THEIRS), &plain).await;
    let groups = ["", GROUP, "protection.crossplane.io"];
    let role = json!({"metadata": {"name": TENANT}, "rules": [
        {"apiGroups": groups, "resources": ["*"], "verbs": ["*"]},
    ]});
    stage.create(&format!("{RBAC}/roles"), &role).await;
    let binding = json!({
        "metadata": {"name": TENANT},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": TENANT},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": TENANT}],
    });
    stage.create(&format!("{RBAC}/rolebindings"), &binding).await;
    let tenant = Admin::with(kubeconfig).await;
    within(async {
        while tenant.get(&maps(MINE)).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await;
    let itself = tenant.delete(&format!("{}/plain", maps(THEIRS))).await;
    assert!(matches!(itself, Err(ApiError::Forbidden(_))), "{itself:?}");
    (stage, bridge, tenant)
}

async fn stored(stage: &Stage, paths: &[String]) -> Vec<Value> {
    let mut stored = Vec::new();
    for path in paths {
        stored.push(stage.admin.get(path).await.unwrap());
    }
    stored
}

async fn composed(stage: &Stage, namespace: &str) -> Vec<Value> {
    let path = format!("{}?labelSelector=crossplane.io/composite", maps(namespace));
    let list = stage.admin.get(&path).await.unwrap();
    list["items"].as_array().unwrap().clone()
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// A release of all these, by a tenant who knows their uids.
fn release(objects: &[Value]) -> String {
    let uids = objects.iter().map(|object| text(object, "/metadata/uid"));
    let all = uids.map(|uid| format!("all/{uid},{uid}"));
    all.collect::<Vec<_>>().join(",")
}

/// The tenant's order names a stranger's order, what that composed, what nobody controls, and the namespace itself: from the beginning, and by an edit.
#[tokio::test]
async fn references_and_releases_of_another_namespace_touch_nothing_there() {
    let (stage, bridge, tenant) = begin().await;
    stage.define().await;
    stage
        .create(&orders(THEIRS), &order("a", &json!({"first": "1"})))
        .await;
    stage.ready(&format!("{}/a", orders(THEIRS))).await;
    bridge.rests().await;
    let map = composed(&stage, THEIRS).await.remove(0);
    let map = text(&map, "/metadata/name");
    let paths = [
        format!("{}/a", orders(THEIRS)),
        format!("{}/{map}", maps(THEIRS)),
        format!("{}/plain", maps(THEIRS)),
        format!("/api/v1/namespaces/{THEIRS}"),
    ];
    let before = stored(&stage, &paths).await;
    let refs = json!([
        {"apiVersion": format!("{GROUP}/v1"), "kind": "Order", "namespace": THEIRS, "name": "a"},
        {"apiVersion": "v1", "kind": "ConfigMap", "namespace": THEIRS, "name": map},
        {"apiVersion": "v1", "kind": "ConfigMap", "namespace": THEIRS, "name": "plain"},
        {"apiVersion": "v1", "kind": "Namespace", "name": THEIRS},
    ]);
    for is_edited in [false, true] {
        let mut evil = order("evil", &json!({"first": "mine"}));
        let edit = json!({
            "metadata": {"annotations": {"crossbridge.dev/release": release(&before)}},
            "spec": {"crossplane": {"resourceRefs": refs}},
        });
        if !is_edited {
            evil["metadata"]["annotations"] = edit["metadata"]["annotations"].clone();
            evil["spec"]["crossplane"] = edit["spec"]["crossplane"].clone();
        }
        within(async {
            // The API server takes its time to serve it to everybody.
            while tenant.create(&orders(MINE), &evil).await.is_err() {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        })
        .await;
        let path = format!("{}/evil", orders(MINE));
        stage.ready(&path).await;
        if is_edited {
            tenant.patch(&path, &edit).await.unwrap();
        }
        bridge.rests().await;
        assert_eq!(stage.values(MINE).await, ["mine"]);
        tenant.delete(&path).await.unwrap();
        stage.gone(&path).await;
        assert_eq!(stage.values(MINE).await, [""; 0]);
        bridge.rests().await;
        assert_eq!(stored(&stage, &paths).await, before, "edited: {is_edited}");
    }
    bridge.end().await;
}

/// Also one of the same name, one that asks for the foreground, and one whose schema lets any field through.
#[tokio::test]
async fn claims_that_name_what_another_claim_has_bound_touch_nothing_of_it() {
    let (stage, bridge, tenant) = begin().await;
    stage.define_claimed().await;
    stage
        .create(&claims(THEIRS), &claim("a", &json!({"first": "1"})))
        .await;
    let bound = stage.ready(&format!("{}/a", claims(THEIRS))).await;
    bridge.rests().await;
    let map = composed(&stage, THEIRS).await.remove(0);
    let map = text(&map, "/metadata/name");
    let paths = [
        format!("{}/a", claims(THEIRS)),
        composite_of(&bound),
        format!("{}/{map}", maps(THEIRS)),
        format!("{}/plain", maps(THEIRS)),
    ];
    let before = stored(&stage, &paths).await;
    for name in ["a", "b"] {
        let mut evil = claim(name, &json!({"first": "mine"}));
        evil["metadata"]["annotations"] = json!({"crossbridge.dev/release": release(&before)});
        evil["spec"]["resourceRef"] = bound["spec"]["resourceRef"].clone();
        evil["spec"]["compositeDeletePolicy"] = "Foreground".into();
        within(async {
            while tenant.create(&claims(MINE), &evil).await.is_err() {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        })
        .await;
        let path = format!("{}/{name}", claims(MINE));
        stage.condition(&path, "Synced", "ReconcileError").await;
        tenant.delete(&path).await.unwrap();
        stage.gone(&path).await;
    }
    let mut evil = claim("c", &json!({"first": "mine"}));
    evil["spec"]["claimRef"] =
        json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Purchase", "namespace": THEIRS, "name": "a"});
    evil["spec"]["resourceRefs"] = json!([
        {"apiVersion": "v1", "kind": "ConfigMap", "namespace": THEIRS, "name": map},
        {"apiVersion": "v1", "kind": "ConfigMap", "namespace": THEIRS, "name": "plain"},
    ]);
    tenant.create(&claims(MINE), &evil).await.unwrap();
    let path = format!("{}/c", claims(MINE));
    let composite = composite_of(&stage.ready(&path).await);
    let named = stage.admin.get(&composite).await.unwrap();
    assert_eq!(text(&named, "/spec/claimRef/namespace"), MINE);
    assert_eq!(text(&named, "/spec/claimRef/name"), "c");
    assert_eq!(stage.values(MINE).await, ["mine"]);
    tenant.delete(&path).await.unwrap();
    stage.gone(&composite).await;
    assert_eq!(stage.values(MINE).await, [""; 0]);
    bridge.rests().await;
    assert_eq!(stored(&stage, &paths).await, before);
    bridge.end().await;
}

fn usage(name: &str, of: &Value, by: &Value) -> Value {
    json!({
        "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage", "metadata": {"name": name},
        "spec": {"of": of, "by": by, "replayDeletion": true},
    })
}

fn named(name: &str, namespace: Option<&str>) -> Value {
    let mut named = json!({"apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": name}});
    if let Some(namespace) = namespace {
        named["resourceRef"]["namespace"] = namespace.into();
    }
    named
}

/// As in Crossplane, one that says what of its own uses the resource protects it in another namespace: that can be forbidden, and deletes nothing.
#[tokio::test]
async fn usages_of_another_namespace_delete_nothing_and_can_be_forbidden() {
    let (stage, bridge, tenant) = begin().await;
    let plain = format!("{}/plain", maps(THEIRS));
    let before = stage.admin.get(&plain).await.unwrap();
    let own = json!({"metadata": {"name": "own"}});
    tenant.create(&maps(MINE), &own).await.unwrap();

    // Without anything that uses it none is admitted, and what uses it is in the tenant's own namespace, whatever is written.
    let mut reason = usage("reason", &named("plain", Some(THEIRS)), &Value::Null);
    reason["spec"] = json!({"of": named("plain", Some(THEIRS)), "reason": "mine"});
    let refused = tenant.create(&usages(MINE), &reason).await;
    assert!(matches!(refused, Err(ApiError::Invalid(_))), "{refused:?}");
    let by_theirs = usage("by", &named("own", None), &named("plain", Some(THEIRS)));
    tenant.create(&usages(MINE), &by_theirs).await.unwrap();
    let path = format!("{}/by", usages(MINE));
    stage.condition(&path, "Ready", "ResourceNotFound").await;
    tenant.delete(&path).await.unwrap();
    stage.gone(&path).await;
    assert_eq!(stage.admin.get(&plain).await.unwrap(), before);

    let of_theirs = usage("of", &named("plain", Some(THEIRS)), &named("own", None));
    tenant.create(&usages(MINE), &of_theirs).await.unwrap();
    let path = format!("{}/of", usages(MINE));
    stage.condition(&path, "Ready", "Available").await;
    let marked = stage.admin.get(&plain).await.unwrap();
    let by = text(&marked, "/metadata/annotations/crossbridge.dev~1in-use-by");
    assert!(by.contains("mine/of"), "who holds it is named: {marked:#}");

    let policies = include_str!("../../../../../deploy/usages-own-namespace.yaml");
    let folder = "/apis/admissionregistration.k8s.io/v1";
    for document in serde_yaml_ng::Deserializer::from_str(policies) {
        let object = Value::deserialize(document).unwrap();
        let plural = match text(&object, "/kind") {
            "ValidatingAdmissionPolicy" => "validatingadmissionpolicies",
            _ => "validatingadmissionpolicybindings",
        };
        stage.create(&format!("{folder}/{plural}"), &object).await;
    }
    let selected = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "resourceSelector": {"matchLabels": {"a": "b"}, "namespace": THEIRS},
    });
    for (name, of) in [("named", named("plain", Some(THEIRS))), ("selected", selected)] {
        let evil = usage(name, &of, &named("own", None));
        // It takes a moment until the policy is in force.
        let tried = format!("{}?dryRun=All", usages(MINE));
        let refused = within(async {
            loop {
                if let Err(error) = tenant.create(&tried, &evil).await {
                    return error;
                }
                tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            }
        })
        .await;
        assert!(
            refused.to_string().contains("of its own namespace alone"),
            "{refused}"
        );
    }
    // The one from before ends all the same.
    tenant.delete(&path).await.unwrap();
    stage.gone(&path).await;
    let left = stage.admin.get(&plain).await.unwrap();
    let metadata = |object: &Value, field: &str| object["metadata"][field].clone();
    for field in [
        "uid",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
        "deletionTimestamp",
    ] {
        assert_eq!(metadata(&left, field), metadata(&before, field), "{field}");
    }
    assert_eq!(left["data"], before["data"]);
    // One of its own is admitted, named with the namespace and without it.
    tenant
        .create(&maps(MINE), &json!({"metadata": {"name": "db"}}))
        .await
        .unwrap();
    for namespace in [None, Some(MINE)] {
        let good = usage("good", &named("db", namespace), &named("own", None));
        tenant.create(&usages(MINE), &good).await.unwrap();
        let path = format!("{}/good", usages(MINE));
        stage.condition(&path, "Ready", "Available").await;
        tenant.delete(&path).await.unwrap();
        stage.gone(&path).await;
    }
    assert_eq!(
        metadata(&stage.admin.get(&plain).await.unwrap(), "labels"),
        Value::Null
    );
    bridge.end().await;
}

//! Definitions and compositions that cannot be used: each says what is wrong, and is served once that is put right.

use std::time::Duration;

use bridge_engine::api_error::ApiError;
use serde_json::{Value, json};

use super::stage::{
    Bridge, COMPOSITIONS, DEFINITIONS, GROUP, Stage, composition, crd_path, definition, definition_path,
    order, orders,
};
use crate::{admin, harness::within};

/// Message of a condition with this reason, once it has it.
async fn message(stage: &Stage, path: &str, type_: &str, reason: &str) -> String {
    let object = stage.condition(path, type_, reason).await;
    let conditions = object["status"]["conditions"].as_array().unwrap();
    let mut conditions = conditions.iter();
    let condition = conditions.find(|condition| condition["type"] == type_).unwrap();
    condition["message"].as_str().unwrap().to_owned()
}

/// An order is composed of, so that its type is served.
async fn is_composed(stage: &Stage, namespace: &str) {
    let namespace = stage.admin.namespace(namespace).await;
    stage
        .create(&orders(&namespace), &order("a", &json!({"first": "1"})))
        .await;
    stage.ready(&format!("{}/a", orders(&namespace))).await;
}

#[tokio::test]
async fn a_definition_without_one_referenceable_version_says_so_until_it_has_one() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let version = |name: &str, referenceable: bool| json!({"name": name, "served": true, "referenceable": referenceable, "schema": schema});
    let mut wrong = definition();
    wrong["spec"]["versions"] = json!([version("v1", false)]);
    stage.create(DEFINITIONS, &wrong).await;
    stage.create(COMPOSITIONS, &composition("1")).await;
    let path = definition_path();
    let said = message(&stage, &path, "Established", "InvalidDefinition").await;
    let none = "no version is referenceable: set referenceable: true on exactly one version";
    assert!(said.contains(none), "{said}");

    let two = json!({"spec": {"versions": [version("v1", true), version("v2", true)]}});
    stage.admin.patch(&path, &two).await.unwrap();
    let both = "versions v1, v2 are referenceable: set referenceable: true on exactly one version";
    let says_both = |object: &Value| object["status"]["conditions"].to_string().contains(both);
    stage.object(&path, says_both).await;

    let right = json!({"spec": {"versions": definition()["spec"]["versions"]}});
    stage.admin.patch(&path, &right).await.unwrap();
    stage
        .condition(&path, "Established", "WatchingCompositeResource")
        .await;
    is_composed(&stage, "one").await;
    bridge.end().await;
}

#[tokio::test]
async fn a_definition_whose_schema_is_not_structural_says_so_until_it_is() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    let mut wrong = definition();
    let spec = &mut wrong["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    spec["properties"]["values"] = json!({});
    stage.create(DEFINITIONS, &wrong).await;
    stage.create(COMPOSITIONS, &composition("1")).await;
    let path = definition_path();
    let said = message(&stage, &path, "Established", "CrdRejected").await;
    assert!(said.contains("properties[values].type: Required value"), "{said}");
    bridge.rests().await;

    let right = json!({"spec": {"versions": definition()["spec"]["versions"]}});
    stage.admin.patch(&path, &right).await.unwrap();
    stage
        .condition(&path, "Established", "WatchingCompositeResource")
        .await;
    is_composed(&stage, "one").await;
    bridge.end().await;
}

#[tokio::test]
async fn a_crd_of_another_owner_is_left_alone_and_named() {
    let stage = Stage::installed().await;
    let owner = stage
        .admin
        .create("/api/v1/namespaces", &json!({"metadata": {"name": "owner"}}))
        .await
        .unwrap();
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let theirs = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("orders.{GROUP}"), "ownerReferences": [{
            "apiVersion": "v1", "kind": "Namespace", "name": "owner", "uid": owner["metadata"]["uid"], "controller": true,
        }]},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"kind": "Order", "listKind": "OrderList", "plural": "orders", "singular": "order"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    stage.admin.create(admin::DEFINITIONS, &theirs).await.unwrap();
    let theirs = stage
        .condition(&crd_path(), "Established", "InitialNamesAccepted")
        .await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.create(DEFINITIONS, &definition()).await;
    stage.create(COMPOSITIONS, &composition("1")).await;
    let said = message(&stage, &definition_path(), "Established", "CrdConflict").await;
    let expected = format!(
        r#"the CustomResourceDefinition "orders.{GROUP}" is controlled by Namespace "owner" (uid {}), and is left as it is: delete one of the two, or rename this type"#,
        owner["metadata"]["uid"].as_str().unwrap()
    );
    assert_eq!(said, expected);
    // Its objects are another's, too.
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", orders(&namespace));
    stage
        .create(&orders(&namespace), &order("a", &json!({"first": "1"})))
        .await;
    bridge.rests().await;
    assert_eq!(stage.admin.get(&crd_path()).await.unwrap(), theirs);
    assert_eq!(stage.admin.get(&path).await.unwrap()["status"], Value::Null);

    stage.admin.delete(&crd_path()).await.unwrap();
    stage
        .condition(&definition_path(), "Established", "WatchingCompositeResource")
        .await;
    is_composed(&stage, "two").await;
    bridge.end().await;
}

/// It has another plural, and another owner, too.
#[tokio::test]
async fn a_kind_that_another_crd_has_is_served_once_that_is_gone() {
    let stage = Stage::installed().await;
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let theirs = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("orderings.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"kind": "Order", "listKind": "OrderingList", "plural": "orderings", "singular": "ordering"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    stage.admin.create(admin::DEFINITIONS, &theirs).await.unwrap();
    let path = format!("{}/orderings.{GROUP}", admin::DEFINITIONS);
    let theirs = stage
        .condition(&path, "Established", "InitialNamesAccepted")
        .await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.create(DEFINITIONS, &definition()).await;
    stage.create(COMPOSITIONS, &composition("1")).await;
    let said = message(&stage, &definition_path(), "Established", "CrdNotEstablished").await;
    assert!(said.contains(r#""Order" is already in use"#), "{said}");
    bridge.rests().await;
    assert_eq!(stage.admin.get(&path).await.unwrap(), theirs);

    stage.admin.delete(&path).await.unwrap();
    stage
        .condition(&definition_path(), "Established", "WatchingCompositeResource")
        .await;
    is_composed(&stage, "one").await;
    bridge.end().await;
}

#[tokio::test]
async fn a_composition_of_another_type_is_named_and_composes_nothing() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let mut other = composition("1");
    other["metadata"]["name"] = "parcels".into();
    other["spec"]["compositeTypeRef"]["kind"] = "Parcel".into();
    stage.create(COMPOSITIONS, &other).await;
    let namespace = stage.admin.namespace("one").await;
    let mut wrong = order("a", &json!({"first": "1"}));
    wrong["spec"]["crossplane"] = json!({"compositionRef": {"name": "parcels"}});
    stage.create(&orders(&namespace), &wrong).await;
    let path = format!("{}/a", orders(&namespace));
    let said = message(&stage, &path, "Synced", "ReconcileError").await;
    assert_eq!(
        said,
        "cannot configure composite resource: referenced composition is not compatible with this composite resource"
    );
    is_composed(&stage, "two").await;
    bridge.rests().await;
    let right = json!({"spec": {"crossplane": {"compositionRef": {"name": "orders"}}}});
    stage.admin.patch(&path, &right).await.unwrap();
    stage.ready(&path).await;
    bridge.end().await;
}

#[tokio::test]
async fn a_missing_credential_is_named_until_it_comes() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    let namespace = stage.admin.namespace("one").await;
    stage.create(DEFINITIONS, &definition()).await;
    let mut wanting = composition("1");
    wanting["spec"]["pipeline"][0]["credentials"] = json!([{
        "name": "cloud", "source": "Secret", "secretRef": {"namespace": namespace, "name": "credentials"},
    }]);
    stage.create(COMPOSITIONS, &wanting).await;
    stage
        .condition(&definition_path(), "Established", "WatchingCompositeResource")
        .await;
    stage
        .create(&orders(&namespace), &order("a", &json!({"first": "1"})))
        .await;
    let path = format!("{}/a", orders(&namespace));
    let said = message(&stage, &path, "Synced", "ReconcileError").await;
    let named = r#"cannot get Composition pipeline step "config-maps" credential "cloud" from Secret: "#;
    assert!(said.contains(named) && said.contains("one/credentials"), "{said}");
    bridge.rests().await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "credentials"}});
    stage
        .create(&format!("/api/v1/namespaces/{namespace}/secrets"), &secret)
        .await;
    stage.ready(&path).await;
    bridge.end().await;
}

/// Whether the API server needs the webhook for its answer. It serves what a CRD says from a moment after it has stored that.
fn needs_webhook(answer: &Result<Value, ApiError>) -> bool {
    let Err(error) = answer else { return false };
    let is_so = error.to_string().contains("conversion webhook");
    assert!(is_so || error.is_transient(), "{error}");
    is_so
}

/// The API server cannot show orders in another version than they are stored in. The webhook never answers.
#[tokio::test]
async fn a_conversion_webhook_that_is_down_holds_up_its_own_type_alone() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    let mut converted = definition();
    let version = |name: &str, referenceable: bool| {
        let mut version = definition()["spec"]["versions"][0].clone();
        (version["name"], version["referenceable"]) = (name.into(), referenceable.into());
        version
    };
    converted["spec"]["versions"] = json!([version("v1", true), version("v2", false)]);
    converted["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/convert"},
    }});
    stage.create(DEFINITIONS, &converted).await;
    stage.create(COMPOSITIONS, &composition("1")).await;
    is_composed(&stage, "one").await;

    let later = json!({"spec": {"versions": [version("v1", false), version("v2", true)]}});
    stage.admin.patch(&definition_path(), &later).await.unwrap();
    let is_stored_as_v2 = |crd: &Value| crd["spec"]["versions"][1]["storage"] == true;
    stage.object(&crd_path(), is_stored_as_v2).await;
    let shown = format!("{}/a", orders("one").replace("/v1/", "/v2/"));
    within(async {
        while !needs_webhook(&stage.admin.get(&shown).await) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;

    let mut parcels = definition();
    parcels["metadata"]["name"] = format!("parcels.{GROUP}").into();
    parcels["spec"]["names"] = json!({"kind": "Parcel", "plural": "parcels"});
    stage.create(DEFINITIONS, &parcels).await;
    let mut of_parcels = composition("1");
    of_parcels["metadata"]["name"] = "parcels".into();
    of_parcels["spec"]["compositeTypeRef"]["kind"] = "Parcel".into();
    stage.create(COMPOSITIONS, &of_parcels).await;
    let path = definition_path().replace("/orders.", "/parcels.");
    stage
        .condition(&path, "Established", "WatchingCompositeResource")
        .await;
    let mut parcel = order("p", &json!({"first": "2"}));
    parcel["kind"] = "Parcel".into();
    let folder = orders("one").replace("/orders", "/parcels");
    stage.create(&folder, &parcel).await;
    stage.ready(&format!("{folder}/p")).await;

    let former = json!({"spec": {"versions": converted["spec"]["versions"]}});
    stage.admin.patch(&definition_path(), &former).await.unwrap();
    let is_stored_as_v1 = |crd: &Value| crd["spec"]["versions"][0]["storage"] == true;
    stage.object(&crd_path(), is_stored_as_v1).await;
    let edit = json!({"spec": {"values": {"first": "3"}}});
    let edited = format!("{}/a", orders("one"));
    within(async {
        while let refused @ Err(_) = stage.admin.patch(&edited, &edit).await {
            needs_webhook(&refused);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    stage.values_become("one", &["2", "3"]).await;
    bridge.end().await;
}

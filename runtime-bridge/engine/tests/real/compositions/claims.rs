//! Claims from their definition to the composed objects and back.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::stage::{Bridge, CLAIM, COMPOSITIONS, DEFINITIONS, GROUP, REVISIONS, Stage, composition};
use crate::harness::within;

pub fn claims(namespace: &str) -> String {
    format!("/apis/{GROUP}/v1/namespaces/{namespace}/purchases")
}

pub fn composite(name: &str) -> String {
    format!("/apis/{GROUP}/v1/xpurchases/{name}")
}

pub fn claim(name: &str, values: &Value) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": CLAIM,
        "metadata": {"name": name, "labels": {"one": "1", "two": "2"}},
        "spec": {"values": values},
    })
}

pub fn composite_of(claim: &Value) -> String {
    composite(claim["spec"]["resourceRef"]["name"].as_str().unwrap())
}

/// Its conditions are of what it is now.
fn says_all(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.all(|condition| condition["observedGeneration"] == object["metadata"]["generation"])
}

/// What a bridge wrote since, by verb and resource.
pub fn since(bridge: &Bridge, before: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let now = bridge.writes().into_iter();
    now.map(|(write, count)| (write.clone(), count - before.get(&write).unwrap_or(&0)))
        .filter(|(_, count)| *count > 0)
        .collect()
}

pub fn counted<const N: usize>(writes: [(&str, u64); N]) -> BTreeMap<String, u64> {
    writes.map(|(write, count)| (write.to_owned(), count)).into()
}

#[tokio::test]
async fn a_claim_is_composed_changed_deleted_and_created_again() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    bridge.rests().await;

    let before = bridge.writes();
    let mut wanted = claim("a", &json!({"first": "1", "second": "2"}));
    // The schema lets it through.
    wanted["spec"]["resourceRefs"] = json!([{"apiVersion": "v1", "kind": "Secret", "name": "smuggled"}]);
    wanted["spec"]["free"] = json!({"list": ["x", "y"], "map": {"a": "1", "b": "2"}});
    stage.create(&claims(&namespace), &wanted).await;
    let path = format!("{}/a", claims(&namespace));
    let made = stage.ready(&path).await;
    assert_eq!(stage.values(&namespace).await, ["1", "2"]);
    bridge.rests().await;
    let writes = counted([
        ("create configmaps", 2),
        ("create xpurchases", 1),
        ("update purchases", 2),
        ("update xpurchases", 2),
    ]);
    assert_eq!(since(&bridge, &before), writes);
    let xr = stage.admin.get(&composite_of(&made)).await.unwrap();
    assert_eq!(xr["spec"]["resourceRefs"].as_array().unwrap().len(), 2);
    assert_eq!(xr["metadata"]["labels"]["crossplane.io/claim-name"], "a");
    assert_eq!(
        made["spec"]["compositionRevisionRef"],
        xr["spec"]["compositionRevisionRef"]
    );
    let maps = format!("/api/v1/namespaces/{namespace}/configmaps?labelSelector=crossplane.io/claim-name=a");
    let maps = stage.admin.get(&maps).await.unwrap();
    assert_eq!(maps["items"].as_array().unwrap().len(), 2);

    let change = json!({
        "metadata": {"labels": {"two": null}},
        "spec": {"values": {"first": "one", "second": null}, "free": {"list": ["y"], "map": {"a": null}}},
    });
    stage.admin.patch(&path, &change).await.unwrap();
    stage.values_become(&namespace, &["one"]).await;
    let xr = stage.admin.get(&composite_of(&made)).await.unwrap();
    assert_eq!(xr["spec"]["free"], json!({"list": ["y"], "map": {"b": "2"}}));
    let labels = &xr["metadata"]["labels"];
    assert_eq!((&labels["one"], &labels["two"]), (&json!("1"), &Value::Null));
    let refers_to_one = |xr: &Value| {
        let refs = xr["spec"]["resourceRefs"].as_array();
        refs.is_some_and(|refs| refs.len() == 1) && says_all(xr)
    };
    stage.object(&composite_of(&made), refers_to_one).await;
    stage.object(&path, says_all).await;
    bridge.rests().await;

    let before = bridge.writes();
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    stage.gone(&composite_of(&made)).await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    assert_eq!(since(&bridge, &before)["delete xpurchases"], 1);
    for (reason, message) in [
        ("BindCompositeResource", "Successfully bound composite resource"),
        (
            "DeleteCompositeResource",
            "Successfully deleted composite resource",
        ),
    ] {
        stage.event(&namespace, reason, message).await;
    }
    stage
        .create(&claims(&namespace), &claim("a", &json!({"first": "again"})))
        .await;
    let again = stage.ready(&path).await;
    assert_ne!(composite_of(&again), composite_of(&made));
    assert_eq!(stage.values(&namespace).await, ["again"]);
    bridge.end().await;
}

#[tokio::test]
async fn a_bridge_that_is_restarted_writes_nothing_for_its_claims() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", claims(&namespace));
    stage
        .create(&claims(&namespace), &claim("a", &json!({"first": "1"})))
        .await;
    stage.ready(&path).await;
    bridge.end().await;

    let before = stage.admin.get(&path).await.unwrap();
    let bridge = Bridge::start(&stage.plane).await;
    stage.create(&claims(&namespace), &claim("b", &json!({}))).await;
    stage.ready(&format!("{}/b", claims(&namespace))).await;
    bridge.rests().await;
    assert_eq!(stage.admin.get(&path).await.unwrap(), before);
    // Those of the second claim alone.
    let writes = counted([
        ("create xpurchases", 1),
        ("update purchases", 2),
        ("update xpurchases", 2),
    ]);
    assert_eq!(bridge.writes(), writes);
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    bridge.end().await;
}

#[tokio::test]
async fn a_deletion_shows_on_a_claim_until_all_is_gone() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", claims(&namespace));
    stage
        .create(&claims(&namespace), &claim("a", &json!({"first": "1"})))
        .await;
    let made = stage.ready(&path).await;
    let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
    let list = stage
        .admin
        .get(&format!("{maps}?labelSelector=crossplane.io/composite"))
        .await
        .unwrap();
    let map = format!(
        "{maps}/{}",
        list["items"][0]["metadata"]["name"].as_str().unwrap()
    );
    let hold = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
    stage
        .admin
        .patch(&map, &hold(json!(["test.example.org/hold"])))
        .await
        .unwrap();
    stage.admin.delete(&path).await.unwrap();
    let says_what_remains = |claim: &Value| {
        let conditions = claim["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|condition| {
            let message = condition["message"].as_str().unwrap_or_default();
            condition["reason"] == "Deleting" && message.starts_with("1 of 1 composed resources remain")
        })
    };
    stage.object(&path, says_what_remains).await;
    stage.admin.patch(&map, &hold(Value::Null)).await.unwrap();
    stage.gone(&path).await;
    stage.gone(&composite_of(&made)).await;
    bridge.end().await;
}

#[tokio::test]
async fn a_definition_is_deleted_with_its_claims() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    for namespace in ["one", "two"] {
        let namespace = stage.admin.namespace(namespace).await;
        stage
            .create(&claims(&namespace), &claim("a", &json!({"first": "1"})))
            .await;
        stage.ready(&format!("{}/a", claims(&namespace))).await;
    }
    let definition = format!("{DEFINITIONS}/xpurchases.{GROUP}");
    stage.admin.delete(&definition).await.unwrap();
    stage.gone(&definition).await;
    for plural in ["purchases", "xpurchases"] {
        stage
            .gone(&format!("{}/{plural}.{GROUP}", crate::admin::DEFINITIONS))
            .await;
    }
    for namespace in ["one", "two"] {
        assert_eq!(stage.values(namespace).await, [""; 0], "{namespace}");
    }
    bridge.end().await;
}

#[tokio::test]
async fn a_definition_deleted_while_no_bridge_ran_takes_its_claims() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    stage
        .create(&claims(&namespace), &claim("a", &json!({"first": "1"})))
        .await;
    stage.ready(&format!("{}/a", claims(&namespace))).await;
    bridge.end().await;

    let definition = format!("{DEFINITIONS}/xpurchases.{GROUP}");
    stage.admin.delete(&definition).await.unwrap();
    let bridge = Bridge::start(&stage.plane).await;
    stage.gone(&definition).await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    bridge.end().await;
}

async fn offers_no_claims(stage: &Stage) {
    let definition = format!("{DEFINITIONS}/xpurchases.{GROUP}");
    let edit = json!({"spec": {"claimNames": null}});
    // In the version that knows claims.
    let claimed = definition.replace("/v2/", "/v1/");
    stage.admin.patch(&claimed, &edit).await.unwrap();
    let ended = stage
        .condition(&definition, "Offered", "TerminatingCompositeResourceClaim")
        .await;
    let conditions = ended["status"]["conditions"].as_array().unwrap();
    let message = "waiting for 1 composite resource claim(s) to be deleted";
    assert!(
        conditions.iter().any(|one| one["message"] == message),
        "{ended:#}"
    );
}

#[tokio::test]
async fn claims_that_are_offered_no_more_stay_until_their_users_delete_them() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", claims(&namespace));
    stage
        .create(&claims(&namespace), &claim("a", &json!({"first": "1"})))
        .await;
    stage.ready(&path).await;
    offers_no_claims(&stage).await;
    bridge.end().await;

    let bridge = Bridge::start(&stage.plane).await;
    let edit = json!({"spec": {"values": {"first": "one"}}});
    stage.admin.patch(&path, &edit).await.unwrap();
    stage.values_become(&namespace, &["one"]).await;
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    let crd = format!("{}/purchases.{GROUP}", crate::admin::DEFINITIONS);
    stage.gone(&crd).await;
    let definition = format!("{DEFINITIONS}/xpurchases.{GROUP}");
    let offers_none = |definition: &Value| {
        let conditions = definition["status"]["conditions"].as_array();
        conditions
            .into_iter()
            .flatten()
            .all(|one| one["type"] != "Offered")
    };
    stage.object(&definition, offers_none).await;
    bridge.end().await;
}

/// Else nobody would serve the former ones, and their finalizers would stay.
#[tokio::test]
async fn claims_of_other_names_are_offered_once_the_former_are_gone() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", claims(&namespace));
    stage
        .create(&claims(&namespace), &claim("a", &json!({"first": "1"})))
        .await;
    stage.ready(&path).await;
    offers_no_claims(&stage).await;
    let definition = format!("{DEFINITIONS}/xpurchases.{GROUP}").replace("/v2/", "/v1/");
    let names = json!({"kind": "Acquisition", "plural": "acquisitions"});
    let edit = json!({"spec": {"claimNames": names}});
    stage.admin.patch(&definition, &edit).await.unwrap();
    bridge.end().await;

    let bridge = Bridge::start(&stage.plane).await;
    let edit = json!({"spec": {"values": {"first": "one"}}});
    stage.admin.patch(&path, &edit).await.unwrap();
    stage.values_become(&namespace, &["one"]).await;
    let crd = |plural: &str| format!("{}/{plural}.{GROUP}", crate::admin::DEFINITIONS);
    assert!(
        stage.admin.get(&crd("acquisitions")).await.is_err(),
        "both at once"
    );
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    stage.gone(&crd("purchases")).await;
    let others = claims(&namespace).replace("purchases", "acquisitions");
    let mut other = claim("b", &json!({"first": "2"}));
    other["kind"] = "Acquisition".into();
    within(async {
        while stage.admin.create(&others, &other).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    stage.ready(&format!("{others}/b")).await;
    stage.admin.delete(&format!("{others}/b")).await.unwrap();
    stage.gone(&format!("{others}/b")).await;
    bridge.end().await;
}

#[tokio::test]
async fn a_definition_takes_claims_along_that_it_offers_no_more() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    stage
        .create(&claims(&namespace), &claim("a", &json!({"first": "1"})))
        .await;
    stage.ready(&format!("{}/a", claims(&namespace))).await;
    offers_no_claims(&stage).await;
    bridge.end().await;

    let definition = format!("{DEFINITIONS}/xpurchases.{GROUP}");
    stage.admin.delete(&definition).await.unwrap();
    let bridge = Bridge::start(&stage.plane).await;
    stage.gone(&definition).await;
    stage
        .gone(&format!("{}/purchases.{GROUP}", crate::admin::DEFINITIONS))
        .await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    bridge.end().await;
}

#[tokio::test]
async fn a_composite_resource_of_another_claim_is_left_alone() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    stage
        .create(&claims(&namespace), &claim("a", &json!({"first": "1"})))
        .await;
    let made = stage.ready(&format!("{}/a", claims(&namespace))).await;
    let mut rival = claim("b", &json!({"first": "2"}));
    rival["spec"]["resourceRef"] = made["spec"]["resourceRef"].clone();
    stage.create(&claims(&namespace), &rival).await;
    let path = format!("{}/b", claims(&namespace));
    let refused = stage.condition(&path, "Synced", "ReconcileError").await;
    let name = made["spec"]["resourceRef"]["name"].as_str().unwrap();
    let conditions = refused["status"]["conditions"].as_array().unwrap();
    let synced = conditions.iter().find(|one| one["type"] == "Synced").unwrap();
    assert_eq!(
        synced["message"],
        format!(
            r#"refusing to operate on composite resource "{name}" that is not bound to this claim: bound to claim "a""#
        )
    );
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    bridge.rests().await;
    assert_eq!(stage.values(&namespace).await, ["1"]);
    bridge.end().await;
}

#[tokio::test]
async fn a_result_for_the_claim_becomes_an_event_of_both() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    stage
        .create(&claims(&namespace), &claim("a", &json!({"case": "for-claim"})))
        .await;
    stage.ready(&format!("{}/a", claims(&namespace))).await;
    let events = |namespace: &str, kind: &str| {
        format!(
            "/api/v1/namespaces/{namespace}/events?fieldSelector=reason=Sizing,involvedObject.kind={kind}"
        )
    };
    let reported = |list: &Value| {
        let items = list["items"].as_array().into_iter().flatten();
        let mut reported: Vec<(String, String)> = items
            .map(|event| (event["type"].to_string(), event["message"].to_string()))
            .collect();
        reported.sort();
        reported
    };
    let event = |type_: &str, message: &str| (json!(type_).to_string(), json!(message).to_string());
    let step = |message: &str| format!("Pipeline step \"config-maps\": {message}");
    let of_xr = [
        event("Normal", &step("size 6 it is")),
        event("Warning", &step("there is no size 7")),
    ];
    stage
        .object(&events("default", "XPurchase"), |list| reported(list) == of_xr)
        .await;
    let of_claim = [event("Warning", "there is no size 7")];
    stage
        .object(&events(&namespace, CLAIM), |list| reported(list) == of_claim)
        .await;
    bridge.end().await;
}

/// The newest two are kept, and those that anybody refers to, or did when the newest one was made. The first is that of a claim alone, which is paused.
#[tokio::test]
async fn revisions_go_that_no_claim_refers_to() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    stage
        .create(&claims(&namespace), &claim("a", &json!({"first": "2"})))
        .await;
    let moving = composite_of(&stage.ready(&format!("{}/a", claims(&namespace))).await);
    let of = |object: &Value| object["spec"]["compositionRevisionRef"]["name"].clone();
    let mut former = Vec::new();
    for input in ["2", "3", "4", "5"] {
        let before = of(&stage.admin.get(&moving).await.unwrap());
        if former.is_empty() {
            let mut pinned = claim("pinned", &json!({"first": "1"}));
            pinned["metadata"]["annotations"] = json!({"crossplane.io/paused": "true"});
            pinned["spec"]["compositionUpdatePolicy"] = "Manual".into();
            pinned["spec"]["compositionRevisionRef"] = json!({"name": before});
            stage.create(&claims(&namespace), &pinned).await;
        }
        let change = json!({"spec": {"pipeline": composition(input)["spec"]["pipeline"]}});
        let path = format!("{COMPOSITIONS}/purchases");
        stage.admin.patch(&path, &change).await.unwrap();
        stage.object(&moving, |composite| of(composite) != before).await;
        former.push(before);
    }
    let names = |list: &Value| -> Vec<Value> {
        let items = list["items"].as_array().into_iter().flatten();
        items
            .map(|revision| revision["metadata"]["name"].clone())
            .collect()
    };
    let left = stage.object(REVISIONS, |list| names(list).len() <= 4).await;
    let left = names(&left);
    assert!(
        left.contains(&former[0]) && !left.contains(&former[1]),
        "{left:?}, {former:?}"
    );
    bridge.end().await;
}

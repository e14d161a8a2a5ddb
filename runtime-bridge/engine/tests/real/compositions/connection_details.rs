//! Connection details: from functions into the Secret of a composite resource, from there into its claim's, and back to functions.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{
    claims::{claim, claims, composite_of, counted, since},
    stage::{Bridge, COMPOSITIONS, Stage},
};

fn holds(secret: &Value, expected: &[(&str, &str)]) -> bool {
    let expected = expected.iter();
    let expected: serde_json::Map<String, Value> = expected
        .map(|(key, value)| ((*key).to_owned(), STANDARD.encode(value).into()))
        .collect();
    secret["data"].as_object() == Some(&expected)
}

fn is_published(object: &Value) -> bool {
    object["status"]["connectionDetails"]["lastPublishedTime"].is_string()
}

/// Connection Secrets that nobody named go to this namespace.
async fn stage(namespace: &str) -> (Stage, Bridge, String) {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace(namespace).await;
    let place = json!({"spec": {"writeConnectionSecretsToNamespace": namespace}});
    stage
        .admin
        .patch(&format!("{COMPOSITIONS}/purchases"), &place)
        .await
        .unwrap();
    (stage, bridge, namespace)
}

fn wanting(name: &str, values: &Value, secret: &str) -> Value {
    let mut wanted = claim(name, values);
    wanted["spec"]["writeConnectionSecretToRef"] = json!({"name": secret});
    wanted
}

#[tokio::test]
async fn what_a_function_publishes_reaches_the_claim() {
    let (stage, bridge, namespace) = stage("one").await;
    let path = format!("{}/a", claims(&namespace));
    stage
        .create(
            &claims(&namespace),
            &wanting("a", &json!({"connect": "u"}), "mine"),
        )
        .await;
    let made = stage.ready(&path).await;
    let secrets = format!("/api/v1/namespaces/{namespace}/secrets");
    let xr = stage.object(&composite_of(&made), is_published).await;
    let (its, mine) = (
        format!("{secrets}/{}", xr["metadata"]["uid"].as_str().unwrap()),
        format!("{secrets}/mine"),
    );
    let source = stage.object(&its, |secret| holds(secret, &[("user", "u")])).await;
    assert_eq!(source["type"], "connection.crossplane.io/v1alpha1");
    assert_eq!(
        source["metadata"]["ownerReferences"][0]["uid"],
        xr["metadata"]["uid"]
    );
    assert_eq!(source["metadata"]["ownerReferences"][0]["controller"], true);
    stage
        .object(&mine, |secret| holds(secret, &[("user", "u")]))
        .await;
    stage.object(&path, is_published).await;
    bridge.rests().await;

    // What a person changes comes back, in both; a key of another's stays in the composite resource's alone.
    let data = json!({"data": {"user": STANDARD.encode("x"), "more": STANDARD.encode("y")}});
    stage.admin.patch(&mine, &data).await.unwrap();
    stage
        .object(&mine, |secret| holds(secret, &[("user", "u")]))
        .await;
    stage.admin.patch(&its, &data).await.unwrap();
    stage
        .object(&its, |secret| holds(secret, &[("user", "u"), ("more", "y")]))
        .await;
    stage
        .object(&mine, |secret| holds(secret, &[("user", "u"), ("more", "y")]))
        .await;
    stage.admin.delete(&its).await.unwrap();
    stage.object(&its, |secret| holds(secret, &[("user", "u")])).await;
    stage
        .object(&mine, |secret| holds(secret, &[("user", "u")]))
        .await;

    stage
        .admin
        .patch(&path, &json!({"spec": {"values": {"connect": "v"}}}))
        .await
        .unwrap();
    stage
        .object(&mine, |secret| holds(secret, &[("user", "v")]))
        .await;
    // No garbage collector runs here.
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    stage.gone(&its).await;
    stage.gone(&mine).await;
    bridge.end().await;
}

/// Its own are two of itself, one of its composite resource, and one of its Secret.
#[tokio::test]
async fn a_claim_with_a_secret_becomes_ready_by_four_writes_of_its_own() {
    let (stage, bridge, namespace) = stage("one").await;
    bridge.rests().await;
    let before = bridge.writes();
    let wanted = wanting("a", &json!({"connect": "u"}), "mine");
    stage.create(&claims(&namespace), &wanted).await;
    let path = format!("{}/a", claims(&namespace));
    let made = stage.ready(&path).await;
    assert!(is_published(&made), "{made:#}");
    let mine = format!("/api/v1/namespaces/{namespace}/secrets/mine");
    stage
        .object(&mine, |secret| holds(secret, &[("user", "u")]))
        .await;
    bridge.rests().await;
    let writes = counted([
        ("create xpurchases", 1),
        ("update purchases", 2),
        // Another one of each is of the composite resource.
        ("create secrets", 2),
        ("update xpurchases", 2),
    ]);
    assert_eq!(since(&bridge, &before), writes);
    bridge.end().await;
}

#[tokio::test]
async fn functions_see_connection_details_of_what_they_composed() {
    let (stage, bridge, namespace) = stage("one").await;
    let path = format!("{}/a", claims(&namespace));
    stage
        .create(
            &claims(&namespace),
            &wanting("a", &json!({"nest": "deep"}), "mine"),
        )
        .await;
    let mine = format!("/api/v1/namespaces/{namespace}/secrets/mine");
    stage
        .object(&mine, |secret| holds(secret, &[("seen", "deep")]))
        .await;
    stage
        .admin
        .patch(&path, &json!({"spec": {"values": {"nest": "deeper"}}}))
        .await
        .unwrap();
    stage
        .object(&mine, |secret| holds(secret, &[("seen", "deeper")]))
        .await;
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    bridge.end().await;
}

#[tokio::test]
async fn a_secret_of_somebody_else_is_left_alone_and_named() {
    let (stage, bridge, namespace) = stage("one").await;
    let secrets = format!("/api/v1/namespaces/{namespace}/secrets");
    let foreign = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "theirs"}, "data": {"user": STANDARD.encode("t")}});
    stage.create(&secrets, &foreign).await;
    let xr = json!({
        "apiVersion": "shop.example.org/v1", "kind": "XPurchase", "metadata": {"name": "x"},
        "spec": {"values": {"connect": "u", "own": "?"}, "writeConnectionSecretToRef": {"name": "theirs", "namespace": namespace}},
    });
    stage.create("/apis/shop.example.org/v1/xpurchases", &xr).await;
    let path = "/apis/shop.example.org/v1/xpurchases/x";
    let says_so = |xr: &Value| {
        let mut conditions = xr["status"]["conditions"].as_array().into_iter().flatten();
        conditions.any(|condition| {
            condition["type"] == "Synced"
                && condition["message"]
                    == "cannot publish connection details: refusing to modify uncontrolled secret of type \"Opaque\""
        })
    };
    stage.object(path, says_so).await;
    bridge.rests().await;
    let theirs = format!("{secrets}/theirs");
    assert!(holds(&stage.admin.get(&theirs).await.unwrap(), &[("user", "t")]));
    // It is not even shown to functions.
    assert_eq!(stage.values(&namespace).await, [""]);
    // Another one that is named is taken at once.
    let change = json!({"spec": {"writeConnectionSecretToRef": {"name": "its"}}});
    stage.admin.patch(path, &change).await.unwrap();
    stage
        .object(&format!("{secrets}/its"), |secret| {
            holds(secret, &[("user", "u")])
        })
        .await;
    stage.ready(path).await;
    stage
        .admin
        .patch(path, &json!({"spec": {"values": {"connect": "v"}}}))
        .await
        .unwrap();
    stage.values_become(&namespace, &["user"]).await;
    stage.admin.delete(path).await.unwrap();
    stage.gone(path).await;
    assert!(holds(&stage.admin.get(&theirs).await.unwrap(), &[("user", "t")]));
    bridge.end().await;
}

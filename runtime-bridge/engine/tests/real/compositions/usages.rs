//! Usages, and what they protect.

mod composed;
mod cycle;
mod labels;
mod unlisted;
mod using;

use serde_json::{Value, json};

use super::{
    count,
    stage::{Bridge, Stage, order, orders},
};

/// A stage with a namespace, without a definition.
async fn begin() -> (Stage, Bridge, String) {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    let namespace = stage.admin.namespace("one").await;
    (stage, bridge, namespace)
}

pub(super) fn maps(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

pub(super) fn usages(namespace: &str) -> String {
    format!("/apis/protection.crossplane.io/v1beta1/namespaces/{namespace}/usages")
}

pub(super) fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

pub(super) fn named(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": name}})
}

pub(super) fn usage(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage",
        "metadata": {"name": name}, "spec": spec,
    })
}

/// `app` uses `db`.
pub(super) fn app_uses_db() -> Value {
    usage("protect-db", &json!({"of": named("db"), "by": named("app")}))
}

async fn ready(stage: &Stage, path: &str) -> Value {
    stage.condition(path, "Ready", "Available").await
}

fn hold(finalizers: &Value) -> Value {
    json!({"metadata": {"finalizers": finalizers}})
}

pub(super) fn is_in_use(object: &Value) -> bool {
    object["metadata"]["labels"]["crossplane.io/in-use"] == "true"
}

fn message(object: &Value, type_: &str) -> String {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let mut of_type = conditions.filter(|one| one["type"] == type_);
    let condition = of_type.next().cloned().unwrap_or_default();
    condition["message"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_usage_is_ready_after_three_writes_and_gone_after_two() {
    let (stage, bridge, namespace) = begin().await;
    for name in ["db", "app"] {
        stage.create(&maps(&namespace), &map(name)).await;
    }
    let path = format!("{}/protect-db", usages(&namespace));
    stage.create(&usages(&namespace), &app_uses_db()).await;
    let made = ready(&stage, &path).await;
    let annotations = &made["metadata"]["annotations"];
    assert_eq!(
        annotations["crossplane.io/usage-details"],
        "ConfigMap/app uses ConfigMap/db"
    );
    let app = stage
        .admin
        .get(&format!("{}/app", maps(&namespace)))
        .await
        .unwrap();
    assert_eq!(
        made["metadata"]["ownerReferences"][0]["uid"],
        app["metadata"]["uid"]
    );
    assert_eq!(
        made["metadata"]["finalizers"],
        json!(["usage.apiextensions.crossplane.io"])
    );
    let db = stage
        .admin
        .get(&format!("{}/db", maps(&namespace)))
        .await
        .unwrap();
    assert!(is_in_use(&db), "{db:#}");
    let by = &db["metadata"]["annotations"]["crossbridge.dev/in-use-by"];
    assert_eq!(by, "Usage one/protect-db: ConfigMap/app uses ConfigMap/db");
    bridge.rests().await;
    // Finalizer, details, owner and uids; label; status.
    assert_eq!(count(&bridge, "update usages"), 2, "{:?}", bridge.writes());
    assert_eq!(count(&bridge, "patch configmaps"), 1, "{:?}", bridge.writes());
    assert_eq!(bridge.writes().values().sum::<u64>(), 3, "{:?}", bridge.writes());
    let configured = "Usage configured successfully.";
    stage.event(&namespace, "UsageConfigured", configured).await;

    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    bridge.rests().await;
    let db = stage
        .admin
        .get(&format!("{}/db", maps(&namespace)))
        .await
        .unwrap();
    let left = json!({"labels": db["metadata"]["labels"], "annotations": db["metadata"]["annotations"]});
    assert_eq!(left, json!({"labels": null, "annotations": null}));
    assert_eq!(bridge.writes().values().sum::<u64>(), 5, "{:?}", bridge.writes());
    bridge.end().await;
}

#[tokio::test]
async fn a_bridge_that_is_restarted_writes_nothing_for_a_usage() {
    let (stage, bridge, namespace) = begin().await;
    for name in ["db", "app"] {
        stage.create(&maps(&namespace), &map(name)).await;
    }
    let path = format!("{}/protect-db", usages(&namespace));
    stage.create(&usages(&namespace), &app_uses_db()).await;
    ready(&stage, &path).await;
    bridge.end().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage
        .create(
            &usages(&namespace),
            &usage("other", &json!({"of": named("app"), "reason": "why"})),
        )
        .await;
    ready(&stage, &format!("{}/other", usages(&namespace))).await;
    bridge.rests().await;
    // Those of the second usage alone.
    assert_eq!(bridge.writes().values().sum::<u64>(), 3, "{:?}", bridge.writes());
    bridge.end().await;
}

/// A usage that is being deleted waits for `app`, which is held; when that is released, both go, and `db` is free.
async fn goes_once_released(stage: &Stage, path: &str, [db, app]: [&str; 2]) {
    let waiting = stage.condition(path, "Ready", "Deleting").await;
    assert_eq!(
        message(&waiting, "Ready"),
        r#"Waiting for the using resource (which is a "ConfigMap" named "app") to be deleted."#
    );
    assert!(is_in_use(&stage.admin.get(db).await.unwrap()));
    stage.admin.patch(app, &hold(&Value::Null)).await.unwrap();
    stage.gone(path).await;
    assert!(!is_in_use(&stage.admin.get(db).await.unwrap()));
}

#[tokio::test]
async fn a_bulk_deletion_keeps_the_order() {
    let (stage, bridge, namespace) = begin().await;
    for name in ["db", "app"] {
        stage.create(&maps(&namespace), &map(name)).await;
    }
    let (db, app) = (
        format!("{}/db", maps(&namespace)),
        format!("{}/app", maps(&namespace)),
    );
    let path = format!("{}/protect-db", usages(&namespace));
    stage.create(&usages(&namespace), &app_uses_db()).await;
    ready(&stage, &path).await;
    stage
        .admin
        .patch(&app, &hold(&json!(["test/held"])))
        .await
        .unwrap();
    // The usage first, what uses the resource right after it.
    stage.admin.delete(&path).await.unwrap();
    stage.admin.delete(&app).await.unwrap();
    goes_once_released(&stage, &path, [&db, &app]).await;
    bridge.end().await;
}

#[tokio::test]
async fn a_successor_of_the_using_object_is_not_it() {
    let (stage, bridge, namespace) = begin().await;
    for name in ["db", "app"] {
        stage.create(&maps(&namespace), &map(name)).await;
    }
    let app = format!("{}/app", maps(&namespace));
    let path = format!("{}/protect-db", usages(&namespace));
    stage.create(&usages(&namespace), &app_uses_db()).await;
    ready(&stage, &path).await;
    stage
        .admin
        .patch(&app, &hold(&json!(["test/held"])))
        .await
        .unwrap();
    stage.admin.delete(&app).await.unwrap();
    stage.admin.delete(&path).await.unwrap();
    stage.condition(&path, "Ready", "Deleting").await;
    bridge.end().await;
    // While no bridge looks, another one gets the name.
    stage.admin.patch(&app, &hold(&Value::Null)).await.unwrap();
    stage.gone(&app).await;
    stage.create(&maps(&namespace), &map("app")).await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.gone(&path).await;
    assert!(!is_in_use(
        &stage
            .admin
            .get(&format!("{}/db", maps(&namespace)))
            .await
            .unwrap()
    ));
    bridge.end().await;
}

#[tokio::test]
async fn a_selector_finds_the_first_by_name_when_it_comes() {
    let (stage, bridge, namespace) = begin().await;
    let selected = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "resourceSelector": {"matchLabels": {"role": "db"}},
    });
    let path = format!("{}/protect-db", usages(&namespace));
    let one = usage("protect-db", &json!({"of": selected, "reason": "why"}));
    stage.create(&usages(&namespace), &one).await;
    let missing = stage.condition(&path, "Ready", "ResourceNotFound").await;
    assert_eq!(
        message(&missing, "Ready"),
        r#"cannot resolve selector at "spec.of.resourceSelector": no "ConfigMap" found matching labels: map["role":"db"]"#
    );
    // In another namespace it does not count.
    let other = stage.admin.namespace("two").await;
    for (namespace, name) in [(&other, "a"), (&namespace, "c")] {
        let mut db = map(name);
        db["metadata"]["labels"] = json!({"role": "db"});
        stage.create(&maps(namespace), &db).await;
    }
    let made = ready(&stage, &path).await;
    assert_eq!(made["spec"]["of"]["resourceRef"], json!({"name": "c"}));
    // What is selected once stays so.
    let mut db = map("b");
    db["metadata"]["labels"] = json!({"role": "db"});
    stage.create(&maps(&namespace), &db).await;
    bridge.rests().await;
    assert!(!is_in_use(
        &stage.admin.get(&format!("{}/b", maps(&namespace))).await.unwrap()
    ));
    bridge.end().await;
}

#[tokio::test]
async fn a_selector_that_matches_ten_protects_the_first_by_name() {
    let (stage, bridge, namespace) = begin().await;
    for name in ["j", "c", "h", "a", "e", "b", "g", "d", "i", "f"] {
        let mut db = map(name);
        db["metadata"]["labels"] = json!({"role": "db"});
        stage.create(&maps(&namespace), &db).await;
    }
    let selected = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "resourceSelector": {"matchLabels": {"role": "db"}},
    });
    let one = usage("protect-db", &json!({"of": selected, "reason": "why"}));
    stage.create(&usages(&namespace), &one).await;
    let path = format!("{}/protect-db", usages(&namespace));
    let made = ready(&stage, &path).await;
    assert_eq!(made["spec"]["of"]["resourceRef"], json!({"name": "a"}));
    bridge.rests().await;
    let protected = async || {
        let all = stage.admin.get(&maps(&namespace)).await.unwrap();
        let items = all["items"].as_array().unwrap().clone();
        let in_use = items.into_iter().filter(is_in_use);
        in_use
            .map(|map| map["metadata"]["name"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(protected().await, ["a"]);
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    assert_eq!(protected().await, [""; 0]);
    bridge.end().await;
}

#[tokio::test]
async fn usages_of_the_other_kinds_protect_cluster_scoped_objects() {
    let (stage, bridge, namespace) = begin().await;
    let of = json!({"apiVersion": "v1", "kind": "Namespace", "resourceRef": {"name": namespace}});
    let cluster_usages = "/apis/protection.crossplane.io/v1beta1/clusterusages";
    let mut one = usage("protect", &json!({"of": of, "reason": "why"}));
    one["kind"] = "ClusterUsage".into();
    stage.create(cluster_usages, &one).await;
    ready(&stage, &format!("{cluster_usages}/protect")).await;
    let legacy_usages = "/apis/apiextensions.crossplane.io/v1alpha1/usages";
    one["apiVersion"] = "apiextensions.crossplane.io/v1alpha1".into();
    one["kind"] = "Usage".into();
    stage.create(legacy_usages, &one).await;
    ready(&stage, &format!("{legacy_usages}/protect")).await;
    let by = |text: &'static str| {
        move |of: &Value| of["metadata"]["annotations"]["crossbridge.dev/in-use-by"] == text
    };
    let path = format!("/api/v1/namespaces/{namespace}");
    stage
        .object(&path, by("ClusterUsage protect: why (and 1 more)"))
        .await;
    // What is in a namespace is named by a Usage alone.
    one["metadata"]["name"] = "wrong".into();
    one["spec"]["of"] = named("db");
    stage.create(legacy_usages, &one).await;
    let refused = stage
        .condition(&format!("{legacy_usages}/wrong"), "Ready", "ResourceNotFound")
        .await;
    assert_eq!(
        message(&refused, "Ready"),
        "cannot get used resource: ConfigMap is namespaced: what is in a namespace is protected by a Usage of that namespace"
    );
    for ended in [legacy_usages, cluster_usages] {
        let ended = format!("{ended}/protect");
        stage.admin.delete(&ended).await.unwrap();
        stage.gone(&ended).await;
        let last = ended.starts_with(cluster_usages);
        stage
            .object(&path, |of| {
                is_in_use(of) != last && by("ClusterUsage protect: why")(of) != last
            })
            .await;
    }
    bridge.end().await;
}

#[tokio::test]
async fn a_namespaced_usage_protects_a_cluster_scoped_object_as_in_crossplane() {
    let (stage, bridge, namespace) = begin().await;
    let other = stage.admin.namespace("other").await;
    let of = json!({"apiVersion": "v1", "kind": "Namespace", "resourceRef": {"name": other}});
    let one = usage("protect", &json!({"of": of, "reason": "why"}));
    stage.create(&usages(&namespace), &one).await;
    let path = format!("{}/protect", usages(&namespace));
    ready(&stage, &path).await;
    let used = format!("/api/v1/namespaces/{other}");
    stage.object(&used, is_in_use).await;
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    stage.object(&used, |used| !is_in_use(used)).await;
    bridge.end().await;
}

#[tokio::test]
async fn the_api_server_refuses_what_names_nothing() {
    let (stage, bridge, namespace) = begin().await;
    stage.create(&maps(&namespace), &map("db")).await;
    let elsewhere = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": "db", "namespace": "other"},
    });
    for (spec, message) in [
        (
            json!({"of": named("db")}),
            r#"either "spec.by" or "spec.reason" must be specified."#,
        ),
        (
            json!({"of": {"apiVersion": "v1", "kind": "ConfigMap"}, "reason": "why"}),
            "either a resource reference or a resource selector should be set.",
        ),
        (
            json!({"of": elsewhere, "reason": "why"}),
            r#"cross-namespace "spec.of" is not allowed without "spec.by" resource."#,
        ),
    ] {
        let error = stage.refusal(&usages(&namespace), &usage("wrong", &spec)).await;
        assert!(error.contains(message), "{error}");
    }
    bridge.end().await;
}

#[tokio::test]
async fn a_usage_of_a_kind_that_goes_away_ends() {
    let (stage, bridge, namespace) = begin().await;
    let kind = crate::admin::TestKind::new();
    stage.create(crate::admin::DEFINITIONS, &kind.definition()).await;
    stage
        .create(&kind.collection(&namespace), &kind.bucket("b"))
        .await;
    let of = json!({"apiVersion": kind.api.api_version(), "kind": "Bucket", "resourceRef": {"name": "b"}});
    let path = format!("{}/protect", usages(&namespace));
    stage
        .create(
            &usages(&namespace),
            &usage("protect", &json!({"of": of, "reason": "why"})),
        )
        .await;
    ready(&stage, &path).await;
    stage.admin.delete(&kind.path()).await.unwrap();
    stage.gone(&kind.path()).await;
    let lost = stage.condition(&path, "Ready", "ResourceNotFound").await;
    let told = format!(
        "cannot get used resource: the cluster does not serve Bucket in {}",
        kind.api.api_version()
    );
    assert_eq!(message(&lost, "Ready"), told);
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    bridge.end().await;
}

#[tokio::test]
async fn a_deletion_that_was_refused_is_done_when_nothing_uses_the_resource() {
    let (stage, bridge, namespace) = begin().await;
    for name in ["owner", "db"] {
        stage.create(&maps(&namespace), &map(name)).await;
    }
    let (owner, db) = (
        format!("{}/owner", maps(&namespace)),
        format!("{}/db", maps(&namespace)),
    );
    let owned_by = stage.admin.get(&owner).await.unwrap();
    let reference = json!({"metadata": {"ownerReferences": [{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owned_by["metadata"]["uid"],
    }]}});
    stage.admin.patch(&db, &reference).await.unwrap();
    let path = format!("{}/protect-db", usages(&namespace));
    let spec = json!({"of": named("db"), "reason": "why", "replayDeletion": true});
    stage
        .create(&usages(&namespace), &usage("protect-db", &spec))
        .await;
    ready(&stage, &path).await;
    stage.admin.delete(&owner).await.unwrap();
    stage.gone(&owner).await;
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    stage.gone(&db).await;
    bridge.end().await;
}

/// The bridge deletes nothing of a definition that is in use.
#[tokio::test]
async fn a_composite_resource_in_use_outlives_its_definition_as_long() {
    let (stage, bridge, namespace) = begin().await;
    stage.define().await;
    let path = format!("{}/a", orders(&namespace));
    stage.create(&orders(&namespace), &order("a", &json!({}))).await;
    stage.ready(&path).await;
    let of = json!({"apiVersion": "shop.example.org/v1", "kind": "Order", "resourceRef": {"name": "a"}});
    let protect = format!("{}/protect", usages(&namespace));
    stage
        .create(
            &usages(&namespace),
            &usage("protect", &json!({"of": of, "reason": "why"})),
        )
        .await;
    ready(&stage, &protect).await;
    let definition = super::stage::definition_path();
    stage.admin.delete(&definition).await.unwrap();
    let names_it = |definition: &Value| {
        message(definition, "Established").contains("it is in use by Usage one/protect: why")
    };
    stage.object(&definition, names_it).await;
    assert_eq!(
        stage.admin.get(&path).await.unwrap()["metadata"]["deletionTimestamp"],
        Value::Null
    );
    stage.admin.delete(&protect).await.unwrap();
    stage.gone(&path).await;
    stage.gone(&definition).await;
    bridge.end().await;
}

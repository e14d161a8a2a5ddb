//! Usages of two composed objects by each other.

use bridge_control_plane::Options;

use super::*;

#[tokio::test]
async fn a_deletion_that_usages_stop_by_a_cycle_ends_when_one_of_them_goes() {
    // It deletes the other usage, once what that is used by is gone.
    let stage = Stage::with(Options {
        controller_manager: true,
        ..Options::default()
    })
    .await;
    stage.install().await;
    let bridge = Bridge::start(&stage.plane).await;
    let namespace = stage.admin.namespace("one").await;
    stage.define().await;
    let path = format!("{}/shop", orders(&namespace));
    let values = json!({"db": "1", "app": "1"});
    stage.create(&orders(&namespace), &order("shop", &values)).await;
    stage.ready(&path).await;
    for (name, of, by) in [
        ("app-uses-db", "shop-db", "shop-app"),
        ("db-uses-app", "shop-app", "shop-db"),
    ] {
        let one = usage(name, &json!({"of": named(of), "by": named(by)}));
        stage.create(&usages(&namespace), &one).await;
    }
    let cycle = "Usage one/app-uses-db, Usage one/db-uses-app";
    for name in ["app-uses-db", "db-uses-app"] {
        let expected = format!("these usages form a cycle, in which each object waits for another: {cycle}");
        let says_so = |usage: &Value| message(usage, "Ready") == expected;
        stage
            .object(&format!("{}/{name}", usages(&namespace)), says_so)
            .await;
    }

    stage.admin.delete(&path).await.unwrap();
    let blocked = stage.condition(&path, "DeletionBlocked", "Cycle").await;
    let said = message(&blocked, "DeletionBlocked");
    let since = blocked["metadata"]["deletionTimestamp"].as_str().unwrap();
    let expected = format!(
        "ConfigMap \"one/shop-app\" waits for itself, as these usages form a cycle: {cycle} (the composite resource is being deleted since {since}) (and 1 more)"
    );
    assert!(said.starts_with(&expected), "{said}");
    assert_eq!(stage.values(&namespace).await, ["1", "1"]);

    stage
        .admin
        .delete(&format!("{}/app-uses-db", usages(&namespace)))
        .await
        .unwrap();
    stage.gone(&path).await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    for name in ["app-uses-db", "db-uses-app"] {
        stage.gone(&format!("{}/{name}", usages(&namespace))).await;
    }
    bridge.end().await;
}

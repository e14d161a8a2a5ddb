//! Usages that cannot be listed: nothing is known to be out of use, and everybody says so.

use super::{
    super::{
        claims::{claim, claims, composite_of},
        stage::definition_path,
    },
    *,
};
use crate::admin::DEFINITIONS;

/// Versions of the definition of `Usage`s. With another one they are stored in that, and shown by a webhook that never answers.
fn versions(crd: &Value, is_broken: bool) -> Value {
    let mut served = crd["spec"]["versions"][0].clone();
    served["storage"] = (!is_broken).into();
    let mut stored = served.clone();
    stored["name"] = "v1beta2".into();
    stored["storage"] = is_broken.into();
    let conversion = if is_broken {
        json!({"strategy": "Webhook", "webhook": {
            "conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/convert"},
        }})
    } else {
        json!({"strategy": "None", "webhook": null})
    };
    json!({"spec": {"versions": [served, stored], "conversion": conversion}})
}

#[tokio::test]
async fn deletions_say_that_usages_cannot_be_listed_and_go_on_when_they_can() {
    let (stage, bridge, namespace) = begin().await;
    stage.define().await;
    stage.define_claimed().await;
    let (held, kept) = (
        format!("{}/held", orders(&namespace)),
        format!("{}/a", claims(&namespace)),
    );
    stage
        .create(&orders(&namespace), &order("held", &json!({"first": "1"})))
        .await;
    stage
        .create(&claims(&namespace), &claim("a", &json!({"second": "2"})))
        .await;
    let edited = format!("{}/edited", orders(&namespace));
    stage
        .create(&orders(&namespace), &order("edited", &json!({"former": "3"})))
        .await;
    stage.ready(&held).await;
    stage.ready(&edited).await;
    let composite = composite_of(&stage.ready(&kept).await);
    bridge.end().await;

    let crd_path = format!("{DEFINITIONS}/usages.protection.crossplane.io");
    let crd = stage.admin.get(&crd_path).await.unwrap();
    stage.admin.patch(&crd_path, &versions(&crd, true)).await.unwrap();
    let later = usages(&namespace).replace("/v1beta1/", "/v1beta2/");
    let mut stored = usage("later", &json!({"of": named("none"), "reason": "why"}));
    stored["apiVersion"] = "protection.crossplane.io/v1beta2".into();
    stage.create(&later, &stored).await;
    let refused = stage
        .admin
        .get(&usages(&namespace))
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains("conversion webhook"), "{refused}");

    let bridge = Bridge::start(&stage.plane).await;
    for path in [&held, &kept] {
        stage.admin.delete(path).await.unwrap();
    }
    stage.admin.delete(&definition_path()).await.unwrap();
    for path in [&held, &kept] {
        let blocked = stage.condition(path, "DeletionBlocked", "Unreachable").await;
        let said = message(&blocked, "DeletionBlocked");
        assert!(
            said.contains("usages cannot be listed: Usage.protection.crossplane.io: "),
            "{said}"
        );
    }
    let says_so =
        |definition: &Value| message(definition, "Established").contains("usages cannot be listed: ");
    stage.object(&definition_path(), says_so).await;
    // What only stands beside goes on: it composes, and keeps what it would delete.
    let change = json!({"spec": {"values": {"former": null, "later": "4"}}});
    stage.admin.patch(&edited, &change).await.unwrap();
    let keeps = |order: &Value| {
        let said = message(order, "Synced");
        said.contains("not desired any more, and kept: ConfigMap ")
            && said.contains("usages cannot be listed, one of which may protect it")
    };
    stage.object(&edited, keeps).await;
    assert_eq!(stage.values(&namespace).await, ["1", "2", "3", "4"]);

    stage
        .admin
        .patch(&crd_path, &versions(&crd, false))
        .await
        .unwrap();
    for path in [&held, &kept, &edited, &composite, &definition_path()] {
        stage.gone(path).await;
    }
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    bridge.end().await;
}

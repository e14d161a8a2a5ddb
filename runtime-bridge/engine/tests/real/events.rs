use std::time::Duration;

use bridge_engine::event::EventType;
use serde_json::json;

use crate::harness::RealHarness;

#[tokio::test]
async fn an_event_is_what_people_expect_and_counts_its_repeats() {
    let stage = RealHarness::live().await;
    stage.create("a").await;
    let name = json!({"metadata": {"annotations": {"crossplane.io/external-name": "a-123"}}});
    stage.admin.patch(&stage.path("a"), &name).await.unwrap();
    let object = stage
        .engine
        .writer
        .get_live(&stage.kind.api, &stage.key("a"))
        .await
        .unwrap();
    let message = "Successfully requested creation of external resource";
    for _ in 0..3 {
        stage
            .engine
            .events
            .record(&object, EventType::Normal, "CreatedExternalResource", message);
    }
    stage.engine.events.record(
        &object,
        EventType::Warning,
        "CannotCreateExternalResource",
        &"ä".repeat(2_000),
    );
    stage.engine.drain(Duration::from_secs(30)).await;

    let path = format!("/api/v1/namespaces/{}/events", stage.namespace);
    let events = stage.admin.get(&path).await.unwrap();
    let events = events["items"].as_array().unwrap();
    let reasons: Vec<_> = events
        .iter()
        .map(|event| event["reason"].as_str().unwrap())
        .collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    let created = events
        .iter()
        .find(|event| event["reason"] == "CreatedExternalResource")
        .unwrap();
    assert_eq!(
        (&created["type"], &created["message"], &created["count"]),
        (&json!("Normal"), &json!(message), &json!(3))
    );
    assert_eq!(
        created["metadata"]["annotations"],
        json!({"external-name": "a-123"})
    );
    assert_eq!(created["source"]["component"], "managed/bucket");
    let involved = &created["involvedObject"];
    assert_eq!(
        (&involved["kind"], &involved["name"]),
        (&json!("Bucket"), &json!("a"))
    );
    assert_eq!(
        (&involved["uid"], &involved["namespace"]),
        (&json!(object.uid()), &json!(stage.namespace))
    );
    assert!(created["lastTimestamp"].is_string());
    let failed = events.iter().find(|event| event["type"] == "Warning").unwrap();
    let text = failed["message"].as_str().unwrap();
    assert!(text.ends_with("ä…") && text.len() <= 1_024, "{}", text.len());
    let metrics = stage.engine.encode_metrics();
    for line in [
        r#"crossbridge_events_total{outcome="sent"} 4"#,
        r#"crossbridge_events_total{outcome="repeated"} 2"#,
    ] {
        assert!(metrics.lines().any(|shown| shown == line), "{line} in\n{metrics}");
    }
}

#[tokio::test]
async fn events_that_cannot_be_sent_are_in_nobodys_way() {
    let stage = RealHarness::live().await;
    let object = stage.bucket("a").await;
    stage
        .admin
        .delete(&format!("/api/v1/namespaces/{}", stage.namespace))
        .await
        .unwrap();
    for n in 0..5_000 {
        stage
            .engine
            .events
            .record(&object, EventType::Normal, "Many", &n.to_string());
    }
    let metrics = stage.engine.encode_metrics();
    // One object has its share, however much is said of it.
    let dropped = metrics
        .lines()
        .find_map(|line| line.strip_prefix(r#"crossbridge_events_total{outcome="too_many_of_object"} "#));
    assert!(
        dropped.is_some_and(|count| count.parse::<u64>().unwrap() > 4_900),
        "{metrics}"
    );
}

use std::{collections::BTreeSet, time::Duration};

use bridge_control_plane::{ControlPlane, Options};
use bridge_engine::{
    api_error::ApiError,
    object::Object,
    write::{Deletion, Propagation, Writer},
};
use serde_json::{Value, json};

use crate::{
    admin::Admin,
    harness::{LIMIT, RealHarness, within},
};

fn with_annotation(object: &Object, value: &str) -> Object {
    let mut object = object.clone();
    object.meta.annotations.get_or_insert_default().insert("x", value);
    object
}

fn managers(live: &Value) -> BTreeSet<(String, String)> {
    let fields = live["metadata"]["managedFields"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    fields
        .iter()
        .map(|entry| (text(&entry["manager"]), text(&entry["subresource"])))
        .collect()
}

#[tokio::test]
async fn a_put_changes_metadata_and_spec_and_nothing_else() {
    let stage = RealHarness::live().await;
    stage.create("a").await;
    stage
        .admin
        .patch(
            &format!("{}/status", stage.path("a")),
            &json!({"status": {"theirs": [1, 2]}}),
        )
        .await
        .unwrap();
    let before = stage
        .engine
        .writer
        .get_live(&stage.kind.api, &stage.key("a"))
        .await
        .unwrap();
    let mut changed = with_annotation(&before, "1");
    changed.set_spec(&json!({"size": 7}));
    changed.set_status(&json!({"ours": true}));
    let written = stage
        .engine
        .writer
        .as_manager("crossbridge.dev/machine")
        .put(&changed)
        .await
        .unwrap();
    assert_eq!(
        stage
            .engine
            .store
            .get(&stage.key("a"))
            .unwrap()
            .resource_version(),
        written.resource_version()
    );

    let live = stage.admin.get(&stage.path("a")).await.unwrap();
    assert_eq!(live["metadata"]["annotations"], json!({"x": "1"}));
    assert_eq!(live["spec"], json!({"size": 7}));
    assert_eq!(live["status"], json!({"theirs": [1, 2]}));
    let managers: Vec<String> = managers(&live)
        .into_iter()
        .map(|(manager, sub)| format!("{manager}/{sub}"))
        .collect();
    assert!(
        managers.contains(&"crossbridge.dev/machine/".to_owned()),
        "{managers:?}"
    );
    assert_eq!(managers.len(), 3, "those of the others are kept: {managers:?}");
}

#[tokio::test]
async fn a_status_put_changes_the_status_and_nothing_else() {
    let stage = RealHarness::live().await;
    let before = stage.bucket("a").await;
    let mut changed = with_annotation(&before, "1");
    changed.set_spec(&json!({"size": 99}));
    changed.set_status(&json!({"conditions": [{"type": "Ready"}]}));
    let written = stage.engine.writer.put_status(&changed).await.unwrap();
    assert_eq!(written.status_value(), json!({"conditions": [{"type": "Ready"}]}));
    let live = stage.admin.get(&stage.path("a")).await.unwrap();
    assert_eq!(
        (&live["spec"], &live["metadata"]["annotations"]),
        (&json!({"size": 1}), &Value::Null)
    );
    assert_eq!(live["metadata"]["generation"], 1);
    let managers = managers(&live);
    assert_eq!(managers.len(), 2, "{managers:?}");
    assert!(
        managers.contains(&("crossbridge.dev/bridge".to_owned(), "status".to_owned())),
        "{managers:?}"
    );
}

#[tokio::test]
async fn a_guarded_write_to_a_changed_object_is_rejected() {
    let stage = RealHarness::live().await;
    let first = stage.bucket("a").await;
    let writer = &stage.engine.writer;
    let second = writer.put(&with_annotation(&first, "1")).await.unwrap();
    for stale in [
        writer.put(&with_annotation(&first, "2")).await,
        writer.put_status(&first).await,
    ] {
        assert!(matches!(stale, Err(ApiError::Conflict(_))), "{stale:?}");
    }
    // Another object under that name.
    let mut other = with_annotation(&second, "3");
    other.meta.uid = Some("00000000-0000-0000-0000-000000000000".to_owned());
    for other in [writer.put(&other).await, writer.put_status(&other).await] {
        assert!(matches!(other, Err(ApiError::Conflict(_))), "{other:?}");
    }
    let mut unguarded = with_annotation(&second, "4");
    unguarded.meta.resource_version = None;
    assert!(matches!(writer.put(&unguarded).await, Err(ApiError::Invalid(_))));
    let live = stage.admin.get(&stage.path("a")).await.unwrap();
    assert_eq!(live["metadata"]["annotations"], json!({"x": "1"}));
}

#[tokio::test]
async fn rejections_are_classified() {
    let stage = RealHarness::live().await;
    let object = stage.bucket("a").await;
    let writer = &stage.engine.writer;
    let mut new = Object::new(object.api.clone(), object.meta.clone());
    new.meta.resource_version = None;
    new.meta.uid = None;
    assert!(matches!(
        writer.create(&new).await,
        Err(ApiError::AlreadyExists(_))
    ));
    let mut large = (*object).clone();
    large.set_spec(&json!({"size": 1000}));
    let invalid = writer.put(&large).await.unwrap_err();
    assert!(
        matches!(&invalid, ApiError::Invalid(why) if why.contains("spec.size")),
        "{invalid}"
    );

    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": stage.namespace},
        "spec": {
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [stage.kind.api.kind.group()], "apiVersions": ["*"], "resources": ["buckets"],
                "operations": ["UPDATE"],
            }]},
            "validations": [{"expression": "object.spec.size != 13", "message": "thirteen brings bad luck"}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": stage.namespace},
        "spec": {"policyName": stage.namespace, "validationActions": ["Deny"]},
    });
    let path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";
    stage.admin.create(&format!("{path}ies"), &policy).await.unwrap();
    stage
        .admin
        .create(&format!("{path}ybindings"), &binding)
        .await
        .unwrap();
    let begun = std::time::Instant::now();
    let denied = loop {
        // The API server takes its time to notice the policy: until then the write is let through.
        let mut unlucky = (*stage.engine.store.get(&stage.key("a")).unwrap()).clone();
        unlucky.set_spec(&json!({"size": 13}));
        match writer.put(&unlucky).await {
            Ok(_) => assert!(begun.elapsed() < LIMIT, "the policy never came to be"),
            Err(error) => break error,
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert!(
        matches!(&denied, ApiError::Denied(why) if why.contains("bad luck")),
        "{denied}"
    );

    stage.admin.delete(&stage.path("a")).await.unwrap();
    let gone = writer
        .put_status(&stage.engine.store.get(&stage.key("a")).unwrap_or(object.clone()))
        .await;
    assert!(
        matches!(gone, Err(ApiError::NotFound(_) | ApiError::Conflict(_))),
        "{gone:?}"
    );
    assert!(matches!(
        writer.get_live(&stage.kind.api, &stage.key("a")).await,
        Err(ApiError::NotFound(_))
    ));
}

fn deletion(uid: &str) -> Deletion<'_> {
    Deletion {
        uid,
        version: None,
        propagation: Propagation::Background,
    }
}

#[tokio::test]
async fn a_deletion_names_its_object() {
    let stage = RealHarness::live().await;
    let bucket = stage.bucket("a").await;
    let (writer, api, key) = (&stage.engine.writer, &stage.kind.api, stage.key("a"));
    assert!(matches!(
        writer.delete(api, &key, deletion("another")).await,
        Err(ApiError::Conflict(_))
    ));
    writer.delete(api, &key, deletion(bucket.uid())).await.unwrap();
    writer.delete(api, &key, deletion(bucket.uid())).await.unwrap();
    assert!(matches!(
        writer.get_live(api, &key).await,
        Err(ApiError::NotFound(_))
    ));
}

#[tokio::test]
async fn a_write_without_an_answer_is_unknown_and_one_without_a_server_is_not() {
    let mut plane = ControlPlane::start(Options::default()).await.unwrap();
    let stage = RealHarness::new(plane.kubeconfig(), Admin::of(&plane).await).await;
    let client = &stage.engine.clients.write;
    bridge_engine::crd::install(client, &[stage.kind.definition()], LIMIT)
        .await
        .unwrap();
    stage.until_live().await;
    let object = stage.bucket("a").await;
    let limit = Duration::from_millis(300);
    let hasty = Writer::new(
        client.clone().with_deadline(limit),
        stage.engine.store.clone(),
        "test",
    );
    plane.pause_api_server();
    let unknown = hasty.put(&with_annotation(&object, "1")).await.unwrap_err();
    plane.resume_api_server();
    assert_eq!(unknown, ApiError::Timeout(limit));
    plane.stop_api_server();
    // The connections that it had are broken first.
    let mut refused = hasty.put(&with_annotation(&object, "2")).await.unwrap_err();
    for _ in 0..20 {
        if matches!(refused, ApiError::Unavailable(_)) {
            break;
        }
        refused = hasty.put(&with_annotation(&object, "2")).await.unwrap_err();
    }
    assert!(matches!(refused, ApiError::Unavailable(_)), "{refused:?}");
}

#[tokio::test]
async fn an_object_whose_kind_lost_its_status_for_a_moment_is_not_gone() {
    let stage = RealHarness::live().await;
    let bucket = stage.bucket("a").await;
    let subresources =
        |value: Value| json!([{"op": "replace", "path": "/spec/versions/0/subresources", "value": value}]);
    let change = |value| stage.admin.json_patch(stage.kind.path(), subresources(value));
    change(json!({})).await;
    let mut told = (*bucket).clone();
    told.set_status(&json!({"told": true}));
    let writer = &stage.engine.writer;
    // The API server takes a moment to serve what its definition says.
    let refused = within(async {
        loop {
            match writer.put_status(&told).await {
                Ok(written) => told
                    .meta
                    .resource_version
                    .clone_from(&written.meta.resource_version),
                Err(error) => return error,
            }
        }
    })
    .await;
    assert_eq!(refused.reason(), "NotServed", "{refused}");
    assert!(!stage.engine.store.is_tombstoned(bucket.uid()));

    change(json!({"status": {}})).await;
    within(async {
        loop {
            let live = writer.get_live(&stage.kind.api, &stage.key("a")).await.unwrap();
            told.meta.resource_version.clone_from(&live.meta.resource_version);
            match writer.put_status(&told).await {
                Ok(_) => return,
                Err(error) => assert_eq!(error.reason(), "NotServed", "{error}"),
            }
        }
    })
    .await;
    let known = stage.engine.store.get(&stage.key("a")).unwrap();
    assert_eq!(known.status_value(), json!({"told": true}));
}

#[tokio::test]
async fn an_object_whose_namespace_was_removed_by_force_is_not_gone() {
    let stage = RealHarness::live().await;
    let bucket = stage.bucket("a").await;
    let namespace = format!("/api/v1/namespaces/{}", stage.namespace);
    stage.admin.delete(&namespace).await.unwrap();
    let mut emptied = stage.admin.get(&namespace).await.unwrap();
    emptied["spec"]["finalizers"] = json!([]);
    stage
        .admin
        .put(&format!("{namespace}/finalize"), &emptied)
        .await
        .unwrap();
    let writer = &stage.engine.writer;
    let refused = within(async {
        loop {
            let live = writer.get_live(&stage.kind.api, &stage.key("a")).await.unwrap();
            match writer.put(&with_annotation(&live, "1")).await {
                // The admission of the API server still knows the namespace.
                Ok(_) => {}
                Err(error) => return error,
            }
        }
    })
    .await;
    assert_eq!(refused.reason(), "DependencyNotFound", "{refused}");
    assert!(!stage.engine.store.is_tombstoned(bucket.uid()));
    stage.stored("a").await;
}

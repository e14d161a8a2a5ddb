//! Server-side apply, its conversion, and guarded deletion.

use std::sync::Arc;

use bridge_core::watch_plan::GroupKind;
use bridge_engine::{
    api_error::ApiError,
    object::{ApiType, Key, Metadata, Object, Texts},
    watch::WatchState,
    write::{Apply, Deleted, Deletion, Propagation},
};
use serde_json::{Value, json};

use crate::{
    admin::plane,
    harness::{RealHarness, until},
};

const MANAGER: &str = "apiextensions.crossplane.io/composed/0123";
const CREATED: &str = "crossbridge.dev/created";

fn sized(size: u64) -> Value {
    json!({"spec": {"size": size}})
}

fn apply<'a>(object: &'a Object, key: &'a Key, fields: &'a Value) -> Apply<'a> {
    Apply {
        api: &object.api,
        key,
        uid: object.uid(),
        version: Some(object.resource_version()),
        fields,
        force: true,
    }
}

fn background(object: &Object) -> Deletion<'_> {
    Deletion {
        uid: object.uid(),
        version: Some(object.resource_version()),
        propagation: Propagation::Background,
    }
}

#[tokio::test]
async fn an_apply_brings_its_fields_and_removes_what_it_owned() {
    let stage = RealHarness::live().await;
    let bucket = stage.bucket("a").await;
    let (key, writer) = (stage.key("a"), stage.engine.writer.as_manager(MANAGER));
    let first = json!({"metadata": {"labels": {"x": "1"}}, "spec": {"size": 7, "secret": "s"}});
    let applied = writer.apply(apply(&bucket, &key, &first)).await.unwrap();
    assert_eq!(
        Value::clone(&applied.spec_value()),
        json!({"size": 7, "secret": "s"})
    );
    let known = stage.engine.store.get(&key).unwrap();
    assert_eq!(known.resource_version(), applied.resource_version());
    let applied = writer.apply(apply(&applied, &key, &sized(8))).await.unwrap();
    assert_eq!(
        (Value::clone(&applied.spec_value()), applied.label("x")),
        (json!({"size": 8}), None)
    );
    let same = writer.apply(apply(&applied, &key, &sized(8))).await.unwrap();
    assert_eq!(
        same.resource_version(),
        applied.resource_version(),
        "nothing was written"
    );
}

#[tokio::test]
async fn an_apply_to_anything_but_what_was_decided_on_is_rejected() {
    let stage = RealHarness::live().await;
    let bucket = stage.bucket("a").await;
    let (key, writer) = (stage.key("a"), stage.engine.writer.as_manager(MANAGER));
    let fields = sized(7);
    let other = "00000000-0000-0000-0000-000000000000";
    let current = apply(&bucket, &key, &fields);
    let stale = Apply {
        version: Some(bucket.resource_version() - 1),
        ..current
    };
    let another = Apply {
        uid: other,
        version: None,
        ..current
    };
    let absent_key = stage.key("absent");
    let absent = Apply {
        key: &absent_key,
        version: None,
        ..current
    };
    for rejected in [stale, another, absent] {
        let answer = writer.apply(rejected).await;
        assert!(
            matches!(answer, Err(ApiError::Conflict(_))),
            "{rejected:?}: {answer:?}"
        );
    }
    let unguarded = writer.apply(Apply { uid: "", ..current }).await;
    assert!(matches!(unguarded, Err(ApiError::Invalid(_))), "{unguarded:?}");
    assert!(matches!(
        stage.admin.get(&stage.path("absent")).await,
        Err(ApiError::NotFound(_))
    ));

    // Somebody else's field.
    let gentle = Apply {
        force: false,
        ..current
    };
    let refused = writer.apply(gentle).await;
    assert!(
        matches!(&refused, Err(ApiError::FieldConflict(why)) if why.contains("spec.size")),
        "{refused:?}"
    );
    assert_eq!(
        stage.admin.get(&stage.path("a")).await.unwrap()["spec"],
        json!({"size": 1})
    );
    // Without a version, whatever changed meanwhile.
    stage
        .admin
        .patch(
            &stage.path("a"),
            &json!({"metadata": {"labels": {"theirs": "1"}}}),
        )
        .await
        .unwrap();
    let applied = writer
        .apply(Apply {
            version: None,
            ..current
        })
        .await
        .unwrap();
    assert_eq!(
        (Value::clone(&applied.spec_value()), applied.label("theirs")),
        (sized(7)["spec"].clone(), Some("1"))
    );
}

#[tokio::test]
async fn what_was_created_is_removed_by_an_apply_after_its_conversion() {
    let stage = RealHarness::live().await;
    let meta = Metadata {
        name: Some("a".to_owned()),
        namespace: Some(stage.namespace.clone()),
        labels: Some(Texts::from_iter([("x", "1")])),
        ..Metadata::default()
    };
    let mut desired = Object::new(Arc::clone(&stage.kind.api), meta);
    desired.set_spec(&json!({"size": 1, "secret": "s"}));
    let (key, writer) = (stage.key("a"), stage.engine.writer.as_manager(MANAGER));
    writer.as_manager(CREATED).create(&desired).await.unwrap();
    let status = format!("{}/status", stage.path("a"));
    stage
        .admin
        .patch(&status, &json!({"status": {"theirs": true}}))
        .await
        .unwrap();

    let (live, managers) = writer
        .get_live_with_managers(&stage.kind.api, &key)
        .await
        .unwrap();
    let converted = writer
        .convert(&live, &managers, &[CREATED])
        .await
        .unwrap()
        .unwrap();
    assert!(converted.resource_version() > live.resource_version());
    let again = writer.convert(&live, &managers, &[CREATED]).await;
    assert!(matches!(again, Err(ApiError::Conflict(_))), "{again:?}");
    let applied = writer.apply(apply(&converted, &key, &sized(2))).await.unwrap();
    assert_eq!(
        (Value::clone(&applied.spec_value()), applied.label("x")),
        (json!({"size": 2}), None)
    );
    assert_eq!(applied.status_value(), json!({"theirs": true}));

    let (live, managers) = writer
        .get_live_with_managers(&stage.kind.api, &key)
        .await
        .unwrap();
    let ours: Vec<&Value> = managers
        .entries()
        .iter()
        .filter(|entry| entry["manager"] == MANAGER)
        .collect();
    assert_eq!((ours.len(), &ours[0]["operation"]), (1, &json!("Apply")));
    assert!(
        writer
            .convert(&live, &managers, &[CREATED])
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn without_its_conversion_an_apply_removes_nothing_that_was_created() {
    let stage = RealHarness::live().await;
    let meta = Metadata {
        name: Some("a".to_owned()),
        namespace: Some(stage.namespace.clone()),
        ..Metadata::default()
    };
    let mut desired = Object::new(Arc::clone(&stage.kind.api), meta);
    desired.set_spec(&json!({"size": 1, "secret": "s"}));
    let (key, writer) = (stage.key("a"), stage.engine.writer.as_manager(MANAGER));
    let created = writer.as_manager(CREATED).create(&desired).await.unwrap();
    let applied = writer.apply(apply(&created, &key, &sized(2))).await.unwrap();
    assert_eq!(
        Value::clone(&applied.spec_value()),
        json!({"size": 2, "secret": "s"})
    );
}

#[tokio::test]
async fn a_deletion_of_another_version_is_rejected() {
    let stage = RealHarness::live().await;
    let bucket = stage.bucket("a").await;
    let (api, key, writer) = (&stage.kind.api, stage.key("a"), &stage.engine.writer);
    stage
        .admin
        .patch(
            &stage.path("a"),
            &json!({"metadata": {"ownerReferences": null, "labels": {"x": "1"}}}),
        )
        .await
        .unwrap();
    let stale = writer.delete(api, &key, background(&bucket)).await;
    assert!(matches!(stale, Err(ApiError::Conflict(_))), "{stale:?}");
    let live = writer.get_live(api, &key).await.unwrap();
    let gone = writer.delete(api, &key, background(&live)).await.unwrap();
    assert!(matches!(gone, Deleted::Gone), "{gone:?}");
    assert!(stage.engine.store.is_tombstoned(live.uid()));
    assert!(stage.engine.store.get(&key).is_none());
}

#[tokio::test]
async fn a_deletion_that_is_held_is_stored_as_such() {
    let stage = RealHarness::live().await;
    let (api, writer) = (&stage.kind.api, &stage.engine.writer);
    for (name, propagation, finalizer) in [
        ("background", Propagation::Background, "example.org/held"),
        ("foreground", Propagation::Foreground, "foregroundDeletion"),
        ("orphan", Propagation::Orphan, "orphan"),
    ] {
        let mut bucket = stage.kind.bucket(name);
        bucket["metadata"]["finalizers"] = json!(["example.org/held"]);
        stage
            .admin
            .create(&stage.kind.collection(&stage.namespace), &bucket)
            .await
            .unwrap();
        let (bucket, key) = (stage.stored(name).await, stage.key(name));
        let deletion = Deletion {
            propagation,
            ..background(&bucket)
        };
        let marked = writer.delete(api, &key, deletion).await.unwrap();
        let Deleted::Marked(marked) = marked else {
            panic!("{name}: {marked:?}")
        };
        assert!(
            marked.has_finalizer(finalizer),
            "{name}: {:?}",
            marked.meta.finalizers
        );
        let known = stage.engine.store.get(&key).unwrap();
        assert!(known.is_deleting() && !stage.engine.store.is_tombstoned(known.uid()));
    }
}

fn core(kind: &str, plural: &str) -> Arc<ApiType> {
    Arc::new(ApiType {
        kind: GroupKind::new("", kind),
        version: "v1".to_owned(),
        plural: plural.to_owned(),
        namespaced: true,
    })
}

/// Of some kinds the API server answers a deletion with the object though it is gone.
#[tokio::test]
async fn a_service_that_is_deleted_is_gone() {
    let stage = RealHarness::live().await;
    let api = core("Service", "services");
    let nobody: Arc<bridge_engine::store::Listener> = Arc::new(|_| {});
    let _watched = stage.engine.subscribe(&api, "the test", &nobody);
    until("it is watched", || {
        stage.engine.watches.state(&api.kind) == WatchState::Live
    })
    .await;
    let service =
        json!({"metadata": {"name": "a"}, "spec": {"type": "ExternalName", "externalName": "localhost"}});
    stage
        .admin
        .create(&api.collection_path(Some(&stage.namespace)), &service)
        .await
        .unwrap();
    let key = Key::new(api.kind.clone(), Some(&stage.namespace), "a");
    let live = stage.engine.writer.get_live(&api, &key).await.unwrap();
    let gone = stage
        .engine
        .writer
        .delete(&api, &key, background(&live))
        .await
        .unwrap();
    assert!(matches!(gone, Deleted::Gone), "{gone:?}");
    assert!(stage.engine.store.is_tombstoned(live.uid()));
}

#[tokio::test]
async fn a_secret_that_is_written_is_stored_without_its_data() {
    let stage = RealHarness::live().await;
    drop(plane().await);
    until("Secrets are watched", || {
        stage.engine.secrets.state() == WatchState::Live
    })
    .await;
    let api = Arc::new(ApiType::secrets());
    let json = json!({
        "metadata": {"name": "keys", "namespace": stage.namespace, "uid": "none", "resourceVersion": "1"},
        "data": {"password": "Y2FuYXJ5"},
    });
    let mut secret = Object::decode(&api, &json.to_string()).unwrap();
    (secret.meta.uid, secret.meta.resource_version) = (None, None);
    let writer = stage.engine.writer.as_manager(CREATED);
    let created = writer.create(&secret).await.unwrap();
    let key = created.key();
    let stored = || serde_json::to_string(&*stage.engine.store.get(&key).unwrap()).unwrap();
    assert!(!stored().contains("Y2FuYXJ5"), "{}", stored());
    let fields = json!({"data": {"password": "Y2FuYXJ5Mg=="}});
    let applied = writer
        .as_manager(MANAGER)
        .apply(apply(&created, &key, &fields))
        .await
        .unwrap();
    writer.get_live(&api, &key).await.unwrap();
    assert!(!stored().contains("Y2FuYXJ5"), "{}", stored());
    let known = stage.engine.store.get(&key).unwrap();
    assert_eq!(known.resource_version(), applied.resource_version());
}

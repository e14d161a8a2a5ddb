use std::sync::Arc;

use bridge_engine::{
    api_error::ApiError,
    store::Store,
    write::{Finalized, Still, Writer},
};
use serde_json::json;

use crate::harness::{RealHarness, until};

#[tokio::test]
async fn a_finalizer_is_taken_off_the_right_object_whatever_its_version() {
    let stage = RealHarness::live().await;
    let finalizers = |list: &[&str]| json!({"metadata": {"finalizers": list}});
    let remove = |name: &'static str, uid: String, finalizer: &'static str| {
        let (stage, api) = (&stage, &stage.kind.api);
        async move {
            stage
                .engine
                .writer
                .remove_finalizer(api, &stage.key(name), &uid, finalizer, Still::Whatever)
                .await
        }
    };
    let uid = stage.bucket("a").await.uid().to_owned();
    stage
        .admin
        .patch(&stage.path("a"), &finalizers(&["x/1", "x/2"]))
        .await
        .unwrap();
    until("it is seen", || {
        stage
            .engine
            .store
            .get(&stage.key("a"))
            .is_some_and(|a| a.has_finalizer("x/2"))
    })
    .await;

    // Not that object.
    assert!(matches!(
        remove("a", "another".to_owned(), "x/1").await.unwrap(),
        Finalized::Gone
    ));
    assert_eq!(
        stage.admin.get(&stage.path("a")).await.unwrap()["metadata"]["finalizers"],
        json!(["x/1", "x/2"])
    );

    // Others wait for their own, and its version does not matter.
    stage.admin.delete(&stage.path("a")).await.unwrap();
    stage
        .admin
        .patch(&stage.path("a"), &json!({"spec": {"size": 3}}))
        .await
        .unwrap();
    match remove("a", uid.clone(), "x/1").await.unwrap() {
        Finalized::Remains(object) => assert_eq!(object.meta.finalizers, Some(vec!["x/2".to_owned()])),
        Finalized::Gone => panic!("x/2 holds it"),
    }
    assert!(
        matches!(
            remove("a", uid.clone(), "x/1").await.unwrap(),
            Finalized::Remains(_)
        ),
        "twice is once"
    );

    assert!(matches!(
        remove("a", uid.clone(), "x/2").await.unwrap(),
        Finalized::Gone
    ));
    assert!(stage.engine.store.get(&stage.key("a")).is_none());
    assert!(stage.engine.store.is_tombstoned(&uid));
    assert!(
        matches!(remove("a", uid, "x/2").await.unwrap(), Finalized::Gone),
        "gone is gone"
    );
}

#[tokio::test]
async fn a_list_of_finalizers_that_changed_meanwhile_is_a_conflict() {
    let stage = RealHarness::live().await;
    let uid = stage.bucket("a").await.uid().to_owned();
    stage
        .admin
        .patch(
            &stage.path("a"),
            &json!({"metadata": {"finalizers": ["x/1", "x/2"]}}),
        )
        .await
        .unwrap();
    until("it is seen", || {
        stage
            .engine
            .store
            .get(&stage.key("a"))
            .is_some_and(|a| a.has_finalizer("x/2"))
    })
    .await;
    // A store that hears of no changes.
    let deaf = Arc::new(Store::default());
    deaf.open(&stage.kind.api.kind);
    let writer = Writer::new(stage.engine.clients.write.clone(), deaf, "test");
    writer.get_live(&stage.kind.api, &stage.key("a")).await.unwrap();
    stage
        .admin
        .patch(&stage.path("a"), &json!({"metadata": {"finalizers": ["x/2"]}}))
        .await
        .unwrap();
    for finalizer in ["x/1", "x/2"] {
        let refused = writer
            .remove_finalizer(&stage.kind.api, &stage.key("a"), &uid, finalizer, Still::Whatever)
            .await;
        assert!(matches!(refused, Err(ApiError::Conflict(_))), "{refused:?}");
    }
    let live = stage.admin.get(&stage.path("a")).await.unwrap();
    assert_eq!(live["metadata"]["finalizers"], json!(["x/2"]));
}

#[tokio::test]
async fn a_finalizer_stays_where_another_call_was_recorded_meanwhile() {
    let stage = RealHarness::live().await;
    let uid = stage.bucket("a").await.uid().to_owned();
    let meta = json!({"metadata": {"finalizers": ["x/1", "x/2"], "annotations": {"x.dev/record": "one"}}});
    stage.admin.patch(&stage.path("a"), &meta).await.unwrap();
    let (api, key) = (&stage.kind.api, stage.key("a"));
    let writer = &stage.engine.writer;
    let seen = writer.get_live(api, &key).await.unwrap();
    let another = json!({"metadata": {"annotations": {"x.dev/record": "two"}}});
    stage.admin.patch(&stage.path("a"), &another).await.unwrap();
    // Whether or not the store has heard of it.
    for _ in 0..2 {
        let still = Still::Version(seen.resource_version());
        let refused = writer.remove_finalizer(api, &key, &uid, "x/1", still).await;
        assert!(matches!(refused, Err(ApiError::Conflict(_))), "{refused:?}");
        writer.get_live(api, &key).await.unwrap();
    }
    let newest = writer.get_live(api, &key).await.unwrap();
    let still = Still::Version(newest.resource_version());
    let remains = writer
        .remove_finalizer(api, &key, &uid, "x/1", still)
        .await
        .unwrap();
    let Finalized::Remains(remains) = remains else {
        panic!("nobody deletes it");
    };
    let still = Still::Version(remains.resource_version());
    writer
        .remove_finalizer(api, &key, &uid, "x/2", still)
        .await
        .unwrap();
    let live = stage.admin.get(&stage.path("a")).await.unwrap();
    assert_eq!(live["metadata"]["finalizers"], json!(null));
}

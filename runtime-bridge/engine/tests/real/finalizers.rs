use bridge_engine::{api_error::ApiError, object::Object, write::Finalized};
use serde_json::json;

use crate::harness::RealHarness;

#[tokio::test]
async fn a_finalizer_is_taken_off_the_right_object() {
    let stage = RealHarness::live().await;
    let (api, key, writer) = (&stage.kind.api, stage.key("a"), &stage.engine.writer);
    let uid = stage.bucket("a").await.uid().to_owned();
    let finalizers = json!({"metadata": {"finalizers": ["x/1", "x/2"]}});
    stage.admin.patch(&stage.path("a"), &finalizers).await.unwrap();

    // Not another object of its name.
    let mut another = Object::clone(&*writer.get_live(api, &key).await.unwrap());
    another.meta.uid = Some("another".to_owned());
    let refused = writer.remove_finalizer(&another, "x/1").await;
    assert!(matches!(refused, Err(ApiError::Conflict(_))), "{refused:?}");
    let live = stage.admin.get(&stage.path("a")).await.unwrap();
    assert_eq!(live["metadata"]["finalizers"], json!(["x/1", "x/2"]));

    // Others wait for their own.
    stage.admin.delete(&stage.path("a")).await.unwrap();
    let deleting = writer.get_live(api, &key).await.unwrap();
    let Finalized::Remains(first) = writer.remove_finalizer(&deleting, "x/1").await.unwrap() else {
        panic!("x/2 holds it");
    };
    assert_eq!(first.meta.finalizers, Some(vec!["x/2".to_owned()]));
    let twice = writer.remove_finalizer(&first, "x/1").await.unwrap();
    assert!(matches!(twice, Finalized::Remains(_)), "twice is once");

    let last = writer.remove_finalizer(&first, "x/2").await.unwrap();
    assert!(matches!(last, Finalized::Gone));
    assert!(stage.engine.store.get(&key).is_none());
    assert!(stage.engine.store.is_tombstoned(&uid));
    let again = writer.remove_finalizer(&first, "x/2").await.unwrap();
    assert!(matches!(again, Finalized::Gone), "gone is gone");
}

#[tokio::test]
async fn a_finalizer_stays_where_another_call_was_recorded_meanwhile() {
    let stage = RealHarness::live().await;
    stage.bucket("a").await;
    let meta = json!({"metadata": {"finalizers": ["x/1", "x/2"], "annotations": {"x.dev/record": "one"}}});
    stage.admin.patch(&stage.path("a"), &meta).await.unwrap();
    let (api, key) = (&stage.kind.api, stage.key("a"));
    let writer = &stage.engine.writer;
    let seen = writer.get_live(api, &key).await.unwrap();
    let another = json!({"metadata": {"annotations": {"x.dev/record": "two"}}});
    stage.admin.patch(&stage.path("a"), &another).await.unwrap();
    // Whether or not the store has heard of it.
    for _ in 0..2 {
        let refused = writer.remove_finalizer(&seen, "x/1").await;
        assert!(matches!(refused, Err(ApiError::Conflict(_))), "{refused:?}");
        writer.get_live(api, &key).await.unwrap();
    }
    let newest = writer.get_live(api, &key).await.unwrap();
    let remains = writer.remove_finalizer(&newest, "x/1").await.unwrap();
    let Finalized::Remains(remains) = remains else {
        panic!("nobody deletes it");
    };
    writer.remove_finalizer(&remains, "x/2").await.unwrap();
    let live = stage.admin.get(&stage.path("a")).await.unwrap();
    assert_eq!(live["metadata"]["finalizers"], json!(null));
}

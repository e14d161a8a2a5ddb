use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Instant,
};

use bridge_core::queue::Priority;
use bridge_engine::{
    api_error::ApiError,
    clock::Clock,
    crd,
    engine::Lookup,
    object::{ApiType, Key},
    store::{Cause, Change, Listener},
    watch::WatchState,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio::sync::mpsc;

use crate::{
    admin::{Admin, TestKind, plane},
    harness::{LIMIT, RealHarness, engine_by, until, within},
};

#[tokio::test]
async fn user_changes_wake_an_object() {
    let mut stage = RealHarness::live().await;
    stage.create("a").await;
    let found = stage.pass("a").await;
    assert_eq!(found.object.unwrap().spec_value()["size"], 1);
    assert_eq!(found.pass.priority, Priority::UserChange);

    stage
        .admin
        .patch(&stage.path("a"), &json!({"spec": {"size": 2}}))
        .await
        .unwrap();
    let found = stage.pass("a").await.object.unwrap();
    assert_eq!(
        (found.spec_value()["size"].as_i64(), found.generation()),
        (Some(2), 2)
    );

    let uid = found.uid().to_owned();
    stage.admin.delete(&stage.path("a")).await.unwrap();
    assert!(stage.pass("a").await.object.is_none());
    assert!(stage.engine.store.is_tombstoned(&uid));
    assert_eq!(stage.engine.store.count(&stage.kind.api.kind), 0);
}

#[tokio::test]
async fn initial_objects_are_reconciled() {
    let stage = RealHarness::live().await;
    stage.create("a").await;
    let (begins, mut begun) = mpsc::unbounded_channel();
    let listener: Arc<Listener> = Arc::new(move |change: &Change| {
        let _ = begins.send((change.key.name().to_owned(), change.cause.clone()));
    });
    stage.stored("a").await;
    let subscription = stage.engine.subscribe(&stage.kind.api, "another one", &listener);
    assert_eq!(
        within(begun.recv()).await.unwrap(),
        ("a".to_owned(), Cause::Listed)
    );
    let kinds = stage.engine.watches.kinds();
    let watched = kinds
        .iter()
        .find(|watch| watch.kind == stage.kind.api.kind)
        .unwrap();
    assert_eq!(
        watched.reasons,
        [
            ("another one".to_owned(), 1),
            ("the test serves it".to_owned(), 1)
        ]
        .into()
    );
    drop((subscription, listener));
    assert!(
        within(begun.recv()).await.is_none(),
        "nothing is heard afterwards"
    );
}

#[tokio::test]
async fn a_kind_is_served_while_its_crd_exists() {
    let admin = crate::admin::Admin::new().await;
    let kubeconfig = crate::admin::plane().await.kubeconfig();
    let mut stage = RealHarness::new(kubeconfig, admin).await;
    let kind = stage.kind.api.kind.clone();
    let gone = |why: &str| WatchState::Gone(why.to_owned());
    let missing = gone("there is no definition of this kind");
    until("it is known to be missing", || {
        stage.engine.watches.state(&kind) == missing
    })
    .await;

    let definition = stage.kind.definition();
    for round in 0..3 {
        crd::install(
            &stage.engine.clients.write,
            std::slice::from_ref(&definition),
            LIMIT,
        )
        .await
        .unwrap();
        let bucket = stage.create("a").await;
        let found = stage.pass("a").await.object.expect("it is there");
        assert_eq!(bucket["metadata"]["uid"], found.uid(), "round {round}");
        stage.admin.delete(&stage.kind.path()).await.unwrap();
        until("its watch is gone", || {
            stage.engine.watches.state(&kind) == missing
        })
        .await;
        assert!(stage.engine.store.is_tombstoned(found.uid()));
        assert!(stage.pass("a").await.object.is_none());
    }
}

/// A watcher of kube's was blind for 22 to 27 s here.
#[tokio::test]
async fn a_recreated_crd_is_served_again_under_load() {
    let mut stage = RealHarness::live().await;
    let (admin, collection, kind) = (
        stage.admin.clone(),
        stage.kind.collection(&stage.namespace),
        stage.kind.bucket(""),
    );
    let load = tokio::spawn(async move {
        for n in 0_u64.. {
            let mut bucket = kind.clone();
            bucket["metadata"]["name"] = json!(format!("load-{n}"));
            match admin.create(&collection, &bucket).await {
                // The definition is gone, going, or coming.
                Ok(_)
                | Err(
                    ApiError::NotServed(_)
                    | ApiError::NotFound(_)
                    | ApiError::Invalid(_)
                    | ApiError::Forbidden(_),
                ) => {}
                Err(error) => assert!(error.is_transient() || n > 0, "{error}"),
            }
        }
    });
    within(stage.passes.recv()).await.unwrap();

    let mut definition = stage.admin.get(&stage.kind.path()).await.unwrap();
    for round in 0..3 {
        let old = definition["metadata"]["uid"].clone();
        stage.admin.delete(&stage.kind.path()).await.unwrap();
        let begun = Instant::now();
        while stage
            .admin
            .get(&stage.kind.path())
            .await
            .is_ok_and(|live| live["metadata"]["uid"] == old)
        {
            assert!(begun.elapsed() < LIMIT, "the definition is still there");
        }
        crd::install(&stage.engine.clients.write, &[stage.kind.definition()], LIMIT)
            .await
            .unwrap();
        let established = Instant::now();
        definition = stage.admin.get(&stage.kind.path()).await.unwrap();
        let new = definition["metadata"]["uid"].as_str().unwrap().to_owned();
        assert_ne!(old, json!(new));

        let name = format!("after-{round}");
        let made = loop {
            match stage
                .admin
                .create(
                    &stage.kind.collection(&stage.namespace),
                    &stage.kind.bucket(&name),
                )
                .await
            {
                Ok(made) => break made,
                Err(error) => assert!(established.elapsed() < LIMIT, "{error}"),
            }
        };
        let made_at = Instant::now();
        let found = stage.pass(&name).await.object.expect("it is there");
        assert_eq!(made["metadata"]["uid"], found.uid());
        // The API server itself keeps the first creations of a new definition waiting for two seconds.
        println!(
            "round {round}: first pass {:?} after the first object was made",
            made_at.elapsed()
        );
        let shown = stage.engine.state();
        let kind = shown
            .kinds
            .iter()
            .find(|k| k.watch.kind == stage.kind.api.kind)
            .unwrap();
        assert_eq!(kind.watch.definition.as_deref(), Some(new.as_str()));
    }
    load.abort();

    agrees_with_the_api_server(&stage).await;
}

/// The store shows what the API server has, and nothing of an old definition.
async fn agrees_with_the_api_server(stage: &RealHarness) {
    until("the store agrees with the API server", || {
        stage.engine.dispatcher.in_flight().is_empty()
    })
    .await;
    let listed = stage
        .admin
        .get(&stage.kind.collection(&stage.namespace))
        .await
        .unwrap();
    let listed: Vec<&str> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["uid"].as_str().unwrap())
        .collect();
    until("all are there", || {
        stage.engine.store.count(&stage.kind.api.kind) >= listed.len()
    })
    .await;
    let mut stored: Vec<String> = stage
        .engine
        .store
        .list(&stage.kind.api.kind)
        .iter()
        .map(|object| object.uid().to_owned())
        .collect();
    stored.sort();
    let mut listed: Vec<String> = listed.into_iter().map(ToOwned::to_owned).collect();
    listed.sort();
    assert_eq!(stored, listed);
}

#[tokio::test]
async fn a_lookup_is_cached_or_direct() {
    let stage = RealHarness::live().await;
    let bucket = stage.bucket("a").await;
    let look = |key: Key| {
        let (engine, api) = (&stage.engine, &stage.kind.api);
        async move { engine.get(api, &key).await }
    };
    assert!(matches!(look(stage.key("a")).await, Lookup::Live(Some(found)) if found.uid() == bucket.uid()));
    assert!(matches!(look(stage.key("nobody")).await, Lookup::Live(None)));

    // A kind that nobody watches.
    let config_maps = bridge_engine::object::ApiType {
        kind: bridge_core::watch_plan::GroupKind::new("", "ConfigMap"),
        version: "v1".into(),
        plural: "configmaps".into(),
        namespaced: true,
    };
    let config_maps = Arc::new(config_maps);
    let key = |name| Key::new(config_maps.kind.clone(), Some("kube-system"), name);
    let there = stage
        .engine
        .get(&config_maps, &key("extension-apiserver-authentication"))
        .await;
    assert!(matches!(there, Lookup::Direct(Some(_))), "{there:?}");
    assert!(matches!(
        stage.engine.get(&config_maps, &key("nobody")).await,
        Lookup::Direct(None)
    ));
    let bad = stage.engine.get(&config_maps, &key("../../secrets/x")).await;
    assert!(
        matches!(bad, Lookup::Unavailable(ApiError::Invalid(_))),
        "{bad:?}"
    );
}

#[tokio::test]
async fn state_and_metrics_show_what_happens() {
    let mut stage = RealHarness::live().await;
    stage.create("a").await;
    stage.pass("a").await;
    let kind = stage.kind.api.kind.to_string();
    until("the pass is over", || {
        stage.engine.dispatcher.in_flight().is_empty()
    })
    .await;
    let snapshot = serde_json::to_value(stage.engine.state()).unwrap();
    let shown = snapshot["kinds"]
        .as_array()
        .unwrap()
        .iter()
        .find(|shown| shown["kind"] == kind.as_str())
        .unwrap();
    assert_eq!(
        (&shown["state"], &shown["objects"], &shown["version"]),
        (&json!("live"), &json!(1), &json!("v1"))
    );
    assert_eq!(shown["queue"], json!({"ready": 0, "waiting": 0, "running": 0}));
    assert_eq!(snapshot["definitions"]["state"], "live");
    assert_eq!(snapshot["dispatching"], true);
    let metrics = stage.engine.encode_metrics();
    for line in [
        format!(r#"crossbridge_objects{{kind="{kind}"}} 1"#),
        format!(r#"crossbridge_watch_state{{kind="{kind}",state="live"}} 1"#),
        format!(r#"crossbridge_watch_state{{kind="{kind}",state="syncing"}} 0"#),
        format!(r#"crossbridge_passes_total{{kind="{kind}",outcome="done"}} 1"#),
        format!(r#"crossbridge_pass_seconds_count{{kind="{kind}"}} 1"#),
        r#"crossbridge_api_requests_total{verb="watch",resource="buckets",code="200"} 1"#.to_owned(),
    ] {
        assert!(metrics.lines().any(|shown| shown == line), "{line} in\n{metrics}");
    }
}

/// The machine's clock, ahead by so many seconds.
#[derive(Default)]
struct Ahead(AtomicI64);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        Timestamp::now() + SignedDuration::from_secs(self.0.load(Ordering::SeqCst))
    }
}

/// crossplane#5400: the watch was collected with its former user's, and nobody heard of what came later.
#[tokio::test]
async fn who_subscribes_within_the_grace_hears_of_what_comes_after_it() {
    let (admin, kind, clock) = (Admin::new().await, TestKind::new(), Arc::new(Ahead::default()));
    let kubeconfig = plane().await.kubeconfig();
    let (engine, _gate) = engine_by(kubeconfig, Arc::clone(&clock) as _).await;
    crd::install(&engine.clients.write, &[kind.definition()], LIMIT)
        .await
        .unwrap();
    let namespace = admin.namespace(&kind.api.kind.group().replace('.', "-")).await;
    let (tell, mut told) = mpsc::unbounded_channel();
    let listener: Arc<Listener> = Arc::new(move |change: &Change| {
        // The test may have seen enough.
        let _ = tell.send(change.key.name().to_owned());
    });
    let nobody: Arc<Listener> = Arc::new(|_| {});
    let live = |kind| engine.watches.state(kind) == WatchState::Live;
    let first = engine.subscribe(&kind.api, "first", &nobody);
    until("it is watched", || live(&kind.api.kind)).await;

    drop(first);
    clock.0.store(50, Ordering::SeqCst);
    let second = engine.subscribe(&kind.api, "second", &listener);
    clock.0.store(70, Ordering::SeqCst);
    // A plan that is carried out after the grace: it starts this watch.
    let config_maps = Arc::new(ApiType {
        kind: bridge_core::watch_plan::GroupKind::new("", "ConfigMap"),
        version: "v1".into(),
        plural: "configmaps".into(),
        namespaced: true,
    });
    let _other = engine.subscribe(&config_maps, "the test", &nobody);
    until("the plan is carried out", || live(&config_maps.kind)).await;
    assert!(live(&kind.api.kind));

    admin
        .create(&kind.collection(&namespace), &kind.bucket("late"))
        .await
        .unwrap();
    assert_eq!(within(told.recv()).await.as_deref(), Some("late"));
    let kinds = engine.watches.kinds();
    let watch = kinds.iter().find(|watch| watch.kind == kind.api.kind).unwrap();
    assert_eq!((watch.lists, watch.interruptions), (1, 0), "it is the same watch");
    drop(second);
}

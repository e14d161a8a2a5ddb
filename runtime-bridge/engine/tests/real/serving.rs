//! Kinds that are served by handles, and what a registry makes of its sources.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use bridge_core::crd::note_versions;
use bridge_engine::{
    engine::{Controller, Engine},
    lease::Leadership,
    object::Key,
    reconcile::{Next, Reconcile, ReconcileRequest},
    serve::{DefinitionMode, DesiredKind, KindReport, KindSource, KindStatus, Registry, Wanted},
    watch::WatchState,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, watch};

use crate::{
    admin::{Admin, TestKind, plane},
    harness::{RealHarness, engine, until, within},
};

#[tokio::test]
async fn a_kind_whose_handle_is_dropped_has_no_passes_until_it_is_served_again() {
    let mut stage = RealHarness::live().await;
    stage.create("a").await;
    stage.pass("a").await;
    let queued = |stage: &RealHarness| {
        let label = format!("queue_depth{{kind=\"{}\"}}", stage.kind.api.kind);
        stage.engine.encode_metrics().contains(&label)
    };
    assert!(queued(&stage));
    drop(stage.served.take());
    assert!(!queued(&stage), "a gauge would stay as it was for ever");
    stage.bucket("b").await;
    // The grace of the watch: it goes on, and nobody is told.
    assert_eq!(stage.engine.watches.state(&stage.kind.api.kind), WatchState::Live);
    assert!(stage.engine.due(&stage.key("b")).is_none());
    assert!(stage.passes.try_recv().is_err());

    stage.served = Some(stage.engine.serve(stage.controller.clone()));
    stage.pass("a").await;
    stage.pass("b").await;
    stage.create("c").await;
    stage.pass("c").await;
}

/// Notes its passes; each waits for a permit.
struct Passes {
    begun: mpsc::UnboundedSender<String>,
    may_end: Semaphore,
}

#[async_trait]
impl Reconcile for Passes {
    async fn reconcile(&self, key: &Key, _: ReconcileRequest) -> Next {
        // The test may have seen enough.
        let _ = self.begun.send(format!("{} {}", key.kind().group(), key.name()));
        let _permit = self.may_end.acquire().await;
        Next::idle()
    }
}

/// A source whose kinds the test sets.
struct Set {
    kinds: watch::Receiver<Vec<Arc<DesiredKind>>>,
}

impl KindSource for Set {
    fn changed(&self) -> BoxFuture<'static, ()> {
        let mut kinds = self.kinds.clone();
        Box::pin(async move {
            if kinds.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }

    fn wanted(&mut self) -> Wanted {
        Wanted {
            kinds: self.kinds.borrow_and_update().clone(),
            rejected: Vec::new(),
        }
    }

    fn accepted(&mut self, _: &[Arc<DesiredKind>]) {}
}

#[derive(Default)]
struct Statuses(Mutex<BTreeMap<String, KindStatus>>);

impl KindReport for Statuses {
    fn kind(&self, name: &str, status: KindStatus) {
        self.0.lock().unwrap().insert(name.to_owned(), status);
    }

    fn retain(&self, wanted: &dyn Fn(&str) -> bool) {
        self.0.lock().unwrap().retain(|name, _| wanted(name));
    }
}

struct Setting {
    admin: Admin,
    statuses: Arc<Statuses>,
    sources: Vec<watch::Sender<Vec<Arc<DesiredKind>>>>,
    passes: mpsc::UnboundedReceiver<String>,
    reconciler: Arc<Passes>,
    _gate: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Setting {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Setting {
    /// A registry of two sources at work.
    async fn new(mode: DefinitionMode) -> Self {
        let admin = Admin::new().await;
        let (engine, gate) = engine(plane().await.kubeconfig()).await;
        let engine: Arc<Engine> = Arc::new(engine);
        let (begun, passes) = mpsc::unbounded_channel();
        let statuses = Arc::new(Statuses::default());
        let channels = [(); 2].map(|()| watch::channel(Vec::new()));
        let sources = channels
            .iter()
            .map(|(_, kinds)| Box::new(Set { kinds: kinds.clone() }) as Box<dyn KindSource>);
        let mut registry = Registry::new(
            &engine,
            &Leadership::unopposed(),
            mode,
            Arc::clone(&statuses) as _,
            sources.collect(),
        );
        Self {
            admin,
            statuses,
            sources: channels.into_iter().map(|(sender, _)| sender).collect(),
            passes,
            reconciler: Arc::new(Passes {
                begun,
                may_end: Semaphore::new(100),
            }),
            _gate: gate,
            task: tokio::spawn(async move { registry.run().await }),
        }
    }

    fn desired(&self, kind: &TestKind, source: &str, version: &str) -> Arc<DesiredKind> {
        let mut crd = kind.definition();
        note_versions(&mut crd, version, "0.1.0");
        Arc::new(DesiredKind {
            name: kind.name(),
            source: source.to_owned(),
            crd,
            controller: Some(Controller {
                owner: None,
                api: Arc::clone(&kind.api),
                edges: Arc::new([]),
                reconciler: Arc::clone(&self.reconciler) as _,
                reason: "the test serves it".to_owned(),
            }),
        })
    }

    fn status(&self, name: &str) -> Option<KindStatus> {
        self.statuses.0.lock().unwrap().get(name).cloned()
    }

    async fn served(&self, kind: &TestKind) {
        until("it is served", || {
            self.status(&kind.name()) == Some(KindStatus::Served)
        })
        .await;
    }

    /// Somebody makes a bucket of this kind in a namespace of its own.
    async fn bucket(&self, kind: &TestKind, name: &str) {
        let namespace = format!("{}-{name}", kind.api.kind.group().replace('.', "-"));
        self.admin.namespace(&namespace).await;
        within(async {
            // The API server itself takes a moment to serve a new kind.
            while let Err(error) = self
                .admin
                .create(&kind.collection(&namespace), &kind.bucket(name))
                .await
            {
                assert!(error.is_transient(), "{error}");
            }
        })
        .await;
    }

    async fn pass(&mut self, kind: &TestKind, name: &str) {
        let wanted = format!("{} {name}", kind.api.kind.group());
        let passes = &mut self.passes;
        within(async { while passes.recv().await.unwrap() != wanted {} }).await;
    }
}

#[tokio::test]
async fn a_source_that_changes_touches_no_kind_but_its_own() {
    let mut setting = Setting::new(DefinitionMode::Install).await;
    let (kept, gone, come) = (TestKind::new(), TestKind::new(), TestKind::new());
    setting.sources[0].send_replace(vec![setting.desired(&kept, "one", "1.0.0")]);
    setting.sources[1].send_replace(vec![setting.desired(&gone, "other", "1.0.0")]);
    setting.served(&kept).await;
    setting.served(&gone).await;
    // Passes of both hang.
    setting.reconciler.may_end.forget_permits(100);
    setting.bucket(&kept, "a").await;
    setting.pass(&kept, "a").await;
    setting.bucket(&gone, "a").await;
    setting.pass(&gone, "a").await;

    setting.sources[1].send_replace(vec![setting.desired(&come, "other", "1.1.0")]);
    setting.served(&come).await;
    assert_eq!(setting.status(&gone.name()), None);
    setting.bucket(&come, "a").await;
    setting.pass(&come, "a").await;
    setting.bucket(&kept, "b").await;
    setting.pass(&kept, "b").await;
}

#[tokio::test]
async fn a_kind_that_two_want_goes_to_the_next_when_the_first_wants_it_no_more() {
    let mut setting = Setting::new(DefinitionMode::Install).await;
    let kind = TestKind::new();
    setting.sources[1].send_replace(vec![setting.desired(&kind, "other", "1.0.0")]);
    setting.served(&kind).await;
    setting.sources[0].send_replace(vec![setting.desired(&kind, "one", "1.0.0")]);
    let refused = format!("{} of one", kind.name());
    until("the second is refused", || {
        matches!(setting.status(&refused), Some(KindStatus::Refused(why)) if why.contains("served by other"))
    })
    .await;
    assert_eq!(setting.status(&kind.name()), Some(KindStatus::Served));

    setting.sources[1].send_replace(Vec::new());
    until("nothing is refused", || setting.status(&refused).is_none()).await;
    setting.served(&kind).await;
    setting.bucket(&kind, "a").await;
    setting.pass(&kind, "a").await;
}

#[tokio::test]
async fn a_definition_that_somebody_changes_is_put_right() {
    let setting = Setting::new(DefinitionMode::Install).await;
    let kind = TestKind::new();
    setting.sources[0].send_replace(vec![setting.desired(&kind, "one", "1.0.0")]);
    setting.served(&kind).await;
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    for _ in 0..2 {
        let gone = json!([{"op": "remove", "path": format!("{spec}/size")}]);
        setting.admin.json_patch(kind.path(), gone).await;
        within(async {
            loop {
                let live = setting.admin.get(&kind.path()).await.unwrap();
                if live.pointer(&format!("{spec}/size")).is_some() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_definition_of_a_newer_version_is_left_and_served() {
    let mut setting = Setting::new(DefinitionMode::Install).await;
    let kind = TestKind::new();
    let mut newer = kind.definition();
    newer["spec"]["names"]["categories"] = json!(["newer"]);
    note_versions(&mut newer, "1.1.0", "0.1.0");
    setting
        .admin
        .create(crate::admin::DEFINITIONS, &newer)
        .await
        .unwrap();
    setting.sources[0].send_replace(vec![setting.desired(&kind, "one", "1.0.0")]);
    setting.served(&kind).await;
    setting.bucket(&kind, "a").await;
    setting.pass(&kind, "a").await;
    let live: Value = setting.admin.get(&kind.path()).await.unwrap();
    assert_eq!(live["spec"]["names"]["categories"], json!(["newer"]));

    // Its own version of it is taken up.
    let mut ours = kind.definition();
    ours["spec"]["names"]["categories"] = json!(["newest"]);
    note_versions(&mut ours, "1.2.0", "0.1.0");
    let desired = setting.desired(&kind, "one", "1.2.0");
    let controller = desired.controller.clone();
    setting.sources[0].send_replace(vec![Arc::new(DesiredKind {
        name: kind.name(),
        source: "one".to_owned(),
        crd: ours,
        controller,
    })]);
    within(async {
        loop {
            let live = setting.admin.get(&kind.path()).await.unwrap();
            if live["spec"]["names"]["categories"] == json!(["newest"]) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_definition_that_is_checked_only_is_noticed_as_soon_as_it_comes() {
    let mut setting = Setting::new(DefinitionMode::Check).await;
    let kind = TestKind::new();
    setting.sources[0].send_replace(vec![setting.desired(&kind, "one", "1.0.0")]);
    until("it waits", || {
        matches!(setting.status(&kind.name()), Some(KindStatus::Waiting(why)) if why.contains("not installed"))
    })
    .await;
    setting
        .admin
        .create(crate::admin::DEFINITIONS, &kind.definition())
        .await
        .unwrap();
    setting.served(&kind).await;
    setting.bucket(&kind, "a").await;
    setting.pass(&kind, "a").await;
}

//! Plugins that never answer.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bridge_e2e::eventually;
use bridge_hostile::{Attack, HOSTILE, HostilePlugin, MINE, Scene, kind};
use crossbridge_proto::v1alpha1::{
    GetPluginInfoResponse, ObserveRequest, ObserveResponse, ResourceKind, Timeouts,
};
use tonic::Status;

/// As long as the contract lets a call take, in seconds.
const LONGEST: i64 = 60;

/// One of so many plugins that answer no call about a resource.
struct Hanging {
    group: String,
    /// Calls under way to any of them.
    calls: Arc<AtomicUsize>,
}

/// A call under way.
struct UnderWay(Arc<AtomicUsize>);

impl UnderWay {
    fn begin(calls: &Arc<AtomicUsize>) -> Self {
        calls.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(calls))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tonic::async_trait]
impl Attack for Hanging {
    fn info(&self) -> GetPluginInfoResponse {
        GetPluginInfoResponse {
            name: self.group.clone(),
            instance_id: self.group.clone(),
            ..good_info()
        }
    }

    fn kinds(&self) -> Vec<ResourceKind> {
        let mut kind = kind(&self.group, MINE);
        kind.timeouts = Some(Timeouts {
            call_timeout: Some(prost_types::Duration {
                seconds: LONGEST,
                nanos: 0,
            }),
            ..Timeouts::default()
        });
        vec![kind]
    }

    async fn observe(&self, _: ObserveRequest) -> Result<ObserveResponse, Status> {
        let _under_way = UnderWay::begin(&self.calls);
        pending().await
    }
}

/// What a plugin says of itself that lies about nothing.
fn good_info() -> GetPluginInfoResponse {
    struct Good;
    impl Attack for Good {}
    Good.info()
}

/// With so many of them, each with so many objects; ready when so many calls hang.
async fn hanging(plugins: usize, objects: usize, until: usize) -> Scene {
    let calls = Arc::new(AtomicUsize::new(0));
    let group = |at: usize| match at {
        0 => HOSTILE.to_owned(),
        at => format!("evil-{at}.example.org"),
    };
    let scene = Scene::with_plugins((0..plugins).map(|at| {
        let hanging = Hanging {
            group: group(at),
            calls: Arc::clone(&calls),
        };
        |socket: &std::path::Path| HostilePlugin::serve(socket, hanging)
    }))
    .await;
    scene.namespace("evil").await;
    for at in 0..plugins {
        scene.config_of(&group(at), "evil").await;
        scene.traps_of(&group(at), MINE, "evil", objects).await;
    }
    eventually("the calls hang", async || calls.load(Ordering::SeqCst) >= until).await;
    scene
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_never_answers_takes_no_others_place() {
    let scene = hanging(1, 200, 32).await;
    scene.verdict("no-answer").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_plugins_that_never_answer_take_no_others_place() {
    let scene = hanging(20, 10, 100).await;
    scene.verdict("no-answer-of-twenty").await;
}

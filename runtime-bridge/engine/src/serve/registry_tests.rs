use std::{collections::BTreeMap, convert::Infallible, time::Duration};

use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body_util::StreamBody;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::*;
use crate::{
    client::{ApiClient, Clients, DEADLINE},
    clock::SystemClock,
    engine::EngineOptions,
    metrics::Metrics,
    serve::Wanted,
};

/// A source of these kinds, which never change.
struct Fixed(Vec<Arc<DesiredKind>>);

impl KindSource for Fixed {
    fn changed(&self) -> BoxFuture<'static, ()> {
        Box::pin(pending())
    }

    fn wanted(&mut self) -> Wanted {
        Wanted {
            kinds: self.0.clone(),
            rejected: Vec::new(),
        }
    }

    fn accepted(&mut self, _: &[Arc<DesiredKind>]) {}
}

/// What became of the kinds; a kind that is served is told.
struct Statuses {
    all: Mutex<BTreeMap<String, KindStatus>>,
    served: watch::Sender<Vec<String>>,
}

impl KindReport for Statuses {
    fn kind(&self, name: &str, status: KindStatus) {
        if status == KindStatus::Served {
            self.served.send_modify(|served| served.push(name.to_owned()));
        }
        self.all.lock().insert(name.to_owned(), status);
    }

    fn retain(&self, _: &dyn Fn(&str) -> bool) {}
}

fn definition(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "resourceVersion": "1", "labels": {bridge_core::crd::MANAGED_BY_LABEL: bridge_core::crd::MANAGED_BY}},
        "spec": {"group": format!("{name}.example.org"), "names": {"kind": "Note"}, "versions": []},
    })
}

/// An engine whose API server has all definitions as they should be, and establishes those of this name alone.
fn engine(established: &'static str) -> Arc<Engine> {
    let service = tower::service_fn(move |request: Request<Body>| {
        let name = request
            .uri()
            .path()
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned();
        let (answer, goes_on) = if name == "customresourcedefinitions" {
            let last = json!({"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}});
            (json!({"type": "BOOKMARK", "object": {"metadata": last}}), true)
        } else if request.uri().path().contains("/customresourcedefinitions/") {
            let mut live = definition(&name);
            let status = if name == established { "True" } else { "False" };
            live["status"] =
                json!({"conditions": [{"type": "Established", "status": status, "message": "no"}]});
            (live, false)
        } else {
            (Value::Null, true)
        };
        let frame = http_body::Frame::data(format!("{answer}\n").into());
        let answer = stream::once(async { Ok::<_, Infallible>(frame) });
        let body = if goes_on {
            StreamBody::new(answer.chain(stream::pending()).boxed())
        } else {
            StreamBody::new(answer.boxed())
        };
        async move { Ok::<_, Infallible>(Response::new(body)) }
    });
    let metrics = Arc::new(Metrics::new());
    let kube = kube::Client::new(service, "default");
    let client = ApiClient::new(kube, Arc::clone(&metrics), DEADLINE);
    let clients = Clients {
        watch: client.clone(),
        write: client,
        server: "http://kube".to_owned(),
        version: "v1.36.0".to_owned(),
    };
    let (_, gate) = watch::channel(false);
    Arc::new(Engine::start(
        clients,
        metrics,
        Arc::new(SystemClock),
        &EngineOptions::default(),
        gate,
    ))
}

#[tokio::test(start_paused = true)]
async fn kinds_that_are_never_established_keep_no_other_waiting() {
    let mut kinds: Vec<_> = (0..16).map(|i| format!("stuck{i}")).collect();
    kinds.push("good".to_owned());
    let kinds = kinds.iter().map(|name| {
        Arc::new(DesiredKind {
            name: name.clone(),
            source: "test".to_owned(),
            crd: definition(name),
            controller: None,
        })
    });
    let (served, mut shown) = watch::channel(Vec::new());
    let statuses = Arc::new(Statuses {
        all: Mutex::default(),
        served,
    });
    let mut registry = Registry::new(
        &engine("good"),
        &Leadership::unopposed(),
        DefinitionMode::Install,
        Arc::clone(&statuses) as _,
        vec![Box::new(Fixed(kinds.collect()))],
    );
    let served = async {
        let found = shown
            .wait_for(|served| served.iter().any(|name| name == "good"))
            .await;
        assert!(found.is_ok());
    };
    tokio::select! {
        () = registry.run() => unreachable!("it runs until it is dropped"),
        served = tokio::time::timeout(Duration::from_secs(5), served) => served.unwrap(),
    }
    let is_stuck = |why: &str| why.contains("Established=False");
    let pending = |status: &&KindStatus| matches!(status, KindStatus::Pending(why) if is_stuck(why));
    assert_eq!(
        statuses.all.lock().values().filter(pending).count(),
        16,
        "nothing is wrong so far"
    );
    let lasts = tokio::time::timeout(Duration::from_secs(16), registry.run()).await;
    assert!(lasts.is_err(), "it runs until it is dropped");
    let waiting = |status: &&KindStatus| matches!(status, KindStatus::Waiting(why) if is_stuck(why));
    assert_eq!(statuses.all.lock().values().filter(waiting).count(), 16);
}

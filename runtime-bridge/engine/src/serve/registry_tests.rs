use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

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

/// A source of these kinds.
struct Source(watch::Receiver<Vec<Arc<DesiredKind>>>);

impl Source {
    fn of(kinds: Vec<Arc<DesiredKind>>) -> (watch::Sender<Vec<Arc<DesiredKind>>>, Box<dyn KindSource>) {
        let (kinds, source) = watch::channel(kinds);
        (kinds, Box::new(Self(source)))
    }
}

impl KindSource for Source {
    fn changed(&self) -> BoxFuture<'static, ()> {
        let mut kinds = self.0.clone();
        Box::pin(async move {
            if kinds.changed().await.is_err() {
                pending::<()>().await;
            }
        })
    }

    fn wanted(&mut self) -> Wanted {
        Wanted {
            kinds: self.0.borrow_and_update().clone(),
            rejected: Vec::new(),
        }
    }

    fn accepted(&mut self, _: &[Arc<DesiredKind>]) {}
}

/// What became of the kinds; a kind that is served is told.
struct Statuses {
    all: Mutex<BTreeMap<String, KindStatus>>,
    reports: AtomicUsize,
    served: watch::Sender<Vec<String>>,
}

impl Statuses {
    fn new() -> (Arc<Self>, watch::Receiver<Vec<String>>) {
        let (served, shown) = watch::channel(Vec::new());
        let all = Mutex::default();
        let reports = AtomicUsize::new(0);
        (Arc::new(Self { all, reports, served }), shown)
    }

    fn of(&self, name: &str) -> Option<KindStatus> {
        self.all.lock().get(name).cloned()
    }
}

impl KindReport for Statuses {
    fn kind(&self, name: &str, status: KindStatus) {
        let reports = self.reports.fetch_add(1, Ordering::SeqCst);
        // Virtual time does not pass while somebody is always busy.
        assert!(reports < 1000, "it goes round and round");
        if status == KindStatus::Served {
            self.served.send_modify(|served| served.push(name.to_owned()));
        }
        self.all.lock().insert(name.to_owned(), status);
    }

    fn retain(&self, _: &dyn Fn(&str) -> bool) {}
}

/// Those named `of.PLUGIN` are another plugin's.
fn definition(name: &str) -> Value {
    let owner = name.strip_prefix("of.").unwrap_or("test");
    json!({
        "metadata": {
            "name": name, "resourceVersion": "1", "annotations": {bridge_core::crd::PLUGIN: owner},
            "labels": {bridge_core::crd::MANAGED_BY_LABEL: bridge_core::crd::MANAGED_BY},
        },
        "spec": {"group": format!("{name}.example.org"), "names": {"kind": "Note"}, "versions": []},
    })
}

/// A kind of a plugin.
fn kind(name: &str, plugin: &str) -> Arc<DesiredKind> {
    let mut crd = definition(name);
    crd["metadata"]["annotations"][bridge_core::crd::PLUGIN] = plugin.into();
    Arc::new(DesiredKind {
        name: name.to_owned(),
        source: plugin.to_owned(),
        crd,
        controller: None,
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
    let kinds = kinds.iter().map(|name| kind(name, "test"));
    let (_kept, source) = Source::of(kinds.collect());
    let (statuses, mut shown) = Statuses::new();
    let mut registry = Registry::new(
        &engine("good"),
        &Leadership::unopposed(),
        DefinitionMode::Install,
        Arc::clone(&statuses) as _,
        vec![source],
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

/// Runs it until a kind is served, of which its sources' tests tell the rest.
async fn run_until_served(registry: &mut Registry, mut shown: watch::Receiver<Vec<String>>, times: usize) {
    let served = async {
        let found = shown.wait_for(|served| served.len() >= times).await;
        assert!(found.is_ok());
    };
    tokio::select! {
        () = registry.run() => unreachable!("it runs until it is dropped"),
        served = tokio::time::timeout(Duration::from_mins(1), served) => served.unwrap(),
    }
}

fn registry(name: &'static str, statuses: &Arc<Statuses>, sources: Vec<Box<dyn KindSource>>) -> Registry {
    Registry::new(
        &engine(name),
        &Leadership::unopposed(),
        DefinitionMode::Install,
        Arc::clone(statuses) as _,
        sources,
    )
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_changes_stays_with_the_plugin_that_has_it() {
    let (thief, first) = Source::of(Vec::new());
    let (incumbent, second) = Source::of(vec![kind("of.good", "good")]);
    let (statuses, shown) = Statuses::new();
    let mut registry = registry("of.good", &statuses, vec![first, second]);
    run_until_served(&mut registry, shown.clone(), 1).await;
    thief.send_replace(vec![kind("of.good", "thief")]);
    incumbent.send_replace(vec![kind("of.good", "good")]);
    run_until_served(&mut registry, shown, 2).await;
    let refused = statuses.of("of.good of thief");
    assert!(matches!(refused, Some(KindStatus::Refused(_))), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn a_kind_goes_to_the_plugin_that_its_definition_belongs_to() {
    // Both want it at once, and then the thief alone is there first.
    for is_there in [true, false] {
        let kinds = || vec![kind("of.good", "good")];
        let (_thief, first) = Source::of(vec![kind("of.good", "thief")]);
        let (incumbent, second) = Source::of(if is_there { kinds() } else { Vec::new() });
        let (statuses, shown) = Statuses::new();
        let mut registry = registry("of.good", &statuses, vec![first, second]);
        if !is_there {
            let lasts = tokio::time::timeout(Duration::from_secs(20), registry.run()).await;
            assert!(lasts.is_err(), "it runs until it is dropped");
            let waits = statuses.of("of.good");
            assert!(matches!(waits, Some(KindStatus::Waiting(_))), "{waits:?}");
            incumbent.send_replace(kinds());
        }
        run_until_served(&mut registry, shown, 1).await;
        let refused = statuses.of("of.good of thief");
        assert!(matches!(refused, Some(KindStatus::Refused(_))), "{refused:?}");
    }
}

/// A definition of this name, of a kind that several names have.
fn shared_kind(name: &str, plugin: &str) -> Arc<DesiredKind> {
    let mut crd = kind(name, plugin).crd.clone();
    crd["spec"]["group"] = "shared.example.org".into();
    Arc::new(DesiredKind {
        name: name.to_owned(),
        source: plugin.to_owned(),
        crd,
        controller: None,
    })
}

async fn goes_on_quietly(statuses: &Statuses, registry: &mut Registry, name: &str) {
    let lasts = tokio::time::timeout(Duration::from_secs(30), registry.run()).await;
    assert!(lasts.is_err(), "it runs until it is dropped");
    let waits = statuses.of(name);
    assert!(matches!(waits, Some(KindStatus::Waiting(_))), "{waits:?}");
    let reports = statuses.reports.load(Ordering::SeqCst);
    assert!(reports < 50, "{reports} reports in half a minute");
}

#[tokio::test(start_paused = true)]
async fn two_that_have_each_others_definition_do_not_take_turns() {
    let (_one, first) = Source::of(vec![shared_kind("of.two", "one")]);
    let (_two, second) = Source::of(vec![shared_kind("of.one", "two")]);
    let (statuses, _shown) = Statuses::new();
    let mut registry = registry("none", &statuses, vec![first, second]);
    goes_on_quietly(&statuses, &mut registry, "of.two").await;
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_cannot_have_its_definition_takes_it_from_nobody() {
    // It has the kind by another definition already.
    let (_two, first) = Source::of(vec![shared_kind("own", "two"), shared_kind("of.two", "two")]);
    let (_one, second) = Source::of(vec![kind("of.two", "one")]);
    let (statuses, _shown) = Statuses::new();
    let mut registry = registry("none", &statuses, vec![first, second]);
    goes_on_quietly(&statuses, &mut registry, "of.two").await;
}

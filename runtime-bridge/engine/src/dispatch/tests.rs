use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use bridge_core::queue::{Limits, Priority};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};

mod passes;
mod wakes;

use super::*;
use crate::{
    object::{ApiType, Object, Texts},
    reconcile::{Next, ReconcileRequest},
    store::{Cause, Edge},
};

/// Virtual time, which passes by itself while everything waits.
struct TestClock {
    started: tokio::time::Instant,
    /// How far the wall clock was set.
    set: Mutex<SignedDuration>,
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.started.elapsed() + *self.set.lock()
    }

    fn ticks(&self) -> Duration {
        self.started.elapsed()
    }
}

/// What a pass does.
enum ScriptedResult {
    Answer(Next),
    Panic,
    Hang,
}

/// Does as its script says, and tells of each pass; without a script it is idle.
struct Scripted {
    script: Mutex<VecDeque<ScriptedResult>>,
    begun: mpsc::UnboundedSender<(Key, ReconcileRequest)>,
    /// A pass ends when it gets one of these.
    may_end: Arc<Semaphore>,
    running: AtomicUsize,
    most: AtomicUsize,
    longest: Mutex<Duration>,
    /// Changes of the status count too.
    all: std::sync::atomic::AtomicBool,
}

#[async_trait]
impl Reconcile for Scripted {
    async fn reconcile(&self, key: &Key, pass: ReconcileRequest) -> Next {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        self.begun.send((key.clone(), pass)).unwrap();
        let act = self
            .script
            .lock()
            .pop_front()
            .unwrap_or(ScriptedResult::Answer(Next::idle()));
        if let ScriptedResult::Answer(_) = act {
            self.may_end.acquire().await.unwrap().forget();
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        match act {
            ScriptedResult::Answer(next) => next,
            ScriptedResult::Panic => panic!("as the script says"),
            ScriptedResult::Hang => std::future::pending().await,
        }
    }

    fn initial_schedule(&self, _: &Object, now: Timestamp) -> Wake {
        Wake {
            at: now + SignedDuration::from_secs(7),
            priority: Priority::DriftPoll,
        }
    }

    fn wake_priority(&self, change: &Change) -> Option<Priority> {
        (change.beyond_status() || self.all.load(Ordering::SeqCst)).then_some(Priority::UserChange)
    }

    fn longest_pass(&self) -> Duration {
        *self.longest.lock()
    }

    fn flow(&self, object: &Object) -> String {
        object.label("account").unwrap_or_default().to_owned()
    }
}

struct Harness {
    dispatcher: Dispatcher,
    reconciler: Arc<Scripted>,
    begun: mpsc::UnboundedReceiver<(Key, ReconcileRequest)>,
    gate: watch::Sender<bool>,
    metrics: Arc<Metrics>,
    clock: Arc<TestClock>,
    store: Arc<Store>,
}

const TIMEOUT: Duration = Duration::from_secs(30);

/// A dispatcher whose passes end at once.
fn harness(total: usize, script: impl Into<VecDeque<ScriptedResult>>) -> Harness {
    let harness = waiting_harness(total, script);
    harness.reconciler.may_end.add_permits(1_000);
    harness
}

fn waiting_harness(total: usize, script: impl Into<VecDeque<ScriptedResult>>) -> Harness {
    let (begins, begun) = mpsc::unbounded_channel();
    let reconciler = Arc::new(Scripted {
        script: Mutex::new(script.into()),
        begun: begins,
        may_end: Arc::new(Semaphore::new(0)),
        running: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
        longest: Mutex::default(),
        all: false.into(),
    });
    let (gate, gated) = watch::channel(true);
    let clock = Arc::new(TestClock {
        started: tokio::time::Instant::now(),
        set: Mutex::default(),
    });
    let metrics = Arc::new(Metrics::new());
    let store = Arc::new(Store::default());
    store.open(&kind());
    let options = DispatchOptions {
        limits: Limits {
            total,
            per_kind: total,
            per_flow: total,
            per_kind_in_flow: total,
            per_owner: total,
        },
        pass_timeout: TIMEOUT,
    };
    let time: Arc<dyn Clock> = Arc::<TestClock>::clone(&clock);
    let dispatcher = Dispatcher::start(Arc::clone(&store), time, Arc::clone(&metrics), options, gated);
    dispatcher.register(&kind(), Arc::<Scripted>::clone(&reconciler));
    Harness {
        dispatcher,
        reconciler,
        begun,
        gate,
        metrics,
        clock,
        store,
    }
}

impl Harness {
    fn enqueue(&self, name: &str) {
        self.dispatcher.enqueue(
            &key(name),
            Wake {
                at: self.clock.now(),
                priority: Priority::UserChange,
            },
        );
    }

    async fn next(&mut self) -> (String, ReconcileRequest) {
        let next = tokio::time::timeout(Duration::from_hours(1), self.begun.recv()).await;
        let (key, pass) = next
            .expect("a pass begins within an hour of virtual time")
            .unwrap();
        (key.name().to_owned(), pass)
    }

    /// Until everything that can happen without time passing has happened.
    async fn settle(&self) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    fn counted(&self, outcome: &'static str) -> u64 {
        let labels = crate::metrics::OutcomeLabels {
            kind: kind().to_string(),
            outcome,
        };
        self.metrics.passes.get_or_create(&labels).get()
    }
}

fn kind() -> GroupKind {
    GroupKind::new("example", "Bucket")
}

fn to(find: impl Fn(&Object) -> Vec<Key> + Send + Sync + 'static) -> Arc<[Edge]> {
    Arc::new([Edge::references(Arc::new(find))])
}

fn key(name: &str) -> Key {
    Key::new(kind(), Some("ns"), name)
}

fn object(name: &str, version: u64, size: u64) -> Arc<Object> {
    let api = ApiType {
        kind: kind(),
        version: "v1".into(),
        plural: "buckets".into(),
        namespaced: true,
    };
    let json = json!({
        "metadata": {"name": name, "namespace": "ns", "uid": name, "resourceVersion": version.to_string()},
        "spec": {"size": size},
    });
    Arc::new(Object::decode(&Arc::new(api), &json.to_string()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn changes_wake_the_right_objects() {
    let change = |old: Option<Arc<Object>>, new: Option<Arc<Object>>, cause| Change {
        key: key("a"),
        old,
        new,
        cause,
    };
    let (v1, v2, bigger) = (object("a", 1, 1), object("a", 2, 1), object("a", 3, 2));
    let cases = [
        (
            "the first list",
            change(None, Some(Arc::clone(&v1)), Cause::Listed),
            Some((7, Priority::DriftPoll)),
        ),
        (
            "new",
            change(None, Some(Arc::clone(&v1)), Cause::Watched),
            Some((0, Priority::UserChange)),
        ),
        (
            "another spec",
            change(Some(Arc::clone(&v1)), Some(bigger), Cause::Watched),
            Some((0, Priority::UserChange)),
        ),
        (
            "only the status",
            change(Some(Arc::clone(&v1)), Some(Arc::clone(&v2)), Cause::Watched),
            None,
        ),
        (
            "our own write",
            change(Some(Arc::clone(&v1)), Some(v2), Cause::Written { by: key("a") }),
            None,
        ),
        (
            "deleted, and never looked at",
            change(Some(v1), None, Cause::Watched),
            None,
        ),
    ];
    for (what, change, expected) in cases {
        let mut harness = harness(4, []);
        harness.dispatcher.changed(&change);
        let begun = tokio::time::timeout(TIMEOUT, harness.begun.recv()).await;
        let turn = begun
            .ok()
            .flatten()
            .map(|(_, pass)| (pass.started.as_second(), pass.priority));
        assert_eq!(turn, expected, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_referent_wakes_its_dependants() {
    let mut harness = harness(4, []);
    let _rule = harness
        .store
        .register_edges(&kind(), to(|_| vec![Key::secret("ns", "credentials")]));
    harness.store.observe_read(object("a", 1, 1));
    let secret = Change {
        key: Key::secret("ns", "credentials"),
        old: None,
        new: None,
        cause: Cause::Listed,
    };
    harness.dispatcher.dependency_changed(&secret);
    harness.settle().await;
    assert!(harness.begun.try_recv().is_err(), "its own first turn will come");
    harness.dispatcher.dependency_changed(&Change {
        cause: Cause::Watched,
        ..secret.clone()
    });
    let (name, pass) = harness.next().await;
    assert_eq!((name.as_str(), pass.priority), ("a", Priority::Dependency));
    harness.settle().await;
    harness.dispatcher.dependency_changed(&secret);
    assert_eq!(
        harness.next().await.0,
        "a",
        "it may have looked before the list came"
    );
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_of_a_referent_wakes_nothing() {
    let mut harness = harness(4, []);
    let _rule = harness.store.register_edges(&kind(), to(|_| vec![key("config")]));
    harness.store.observe_read(object("a", 1, 1));
    let before = object("config", 2, 1);
    let changed = |change: fn(&mut Object)| {
        let mut new = (*before).clone();
        change(&mut new);
        Change {
            key: key("config"),
            old: Some(Arc::clone(&before)),
            new: Some(Arc::new(new)),
            cause: Cause::Written { by: key("config") },
        }
    };
    let held = changed(|new| new.meta.finalizers = Some(vec!["in-use.crossplane.io".to_owned()]));
    harness.dispatcher.dependency_changed(&held);
    harness.settle().await;
    assert!(harness.begun.try_recv().is_err());
    harness
        .dispatcher
        .dependency_changed(&changed(|new| new.meta.labels = Some(Texts::default())));
    assert_eq!(harness.next().await.0, "a");
}

#[tokio::test(start_paused = true)]
async fn a_kind_without_a_reconciler_is_never_queued() {
    let harness = harness(4, []);
    let other = Key::new(GroupKind::new("example", "Queue"), None, "q");
    harness.dispatcher.enqueue(
        &other,
        Wake {
            at: harness.clock.now(),
            priority: Priority::UserChange,
        },
    );
    harness.settle().await;
    assert!(harness.dispatcher.counts().is_empty());
}

fn seen(object: &Arc<Object>, cause: Cause) -> Change {
    Change {
        key: object.key(),
        old: None,
        new: Some(Arc::clone(object)),
        cause,
    }
}

fn deleted(object: &Arc<Object>) -> Change {
    Change {
        old: Some(Arc::clone(object)),
        new: None,
        ..seen(object, Cause::Watched)
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_the_turn_of_what_had_a_pass() {
    let mut harness = harness(4, []);
    let a = object("a", 1, 1);
    harness.store.observe_read(Arc::clone(&a));
    harness.dispatcher.changed(&seen(&a, Cause::Watched));
    assert_eq!(harness.next().await.0, "a");
    harness.settle().await;
    harness.store.observe_gone(&a.key(), a.uid(), None);
    harness.dispatcher.changed(&deleted(&a));
    let (name, pass) = harness.next().await;
    assert_eq!((name.as_str(), pass.priority), ("a", Priority::UserChange));
}

#[tokio::test(start_paused = true)]
async fn a_standby_forgets_what_is_gone() {
    let harness = harness(4, []);
    harness.gate.send_replace(false);
    harness.settle().await;
    for name in ["a", "b", "c"] {
        let object = object(name, 1, 1);
        harness.dispatcher.changed(&seen(&object, Cause::Watched));
        assert_eq!(harness.dispatcher.counts()[&kind()].waiting, 1);
        harness.dispatcher.changed(&deleted(&object));
        assert!(harness.dispatcher.counts().is_empty(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_became_due_while_standing_by_is_spread_at_the_takeover() {
    let mut harness = harness(4, []);
    harness.gate.send_replace(false);
    harness.settle().await;
    for name in ["a", "b"] {
        let object = object(name, 1, 1);
        harness.store.observe_read(Arc::clone(&object));
        harness.dispatcher.changed(&seen(&object, Cause::Watched));
    }
    harness.enqueue("gone");
    tokio::time::sleep(Duration::from_mins(10)).await;
    let opened = harness.clock.now().as_second();
    harness.gate.send_replace(true);
    let mut begun = Vec::new();
    for _ in 0..3 {
        let (name, pass) = harness.next().await;
        begun.push((name, pass.started.as_second() - opened, pass.priority));
    }
    begun.sort();
    let resumed = |name: &str| (name.to_owned(), 7, Priority::DriftPoll);
    let forgotten = ("gone".to_owned(), 0, Priority::UserChange);
    assert_eq!(begun, [resumed("a"), resumed("b"), forgotten]);
}

#[tokio::test(start_paused = true)]
async fn the_many_dependants_of_one_secret_do_not_begin_at_once() {
    let mut harness = harness(1_000, []);
    let _rule = harness
        .store
        .register_edges(&kind(), to(|_| vec![Key::secret("ns", "credentials")]));
    for n in 0..200 {
        harness.store.observe_read(object(&format!("o{n}"), n + 1, 1));
    }
    harness.dispatcher.dependency_changed(&Change {
        key: Key::secret("ns", "credentials"),
        old: None,
        new: None,
        cause: Cause::Watched,
    });
    let mut begun = Vec::new();
    for _ in 0..200 {
        begun.push(harness.next().await.1.started.as_millisecond());
    }
    let within = |from: i64, to: i64| begun.iter().filter(|at| (from..to).contains(*at)).count();
    assert_eq!(within(0, 2_001), 200, "{begun:?}");
    assert!(within(0, 500) < 100 && within(1_500, 2_001) > 10, "{begun:?}");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_served_no_more_has_no_turns_and_the_others_go_on() {
    let mut harness = harness(4, []);
    let queues = GroupKind::new("example", "Queue");
    harness
        .dispatcher
        .register(&queues, Arc::<Scripted>::clone(&harness.reconciler));
    let buckets = harness
        .dispatcher
        .register(&kind(), Arc::<Scripted>::clone(&harness.reconciler));
    let later = Wake {
        at: harness.clock.now() + SignedDuration::from_secs(60),
        priority: Priority::DriftPoll,
    };
    let queue = Key::new(queues.clone(), None, "q");
    harness.dispatcher.enqueue(&key("a"), later);
    harness.dispatcher.enqueue(&queue, later);
    harness.dispatcher.unregister(&kind(), buckets);
    assert_eq!(harness.dispatcher.due(&key("a")), None);
    assert_eq!(harness.next().await.0, "q");
    // Who registered since is not disturbed by the end of who was there before.
    harness
        .dispatcher
        .register(&kind(), Arc::<Scripted>::clone(&harness.reconciler));
    harness.dispatcher.unregister(&kind(), buckets);
    harness.enqueue("b");
    assert_eq!(harness.next().await.0, "b");
}

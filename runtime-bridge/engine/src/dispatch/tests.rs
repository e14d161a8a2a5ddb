use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use bridge_core::queue::Limits;
use jiff::SignedDuration;
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};

use super::*;
use crate::{
    object::{ApiType, Object},
    reconcile::{Next, Pass},
    store::Cause,
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
enum Act {
    Answer(Next),
    Panic,
    Hang,
}

/// Does as its script says, and tells of each pass; without a script it is idle.
struct Scripted {
    script: Mutex<VecDeque<Act>>,
    begun: mpsc::UnboundedSender<(Key, Pass)>,
    /// A pass ends when it gets one of these.
    may_end: Arc<Semaphore>,
    running: AtomicUsize,
    most: AtomicUsize,
    longest: Mutex<Duration>,
}

#[async_trait]
impl Reconcile for Scripted {
    async fn reconcile(&self, key: &Key, pass: Pass) -> Next {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        self.begun.send((key.clone(), pass)).unwrap();
        let act = self
            .script
            .lock()
            .pop_front()
            .unwrap_or(Act::Answer(Next::idle()));
        if let Act::Answer(_) = act {
            self.may_end.acquire().await.unwrap().forget();
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        match act {
            Act::Answer(next) => next,
            Act::Panic => panic!("as the script says"),
            Act::Hang => std::future::pending().await,
        }
    }

    fn resume(&self, _: &Object, now: Timestamp) -> Wake {
        Wake {
            at: now + SignedDuration::from_secs(7),
            priority: Priority::DriftPoll,
        }
    }

    fn longest_pass(&self) -> Duration {
        *self.longest.lock()
    }

    fn lane(&self, object: &Object) -> String {
        object.label("account").unwrap_or_default().to_owned()
    }
}

struct Stage {
    dispatcher: Dispatcher,
    reconciler: Arc<Scripted>,
    begun: mpsc::UnboundedReceiver<(Key, Pass)>,
    gate: watch::Sender<bool>,
    metrics: Arc<Metrics>,
    clock: Arc<TestClock>,
    store: Arc<Store>,
}

const TIMEOUT: Duration = Duration::from_secs(30);

/// A dispatcher whose passes end at once.
fn stage(total: usize, script: impl Into<VecDeque<Act>>) -> Stage {
    let stage = stage_that_waits(total, script);
    stage.reconciler.may_end.add_permits(1_000);
    stage
}

fn stage_that_waits(total: usize, script: impl Into<VecDeque<Act>>) -> Stage {
    let (begins, begun) = mpsc::unbounded_channel();
    let reconciler = Arc::new(Scripted {
        script: Mutex::new(script.into()),
        begun: begins,
        may_end: Arc::new(Semaphore::new(0)),
        running: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
        longest: Mutex::default(),
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
            per_lane: total,
            per_kind_in_lane: total,
        },
        pass_timeout: TIMEOUT,
    };
    let time: Arc<dyn Clock> = Arc::<TestClock>::clone(&clock);
    let dispatcher = Dispatcher::start(Arc::clone(&store), time, Arc::clone(&metrics), options, gated);
    dispatcher.register(&kind(), Arc::<Scripted>::clone(&reconciler));
    Stage {
        dispatcher,
        reconciler,
        begun,
        gate,
        metrics,
        clock,
        store,
    }
}

impl Stage {
    fn enqueue(&self, name: &str) {
        self.dispatcher.enqueue(
            &key(name),
            Wake {
                at: self.clock.now(),
                priority: Priority::UserChange,
            },
        );
    }

    async fn next(&mut self) -> (String, Pass) {
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
async fn a_pass_comes_back_when_it_asked_to() {
    let at = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(100);
    let mut stage = stage(4, [Act::Answer(Next::at(at, Priority::OperationPoll))]);
    stage.enqueue("a");
    let (_, first) = stage.next().await;
    assert_eq!(first.priority, Priority::UserChange);
    let (_, second) = stage.next().await;
    assert_eq!((second.priority, second.broken), (Priority::OperationPoll, 0));
    assert!(
        second.started >= at && second.started < at + SignedDuration::from_secs(1),
        "{second:?}"
    );
    assert_eq!(second.deadline, second.started + TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn an_object_is_never_in_two_passes_and_a_change_meanwhile_brings_another() {
    let mut stage = stage_that_waits(4, []);
    stage.enqueue("a");
    stage.next().await;
    for _ in 0..3 {
        stage.enqueue("a");
    }
    stage.settle().await;
    assert!(stage.begun.try_recv().is_err());
    assert_eq!(stage.dispatcher.in_flight().len(), 1);
    stage.reconciler.may_end.add_permits(2);
    stage.next().await;
    stage.settle().await;
    assert!(stage.begun.try_recv().is_err(), "three changes, one pass");
    assert_eq!(stage.reconciler.most.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn no_more_passes_than_permitted() {
    let mut stage = stage_that_waits(2, []);
    for name in ["a", "b", "c"] {
        stage.enqueue(name);
    }
    stage.next().await;
    stage.next().await;
    stage.settle().await;
    assert!(stage.begun.try_recv().is_err());
    stage.reconciler.may_end.add_permits(1);
    assert_eq!(stage.next().await.0, "c");
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_counted_and_costs_the_others_nothing() {
    let mut stage = stage(
        4,
        [
            Act::Panic,
            Act::Answer(Next::idle()),
            Act::Panic,
            Act::Answer(Next::idle()),
        ],
    );
    stage.enqueue("a");
    stage.next().await;
    stage.enqueue("b");
    assert_eq!(stage.next().await.0, "b");
    let (name, pass) = stage.next().await;
    assert_eq!((name.as_str(), pass.broken), ("a", 1));
    let (name, again) = stage.next().await;
    assert_eq!((name.as_str(), again.broken), ("a", 2));
    assert!(
        again.started.duration_since(pass.started) >= SignedDuration::from_secs(1),
        "the back-off grows"
    );
    stage.settle().await;
    assert_eq!((stage.counted("panicked"), stage.counted("done")), (2, 2));
    stage.enqueue("a");
    assert_eq!(
        stage.next().await.1.broken,
        0,
        "forgotten after a pass that ended well"
    );
}

#[tokio::test(start_paused = true)]
async fn changes_do_not_shorten_the_back_off_after_a_panic() {
    let mut stage = stage(4, [Act::Panic]);
    stage.enqueue("a");
    let (_, first) = stage.next().await;
    stage.settle().await;
    stage.enqueue("a");
    let (_, second) = stage.next().await;
    assert!(
        second.started.duration_since(first.started) >= SignedDuration::from_millis(700),
        "{second:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_takes_too_long_is_dropped() {
    let mut stage = stage(1, [Act::Hang]);
    stage.enqueue("a");
    let (_, first) = stage.next().await;
    stage.enqueue("b");
    let (name, second) = stage.next().await;
    assert_eq!(name, "b");
    assert!(second.started >= first.deadline);
    assert_eq!(stage.counted("timed-out"), 1);
    assert_eq!(stage.next().await.0, "a");
}

#[tokio::test(start_paused = true)]
async fn a_kind_whose_passes_take_longer_has_the_time() {
    let mut stage = stage(1, [Act::Hang]);
    *stage.reconciler.longest.lock() = TIMEOUT * 4;
    stage.enqueue("a");
    let (_, pass) = stage.next().await;
    assert_eq!(pass.deadline, pass.started + TIMEOUT * 4);
    stage.next().await;
    assert!(stage.clock.now() >= pass.deadline);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_finds_a_former_pass_at_work_says_nothing_of_it() {
    let busy = Act::Answer(Next::busy(Timestamp::UNIX_EPOCH, Priority::OperationPoll));
    let mut stage = stage(1, [Act::Hang, busy, Act::Answer(Next::idle())]);
    stage.enqueue("a");
    let broken = [
        stage.next().await.1.broken,
        stage.next().await.1.broken,
        stage.next().await.1.broken,
    ];
    assert_eq!(broken, [0, 1, 1]);
    stage.settle().await;
    assert_eq!((stage.counted("busy"), stage.counted("done")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn nothing_begins_while_the_gate_is_shut() {
    let mut stage = stage(4, []);
    stage.gate.send(false).unwrap();
    stage.enqueue("a");
    stage.settle().await;
    assert!(stage.begun.try_recv().is_err());
    stage.gate.send(true).unwrap();
    assert_eq!(stage.next().await.0, "a");
}

#[tokio::test(start_paused = true)]
async fn draining_waits_for_passes_begins_none_and_says_what_it_dropped() {
    let mut stage = stage_that_waits(1, []);
    stage.enqueue("a");
    stage.next().await;
    stage.enqueue("b");
    let may_end = Arc::clone(&stage.reconciler.may_end);
    let ends = async {
        stage.settle().await;
        may_end.add_permits(5);
    };
    let (dropped, ()) = tokio::join!(stage.dispatcher.drain(TIMEOUT), ends);
    assert!(dropped.is_empty());
    assert!(stage.begun.try_recv().is_err(), "b is left");

    let mut stage = stage_that_waits(1, [Act::Hang]);
    stage.enqueue("a");
    stage.next().await;
    assert_eq!(stage.dispatcher.drain(Duration::from_secs(5)).await, [key("a")]);
}

#[tokio::test(start_paused = true)]
async fn whose_turn_a_change_makes_it() {
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
            change(Some(Arc::clone(&v1)), Some(v2), Cause::Written),
            None,
        ),
        (
            "deleted, and never looked at",
            change(Some(v1), None, Cause::Watched),
            None,
        ),
    ];
    for (what, change, expected) in cases {
        let mut stage = stage(4, []);
        stage.dispatcher.changed(&change);
        let begun = tokio::time::timeout(TIMEOUT, stage.begun.recv()).await;
        let turn = begun
            .ok()
            .flatten()
            .map(|(_, pass)| (pass.started.as_second(), pass.priority));
        assert_eq!(turn, expected, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_referent_makes_it_the_turn_of_what_depends_on_it() {
    let mut stage = stage(4, []);
    let _rule = stage
        .store
        .register_references(&kind(), Arc::new(|_| vec![Key::secret("ns", "credentials")]));
    stage.store.observe_read(object("a", 1, 1));
    let secret = Change {
        key: Key::secret("ns", "credentials"),
        old: None,
        new: None,
        cause: Cause::Listed,
    };
    stage.dispatcher.referent_changed(&secret);
    stage.settle().await;
    assert!(stage.begun.try_recv().is_err(), "its own first turn will come");
    stage.dispatcher.referent_changed(&Change {
        cause: Cause::Watched,
        ..secret.clone()
    });
    let (name, pass) = stage.next().await;
    assert_eq!((name.as_str(), pass.priority), ("a", Priority::DriftPoll));
    stage.settle().await;
    stage.dispatcher.referent_changed(&secret);
    assert_eq!(
        stage.next().await.0,
        "a",
        "it may have looked before the list came"
    );
}

#[tokio::test(start_paused = true)]
async fn what_keeps_a_referent_is_nobodys_turn() {
    let mut stage = stage(4, []);
    let _rule = stage
        .store
        .register_references(&kind(), Arc::new(|_| vec![key("config")]));
    stage.store.observe_read(object("a", 1, 1));
    let before = object("config", 2, 1);
    let changed = |change: fn(&mut Object)| {
        let mut new = (*before).clone();
        change(&mut new);
        Change {
            key: key("config"),
            old: Some(Arc::clone(&before)),
            new: Some(Arc::new(new)),
            cause: Cause::Written,
        }
    };
    let held = changed(|new| new.meta.finalizers = Some(vec!["in-use.crossplane.io".to_owned()]));
    stage.dispatcher.referent_changed(&held);
    stage.settle().await;
    assert!(stage.begun.try_recv().is_err());
    stage
        .dispatcher
        .referent_changed(&changed(|new| new.meta.labels = Some([].into())));
    assert_eq!(stage.next().await.0, "a");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_nobody_reconciles_has_no_turns() {
    let stage = stage(4, []);
    let other = Key::new(GroupKind::new("example", "Queue"), None, "q");
    stage.dispatcher.enqueue(
        &other,
        Wake {
            at: stage.clock.now(),
            priority: Priority::UserChange,
        },
    );
    stage.settle().await;
    assert!(stage.dispatcher.counts().is_empty());
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
    let mut stage = stage(4, []);
    let a = object("a", 1, 1);
    stage.store.observe_read(Arc::clone(&a));
    stage.dispatcher.changed(&seen(&a, Cause::Watched));
    assert_eq!(stage.next().await.0, "a");
    stage.settle().await;
    stage.store.observe_gone(&a.key(), a.uid());
    stage.dispatcher.changed(&deleted(&a));
    let (name, pass) = stage.next().await;
    assert_eq!((name.as_str(), pass.priority), ("a", Priority::UserChange));
}

#[tokio::test(start_paused = true)]
async fn a_standby_forgets_what_is_gone() {
    let stage = stage(4, []);
    stage.gate.send_replace(false);
    stage.settle().await;
    for name in ["a", "b", "c"] {
        let object = object(name, 1, 1);
        stage.dispatcher.changed(&seen(&object, Cause::Watched));
        assert_eq!(stage.dispatcher.counts()[&kind()].waiting, 1);
        stage.dispatcher.changed(&deleted(&object));
        assert!(stage.dispatcher.counts().is_empty(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_became_due_while_standing_by_is_spread_at_the_takeover() {
    let mut stage = stage(4, []);
    stage.gate.send_replace(false);
    stage.settle().await;
    for name in ["a", "b"] {
        let object = object(name, 1, 1);
        stage.store.observe_read(Arc::clone(&object));
        stage.dispatcher.changed(&seen(&object, Cause::Watched));
    }
    stage.enqueue("gone");
    tokio::time::sleep(Duration::from_mins(10)).await;
    let opened = stage.clock.now().as_second();
    stage.gate.send_replace(true);
    let mut begun = Vec::new();
    for _ in 0..3 {
        let (name, pass) = stage.next().await;
        begun.push((name, pass.started.as_second() - opened, pass.priority));
    }
    begun.sort();
    let resumed = |name: &str| (name.to_owned(), 7, Priority::DriftPoll);
    let forgotten = ("gone".to_owned(), 0, Priority::UserChange);
    assert_eq!(begun, [resumed("a"), resumed("b"), forgotten]);
}

#[tokio::test(start_paused = true)]
async fn the_many_dependants_of_one_secret_do_not_begin_at_once() {
    let mut stage = stage(1_000, []);
    let _rule = stage
        .store
        .register_references(&kind(), Arc::new(|_| vec![Key::secret("ns", "credentials")]));
    for n in 0..200 {
        stage.store.observe_read(object(&format!("o{n}"), n + 1, 1));
    }
    stage.dispatcher.referent_changed(&Change {
        key: Key::secret("ns", "credentials"),
        old: None,
        new: None,
        cause: Cause::Watched,
    });
    let mut begun = Vec::new();
    for _ in 0..200 {
        begun.push(stage.next().await.1.started.as_millisecond());
    }
    let within = |from: i64, to: i64| begun.iter().filter(|at| (from..to).contains(*at)).count();
    assert_eq!(within(0, 2_001), 200, "{begun:?}");
    assert!(within(0, 500) < 100 && within(1_500, 2_001) > 10, "{begun:?}");
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_delays_no_turn() {
    let later = |clock: &TestClock| Wake {
        at: clock.now() + SignedDuration::from_mins(10),
        priority: Priority::DriftPoll,
    };
    let mut stage = stage(4, []);
    stage.dispatcher.enqueue(&key("a"), later(&stage.clock));
    stage.settle().await;
    let started = tokio::time::Instant::now();
    *stage.clock.set.lock() = SignedDuration::from_hours(-1);
    assert_eq!(stage.next().await.0, "a");
    let took = started.elapsed();
    assert!(
        Duration::from_mins(9) < took && took < Duration::from_mins(12),
        "{took:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_served_no_more_has_no_turns_and_the_others_go_on() {
    let mut stage = stage(4, []);
    let queues = GroupKind::new("example", "Queue");
    stage
        .dispatcher
        .register(&queues, Arc::<Scripted>::clone(&stage.reconciler));
    let buckets = stage
        .dispatcher
        .register(&kind(), Arc::<Scripted>::clone(&stage.reconciler));
    let later = Wake {
        at: stage.clock.now() + SignedDuration::from_secs(60),
        priority: Priority::DriftPoll,
    };
    let queue = Key::new(queues.clone(), None, "q");
    stage.dispatcher.enqueue(&key("a"), later);
    stage.dispatcher.enqueue(&queue, later);
    stage.dispatcher.unregister(&kind(), buckets);
    assert_eq!(stage.dispatcher.due(&key("a")), None);
    assert_eq!(stage.next().await.0, "q");
    // Who registered since is not disturbed by the end of who was there before.
    stage
        .dispatcher
        .register(&kind(), Arc::<Scripted>::clone(&stage.reconciler));
    stage.dispatcher.unregister(&kind(), buckets);
    stage.enqueue("b");
    assert_eq!(stage.next().await.0, "b");
}

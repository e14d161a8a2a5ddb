//! What wakes an object, and what holds it back.

use super::*;

fn change(old: &Arc<Object>, new: &Arc<Object>, cause: Cause) -> Change {
    Change {
        key: new.key(),
        old: Some(Arc::clone(old)),
        new: Some(Arc::clone(new)),
        cause,
    }
}

fn by(name: &str) -> Cause {
    Cause::Written { by: key(name) }
}

#[tokio::test(start_paused = true)]
async fn the_write_of_one_reconcile_wakes_every_other_object() {
    let mut harness = harness(4, []);
    let (small, large) = (object("a", 1, 1), object("a", 2, 2));
    harness.dispatcher.changed(&change(&small, &large, by("a")));
    harness.settle().await;
    assert!(harness.begun.try_recv().is_err(), "its own reconcile wrote");
    harness.dispatcher.changed(&change(&small, &large, by("b")));
    let (name, pass) = harness.next().await;
    assert_eq!((name.as_str(), pass.priority), ("a", Priority::UserChange));
    // One that another's reconcile created.
    let created = Change {
        old: None,
        ..change(&small, &large, by("b"))
    };
    harness.dispatcher.changed(&created);
    assert_eq!(harness.next().await.0, "a");
}

#[tokio::test(start_paused = true)]
async fn late_news_of_a_deletion_spare_the_successor() {
    let mut harness = harness(4, []);
    let former = object("a", 1, 1);
    harness.store.observe_read(object("a", 2, 1));
    let gone = Change {
        new: None,
        ..change(&former, &former, by("b"))
    };
    harness.dispatcher.changed(&gone);
    assert_eq!(harness.next().await.0, "a", "it had no turn yet");
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_writes_a_dependency_wakes_all_but_itself() {
    let mut harness = harness(4, []);
    let _edges = harness.store.register_edges(
        &kind(),
        to(|object| match object.name() {
            "used" => Vec::new(),
            _ => vec![key("used")],
        }),
    );
    for name in ["a", "b"] {
        harness.store.observe_read(object(name, 1, 1));
    }
    let written = change(&object("used", 2, 1), &object("used", 3, 2), by("a"));
    harness.dispatcher.dependency_changed(&written);
    let (name, pass) = harness.next().await;
    assert_eq!((name.as_str(), pass.priority), ("b", Priority::Dependency));
    harness.settle().await;
    assert!(harness.begun.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_controller_may_ask_for_status_changes_too() {
    let mut harness = harness(4, []);
    let same_spec = change(&object("a", 1, 1), &object("a", 2, 1), Cause::Watched);
    harness.dispatcher.changed(&same_spec);
    harness.settle().await;
    assert!(harness.begun.try_recv().is_err());
    harness.reconciler.all.store(true, Ordering::SeqCst);
    harness.dispatcher.changed(&same_spec);
    assert_eq!(harness.next().await.0, "a");
}

#[tokio::test(start_paused = true)]
async fn changes_do_not_shorten_a_back_off_that_was_asked_for() {
    let until = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(100);
    let cases = [
        Next::idle().not_before(until),
        Next::at(until + SignedDuration::from_secs(50), Priority::DriftPoll).not_before(until),
    ];
    for next in cases {
        let mut harness = harness(4, [ScriptedResult::Answer(next)]);
        harness.enqueue("a");
        harness.next().await;
        harness.settle().await;
        harness.enqueue("a");
        let (_, pass) = harness.next().await;
        assert_eq!(pass.started.as_second(), 100, "{pass:?}");
        assert_eq!(pass.priority, Priority::UserChange);
        harness.settle().await;
        harness.enqueue("a");
        let (_, pass) = harness.next().await;
        assert_eq!(pass.started.as_second(), 100, "it is over: {pass:?}");
    }
}

/// The object of this name is another one.
fn successor(name: &str, version: u64) -> Arc<Object> {
    let mut object = (*object(name, version, 1)).clone();
    object.meta.uid = Some(format!("{name} again"));
    Arc::new(object)
}

#[tokio::test(start_paused = true)]
async fn a_successor_inherits_no_back_off() {
    let until = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(100);
    for script in [
        ScriptedResult::Answer(Next::idle().not_before(until)),
        ScriptedResult::Panic,
    ] {
        let mut harness = harness(4, [script]);
        let (former, successor) = (object("a", 1, 1), successor("a", 2));
        harness.store.observe_read(Arc::clone(&former));
        harness.dispatcher.changed(&seen(&former, Cause::Watched));
        harness.next().await;
        harness.settle().await;
        harness.store.observe_read(Arc::clone(&successor));
        harness
            .dispatcher
            .changed(&change(&former, &successor, Cause::Watched));
        let (_, pass) = harness.next().await;
        assert_eq!((pass.started.as_second(), pass.consecutive_failures), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_ends_the_back_off() {
    let until = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(100);
    let mut harness = harness(4, [ScriptedResult::Answer(Next::idle().not_before(until))]);
    let former = object("a", 1, 1);
    harness.store.observe_read(Arc::clone(&former));
    harness.enqueue("a");
    harness.next().await;
    harness.settle().await;
    harness.store.observe_gone(&former.key(), former.uid(), None);
    harness.dispatcher.changed(&deleted(&former));
    assert_eq!(harness.next().await.1.started.as_second(), 0);
    harness.settle().await;
    harness
        .dispatcher
        .changed(&seen(&successor("a", 2), Cause::Watched));
    assert_eq!(harness.next().await.1.started.as_second(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_late_end_of_a_pass_holds_no_successor_back() {
    let until = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(100);
    let held = ScriptedResult::Answer(Next::idle().not_before(until));
    for (script, expected) in [(held, 0), (ScriptedResult::Hang, TIMEOUT.as_secs())] {
        let mut harness = waiting_harness(4, [script]);
        let (former, successor) = (object("a", 1, 1), successor("a", 2));
        harness.enqueue("a");
        harness.next().await;
        harness
            .dispatcher
            .changed(&change(&former, &successor, Cause::Watched));
        harness.reconciler.may_end.add_permits(10);
        let (_, pass) = harness.next().await;
        let started = pass.started.as_second().unsigned_abs();
        assert_eq!((started, pass.consecutive_failures), (expected, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn no_back_off_is_longer_than_an_hour() {
    for until in [
        Timestamp::MAX,
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(3),
    ] {
        let mut harness = harness(4, [ScriptedResult::Answer(Next::idle().not_before(until))]);
        harness.enqueue("a");
        harness.next().await;
        harness.settle().await;
        harness.enqueue("a");
        harness.settle().await;
        assert!(harness.begun.try_recv().is_err());
        tokio::time::sleep(Duration::from_hours(1)).await;
        harness.settle().await;
        let (_, pass) = harness.begun.try_recv().expect("its turn has come");
        assert_eq!(pass.started.as_second(), 3600);
    }
}

/// The gate shuts, this happens, and it opens again.
async fn while_shut(harness: &Harness, happens: impl FnOnce(&Harness)) {
    harness.gate.send_replace(false);
    harness.settle().await;
    happens(harness);
    harness.settle().await;
    harness.gate.send_replace(true);
}

#[tokio::test(start_paused = true)]
async fn a_takeover_loses_no_turn_that_objects_do_not_show() {
    let mut harness = harness(4, []);
    let _edges = harness
        .store
        .register_edges(&kind(), to(|_| vec![Key::secret("ns", "credentials")]));
    harness.store.observe_read(object("a", 1, 1));
    let secret = Change {
        key: Key::secret("ns", "credentials"),
        old: None,
        new: None,
        cause: Cause::Watched,
    };
    while_shut(&harness, |harness| harness.dispatcher.dependency_changed(&secret)).await;
    let (_, pass) = harness.next().await;
    assert_eq!(
        (pass.started.as_second(), pass.priority),
        (0, Priority::Dependency)
    );
    while_shut(&harness, |harness| harness.enqueue("a")).await;
    let (_, pass) = harness.next().await;
    assert_eq!(
        (pass.started.as_second(), pass.priority),
        (0, Priority::UserChange)
    );
    // Once: then it is seen as if for the first time.
    while_shut(&harness, |_| {}).await;
    let (_, pass) = harness.next().await;
    assert_eq!(
        (pass.started.as_second(), pass.priority),
        (7, Priority::DriftPoll)
    );
}

#[tokio::test(start_paused = true)]
async fn turns_that_wait_for_a_permit_outlast_the_gate() {
    let mut harness = waiting_harness(1, []);
    harness.store.observe_read(object("a", 1, 1));
    harness.enqueue("other");
    harness.next().await;
    harness.enqueue("a");
    while_shut(&harness, |harness| harness.reconciler.may_end.add_permits(10)).await;
    let (name, pass) = harness.next().await;
    assert_eq!((name.as_str(), pass.priority), ("a", Priority::UserChange));
    assert_eq!(pass.started.as_second(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_gate_shortens_no_back_off() {
    let until = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(100);
    let mut harness = harness(4, [ScriptedResult::Answer(Next::idle().not_before(until))]);
    harness.store.observe_read(object("a", 1, 1));
    harness.enqueue("a");
    harness.next().await;
    harness.settle().await;
    while_shut(&harness, |_| {}).await;
    assert_eq!(harness.next().await.1.started.as_second(), 100);
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_failed_is_tried_again_after_a_takeover() {
    let mut harness = harness(4, [ScriptedResult::Panic]);
    harness.store.observe_read(object("a", 1, 1));
    harness.enqueue("a");
    harness.next().await;
    harness.settle().await;
    while_shut(&harness, |_| {}).await;
    let (_, pass) = harness.next().await;
    assert!(pass.started.as_second() < 3, "{pass:?}");
    assert_eq!(pass.consecutive_failures, 1);
}

#[tokio::test(start_paused = true)]
async fn many_lasting_turns_are_spread_at_the_takeover() {
    let mut harness = harness(1_000, []);
    for n in 0..200 {
        harness.store.observe_read(object(&format!("o{n}"), n + 1, 1));
    }
    while_shut(&harness, |harness| {
        for n in 0..200 {
            harness.enqueue(&format!("o{n}"));
        }
    })
    .await;
    let mut begun = Vec::new();
    for _ in 0..200 {
        begun.push(harness.next().await.1.started.as_millisecond());
    }
    let within = |from: i64, to: i64| begun.iter().filter(|at| (from..to).contains(*at)).count();
    assert_eq!(within(0, 2_010), 200, "{begun:?}");
    assert!(within(0, 500) < 100 && within(1_500, 2_010) > 10, "{begun:?}");
}

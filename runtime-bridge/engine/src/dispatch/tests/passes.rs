//! When a pass begins, how it ends, and what comes of one that ends badly.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_pass_comes_back_when_it_asked_to() {
    let at = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(100);
    let mut harness = harness(4, [ScriptedResult::Answer(Next::at(at, Priority::OperationPoll))]);
    harness.enqueue("a");
    let (_, first) = harness.next().await;
    assert_eq!(first.priority, Priority::UserChange);
    let (_, second) = harness.next().await;
    assert_eq!(
        (second.priority, second.consecutive_failures),
        (Priority::OperationPoll, 0)
    );
    assert!(
        second.started >= at && second.started < at + SignedDuration::from_secs(1),
        "{second:?}"
    );
    assert_eq!(second.deadline, second.started + TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn an_object_is_reconciled_once_at_a_time() {
    let mut harness = waiting_harness(4, []);
    harness.enqueue("a");
    harness.next().await;
    for _ in 0..3 {
        harness.enqueue("a");
    }
    harness.settle().await;
    assert!(harness.begun.try_recv().is_err());
    assert_eq!(harness.dispatcher.in_flight().len(), 1);
    harness.reconciler.may_end.add_permits(2);
    harness.next().await;
    harness.settle().await;
    assert!(harness.begun.try_recv().is_err(), "three changes, one pass");
    assert_eq!(harness.reconciler.most.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn no_more_passes_than_permitted() {
    let mut harness = waiting_harness(2, []);
    for name in ["a", "b", "c"] {
        harness.enqueue(name);
    }
    harness.next().await;
    harness.next().await;
    harness.settle().await;
    assert!(harness.begun.try_recv().is_err());
    harness.reconciler.may_end.add_permits(1);
    assert_eq!(harness.next().await.0, "c");
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_counted_and_costs_the_others_nothing() {
    let mut harness = harness(
        4,
        [
            ScriptedResult::Panic,
            ScriptedResult::Answer(Next::idle()),
            ScriptedResult::Panic,
            ScriptedResult::Answer(Next::idle()),
        ],
    );
    harness.enqueue("a");
    harness.next().await;
    harness.enqueue("b");
    assert_eq!(harness.next().await.0, "b");
    let (name, pass) = harness.next().await;
    assert_eq!((name.as_str(), pass.consecutive_failures), ("a", 1));
    let (name, again) = harness.next().await;
    assert_eq!((name.as_str(), again.consecutive_failures), ("a", 2));
    assert!(
        again.started.duration_since(pass.started) >= SignedDuration::from_secs(1),
        "the back-off grows"
    );
    harness.settle().await;
    assert_eq!((harness.counted("panicked"), harness.counted("done")), (2, 2));
    harness.enqueue("a");
    assert_eq!(
        harness.next().await.1.consecutive_failures,
        0,
        "forgotten after a pass that ended well"
    );
}

#[tokio::test(start_paused = true)]
async fn changes_do_not_shorten_the_back_off_after_a_panic() {
    let mut harness = harness(4, [ScriptedResult::Panic]);
    harness.enqueue("a");
    let (_, first) = harness.next().await;
    harness.settle().await;
    harness.enqueue("a");
    let (_, second) = harness.next().await;
    assert!(
        // A second, less the whole jitter.
        second.started.duration_since(first.started) >= SignedDuration::from_millis(666),
        "{second:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_takes_too_long_is_dropped() {
    let mut harness = harness(1, [ScriptedResult::Hang]);
    harness.enqueue("a");
    let (_, first) = harness.next().await;
    harness.enqueue("b");
    let (name, second) = harness.next().await;
    assert_eq!(name, "b");
    assert!(second.started >= first.deadline);
    assert_eq!(harness.counted("timed-out"), 1);
    assert_eq!(harness.next().await.0, "a");
}

#[tokio::test(start_paused = true)]
async fn a_kind_may_extend_its_reconcile_timeout() {
    let mut harness = harness(1, [ScriptedResult::Hang]);
    *harness.reconciler.longest.lock() = TIMEOUT * 4;
    harness.enqueue("a");
    let (_, pass) = harness.next().await;
    assert_eq!(pass.deadline, pass.started + TIMEOUT * 4);
    harness.next().await;
    assert!(harness.clock.now() >= pass.deadline);
}

#[tokio::test(start_paused = true)]
async fn a_busy_object_is_requeued_without_metrics() {
    let busy = ScriptedResult::Answer(Next::busy(Timestamp::UNIX_EPOCH, Priority::OperationPoll));
    let mut harness = harness(
        1,
        [ScriptedResult::Hang, busy, ScriptedResult::Answer(Next::idle())],
    );
    harness.enqueue("a");
    let consecutive_failures = [
        harness.next().await.1.consecutive_failures,
        harness.next().await.1.consecutive_failures,
        harness.next().await.1.consecutive_failures,
    ];
    assert_eq!(consecutive_failures, [0, 1, 1]);
    harness.settle().await;
    assert_eq!((harness.counted("busy"), harness.counted("done")), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn nothing_begins_while_the_gate_is_shut() {
    let mut harness = harness(4, []);
    harness.gate.send(false).unwrap();
    harness.enqueue("a");
    harness.settle().await;
    assert!(harness.begun.try_recv().is_err());
    harness.gate.send(true).unwrap();
    assert_eq!(harness.next().await.0, "a");
}

#[tokio::test(start_paused = true)]
async fn draining_waits_for_reconciles_and_reports_dropped_ones() {
    let mut harness = waiting_harness(1, []);
    harness.enqueue("a");
    harness.next().await;
    harness.enqueue("b");
    let may_end = Arc::clone(&harness.reconciler.may_end);
    let ends = async {
        harness.settle().await;
        may_end.add_permits(5);
    };
    let (dropped, ()) = tokio::join!(harness.dispatcher.drain(TIMEOUT), ends);
    assert!(dropped.is_empty());
    assert!(harness.begun.try_recv().is_err(), "b is left");

    let mut harness = waiting_harness(1, [ScriptedResult::Hang]);
    harness.enqueue("a");
    harness.next().await;
    assert_eq!(harness.dispatcher.drain(Duration::from_secs(5)).await, [key("a")]);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_delays_no_turn() {
    let later = |clock: &TestClock| Wake {
        at: clock.now() + SignedDuration::from_mins(10),
        priority: Priority::DriftPoll,
    };
    let mut harness = harness(4, []);
    harness.dispatcher.enqueue(&key("a"), later(&harness.clock));
    harness.settle().await;
    let started = tokio::time::Instant::now();
    *harness.clock.set.lock() = SignedDuration::from_hours(-1);
    assert_eq!(harness.next().await.0, "a");
    let took = started.elapsed();
    assert!(
        Duration::from_mins(9) < took && took < Duration::from_mins(12),
        "{took:?}"
    );
}

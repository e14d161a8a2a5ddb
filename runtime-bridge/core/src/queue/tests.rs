use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

mod model;

use super::*;

type TestQueue = Queue<u8, char, u8>;

const PLENTY: Limits = Limits {
    total: 100,
    per_kind: 100,
    per_flow: 100,
    per_kind_in_flow: 100,
    per_owner: 100,
};

fn at(second: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second)
}

fn wake(second: i64, priority: Priority) -> Wake {
    Wake {
        at: at(second),
        priority,
    }
}

/// Marks with a user's change that is due now.
fn mark(queue: &mut TestQueue, key: u8, kind: char, flow: u8) {
    queue.mark(&key, &kind, &flow, wake(0, Priority::UserChange));
}

fn take(queue: &mut TestQueue, second: i64) -> Option<u8> {
    queue.take(at(second)).map(|taken| taken.key)
}

fn take_all(queue: &mut TestQueue, second: i64) -> Vec<u8> {
    std::iter::from_fn(|| take(queue, second)).collect()
}

#[test]
fn marks_of_one_key_merge_to_the_earlier_and_more_urgent() {
    let mut queue = TestQueue::new(PLENTY);
    queue.mark(&1, &'a', &0, wake(5, Priority::UserChange));
    queue.mark(&1, &'a', &0, wake(3, Priority::DriftPoll));
    assert_eq!(queue.take(at(2)), None);
    let taken = queue.take(at(3)).unwrap();
    assert_eq!((taken.priority, taken.due), (Priority::UserChange, at(3)));
    assert_eq!(queue.take(at(9)), None);
}

#[test]
fn a_key_marked_in_flight_runs_once_more_afterwards() {
    let mut queue = TestQueue::new(PLENTY);
    mark(&mut queue, 1, 'a', 0);
    assert_eq!(take(&mut queue, 0), Some(1));
    mark(&mut queue, 1, 'a', 0);
    assert_eq!(take(&mut queue, 1), None);
    queue.finish(&1, None, None, None);
    assert_eq!(take(&mut queue, 1), Some(1));
    queue.finish(&1, None, None, None);
    assert_eq!(take(&mut queue, 1), None);
    assert_eq!(queue.counts(), BTreeMap::new());
}

#[test]
fn the_oldest_turn_that_waits_for_a_permit_is_known() {
    let mut queue = TestQueue::new(Limits { total: 1, ..PLENTY });
    let oldest = |queue: &TestQueue| queue.counts()[&'a'].oldest;
    for (key, second) in [(1, 3), (2, 5), (3, 4), (4, 60)] {
        queue.mark(&key, &'a', &0, wake(second, Priority::UserChange));
    }
    assert_eq!(oldest(&queue), None, "no turn has come");
    assert_eq!(take(&mut queue, 3), Some(1));
    assert_eq!(take(&mut queue, 9), None);
    assert_eq!(oldest(&queue), Some(at(4)));
    queue.finish(&1, None, None, None);
    assert_eq!(take(&mut queue, 9), Some(3));
    assert_eq!(take(&mut queue, 9), None);
    assert_eq!(oldest(&queue), Some(at(5)));
}

#[test]
fn a_mark_during_a_reconcile_precedes_its_requeue() {
    let mut queue = TestQueue::new(PLENTY);
    mark(&mut queue, 1, 'a', 0);
    take(&mut queue, 0);
    mark(&mut queue, 1, 'a', 0);
    queue.finish(&1, Some(wake(60, Priority::DriftPoll)), None, None);
    assert_eq!(queue.take(at(0)).unwrap().priority, Priority::UserChange);
}

#[test]
fn back_off_delays_marks_too() {
    let mut queue = TestQueue::new(PLENTY);
    mark(&mut queue, 1, 'a', 0);
    take(&mut queue, 0);
    mark(&mut queue, 1, 'a', 0);
    queue.finish(&1, None, None, Some(at(10)));
    mark(&mut queue, 1, 'a', 0);
    assert_eq!(take(&mut queue, 9), None);
    assert_eq!(queue.next_due(), Some(at(10)));
    assert_eq!(take(&mut queue, 10), Some(1));
}

#[test]
fn back_off_without_a_turn_delays_the_next_mark() {
    let mut queue = TestQueue::new(PLENTY);
    mark(&mut queue, 1, 'a', 0);
    take(&mut queue, 0);
    queue.finish(&1, None, None, Some(at(10)));
    assert_eq!((queue.due(&1), queue.next_due()), (None, None));
    assert_eq!(queue.counts(), BTreeMap::new());
    mark(&mut queue, 1, 'a', 0);
    assert_eq!(take(&mut queue, 9), None);
    assert_eq!(take(&mut queue, 10), Some(1));
}

#[test]
fn back_off_that_is_over_or_forgotten_leaves_nothing_behind() {
    let mut queue = TestQueue::new(PLENTY);
    for key in 0..4 {
        mark(&mut queue, key, 'a', 0);
    }
    take_all(&mut queue, 0);
    for key in 0..4 {
        queue.finish(&key, None, None, Some(at(10)));
    }
    queue.forget(&0);
    queue.retain(|key, _| *key != 1);
    queue.shift(SignedDuration::from_secs(-5));
    assert_eq!(queue.entries.len(), 2);
    assert_eq!(take(&mut queue, 5), None);
    assert!(queue.entries.is_empty() && queue.held_back.is_empty());
    for key in 0..2 {
        mark(&mut queue, key, 'a', 0);
    }
    assert_eq!(take_all(&mut queue, 6), [0, 1]);
}

#[test]
fn a_released_key_is_held_back_no_more() {
    let mut queue = TestQueue::new(PLENTY);
    let in_back_off = |queue: &mut TestQueue| {
        mark(queue, 1, 'a', 0);
        take(queue, 0);
        queue.finish(&1, None, None, Some(at(100)));
    };
    in_back_off(&mut queue);
    queue.release(&1);
    assert!(queue.entries.is_empty() && queue.held_back.is_empty());
    mark(&mut queue, 1, 'a', 0);
    assert_eq!(take(&mut queue, 0), Some(1));
    queue.finish(&1, None, None, None);
    // With a turn that waits for its end.
    in_back_off(&mut queue);
    mark(&mut queue, 1, 'a', 0);
    queue.release(&1);
    assert_eq!(take(&mut queue, 99), None);
    mark(&mut queue, 1, 'a', 0);
    assert_eq!(take(&mut queue, 0), Some(1));
    // With a pass in flight, which was the former's.
    queue.release(&1);
    assert!(queue.is_of_former(&1));
    mark(&mut queue, 1, 'a', 0);
    queue.finish(&1, None, None, Some(at(100)));
    assert!(!queue.is_of_former(&1));
    assert_eq!(take(&mut queue, 0), Some(1));
    // The next pass is its own.
    queue.finish(&1, None, None, Some(at(100)));
    mark(&mut queue, 1, 'a', 0);
    assert_eq!((take(&mut queue, 99), take(&mut queue, 100)), (None, Some(1)));
}

#[test]
fn replanning_leaves_lasting_turns_and_back_off() {
    let mut queue = TestQueue::new(PLENTY);
    mark(&mut queue, 0, 'a', 0);
    assert_eq!(take(&mut queue, 0), Some(0));
    queue.finish(&0, None, None, Some(at(50)));
    mark(&mut queue, 0, 'a', 0);
    mark(&mut queue, 1, 'a', 0);
    for (key, after) in [(2, 0), (3, 40)] {
        queue.mark_lasting(&key, &'a', &0, wake(after, Priority::Dependency));
        mark(&mut queue, key, 'a', 0);
    }
    mark(&mut queue, 4, 'a', 0);
    assert_eq!(queue.lasting(), 2);
    queue.replan(|key, _| *key == 4, || at(30));
    let next = |queue: &TestQueue, key| queue.due(&key).and_then(|due| due.next);
    assert_eq!((next(&queue, 0), next(&queue, 1)), (None, None));
    assert_eq!(next(&queue, 2), Some(wake(30, Priority::Dependency)));
    assert_eq!(next(&queue, 3), Some(wake(40, Priority::Dependency)));
    assert_eq!(take_all(&mut queue, 0), [4]);
    mark(&mut queue, 0, 'a', 0);
    assert_eq!(next(&queue, 0).map(|wake| wake.at), Some(at(50)));
    // A pass that begins knows of it.
    assert_eq!(take_all(&mut queue, 49), [2, 3]);
    assert_eq!(queue.lasting(), 0);
    queue.mark_lasting(&3, &'a', &0, wake(60, Priority::Dependency));
    mark(&mut queue, 2, 'a', 0);
    queue.replan(|_, _| false, || at(0));
    for key in 2..5 {
        queue.finish(&key, None, None, None);
    }
    assert_eq!(
        (next(&queue, 2), next(&queue, 3).map(|wake| wake.at)),
        (None, Some(at(60)))
    );
}

#[test]
fn priorities_go_in_order() {
    let mut queue = TestQueue::new(PLENTY);
    for (key, priority) in [5, 4, 3, 2, 1].into_iter().zip(Priority::ALL.into_iter().rev()) {
        queue.mark(&key, &'a', &0, wake(0, priority));
    }
    assert_eq!(take_all(&mut queue, 0), [1, 2, 3, 4, 5]);
    assert_eq!(
        Priority::ALL[..3],
        [
            Priority::UserChange,
            Priority::Dependency,
            Priority::OperationPoll
        ]
    );
}

#[test]
fn kinds_alternate_and_so_do_their_flows() {
    let mut queue = TestQueue::new(PLENTY);
    for key in 0..4 {
        mark(&mut queue, key, 'a', 1);
    }
    mark(&mut queue, 10, 'a', 2);
    mark(&mut queue, 20, 'b', 1);
    mark(&mut queue, 21, 'b', 1);
    assert_eq!(take_all(&mut queue, 0), [0, 20, 10, 21, 1, 2, 3]);
}

#[test]
fn limits_affect_their_own_kind_and_flow_alone() {
    let mut queue = TestQueue::new(Limits {
        total: 3,
        per_kind: 2,
        per_flow: 1,
        per_kind_in_flow: 1,
        per_owner: 100,
    });
    mark(&mut queue, 1, 'a', 1);
    mark(&mut queue, 2, 'a', 1);
    mark(&mut queue, 3, 'a', 2);
    mark(&mut queue, 4, 'a', 3);
    mark(&mut queue, 5, 'b', 4);
    mark(&mut queue, 6, 'b', 5);
    assert_eq!(
        take_all(&mut queue, 0),
        [1, 5, 3],
        "2: its lane is full; 4: its kind is; 6: all is"
    );
    queue.finish(&1, None, None, None);
    assert_eq!(take_all(&mut queue, 0), [6]);
    queue.finish(&6, None, None, None);
    assert_eq!(take_all(&mut queue, 0), [4]);
}

#[test]
fn a_hanging_kind_leaves_permits_for_its_flow() {
    let mut queue = TestQueue::new(Limits {
        total: 8,
        per_kind: 4,
        per_flow: 4,
        per_kind_in_flow: 2,
        per_owner: 100,
    });
    for key in 0..5 {
        mark(&mut queue, key, 'a', 1);
    }
    assert_eq!(take_all(&mut queue, 0), [0, 1]);
    mark(&mut queue, 10, 'b', 1);
    mark(&mut queue, 20, 'a', 2);
    assert_eq!(take_all(&mut queue, 1), [10, 20]);
}

#[test]
fn a_pass_can_move_its_key_to_another_lane() {
    let mut queue = TestQueue::new(Limits {
        per_flow: 1,
        ..PLENTY
    });
    mark(&mut queue, 1, 'a', 0);
    take(&mut queue, 0);
    queue.finish(&1, Some(wake(0, Priority::DriftPoll)), Some(7), None);
    mark(&mut queue, 2, 'a', 0);
    assert_eq!(take_all(&mut queue, 0), [2, 1], "they no longer share a lane");
}

#[test]
fn an_endless_stream_of_changes_starves_no_poll() {
    let mut queue = TestQueue::new(Limits { total: 1, ..PLENTY });
    queue.mark(&100, &'a', &0, wake(0, Priority::OperationPoll));
    queue.mark(&101, &'a', &0, wake(0, Priority::DriftPoll));
    queue.mark(&102, &'a', &0, wake(0, Priority::InitialList));
    queue.mark(&103, &'a', &0, wake(0, Priority::Dependency));
    let mut others = BTreeSet::new();
    for round in 0..32 {
        mark(&mut queue, 1, 'a', 0);
        mark(&mut queue, 2, 'a', 0);
        let key = take(&mut queue, round).unwrap();
        queue.finish(&key, None, None, None);
        others.extend((key >= 100).then_some(key));
    }
    assert_eq!(others, BTreeSet::from([100, 101, 102, 103]));
}

#[test]
fn what_is_forgotten_has_no_turn_and_leaves_nothing_behind() {
    let mut queue = TestQueue::new(PLENTY);
    for key in 0..4 {
        mark(&mut queue, key, 'a', 0);
    }
    queue.mark(&4, &'a', &0, wake(60, Priority::DriftPoll));
    mark(&mut queue, 5, 'b', 0);
    // One in flight, one that is ready.
    assert_eq!(take(&mut queue, 0), Some(0));
    mark(&mut queue, 0, 'a', 0);
    queue.retain(|key, kind| *kind == 'b' || *key == 3);
    assert_eq!(queue.due(&4), None);
    queue.forget(&3);
    queue.forget(&3);
    assert_eq!(take_all(&mut queue, 100), [5]);
    queue.finish(&0, None, None, None);
    queue.finish(&5, None, None, None);
    assert_eq!(queue.counts(), BTreeMap::new());
    assert_eq!(queue.next_due(), None);
}

#[test]
fn a_clock_that_is_set_back_delays_nothing() {
    let mut queue = TestQueue::new(PLENTY);
    queue.mark(&1, &'a', &0, wake(1060, Priority::DriftPoll));
    mark(&mut queue, 2, 'a', 0);
    assert_eq!(take(&mut queue, 1000), Some(2));
    queue.finish(&2, Some(wake(1000, Priority::DriftPoll)), None, Some(at(1030)));
    mark(&mut queue, 3, 'a', 0);
    queue.shift(SignedDuration::from_secs(-1000));
    assert_eq!(take(&mut queue, 0), Some(3));
    assert_eq!((take(&mut queue, 29), take(&mut queue, 30)), (None, Some(2)));
    assert_eq!((take(&mut queue, 59), take(&mut queue, 60)), (None, Some(1)));
}

#[test]
fn the_kinds_of_one_owner_take_no_more_than_its_share() {
    let mut queue = TestQueue::new(Limits {
        total: 4,
        per_owner: 2,
        ..PLENTY
    });
    queue.set_owner(&'a', Some("hangs".into()));
    queue.set_owner(&'b', Some("hangs".into()));
    queue.set_owner(&'c', Some("works".into()));
    for (key, kind) in [(1, 'a'), (2, 'a'), (3, 'b'), (4, 'b')] {
        mark(&mut queue, key, kind, key);
    }
    assert_eq!(take_all(&mut queue, 0).len(), 2);
    mark(&mut queue, 5, 'c', 5);
    mark(&mut queue, 6, 'd', 6);
    assert_eq!(take_all(&mut queue, 0), [5, 6], "also kinds of nobody");
    queue.finish(&1, None, None, None);
    assert_eq!(take_all(&mut queue, 1).len(), 1);
    queue.set_owner(&'b', None);
    assert_eq!(queue.running(), 4);
}

#[test]
fn however_many_owners_hang_each_keeps_a_part() {
    const OWNERS: u8 = 20;
    let mut queue = TestQueue::new(PLENTY);
    let kind = |at: u8| char::from(b'a' + at);
    queue.set_owner(&'z', Some("works".into()));
    for at in 0..OWNERS {
        queue.set_owner(&kind(at), Some(format!("hangs-{at}").into()));
        for key in 0..10 {
            mark(&mut queue, at * 10 + key, kind(at), at);
        }
    }
    let hanging = take_all(&mut queue, 0);
    // Of 22 who share, nobody included, each has two; two of them have taken nothing.
    assert_eq!(hanging.len(), 96);
    for key in [250, 251, 252] {
        mark(&mut queue, key, 'z', 250);
    }
    assert_eq!(take_all(&mut queue, 0), [250, 251], "what it has for itself");
    mark(&mut queue, 253, 'y', 253);
    assert_eq!(take_all(&mut queue, 0), [253], "also kinds of nobody");
    queue.finish(&250, None, None, None);
    assert_eq!(take_all(&mut queue, 0), [252]);
}

#[test]
fn a_pass_counts_as_its_owners_until_it_ends() {
    let mut queue = TestQueue::new(Limits {
        total: 8,
        per_owner: 2,
        ..PLENTY
    });
    let owner = |name: &str| Some(Arc::from(name));
    queue.set_owner(&'a', owner("one"));
    for key in 1..=4 {
        mark(&mut queue, key, 'a', 0);
    }
    assert_eq!(take_all(&mut queue, 0), [1, 2]);
    queue.set_owner(&'a', None);
    queue.set_owner(&'a', owner("one"));
    assert_eq!(take(&mut queue, 0), None);
    queue.set_owner(&'a', owner("other"));
    assert_eq!(take_all(&mut queue, 0), [3, 4]);
    for key in 1..=4 {
        queue.finish(&key, None, None, None);
    }
    assert_eq!(queue.running(), 0);
}

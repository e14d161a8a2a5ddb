//! The queue against the plainest description of what it must do.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use proptest::prelude::*;

use super::*;

/// What may happen to a queue.
#[derive(Debug, Clone)]
enum Op {
    Mark {
        key: u8,
        after: i64,
        priority: Priority,
        lasting: bool,
    },
    Take,
    Finish {
        nth: usize,
        wake: Option<(i64, Priority)>,
        flow: Option<u8>,
        back_off: Option<i64>,
    },
    Pass {
        seconds: i64,
    },
    Release {
        key: u8,
    },
    Replan {
        after: i64,
    },
}

fn priority() -> impl Strategy<Value = Priority> {
    prop::sample::select(Priority::ALL.to_vec())
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0..12_u8, 0..20_i64, priority(), any::<bool>())
            .prop_map(|(key, after, priority, lasting)| Op::Mark { key, after, priority, lasting }),
        4 => Just(Op::Take),
        3 => (0..8_usize, prop::option::of((0..20_i64, priority())), prop::option::of(0..3_u8), prop::option::of(0..20_i64))
            .prop_map(|(nth, wake, flow, back_off)| Op::Finish { nth, wake, flow, back_off }),
        2 => (1..15_i64).prop_map(|seconds| Op::Pass { seconds }),
        1 => (0..12_u8).prop_map(|key| Op::Release { key }),
        1 => (0..10_i64).prop_map(|after| Op::Replan { after }),
    ]
}

/// What must be true of a queue, kept beside it in the plainest way.
#[derive(Default)]
struct Model {
    now: i64,
    /// Key -> no later than this it must be handed out, limits aside.
    owed: BTreeMap<u8, i64>,
    /// Key -> the lane it runs in.
    in_flight: BTreeMap<u8, u8>,
    flows: BTreeMap<u8, u8>,
    not_before: BTreeMap<u8, i64>,
    /// Keys whose pass in flight is of what had them before.
    former: BTreeSet<u8>,
    /// Key -> when the turn that stays is due.
    lasting: BTreeMap<u8, i64>,
}

impl Model {
    fn owe(&mut self, key: u8, second: i64) {
        let due = second.max(self.not_before.get(&key).copied().unwrap_or(0));
        let owed = self.owed.entry(key).or_insert(due);
        *owed = (*owed).min(due);
    }

    /// What has no turn is held back until then, and forgotten.
    fn end_back_offs(&mut self) {
        let (owed, in_flight, now) = (&self.owed, &self.in_flight, self.now);
        let ends =
            |key: &u8, until: &i64| *until <= now && !owed.contains_key(key) && !in_flight.contains_key(key);
        let over = self.not_before.extract_if(.., |key, until| ends(key, until));
        for (key, _) in over {
            self.flows.remove(&key);
        }
    }

    fn took(&mut self, taken: &DispatchPermit<u8, char, u8>, limits: Limits) {
        let owed = self
            .owed
            .remove(&taken.key)
            .expect("only what was marked is handed out");
        self.lasting.remove(&taken.key);
        assert!(
            owed <= self.now,
            "{taken:?} before its time {owed}, now {}",
            self.now
        );
        let flow = self.flows.get(&taken.key).copied().unwrap_or(0);
        assert_eq!(taken.flow, flow, "{taken:?}");
        assert!(
            self.in_flight.insert(taken.key, taken.flow).is_none(),
            "{taken:?} twice in flight"
        );
        assert!(self.in_flight.len() <= limits.total);
        assert!(
            self.in_flight
                .keys()
                .filter(|key| kind_of(**key) == taken.kind)
                .count()
                <= limits.per_kind
        );
        assert!(
            self.in_flight
                .values()
                .filter(|flow| **flow == taken.flow)
                .count()
                <= limits.per_flow
        );
        let both = self
            .in_flight
            .iter()
            .filter(|(key, flow)| kind_of(**key) == taken.kind && **flow == taken.flow);
        assert!(both.count() <= limits.per_kind_in_flow);
    }
}

fn kind_of(key: u8) -> char {
    char::from(b'a' + key % 3)
}

fn apply(queue: &mut TestQueue, model: &mut Model, op: &Op, limits: Limits) {
    match *op {
        Op::Mark {
            key,
            after,
            priority,
            lasting,
        } => {
            let due = model.now + after;
            model.flows.entry(key).or_insert(0);
            if lasting {
                queue.mark_lasting(&key, &kind_of(key), &0, wake(due, priority));
                let earlier = model.lasting.entry(key).or_insert(due);
                *earlier = due.min(*earlier);
            } else {
                queue.mark(&key, &kind_of(key), &0, wake(due, priority));
            }
            model.owe(key, due);
        }
        Op::Take => {
            model.end_back_offs();
            if let Some(taken) = queue.take(at(model.now)) {
                model.took(&taken, limits);
            }
        }
        Op::Finish {
            nth,
            wake: next,
            flow,
            back_off,
        } => {
            let Some((&key, _)) = model.in_flight.iter().nth(nth) else {
                return;
            };
            model.in_flight.remove(&key);
            model.flows.extend(flow.map(|flow| (key, flow)));
            let not_before = back_off.map(|seconds| model.now + seconds);
            let next = next.map(|(after, priority)| (model.now + after, priority));
            queue.finish(&key, next.map(|(s, p)| wake(s, p)), flow, not_before.map(at));
            let not_before = not_before.filter(|_| !model.former.remove(&key));
            model.former.remove(&key);
            model.not_before.remove(&key);
            model.not_before.extend(not_before.map(|second| (key, second)));
            if let Some(owed) = model.owed.remove(&key) {
                model.owe(key, owed);
            }
            if let Some((second, _)) = next {
                model.owe(key, second);
            }
            if !model.owed.contains_key(&key) && not_before.is_none() {
                model.flows.remove(&key);
            }
        }
        Op::Pass { seconds } => model.now += seconds,
        Op::Release { key } => {
            queue.release(&key);
            model.not_before.remove(&key);
            if model.in_flight.contains_key(&key) {
                model.former.insert(key);
            } else if !model.owed.contains_key(&key) {
                model.flows.remove(&key);
            }
        }
        Op::Replan { after } => {
            let earliest = model.now + after;
            queue.replan(|_, _| false, || at(earliest));
            for key in std::mem::take(&mut model.owed).into_keys() {
                if let Some(lasting) = model.lasting.get(&key) {
                    model.owe(key, earliest.max(*lasting));
                } else if !model.in_flight.contains_key(&key) && !model.not_before.contains_key(&key) {
                    model.flows.remove(&key);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Nothing early, nothing twice in flight, no limit passed; and once time passes and passes end, every turn
    /// that was owed is given, and no other.
    #[test]
    fn nothing_is_lost_and_nothing_runs_twice(
        ops in prop::collection::vec(op(), 0..120),
        (total, per_kind, per_flow, per_kind_in_flow) in (1..6_usize, 1..4_usize, 1..4_usize, 1..4_usize),
    ) {
        let limits = Limits { total, per_kind, per_flow, per_kind_in_flow, per_owner: total };
        let mut queue = TestQueue::new(limits);
        let mut model = Model::default();
        for op in ops {
            apply(&mut queue, &mut model, &op, limits);
            prop_assert_eq!(queue.running(), model.in_flight.len());
        }
        model.now += 1_000;
        while !model.in_flight.is_empty() || !model.owed.is_empty() {
            let before = (model.in_flight.len(), model.owed.len());
            while let Some(taken) = queue.take(at(model.now)) {
                model.took(&taken, limits);
            }
            let end = Op::Finish { nth: 0, wake: None, flow: None, back_off: None };
            apply(&mut queue, &mut model, &end, limits);
            prop_assert_ne!(before, (model.in_flight.len(), model.owed.len()), "stuck, owing {:?}", model.owed);
        }
        prop_assert_eq!(queue.take(at(model.now)), None);
        prop_assert_eq!(queue.next_due(), None);
        prop_assert!(queue.counts().is_empty());
    }

    /// Whoever sleeps until `next_due` misses nothing: before it, there is nothing more to take.
    #[test]
    fn nothing_becomes_due_before_it_is_announced(ops in prop::collection::vec(op(), 0..60)) {
        let mut queue = TestQueue::new(PLENTY);
        let mut model = Model::default();
        for op in ops {
            apply(&mut queue, &mut model, &op, PLENTY);
        }
        while let Some(taken) = queue.take(at(model.now)) {
            model.took(&taken, PLENTY);
        }
        if let Some(due) = queue.next_due() {
            prop_assert!(due > at(model.now));
            prop_assert_eq!(queue.take(due - SignedDuration::from_millis(1)), None);
        } else {
            prop_assert_eq!(queue.take(at(model.now + 10_000)), None);
        }
    }

    /// While all kinds have work, no kind gets two turns more than another.
    #[test]
    fn kinds_share_alike(keys in prop::collection::btree_map(0..=255_u8, 0..3_usize, 30..120), turns in 1..20_usize) {
        let mut queue = TestQueue::new(PLENTY);
        let mut left = BTreeMap::<char, usize>::new();
        for (key, kind) in &keys {
            let kind = ['a', 'b', 'c'][*kind];
            mark(&mut queue, *key, kind, 0);
            *left.entry(kind).or_default() += 1;
        }
        let mut served = BTreeMap::<char, usize>::new();
        let least = left.values().copied().min().unwrap_or(0);
        for _ in 0..turns.min(least) {
            let taken = queue.take(at(0)).expect("there is work");
            *served.entry(taken.kind).or_default() += 1;
        }
        let counts: Vec<usize> = left.keys().map(|kind| served.get(kind).copied().unwrap_or(0)).collect();
        prop_assert!(counts.iter().max().unwrap_or(&0) - counts.iter().min().unwrap_or(&0) <= 1, "{:?}", served);
    }
}

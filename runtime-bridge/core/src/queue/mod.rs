//! Whose turn it is: priorities, due times, fairness between kinds and accounts, de-duplication. Time is an argument.
//!
//! A key has at most one turn, and at most one pass in flight. Marking it again only makes its turn earlier or more urgent;
//! marking it while its pass runs gives it another turn afterwards. Limits and back-off delay a turn and never drop it.

mod priority;
mod ready;
mod running;
mod shares;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

pub use self::{
    priority::{Priority, Wake},
    shares::{Owners, Running, Shares},
};
use self::{ready::Ready, running::RunningCounts};

/// How many passes may be in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// In all.
    pub total: usize,
    /// Of one kind.
    pub per_kind: usize,
    /// Of one lane, all kinds together.
    pub per_flow: usize,
    /// Of one kind in one lane: what hangs there starves neither the kind's other lanes nor the lane's other kinds.
    pub per_kind_in_flow: usize,
    /// Of all kinds of one owner together: what hangs there leaves the rest to others. However many hang, each owner keeps a part for itself.
    pub per_owner: usize,
}

/// A key whose pass is to begin now. It stays in flight until [`Queue::finish`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatchPermit<K, G, L> {
    /// Which.
    pub key: K,
    /// Its kind.
    pub kind: G,
    /// Its lane.
    pub flow: L,
    /// Why.
    pub priority: Priority,
    /// Since when it was its turn.
    pub due: Timestamp,
}

/// When a key's turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// Its next turn; `None`: nothing is planned.
    pub next: Option<Wake>,
    /// Its pass is in flight.
    pub running: bool,
}

/// How many keys of a kind are where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Their turn has come.
    pub ready: usize,
    /// Their turn comes later.
    pub waiting: usize,
    /// In flight.
    pub running: usize,
    /// Since when the first of those is due whose turn has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<Timestamp>,
}

/// Keys `K` of kinds `G` in lanes `L`: a lane is an account, or whatever else shares a limit.
#[derive(Debug)]
pub struct Queue<K, G, L> {
    limits: Limits,
    entries: BTreeMap<K, Entry<G, L>>,
    waiting: BTreeSet<(Timestamp, u64, K)>,
    ready: Ready<K, G, L>,
    running: RunningCounts<G, L>,
    owners: Owners<G>,
    /// Keys without a turn that are held back all the same: a mark until then gives them none sooner.
    held_back: BTreeSet<(Timestamp, K)>,
    /// Grows with each new turn: first come, first served.
    order: u64,
    /// Grows with each turn taken.
    taken: u64,
}

#[derive(Debug)]
struct Entry<G, L> {
    kind: G,
    flow: L,
    turn: Option<ScheduledWake>,
    /// What its pass counts as, since it was begun.
    in_flight: Option<Counted<L>>,
    not_before: Timestamp,
    /// That pass was of what had this key before.
    is_of_former: bool,
    /// The turn that [`Queue::replan`] leaves, until a pass begins.
    lasting: Option<Wake>,
}

/// What a pass in flight counts as, beside its kind.
#[derive(Debug)]
struct Counted<L> {
    flow: L,
    owner: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy)]
struct ScheduledWake {
    wake: Wake,
    order: u64,
    /// It sits in `ready`, not in `waiting`.
    ready: bool,
}

impl<K, G, L> Queue<K, G, L>
where
    K: Ord + Clone + Debug,
    G: Ord + Clone + Debug,
    L: Ord + Clone + Debug,
{
    /// An empty one.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            entries: BTreeMap::new(),
            waiting: BTreeSet::new(),
            ready: Ready::default(),
            running: RunningCounts::default(),
            owners: Owners::default(),
            held_back: BTreeSet::new(),
            order: 0,
            taken: 0,
        }
    }

    /// Whose a kind is from now on: a plugin's, or nobody's.
    pub fn set_owner(&mut self, kind: &G, owner: Option<Arc<str>>) {
        self.owners.set(kind, owner);
    }

    /// Gives a key a turn, or makes the one it has earlier and more urgent. `flow` counts for a key that is new; afterwards
    /// [`Queue::finish`] moves it.
    pub fn mark(&mut self, key: &K, kind: &G, flow: &L, wake: Wake) {
        let entry = self.entries.entry(key.clone()).or_insert_with(|| Entry {
            kind: kind.clone(),
            flow: flow.clone(),
            turn: None,
            in_flight: None,
            not_before: Timestamp::MIN,
            is_of_former: false,
            lasting: None,
        });
        let earlier = entry.turn.take();
        let running = entry.in_flight.is_some();
        if earlier.is_none() && !running {
            self.held_back.remove(&(entry.not_before, key.clone()));
        }
        if let Some(turn) = earlier
            && !running
        {
            self.unplace(key, turn);
        }
        let turn = match earlier {
            Some(turn) => ScheduledWake {
                wake: turn.wake.merge(wake),
                order: turn.order,
                ready: false,
            },
            None => self.new_wake(wake),
        };
        self.place(key, turn);
    }

    /// Likewise, for a reason that only the caller knows: until the next pass of the key begins, [`Queue::replan`] leaves this turn.
    pub fn mark_lasting(&mut self, key: &K, kind: &G, flow: &L, wake: Wake) {
        self.mark(key, kind, flow, wake);
        if let Some(entry) = self.entries.get_mut(key) {
            entry.lasting = Some(entry.lasting.map_or(wake, |earlier| earlier.merge(wake)));
        }
    }

    /// The next key whose turn it is, within all limits: by priority, then kinds and lanes in rotation, then first come, first
    /// served. One turn in eight goes to less urgent work first, so that none starves.
    pub fn take(&mut self, now: Timestamp) -> Option<DispatchPermit<K, G, L>> {
        self.make_ready(now);
        if self.running.total >= self.limits.total {
            return None;
        }
        let (limits, running, owners) = (self.limits, &self.running, &self.owners);
        let shares = Shares::of(limits.total, limits.per_owner, owners.count(), &running.owners);
        let kind_may = |kind: &G| {
            running.kinds.get(kind).copied().unwrap_or(0) < limits.per_kind
                && shares.may_begin(owners.of(kind), &running.owners)
        };
        let flow_may = |kind: &G, flow: &L| {
            running.flows.get(flow).copied().unwrap_or(0) < limits.per_flow
                && running.of_kind_in_flow(kind, flow) < limits.per_kind_in_flow
        };
        let favoured = favoured(self.taken).into_iter();
        let (priority, key) = favoured
            .chain(Priority::ALL)
            .find_map(|priority| Some((priority, self.ready.pop(priority, &kind_may, &flow_may)?)))?;
        self.taken += 1;
        let entry = self.entries.get_mut(&key)?;
        let due = entry.turn.take().map_or(now, |turn| turn.wake.at);
        entry.lasting = None;
        let (kind, flow) = (entry.kind.clone(), entry.flow.clone());
        let owner = self.owners.of(&kind).cloned();
        self.running.begin(&kind, &flow, owner.as_ref());
        entry.in_flight = Some(Counted {
            flow: flow.clone(),
            owner,
        });
        Some(DispatchPermit {
            key,
            kind,
            flow,
            priority,
            due,
        })
    }

    /// The pass of a key has ended. Its next turn is the earlier of `next` and whatever was marked meanwhile, but not before
    /// `not_before` (back-off), which holds for marks that come later too, unless the key was released meanwhile. With neither turn nor back-off,
    /// the key is forgotten.
    pub fn finish(&mut self, key: &K, next: Option<Wake>, flow: Option<L>, not_before: Option<Timestamp>) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let Some(ran) = entry.in_flight.take() else {
            return;
        };
        self.running.end(&entry.kind, &ran.flow, ran.owner.as_ref());
        if let Some(flow) = flow {
            entry.flow = flow;
        }
        let of_former = std::mem::take(&mut entry.is_of_former);
        let not_before = not_before.filter(|_| !of_former);
        entry.not_before = not_before.unwrap_or(Timestamp::MIN);
        let turn = match (entry.turn.take(), next) {
            (Some(turn), Some(next)) => ScheduledWake {
                wake: turn.wake.merge(next),
                ..turn
            },
            (Some(turn), None) => turn,
            (None, Some(next)) => self.new_wake(next),
            (None, None) => {
                match not_before {
                    Some(until) => drop(self.held_back.insert((until, key.clone()))),
                    None => drop(self.entries.remove(key)),
                }
                return;
            }
        };
        self.place(key, turn);
    }

    /// Takes the turns of keys that are not to be kept. A pass in flight goes on, and may give its key another turn.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &G) -> bool) {
        let dropped: Vec<K> = self
            .entries
            .iter()
            .filter(|(key, entry)| !keep(key, &entry.kind))
            .map(|(key, _)| key.clone())
            .collect();
        for key in dropped {
            self.forget(&key);
        }
    }

    /// Takes the turn of one key, if it has one, as [`Queue::retain`] does.
    pub fn forget(&mut self, key: &K) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let turn = entry.turn.take();
        entry.lasting = None;
        if entry.in_flight.is_some() {
            return;
        }
        let not_before = entry.not_before;
        match turn {
            Some(turn) => self.unplace(key, turn),
            None => drop(self.held_back.remove(&(not_before, key.clone()))),
        }
        self.entries.remove(key);
    }

    /// Takes the turns of keys that are not to be kept, as whoever calls will mark them anew. Lasting ones stay, but come no earlier than `earliest`
    /// says of each. Back-off stays in force.
    pub fn replan(&mut self, mut keep: impl FnMut(&K, &G) -> bool, mut earliest: impl FnMut() -> Timestamp) {
        let planned: Vec<K> = self
            .entries
            .iter()
            .filter(|(key, entry)| entry.turn.is_some() && !keep(key, &entry.kind))
            .map(|(key, _)| key.clone())
            .collect();
        for key in planned {
            let Some(entry) = self.entries.get_mut(&key) else {
                continue;
            };
            let Some(turn) = entry.turn.take() else { continue };
            let (lasting, until, running) = (entry.lasting, entry.not_before, entry.in_flight.is_some());
            if !running {
                self.unplace(&key, turn);
            }
            if let Some(wake) = lasting {
                let at = wake.at.max(earliest());
                let wake = Wake { at, ..wake };
                self.place(&key, ScheduledWake { wake, ..turn });
            } else if !running && until > Timestamp::MIN {
                self.held_back.insert((until, key));
            } else if !running {
                self.entries.remove(&key);
            }
        }
    }

    /// How many turns [`Queue::replan`] would leave.
    pub fn lasting(&self) -> usize {
        self.entries
            .values()
            .filter(|entry| entry.lasting.is_some())
            .count()
    }

    /// Ends the back-off of a key: what has it from now on is not what failed. Nor does the back-off count that a pass in flight ends with. A turn
    /// that waits for it stays where it is until the next mark.
    pub fn release(&mut self, key: &K) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        entry.is_of_former = entry.in_flight.is_some();
        let until = std::mem::replace(&mut entry.not_before, Timestamp::MIN);
        if entry.turn.is_none() && entry.in_flight.is_none() {
            self.held_back.remove(&(until, key.clone()));
            self.entries.remove(key);
        }
    }

    /// The pass in flight is of what had this key before it was released.
    pub fn is_of_former(&self, key: &K) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.is_of_former)
    }

    /// Moves all that is due or held back by this much: the clock was set.
    pub fn shift(&mut self, by: SignedDuration) {
        let moved = |at: Timestamp| at.saturating_add(by).unwrap_or(at);
        for entry in self.entries.values_mut() {
            if entry.not_before > Timestamp::MIN {
                entry.not_before = moved(entry.not_before);
            }
            if let Some(wake) = &mut entry.lasting {
                wake.at = moved(wake.at);
            }
            if let Some(turn) = entry.turn.as_mut().filter(|turn| !turn.ready) {
                turn.wake.at = moved(turn.wake.at);
            }
        }
        self.waiting = std::mem::take(&mut self.waiting)
            .into_iter()
            .map(|(at, order, key)| (moved(at), order, key))
            .collect();
        self.held_back = std::mem::take(&mut self.held_back)
            .into_iter()
            .map(|(until, key)| (moved(until), key))
            .collect();
    }

    /// When [`Queue::take`] may have more to give, though nothing was marked or finished.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.waiting.first().map(|(due, ..)| *due)
    }

    /// When a key's turn is; `None`: it has none, and no pass.
    pub fn due(&self, key: &K) -> Option<Due> {
        let entry = self.entries.get(key)?;
        (entry.turn.is_some() || entry.in_flight.is_some()).then(|| Due {
            next: entry.turn.map(|turn| Wake {
                at: turn.wake.at.max(entry.not_before),
                ..turn.wake
            }),
            running: entry.in_flight.is_some(),
        })
    }

    /// Passes in flight.
    pub fn running(&self) -> usize {
        self.running.total
    }

    /// How many keys of each kind are where.
    pub fn counts(&self) -> BTreeMap<G, Counts> {
        let mut counts = BTreeMap::<G, Counts>::new();
        for entry in self.entries.values() {
            let mut count = |of: fn(&mut Counts)| of(counts.entry(entry.kind.clone()).or_default());
            match (&entry.in_flight, entry.turn) {
                (Some(_), _) => count(|counts| counts.running += 1),
                (None, Some(turn)) if turn.ready => {
                    let counts = counts.entry(entry.kind.clone()).or_default();
                    counts.ready += 1;
                    counts.oldest = Some(counts.oldest.map_or(turn.wake.at, |at| at.min(turn.wake.at)));
                }
                (None, Some(_)) => count(|counts| counts.waiting += 1),
                (None, None) => {}
            }
        }
        counts
    }

    fn new_wake(&mut self, wake: Wake) -> ScheduledWake {
        self.order += 1;
        ScheduledWake {
            wake,
            order: self.order,
            ready: false,
        }
    }

    /// Where its turn belongs: with its pass in flight nowhere, else among those that wait.
    fn place(&mut self, key: &K, turn: ScheduledWake) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let wake = Wake {
            at: turn.wake.at.max(entry.not_before),
            ..turn.wake
        };
        entry.turn = Some(ScheduledWake {
            wake,
            ready: false,
            ..turn
        });
        if entry.in_flight.is_none() {
            self.waiting.insert((wake.at, turn.order, key.clone()));
        }
    }

    fn unplace(&mut self, key: &K, turn: ScheduledWake) {
        if !turn.ready {
            self.waiting.remove(&(turn.wake.at, turn.order, key.clone()));
        } else if let Some(entry) = self.entries.get(key) {
            self.ready.remove(
                turn.wake.priority,
                &entry.kind,
                &entry.flow,
                &(turn.wake.at, turn.order, key.clone()),
            );
        }
    }

    fn make_ready(&mut self, now: Timestamp) {
        while let Some((until, _)) = self.held_back.first()
            && *until <= now
            && let Some((_, key)) = self.held_back.pop_first()
        {
            self.entries.remove(&key);
        }
        while let Some((due, order, key)) = self.waiting.first().cloned()
            && due <= now
        {
            self.waiting.pop_first();
            if let Some(entry) = self.entries.get_mut(&key)
                && let Some(turn) = &mut entry.turn
            {
                turn.ready = true;
                self.ready
                    .insert(turn.wake.priority, &entry.kind, &entry.flow, (due, order, key));
            }
        }
    }
}

/// The priority that goes first this once, if it is not the most urgent one.
fn favoured(taken: u64) -> Option<Priority> {
    const EVERY: u64 = 8;
    if taken % EVERY != EVERY - 1 {
        return None;
    }
    Some(match (taken / EVERY) % 4 {
        0 => Priority::OperationPoll,
        1 => Priority::DriftPoll,
        2 => Priority::InitialList,
        _ => Priority::Dependency,
    })
}

#[cfg(test)]
mod tests;
